"""What changes on the platform's cluster are for the gateway, when it has many tenants."""

import asyncio
import json
from typing import Any, cast

import pytest
from lnamespace.gateway.tenants.cache import PRIORITY_CLASS, Tenants
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.kube.resources import CLUSTER_ROLE, CLUSTER_ROLE_BINDING
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata
from lnamespace.model.names import Names

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
        tenants._class_changed(PRIORITY_CLASS, None, item)  # noqa: SLF001
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
async def test_views_are_made_anew_only_where_tenants_see_something_else(
    plural: str, item: WatchedObject, expected: bool
) -> None:
    """Each LCluster and LNamespace brings a role for its managers, which no tenant is shown."""
    assert await renewed(tenants_with("acme"), plural, item) is expected


async def test_what_tenants_are_served_is_worked_out_once_for_all() -> None:
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
