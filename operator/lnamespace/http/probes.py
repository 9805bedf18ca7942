"""Liveness, readiness and metrics of a process, by plain HTTP on a port of its own."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lnamespace.http.exchange import Exchange
from lnamespace.http.limits import ServerLimits
from lnamespace.http.messages import HttpRequest
from lnamespace.http.server import HttpServer
from lnamespace.runtime.addresses import listen_at

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

    def answer(self, request: HttpRequest) -> tuple[int, bytes]:
        """Return the status and the text for ``/livez``, ``/readyz`` or ``/metrics``."""
        if request.method not in ("GET", "HEAD"):
            return 405, b"only GET is answered here\n"
        match request.path:
            case "/livez":
                return _probe_response(self.dead())
            case "/readyz":
                return _probe_response(self.unready())
            case "/metrics":
                return 200, self.metrics()
        return 404, b"there are /livez, /readyz and /metrics\n"


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

    async def handle(exchange: Exchange) -> None:
        if exchange.request.path == "/metrics":
            await probes.gather()
        status, text = probes.answer(exchange.request)
        await exchange.answer(status, (("Content-Type", _PROMETHEUS),), text)

    server = HttpServer(handle, ServerLimits(body=0, arrive=10, connections=64, finish=1))
    real = str(await listen_at("--health-listen", listen, server.start))
    log.info("answering probes", extra={"address": real})
    try:
        yield real
    finally:
        await server.stop()


def _probe_response(problem: str | None) -> tuple[int, bytes]:
    return (503, problem.encode() + b"\n") if problem else (200, b"ok\n")
