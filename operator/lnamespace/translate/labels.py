"""Labels, annotations and selectors that mean something to the platform.

The tenant label stands on every Namespace and cluster-scoped object of a tenant; on an object in a
namespace it marks what the platform has put there, which the tenant is not shown. No tenant can
write it anywhere, so it cannot be imitated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lnamespace.translate.plans import (
    Encoded,
    FieldRule,
    Foreign,
    Leaf,
    Scope,
    list_of,
    object_of,
    text_of,
)
from lnamespace.translate.status import Refused, bad_request, forbidden
from lnamespace.translate.view import View

OWN_KEYS = "lcluster.tenancy.loblaw.digital/"
"""What the keys of the gateway's own labels and annotations begin with."""
OWN_MARK = OWN_KEYS.encode()
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server puts on each Namespace; its value is the name."""
AGGREGATION = "aggregate-to-"
"""What the name of a label begins with that adds a ClusterRole to another one, by convention."""


def aggregation_key_up(view: View, key: str) -> str:
    """Return the key of a ClusterRole's label, where it adds to no role of the platform.

    Aggregation works across all ClusterRoles of a cluster: a tenant's role with the label
    ``rbac.authorization.k8s.io/aggregate-to-admin`` would give its rules to everybody's ``admin``.
    """
    domain, slash, name = key.rpartition("/")
    if not name.startswith(AGGREGATION):
        return key
    return f"{_private_domain(view)}{domain}{'_' if slash else ''}{name}"


def aggregation_key_down(view: View, key: str) -> str:
    """Return the key of a ClusterRole's label as the tenant wrote it."""
    if not key.startswith(_private_domain(view)):
        return key
    domain, underscore, name = key.removeprefix(_private_domain(view)).partition("_")
    return f"{domain}/{name}" if underscore else domain


def _private_domain(view: View) -> str:
    return f"{view.tenant}.lcluster/"


def reserved(scope: Scope, what: str, key: str) -> Refused:
    """Return the refusal of a label or an annotation that is the platform's."""
    return forbidden(scope.resource.group_resource, "", f'{what} "{key}" is the platform\'s')


@dataclass(frozen=True)
class LabelsPlan:
    """Translate the labels of an object.

    Parameters
    ----------
    pinned
        Whether the object bears the tenant label upstream.
    aggregated
        Whether the object is a ClusterRole, whose labels may add it to other roles.
    """

    pinned: bool = False
    aggregated: bool = False
    values: Mapping[str, FieldRule] = field(default_factory=dict)
    guarded = False

    def up(self, value: Any, scope: Scope) -> Any:
        """Return labels in upstream spelling, with the tenant label where the object bears it."""
        members = object_of(value)
        if members is None:
            return self._absent(value, scope) if self.pinned else value
        labels = {
            self.key_up(key, scope): self._value_up(key, each, scope)
            for key, each in members.items()
        }
        return labels | self.absent_up(scope)

    def _absent(self, value: Any, scope: Scope) -> dict[str, Any]:
        if not is_null(value):
            raise bad_request("metadata.labels is no object")
        return self.absent_up(scope)

    def absent_up(self, scope: Scope) -> dict[str, Any]:
        """Return the labels of an object that came without any."""
        return {scope.view.tenant_label: scope.view.tenant} if self.pinned else {}

    def _value_up(self, key: str, value: Any, scope: Scope) -> Any:
        rule = self.values.get(key)
        return value if rule is None else rule.up(value, scope)

    def down(self, value: Any, scope: Scope) -> Any:
        """Return labels in tenant spelling, without the tenant label."""
        raw = bytes(value)
        if not any(mark in raw for mark in (scope.mark, scope.label_mark, OWN_MARK)):
            return value
        members = object_of(value)
        if members is None:
            return value
        if members.pop(scope.view.tenant_label, None) is not None and not self.pinned:
            raise Foreign
        return self._members_down(members, scope)

    def _members_down(self, members: Encoded, scope: Scope) -> Encoded:
        for key, rule in self.values.items():
            if key in members:
                members[key] = rule.down(members[key], scope)
        return {
            aggregation_key_down(scope.view, key) if self.aggregated else key: each
            for key, each in members.items()
            if not key.startswith(OWN_KEYS)
        }

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of a label's value."""
        return self.values.get(key)

    def key_up(self, key: str, scope: Scope) -> str:
        """Return the key of a label in upstream spelling; refuse the tenant label."""
        if key == scope.view.tenant_label or key.startswith(OWN_KEYS):
            raise reserved(scope, "label", key)
        return aggregation_key_up(scope.view, key) if self.aggregated else key


@dataclass(frozen=True)
class AnnotationsPlan:
    """Translate the annotations of an object; those of the gateway are hidden."""

    values: Mapping[str, FieldRule] = field(default_factory=dict)
    guarded = False

    def up(self, value: Any, scope: Scope) -> Any:
        """Return annotations in upstream spelling."""
        members = object_of(value)
        if members is None:
            return value
        for key in members:
            self.key_up(key, scope)
        for key, rule in self.values.items():
            if key in members:
                members[key] = rule.up(members[key], scope)
        return members

    def down(self, value: Any, scope: Scope) -> Any:
        """Return annotations in tenant spelling, without the gateway's."""
        raw = bytes(value)
        if OWN_MARK not in raw and (not self.values or scope.mark not in raw):
            return value
        members = object_of(value)
        if members is None:
            return value
        return {
            key: self.values[key].down(each, scope) if key in self.values else each
            for key, each in members.items()
            if not key.startswith(OWN_KEYS)
        }

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of an annotation's value."""
        return self.values.get(key)

    def key_up(self, key: str, scope: Scope) -> str:
        """Return the key of an annotation; refuse the gateway's."""
        if key.startswith(OWN_KEYS):
            raise reserved(scope, "annotation", key)
        return key


@dataclass(frozen=True)
class TenantSelector(Leaf):
    """Confine a label selector to what bears the tenant label.

    Null means another thing than a selector that is empty, which selects everything.

    Parameters
    ----------
    namespaces
        Whether Namespaces are selected, so that their names occur in it.
    """

    namespaces: bool = True

    def up(self, value: Any, scope: Scope) -> Any:
        """Return a selector that selects of this tenant only."""
        selector = object_of(value)
        if selector is None:
            return value
        labels = object_of(selector.get("matchLabels", b"{}"))
        if labels is None and not is_null(selector["matchLabels"]):
            return value
        if "matchExpressions" in selector:
            selector["matchExpressions"] = self._expressions(
                selector["matchExpressions"], scope, upwards=True
            )
        own = self._labels_up(labels or {}, scope)
        return selector | {"matchLabels": own | {scope.view.tenant_label: scope.view.tenant}}

    def _labels_up(self, labels: Encoded, scope: Scope) -> Encoded:
        _refuse_tenant_label(labels, scope)
        if self.namespaces and NAMESPACE_NAME in labels:
            labels[NAMESPACE_NAME] = _name(labels[NAMESPACE_NAME], scope, upwards=True)
        return labels

    def down(self, value: Any, scope: Scope) -> Any:
        """Return a selector as the tenant wrote it."""
        selector = object_of(value)
        if selector is None:
            return value
        if "matchExpressions" in selector:
            selector["matchExpressions"] = self._expressions(
                selector["matchExpressions"], scope, upwards=False
            )
        labels = object_of(selector.get("matchLabels", b"null"))
        if labels is None:
            return selector
        labels.pop(scope.view.tenant_label, None)
        if self.namespaces and NAMESPACE_NAME in labels:
            labels[NAMESPACE_NAME] = _name(labels[NAMESPACE_NAME], scope, upwards=False)
        rest = {key: each for key, each in selector.items() if key != "matchLabels"}
        return selector | {"matchLabels": labels} if labels else rest

    def _expressions(self, value: Any, scope: Scope, *, upwards: bool) -> Any:
        expressions = list_of(value)
        if expressions is None:
            return value
        return [self._expression(each, scope, upwards=upwards) for each in expressions]

    def _expression(self, value: Any, scope: Scope, *, upwards: bool) -> Any:
        expression = object_of(value)
        key = text_of(expression["key"]) if expression and "key" in expression else None
        if expression is None or key is None:
            return value
        if upwards:
            _refuse_tenant_label({key: value}, scope)
        values = list_of(expression.get("values", b"null"))
        if self.namespaces and key == NAMESPACE_NAME and values is not None:
            expression["values"] = [_name(each, scope, upwards=upwards) for each in values]
        return expression


def _refuse_tenant_label(labels: Mapping[str, Any], scope: Scope) -> None:
    if scope.view.tenant_label in labels:
        raise reserved(scope, "label", scope.view.tenant_label)


def _name(value: Any, scope: Scope, *, upwards: bool) -> Any:
    name = text_of(value)
    if name is None:
        return value
    if upwards:
        return scope.view.namespace_up(name)
    return scope.view.namespace_down(name) or name


def is_null(value: Any) -> bool:
    """Return whether a value is null in JSON."""
    return bytes(value).strip() == b"null"
