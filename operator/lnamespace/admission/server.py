"""The HTTPS server of the webhook, with bounds on everything that a client can make big or slow.

The API server does not authenticate itself to a webhook, so that every client that reaches the port
is answered. The server bounds the memory and the time that such a client costs; an endpoint is an
async function from bytes to bytes.
"""

import asyncio
import gc
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from lnamespace.admission import caller
from lnamespace.errors import ReviewError
from lnamespace.http.exchange import Exchange
from lnamespace.http.limits import ServerLimits
from lnamespace.http.messages import HttpRequest
from lnamespace.http.server import HttpServer
from lnamespace.kube.media_types import JSON
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.runtime.addresses import Address

log = logging.getLogger(__name__)

_REST = 0.5
"""Seconds, at most, between two large bodies."""

LARGE = 2**18
"""Bytes above which a body waits for its turn, and is refused where memory is short."""


@dataclass(frozen=True)
class Endpoint:
    """A function that answers the requests to one path.

    Parameters
    ----------
    answer
        From the body of a request to the body of its answer. A ReviewError that it raises is sent
        to the client with status 400; any other exception is logged and answered with 500.
    max_bytes
        The largest body that is read.
    """

    path: str
    answer: Callable[[bytes], Awaitable[bytes]]
    max_bytes: int


LIMITS = ServerLimits(
    head=8 * 1024,
    arrive=10,
    connections=512,
    handshakes=256,
    bodies=160 * 1024 * 1024,
    small=LARGE,
)
"""Above the bytes of all bodies large ones are refused. Small ones never are: a client that sends a
few large ones slowly would lock out all others. Connections and handshakes together are fewer than
the 1,024 files that many systems let a process open."""


@dataclass(frozen=True)
class Bounds:
    """The limits of what requests may cost; times in seconds.

    Parameters
    ----------
    turn
        Seconds that a large body waits for the one before it. The API server itself waits no
        longer.
    answer
        Seconds for the endpoint to answer.
    write
        Seconds to send an answer.
    """

    limits: ServerLimits = LIMITS
    turn: float = 5
    answer: float = 30
    write: float = 30


class _Refused(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server:
    """An HTTPS server of the endpoints, from :meth:`start` to the end of :meth:`stop`."""

    def __init__(
        self,
        endpoints: tuple[Endpoint, ...],
        metrics: WebhookMetrics,
        bounds: Bounds = Bounds(),
    ) -> None:
        self._endpoints = {endpoint.path: endpoint for endpoint in endpoints}
        self._metrics = metrics
        self._bounds = bounds
        longest = max(endpoint.max_bytes for endpoint in endpoints)
        self._server = HttpServer(self._handle, replace(bounds.limits, body=longest), self._count)
        self._turn = asyncio.Lock()
        metrics.connections.set_function(lambda: self._server.connections)

    def problem(self) -> str | None:
        """Return why the API server should send no review here now, or None."""
        return "stopping" if self._server.draining else None

    async def start(self, address: Address, context: ssl.SSLContext | None = None) -> Address:
        """Start to listen; return the real address.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        return await self._server.start(address, context)

    def drain(self) -> None:
        """Go on answering, and close every connection after its next answer."""
        self._server.drain()

    async def stop(self) -> None:
        """Accept no more connections, close the idle ones, wait for requests under way."""
        self.drain()
        await self._server.stop()

    async def _handle(self, exchange: Exchange) -> None:
        caller.address.set(exchange.connection.peer)
        exchange.connection.owner = exchange.connection.peer
        path = exchange.request.path
        self._metrics.in_flight.inc()
        try:
            with self._metrics.seconds.labels(self._label(path)).time():
                status, reply = await self._reply(exchange.request)
                exchange.forget_body()
                exchange.connection.release(-len(reply))  # Held instead, until it is sent.
                await self._write(exchange, status, reply)
            self._count(path, status)
        finally:
            self._metrics.in_flight.dec()

    def _label(self, path: str) -> str:
        return path if path in self._endpoints else "other"

    def _count(self, path: str, status: int) -> None:
        self._metrics.requests.labels(self._label(path), status).inc()

    async def _reply(self, request: HttpRequest) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        try:
            return 200, await self._answer(request)
        except _Refused as refused:
            log.warning("refused", extra={"code": refused.status, "reason": str(refused)})
            return refused.status, str(refused).encode() + b"\n"
        except Exception:
            log.exception("no answer")
            return 500, b"the webhook failed; its log says why\n"

    async def _answer(self, request: HttpRequest) -> bytes:
        try:
            return await self._answer_in_turn(self._check(request), request.body)
        except ReviewError as error:
            raise _Refused(400, str(error)) from error

    async def _answer_in_turn(self, endpoint: Endpoint, body: bytes) -> bytes:
        """Return the endpoint's answer; large bodies take turns and give way to small ones."""
        if len(body) <= LARGE:
            return await self._in_time(endpoint, body)
        try:
            async with asyncio.timeout(self._bounds.turn):
                await self._turn.acquire()
        except TimeoutError as error:
            raise _Refused(503, "too much to do; try again") from error
        loop = asyncio.get_running_loop()
        begun = loop.time()
        gc.disable()  # It would search all decoded JSON again and again, which has no cycles.
        try:
            return await self._in_time(endpoint, body)
        finally:
            gc.enable()
            # For four times as long as it took, only small bodies are answered.
            loop.call_later(min(4 * (loop.time() - begun), _REST), self._turn.release)

    async def _in_time(self, endpoint: Endpoint, body: bytes) -> bytes:
        async with asyncio.timeout(self._bounds.answer):
            return await endpoint.answer(body)

    def _check(self, request: HttpRequest) -> Endpoint:
        endpoint = self._endpoints.get(request.path)
        if endpoint is None:
            raise _Refused(404, f"no such path; there are {', '.join(sorted(self._endpoints))}")
        if request.method != "POST":
            raise _Refused(405, "only POST is answered here")
        media_type = request.value("content-type").partition(";")[0].strip().lower()
        if media_type != JSON or request.value("content-encoding"):
            raise _Refused(415, "send a review as Content-Type: application/json, not compressed")
        if len(request.body) > endpoint.max_bytes:
            text = f"the body is larger than the {endpoint.max_bytes} bytes that are read here"
            raise _Refused(413, text)
        return endpoint

    async def _write(self, exchange: Exchange, status: int, reply: bytes) -> None:
        """Send the answer, and cut the connection if the client does not read it in time."""
        exchange.last = status != 200
        kind = JSON if status == 200 else "text/plain; charset=utf-8"
        try:
            async with asyncio.timeout(self._bounds.write):
                await exchange.answer(status, (("Content-Type", kind),), reply)
        except TimeoutError:
            log.warning("cut off", extra={"reason": "the answer is not read"})
            exchange.connection.transport.abort()
