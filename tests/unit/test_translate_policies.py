"""The serving policy of each resource of Kubernetes 1.36."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import SettingsError
from lnamespace.translate.discovery.published import (
    DEFAULT_OBJECTS,
    Published,
    PublishedObjects,
    decode_published,
    is_global_default,
)
from lnamespace.translate.protocol.policies import (
    allowed_verbs,
    is_reserved_group,
    resource_policy,
    subresource_policy,
)
from lnamespace.translate.protocol.resources import GroupResource, ServingPolicy
from lnamespace.translate.protocol.verbs import READ_VERBS

from tests.unit.support.upstream import discovered

LABEL = "tenancy.loblaw.digital/lcluster"
ROLES = GroupResource("rbac.authorization.k8s.io", "clusterroles")
CLASSES = GroupResource("storage.k8s.io", "storageclasses")
BOOTSTRAP = {"kubernetes.io/bootstrapping": "rbac-defaults"}
ALL_VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete"})


@pytest.mark.parametrize(
    ("group", "plural", "policy"),
    [
        ("", "namespaces", ServingPolicy.TRANSLATED),
        ("", "nodes", ServingPolicy.SHARED),
        ("", "componentstatuses", ServingPolicy.HIDDEN),
        ("", "persistentvolumes", ServingPolicy.CONFINED),
        ("apiregistration.k8s.io", "apiservices", ServingPolicy.SHARED),
        ("flowcontrol.apiserver.k8s.io", "flowschemas", ServingPolicy.INERT),
        ("storage.k8s.io", "csinodes", ServingPolicy.INERT),
        ("resource.k8s.io", "resourceslices", ServingPolicy.INERT),
        ("networking.k8s.io", "somethingnew", ServingPolicy.HIDDEN),
        ("apps", "clusterthings", ServingPolicy.HIDDEN),
    ],
)
def test_a_cluster_scoped_resource_has_the_policy_of_the_table_or_is_hidden(
    group: str, plural: str, policy: ServingPolicy
) -> None:
    assert resource_policy(GroupResource(group, plural), namespaced=False).policy is policy


def test_an_unknown_namespaced_resource_is_translated() -> None:
    new = GroupResource("apps", "rolloutplans")
    assert resource_policy(new, namespaced=True).policy is ServingPolicy.TRANSLATED


@pytest.mark.parametrize(
    "hidden",
    [
        GroupResource("", "bindings"),
        GroupResource("scheduling.k8s.io", "podgroups"),
        GroupResource("scheduling.k8s.io", "workloads"),
    ],
)
def test_kinds_that_bypass_the_scheduler_or_preempt_others_are_hidden(
    hidden: GroupResource,
) -> None:
    assert resource_policy(hidden, namespaced=True).policy is ServingPolicy.HIDDEN


@pytest.mark.parametrize(
    ("plural", "subresource", "policy"),
    [
        ("pods", "binding", ServingPolicy.HIDDEN),
        ("pods", "status", ServingPolicy.CONFINED),
        ("pods", "log", ServingPolicy.TRANSLATED),
        ("nodes", "proxy", ServingPolicy.HIDDEN),
        ("nodes", "status", ServingPolicy.HIDDEN),
        ("namespaces", "finalize", ServingPolicy.CONFINED),
        ("services", "proxy", ServingPolicy.CONFINED),
    ],
)
def test_a_subresource_has_its_own_policy_or_that_of_its_resource(
    plural: str, subresource: str, policy: ServingPolicy
) -> None:
    resource = GroupResource("", plural)
    assert subresource_policy(resource, subresource, ServingPolicy.TRANSLATED) is policy


def test_a_subresource_of_a_hidden_resource_is_hidden() -> None:
    resource = GroupResource("", "pods")
    assert subresource_policy(resource, "log", ServingPolicy.HIDDEN) is ServingPolicy.HIDDEN


@given(st.sampled_from(ServingPolicy), st.frozensets(st.sampled_from(sorted(ALL_VERBS))))
def test_a_shared_resource_is_read_only_and_a_hidden_one_has_no_verb(
    policy: ServingPolicy, verbs: frozenset[str]
) -> None:
    allowed = allowed_verbs(policy, verbs)
    match policy:
        case ServingPolicy.HIDDEN:
            assert not allowed
        case ServingPolicy.SHARED:
            assert allowed == verbs & READ_VERBS
        case _:
            assert allowed == verbs


def test_every_cluster_scoped_resource_of_kubernetes_has_a_serving_policy() -> None:
    """A resource is judged if the table names it: an unknown one would be hidden."""
    hidden = {
        str(named)
        for group in discovered()
        if is_reserved_group(group.name)
        for version in group.versions
        for each in version.resources
        if each.scope != "Namespaced"
        for named in [GroupResource(group.name, each.resource)]
        if resource_policy(named, namespaced=False).policy is ServingPolicy.HIDDEN
    }
    assert hidden == {"componentstatuses"}


@pytest.mark.parametrize("group", ["", "apps", "networking.k8s.io"])
def test_no_custom_resources_may_be_defined_in_a_built_in_group(group: str) -> None:
    assert is_reserved_group(group)


@pytest.mark.parametrize("group", ["metrics.k8s.io", "example.com", "cert-manager.io"])
def test_custom_resources_may_be_defined_in_any_other_group(group: str) -> None:
    assert not is_reserved_group(group)


def test_the_bootstrap_roles_are_published_and_roles_of_add_ons_are_not() -> None:
    roles = [
        ("cluster-admin", BOOTSTRAP),
        ("system:discovery", BOOTSTRAP),
        ("system:metrics-server", {}),
        ("admin", {}),
        ("secret-reader", BOOTSTRAP),
    ]
    names = Published().names(ROLES, roles, LABEL)
    assert names == {"cluster-admin", "system:discovery"}


def test_an_object_of_a_tenant_is_never_published() -> None:
    classes = [("standard", {}), ("acme-fast", {LABEL: "acme"})]
    assert Published().names(CLASSES, classes, LABEL) == {"standard"}


def test_a_resource_without_a_publication_rule_publishes_nothing() -> None:
    nodes = GroupResource("", "nodes")
    assert Published().names(nodes, [("node-1", {})], LABEL) == frozenset()


def test_only_resources_that_show_published_objects_are_published_by_default() -> None:
    for resource in DEFAULT_OBJECTS:
        assert resource_policy(resource, namespaced=False).publishes, str(resource)


def test_a_name_is_published_exactly_or_by_prefix() -> None:
    rule = PublishedObjects(("gold", "silver-*"))
    names = ["gold", "golden", "silver-1", "silver", "silver-"]
    assert [each for each in names if rule.includes(each, {})] == ["gold", "silver-1", "silver-"]


def test_omitted_settings_publish_the_defaults() -> None:
    assert decode_published("{}") == Published()


def test_the_published_names_are_decoded_from_the_settings() -> None:
    text = """{"storageClasses": ["gold", "silver-*"], "ingressClasses": [],
        "runtimeClasses": ["gvisor"], "clusterRoles": ["reader"],
        "customResources": [{"group": "cert-manager.io",
            "clusterScoped": {"clusterissuers": ["main"]}, "namespaced": ["certificates"]}]}"""
    found = decode_published(text)
    assert found.objects[CLASSES] == PublishedObjects(("gold", "silver-*"))
    assert GroupResource("networking.k8s.io", "ingressclasses") not in found.objects
    assert found.objects[GroupResource("node.k8s.io", "runtimeclasses")].names == ("gvisor",)
    assert found.usable == {GroupResource("cert-manager.io", "certificates")}
    assert found.groups == {"cert-manager.io"}
    issuers = GroupResource("cert-manager.io", "clusterissuers")
    assert found.custom_names == {issuers: {"main"}}
    roles = [("reader", {}), ("writer", {}), ("admin", {}), ("view", BOOTSTRAP)]
    assert found.names(ROLES, roles, LABEL) == {"reader", "view"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "--gateway-published is empty; for the defaults, write {}"),
        ("\n", "is empty"),
        ("[]", "Expected `object`"),
        ('{"nodes": ["*"]}', "unknown field `nodes`"),
        ('{"storageClasses": "gold"}', "Expected `array`"),
        ('{"customResources": [{"group": "storage.k8s.io"}]}', "no group of Custom"),
        ('{"customResources": [{"group": ""}]}', "no group of Custom"),
        ('{"customResources": [{"clusterScoped": {}}]}', "group"),
        (
            '{"customResources": [{"group": "a.b", "clusterScoped": {"c": ["*"]}}]}',
            "named exactly",
        ),
    ],
)
def test_an_invalid_publication_setting_is_refused(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        decode_published(text)


def test_the_global_default_priority_class_is_recognized() -> None:
    assert is_global_default(b'{"value":5,"globalDefault":true}')
    assert not is_global_default(b'{"value":5}')
