"""Build the views of tenants from the objects that the caches have."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from lnamespace.gateway.tenants.default_classes import DefaultClasses
from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.gateway.tenants.unconverted_kinds import UnconvertedKinds
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    DEVICE_CLASS,
    INGRESS_CLASS,
    PRIORITY_CLASS,
    RBAC,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    Resource,
)
from lnamespace.kube.store import Store
from lnamespace.model.lcluster import LCluster
from lnamespace.model.names import Names
from lnamespace.rbac.objects import RbacRole, decode_role, role_of_groups
from lnamespace.translate.discovery.groups import DiscoveredGroup, TenantGroups, resource_table
from lnamespace.translate.discovery.published import Published, is_global_default
from lnamespace.translate.names.allowances import Allowances
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.names.webhook_routes import WebhookRoute
from lnamespace.translate.protocol.resources import GroupResource, ResourceTable

_CLASSES = (
    STORAGE_CLASS,
    INGRESS_CLASS,
    PRIORITY_CLASS,
    RUNTIME_CLASS,
    DEVICE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
)
"""The built-in kinds of which the platform may publish objects, besides ClusterRoles."""

_Groups = tuple[DiscoveredGroup, ...]
Tables = Mapping[_Groups, ResourceTable]
Route = Callable[[LCluster], WebhookRoute]


class ViewBuilder:
    """The builder of all views, and of the parts that they share.

    Parameters
    ----------
    stores
        The caches by the plural of their resource.
    """

    def __init__(
        self,
        names: Names,
        stores: Mapping[str, Store[WatchedObject]],
        allowances: Allowances,
        published: Published,
        route: Route | None,
    ) -> None:
        self.roles: Mapping[str, RbacRole] = {}
        self.default_classes = DefaultClasses(names.lcluster_label)
        self.unconverted = UnconvertedKinds(names.lcluster_label)
        self._names = names
        self._stores = stores
        self._allowances = allowances
        self._published = published
        self._route = route
        self._groups: _Groups = ()
        self._tables: dict[_Groups, ResourceTable] = {}
        self._shown: Mapping[GroupResource, frozenset[str]] = {}

    def watched_classes(self) -> Iterator[Resource]:
        """Yield the kinds of classes whose objects views depend on."""
        # The default PriorityClass is published whatever its name is, and tenants have default
        # classes of their own.
        always = {PRIORITY_CLASS, INGRESS_CLASS, STORAGE_CLASS}
        for resource in _CLASSES:
            if resource in always or resource_name(resource) in self._published.objects:
                yield resource

    def is_published(self, resource: Resource, item: WatchedObject) -> bool:
        """Return whether tenants are shown an object of a class."""
        label = self._names.lcluster_label
        if self._published.names(resource_name(resource), [(item.name, item.labels)], label):
            return True
        return resource == PRIORITY_CLASS and self._is_default_priority(item)

    def refresh(self, groups: _Groups) -> Tables:
        """Update the published objects and served resources; return the previous tables."""
        self._groups = groups
        self._shown = self._published_names()
        roles = self._published_roles()
        if roles != self.roles:
            # Otherwise a definition of one tenant would recheck the rights of all watches.
            self.roles = roles
        known, self._tables = self._tables, {}
        return known

    def build(self, cluster: LCluster, known: Tables = MappingProxyType({})) -> TenantView:
        """Return the view of a tenant; resource tables are reused."""
        name = cluster.name
        groups = TenantGroups(name, self._published)
        mine = tuple(each for each in self._groups if groups.down(each.name) is not None)
        table = self._tables.get(mine) or known.get(mine)
        table = self._tables[mine] = table or resource_table(mine, name, self._published)
        own = {self._names.lcluster_annotation: cluster.uid}
        return TenantView(
            name,
            table,
            self._shown,
            self._names.lcluster_label,
            allowances=self._allowances,
            namespace_annotations=own,
            webhook_route=self._route(cluster) if self._route else None,
            default_classes=self.default_classes.defaults_for(name),
            platform_groups=self._published.groups,
            unconverted=self.unconverted.kinds_of(name),
        )

    def _published_roles(self) -> Mapping[str, RbacRole]:
        store = self._stores.get(CLUSTER_ROLE.plural)
        names = self._shown.get(GroupResource(RBAC, CLUSTER_ROLE.plural), frozenset())
        found = (decode_role(item.raw) for item in store or () if item.name in names)
        of_all = TenantGroups("", self._published)
        served = {each.name for each in self._groups if of_all.is_of_the_platform(each.name)}
        return {role.name: role_of_groups(role, served) for role in found}

    def _published_names(self) -> dict[GroupResource, frozenset[str]]:
        label = self._names.lcluster_label
        found = dict(self._published.custom_names)
        for resource in (CLUSTER_ROLE, *_CLASSES):
            named = resource_name(resource)
            objects = ((item.name, item.labels) for item in self._stores.get(resource.plural, ()))
            found[named] = self._published.names(named, objects, label)
        found[resource_name(PRIORITY_CLASS)] |= self._default_priorities()
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


def resource_name(resource: Resource) -> GroupResource:
    """Return a resource without its version."""
    return GroupResource(resource.group, resource.plural)
