"""Tables, which the API server prints of objects for people.

A row has its object or its metadata besides the cells, which decides whether the row is shown.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Raw, ValidationError
from msgspec.json import Decoder, decode, encode

from lnamespace.translate.bodies.cells import PRINTED_NAMES, Speller, any_column_speller
from lnamespace.translate.names.tenant_view import TenantView, is_provisioned
from lnamespace.translate.objects.confinement.certificates import requester_of
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.spellings import PLATFORMS_ROLES
from lnamespace.translate.objects.totals import printed_totals
from lnamespace.translate.objects.translators import (
    Encoded,
    ForeignObject,
    list_of,
    object_at,
    object_of,
    text_at,
    text_of,
)

ItemDown = Callable[[Encoded], Encoded]
"""Returns an object in tenant spelling; raises ForeignObject for another's."""

_decode_rows = Decoder(list[dict[str, Raw]]).decode
_decode_columns = Decoder(list[dict[str, Raw]]).decode

NAME = "Name"
KNOWN_COLUMNS = {
    ("certificates.k8s.io", "certificatesigningrequests"): [NAME, "Age", "SignerName", "Requestor"],
}
"""The first columns of kinds that print what no tenant may see, for tables without columns."""
_REQUESTOR = 3


def table_down(members: Encoded, context: TranslationContext, item_down: ItemDown) -> Encoded:
    """Translate a table in place, drop the rows of others, and return it."""
    try:
        rows = _decode_rows(members["rows"])
    except (KeyError, ValidationError):
        return members
    key = (context.resource.group, context.resource.plural)
    cells_down = _cells_down(_column_names(members) or KNOWN_COLUMNS.get(key, []), context)
    if key == ("", "resourcequotas") and context.view.totals:
        rows = [each | printed_totals(each, context) for each in rows]
    if key in KNOWN_COLUMNS:
        rows = [each | _printed_requester(each, context) for each in rows]
    shown = (each for each in rows if _has_object(each) or _is_own(each, context))
    members["rows"] = [row for each in shown if (row := _row(each, item_down, cells_down, context))]
    return members


def _printed_metadata(row: Encoded, above: Encoded | None, context: TranslationContext) -> Encoded:
    """Return the cells of a custom resource, of which any may print its metadata or its version.

    A cell counts as such if it is the whole value: columns of data print the data.

    Parameters
    ----------
    above
        The row's object upstream, which is in tenant spelling in the row.
    """
    cells = list_of(row.get("cells", b"null"))
    if cells is None or context.tenant_bytes not in bytes(row["cells"]):
        return {}
    metadata = (_metadata(above), _metadata(row["object"])) if above is not None else ({}, {})
    below = dict(_differing_texts(*metadata)) or _name_below(cells, context)
    versions = f"{context.view.prefix}{context.resource.group}/"

    def printed(value: Any) -> Any:
        text = text_of(value) or ""
        if text.startswith(versions):
            return context.view.api_version_down(text)
        return below.get(text, value)

    return {"cells": Raw(encode([*cells[:1], *map(printed, cells[1:])]))}


def _metadata(item: Encoded) -> Any:
    return decode(encode({**object_at(item, "metadata"), "managedFields": None}))


def _differing_texts(above: Any, below: Any) -> Iterator[tuple[str, str]]:
    if isinstance(above, dict) and isinstance(below, dict):
        for key in above.keys() & below.keys():
            yield from _differing_texts(above[key], below[key])
    elif isinstance(above, list) and isinstance(below, list) and len(above) == len(below):
        for each in zip(above, below, strict=True):
            yield from _differing_texts(*each)
    elif above != below and isinstance(above, str) and isinstance(below, str):
        yield above, below


def _name_below(cells: list[Any], context: TranslationContext) -> dict[str, str]:
    """Return the name of a row without an object, the first cell, by that upstream."""
    above = text_of(cells[0]) if cells and not context.resource.namespaced else None
    below = context.view.name_down(context.resource, above or "")
    return {above: below} if above and below else {}


def _printed_requester(row: Encoded, context: TranslationContext) -> Encoded:
    """Return the cells of a request for a certificate with who asked, in upstream spelling.

    The API server prints the gateway. The tables of a watch do not always have the columns.
    """
    metadata = object_at(object_at(row, "object"), "metadata")
    kept = {key: text_of(each) for key, each in object_at(metadata, "annotations").items()}
    user = requester_of(kept, context.view).get("username", "")
    cells = list_of(row.get("cells", b"null"))
    if cells is None or len(cells) <= _REQUESTOR:
        return {}
    return {"cells": Raw(encode([*cells[:_REQUESTOR], user, *cells[_REQUESTOR + 1 :]]))}


def _has_object(row: Encoded) -> bool:
    return bytes(row.get("object", b"null")) != b"null"


def _is_own(row: Encoded, context: TranslationContext) -> bool:
    """Return whether a row without an object is the tenant's, by the name in its first cell."""
    cells = list_of(row.get("cells", b"[]")) or [Raw(b"null")]
    name = (text_of(cells[0]) or "").partition(" ")[0]
    if context.resource.namespaced:
        return not name.startswith(PLATFORMS_ROLES)
    if not name or is_provisioned(name):
        return False
    return context.view.name_down(context.resource, name) is not None


def _column_names(members: Encoded) -> list[str]:
    try:
        columns = _decode_columns(members.get("columnDefinitions", b"[]"))
    except ValidationError:
        return []
    return [text_at(each, "name") for each in columns]


def _row(
    row: Encoded, item_down: ItemDown, cells_down: Callable[[Any], Any], context: TranslationContext
) -> Encoded | None:
    item = object_of(row.get("object", b"null"))
    above = None if item is None else {**item}  # an object is translated in place
    try:
        if item is not None:
            row["object"] = item_down(item)
        if context.resource.custom:
            row |= _printed_metadata(row, above, context)
        row["cells"] = cells_down(row.get("cells", Raw(b"[]")))
    except ForeignObject:
        return None
    return row


def _cells_down(columns: list[str], context: TranslationContext) -> Callable[[Any], Any]:
    """Return a function that translates the cells of a row."""
    key = (context.resource.group, context.resource.plural)
    names = PRINTED_NAMES.get(key, {})
    if not names and context.resource.namespaced:
        return lambda cells: cells
    own_name = None if context.resource.namespaced else _name_speller(context)
    spellers = {**names, NAME: own_name} if own_name else names
    anything = any_column_speller(names)

    def printed(index: int, value: Any) -> Any:
        column = columns[index] if index < len(columns) else "" if columns or index else NAME
        spell = spellers.get(column) if columns or not index else anything
        text = None if spell is None else text_of(value)
        return value if spell is None or text is None else spell(context.view, text)

    def cells_down(value: Any) -> Any:
        if context.tenant_bytes not in bytes(value):
            return value
        cells = list_of(value)
        return value if cells is None else [printed(*each) for each in enumerate(cells)]

    return cells_down


def _name_speller(context: TranslationContext) -> Speller:
    """Return the speller for an object's name, which may have a remark after it."""

    def spelled(view: TenantView, text: str) -> str:
        name, blank, remark = text.partition(" ")
        below = view.name_down(context.resource, name)
        return f"{below or name}{blank}{remark}"

    return spelled
