"""Read the head of an event: its type, version and annotations; write bookmarks. Pure."""

import msgspec

from lnamespace.nesting import at_any_depth
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END
from lnamespace.translate.protocol.numbers import is_version
from lnamespace.translate.protocol.status import expired


class _EventMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _RowObject(msgspec.Struct, frozen=True):
    metadata: _EventMeta = _EventMeta()


class _EventRow(msgspec.Struct, frozen=True):
    object: _RowObject | None = None


class _EventObject(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _EventMeta = _EventMeta()
    rows: list[_EventRow] | None = None


class EventHead(msgspec.Struct, frozen=True):
    """The parts of an event that are read before it is translated."""

    type: str
    object: _EventObject

    @property
    def version(self) -> str:
        """Return the resource version at which a watch may resume after this event."""
        return self.object.metadata.resource_version

    @property
    def ends_initial_events(self) -> bool:
        """Return whether this bookmark ends the initial events."""
        found = [self.object.metadata]
        # A table has the annotations of an object in the row of the object.
        found += [row.object.metadata for row in self.object.rows or () if row.object]
        return any(INITIAL_EVENTS_END in (each.annotations or ()) for each in found)


_head = msgspec.json.Decoder(EventHead)


def read_event(line: bytes) -> EventHead:
    """Read the head of an event.

    Raises
    ------
    ValueError
        The line is not an event.
    """
    return at_any_depth(_head.decode, line)


def read_member_event(line: bytes) -> EventHead:
    """Read the head of an event of one of several watches.

    Raises
    ------
    Refused
        The event is an error: the watch lost its place.
    ValueError
        The line is not an event.
    """
    head = read_event(line)
    if head.type == "ERROR":
        raise expired("too old resource version: the watch lost its place")
    return head


def is_resumable(version: str) -> bool:
    """Return whether a resource version can be resumed from; the API server refuses others."""
    return is_version(version) and version != "0"


def bookmark(line: bytes, version: str, *, ends_initial_events: bool = False) -> bytes:
    """Return a BOOKMARK of one watch as that of a merged one, which is at another version."""
    event = msgspec.json.decode(line)
    subject = event["object"]
    rows = [row["object"] for row in subject.get("rows") or () if row.get("object")]
    for metadata in (each["metadata"] for each in (subject, *rows)):
        metadata["resourceVersion"] = version
        metadata.pop("annotations", None)
    if ends_initial_events:
        # A table has the annotations of an object in the row of the object.
        marked = rows[0] if rows else subject
        marked["metadata"]["annotations"] = {INITIAL_EVENTS_END: "true"}
    return msgspec.json.encode(event)
