"""Selectors of a ResourceQuota, which name classes for some of their scopes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.spellings import (
    PRIORITY_CLASS_NAME,
    VOLUME_ATTRIBUTES_CLASS_NAME,
    NameOf,
)
from lnamespace.translate.objects.translators import Leaf, list_of, object_of, text_at

_CLASSES = {
    "PriorityClass": PRIORITY_CLASS_NAME,
    "VolumeAttributesClass": VOLUME_ATTRIBUTES_CLASS_NAME,
}


@dataclass(frozen=True)
class QuotaScopeTranslator(Leaf):
    """The translation of one of ``spec.scopeSelector.matchExpressions``."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a requirement in upstream spelling."""
        return _translated(value, lambda rule, each: rule.up(each, context))

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a requirement in tenant spelling."""
        return _translated(value, lambda rule, each: rule.down(each, context))


def _translated(value: Any, translate: Callable[[NameOf, Any], Any]) -> Any:
    requirement = object_of(value)
    if requirement is None:
        return value
    rule = _CLASSES.get(text_at(requirement, "scopeName"))
    names = list_of(requirement.get("values", b"null"))
    if rule is not None and names is not None:
        requirement["values"] = [translate(rule, each) for each in names]
    return requirement
