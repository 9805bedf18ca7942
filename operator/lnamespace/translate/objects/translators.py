"""Translators: the values of an object that are translated, with their rules, both ways.

A translator is a tree of rules that follows the object's schema. Values are decoded only where a
rule stands below them (``msgspec.Raw`` keeps every other value byte for byte), so no field of any
version is lost and numbers, key order and text stay as they were written. What was decoded is
encoded again at every such level: two keys with the same name, or a key that is spelled with
escapes, never reach the API server as they came.

A rule returns the value to be encoded: the value itself, or lists, dictionaries and text whose
leaves are still encoded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from msgspec import Raw, ValidationError
from msgspec.json import Decoder

from lnamespace.errors import LNamespaceError
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.protocol.repeated import with_repeated

Encoded = dict[str, Any]
"""An object whose values are encoded as long as no rule has decoded them."""

_decode_object = Decoder(dict[str, Raw]).decode
_decode_list = Decoder(list[Raw]).decode
_decode_text = Decoder(str).decode


class ForeignObject(LNamespaceError):
    """An object of the platform or of another tenant; the tenant is not shown it."""


def object_of(value: Any) -> Encoded | None:
    """Return the members of a JSON object, or None if the value is something else."""
    try:
        return _decode_object(value)
    except ValidationError:
        return None


def object_at(members: Encoded, key: str) -> Encoded:
    """Return a member that is an object, decoded or not; an empty one if it is none."""
    value = members.get(key)
    if isinstance(value, dict):
        return value
    return {} if value is None else object_of(value) or {}


def list_of(value: Any) -> list[Any] | None:
    """Return the items of a JSON array, or None if the value is something else."""
    try:
        return _decode_list(value)
    except ValidationError:
        return None


def text_of(value: Any) -> str | None:
    """Return a JSON string, or None if the value is something else."""
    try:
        return _decode_text(value)
    except ValidationError:
        return None


def text_at(members: Encoded, key: str) -> str:
    """Return a member that is a string, decoded or not; empty if it is none."""
    value = members.get(key)
    if isinstance(value, str):
        return value
    return "" if value is None else text_of(value) or ""


class FieldRule(Protocol):
    """A translation of one value.

    A value of another type than the rule expects stays as it is: the API server refuses it in its
    own words.
    """

    @property
    def changes_only_with_tenant_name(self) -> bool:
        """Return whether only values with the tenant's name change on the way down."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a value in upstream spelling."""

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a value in tenant spelling."""

    def child(self, key: str) -> "FieldRule | None":
        """Return the rule for a member or an item, or None if it stays as it is."""

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return the key of a member in upstream spelling."""


class KeepsKeys:
    """A rule that translates no key of a member."""

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return the key as it is."""
        del context
        return key


class Leaf(KeepsKeys):
    """A rule for values without nested rules."""

    changes_only_with_tenant_name = True

    def child(self, key: str) -> FieldRule | None:
        """Return None: there are no nested rules."""
        del key
        return None


@dataclass(frozen=True)
class Spelling(Leaf):
    """A translation of text by two functions of the view.

    Parameters
    ----------
    spell_down
        Returns None for text that is not this tenant's, which then stays as it is.
    """

    spell_up: Callable[[TenantView, str], str]
    spell_down: Callable[[TenantView, str], str | None]

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return text in upstream spelling."""
        text = text_of(value)
        return value if text is None else self.spell_up(context.view, text)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return text in tenant spelling."""
        text = text_of(value)
        if text is None:
            return value
        below = self.spell_down(context.view, text)
        return value if below is None else below


@dataclass(frozen=True)
class ObjectTranslator(KeepsKeys):
    """A translation of the fields of an object, each by its own rule."""

    rules: Mapping[str, FieldRule] = field(default_factory=dict)

    @cached_property
    def changes_only_with_tenant_name(self) -> bool:
        """Return whether all rules change only values with the tenant's name."""
        return all(rule.changes_only_with_tenant_name for rule in self.rules.values())

    @cached_property
    def _downs(self) -> tuple[tuple[str, Callable[[Any, TranslationContext], Any]], ...]:
        return tuple((key, rule.down) for key, rule in self.rules.items())

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return an object in upstream spelling."""
        members = object_of(value)
        if members is None:
            return value
        if context.repeats:
            return with_repeated(value, members, self.members_up({**members}, context), self.rules)
        return self.members_up(members, context)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return an object in tenant spelling."""
        if self.changes_only_with_tenant_name and context.tenant_bytes not in bytes(value):
            return value
        members = object_of(value)
        return value if members is None else self.members_down(members, context)

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate the members of an object in place, and return them."""
        for key, rule in self.rules.items():
            if key in members:
                members[key] = rule.up(members[key], context)
        return members

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate the members of an object in place, and return them."""
        for key, down in self._downs:
            value = members.get(key)
            if value is not None:
                members[key] = down(value, context)
        return members

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of a member."""
        return self.rules.get(key)


@dataclass(frozen=True)
class _OneRuleTranslator(KeepsKeys):
    """A translation of all items or members by one rule."""

    rule: FieldRule

    @property
    def changes_only_with_tenant_name(self) -> bool:
        """Return whether the rule changes only values with the tenant's name."""
        return self.rule.changes_only_with_tenant_name

    def child(self, key: str) -> FieldRule | None:
        """Return the rule, whatever the index or key."""
        del key
        return self.rule


class ListTranslator(_OneRuleTranslator):
    """A translation of each item of an array by one rule."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return an array in upstream spelling."""
        items = list_of(value)
        return value if items is None else [self.rule.up(item, context) for item in items]

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return an array in tenant spelling."""
        if self.changes_only_with_tenant_name and context.tenant_bytes not in bytes(value):
            return value
        items = list_of(value)
        return value if items is None else [self.rule.down(item, context) for item in items]


class MapTranslator(_OneRuleTranslator):
    """A translation of each value of a map by one rule; its keys are data."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a map in upstream spelling."""
        members = object_of(value)
        if members is None:
            return value
        return {key: self.rule.up(each, context) for key, each in members.items()}

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a map in tenant spelling."""
        members = object_of(value)
        if members is None:
            return value
        return {key: self.rule.down(each, context) for key, each in members.items()}


@dataclass(frozen=True)
class KeyTranslator(Leaf):
    """A translation of the keys of a map by two functions of the view; its values are data."""

    spell_up: Callable[[TenantView, str], str]
    spell_down: Callable[[TenantView, str], str]

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a map with its keys in upstream spelling."""
        members = object_of(value)
        if members is None:
            return value
        return {self.spell_up(context.view, key): each for key, each in members.items()}

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a map with its keys in tenant spelling."""
        if context.tenant_bytes not in bytes(value):
            return value
        members = object_of(value)
        if members is None:
            return value
        return {self.spell_down(context.view, key): each for key, each in members.items()}

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return a key in upstream spelling."""
        return self.spell_up(context.view, key)


@dataclass(frozen=True)
class UpOnly(Leaf):
    """A rule that is applied on the way up only."""

    rule: FieldRule

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a value in upstream spelling."""
        return self.rule.up(value, context)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the value as it is."""
        del context
        return value

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of a member."""
        return self.rule.child(key)

    def key_up(self, key: str, context: TranslationContext) -> str:
        """Return the key of a member in upstream spelling."""
        return self.rule.key_up(key, context)
