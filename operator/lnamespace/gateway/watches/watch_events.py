"""Events of watches upstream, on their way to a client that may read slowly."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from lnamespace.gateway.fairness.costs import seconds_for_answer, seconds_for_events
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END
from lnamespace.translate.protocol.numbers import is_version

_WAITING_EVENTS = 1000
_WAITING_BYTES = 256 * 1024
_QUIET = 0.1
_LITTLE = 32 * 1024
"""A watch has caught up when it receives at most 32 KiB in 0.1 s. Zero bytes would never be reached
where objects change all the time."""
_LONGEST = 20.0
"""Seconds after which a watch loses its slot, however slow its client is: others wait for it.
A client that takes nothing is cut off after three times as long."""
_END = INITIAL_EVENTS_END.encode()
_LONGEST_DELAY = 5.0
"""Seconds that events wait at most for a namespace to catch up: rights in a new namespace may never
be granted while the controller is down."""


@dataclass(frozen=True)
class QueuedEvent:
    """An event of a namespace, or the ``error`` that ends the watch; with neither, a wake-up.

    Parameters
    ----------
    version
        Its resource version, by which it has its place among those that wait; empty: the first.
    held
        The bytes of it that the watch's usage counts until the client has it.
    """

    namespace: str
    line: bytes = b""
    version: str = ""
    error: Exception | None = None
    last: bool = False
    held: int = 0


class WaitingEvents(asyncio.Queue[QueuedEvent]):
    """The events that wait for a client, up to a number and a size, older versions first.

    Without the limit of bytes, 1,000 events of 1 MB held 1 GB for one client that read nothing.

    All events are held back while a namespace is behind the others. A client that had received
    newer events than those that the namespace still has would lose them if it resumed at another
    replica or after a crash, where nobody knows what it has received.
    """

    def __init__(self) -> None:
        super().__init__(_WAITING_EVENTS)
        self._sorted: list[tuple[int, int, QueuedEvent]] = []
        self._order = count()
        self._bytes = 0
        self._behind: dict[str, asyncio.TimerHandle] = {}
        self._revoked: dict[str, tuple[int, int]] = {}
        """The place of the last event of a namespace that was revoked, while it waits."""

    def hold_back(self, namespace: str) -> None:
        """Hold events back until a namespace has caught up, or for five seconds."""
        if namespace not in self._behind:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(_LONGEST_DELAY, self.caught_up, namespace)
            self._behind[namespace] = timer

    def caught_up(self, namespace: str) -> None:
        """Hold no events back for a namespace any more."""
        if timer := self._behind.pop(namespace, None):
            timer.cancel()
            if not self._behind:
                self.wake_up()

    def release(self) -> None:
        """Release all events and wake the reader."""
        for timer in self._behind.values():
            timer.cancel()
        self._behind.clear()
        self.wake_up()

    def drop_held_back(self) -> None:
        """Drop the events that are held back, and hold nothing back any more."""
        if self._behind:
            self._sorted.clear()
            self._revoked.clear()
            self._bytes = 0
            self.release()

    def wake_up(self) -> None:
        """Wake the task that waits for an event."""
        # At a full queue no task waits for an event.
        with suppress(asyncio.QueueFull):
            self.put_nowait(QueuedEvent(""))

    def qsize(self) -> int:
        """Return how many events wait."""
        return len(self._sorted)

    def empty(self) -> bool:
        """Return whether no event may be sent now.

        Events are not held back when they are too many, nor behind an error: the watch ends.
        """
        if not self._sorted:
            return True
        return bool(self._behind) and not self.full() and self._sorted[0][2].error is None

    def full(self) -> bool:
        """Return whether no further event may be put in."""
        return super().full() or self._bytes > _WAITING_BYTES

    def _put(self, item: QueuedEvent) -> None:
        position = int(item.version) if is_version(item.version) else 0
        # A Namespace that joins again is older than the binding that ended the rights: its ADDED
        # came before the DELETED, and the client lost it.
        revoked, _ = self._revoked.get(item.namespace, (0, 0))
        place = (max(position, revoked), next(self._order))
        if item.last:
            self._revoked[item.namespace] = place
        heappush(self._sorted, (*place, item))
        self._bytes += len(item.line)

    def _get(self) -> QueuedEvent:
        *place, item = heappop(self._sorted)
        if item.last and self._revoked[item.namespace] == tuple(place):
            del self._revoked[item.namespace]
        self._bytes -= len(item.line)
        return item


def _do_nothing() -> None:
    """Do nothing."""


class OpeningSlot:
    """One of the slots of a tenant for watches that still receive their initial events.

    Parameters
    ----------
    caught_up
        Called when the initial events, or those since the watch's version, are over.
    """

    def __init__(
        self, slots: asyncio.Semaphore, caught_up: Callable[[], None] = _do_nothing
    ) -> None:
        self._slots = slots
        self._caught_up = caught_up
        self._taken = False
        self._check: asyncio.TimerHandle | None = None
        self._since, self._bytes = 0.0, 0
        """The bytes received since a time of the event loop's clock."""
        self._latest: asyncio.TimerHandle | None = None

    async def acquire(self) -> None:
        """Wait for a slot."""
        await self._slots.acquire()
        self._taken = True
        self._count_anew()
        self._latest = asyncio.get_running_loop().call_later(_LONGEST, self._end)

    def release(self) -> None:
        """Release the slot, if it is held."""
        if self._taken:
            self._taken = False
            self._slots.release()
        if self._latest:
            self._latest.cancel()
        self._cancel_check()

    def _end(self) -> None:
        self.release()
        self._caught_up()

    def opened(self) -> None:
        """Start to watch for the end of the initial events: the API server has answered."""
        self._count_anew()
        self.release_when_idle()

    def release_when_idle(self) -> None:
        """Release the slot once little is received: the initial events are over."""
        if not self._taken:
            return
        loop = asyncio.get_running_loop()
        left = self._since + _QUIET - loop.time()
        if left > 0:
            self._check = loop.call_later(left, self.release_when_idle)
        elif self._bytes <= _LITTLE:
            self._end()
        else:
            self._count_anew()
            self._check = loop.call_later(_QUIET, self.release_when_idle)

    def _count_anew(self) -> None:
        self._since, self._bytes = asyncio.get_running_loop().time(), 0

    def _cancel_check(self) -> None:
        if self._check:
            self._check.cancel()
            self._check = None

    def received(self, data: bytes) -> None:
        """Count received data; release the slot if it ends the initial events."""
        self._cancel_check()
        self._bytes += len(data)
        if self._taken and _END in data:
            self._end()


async def event_lines(
    response: UpstreamResponse, usage: RequestUsage, slot: OpeningSlot | None = None
) -> AsyncIterator[bytes]:
    """Yield the events of a watch as they come, without their line ends.

    Parameters
    ----------
    usage
        Counts the bytes that are buffered, and what they cost the API server.
    slot
        Released when the client has caught up, or at the end.

    Raises
    ------
    Refused
        There is no room for an event.
    """
    rest, kept = b"", 0
    slot = slot or OpeningSlot(asyncio.Semaphore())
    try:
        slot.opened()
        usage.charge_extra(seconds_for_answer(0))
        while data := await response.take():
            slot.received(data)
            usage.charge_extra(seconds_for_events(len(data)))
            usage.reserve(len(data))
            kept += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line:
                    yield line
            usage.release(kept - len(rest))
            kept = len(rest)
            slot.release_when_idle()
    finally:
        usage.release(kept)
        slot.release()
