"""Liveness, readiness and metrics of a process, by plain HTTP on a port of its own."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from aiohttp import web

from lnamespace.runtime.addresses import listen_at
from lnamespace.runtime.listener import (
    Connection,
    ConnectionLimits,
    Listener,
    text_response,
)

Problem = Callable[[], str | None]
"""A function that returns the present problem in words, or None."""

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)


def _nothing() -> None:
    return None


async def _gather_nothing() -> None:
    return None


@dataclass(frozen=True)
class Probes:
    """The answers to liveness and readiness probes, and to Prometheus.

    Parameters
    ----------
    unready
        Why the process cannot do its work now.
    metrics
        All metrics in Prometheus' text format.
    dead
        A problem that only a restart solves. Without it an answer still shows that the event loop
        runs.
    gather
        Awaited before the metrics are answered, if other processes must be asked for them.
    """

    unready: Problem
    metrics: Callable[[], bytes]
    dead: Problem = _nothing
    gather: Callable[[], Awaitable[None]] = _gather_nothing

    def answer(self, request: web.BaseRequest) -> web.Response:
        """Answer ``/livez``, ``/readyz`` or ``/metrics``."""
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "only GET is answered here")
        match request.path:
            case "/livez":
                return _probe_response(self.dead())
            case "/readyz":
                return _probe_response(self.unready())
            case "/metrics":
                return web.Response(body=self.metrics(), headers={"Content-Type": _PROMETHEUS})
        return text_response(404, "there are /livez, /readyz and /metrics")


@asynccontextmanager
async def serve_probes(listen: str, probes: Probes) -> AsyncIterator[str]:
    """Answer probes inside the context; yield the real address.

    Parameters
    ----------
    listen
        HOST:PORT; empty to answer nowhere.

    Raises
    ------
    SettingsError
        The text is not an address, or the process cannot listen there.
    """
    if not listen:
        yield ""
        return

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.begin()
        try:
            if request.path == "/metrics":
                await probes.gather()
            return probes.answer(request)
        finally:
            connection.end()

    listener = Listener(handle, ConnectionLimits(connections=64, finish=1))
    real = str(await listen_at("--health-listen", listen, listener.start))
    log.info("answering probes", extra={"address": real})
    try:
        yield real
    finally:
        await listener.stop()


def _probe_response(problem: str | None) -> web.Response:
    return text_response(503, problem) if problem else web.Response(text="ok\n")
