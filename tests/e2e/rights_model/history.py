"""What the lists said from the last moment at which all was as they said, until now.

Between two such moments the cluster is on its way from one to the other. What somebody may do
meanwhile must have been said by some world on that way; what all of them say must be so.
"""

import threading
import time
from collections.abc import Callable, Sequence

from tests.e2e.rights_model.model import Layout, World
from tests.e2e.rights_model.questions import Powers
from tests.e2e.support.people import Who

MARGIN = 2.0
"""Seconds before the end of an entry in which it may be over or not, to whoever asks."""


class History:
    """The worlds so far, for one writer and many readers."""

    def __init__(
        self, clock: Callable[[], float] = time.time, layout: Layout = Layout.GROUP
    ) -> None:
        self._clock = clock
        self._worlds: list[World] = [World(layout=layout)]
        self._settled = (0, clock())
        self._lock = threading.Lock()

    @property
    def world(self) -> World:
        """Return the newest world."""
        return self._worlds[-1]

    def add(self, *worlds: World) -> None:
        """Something is about to happen, or has."""
        with self._lock:
            self._worlds.extend(worlds)

    def settle(self, since: float) -> None:
        """Note that the cluster was as the newest world says, at a moment after ``since``."""
        with self._lock:
            self._settled = (len(self._worlds) - 1, since)

    def window(self) -> "Window":
        """Return a place in the history, from which to judge what is seen from now on."""
        with self._lock:
            index, since = self._settled
        return Window(self, index, since)

    def since(self, index: int) -> Sequence[World]:
        """Return the worlds from that one on."""
        with self._lock:
            return self._worlds[index:]


class Window:
    """From a settled moment until whenever it is asked."""

    def __init__(self, history: History, index: int, since: float) -> None:
        self._history = history
        self._index = index
        self._since = since

    @property
    def worlds(self) -> Sequence[World]:
        """Return all that the lists said in it."""
        return self._history.since(self._index)

    def can(self, who: Who, powers: Powers) -> bool:
        """Return whether somebody may have had the right at some moment of it."""
        return any(world.may(who, powers, self._since) for world in self.worlds)

    def must(self, who: Who, powers: Powers) -> bool:
        """Return whether somebody had the right all the time."""
        now = time.time() + MARGIN
        return all(world.may(who, powers, now) for world in self.worlds)
