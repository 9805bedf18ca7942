"""What changes on the platform's cluster are for the gateway, when it has many tenants."""

import asyncio
import json
from typing import Any, cast

import pytest
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.watched_parts import RBAC_BYTES, PartReader
from lnamespace.kube.resources import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, PRIORITY_CLASS, ROLE
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata
from lnamespace.model.names import Names
from lnamespace.translate.discovery.published import is_global_default
from lnamespace.translate.objects.aggregation import KEPT_AS
from lnamespace.translate.objects.default_classes import (
    DEFAULT_MARKS,
    STORAGE_CLASSES,
    default_since,
)

from tests.unit.support.translation import ACME


def tenants_with(*names: str) -> Tenants:
    tenants = Tenants(cast(Any, None), cast(Any, None), Names())
    for name in names:
        cluster = LCluster(Metadata(name, f"uid-{name}", "1"), LClusterSpec())
        tenants._tenants[name] = ServedTenant(cluster, ACME, {})  # noqa: SLF001
    return tenants


BOOTSTRAP = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def watched(name: str, labels: Any = None, **members: Any) -> WatchedObject:
    metadata = {"name": name, "resourceVersion": "1", "labels": labels or {}}
    return read_watched(json.dumps({"metadata": metadata, **members}).encode())


async def renewed(tenants: Tenants, plural: str, item: WatchedObject) -> bool:
    """Return whether all views are made anew after a change of an object."""
    if plural == PRIORITY_CLASS.plural:
        tenants._published_changed(PRIORITY_CLASS, None, item)  # noqa: SLF001
    else:
        tenants._rbac_changed(plural, None, item)  # noqa: SLF001
    stale = tenants._stale  # noqa: SLF001
    await asyncio.sleep(0)
    return stale


@pytest.mark.parametrize(
    ("plural", "item", "expected"),
    [
        (CLUSTER_ROLE.plural, watched("view", BOOTSTRAP, rules=[]), True),
        (CLUSTER_ROLE.plural, watched("lnamespace:manager:team-a", rules=[]), False),
        (CLUSTER_ROLE_BINDING.plural, watched("view"), False),
        (PRIORITY_CLASS.plural, watched("system-node-critical", value=1), True),
        (PRIORITY_CLASS.plural, watched("ours", value=1), False),
        (PRIORITY_CLASS.plural, watched("ours", value=1, globalDefault=True), True),
    ],
)
async def test_tenant_views_are_rebuilt_only_after_changes_that_tenants_see(
    plural: str, item: WatchedObject, expected: bool
) -> None:
    """Each LCluster and LNamespace brings a role for its managers, which no tenant is shown."""
    assert await renewed(tenants_with("acme"), plural, item) is expected


async def test_the_resource_table_is_computed_once_for_all_tenants() -> None:
    tenants = tenants_with("acme", "beta")
    tenants._renew_views()  # noqa: SLF001
    tables = {id(tenant.view.resources) for tenant in tenants}
    assert len(tables) == 1
    tenants._renew_views()  # noqa: SLF001
    assert {id(tenant.view.resources) for tenant in tenants} == tables


def test_an_lcluster_is_served_while_it_has_the_controllers_finalizer() -> None:
    """Before and after, objects by its name are what a former LCluster left: they were shown."""
    tenants = tenants_with()
    finalizers = [Names().lcluster_finalizer]
    metadata = {"name": "acme", "uid": "uid-a", "resourceVersion": "1"}

    def change(old: WatchedObject | None, *finalizers: str) -> WatchedObject:
        body = {"metadata": metadata | {"finalizers": finalizers}, "spec": {}}
        new = read_watched(json.dumps(body).encode())
        tenants._cluster_changed(old, new)  # noqa: SLF001
        return new

    refused = change(None, "example.com/mine")
    assert tenants.get("acme") is None
    served = change(refused, *finalizers)
    assert tenants.get("acme")
    change(served, "example.com/mine")
    assert tenants.get("acme") is None


LABEL = Names().lcluster_label
PARTS = PartReader(LABEL)


def whole(name: str, **members: Any) -> bytes:
    """Return an object of a tenant with all that makes objects long."""
    metadata = {
        "name": name,
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {LABEL: "acme"} | {f"l{each}": "x" for each in range(100)},
        "annotations": {"a": "x" * 10_000} | dict.fromkeys(DEFAULT_MARKS, "true"),
        "managedFields": [{"manager": "x" * 10_000}],
    }
    return json.dumps({"metadata": metadata, **members}).encode()


def test_only_the_used_fields_of_tenants_definitions_and_classes_are_cached() -> None:
    """Each replica kept them whole: 1,000 definitions of 1 MB ended all replicas."""
    definition = PARTS.metadata(whole("w.acme-example.com", spec={"x": "x" * 10_000}))
    assert (definition.raw, definition.labels) == (b"", {LABEL: "acme"})
    kept = PARTS.shared_class(whole("acme-fast", parameters={"x": "x" * 10_000}))
    assert len(kept.raw) < 400
    assert kept.labels == {LABEL: "acme"}
    assert default_since(STORAGE_CLASSES, kept.raw) == "2026-01-01T00:00:00Z"
    assert is_global_default(PARTS.shared_class(whole("p", globalDefault=True)).raw)
    assert len(PARTS.rbac(whole("acme-r", rules=[])).raw) < 2_500


def test_the_labels_of_platform_roles_and_classes_are_cached() -> None:
    raw = json.dumps({"metadata": {"name": "view", "labels": BOOTSTRAP}, "rules": []}).encode()
    assert PARTS.rbac(raw).labels == PARTS.shared_class(raw).labels == BOOTSTRAP


def test_the_aggregation_rule_of_a_cluster_role_is_cached() -> None:
    """After a restart of the gateway it gathered nothing."""
    rule = '{"clusterRoleSelectors":[]}'
    annotations = {KEPT_AS: rule, "a": "x" * 10_000}
    raw = json.dumps({"metadata": {"name": "acme-sum", "annotations": annotations}}).encode()
    kept = json.loads(PARTS.rbac(raw).raw)
    assert kept["metadata"]["annotations"] == {KEPT_AS: rule}


def role_of(tenants: Tenants, name: str, size: int) -> WatchedObject:
    """Read a Role as its reflector does, and keep it."""
    metadata = {"name": name, "namespace": "acme-prod", "resourceVersion": "1"}
    body = {"metadata": metadata, "rules": [{"resourceNames": ["x" * size]}]}
    item = tenants._read_rbac(ROLE.plural, json.dumps(body).encode())  # noqa: SLF001
    tenants._rbac_changed(ROLE.plural, None, item)  # noqa: SLF001
    return item


def test_the_roles_of_a_tenant_share_one_size_limit(caplog: pytest.LogCaptureFixture) -> None:
    """A tenant's Roles of 1 MB were kept five times over, without a bound."""
    tenants = tenants_with("acme")
    half = RBAC_BYTES // 2
    first, second = (role_of(tenants, each, half) for each in "ab")
    assert (len(first.raw) > half, second.raw) == (True, b"")
    assert "are too long" in caplog.text
    assert role_of(tenants, "b", 10).raw, "a shorter one has room"
    assert role_of(tenants, "a", half).raw, "an object is not counted twice"
    tenants._rbac_changed(ROLE.plural, first, None)  # noqa: SLF001
    assert role_of(tenants, "c", half).raw, "what was deleted leaves room"


def test_the_roles_of_the_platform_have_no_size_limit() -> None:
    tenants = tenants_with()
    assert all(role_of(tenants, each, RBAC_BYTES // 2).raw for each in "ab")


def test_a_role_beyond_the_size_limit_grants_nothing_and_raises_no_error() -> None:
    tenants = tenants_with("acme")
    role_of(tenants, "a", RBAC_BYTES)
    tenant = tenants.get("acme")
    assert tenant
    assert not tenant.authorizer.store.namespaces
