"""What the gateway's own account may do: write what LClusters have of their own, no more."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from lnamespace.kube.prefixed import ALL_KINDS
from lnamespace.translate.protocol.policies import (
    BUILT_IN_GROUPS,
    hidden_in_namespaces,
    resource_policy,
)
from lnamespace.translate.protocol.resources import GroupResource, ServingPolicy

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = (ROOT / "charts" / "lnamespace" / "templates" / "gateway-rbac.yaml").read_text()
GOLDEN = ROOT / "tests" / "e2e" / "golden" / "chart"
OWN = {ServingPolicy.TRANSLATED, ServingPolicy.CONFINED, ServingPolicy.INERT}

ANSWERED_BY_THE_GATEWAY = {
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
}
"""Reviews are no objects, and the answer about a tenant's people is not the platform's."""

KUBERNETES = {
    (group, resource)
    for group, resources in {
        "": "namespaces nodes persistentvolumes componentstatuses",
        "admissionregistration.k8s.io": "mutatingadmissionpolicies mutatingadmissionpolicybindings "
        "mutatingwebhookconfigurations validatingadmissionpolicies "
        "validatingadmissionpolicybindings validatingwebhookconfigurations",
        "apiextensions.k8s.io": "customresourcedefinitions",
        "apiregistration.k8s.io": "apiservices",
        "authentication.k8s.io": "selfsubjectreviews tokenreviews",
        "authorization.k8s.io": "selfsubjectaccessreviews selfsubjectrulesreviews "
        "subjectaccessreviews",
        "certificates.k8s.io": "certificatesigningrequests clustertrustbundles",
        "flowcontrol.apiserver.k8s.io": "flowschemas prioritylevelconfigurations",
        "networking.k8s.io": "ingressclasses ipaddresses servicecidrs",
        "node.k8s.io": "runtimeclasses",
        "rbac.authorization.k8s.io": "clusterrolebindings clusterroles",
        "resource.k8s.io": "deviceclasses resourceslices",
        "scheduling.k8s.io": "priorityclasses",
        "storage.k8s.io": "csidrivers csinodes storageclasses volumeattachments "
        "volumeattributesclasses",
    }.items()
    for resource in resources.split()
}
"""The cluster-scoped resources of Kubernetes 1.36."""


def kinds() -> list[dict[str, Any]]:
    """Return the list in the template, which is YAML without any expression."""
    found = re.search(r'define "lnamespace.gatewayKinds" -}}\n(.*?)\{\{', TEMPLATE, re.DOTALL)
    assert found
    listed: list[dict[str, Any]] = yaml.safe_load(found[1])["own"]
    return listed


def test_the_gateway_may_write_exactly_the_kinds_that_lclusters_own() -> None:
    written = {(kind["group"], resource) for kind in kinds() for resource in kind["resources"]}
    owned = {
        (group, resource)
        for group, resource in KUBERNETES
        if resource_policy(GroupResource(group, resource), namespaced=False).policy in OWN
    }
    assert written == owned - ANSWERED_BY_THE_GATEWAY


def test_the_controller_deletes_all_kinds_that_lclusters_own() -> None:
    """CSINodes of an LCluster were left when it was deleted."""
    written = {(kind["group"], resource) for kind in kinds() for resource in kind["resources"]}
    deleted = {(each.group, each.plural) for each in ALL_KINDS}
    assert written - {("", "namespaces")} <= deleted


def test_every_subresource_belongs_to_a_resource_that_the_gateway_writes() -> None:
    for kind in kinds():
        parents = {each.partition("/")[0] for each in kind.get("subresources", ())}
        assert parents <= set(kind["resources"])


def roles() -> dict[str, list[dict[str, Any]]]:
    """Return the rules of the roles that the chart makes for the gateway, by their names."""
    made = yaml.safe_load_all((GOLDEN / "gateway.yaml").read_text())
    found = [item for item in made if item["kind"] in ("Role", "ClusterRole")]
    return {
        item["metadata"]["name"]: item["rules"]
        for item in found
        if item["metadata"]["name"].startswith("lnamespace:gateway")
    }


def test_no_rule_contains_a_wildcard() -> None:
    rules = [rule for rules in roles().values() for rule in rules]
    assert len(rules) > 30
    for rule in rules:
        given = [*rule["verbs"], *rule.get("resources", ()), *rule.get("apiGroups", ())]
        assert "*" not in given
        assert "*" not in rule.get("nonResourceURLs", ())


@pytest.mark.parametrize(
    "resource",
    ["secrets", "configmaps", "pods", "pods/exec", "serviceaccounts/token", "nodes", "nodes/proxy"],
)
def test_the_gateways_own_account_has_no_rights_to_tenant_content(resource: str) -> None:
    for name, rules in roles().items():
        if name not in ("lnamespace:gateway-signer", "lnamespace:gateway-pods"):
            assert not any(resource in rule.get("resources", ()) for rule in rules)


def test_the_gateway_may_read_its_service_and_write_its_ca_config_map_for_pods() -> None:
    name = "lnamespace-gateway-for-pods"
    assert roles()["lnamespace:gateway-pods"] == [
        {"apiGroups": [""], "resources": [each], "resourceNames": [name], "verbs": [verb]}
        for each, verb in (("services", "get"), ("configmaps", "patch"))
    ]


def test_the_gateway_may_read_only_the_secret_of_its_own_ca() -> None:
    (rule,) = roles()["lnamespace:gateway-signer"]
    assert rule == {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["lnamespace-gateway-signer"],
        "verbs": ["get", "patch"],
    }


def test_the_gateway_may_impersonate_service_accounts_but_no_users() -> None:
    found = {
        (name, resource)
        for name, rules in roles().items()
        for rule in rules
        if "impersonate" in rule["verbs"]
        for resource in rule["resources"]
    }
    said = {
        ("lnamespace:gateway-reads", f"userextras/lcluster-{each}")
        for each in ("user", "acting", "stored")
    }
    assert found == said | {
        ("lnamespace:gateway-impersonation", "serviceaccounts"),
        ("lnamespace:gateway-itself", "serviceaccounts"),
    }
    itself = roles()["lnamespace:gateway-itself"]
    assert [rule["resourceNames"] for rule in itself] == [["lnamespace-gateway"]]


def listed_in_helpers(name: str) -> set[str]:
    """Return a list in _gateway.tpl, which is YAML without any expression."""
    text = (ROOT / "charts" / "lnamespace" / "templates" / "_gateway.tpl").read_text()
    found = re.search(rf'define "lnamespace.{name}" -}}}}\n(.*?)\{{\{{', text, re.DOTALL)
    assert found
    return set(yaml.safe_load(found[1]))


def test_the_policy_of_kinds_knows_the_groups_and_hidden_kinds_of_the_gateway() -> None:
    assert listed_in_helpers("builtInGroups") == BUILT_IN_GROUPS
    hidden = {f"{each.group}/{each.plural}" for each in hidden_in_namespaces()}
    assert listed_in_helpers("hiddenKinds") | {"/bindings"} == hidden
