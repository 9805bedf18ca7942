"""What the chart makes, as files that people review: `LNAMESPACE_GOLDEN=write` writes them anew.

Without values as a whole, and what values change of it.

Here and not among the unit tests, for helm comes with the control plane.
"""

import json
import os
import re
from difflib import unified_diff
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.instances import CHART

FOLDER = Path(__file__).parent / "golden" / "chart"
CASES: dict[str, tuple[str, ...]] = {
    "classes": ("--set=controller.classNames={gold,silver}",),
    "names": ("--set=serviceAccount.name=robot,webhook.name=door,ledger.name=books",),
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
    "gateway": ("--set=gateway.enabled=true,gateway.host=lclusters.example.com,gateway.mine=true",),
    "gateway-elsewhere": (
        "--set=gateway.enabled=true,gateway.host=lclusters.example.com,gateway.deploy=false",
        "--set=gateway.certManager.enabled=true,gateway.fairness.create=false",
    ),
    "without-hooks": ("--set=hooks=false,serviceAccount.create=false",),
    "all-options": ("--values", str(FOLDER / "all-options-values.yaml")),
}
SERVED = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
"""What a cluster says by itself."""
SUFFIX, OTHER_SUFFIX = "loblaw.digital", "team1.example.com"
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


def rendered(cluster: Cluster, *flags: str, served: str = SERVED) -> str:
    """What the chart makes, as text."""
    words = ("helm", "template", "lnamespace", str(CHART), "-n", "lnamespace-system")
    return cluster.run(*words, "--kube-version=1.36.3", f"--api-versions={served}", *flags).ok()


def readable(made: str) -> str:
    """The same in one form, without what is the same in every release."""
    items = [shown(item) for item in yaml.safe_load_all(made) if item]
    return yaml.dump_all(items, Dumper=Folded, sort_keys=False, allow_unicode=True, width=100)


def check(file: Path, made: str) -> None:
    """It is as was reviewed."""
    if os.environ.get("LNAMESPACE_GOLDEN") == "write":
        file.write_text(made)
    assert file.read_text() == made


def check_difference(case: str, default: str, made: str) -> None:
    before, after = readable(default).splitlines(), readable(made).splitlines()
    lines = unified_diff(before, after, "default", case, "", "", 1, "")
    check(FOLDER / f"{case}.diff", "\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def default(cluster: Cluster) -> str:
    """What the chart makes without any value."""
    return rendered(cluster)


def test_the_chart_makes_what_was_reviewed(default: str) -> None:
    check(FOLDER / "default.yaml", readable(default))


@pytest.mark.parametrize("case", CASES)
def test_values_change_what_was_reviewed(case: str, default: str, cluster: Cluster) -> None:
    check_difference(case, default, rendered(cluster, *CASES[case]))


@pytest.mark.parametrize(
    ("served", "used"), [(SERVED, 6), (SERVED.replace("v1/", "v1beta1/"), 6), ("v1/Pod", 0)]
)
def test_mutating_policies_are_of_the_version_that_the_cluster_has(
    served: str, used: int, cluster: Cluster
) -> None:
    made = rendered(cluster, *CASES["gateway"], served=served)
    leading = [each for each in yaml.safe_load_all(made) if each["kind"].startswith("Mutating")]
    policies = [each for each in leading if "Policy" in each["kind"]]
    assert len(policies) == used
    assert {f"{each['apiVersion']}/MutatingAdmissionPolicy" for each in policies} <= {served}


def test_another_instance_has_names_of_its_own_and_is_the_same_otherwise(
    default: str, cluster: Cluster
) -> None:
    other = rendered(cluster, f"--set=apiGroupSuffix={OTHER_SUFFIX}")
    assert SUFFIX not in other
    metas = [item["metadata"] for item in yaml.safe_load_all(default) if item]
    in_namespace = {meta["name"] for meta in metas if "namespace" in meta}
    of_cluster = {meta["name"] for meta in metas} - in_namespace
    taken = "|".join(map(re.escape, of_cluster))
    assert not re.findall(rf"(?<![\w.:-])(?:{taken})(?![\w.:-])", other)
    alike = other.replace(f"lnamespace.{OTHER_SUFFIX}", "lnamespace")
    check_difference("other-instance", default, alike.replace(OTHER_SUFFIX, SUFFIX))
