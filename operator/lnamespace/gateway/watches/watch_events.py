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
"""A watch has caught up when it receives at most 32 KiB in 0.1 s. Zero bytes would never be reached
where objects change all the time."""
_LONGEST = 20.0
"""Seconds after which a watch loses its slot, however slow its client is: others wait for it.
A client that takes nothing is cut off after three times as long."""
_END = INITIAL_EVENTS_END.encode()


@dataclass(frozen=True)
class QueuedEvent:
    """An event of a namespace, or the ``error`` that ends the watch; with neither, a wake-up.

    Parameters
    ----------
    held
        The bytes of it that the watch's share counts until the client has it.
    """

    namespace: str
    line: bytes = b""
    error: Exception | None = None
    last: bool = False
    held: int = 0


class WaitingEvents(asyncio.Queue[QueuedEvent]):
    """Events that wait for a client, up to a number and a size.

    Without the limit of bytes, 1,000 events of 1 MB held 1 GB for one client that read nothing.
    """

    def __init__(self) -> None:
        super().__init__(_WAITING_EVENTS)
        self._bytes = 0

    def full(self) -> bool:
        """Return whether nothing more is to be put in."""
        return super().full() or self._bytes > _WAITING_BYTES

    def _put(self, item: QueuedEvent) -> None:
        super()._put(item)
        self._bytes += len(item.line)

    def _get(self) -> QueuedEvent:
        item: QueuedEvent = super()._get()
        self._bytes -= len(item.line)
        return item


class OpeningSlot:
    """One of the slots of a tenant for watches that still receive their initial events."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
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
        self._latest = asyncio.get_running_loop().call_later(_LONGEST, self.release)

    def release(self) -> None:
        """Release the slot, if it is held."""
        if self._taken:
            self._taken = False
            self._slots.release()
        if self._latest:
            self._latest.cancel()
        self._cancel_check()

    def release_when_idle(self) -> None:
        """Release the slot once little is received: the initial events are over."""
        if not self._taken:
            return
        loop = asyncio.get_running_loop()
        left = self._since + _QUIET - loop.time()
        if left > 0:
            self._check = loop.call_later(left, self.release_when_idle)
        elif self._bytes <= _LITTLE:
            self.release()
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
            self.release()


async def event_lines(
    response: UpstreamResponse, share: Share | None = None, slot: OpeningSlot | None = None
) -> AsyncIterator[bytes]:
    """Yield the events of a watch as they come, without their line ends.

    Parameters
    ----------
    share
        Counts the bytes that are buffered.
    slot
        Released when the client has caught up, or at the end.

    Raises
    ------
    Refused
        There is no room for an event.
    """
    rest, kept, share = b"", 0, share or Share()
    slot = slot or OpeningSlot(asyncio.Semaphore())
    try:
        slot.release_when_idle()
        while data := await response.take():
            slot.received(data)
            share.hold(len(data))
            kept += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line:
                    yield line
            share.release(kept - len(rest))
            kept = len(rest)
            slot.release_when_idle()
    finally:
        share.release(kept)
        slot.release()
