"""Answers and events of a watch in tenant spelling: objects, lists, tables, Status."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, ValidationError
from msgspec.json import Decoder, encode

from lnamespace.kube.resources import RBAC
from lnamespace.translate.bodies.confined import restored
from lnamespace.translate.bodies.failures import status_down
from lnamespace.translate.bodies.splicing import NamespaceSplice, marks_of_metadata
from lnamespace.translate.bodies.tables import table_down
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import OWN_BODIES, translator_of
from lnamespace.translate.objects.confinement import confines
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.last_applied import last_applied_down
from lnamespace.translate.objects.metadata import WholeObjectTranslator
from lnamespace.translate.objects.spellings import API_VERSION
from lnamespace.translate.objects.totals import totals_shown
from lnamespace.translate.objects.translators import (
    Encoded,
    ForeignObject,
    ObjectTranslator,
    object_at,
    object_of,
    text_at,
    text_of,
)
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.selectors import FieldTerm
from lnamespace.translate.protocol.verbs import SELECTING_VERBS
from lnamespace.translate.requests.selection import residual_fields

_decode_items = Decoder(list[dict[str, Raw]] | None).decode
_decode_raw_items = Decoder(list[Raw] | None).decode


class AnswerTranslator:
    """A translator of the answers to one request."""

    def __init__(self, request: ResourceRequest, view: TenantView) -> None:
        self._request = request
        self._context = TranslationContext(
            view, request.resource, view.namespace_up(request.namespace)
        )
        self._confined = confines(request.resource) and request.subresource not in OWN_BODIES
        self._translator: ObjectTranslator = translator_of(request.resource, request.subresource)
        self._selected = residual_fields(request, view)
        self._splice = self._namespace_splice()

    def answer(self, members: Encoded) -> Encoded:
        """Return an answer in tenant spelling.

        Raises
        ------
        ForeignObject
            The answer is one object, which is not this tenant's.
        """
        kind = text_at(members, "kind")
        version = text_at(members, "apiVersion")
        if kind == "Status" and version == "v1":
            return status_down(members, self._context, self._translator)
        if kind == "Table" and version.startswith("meta.k8s.io/"):
            return table_down(members, self._context, self.item)
        if "items" in members and self._request.verb in SELECTING_VERBS:
            return self._list(members)
        return self.item(members)

    def _namespace_splice(self) -> NamespaceSplice | None:
        """Return the splice for the request's objects; None if they must be decoded."""
        view, resource, translator = self._context.view, self._context.resource, self._translator
        if (
            not resource.namespaced
            or resource.custom
            or resource.group == RBAC
            or self._confined
            or self._selected
            or view.totals
            or not isinstance(translator, WholeObjectTranslator)
            or not translator.splices
        ):
            return None
        return NamespaceSplice(view, (*marks_of_metadata(view), *translator.marks))

    def spliced(self, body: bytes) -> bytes | None:
        """Return an answer in tenant spelling if it is an object that can be spliced."""
        if self._splice is None or self._request.verb in SELECTING_VERBS:
            return None
        return self._splice.object(body)

    def spliced_event(self, frame: bytes) -> bytes | None:
        """Return an event of a watch in tenant spelling if its object can be spliced."""
        return self._splice.event(frame) if self._splice else None

    def spliced_items(self, items: Sequence[Raw]) -> bytes | None:
        """Return objects of a list, joined by commas, if all of them can be spliced."""
        return self._splice.objects(items) if self._splice else None

    def event(self, event: Encoded) -> Encoded | None:
        """Return an event of a watch in tenant spelling, or None if it is not this tenant's."""
        members = object_of(event.get("object", b"null"))
        if members is None:
            return event
        had_rows = _rows(members)
        try:
            event["object"] = self.answer(members)
        except ForeignObject:
            return None
        return None if had_rows and not event["object"]["rows"] else event

    def item(self, members: Encoded) -> Encoded:
        """Return one object in tenant spelling."""
        self._context.renaming_budget.renew()
        members = last_applied_down(members, self._context, self.item)
        above = restored(members, self._context) if self._confined else members
        below = self._translator.members_down(totals_shown(above, self._context), self._context)
        if self._selected and not _is_selected(below, self._selected):
            raise ForeignObject
        return below

    def _list(self, members: Encoded) -> Encoded:
        try:
            members["items"] = self._items(members["items"])
        except ValidationError:
            return members
        if self._request.resource.custom and "apiVersion" in members:
            members["apiVersion"] = API_VERSION.down(members["apiVersion"], self._context)
        metadata = object_of(members.get("metadata", b"null"))
        if metadata is not None:
            members["metadata"] = self._list_metadata(metadata)
        return members

    def _items(self, value: Any) -> Any:
        raw = _decode_raw_items(value)
        joined = self.spliced_items(raw) if raw else None
        if joined is not None:
            return Raw(b"[%b]" % joined)
        items = _decode_items(value)
        return value if items is None else self._own(items)

    def _own(self, items: list[dict[str, Any]]) -> list[Encoded]:
        own = []
        for each in items:
            try:
                own.append(self.item(each))
            except ForeignObject:
                continue
        return own

    def _list_metadata(self, metadata: Encoded) -> Encoded:
        """Return the metadata of a list; a count over several tenants' objects is left out."""
        metadata.pop("selfLink", None)
        if not self._request.namespace:
            metadata.pop("remainingItemCount", None)
        return metadata


def _is_selected(members: Encoded, terms: tuple[FieldTerm, ...]) -> bool:
    """Return whether an object in tenant spelling is selected.

    Metadata alone lacks the fields, and a bookmark of a watch has no name: both pass.
    """
    is_metadata = text_at(members, "kind") == "PartialObjectMetadata"
    if is_metadata or "name" not in object_at(members, "metadata"):
        return True
    found = {}
    for term in terms:
        member, _, key = term.field.partition(".")
        value = object_at(members, member).get(key, "")
        found[term.field] = value if isinstance(value, str) else text_of(value) or ""
    return all(term.matches(found) for term in terms)


def _rows(members: Encoded) -> bool:
    return b"{" in bytes(members.get("rows", b""))


def encoded(members: Encoded, like: bytes) -> bytes:
    """Return an object as JSON, with a line feed at its end if ``like`` has one."""
    body = encode(members)
    return body + b"\n" if like.endswith(b"\n") else body
