"""What probes and Prometheus ask of a process, by plain HTTP on a port of its own."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from aiohttp import web

from lnamespace.errors import SettingsError
from lnamespace.runtime.listener import Address, Connection, Limits, Listener, in_words

Problem = Callable[[], str | None]
"""Says in words what is wrong now; None: nothing."""

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Probes:
    """What a process says of itself.

    ``unready`` is why it cannot do its work now. ``dead`` is what only a restart could mend; that
    the question is answered at all says already that its loop runs.
    """

    unready: Problem
    metrics: Callable[[], bytes]
    dead: Problem = _nothing

    def answer(self, request: web.BaseRequest) -> web.Response:
        """Answer ``/livez``, ``/readyz`` or ``/metrics``."""
        if request.method not in ("GET", "HEAD"):
            return in_words(405, "only GET is answered here")
        match request.path:
            case "/livez":
                return _told(self.dead())
            case "/readyz":
                return _told(self.unready())
            case "/metrics":
                return web.Response(body=self.metrics(), headers={"Content-Type": _PROMETHEUS})
        return in_words(404, "there are /livez, /readyz and /metrics")


@asynccontextmanager
async def answering(listen: str, probes: Probes) -> AsyncIterator[str]:
    """Answer probes meanwhile, at HOST:PORT; empty: nowhere. Yields the real address.

    Raises
    ------
    SettingsError
        It is no address, or cannot be listened at.
    """
    if not listen:
        yield ""
        return

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.begin()
        try:
            return probes.answer(request)
        finally:
            connection.end()

    listener = Listener(handle, Limits(connections=64, finish=1))
    try:
        real = str(await listener.start(Address.parse(listen)))
    except ValueError as error:
        raise SettingsError(f"--health-listen: {error}") from error
    except OSError as error:
        raise SettingsError(f"--health-listen: cannot listen: {error}") from error
    log.info("answering probes", extra={"address": real})
    try:
        yield real
    finally:
        await listener.stop()


def _told(problem: str | None) -> web.Response:
    return in_words(503, problem) if problem else web.Response(text="ok\n")
