"""The positions at which a client resumes a merged watch; pure.

A watch of one API server sends events in the order of their resource versions. A merged watch does
not: the event of one namespace may arrive before an older one of another. A client resumes at the
last resource version that it received. So :class:`ResumeLog` keeps, for each version that was sent,
the position of every namespace by then: the last version that was sent of it.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_REMEMBERED_EVENTS = 2000
_REMEMBERED_WATCHES = 500
"""The most watches of one owner."""
_REMEMBERED_STEPS = 300_000
"""The most steps and positions of all owners together; each takes some 130 bytes."""
NOWHERE = "?"
"""The position of a namespace of which only some initial events were sent: no version has all of
them, and a client that has some does not learn which of them are deleted meanwhile."""


def earliest(versions: Iterable[str]) -> str:
    """Return the earliest of some resource versions; empty if one is unknown, or there are none."""
    known = list(versions)
    return min(known, key=int, default="") if all(each.isdecimal() for each in known) else ""


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

    @property
    def owner(self) -> str:
        """Return the tenant or caller whose watch it is: the first line of the key."""
        return _owner_of(self.key)

    @property
    def size(self) -> int:
        """Return the number of its steps and positions."""
        return len(self._steps) + len(self.positions) + 1

    def add(self, namespace: str | None, version: str, *, sent: bool) -> None:
        """Add a step, and forget the oldest of too many."""
        self._steps.append((namespace, version, sent))
        if len(self._steps) > _REMEMBERED_EVENTS:
            self._forget_oldest()

    def forget_steps(self) -> None:
        """Keep the newest positions only: a watch holds its history for as long as it lasts."""
        while self._steps:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
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


def _owner_of(key: str) -> str:
    return key.partition("\n")[0]


@dataclass
class _OwnersHistories:
    """The histories of one owner, and how long they are together."""

    histories: OrderedDict[WatchHistory, None] = field(default_factory=OrderedDict)
    size: int = 0

    def drop_oldest(self) -> int:
        """Forget the history without a step for longest, and return its size."""
        oldest, _ = self.histories.popitem(last=False)
        size = oldest.size
        self.size -= size
        oldest.forget_steps()
        return size


class ResumeLog:
    """The histories of merged watches, by which clients resume them.

    Each watch has its own history: when two send the same version, one may have sent older events
    of other namespaces, and the other not yet.

    The owner with the longest histories loses its oldest one first. When all owners shared 500
    watches, one tenant with as many pushed out those of all others, whose clients missed events.
    """

    def __init__(self) -> None:
        self._owners: dict[str, _OwnersHistories] = {}
        self.size = 0
        """The steps and positions of all histories."""

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
        self._add(history, namespace, version, sent=sent)

    def record_sent(self, history: WatchHistory, version: str) -> None:
        """Record that the client was sent a version that changes no position."""
        self._add(history, None, version, sent=True)

    def positions_at(self, key: str, version: str) -> dict[str, str] | None:
        """Return the positions when a version was sent; None if unknown.

        Several watches may have sent the version, so each position is the earliest of theirs. It is
        empty where one of them had no position in that namespace.
        """
        own = self._owners.get(_owner_of(key), _OwnersHistories()).histories
        alike = (each.at(version) for each in own if each.key == key)
        found = [each for each in alike if each is not None]
        namespaces = {namespace for each in found for namespace in each}
        return {each: _earliest(each, found) for each in namespaces} if found else None

    def _add(
        self, history: WatchHistory, namespace: str | None, version: str, *, sent: bool
    ) -> None:
        own, before = self._remember(history), history.size
        history.add(namespace, version, sent=sent)
        own.size += history.size - before
        self.size += history.size - before
        self._make_room()

    def _remember(self, history: WatchHistory) -> _OwnersHistories:
        own = self._owners.setdefault(history.owner, _OwnersHistories())
        if history not in own.histories:
            own.size += history.size
            self.size += history.size
        own.histories[history] = None
        own.histories.move_to_end(history)
        if len(own.histories) > _REMEMBERED_WATCHES:
            self.size -= own.drop_oldest()
        return own

    def _make_room(self) -> None:
        """Forget the oldest history of the owner with the most steps, until all fit."""
        while self.size > _REMEMBERED_STEPS:
            owner = max(self._owners, key=lambda each: self._owners[each].size)
            self.size -= self._owners[owner].drop_oldest()
            if not self._owners[owner].histories:
                del self._owners[owner]


def _earliest(namespace: str, histories: Iterable[Mapping[str, str]]) -> str:
    positions = [each.get(namespace, "") for each in histories]
    return NOWHERE if NOWHERE in positions else earliest(positions)
