"""One client's connection: requests in, answers out, one at a time."""

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol, cast

import httptools

from lnamespace.http.arriving import (
    ArrivingRequest,
    UnacceptableRequest,
    headers_too_large,
)
from lnamespace.http.exchange import Exchange, Handler
from lnamespace.http.flow import PART, Chunks, WriteGate
from lnamespace.http.limits import ServerLimits
from lnamespace.http.messages import HttpRequest, encode_response_head
from lnamespace.http.refusals import refusal_of, refusal_of_method
from lnamespace.kube.media_types import JSON
from lnamespace.kube.sockets import CLIENT, has_hung_up, keep_alive
from lnamespace.translate.protocol.status import ApiStatus

log = logging.getLogger(__name__)

_STEP = 8 * 1024
"""Bytes that are parsed before it is checked whether they complete a request: those after it wait
as bytes, which take a tenth of the memory of parsed requests."""
_LINGER = 0.5
"""Seconds that a connection stays open after a refusal, as net/http has it."""


class ServerState(Protocol):
    """The state that all connections of a listener share."""

    limits: ServerLimits
    handler: Handler
    refused: Callable[[str, int], None]
    pause: Callable[[str, int], float]
    draining: bool

    def opened(self, connection: "ClientConnection") -> None:
        """Add a new connection."""

    def closed(self, connection: "ClientConnection") -> None:
        """Remove a connection."""

    def hold(self, connection: "ClientConnection", size: int) -> bool:
        """Count a part of a body; return whether there is room for it."""

    def release(self, connection: "ClientConnection", size: int) -> None:
        """Stop counting ``size`` bytes of a connection's bodies."""


class ClientConnection(asyncio.Protocol):
    """A connection of one client; its requests are answered in their order.

    A request that is no HTTP/1, or exceeds the limits, is answered by a Status, and the connection
    is closed.
    """

    transport: asyncio.Transport

    def __init__(self, server: ServerState) -> None:
        self._server = server
        self._limits = server.limits
        self._parser = httptools.HttpRequestParser(self)
        self.gate = WriteGate()
        self._queue: deque[HttpRequest] = deque()
        self.task: asyncio.Task[None] | None = None
        self._early = bytearray()
        """Data that waits until the present request is answered."""
        self._unparsed = 0
        """Bytes since the parser's last callback: it buffers a header until its end."""
        self._line = b""
        """What has arrived of a request, until the parser has found its target."""
        self.held = 0
        """Bytes of bodies that are counted for this connection."""
        self._tunnel: Chunks | None = None
        self.since = time.monotonic()
        """When the present request began to arrive, or the last one was answered."""
        self.owner = ""
        """The tenant or caller of the last request; empty before it is known."""
        self._refused = False
        """Whether the client was refused, so that further data is dropped."""
        self.peer = self.server_name = ""
        self.certificate = b""
        self._reset()
        self.arriving = True  # Who connects asks at once, or is cut off like a slow sender.

    def _reset(self) -> None:
        self._request = ArrivingRequest(self._limits)
        self.arriving = False

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the peer, its certificate and the server name."""
        self.transport = cast(asyncio.Transport, transport)
        keep_alive(transport.get_extra_info("socket"), CLIENT)
        self.peer = (transport.get_extra_info("peername") or ("",))[0]
        secured: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        if secured:
            self.server_name = cast(str, getattr(secured, "lnamespace_server_name", "")) or ""
            self.certificate = secured.getpeercert(binary_form=True) or b""
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the request that is being answered."""
        del exc
        gone = ConnectionResetError("the client is gone")
        self.gate.fail(gone)
        if self._tunnel:
            self._tunnel.end(gone)
        if self.task:
            self.task.cancel()
        self._server.closed(self)
        # Each of these refers to the connection: without this, garbage keeps the body.
        self.task = None
        self._reset()
        self._queue.clear()
        self._early.clear()
        del self._parser

    def pause_writing(self) -> None:
        """Wait before more is written."""
        self.gate.pause()

    def resume_writing(self) -> None:
        """Write on."""
        self.gate.resume()

    def data_received(self, data: bytes) -> None:
        """Parse what arrives, or keep it while a request is being answered."""
        if self._refused or self.transport.is_closing():
            return  # TLS still reads, and a refused client may go on sending.
        if self._tunnel:
            self._tunnel.put(data)
        elif self.task:
            # An upgraded connection, or a client that sends ahead.
            self._keep(data)
        else:
            self._parse(data)
            if self.arriving and self.owner:
                self._pause(len(data))

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._unparsed = 0
        self._reset()
        self.arriving = True
        self.since = time.monotonic()

    def on_url(self, part: bytes) -> None:
        """Append a part of the request target."""
        self._unparsed = 0
        self._request.add_target(part)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header."""
        self._unparsed = 0
        self._request.add_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer ``Expect: 100-continue``, and refuse any other expectation."""
        self._request.head_complete = True
        if self._request.expects_continue():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        """Append a part of the body."""
        self._unparsed = 0
        self._request.add_body(part)
        if not self._server.hold(self, len(part)):
            why = "too many bodies are arriving; try again"
            raise UnacceptableRequest(503, "ServiceUnavailable", why)

    def on_message_complete(self) -> None:
        """Queue the request; start to answer if none is being answered."""
        self.arriving = False
        method, version = self._parser.get_method(), self._parser.get_http_version()
        upgrade = self._parser.should_upgrade()
        self._queue.append(
            self._request.complete(method.decode("latin-1"), version, upgrade=upgrade)
        )
        self._reset()
        if self.task is None:
            self.task = asyncio.create_task(self._work())

    # The rest.

    def _confirm_progress(self) -> None:
        if self._unparsed > self._limits.head:
            raise headers_too_large()

    def _pause(self, size: int) -> None:
        """Read nothing for a while, if the owner of the connection uses much."""
        if seconds := self._server.pause(self.owner, size):
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(seconds, self.transport.resume_reading)

    def _keep(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > self._limits.head:
            self.transport.pause_reading()

    def _parse(self, data: bytes) -> None:
        """Parse data until a request is complete, and keep the rest."""
        for start in range(0, len(data), _STEP):
            if self._refused:
                return
            if self.task:
                self._keep(data[start:])
                return
            self._feed(data[start : start + _STEP])

    def _feed(self, data: bytes) -> None:
        self._unparsed += len(data)
        more = data if self._line else data.lstrip(b"\r\n")  # which the parser skips too
        self._line += more
        try:
            self._parser.feed_data(data)
            self._confirm_progress()
        except httptools.HttpParserUpgrade as upgrade:
            self._early += data[upgrade.args[0] :]
        except httptools.HttpParserInvalidMethodError:
            if status := refusal_of_method(self._line, more):
                self._refuse(status)
        except httptools.HttpParserError as error:
            self._refuse(refusal_of(error))
        except UnacceptableRequest as error:
            self._refuse(error.status)
        if not self.arriving or self._request.head_size:
            self._line = b""

    def _refuse(self, status: ApiStatus) -> None:
        """Answer by a Status, and close when the client has had time to read it.

        A client reads no answer before it has sent its body. If the connection is closed with
        unread data, it is reset, and the answer is lost.
        """
        log.warning("refused", extra={"code": status.code, "reason": status.message})
        self._server.refused(self._request.path, status.code)
        body = status.encode()
        headers = [("Content-Type", JSON), ("Content-Length", str(len(body)))]
        if status.code == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append(("Retry-After", "1"))
        head = encode_response_head(status.code, (*headers, ("Connection", "close")))
        self.transport.write(head + body)
        self._refused = True
        self._reset()
        self.release(self.held)
        asyncio.get_running_loop().call_later(_LINGER, self.transport.close)

    async def _work(self) -> None:
        """Answer the queued requests."""
        while self._queue:
            exchange = Exchange(self._queue.popleft(), self)
            try:
                await self._server.handler(exchange)
            except (ConnectionError, asyncio.CancelledError):
                self.transport.abort()
                raise
            except Exception:
                log.exception("failed")
                self.transport.abort()
                return
            if self._tunnel or exchange.last or not _keeps(exchange.request):
                self.transport.close()
                return
        self.task = None
        self.since = time.monotonic()
        self.release(self.held)
        early, self._early = bytes(self._early), bytearray()
        self._parse(early)
        if not self.transport.is_closing() and len(self._early) <= self._limits.head:
            self.transport.resume_reading()

    async def write(self, data: bytes) -> None:
        """Write, and wait while the client reads too slowly.

        The data are written in parts. Otherwise TLS would keep a second copy of a long answer, and
        a client that reads slowly but steadily would be cut off, because it has a minute for each
        part. Other tasks may run after each.
        """
        if self._refused:
            raise ConnectionAbortedError("what came after this request was refused")
        if len(data) <= PART:
            self.transport.write(data)
            await self.gate.drain()
            return
        parts = memoryview(data)
        for start in range(0, len(data), PART):
            self.transport.write(parts[start : start + PART])
            await self.gate.drain()
            await asyncio.sleep(0)

    async def switch(self, head: bytes) -> tuple[asyncio.Transport, Chunks]:
        """Stop parsing HTTP: data from now on is passed on unchanged."""
        self._tunnel = Chunks(self.transport)
        self.transport.resume_reading()  # First: what was sent ahead may be enough to pause again.
        if self._early:
            self._tunnel.put(bytes(self._early))
        self._early.clear()
        await self.write(head)
        return self.transport, self._tunnel

    def release(self, size: int) -> None:
        """Stop counting ``size`` bytes of bodies."""
        self._server.release(self, size)

    def overdue(self, now: float) -> bool:
        """Return whether the client has taken more time than it may."""
        stalled = self.gate.closed_since
        if stalled and now - stalled > self._limits.stalled:
            return True
        if self.task:
            return self._is_abandoned(now)
        return now - self.since > (self._limits.arrive if self.arriving else self._limits.idle)

    def _is_abandoned(self, now: float) -> bool:
        """Return whether the client of a paused tunnel has hung up.

        asyncio notices the end of a connection only by reading. A command that reads no input left
        the connection of a client that was gone open for as long as it ran.
        """
        if not self._tunnel or not self._tunnel.paused_since:
            return False
        # Data that a client sent before its end may still be read.
        waited = now - self._tunnel.paused_since > self._limits.stalled
        return has_hung_up(self.transport.get_extra_info("socket"), also_half=waited)

    @property
    def idle(self) -> bool:
        """Return whether nothing is being answered."""
        return self.task is None

    @property
    def draining(self) -> bool:
        """Return whether the connection is to be closed after its next answer."""
        return self._server.draining


def _keeps(request: HttpRequest) -> bool:
    return request.chunks and "close" not in request.value("connection").lower()
