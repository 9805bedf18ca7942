"""Confine and restore objects of confined kinds, which are decoded entirely."""

from contextlib import suppress
from typing import Any

from msgspec import Raw
from msgspec.json import Decoder, encode

from lnamespace.translate.objects.confinement import confine, confines, restore
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import is_namespaces, name_of
from lnamespace.translate.objects.translators import Encoded, object_at, object_of

_decode = Decoder(dict[str, Any]).decode
_decode_members = Decoder(dict[str, Raw]).decode


def confined_up(members: Encoded, subresource: str, context: TranslationContext) -> Encoded:
    """Return an object in upstream spelling, confined to its tenant."""
    if not confines(context.resource):
        return members
    return confine(context.resource, subresource, _decode(encode(members)), context.view)


def restored(members: Encoded, context: TranslationContext) -> Encoded:
    """Return an object of a confined kind in upstream spelling, as its tenant wrote it."""
    if not _may_differ(members, context):
        return members
    if is_namespaces(context.resource):
        # Their managed fields must be restored too, unless these are nested too deeply.
        with suppress(RecursionError):
            return _restored(members, context)
    metadata = object_at(members, "metadata")
    fields = metadata.pop("managedFields", None)  # the most of many objects, and never confined
    if fields is None:
        return _restored(members, context)
    rest = _restored(members | {"metadata": metadata}, context)
    whole = object_of(rest["metadata"]) or {}
    return rest | {"metadata": Raw(encode(whole | {"managedFields": fields}))}


def _restored(members: Encoded, context: TranslationContext) -> Encoded:
    body = restore(context.resource, _decode(encode(members)), context.view)
    return _decode_members(encode(body))


def _may_differ(members: Encoded, context: TranslationContext) -> bool:
    """Return whether an object may differ from what its tenant wrote."""
    if context.resource.namespaced:
        return context.tenant_bytes in bytes(members.get("spec", b""))
    return name_of(members) not in context.published
