"""The places from which a client goes on in a merged watch; pure.

A watch of one API server tells events in the order of their resource versions. A merged watch
does not: the event of one namespace may arrive before an older one of another. A client goes on
at the last resource version that it saw, so each place in a merged watch has to be known by how
far every namespace had come (:class:`ResumeLog`).
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.kube.nesting import at_any_depth
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
        """Return the resource version that a watch may go on from after this event."""
        return self.object.metadata.resource_version

    @property
    def ends_initial_events(self) -> bool:
        """Return whether everything that was there before the watch has been told."""
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
    """How far each namespace of a merged watch has come, by resource version."""

    versions: dict[str, str] = field(default_factory=dict)

    def advance(self, namespace: str, version: str) -> None:
        """Note the newest version that a namespace has told."""
        if version:
            self.versions[namespace] = version

    def leave(self, namespace: str) -> None:
        """Forget a namespace."""
        self.versions.pop(namespace, None)

    def behind(self, namespaces: Iterable[str]) -> str:
        """Return the version up to which every namespace has told everything; empty if unknown."""
        known = [self.versions.get(each, "") for each in namespaces]
        if not known or not all(each.isdecimal() for each in known):
            return ""
        return min(known, key=int)


@dataclass(eq=False)
class ToldOrder:
    """The order of events that one merged watch sent, and the version of each namespace by then.

    Parameters
    ----------
    key
        Everything that makes two watches alike: tenant, resource, selectors.
    version
        What its client had seen when it began, in whatever order.
    reached
        How far each namespace had come in what is forgotten by now.
    """

    key: str
    version: str
    reached: dict[str, str]
    _steps: deque[tuple[str | None, str, bool]] = field(default_factory=deque)
    """The namespace that came to a version, if one did, and whether the client was told it."""

    def add(self, namespace: str | None, version: str, *, told: bool) -> None:
        """Add a step, and forget the oldest of too many."""
        self._steps.append((namespace, version, told))
        if len(self._steps) > _REMEMBERED_EVENTS:
            namespace, version, told = self._steps.popleft()
            _reach(self.reached, namespace, version)
            self.version = version if told else self.version

    def at(self, version: str) -> dict[str, str] | None:
        """Return how far each namespace had come when a version was told; None if it was not."""
        reached = dict(self.reached)
        if version == self.version:
            return reached
        for namespace, came, told in self._steps:
            _reach(reached, namespace, came)
            if told and came == version:
                return reached
        return None


def _reach(places: dict[str, str], namespace: str | None, version: str) -> None:
    if namespace is None:
        return
    if version:
        places[namespace] = version
    else:
        places.pop(namespace, None)


class ResumeLog:
    """Remember in which order merged watches told resource versions.

    Each has an order of its own: where the watches of two clients tell the same version, one may
    have told what is older in other namespaces, and the other not yet.
    """

    def __init__(self) -> None:
        self._orders: OrderedDict[ToldOrder, None] = OrderedDict()

    def begin(self, key: str, version: str, places: Mapping[str, str]) -> ToldOrder:
        """Return the order of a watch whose client saw ``version`` last, and is at these places."""
        order = ToldOrder(key, version, dict(places))
        self._remember(order)
        return order

    def reach(self, order: ToldOrder, namespace: str, version: str, *, told: bool = False) -> None:
        """Note how far a namespace came; without a version, it has left.

        Parameters
        ----------
        told
            Whether the client was told the version, and so may go on at it.
        """
        self._remember(order)
        order.add(namespace, version, told=told)

    def tell(self, order: ToldOrder, version: str) -> None:
        """Note that the client was told a version at which no namespace has a place."""
        self._remember(order)
        order.add(None, version, told=True)

    def reached(self, key: str, version: str) -> dict[str, str] | None:
        """Return how far each namespace had come when a version was told; None if unknown.

        Whichever of these watches the client had, it has seen what all of them had told by then.
        Without a version: not all of them had come to a place in that namespace.
        """
        alike = (each.at(version) for each in self._orders if each.key == key)
        found = [each for each in alike if each is not None]
        namespaces = {namespace for each in found for namespace in each}
        return {each: _least(each, found) for each in namespaces} if found else None

    def _remember(self, order: ToldOrder) -> None:
        self._orders[order] = None
        self._orders.move_to_end(order)
        if len(self._orders) > _REMEMBERED_WATCHES:
            self._orders.popitem(last=False)


def _least(namespace: str, orders: Iterable[Mapping[str, str]]) -> str:
    places = [each.get(namespace, "") for each in orders]
    return min(places, key=int) if all(each.isdecimal() for each in places) else ""
