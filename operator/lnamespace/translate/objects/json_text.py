"""JSON that is written in a string, as in annotations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.translators import FieldRule, Leaf, text_of


@dataclass(frozen=True)
class JsonText(Leaf):
    """The translation of JSON in a string by another rule."""

    rule: FieldRule

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the text in upstream spelling."""
        return _within_text(value, lambda inner: self.rule.up(inner, context))

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the text in tenant spelling."""
        return _within_text(value, lambda inner: self.rule.down(inner, context))


def _within_text(value: Any, translate: Callable[[Any], Any]) -> Any:
    text = text_of(value)
    if text is None:
        return value
    try:
        return encode(translate(Raw(text.encode()))).decode()
    except (DecodeError, RecursionError, TypeError):
        return value  # it is no JSON, and not read as such
