"""What the chart makes, as files that people review: `LNAMESPACE_GOLDEN=write` writes them anew.

Without values as a whole, and what values change of it.

Here and not among the unit tests, for helm comes with the control plane.
"""

import json
import os
from difflib import unified_diff
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.instances import CHART

FOLDER = Path(__file__).parent / "golden" / "chart"
CASES: dict[str, tuple[str, ...]] = {
    "second-instance": (
        "--set=apiGroupSuffix=team1.example.com",
        "--set=controller.classNames={gold}",
    ),
    "sudo-by-account": ("--set=sudoLayout=serviceaccount",),
    "cert-manager": (
        "--set=webhook.certManager.enabled=true",
        "--set=webhook.certManager.issuerRef.kind=ClusterIssuer",
        "--set=webhook.certManager.issuerRef.name=internal",
    ),
    "elsewhere": (
        "--set=controller.deploy=false,webhook.deploy=false,ledger.deploy=false",
        "--set=webhook.url=https://10.1.2.3:8443",
    ),
    "without-hooks": ("--set=hooks=false,serviceAccount.create=false",),
    "all-options": ("--values", str(FOLDER / "all-options-values.yaml")),
}
_CHANGING = ("helm.sh/chart", "app.kubernetes.io/version")


class Folded(yaml.SafeDumper):
    """Long expressions as they are read best: line by line."""


def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """A text of several lines is shown in several."""
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


Folded.add_representer(str, text)


def shown(item: Object) -> Object:
    """An object without what differs in every release, and without schemas, which are elsewhere."""
    for meta in (item["metadata"], item.get("spec", {}).get("template", {}).get("metadata", {})):
        for label in _CHANGING:
            meta.get("labels", {}).pop(label, None)
    if written := item.get("data", {}).get("guards.json"):  # they are here as themselves
        names = (f"{guard['kind']} {guard['metadata']['name']}" for guard in json.loads(written))
        item["data"]["guards.json"] = "\n".join(names)
    if item["kind"] == "CustomResourceDefinition":
        for version in item["spec"]["versions"]:
            version.pop("schema")
            version.pop("additionalPrinterColumns", None)
    return item


def rendered(cluster: Cluster, *flags: str) -> str:
    """What the chart makes, as text."""
    words = ("helm", "template", "lnamespace", str(CHART), "-n", "lnamespace-system")
    made = cluster.run(*words, "--kube-version=1.36.3", *flags).ok()
    items = [shown(item) for item in yaml.safe_load_all(made) if item]
    return yaml.dump_all(items, Dumper=Folded, sort_keys=False, allow_unicode=True, width=100)


def check(file: Path, made: str) -> None:
    """It is as was reviewed."""
    if os.environ.get("LNAMESPACE_GOLDEN") == "write":
        file.write_text(made)
    assert file.read_text() == made


@pytest.fixture(scope="module")
def default(cluster: Cluster) -> str:
    """What the chart makes without any value."""
    return rendered(cluster)


def test_the_chart_makes_what_was_reviewed(default: str) -> None:
    check(FOLDER / "default.yaml", default)


@pytest.mark.parametrize("case", CASES)
def test_values_change_what_was_reviewed(case: str, default: str, cluster: Cluster) -> None:
    made = rendered(cluster, *CASES[case])
    lines = unified_diff(default.splitlines(), made.splitlines(), "default", case, "", "", 1, "")
    check(FOLDER / f"{case}.diff", "\n".join(lines) + "\n")
