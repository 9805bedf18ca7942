"""All tenants, kept current by watches of the platform's cluster."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from msgspec import Raw

from lnamespace.errors import ModelError
from lnamespace.gateway.discovery.upstream_discovery import UpstreamDiscovery
from lnamespace.gateway.tenants.default_classes import DefaultClasses
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.totals import read_used
from lnamespace.gateway.tenants.watched_parts import PartReader, RbacBudget
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.client import Client
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
    DEVICE_CLASS,
    INGRESS_CLASS,
    NAMESPACE,
    PRIORITY_CLASS,
    RBAC,
    RESOURCE_QUOTA,
    ROLE,
    ROLE_BINDING,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    Resource,
)
from lnamespace.kube.store import Store
from lnamespace.model import lcluster
from lnamespace.model.lcluster import LCluster, decode_lcluster
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING, SHARE_QUOTA, Names
from lnamespace.rbac.objects import RbacRole, decode_role, role_of_groups
from lnamespace.translate.discovery.groups import DiscoveredGroup, TenantGroups, resource_table
from lnamespace.translate.discovery.published import Published, is_global_default
from lnamespace.translate.names.allowances import Allowances
from lnamespace.translate.names.view import View
from lnamespace.translate.names.webhook_routes import WebhookRoute
from lnamespace.translate.protocol.resources import GroupResource, ResourceTable

_CLASSES = (
    CLUSTER_ROLE,
    STORAGE_CLASS,
    INGRESS_CLASS,
    PRIORITY_CLASS,
    RUNTIME_CLASS,
    DEVICE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
)
"""The built-in kinds of which the platform may publish objects."""
_RBAC = (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)

_Groups = tuple[DiscoveredGroup, ...]
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
        route: Callable[[LCluster], WebhookRoute] | None = None,
        bindings: BindingListener | None = None,
        published: Published | None = None,
        served: ServedListener | None = None,
    ) -> None:
        self._names = names
        self._route = route
        self._bindings = bindings
        self._served = served
        self._allowances = allowances or Allowances()
        self._published = published or Published()
        self._tenants: dict[str, ServedTenant] = {}
        self._roles: Mapping[str, RbacRole] = {}
        self._tables: dict[_Groups, ResourceTable] = {}
        self._shown: Mapping[GroupResource, frozenset[str]] = {}
        self._stale = False
        self._stale_defaults: set[str] = set()
        self._default_classes = DefaultClasses(names.lcluster_label)
        self._parts = PartReader(names.lcluster_label)
        self._rbac_budget = RbacBudget()
        self.discovery = UpstreamDiscovery(upstream, self._renew_views)
        self._stores: dict[str, Store[WatchedObject]] = {}
        self._reflectors = list(self._reflect(client))

    def __iter__(self) -> Iterator[ServedTenant]:
        return iter(list(self._tenants.values()))

    def __len__(self) -> int:
        return len(self._tenants)

    def get(self, name: str) -> ServedTenant | None:
        """Return the tenant of an LCluster, or None."""
        return self._tenants.get(name)

    def definitions_of(self, name: str) -> frozenset[str]:
        """Return the names upstream of the CustomResourceDefinitions of a tenant."""
        label, found = self._names.lcluster_label, self._stores[CUSTOM_RESOURCE_DEFINITION.plural]
        return frozenset(each.name for each in found if each.labels.get(label) == name)

    async def run(self) -> None:
        """Run discovery and the reflectors."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.discovery.keep())
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
            client, CUSTOM_RESOURCE_DEFINITION, self._definition_changed, metadata
        )
        for resource in _RBAC:
            changed = partial(self._rbac_changed, resource.plural)
            yield self._reflector(
                client, resource, changed, partial(self._read_rbac, resource.plural)
            )
        for resource in _CLASSES[1:]:
            # The default PriorityClass is published whatever its name is, and tenants have default
            # classes of their own.
            always = resource in {PRIORITY_CLASS, INGRESS_CLASS, STORAGE_CLASS}
            if always or _named(resource) in self._published.objects:
                changed = partial(self._class_changed, resource)
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

    # The listeners of the stores.

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
            self._tenants[name] = tenant = ServedTenant(cluster, self._view(cluster), self._roles)
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
        del old, new
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
                self._class_changed(CLUSTER_ROLE, old, new)
        elif item.name == CLUSTER_ACCOUNT_BINDING and item.namespace:
            tenant.namespaces.grant(item.namespace, granted=new is not None)
        elif new:
            tenant.put(plural, new)
        else:
            self._rbac_budget.remove(tenant.name, plural, item.key)
            tenant.remove(plural, item.key)

    def _class_changed(
        self, resource: Resource, old: WatchedObject | None, new: WatchedObject | None
    ) -> None:
        """Renew the views after a change of a published object.

        A change of any other object is ignored: each LCluster has a role for its managers, and with
        a thousand of them half of the gateway's time went into views that had not changed.
        """
        if tenant := self._default_classes.change(_named(resource), old, new):
            self._renew_soon(tenant)
        if not any(each and self._is_published(resource, each) for each in (old, new)):
            return
        # A list changes many objects at once: the views are renewed once, after it.
        if not self._stale:
            asyncio.get_running_loop().call_soon(self._renew_views)
        self._stale = True

    def _is_published(self, resource: Resource, item: WatchedObject) -> bool:
        label = self._names.lcluster_label
        if self._published.names(_named(resource), [(item.name, item.labels)], label):
            return True
        return resource == PRIORITY_CLASS and self._is_default_priority(item)

    # The views that follow from them.

    def _renew_soon(self, name: str) -> None:
        """Renew the view of one tenant, once after a list that changes its defaults many times."""
        if not self._stale_defaults:
            asyncio.get_running_loop().call_soon(self._renew_defaults)
        self._stale_defaults.add(name)

    def _renew_defaults(self) -> None:
        stale, self._stale_defaults = self._stale_defaults, set()
        for tenant in filter(None, map(self._tenants.get, stale)):
            tenant.set_view(self._view(tenant.cluster, self._tables), self._roles)

    def _renew_views(self) -> None:
        self._stale = False
        self._shown = self._published_names()
        roles = self._published_roles()
        if roles != self._roles:
            # Otherwise a definition of one tenant would recheck the rights of all watches.
            self._roles = roles
        known, self._tables = self._tables, {}
        for tenant in self._tenants.values():
            tenant.set_view(self._view(tenant.cluster, known), self._roles)

    def _published_roles(self) -> Mapping[str, RbacRole]:
        store = self._stores.get(CLUSTER_ROLE.plural)
        names = self._shown.get(GroupResource(RBAC, CLUSTER_ROLE.plural), frozenset())
        found = (decode_role(item.raw) for item in store or () if item.name in names)
        of_all = TenantGroups("", self._published)
        served = {
            each.name for each in self.discovery.groups if of_all.is_of_the_platform(each.name)
        }
        return {role.name: role_of_groups(role, served) for role in found}

    def _published_names(self) -> dict[GroupResource, frozenset[str]]:
        label = self._names.lcluster_label
        found = dict(self._published.custom_names)
        for resource in _CLASSES:
            objects = ((item.name, item.labels) for item in self._stores.get(resource.plural, ()))
            found[_named(resource)] = self._published.names(_named(resource), objects, label)
        found[_named(PRIORITY_CLASS)] |= self._default_priorities()
        return found

    def _default_priorities(self) -> frozenset[str]:
        """Return the names of the platform's PriorityClasses that pods are given by default."""
        return frozenset(
            item.name
            for item in self._stores.get(PRIORITY_CLASS.plural, ())
            if self._is_default_priority(item)
        )

    def _is_default_priority(self, item: WatchedObject) -> bool:
        return self._names.lcluster_label not in item.labels and is_global_default(item.raw)

    def _view(
        self, cluster: LCluster, known: Mapping[_Groups, ResourceTable] = MappingProxyType({})
    ) -> View:
        """Return the view of a tenant; resource tables are reused."""
        name = cluster.name
        groups = TenantGroups(name, self._published)
        mine = tuple(each for each in self.discovery.groups if groups.down(each.name) is not None)
        table = self._tables.get(mine) or known.get(mine)
        table = self._tables[mine] = table or resource_table(mine, name, self._published)
        own = {self._names.lcluster_annotation: cluster.uid}
        return View(
            name,
            table,
            self._shown,
            self._names.lcluster_label,
            allowances=self._allowances,
            namespace_annotations=own,
            webhook_route=self._route(cluster) if self._route else None,
            default_classes=self._default_classes.of(name),
            platform_groups=self._published.groups,
        )


def _named(resource: Resource) -> GroupResource:
    return GroupResource(resource.group, resource.plural)


def _tenant_of(item: WatchedObject) -> str:
    """Return the tenant whose prefix an RBAC object's namespace, or its own name, begins with."""
    tenant, dash, _ = (item.namespace or item.name).partition("-")
    return tenant if dash else ""
