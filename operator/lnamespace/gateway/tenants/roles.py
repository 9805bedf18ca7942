"""The Roles and bindings of one tenant, as watched; pure.

A changed object is translated and decoded when the authorizer is next used. The other objects and
their indexes stay.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import RBAC
from lnamespace.nesting import at_any_depth
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.base import base_access
from lnamespace.rbac.escalation import ROLE_RESOURCES
from lnamespace.rbac.objects import RbacBinding, RbacRole, decode_binding, decode_role
from lnamespace.rbac.store import RoleStore
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.encodings import UNREADABLE
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable
from lnamespace.translate.protocol.status import Refused

_MANY = 32
"""With this many changes or more, all indexes are rebuilt at once."""

_Value = RbacRole | RbacBinding
_Id = tuple[str, Key]

log = logging.getLogger(__name__)


class TenantRoles:
    """The authorizer of one tenant, kept current by watches."""

    def __init__(self, view: TenantView, published: Mapping[str, RbacRole]) -> None:
        self._view = view
        self._published = published
        self._items: dict[_Id, WatchedObject] = {}
        self._values: dict[_Id, _Value] = {}
        self._changed: set[_Id] = set()
        self._authorizer = self._anew()

    def set_view(self, view: TenantView, published: Mapping[str, RbacRole]) -> None:
        """Replace the view and the published ClusterRoles.

        Objects are decoded again only if their spelling changes. A CustomResourceDefinition that is
        created or deleted changes none: to decode 5,000 RoleBindings took 0.3 s each time.
        """
        respelled = _spelling(view) != _spelling(self._view)
        self._view, self._published = view, published
        if respelled:
            self._values = {}
            self._changed = set(self._items)
        self._authorizer = self._anew()

    def put(self, plural: str, item: WatchedObject) -> None:
        """Update a Role or a binding."""
        self._items[plural, item.key] = item
        self._changed.add((plural, item.key))

    def remove(self, plural: str, key: Key) -> None:
        """Forget a Role or a binding."""
        self._items.pop((plural, key), None)
        self._changed.add((plural, key))

    @property
    def authorizer(self) -> Authorizer:
        """Return the authorizer with the present roles and bindings."""
        if self._changed:
            changes, self._changed = self._changed, set()
            self._authorizer = self._updated(changes)
        return self._authorizer

    def _updated(self, changes: set[_Id]) -> Authorizer:
        store = self._authorizer.store
        for each in changes:
            old, new = self._values.pop(each, None), self._value(each)
            if new is not None:
                self._values[each] = new
            if len(changes) < _MANY:
                store = _without(store, old) if new is None else _with(store, new)
        return Authorizer(store) if len(changes) < _MANY else self._anew()

    def _anew(self) -> Authorizer:
        values = self._values.values()
        roles = (each for each in values if isinstance(each, RbacRole))
        bindings = (each for each in values if isinstance(each, RbacBinding))
        base = base_access(self._view.resources)
        return Authorizer(RoleStore.from_objects(roles, bindings, self._published, base))

    def _value(self, of: _Id) -> _Value | None:
        """Return an object in tenant spelling; None if there is none, or not of this tenant."""
        plural, item = of[0], self._items.get(of)
        resource = self._view.resources.by_plural(RBAC, plural)
        if item is None or not item.raw or resource is None or not self._owns(item):
            return None
        request = ResourceRequest("get", resource, "v1")
        try:
            body = answer_down(request, item.raw, self._view)
            if plural in ROLE_RESOURCES:
                return at_any_depth(decode_role, body)
            return at_any_depth(decode_binding, body)
        except (Refused, *UNREADABLE) as error:
            # This object is ignored, and the others count.
            about = {"kind": plural, "object": item.name, "error": str(error)}
            log.warning("an RBAC object of a tenant cannot be read", extra=about)
            return None

    def _owns(self, item: WatchedObject) -> bool:
        """Return whether an object is the tenant's; a name with its prefix may be another's."""
        return bool(item.namespace) or item.labels.get(self._view.tenant_label) == self._view.tenant


def _spelling(view: TenantView) -> TenantView:
    """Return the view as far as the spelling of Roles and bindings depends on it."""
    rbac = (each for each in view.resources.types if each.group == RBAC)
    return replace(view, resources=ResourceTable.from_types(rbac), default_classes={})


def _with(store: RoleStore, value: _Value) -> RoleStore:
    return store.with_role(value) if isinstance(value, RbacRole) else store.with_binding(value)


def _without(store: RoleStore, value: _Value | None) -> RoleStore:
    if isinstance(value, RbacRole):
        return store.without_role(value.namespace, value.name)
    return store.without_binding(value.namespace, value.name) if value else store
