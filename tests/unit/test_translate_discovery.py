"""What one tenant is served of the platform's aggregated discovery."""

import pytest
from lnamespace.translate.discovery.groups import TenantGroups, parse_discovery, resource_table
from lnamespace.translate.discovery.published import Published, PublishedObjects
from lnamespace.translate.protocol.resources import GroupResource, ResourceType, ServingPolicy
from lnamespace.translate.protocol.verbs import READ_VERBS

from tests.unit.support.upstream import discovered

TABLE = resource_table(discovered(), "acme")
METERS = Published(usable=frozenset({GroupResource("platform.example.org", "meters")}))


def served(group: str, plural: str) -> ResourceType:
    found = TABLE.by_plural(group, plural)
    assert found is not None
    return found


def test_a_built_in_resource_is_served_with_its_versions_verbs_and_subresources() -> None:
    deployments = served("apps", "deployments")
    assert deployments.kind == "Deployment"
    assert deployments.namespaced
    assert not deployments.custom
    assert deployments.versions == ("v1",)
    assert deployments.serves_verb("deletecollection")
    assert deployments.serves_subresource("scale")
    assert not deployments.serves_subresource("eviction")


def test_versions_are_in_order_of_preference() -> None:
    assert served("autoscaling", "horizontalpodautoscalers").versions == ("v2", "v1")


def test_own_custom_resources_are_served_under_the_group_of_the_tenant() -> None:
    widgets = served("stable.example.com", "widgets")
    assert widgets.custom
    assert widgets.versions == ("v1", "v1beta1")
    assert widgets.policy is ServingPolicy.TRANSLATED
    assert TABLE.by_kind("stable.example.com", "Widget") is widgets
    assert TABLE.by_plural("acme-stable.example.com", "widgets") is None


def test_groups_of_other_tenants_and_of_the_platform_do_not_exist() -> None:
    groups = {each.group for each in TABLE.types}
    assert not [each for each in groups if "beta" in each or "platform" in each]
    assert TABLE.by_plural("stable.example.com", "gears") is None


def test_another_tenant_is_served_its_own_resources_under_the_same_group() -> None:
    other = resource_table(discovered(), "beta")
    assert other.by_plural("stable.example.com", "gears") is not None
    assert other.by_plural("stable.example.com", "widgets") is None


@pytest.mark.parametrize(
    ("group", "plural"),
    [("", "bindings"), ("", "componentstatuses")],
)
def test_a_hidden_resource_is_not_served(group: str, plural: str) -> None:
    assert TABLE.by_plural(group, plural) is None


def test_a_hidden_subresource_is_not_served() -> None:
    pods = served("", "pods")
    assert not pods.serves_subresource("binding")
    assert not pods.serves_verb("create", "binding")
    assert pods.serves_verb("create", "eviction")
    status = pods.subresource("status")
    assert status
    assert status.policy is ServingPolicy.CONFINED


def test_nodes_are_served_read_only_without_subresources() -> None:
    nodes = served("", "nodes")
    assert nodes.verbs == READ_VERBS
    assert nodes.subresources == ()
    assert not nodes.publishes


def test_a_group_that_the_platform_publishes_is_served_under_its_own_name() -> None:
    table = resource_table(discovered(), "acme", METERS)
    meters = table.by_plural("platform.example.org", "meters")
    assert meters is not None
    assert not meters.custom


def test_a_namespaced_resource_of_a_published_group_is_served_only_if_named() -> None:
    others = frozenset({GroupResource("platform.example.org", "others")})
    table = resource_table(discovered(), "acme", Published(usable=others))
    assert table.by_plural("platform.example.org", "meters") is None


def test_a_cluster_scoped_resource_of_a_published_group_is_shared_only_if_named() -> None:
    gears = GroupResource("beta-stable.example.com", "gears")
    others = frozenset({GroupResource(gears.group, "others")})
    hidden = resource_table(discovered(), "acme", Published(usable=others))
    shared = resource_table(discovered(), "acme", Published({gears: PublishedObjects(("one",))}))
    assert hidden.by_plural(gears.group, gears.plural) is None
    found = shared.by_plural(gears.group, gears.plural)
    assert found is not None
    assert found.policy is ServingPolicy.SHARED
    assert found.verbs == READ_VERBS


@pytest.mark.parametrize("group", ["apps", "networking.k8s.io", "platform.example.org"])
def test_a_group_with_the_name_of_a_platform_group_is_not_the_tenants(group: str) -> None:
    groups = TenantGroups("acme", METERS)
    assert not groups.owns(f"acme-{group}")
    assert groups.down(f"acme-{group}") is None
    assert groups.up(group) == group


@pytest.mark.parametrize("upstream", ["acme", "acme.example.com", "acmex-example.com", "example"])
def test_only_a_group_with_the_complete_prefix_belongs_to_the_tenant(upstream: str) -> None:
    assert TenantGroups("acme").down(upstream) is None


def test_a_document_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="APIGroupList"):
        parse_discovery(b'{"kind": "APIGroupList", "groups": []}')
