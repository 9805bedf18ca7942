"""The positions at which a client resumes a merged watch; pure.

A watch of one API server sends events in the order of their resource versions. A merged watch does
not: the event of one namespace may arrive before an older one of another. A client resumes at the
last resource version that it received. So :class:`ResumeLog` keeps, for each version that was sent,
the position of every namespace by then: the last version that was sent of it.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.nesting import at_any_depth
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END

_REMEMBERED_EVENTS = 2000
_REMEMBERED_WATCHES = 500


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
        It is not an event.
    """
    return at_any_depth(_head.decode, line)


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


@dataclass
class Frontier:
    """The newest version that each namespace of a merged watch has sent."""

    versions: dict[str, str] = field(default_factory=dict)

    def advance(self, namespace: str, version: str) -> None:
        """Record the newest version of a namespace."""
        if version:
            self.versions[namespace] = version

    def leave(self, namespace: str) -> None:
        """Forget a namespace."""
        self.versions.pop(namespace, None)

    def behind(self, namespaces: Iterable[str]) -> str:
        """Return the version up to which every namespace has sent everything; empty if unknown."""
        known = [self.versions.get(each, "") for each in namespaces]
        if not known or not all(each.isdecimal() for each in known):
            return ""
        return min(known, key=int)


@dataclass(eq=False)
class WatchHistory:
    """The versions that one merged watch sent, in order, and the positions of its namespaces.

    Parameters
    ----------
    key
        Everything that makes two watches alike: tenant, resource, selectors.
    version
        The version at which its client resumed, or that of the oldest step that is kept.
    positions
        The position of each namespace before the first step that is kept.
    """

    key: str
    version: str
    positions: dict[str, str]
    _steps: deque[tuple[str | None, str, bool]] = field(default_factory=deque)
    """A namespace (None if none), its version, and whether the version was sent to the client."""

    def add(self, namespace: str | None, version: str, *, sent: bool) -> None:
        """Add a step, and forget the oldest of too many."""
        self._steps.append((namespace, version, sent))
        if len(self._steps) > _REMEMBERED_EVENTS:
            namespace, version, sent = self._steps.popleft()
            _set_position(self.positions, namespace, version)
            self.version = version if sent else self.version

    def at(self, version: str) -> dict[str, str] | None:
        """Return the positions when a version was sent; None if it was not sent."""
        positions = dict(self.positions)
        if version == self.version:
            return positions
        for namespace, came, sent in self._steps:
            _set_position(positions, namespace, came)
            if sent and came == version:
                return positions
        return None


def _set_position(positions: dict[str, str], namespace: str | None, version: str) -> None:
    if namespace is None:
        return
    if version:
        positions[namespace] = version
    else:
        positions.pop(namespace, None)


class ResumeLog:
    """Keep the histories of merged watches, to resume them.

    Each watch has its own: when two send the same version, one may have sent older events of other
    namespaces, and the other not yet.
    """

    def __init__(self) -> None:
        self._histories: OrderedDict[WatchHistory, None] = OrderedDict()

    def begin(self, key: str, version: str, positions: Mapping[str, str]) -> WatchHistory:
        """Return the history of a new watch, whose client resumes at a version and positions."""
        history = WatchHistory(key, version, dict(positions))
        self._remember(history)
        return history

    def record_position(
        self, history: WatchHistory, namespace: str, version: str, *, sent: bool = False
    ) -> None:
        """Record the position of a namespace; an empty version removes it.

        Parameters
        ----------
        sent
            Whether the client was sent the version, and so may resume at it.
        """
        self._remember(history)
        history.add(namespace, version, sent=sent)

    def record_sent(self, history: WatchHistory, version: str) -> None:
        """Record that the client was sent a version that changes no position."""
        self._remember(history)
        history.add(None, version, sent=True)

    def positions_at(self, key: str, version: str) -> dict[str, str] | None:
        """Return the positions when a version was sent; None if unknown.

        Several watches may have sent the version, so each position is the earliest of theirs. It is
        empty where one of them had no position in that namespace.
        """
        alike = (each.at(version) for each in self._histories if each.key == key)
        found = [each for each in alike if each is not None]
        namespaces = {namespace for each in found for namespace in each}
        return {each: _earliest(each, found) for each in namespaces} if found else None

    def _remember(self, history: WatchHistory) -> None:
        self._histories[history] = None
        self._histories.move_to_end(history)
        if len(self._histories) > _REMEMBERED_WATCHES:
            self._histories.popitem(last=False)


def _earliest(namespace: str, histories: Iterable[Mapping[str, str]]) -> str:
    positions = [each.get(namespace, "") for each in histories]
    return min(positions, key=int) if all(each.isdecimal() for each in positions) else ""
