"""Work in the background of a process, and its graceful end."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def stop_event() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set from now on, instead of ending the process.

    Call it within the running event loop.
    """
    stop = asyncio.Event()
    set_at_signals(stop)
    return stop


def set_at_signals(stop: asyncio.Event) -> None:
    """Make SIGTERM and SIGINT set an event, whatever they did before."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)


def exit_at_next_signal() -> None:
    """End the process at once when the next signal arrives, with exit code 128 + its number.

    It is for a process that has begun to stop and takes longer than the user wants to wait.
    """
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, os._exit, 128 + number)


class DrainingServer(Protocol):
    """A server that can stop without cutting off an answer."""

    def drain(self) -> None:
        """Go on answering, and close every connection after its next answer."""

    async def stop(self) -> None:
        """Accept no more connections, and wait for requests under way."""


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a task in the background while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def wait_at_most(event: asyncio.Event, seconds: float | None) -> None:
    """Wait for an event, or for some seconds; without these, for the event alone."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def serve_until_stopped(
    stop: asyncio.Event, drain_seconds: float, *servers: DrainingServer
) -> None:
    """Serve until SIGTERM or SIGINT, then for the drain time; end at once at a second signal.

    During the drain time the readiness probe fails, so that new requests go to the other replicas
    before this one stops listening.

    Parameters
    ----------
    stop
        The event that these signals set, from before the first connection on.
    """
    await stop.wait()
    exit_at_next_signal()
    for server in servers:
        server.drain()
    log.info("stopping", extra={"drain_seconds": drain_seconds})
    await asyncio.sleep(drain_seconds)
    await asyncio.gather(*(server.stop() for server in servers))
    log.info("stopped")
