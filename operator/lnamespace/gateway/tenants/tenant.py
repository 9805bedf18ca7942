"""One tenant: its LCluster, its names, its namespaces, and the rights of its users."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lnamespace.access.entries import ActiveEntries, active_entries
from lnamespace.gateway.tenants.namespaces import TenantNamespaces, WatchedObject
from lnamespace.gateway.tenants.roles import TenantRoles
from lnamespace.gateway.tenants.totals import TenantTotals
from lnamespace.kube.objects import Key
from lnamespace.model.lcluster import LCluster
from lnamespace.model.quantities import parse_amounts
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.objects import RbacRole
from lnamespace.runtime.lifecycle import wait_at_most
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import ResourceTable


class ServedTenant:
    """One tenant, as the gateway knows it from its watches."""

    def __init__(
        self, cluster: LCluster, view: TenantView, published: Mapping[str, RbacRole]
    ) -> None:
        self.namespaces = TenantNamespaces()
        self.totals = TenantTotals(parse_amounts(cluster.spec.quota, up=False))
        self.cluster = cluster
        self._view = replace(view, namespaces=self.namespaces)
        self._published = published
        self._roles = TenantRoles(view, published)
        self._entries: ActiveEntries | None = None
        self._changed = asyncio.Event()

    @property
    def name(self) -> str:
        """Return the name of the LCluster."""
        return self.cluster.name

    @property
    def terminating(self) -> bool:
        """Return whether the LCluster is being deleted."""
        return bool(self.cluster.metadata.deletion_timestamp)

    @property
    def view(self) -> TenantView:
        """Return the names of the tenant."""
        return self._view

    def entries(self) -> ActiveEntries:
        """Return the entries of the lists that count now."""
        now = datetime.now(UTC)
        known = self._entries
        if known is None or (known.changes_at and known.changes_at <= now):
            known = self._entries = active_entries(self.cluster.spec, now)
        return known

    @property
    def authorizer(self) -> Authorizer:
        """Return the authorizer with the tenant's present roles and bindings."""
        return self._roles.authorizer

    def set_lcluster(self, cluster: LCluster) -> None:
        """Update the LCluster."""
        self.cluster = cluster
        self.totals.totals = parse_amounts(cluster.spec.quota, up=False)
        self._entries = None
        self._wake()

    def end(self) -> None:
        """Wake all watches and streams, which then end: the LCluster is deleted."""
        self._wake()

    def set_view(self, view: TenantView, published: Mapping[str, RbacRole]) -> None:
        """Update the names, after a CustomResourceDefinition came or went."""
        if view != self._view or published is not self._published:
            self._view = replace(view, namespaces=self.namespaces)
            self._published = published
            self._roles.set_view(view, published)
            self._wake()

    def put(self, plural: str, item: WatchedObject) -> None:
        """Update a Role or a binding."""
        self._roles.put(plural, item)
        self._wake()

    def remove(self, plural: str, key: Key) -> None:
        """Forget a Role or a binding."""
        self._roles.remove(plural, key)
        self._wake()

    def changed(self) -> Coroutine[Any, Any, None]:
        """Return a coroutine that ends when rights may have changed, or an entry expires.

        It includes changes between this call and the time when it is awaited.
        """
        at = self.entries().changes_at
        left = (at - datetime.now(UTC)).total_seconds() if at else None
        return wait_at_most(self._changed, left)

    async def other_resources(self, resources: ResourceTable) -> None:
        """Wait until the tenant is served other resources than these."""
        while self._view.resources == resources:
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
