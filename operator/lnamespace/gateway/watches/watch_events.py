"""Events of watches upstream, on their way to a client that may read slowly."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from lnamespace.gateway.fairness.shares import Share
from lnamespace.gateway.http.upstream_connection import UpstreamResponse
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END

_WAITING_EVENTS = 1000
_WAITING_BYTES = 256 * 1024
_QUIET = 0.1
_LITTLE = 32 * 1024
"""A watch has caught up after at most 32 KiB in 0.1 s. Zero bytes would never be reached where
something changes all the time."""
_LONGEST = 20.0
"""Seconds after which a watch has no place however slow its client is: others of its tenant wait.
A client that takes nothing is cut off after three times as long."""
_END = INITIAL_EVENTS_END.encode()


@dataclass(frozen=True)
class ToldEvent:
    """A line that a namespace told; ``error`` ends the whole. Without either, nothing is told."""

    namespace: str
    line: bytes = b""
    error: Exception | None = None
    last: bool = False


class WaitingEvents(asyncio.Queue[ToldEvent]):
    """Queue events for a client, up to a number and a size.

    Without the limit of bytes, 1,000 events of 1 MB held 1 GB for one client that read nothing.
    """

    def __init__(self) -> None:
        super().__init__(_WAITING_EVENTS)
        self._bytes = 0

    def full(self) -> bool:
        """Return whether nothing more is to be put in."""
        return super().full() or self._bytes > _WAITING_BYTES

    def _put(self, item: ToldEvent) -> None:
        super()._put(item)
        self._bytes += len(item.line)

    def _get(self) -> ToldEvent:
        item: ToldEvent = super()._get()
        self._bytes -= len(item.line)
        return item


class OpeningPlace:
    """A place among the watches of a tenant whose client has not caught up."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._taken = False
        self._quiet: asyncio.TimerHandle | None = None
        self._since, self._bytes = 0.0, 0
        """How many bytes came since when, by the event loop's clock."""
        self._latest: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        """Wait for the place."""
        await self._places.acquire()
        self._taken = True
        self._count_anew()
        self._latest = asyncio.get_running_loop().call_later(_LONGEST, self.give_back)

    def give_back(self) -> None:
        """Let another have the place."""
        if self._taken:
            self._taken = False
            self._places.release()
        if self._latest:
            self._latest.cancel()
        self._hear()

    def listen(self) -> None:
        """Give the place back if little comes: all that was there has been told."""
        if not self._taken:
            return
        loop = asyncio.get_running_loop()
        left = self._since + _QUIET - loop.time()
        if left > 0:
            self._quiet = loop.call_later(left, self.listen)
        elif self._bytes <= _LITTLE:
            self.give_back()
        else:
            self._count_anew()
            self._quiet = loop.call_later(_QUIET, self.listen)

    def _count_anew(self) -> None:
        self._since, self._bytes = asyncio.get_running_loop().time(), 0

    def _hear(self) -> None:
        if self._quiet:
            self._quiet.cancel()
            self._quiet = None

    def heard(self, data: bytes) -> None:
        """Note that something came; the mark after all that was there may be in it."""
        self._hear()
        self._bytes += len(data)
        if self._taken and _END in data:
            self.give_back()


async def event_lines(
    response: UpstreamResponse, share: Share | None = None, place: OpeningPlace | None = None
) -> AsyncIterator[bytes]:
    """Yield the events of a watch as they come, without their line ends.

    Parameters
    ----------
    share
        Counts what is kept of events.
    place
        Is given back when the client has caught up, or at the end.

    Raises
    ------
    Refused
        There is no room for an event.
    """
    rest, kept, share = b"", 0, share or Share()
    place = place or OpeningPlace(asyncio.Semaphore())
    try:
        place.listen()
        while data := await response.take():
            place.heard(data)
            share.hold(len(data))
            kept += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line:
                    yield line
            share.release(kept - len(rest))
            kept = len(rest)
            place.listen()
    finally:
        share.release(kept)
        place.give_back()
