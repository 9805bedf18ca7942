"""All tenants, kept current by watches of the platform's cluster."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Raw

from lnamespace.errors import ModelError
from lnamespace.gateway.discovery.upstream_discovery import UpstreamDiscovery
from lnamespace.gateway.tenants.embedding_schemas import EmbeddingSchemas
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.totals import read_used
from lnamespace.gateway.tenants.view_builder import Route, ViewBuilder, resource_name
from lnamespace.gateway.tenants.watched_parts import KeptDefinition, PartReader, RbacBudget
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    NAMESPACE,
    RESOURCE_QUOTA,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.store import Store
from lnamespace.model import lcluster
from lnamespace.model.lcluster import LCluster, decode_lcluster
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING, SHARE_QUOTA, Names
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.names.allowances import Allowances

_RBAC = (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)

Changed = Callable[[WatchedObject | None, WatchedObject | None], None]
BindingListener = Callable[[WatchedObject | None, WatchedObject | None, int], None]
"""Called with a RoleBinding as it was and is, and the newest version of any RoleBinding."""
ServedListener = Callable[[LCluster | None, LCluster | None], None]
"""Called with None and an LCluster before it is served, and with it and None when it is gone."""

log = logging.getLogger(__name__)


class Tenants:
    """Every LCluster's tenant by its name."""

    def __init__(
        self,
        client: Client,
        upstream: Upstream,
        names: Names,
        allowances: Allowances | None = None,
        route: Route | None = None,
        bindings: BindingListener | None = None,
        published: Published | None = None,
        served: ServedListener | None = None,
    ) -> None:
        self._names = names
        self._bindings = bindings
        self._served = served
        self._tenants: dict[str, ServedTenant] = {}
        self._stale = False
        self._stale_tenants: set[str] = set()
        self._parts = PartReader(names.lcluster_label)
        self._rbac_budget = RbacBudget()
        self.embedding = EmbeddingSchemas(names.lcluster_label)
        self.discovery = UpstreamDiscovery(upstream, self._renew_views)
        self._stores: dict[str, Store[WatchedObject]] = {}
        self._views = ViewBuilder(
            names, self._stores, allowances or Allowances(), published or Published(), route
        )
        self._reflectors = list(self._reflect(client))

    def __iter__(self) -> Iterator[ServedTenant]:
        return iter(list(self._tenants.values()))

    def __len__(self) -> int:
        return len(self._tenants)

    def get(self, name: str) -> ServedTenant | None:
        """Return the tenant of an LCluster, or None."""
        return self._tenants.get(name)

    def definitions(self) -> Iterator[tuple[str, str, KeptDefinition]]:
        """Yield the definitions of LClusters: the tenant, the name upstream, and what is kept."""
        label = self._names.lcluster_label
        for each in self._stores[CUSTOM_RESOURCE_DEFINITION.plural]:
            if label in each.labels:
                yield each.labels[label], each.name, KeptDefinition.of(each)

    def definitions_of(self, tenant: str) -> frozenset[str]:
        """Return the names upstream of the CustomResourceDefinitions of a tenant."""
        label, found = self._names.lcluster_label, self._stores[CUSTOM_RESOURCE_DEFINITION.plural]
        return frozenset(each.name for each in found if each.labels.get(label) == tenant)

    def marked_definitions(self) -> dict[str, str]:
        """Return when each marked definition of an LCluster was marked, by its name upstream."""
        return {name: kept.marked for _, name, kept in self.definitions() if kept.marked}

    def generation_of(self, definition: str) -> int:
        """Return the generation of a definition by its name upstream; 0 if there is none."""
        found = self._stores[CUSTOM_RESOURCE_DEFINITION.plural].get(("", definition))
        return KeptDefinition.of(found).generation if found else 0

    def retained_definitions(self) -> frozenset[str]:
        """Return the names upstream of definitions without an LCluster whose webhook is asked.

        Their LCluster is gone, and its objects are kept (``deletionPolicy: Retain``).
        """
        if not self.has_synced:
            return frozenset()
        return frozenset(
            name
            for tenant, name, kept in self.definitions()
            if tenant not in self._tenants and kept.conversion.asks_webhook
        )

    def schema_sizes(self, tenant: str) -> dict[str, int]:
        """Return the size of the schemas of each definition of a tenant, by its name upstream."""
        return {name: kept.schemas for of, name, kept in self.definitions() if of == tenant}

    def deleted_definitions(self, tenant: str) -> dict[str, bool]:
        """Return of each definition of a tenant, by its name upstream, whether it is deleted."""
        return {name: kept.deleted for of, name, kept in self.definitions() if of == tenant}

    async def run(self) -> None:
        """Run discovery and the reflectors."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.discovery.run())
            first, *others = self._reflectors
            group.create_task(first.run())
            # Fewer parts of the other objects are kept if they belong to an LCluster.
            await first.synced.wait()
            for reflector in others:
                group.create_task(reflector.run())

    async def wait_synced(self) -> None:
        """Wait until all caches have synced."""
        await self.discovery.refresh()
        for reflector in self._reflectors:
            await reflector.synced.wait()

    @property
    def bindings_version(self) -> int:
        """Return the newest version of any RoleBinding that was observed."""
        return self._stores[ROLE_BINDING.plural].last_version

    @property
    def has_synced(self) -> bool:
        """Return whether all caches have synced."""
        return all(reflector.synced.is_set() for reflector in self._reflectors)

    def _reflect(self, client: Client) -> Iterator[Reflector[WatchedObject]]:
        clusters = Resource(self._names.group, lcluster.VERSION, lcluster.KIND, lcluster.PLURAL)
        yield self._reflector(client, clusters, self._cluster_changed)
        label, metadata = self._names.lcluster_label, self._parts.metadata
        yield self._reflector(client, NAMESPACE, self._namespace_changed, metadata, label)
        yield self._reflector(client, RESOURCE_QUOTA, self._share_changed, self._read_share, label)
        yield self._reflector(
            client, CUSTOM_RESOURCE_DEFINITION, self._definition_changed, self._parts.definition
        )
        for resource in _RBAC:
            changed = partial(self._rbac_changed, resource.plural)
            yield self._reflector(
                client, resource, changed, partial(self._read_rbac, resource.plural)
            )
        for resource in self._views.watched_classes():
            changed = partial(self._published_changed, resource)
            yield self._reflector(client, resource, changed, self._parts.shared_class)

    def _reflector(
        self,
        client: Client,
        resource: Resource,
        changed: Changed,
        read: Callable[[bytes | Raw], WatchedObject] = read_watched,
        selector: str = "",
    ) -> Reflector[WatchedObject]:
        store = Store[WatchedObject](changed)
        self._stores[resource.plural] = store
        return Reflector(client, resource, store, read, selector)

    def _read_share(self, raw: bytes | Raw) -> WatchedObject:
        item = read_watched(raw)
        return item if item.name == SHARE_QUOTA else self._parts.metadata(raw)

    def _read_rbac(self, plural: str, raw: bytes | Raw) -> WatchedObject:
        item = self._parts.rbac(raw)
        tenant = _tenant_of(item)
        return self._rbac_budget.kept(tenant, plural, item) if tenant in self._tenants else item

    def _cluster_changed(self, old: WatchedObject | None, new: WatchedObject | None) -> None:
        name = (new or old).name  # type: ignore[union-attr]
        cluster = self._read_claimed(new) if new else None
        known = self._tenants.get(name)
        if cluster is None or (known and known.cluster.uid != cluster.uid):
            if gone := self._tenants.pop(name, None):
                gone.end()
                self._notify(gone.cluster, None)
            known = None
        if cluster and known:
            known.set_lcluster(cluster)
        elif cluster:
            self._notify(None, cluster)
            view = self._views.build(cluster)
            self._tenants[name] = tenant = ServedTenant(cluster, view, self._views.roles)
            self._fill(tenant)

    def _read_claimed(self, item: WatchedObject) -> LCluster | None:
        """Return an LCluster that is to be served; None for one without the controller's finalizer.

        The controller writes the finalizer when the LCluster gets its name. Without it, a former
        LCluster of this name may have left objects (``deletionPolicy: Retain``), or the controller
        has finished a deletion that waits for another finalizer. The gateway would serve these
        objects.
        """
        try:
            cluster = decode_lcluster(item.raw)
        except ModelError as error:
            name = item.name
            log.warning("an LCluster cannot be read", extra={"lcluster": name, "error": str(error)})
            return None
        claimed = self._names.lcluster_finalizer in cluster.metadata.finalizers
        return cluster if claimed else None

    def _notify(self, old: LCluster | None, new: LCluster | None) -> None:
        if self._served:
            self._served(old, new)

    def _fill(self, tenant: ServedTenant) -> None:
        """Add cached objects to a new tenant, which may have come before its LCluster."""
        name, label = tenant.name, self._names.lcluster_label
        for namespace in self._stores[NAMESPACE.plural]:
            if namespace.labels.get(label) == name:
                self._namespace_changed(None, namespace)
        front = f"{name}-"
        for share in self._stores[RESOURCE_QUOTA.plural]:
            if share.namespace.startswith(front):
                self._share_changed(None, share)
        for resource in _RBAC:
            for item in self._stores[resource.plural]:
                if (item.namespace or item.name).startswith(front):
                    kept = self._rbac_budget.kept(name, resource.plural, item)
                    self._rbac_changed(resource.plural, None, kept)

    def _namespace_changed(self, old: WatchedObject | None, new: WatchedObject | None) -> None:
        label = self._names.lcluster_label
        if new and (tenant := self._tenants.get(new.labels.get(label, ""))):
            if new.name.startswith(tenant.view.prefix):
                tenant.namespaces.add(new.name, terminating=new.terminating)
        elif old and (tenant := self._tenants.get(old.labels.get(label, ""))):
            tenant.namespaces.remove(old.name)

    def _share_changed(self, old: WatchedObject | None, new: WatchedObject | None) -> None:
        item = new or old
        tenant = self._tenants.get(_tenant_of(item)) if item else None
        if item is None or tenant is None or item.name != SHARE_QUOTA:
            return
        if new:
            tenant.totals.used[item.namespace] = read_used(new.raw)
        else:
            tenant.totals.used.pop(item.namespace, None)

    def _definition_changed(self, old: WatchedObject | None, new: WatchedObject | None) -> None:
        if tenant := self._views.unconverted.change(old, new):
            self._renew_soon(tenant)
        if item := new or old:
            self.embedding.change(item, KeptDefinition.of(new).state if new else None)
        self.discovery.request_refresh()

    def _rbac_changed(
        self, plural: str, old: WatchedObject | None, new: WatchedObject | None
    ) -> None:
        item = new or old
        if item is None:
            return
        if self._bindings and plural == ROLE_BINDING.plural:
            self._bindings(old, new, self.bindings_version)
        tenant = self._tenants.get(_tenant_of(item))
        if tenant is None:
            if plural == CLUSTER_ROLE.plural:
                self._published_changed(CLUSTER_ROLE, old, new)
        elif item.name == CLUSTER_ACCOUNT_BINDING and item.namespace:
            tenant.namespaces.grant(item.namespace, granted=new is not None)
        elif new:
            tenant.put(plural, new)
        else:
            self._rbac_budget.remove(tenant.name, plural, item.key)
            tenant.remove(plural, item.key)

    def _published_changed(
        self, resource: Resource, old: WatchedObject | None, new: WatchedObject | None
    ) -> None:
        """Renew the views after a change of a published object.

        A change of any other object is ignored: each LCluster has a role for its managers, and with
        a thousand of them half of the gateway's time went into views that had not changed.
        """
        if tenant := self._views.default_classes.change(resource_name(resource), old, new):
            self._renew_soon(tenant)
        if not any(each and self._views.is_published(resource, each) for each in (old, new)):
            return
        # A list changes many objects at once: the views are renewed once, after it.
        if not self._stale:
            asyncio.get_running_loop().call_soon(self._renew_views)
        self._stale = True

    def _renew_soon(self, name: str) -> None:
        """Renew the view of one tenant, once after a list that changes it many times."""
        if not self._stale_tenants:
            asyncio.get_running_loop().call_soon(self._renew_stale)
        self._stale_tenants.add(name)

    def _renew_stale(self) -> None:
        stale, self._stale_tenants = self._stale_tenants, set()
        for tenant in filter(None, map(self._tenants.get, stale)):
            tenant.set_view(self._views.build(tenant.cluster), self._views.roles)

    def _renew_views(self) -> None:
        self._stale = False
        known = self._views.refresh(self.discovery.groups)
        for tenant in self._tenants.values():
            tenant.set_view(self._views.build(tenant.cluster, known), self._views.roles)


def _tenant_of(item: WatchedObject) -> str:
    """Return the tenant whose prefix an RBAC object's namespace, or its own name, begins with."""
    tenant, dash, _ = (item.namespace or item.name).partition("-")
    return tenant if dash else ""
