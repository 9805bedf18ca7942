"""Translate labels, annotations and selectors; protect the tenant label.

The tenant label stands on every Namespace and cluster-scoped object of a tenant; on an object in a
namespace it marks what the platform has put there, which the tenant is not shown. No tenant can
write it anywhere, so it cannot be imitated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lnamespace.kube.objects import MANAGED_BY, NAME_LABEL
from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.keys import MANAGER, key_down, own_key_up, role_key_up
from lnamespace.translate.objects.translators import (
    Encoded,
    FieldRule,
    ForeignObject,
    Leaf,
    list_of,
    object_of,
    text_of,
)
from lnamespace.translate.protocol.status import Refused, bad_request, conversion_failed, forbidden

OWN_KEYS_BYTES = LCLUSTER_KEYS.encode()
UNCONVERTED = f"{LCLUSTER_KEYS}unconverted"
"""The label of an object of which the version alone was changed; its value is the version before.

Its fields are not what its version says, so it is shown to no tenant, and a policy of the chart
refuses every write of it. It is a label, for the API server selects objects by labels before it
evaluates anything."""
CLAIMED_BY = f"{LCLUSTER_KEYS}claimed-by"
"""The label that a policy of the platform puts on a volume that a provisioner made for a claim of a
tenant; its value is the tenant."""


def reserved(context: TranslationContext, what: str, key: str) -> Refused:
    """Return the refusal of a label or an annotation that is the platform's."""
    return forbidden(context.resource.group_resource, "", f'{what} "{key}" is the platform\'s')


@dataclass(frozen=True)
class LabelsTranslator:
    """The translation of the labels of an object.

    Parameters
    ----------
    labelled
        Whether the object bears the tenant label upstream.
    aggregated
        Whether the object is a ClusterRole, whose labels may add it to other roles.
    """

    labelled: bool = False
    aggregated: bool = False
    values: Mapping[str, FieldRule] = field(default_factory=dict)
    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return labels in upstream spelling, with the tenant label where the object bears it."""
        members = object_of(value)
        if members is None:
            return self._absent(value, context) if self.labelled else value
        labels = {
            self.key_up(key, context): self._value_up(key, each, context)
            for key, each in _present(members, context).items()
        }
        return labels | self.absent_up(context)

    def _absent(self, value: Any, context: TranslationContext) -> dict[str, Any]:
        if not is_null(value):
            raise bad_request("metadata.labels is no object")
        return self.absent_up(context)

    def absent_up(self, context: TranslationContext) -> dict[str, Any]:
        """Return the labels of an object that came without any."""
        return {context.view.tenant_label: context.view.tenant} if self.labelled else {}

    def _value_up(self, key: str, value: Any, context: TranslationContext) -> Any:
        rule = self.values.get(key)
        return value if rule is None else rule.up(value, context)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return labels in tenant spelling, without the tenant label."""
        raw = bytes(value)
        if not any(
            mark in raw for mark in (context.tenant_bytes, context.label_bytes, OWN_KEYS_BYTES)
        ):
            return value
        members = object_of(value)
        if members is None:
            return value
        if members.pop(context.view.tenant_label, None) is not None and not self.labelled:
            raise ForeignObject
        if UNCONVERTED in members and context.resource.custom:
            raise conversion_failed(context.resource)
        return self._members_down(members, context)

    def _members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        for key, rule in self.values.items():
            if key in members:
                members[key] = rule.down(members[key], context)
        return {
            key_down(context.view, key) if self.labelled else key: each
            for key, each in members.items()
            if not key.startswith(LCLUSTER_KEYS)
        }

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of a label's value."""
        return self.values.get(key)

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return the key of a label in upstream spelling; refuse the tenant label."""
        if _is_own(key, context):
            raise reserved(context, "label", key)
        if self.aggregated:
            return role_key_up(context.view, key)
        return own_key_up(context.view, key) if self.labelled else key


@dataclass(frozen=True)
class AnnotationsTranslator:
    """The translation of the annotations of an object; those of the gateway are hidden.

    Parameters
    ----------
    clusterwide
        Whether the object is cluster-scoped, so that the platform's operator could act on it.
    """

    clusterwide: bool = False
    values: Mapping[str, FieldRule] = field(default_factory=dict)
    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return annotations in upstream spelling."""
        members = object_of(value)
        if members is None:
            return value
        for key, rule in self.values.items():
            if key in members:
                members[key] = rule.up(members[key], context)
        return {self.key_up(key, context): each for key, each in _present(members, context).items()}

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return annotations in tenant spelling, without the gateway's."""
        raw = bytes(value)
        translated = self.values or self.clusterwide
        if OWN_KEYS_BYTES not in raw and not (translated and context.tenant_bytes in raw):
            return value
        members = object_of(value)
        if members is None:
            return value
        return {
            self._key_down(key, context): self.values[key].down(each, context)
            if key in self.values
            else each
            for key, each in members.items()
            if not key.startswith(LCLUSTER_KEYS)
        }

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of an annotation's value."""
        return self.values.get(key)

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return the key of an annotation; refuse the gateway's."""
        if key.startswith(LCLUSTER_KEYS):
            raise reserved(context, "annotation", key)
        return own_key_up(context.view, key) if self.clusterwide else key

    def _key_down(self, key: str, context: TranslationContext) -> str:
        return key_down(context.view, key) if self.clusterwide else key


@dataclass(frozen=True)
class TenantSelector(Leaf):
    """The confinement of a label selector to objects with the tenant label.

    Null stays null: it differs from an empty selector, which selects everything.

    Parameters
    ----------
    namespaces
        Whether Namespaces are selected, so that their names occur in it.
    """

    namespaces: bool = True

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a selector that selects objects of this tenant only."""
        selector = object_of(value)
        if selector is None:
            return value
        labels = object_of(selector.get("matchLabels", b"{}"))
        if labels is None and not is_null(selector["matchLabels"]):
            return value
        if "matchExpressions" in selector:
            selector["matchExpressions"] = self._expressions(
                selector["matchExpressions"], context, upwards=True
            )
        own = self._labels_up(labels or {}, context)
        return selector | {"matchLabels": own | {context.view.tenant_label: context.view.tenant}}

    def _labels_up(self, labels: Encoded, context: TranslationContext) -> Encoded:
        _refuse_tenant_label(labels, context)
        above = {key: self._value(key, each, context, upwards=True) for key, each in labels.items()}
        return {own_key_up(context.view, key): each for key, each in above.items()}

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a selector as the tenant wrote it."""
        selector = object_of(value)
        if selector is None:
            return value
        if "matchExpressions" in selector:
            selector["matchExpressions"] = self._expressions(
                selector["matchExpressions"], context, upwards=False
            )
        labels = object_of(selector.get("matchLabels", b"null"))
        if labels is None:
            return selector
        labels.pop(context.view.tenant_label, None)
        below = {key_down(context.view, key): each for key, each in labels.items()}
        labels = {
            key: self._value(key, each, context, upwards=False) for key, each in below.items()
        }
        rest = {key: each for key, each in selector.items() if key != "matchLabels"}
        return selector | {"matchLabels": labels} if labels else rest

    def _expressions(self, value: Any, context: TranslationContext, *, upwards: bool) -> Any:
        expressions = list_of(value)
        if expressions is None:
            return value
        return [self._expression(each, context, upwards=upwards) for each in expressions]

    def _expression(self, value: Any, context: TranslationContext, *, upwards: bool) -> Any:
        expression = object_of(value)
        key = text_of(expression["key"]) if expression and "key" in expression else None
        if expression is None or key is None:
            return value
        if upwards:
            _refuse_tenant_label({key: value}, context)
        spelled = own_key_up(context.view, key) if upwards else key_down(context.view, key)
        values = list_of(expression.get("values", b"null"))
        if spelled != key:
            expression["key"] = spelled
        if values is not None:
            expression["values"] = [
                self._value(key, each, context, upwards=upwards) for each in values
            ]
        return expression

    def _value(self, key: str, value: Any, context: TranslationContext, *, upwards: bool) -> Any:
        """Return a value of a label that a selector names."""
        if key == NAME_LABEL and self.namespaces:
            return _name(value, context, upwards=upwards)
        if key == MANAGED_BY:
            return MANAGER.up(value, context) if upwards else MANAGER.down(value, context)
        return value


def _refuse_tenant_label(labels: Mapping[str, Any], context: TranslationContext) -> None:
    if context.view.tenant_label in labels:
        raise reserved(context, "label", context.view.tenant_label)


def _name(value: Any, context: TranslationContext, *, upwards: bool) -> Any:
    name = text_of(value)
    if name is None:
        return value
    if upwards:
        return context.view.namespace_up(name)
    return context.view.namespace_down(name) or name


def _present(members: Encoded, context: TranslationContext) -> Encoded:
    """Return labels or annotations without removals of the gateway's.

    An operator inside an LCluster removes its keys from objects, which are the same as those of
    the platform's operator.
    """
    return {
        key: each for key, each in members.items() if not (_is_own(key, context) and is_null(each))
    }


def _is_own(key: str, context: TranslationContext) -> bool:
    """Return whether a label or an annotation is the gateway's."""
    return key == context.view.tenant_label or key.startswith(LCLUSTER_KEYS)


def is_null(value: Any) -> bool:
    """Return whether a value is null in JSON."""
    return bytes(value).strip() == b"null"
