"""The Roles and bindings of one tenant: immutable, indexed by subject, cheap to update.

An update copies the one table that changes and keeps all others with their indexes, so a gateway
that watches many tenants pays for what changes and not for what there is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from lnamespace.rbac.aggregation import ClusterRoleSet, Rules
from lnamespace.rbac.attributes import User
from lnamespace.rbac.objects import BindingSubject, RbacBinding, RbacRole

SubjectKey = tuple[str, str]
BoundSubject = tuple[RbacBinding, BindingSubject]


@dataclass(frozen=True)
class BindingSet:
    """The bindings of one namespace, or of the whole cluster, by name."""

    by_name: Mapping[str, RbacBinding] = field(default_factory=dict)

    @cached_property
    def _by_subject(self) -> dict[SubjectKey, list[tuple[str, int]]]:
        index: dict[SubjectKey, list[tuple[str, int]]] = {}
        for name, binding in self.by_name.items():
            for position, subject in enumerate(binding.subjects):
                key = _subject_key(subject, binding.namespace)
                if key is not None:
                    index.setdefault(key, []).append((name, position))
        return index

    def of_user(self, user: User) -> list[BoundSubject]:
        """Return the bindings that apply to a user, by name, each with the first such subject."""
        first: dict[str, int] = {}
        for key in (("User", user.name), *(("Group", group) for group in user.groups)):
            for name, position in self._by_subject.get(key, ()):
                first[name] = min(position, first.get(name, position))
        bindings = self.by_name
        return [(bindings[name], bindings[name].subjects[first[name]]) for name in sorted(first)]

    def with_binding(self, binding: RbacBinding) -> "BindingSet":
        """Return the set with one binding created or replaced."""
        return BindingSet({**self.by_name, binding.name: binding})

    def without_binding(self, name: str) -> "BindingSet":
        """Return the set without one binding."""
        return BindingSet({key: each for key, each in self.by_name.items() if key != name})


def _subject_key(subject: BindingSubject, namespace: str) -> SubjectKey | None:
    """Return the key of the users whom a subject names, or None if it names nobody."""
    match subject.kind:
        case "User" | "Group":
            return subject.kind, subject.name
        case "ServiceAccount":
            # A RoleBinding may name the accounts of its own namespace without it.
            home = subject.namespace or namespace
            return ("User", f"system:serviceaccount:{home}:{subject.name}") if home else None
    return None


@dataclass(frozen=True)
class NamespaceRoles:
    """The Roles and RoleBindings of one namespace."""

    roles: Mapping[str, RbacRole] = field(default_factory=dict)
    bindings: BindingSet = field(default_factory=BindingSet)


NOTHING = NamespaceRoles()


@dataclass(frozen=True)
class BaseAccess:
    """The rights that a tenant's people have without any object, and cannot lose by one.

    Parameters
    ----------
    rules
        The rules of roles that are no objects, by name.
    bindings
        Bindings to these roles, or to published ClusterRoles.
    """

    rules: Mapping[str, Rules] = field(default_factory=dict)
    bindings: BindingSet = field(default_factory=BindingSet)


@dataclass(frozen=True)
class RoleStore:
    """All Roles and bindings of one tenant at one moment, in tenant spelling."""

    cluster_roles: ClusterRoleSet = field(default_factory=ClusterRoleSet)
    cluster_bindings: BindingSet = field(default_factory=BindingSet)
    namespaces: Mapping[str, NamespaceRoles] = field(default_factory=dict)
    base: BaseAccess = field(default_factory=BaseAccess)

    @classmethod
    def from_objects(
        cls,
        roles: Iterable[RbacRole] = (),
        bindings: Iterable[RbacBinding] = (),
        published: Mapping[str, RbacRole] | None = None,
        base: BaseAccess | None = None,
    ) -> "RoleStore":
        """Return the store of some objects; ``published`` and ``base`` may be shared by tenants."""
        own: dict[str, dict[str, RbacRole]] = {"": {}}
        bound: dict[str, dict[str, RbacBinding]] = {"": {}}
        for role in roles:
            own.setdefault(role.namespace, {})[role.name] = role
        for binding in bindings:
            bound.setdefault(binding.namespace, {})[binding.name] = binding
        namespaces = {
            namespace: NamespaceRoles(own.get(namespace, {}), BindingSet(bound.get(namespace, {})))
            for namespace in {*own, *bound} - {""}
        }
        return cls(
            ClusterRoleSet(own[""], published or {}),
            BindingSet(bound[""]),
            namespaces,
            base or BaseAccess(),
        )

    def with_role(self, role: RbacRole) -> "RoleStore":
        """Return the store with a Role or ClusterRole created or replaced."""
        if not role.namespace:
            return replace(self, cluster_roles=self.cluster_roles.with_own(role))
        scope = self.namespaces.get(role.namespace, NOTHING)
        return self._with_scope(
            role.namespace, replace(scope, roles={**scope.roles, role.name: role})
        )

    def without_role(self, namespace: str, name: str) -> "RoleStore":
        """Return the store without a Role, or without a ClusterRole if the namespace is empty."""
        if not namespace:
            return replace(self, cluster_roles=self.cluster_roles.without_own(name))
        scope = self.namespaces.get(namespace, NOTHING)
        roles = {key: role for key, role in scope.roles.items() if key != name}
        return self._with_scope(namespace, replace(scope, roles=roles))

    def with_binding(self, binding: RbacBinding) -> "RoleStore":
        """Return the store with a RoleBinding or ClusterRoleBinding created or replaced."""
        if not binding.namespace:
            return replace(self, cluster_bindings=self.cluster_bindings.with_binding(binding))
        scope = self.namespaces.get(binding.namespace, NOTHING)
        bindings = scope.bindings.with_binding(binding)
        return self._with_scope(binding.namespace, replace(scope, bindings=bindings))

    def without_binding(self, namespace: str, name: str) -> "RoleStore":
        """Return the store without a binding; of the whole cluster if the namespace is empty."""
        if not namespace:
            return replace(self, cluster_bindings=self.cluster_bindings.without_binding(name))
        scope = self.namespaces.get(namespace, NOTHING)
        bindings = scope.bindings.without_binding(name)
        return self._with_scope(namespace, replace(scope, bindings=bindings))

    def _with_scope(self, namespace: str, scope: NamespaceRoles) -> "RoleStore":
        namespaces = {key: each for key, each in self.namespaces.items() if key != namespace}
        if scope.roles or scope.bindings.by_name:
            namespaces[namespace] = scope
        return replace(self, namespaces=namespaces)
