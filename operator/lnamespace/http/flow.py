"""Flow control: a writer waits for a slow reader."""

import asyncio
import time
from collections.abc import Callable

PART = 128 * 1024
"""Bytes that are written before a pause for the reader, in which other tasks may run."""
HIGH_WATER = 256 * 1024
"""Bytes that wait for a reader before the other side is asked to pause."""


class WriteGate:
    """A gate that is closed while a transport's buffer is full."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None
        self._broken: Exception | None = None
        self.closed_since = 0.0
        """Since when the gate is closed, in seconds of the monotonic clock; 0 if it is open."""

    def pause(self) -> None:
        """Close the gate: the transport's buffer is full."""
        self.closed_since = time.monotonic()

    def resume(self) -> None:
        """Open the gate."""
        self.closed_since = 0.0
        self._wake()

    def fail(self, error: Exception) -> None:
        """Fail all waiters: the connection is lost."""
        self._broken = error
        self._wake()

    async def drain(self) -> None:
        """Wait until more may be written.

        Raises
        ------
        ConnectionError
            The connection is gone.
        """
        while self.closed_since and self._broken is None:
            self._waiter = self._waiter or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiter)
        if self._broken:
            raise _fresh(self._broken)

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None


class Chunks:
    """The chunks of a body, from the protocol that receives them to the task that reads them.

    ``transport`` pauses reading while too much waits.
    """

    def __init__(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport
        self._waiting = bytearray()
        """Not a list of chunks: a pod that sends them of 2 bytes each would have 60 kept for it."""
        self.paused_since = 0.0
        """Since when the transport pauses, in seconds of the monotonic clock; 0 if it does not."""
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._hold: Callable[[int], None] | None = None
        """Counts the bytes of a body that is gathered as a whole."""
        self._held = 0

    @property
    def ended(self) -> bool:
        """Return whether everything has arrived."""
        return self._ended

    def put(self, data: bytes) -> None:
        """Append a chunk; drop it after an error."""
        if self._error:
            return
        self._waiting += data
        if self._hold:
            self._count(self._hold)
            return
        if len(self._waiting) > HIGH_WATER and not self.paused_since:
            self.paused_since = time.monotonic()
            self._transport.pause_reading()
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """Record the end of the body, or the error instead of it."""
        self._ended = True
        self._error = self._error or error
        self._wake()

    async def take(self) -> bytes:
        """Return everything that has arrived; empty at the end of the body.

        Raises
        ------
        ConnectionError
            The rest will not come.
        """
        while not self._waiting and not self._ended:
            await self._change()
        if self._waiting:
            return self._all()
        if self._error:
            raise _fresh(self._error)
        return b""

    async def gather(self, hold: Callable[[int], None]) -> bytes:
        """Return all that is still to come, when it has ended; the reader wakes once.

        Woken for each 32 KiB, the reader of a list of 1,000 took a tenth of its cost.

        Parameters
        ----------
        hold
            Counts bytes that are kept; what it raises ends the body.

        Raises
        ------
        ConnectionError
            The rest will not come.
        """
        self._hold = hold
        if self.paused_since:
            self._resume()
        try:
            while not self._ended:
                await self._change()
        finally:
            self._hold = None
        if self._error:
            raise _fresh(self._error)
        hold(len(self._waiting) - self._held)
        return self._all()

    async def _change(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _all(self) -> bytes:
        data = bytes(self._waiting)
        self._waiting.clear()
        if self.paused_since:
            self._resume()
        return data

    def _resume(self) -> None:
        self.paused_since = 0.0
        self._transport.resume_reading()

    def _count(self, hold: Callable[[int], None]) -> None:
        size = len(self._waiting) - self._held
        if size < PART:
            return  # It may come in thousands of chunks.
        self._held += size
        try:
            hold(size)
        except Exception as error:  # noqa: BLE001 - it is for whoever gathers
            self.end(error)

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None


def _fresh(error: Exception) -> Exception:
    """Return an error to raise, without the frames of an earlier one.

    They refer to the connection that keeps the error, and waited for the garbage collector with all
    that they had read: 65,000 objects after some watches had ended.
    """
    return type(error)(*error.args) if isinstance(error, ConnectionError) else error
