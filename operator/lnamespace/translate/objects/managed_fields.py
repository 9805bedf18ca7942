"""Managed fields, without those that the gateway has written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import ValidationError
from msgspec.json import Decoder

from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement import confines, prefixes_items
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.labels import OWN_KEYS_BYTES
from lnamespace.translate.objects.spellings import API_VERSION
from lnamespace.translate.objects.translators import Encoded, Leaf, list_of, object_of

FIELD = "f:"
"""The beginning of the key of a member; the rest is the member's own key."""
_ITEM = 'k:{"name":"'
"""The beginning of the key of an item that has a name."""
ITSELF = "."
"""The key that stands for the map itself, beside those of its members."""

KeySpelling = Callable[[TenantView, str], str]
FieldSet = dict[str, Any]

_decode_fields = Decoder(FieldSet).decode


def _same(view: TenantView, key: str) -> str:
    del view
    return key


@dataclass(frozen=True)
class ManagedFieldsTranslator(Leaf):
    """The translation of ``metadata.managedFields``.

    Parameters
    ----------
    spell_up
        Returns the upstream spelling of a key of a map; by default keys are the same.
    spell_down
        Returns the tenant spelling.
    """

    spell_up: KeySpelling = _same
    spell_down: KeySpelling = _same
    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return managed fields in upstream spelling."""
        entries = list_of(value)
        return value if entries is None else [self._entry_up(each, context) for each in entries]

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return managed fields in tenant spelling, without entries that are then empty."""
        raw = bytes(value)
        marks = (context.tenant_bytes, context.label_bytes, OWN_KEYS_BYTES)
        if not any(mark in raw for mark in marks):
            return value
        entries = list_of(value)
        if entries is None:
            return value
        below = (self._entry_down(each, context) for each in entries)
        return [each for each in below if each is not None]

    def _entry_up(self, value: Any, context: TranslationContext) -> Any:
        entry = object_of(value)
        if entry is None:
            return value
        if "apiVersion" in entry:
            entry["apiVersion"] = API_VERSION.up(entry["apiVersion"], context)
        if self.spell_up is not _same and "fieldsV1" in entry:
            entry["fieldsV1"] = self._fields(entry["fieldsV1"], context, self.spell_up)
        return entry

    def _entry_down(self, value: Any, context: TranslationContext) -> Any:
        entry = object_of(value)
        if entry is None:
            return value
        if "apiVersion" in entry:
            entry["apiVersion"] = API_VERSION.down(entry["apiVersion"], context)
        if "fieldsV1" in entry:
            entry["fieldsV1"] = self._fields(entry["fieldsV1"], context, self.spell_down)
            if not entry["fieldsV1"]:
                return None
        return entry

    def _fields(self, value: Any, context: TranslationContext, spell: KeySpelling) -> Any:
        """Return a set of fields with other keys, without those of the gateway."""
        try:
            items = context.view.prefix if prefixes_items(context.resource) else ""
            return _FieldSetSpelling(context.view, spell, items).reduced(_decode_fields(value))
        except ValidationError:
            return value


def leave_managed_fields(members: Encoded, context: TranslationContext) -> None:
    """Remove managed fields from an update, so that the stored ones stay.

    A client sends back the managed fields that it read, without those of the gateway: an update
    that changes nothing would be a write. Only a reset is kept: a list with one empty entry.
    """
    metadata = members.get("metadata")
    if context.resource.namespaced and not confines(context.resource):
        return
    if isinstance(metadata, dict) and metadata.get("managedFields") not in (None, [{}]):
        del metadata["managedFields"]


@dataclass(frozen=True)
class _FieldSetSpelling:
    """A translation of a set of fields (``fieldsV1``) in one direction."""

    view: TenantView
    spell: KeySpelling
    items: str = ""
    """The prefix of the names of list items upstream, which are keys in managed fields."""

    def reduced(self, fields: FieldSet) -> FieldSet:
        """Return fields without the gateway's, and without members that are then empty."""
        kept: FieldSet = {}
        for key, child in fields.items():
            if self._is_own(key):
                continue
            left = child
            if child and isinstance(child, dict):  # a client may write anything
                left = self.reduced(child)
                if left.keys() <= {ITSELF} and left.keys() != child.keys():
                    continue
            kept[self._key(key)] = left
        return kept

    def _is_own(self, key: str) -> bool:
        """Return whether a field is a label, an annotation or a list item of the gateway."""
        return LCLUSTER_KEYS in key or key == FIELD + self.view.tenant_label

    def _key(self, key: str) -> str:
        if self.items and key.startswith(_ITEM + self.items):
            return _ITEM + key[len(_ITEM + self.items) :]
        return FIELD + self.spell(self.view, key[2:]) if key.startswith(FIELD) else key
