"""The HTTPS server of the webhook, with bounds on everything that a client can make big or slow.

The API server does not authenticate itself to a webhook, so that every client that reaches the port
is answered. The server bounds the memory and the time that such a client costs; an endpoint is an
async function from bytes to bytes.
"""

import asyncio
import gc
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import cast

from aiohttp import web

from lnamespace.admission import caller
from lnamespace.errors import ReviewError
from lnamespace.kube.media_types import JSON
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.runtime.addresses import Address
from lnamespace.runtime.listener import Connection, ConnectionLimits, Listener

log = logging.getLogger(__name__)

_PIECE = 2**18
"""Bytes that are written at a time."""

_REST = 0.5
"""Seconds, at most, between two large bodies."""

LARGE = 2**18
"""Bytes from which on a body waits for its turn, and is refused where memory is short."""


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


@dataclass(frozen=True)
class Bounds:
    """The limits of what requests may cost; times in seconds.

    Parameters
    ----------
    body
        Seconds to read a body.
    turn
        Seconds that a large body waits for the one before it. The API server itself waits no
        longer.
    answer
        Seconds for the endpoint to answer.
    write
        Seconds to send an answer.
    held_bytes
        The most bytes of all bodies that are read or answered, and of all answers that are sent.
        Above it large bodies are refused. Small ones never are: a client that sends a few large
        ones slowly would lock out all others.
    """

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    body: float = 10
    turn: float = 5
    answer: float = 30
    write: float = 30
    held_bytes: int = 160 * 2**20


class _Refused(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class _Reply:
    """An answer: JSON to a review, plain text to anything else."""

    status: int
    body: bytes
    content_type: str = JSON

    @classmethod
    def text(cls, status: int, text: str) -> "_Reply":
        return cls(status, text.encode() + b"\n", "text/plain; charset=utf-8")


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
        self._listener = Listener(self._handle, bounds.limits, metrics.connections.set)
        self._held = 0
        self._turn = asyncio.Lock()
        self._draining = False

    def problem(self) -> str | None:
        """Return why the API server should send no review here now, or None."""
        if self._draining:
            return "stopping"
        return None if self._listener.accepting else "not listening"

    async def start(self, address: Address, context: ssl.SSLContext | None = None) -> Address:
        """Start to listen; return the real address.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        return await self._listener.start(address, context)

    def drain(self) -> None:
        """Go on answering, and close every connection after its next answer."""
        self._draining = True

    async def stop(self) -> None:
        """Accept no more connections, close the idle ones, wait for requests under way."""
        self.drain()
        await self._listener.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.begin()
        caller.address.set(connection.peer)
        endpoint = request.path if request.path in self._endpoints else "other"
        self._metrics.in_flight.inc()
        try:
            with self._metrics.seconds.labels(endpoint).time():
                reply = await self._reply(request)
                with self._holding(reply.body):
                    response = await self._write(request, reply)
            self._metrics.requests.labels(endpoint, reply.status).inc()
            return response
        finally:
            self._metrics.in_flight.dec()
            connection.end()

    @contextmanager
    def _holding(self, answer: bytes) -> Iterator[None]:
        self._held += len(answer)
        try:
            yield
        finally:
            self._held -= len(answer)

    async def _reply(self, request: web.BaseRequest) -> _Reply:
        try:
            return _Reply(200, await self._answer(request))
        except _Refused as refused:
            log.warning("refused", extra={"code": refused.status, "reason": str(refused)})
            return _Reply.text(refused.status, str(refused))
        except ConnectionError:
            raise
        except Exception:
            log.exception("no answer")
            return _Reply.text(500, "the webhook failed; its log says why")

    async def _answer(self, request: web.BaseRequest) -> bytes:
        endpoint = self._check(request)
        counted = BytesIO()
        try:
            await self._read(request, endpoint.max_bytes, counted)
            cast(Connection, request.protocol).complete()
            return await self._answer_in_turn(endpoint, counted.getvalue())
        except ReviewError as error:
            raise _Refused(400, str(error)) from error
        finally:
            self._held -= counted.tell()

    async def _answer_in_turn(self, endpoint: Endpoint, body: bytes) -> bytes:
        """Return the endpoint's answer; large bodies take turns and give way to small ones."""
        if len(body) < LARGE:
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

    def _check(self, request: web.BaseRequest) -> Endpoint:
        endpoint = self._endpoints.get(request.path)
        if endpoint is None:
            raise _Refused(404, f"no such path; there are {', '.join(sorted(self._endpoints))}")
        if request.method != "POST":
            raise _Refused(405, "only POST is answered here")
        if request.content_type != JSON or "Content-Encoding" in request.headers:
            raise _Refused(415, "send a review as Content-Type: application/json, not compressed")
        if (request.content_length or 0) > endpoint.max_bytes:
            raise _too_large(endpoint.max_bytes)
        return endpoint

    async def _read(self, request: web.BaseRequest, limit: int, body: BytesIO) -> None:
        """Read the body and count its bytes as held; the caller gives them back."""
        try:
            async with asyncio.timeout(self._bounds.body):
                async for chunk in request.content.iter_any():
                    self._held += len(chunk)
                    body.write(chunk)
                    if body.tell() > limit:
                        raise _too_large(limit)
                    if body.tell() >= LARGE and self._held > self._bounds.held_bytes:
                        raise _Refused(503, "too much to do; try again")
        except TimeoutError as error:
            raise _Refused(408, "the body did not arrive in time") from error
        except (web.RequestPayloadError, ValueError) as error:
            raise _Refused(400, "the body is not as its headers say") from error

    async def _write(self, request: web.BaseRequest, reply: _Reply) -> web.StreamResponse:
        """Send the answer in pieces, and cut the connection if the client does not read it in time.

        aiohttp itself would wait for a slow reader for ever, and asyncio's TLS transport notices
        that nobody reads only between two writes.
        """
        headers = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body))}
        response = web.StreamResponse(status=reply.status, headers=headers)
        if self._draining or reply.status != 200:
            response.force_close()
        try:
            async with asyncio.timeout(self._bounds.write):
                await response.prepare(request)
                for start in range(0, len(reply.body), _PIECE):
                    await response.write(reply.body[start : start + _PIECE])
                await response.write_eof()
        except TimeoutError:
            log.warning("cut off", extra={"reason": "the answer is not read"})
            if request.transport:
                request.transport.abort()
        return response


def _too_large(limit: int) -> _Refused:
    return _Refused(413, f"the body is larger than the {limit} bytes that are read here")
