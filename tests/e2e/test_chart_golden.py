"""What the chart makes, as files that people review: `LNAMESPACE_GOLDEN=write` writes them anew.

Without values as a whole; what the gateway adds; and what other values change of either.

Here and not among the unit tests, for helm comes with the control plane.
"""

import os
import re
from collections.abc import Callable
from difflib import unified_diff
from functools import cache
from pathlib import Path

import pytest
from lnamespace.model.names import LCLUSTER_KEYS

from tests.e2e.support.api import Object
from tests.e2e.support.chart_text import complete, concise, objects, parsed
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.instances import CHART

FOLDER = Path(__file__).parent / "golden" / "chart"
GATEWAY = ("--set=gateway.enabled=true,gateway.host=lclusters.example.com,gateway.mine=true",)
CASES: dict[str, tuple[str, ...]] = {
    "classes": ("--set=controller.classNames={gold,silver}",),
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
}
"""Changes of the chart without the gateway."""
GATEWAY_CASES: dict[str, tuple[str, ...]] = {
    "gateway-elsewhere": (
        "--set=gateway.enabled=true,gateway.host=lclusters.example.com,gateway.deploy=false",
        "--set=gateway.certManager.enabled=true,gateway.fairness.create=false",
    ),
    "all-options": ("--values", str(FOLDER / "all-options-values.yaml")),
}
"""Changes of the chart with the gateway."""
SERVED = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
"""What a cluster says by itself."""
SUFFIX, OTHER_SUFFIX = "loblaw.digital", "team1.example.com"


@cache
def rendered(cluster: Cluster, *flags: str, served: str = SERVED) -> str:
    """Return what the chart makes, as text."""
    words = ("helm", "template", "lnamespace", str(CHART), "-n", "lnamespace-system")
    return cluster.run(*words, "--kube-version=1.36.3", f"--api-versions={served}", *flags).ok()


def check(file: Path, made: str) -> None:
    """It is as was reviewed."""
    if os.environ.get("LNAMESPACE_GOLDEN") == "write":
        file.write_text(made)
    assert file.read_text() == made


def check_difference(
    case: str,
    before: list[Object],
    after: list[Object],
    of: str = "default",
    text: Callable[[list[Object]], str] = complete,
) -> None:
    """Compare what is different between two lists of objects with what was reviewed.

    Objects that are gone are named, objects that were added stand there once.
    """
    old, new = {identity(item) for item in before}, {identity(item) for item in after}
    kept, left = (
        text([item for item in items if identity(item) in old & new]) for items in (before, after)
    )
    lines = list(unified_diff(kept.splitlines(), left.splitlines(), of, case, "", "", 1, ""))
    lines += [
        f"removed: {' '.join(filter(None, key))}" for key in map(identity, before) if key not in new
    ]
    if added := [item for item in after if identity(item) not in old]:
        lines += ["added:", *text(added).splitlines()]
    check(FOLDER / f"{case}.diff", "\n".join(lines) + "\n")


def identity(item: Object) -> tuple[str, ...]:
    """Kind, namespace and name, and of a hook when it runs: some objects are made by two hooks."""
    meta = item["metadata"]
    hook = [meta.get("annotations", {}).get(f"helm.sh/hook{part}", "") for part in ("", "-weight")]
    return item["kind"], meta.get("namespace", ""), meta["name"], *hook


@pytest.fixture(scope="module")
def default(cluster: Cluster) -> str:
    """Return what the chart makes without any value."""
    return rendered(cluster)


@pytest.fixture(scope="module")
def gateway(cluster: Cluster) -> str:
    """Return what the chart makes with the gateway."""
    return rendered(cluster, *GATEWAY)


def test_the_default_chart_renders_the_golden_file(default: str) -> None:
    check(FOLDER / "default.yaml", complete(objects(default)))


@pytest.mark.parametrize("case", CASES)
def test_values_change_the_rendered_chart_as_in_the_golden_files(
    case: str, default: str, cluster: Cluster
) -> None:
    made = rendered(cluster, *CASES[case])
    check_difference(case, objects(default), objects(made))


def test_the_gateway_adds_the_objects_of_the_golden_file(default: str, gateway: str) -> None:
    before = {identity(item) for item in objects(default)}
    added = [item for item in objects(gateway) if identity(item) not in before]
    check(FOLDER / "gateway.yaml", concise(added))


def test_the_concise_format_shows_every_deviation_from_common_fields(gateway: str) -> None:
    usual = concise(objects(gateway))
    others = objects(gateway)
    by_kind = {item["kind"]: item for item in others}
    del by_kind["ServiceAccount"]["metadata"]["labels"]["app.kubernetes.io/instance"]
    by_kind["ClusterRole"]["metadata"]["labels"]["aggregate"] = "true"
    by_kind["ValidatingAdmissionPolicy"]["spec"]["validations"][0]["reason"] = "Unauthorized"
    by_kind["ValidatingAdmissionPolicyBinding"]["spec"]["validationActions"] = ["Audit"]
    added = set(concise(others).splitlines()) - set(usual.splitlines())
    shown = "\n".join(sorted(added))
    for each in (
        "app.kubernetes.io/managed-by: Helm",
        "aggregate: 'true'",
        "Unauthorized",
        "[Audit]",
    ):
        assert each in shown


def test_the_gateway_changes_other_objects_as_in_the_golden_file(
    default: str, gateway: str
) -> None:
    before = {identity(item) for item in objects(default)}
    others = [item for item in objects(gateway) if identity(item) in before]
    check_difference("gateway", objects(default), others)


@pytest.mark.parametrize("case", GATEWAY_CASES)
def test_values_change_the_rendered_gateway_as_in_the_golden_files(
    case: str, gateway: str, cluster: Cluster
) -> None:
    made = rendered(cluster, *GATEWAY_CASES[case])
    check_difference(case, objects(gateway), objects(made), "gateway", concise)


@pytest.mark.parametrize("flags", [(), GATEWAY, *GATEWAY_CASES.values()])
def test_every_admission_policy_has_a_binding(flags: tuple[str, ...], cluster: Cluster) -> None:
    names: dict[str, list[str]] = {}
    for item in objects(rendered(cluster, *flags)):
        names.setdefault(item["kind"], []).append(item["metadata"]["name"])
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        assert sorted(names.get(kind, ())) == sorted(names.get(f"{kind}Binding", ()))


@pytest.mark.parametrize(
    ("served", "used"), [(SERVED, 6), (SERVED.replace("v1/", "v1beta1/"), 6), ("v1/Pod", 0)]
)
def test_mutating_policies_use_the_api_version_that_the_cluster_serves(
    served: str, used: int, cluster: Cluster
) -> None:
    made = rendered(cluster, *GATEWAY, served=served)
    leading = [each for each in parsed(made) if each["kind"].startswith("Mutating")]
    policies = [each for each in leading if "Policy" in each["kind"]]
    assert len(policies) == used
    assert {f"{each['apiVersion']}/MutatingAdmissionPolicy" for each in policies} <= {served}


def test_another_instance_differs_from_the_default_only_in_names(
    default: str, cluster: Cluster
) -> None:
    other = rendered(cluster, f"--set=apiGroupSuffix={OTHER_SUFFIX}")
    assert SUFFIX not in other.replace(LCLUSTER_KEYS, "")
    metas = [item["metadata"] for item in parsed(default)]
    in_namespace = {meta["name"] for meta in metas if "namespace" in meta}
    of_cluster = {meta["name"] for meta in metas} - in_namespace
    taken = "|".join(map(re.escape, of_cluster))
    assert not re.findall(rf"(?<![\w.:-])(?:{taken})(?![\w.:-])", other)
    alike = other.replace(f"lnamespace.{OTHER_SUFFIX}", "lnamespace")
    made = objects(alike.replace(OTHER_SUFFIX, SUFFIX))
    check_difference("other-instance", objects(default), made)


def test_the_webhook_leaves_out_the_controller_by_its_own_name(cluster: Cluster) -> None:
    """In a namespace named as the kind it left out an account of the namespace `lclusters`."""
    made = rendered(cluster, *GATEWAY, "--namespace=lnamespaces")
    assert "!= 'system:serviceaccount:lnamespaces:lnamespace-controller' && !authorizer" in made
    assert "system:serviceaccount:lclusters:" not in made


def test_name_values_change_only_the_names_of_accounts_webhook_and_ledger(
    default: str, cluster: Cluster
) -> None:
    usual = {
        "robot": "lnamespace-controller",
        "hook0": "lnamespace-webhook",
        "book0": "lnamespace-ledger",
    }
    assert not [word for word in usual if word in default]
    flag = "--set=serviceAccount.name=robot,webhook.name=hook0,ledger.name=book0"
    made = rendered(cluster, flag)
    # Only policies and webhook configurations are still named so, and no account is.
    still = set(re.findall(rf"(?:{'|'.join(usual.values())})[\w-]*", made))
    assert still <= {
        name for _, namespace, name, *_ in map(identity, objects(made)) if not namespace
    }
    assert "system:serviceaccount:lnamespace-system:lnamespace-" not in made
    for word, name in usual.items():
        made = made.replace(word, name)
    assert sorted(objects(made), key=identity) == sorted(objects(default), key=identity)


@pytest.mark.parametrize("flags", [(), ("--set=gateway.enabled=true,gateway.host=x.example.com",)])
def test_no_field_of_the_chart_is_null(cluster: Cluster, flags: tuple[str, ...]) -> None:
    """An upgrade took the gateway's CA away, which the gateway writes into `data` of a ConfigMap.

    To Helm, and to `kubectl apply`, null says that a field is to go.
    """
    made = objects(rendered(cluster, *flags))
    nulls = {each["metadata"]["name"] for each in made if has_null(each)}
    # Of a definition's webhook the Service or the address is to go, where it was there before.
    assert nulls <= {"lnamespaces.tenancy.loblaw.digital"}


def has_null(value: object) -> bool:
    """Return whether something within a manifest is null."""
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    if isinstance(value, list):
        return any(map(has_null, value))
    return value is None
