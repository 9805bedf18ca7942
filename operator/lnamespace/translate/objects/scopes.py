"""Selectors of a ResourceQuota, which name classes for some of their scopes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lnamespace.translate.objects.plans import Leaf, Scope, list_of, object_of, text_of
from lnamespace.translate.objects.spellings import PRIORITY_CLASS, VOLUME_ATTRIBUTES_CLASS, NameOf

_CLASSES = {
    "PriorityClass": PRIORITY_CLASS,
    "VolumeAttributesClass": VOLUME_ATTRIBUTES_CLASS,
}


@dataclass(frozen=True)
class ScopePlan(Leaf):
    """The translation of one of ``spec.scopeSelector.matchExpressions``."""

    def up(self, value: Any, scope: Scope) -> Any:
        """Return a requirement in upstream spelling."""
        return _translated(value, lambda rule, each: rule.up(each, scope))

    def down(self, value: Any, scope: Scope) -> Any:
        """Return a requirement in tenant spelling."""
        return _translated(value, lambda rule, each: rule.down(each, scope))


def _translated(value: Any, translate: Callable[[NameOf, Any], Any]) -> Any:
    requirement = object_of(value)
    if requirement is None:
        return value
    rule = _CLASSES.get(text_of(requirement.get("scopeName", b"null")) or "")
    names = list_of(requirement.get("values", b"null"))
    if rule is not None and names is not None:
        requirement["values"] = [translate(rule, each) for each in names]
    return requirement
