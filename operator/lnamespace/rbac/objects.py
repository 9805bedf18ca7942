"""Roles and bindings as values, decoded from the API's JSON.

A Role and a ClusterRole are one type, a RoleBinding and a ClusterRoleBinding too: the objects of
the whole cluster have an empty namespace.
"""

from collections.abc import Container, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lnamespace.kube.resources import RBAC

Strings = tuple[str, ...]


class AccessRule(Struct, frozen=True, gc=False):
    """A PolicyRule: verbs on resources, or on paths that are no objects."""

    verbs: Strings = ()
    api_groups: Strings = ()
    resources: Strings = ()
    resource_names: Strings = ()
    non_resource_urls: Strings = ()


class LabelRequirement(Struct, frozen=True, gc=False):
    """One requirement of a label selector; the operators are In, NotIn, Exists, DoesNotExist."""

    key: str
    operator: str
    values: Strings = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet this requirement; an unknown operator matches nothing."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        return False


class ClusterRoleSelector(Struct, frozen=True, gc=False):
    """A label selector over ClusterRoles; without requirements it selects all of them."""

    requirements: tuple[LabelRequirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet all requirements."""
        return all(requirement.matches(labels) for requirement in self.requirements)


class RbacRole(Struct, frozen=True):
    """A Role, or a ClusterRole if its namespace is empty.

    Parameters
    ----------
    aggregation
        The selectors of the ClusterRoles whose rules this one has; None without aggregationRule.
    """

    name: str
    namespace: str = ""
    rules: tuple[AccessRule, ...] = ()
    labels: Mapping[str, str] = {}
    aggregation: tuple[ClusterRoleSelector, ...] | None = None


class RoleReference(Struct, frozen=True, gc=False):
    """The Role or ClusterRole that a binding grants."""

    kind: str
    name: str
    api_group: str = RBAC


class BindingSubject(Struct, frozen=True, gc=False):
    """A subject of a binding: a User, a Group or a ServiceAccount."""

    kind: str
    name: str
    namespace: str = ""


class RbacBinding(Struct, frozen=True):
    """A RoleBinding, or a ClusterRoleBinding if its namespace is empty."""

    name: str
    role: RoleReference
    namespace: str = ""
    subjects: tuple[BindingSubject, ...] = ()


class _WireRule(Struct, rename="camel"):
    verbs: Strings | None = None
    api_groups: Strings | None = None
    resources: Strings | None = None
    resource_names: Strings | None = None
    non_resource_urls: Strings | None = msgspec.field(default=None, name="nonResourceURLs")

    def value(self) -> AccessRule:
        return AccessRule(
            self.verbs or (),
            self.api_groups or (),
            self.resources or (),
            self.resource_names or (),
            self.non_resource_urls or (),
        )


class _WireRequirement(Struct):
    key: str = ""
    operator: str = ""
    values: Strings | None = None


class _WireSelector(Struct, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_WireRequirement] | None = None

    def value(self) -> ClusterRoleSelector:
        labels = [
            LabelRequirement(key, "In", (value,))
            for key, value in sorted((self.match_labels or {}).items())
        ]
        expressions = [
            LabelRequirement(each.key, each.operator, each.values or ())
            for each in self.match_expressions or ()
        ]
        return ClusterRoleSelector((*labels, *expressions))


class _WireAggregation(Struct, rename="camel"):
    cluster_role_selectors: list[_WireSelector] | None = None


class _WireMeta(Struct):
    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None


class _WireRole(Struct, rename="camel"):
    metadata: _WireMeta | None = None
    rules: list[_WireRule] | None = None
    aggregation_rule: _WireAggregation | None = None

    def value(self) -> RbacRole:
        meta = self.metadata or _WireMeta()
        return RbacRole(
            name=meta.name or "",
            namespace=meta.namespace or "",
            rules=tuple(rule.value() for rule in self.rules or ()),
            labels=meta.labels or {},
            aggregation=None if self.aggregation_rule is None else self._selectors(),
        )

    def _selectors(self) -> tuple[ClusterRoleSelector, ...]:
        selectors = self.aggregation_rule and self.aggregation_rule.cluster_role_selectors
        return tuple(selector.value() for selector in selectors or ())


class _WireSubject(Struct):
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None

    def value(self) -> BindingSubject:
        return BindingSubject(self.kind or "", self.name or "", self.namespace or "")


class _WireRoleRef(Struct, rename="camel"):
    kind: str | None = None
    name: str | None = None
    api_group: str | None = None


class _WireBinding(Struct, rename="camel"):
    metadata: _WireMeta | None = None
    subjects: list[_WireSubject] | None = None
    role_ref: _WireRoleRef | None = None

    def value(self) -> RbacBinding:
        meta, role = self.metadata or _WireMeta(), self.role_ref or _WireRoleRef()
        # The API server fills in the group when a request leaves it out.
        group = role.api_group or RBAC
        return RbacBinding(
            name=meta.name or "",
            role=RoleReference(role.kind or "", role.name or "", group),
            namespace=meta.namespace or "",
            subjects=tuple(subject.value() for subject in self.subjects or ()),
        )


_ROLE = msgspec.json.Decoder(_WireRole)
_BINDING = msgspec.json.Decoder(_WireBinding)


def role_of_groups(role: RbacRole, groups: Container[str]) -> RbacRole:
    """Return a role with only its rules for some API groups, or for all.

    The platform's add-ons aggregate rules into ``admin`` and ``view``, which tenants must not see.
    """
    rules = []
    for rule in role.rules:
        kept = tuple(each for each in rule.api_groups if each == "*" or each in groups)
        if kept or not rule.api_groups:
            rules.append(replace(rule, api_groups=kept))
    return replace(role, rules=tuple(rules))


def decode_role(body: bytes | str) -> RbacRole:
    """Return a Role or ClusterRole from its JSON.

    Raises
    ------
    msgspec.MsgspecError
        If the JSON is no such object.
    """
    return _ROLE.decode(body).value()


def decode_binding(body: bytes | str) -> RbacBinding:
    """Return a RoleBinding or ClusterRoleBinding from its JSON.

    Raises
    ------
    msgspec.MsgspecError
        If the JSON is no such object.
    """
    return _BINDING.decode(body).value()


def role_value(manifest: Mapping[str, Any]) -> RbacRole:
    """Return a Role or ClusterRole from a decoded manifest."""
    return msgspec.convert(manifest, _WireRole).value()


def binding_value(manifest: Mapping[str, Any]) -> RbacBinding:
    """Return a RoleBinding or ClusterRoleBinding from a decoded manifest."""
    return msgspec.convert(manifest, _WireBinding).value()
