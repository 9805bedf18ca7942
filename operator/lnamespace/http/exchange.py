"""One request of a client, and the means to answer it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from lnamespace.http.flow import Chunks, WriteGate
from lnamespace.http.messages import Headers, HttpRequest, encode_response_head

if TYPE_CHECKING:  # only the gateway needs the library
    from lnamespace.http.websocket import WebSocket

_LONG = 64 * 1024
WITHOUT_BODY = frozenset({204, 304})
"""Statuses whose answers end with their head (RFC 9112, 6.3), as the API server's 204 to a request
for the log of a pod that has not started: chunks after it are taken for the next answer."""


class RequestConnection(Protocol):
    """The connection that a request came by.

    Parameters
    ----------
    peer
        The address of the client.
    server_name
        The server name of the TLS handshake (SNI); empty without one.
    certificate
        The DER of the client's certificate, checked by TLS; empty without one.
    owner
        The tenant or caller of the last request; empty before it is known.
    """

    transport: asyncio.Transport
    gate: WriteGate
    owner: str
    peer: str
    server_name: str
    certificate: bytes

    @property
    def draining(self) -> bool:
        """Return whether the connection is to be closed after its next answer."""

    async def write(self, data: bytes) -> None:
        """Write, and wait while the client reads too slowly."""

    async def switch(self, head: bytes) -> tuple[asyncio.Transport, Chunks]:
        """Stop parsing HTTP: data from now on is passed on unchanged."""

    def release(self, size: int) -> None:
        """Stop counting ``size`` bytes of bodies."""


class Exchange:
    """One request of a client, and the means to answer it once."""

    def __init__(self, request: HttpRequest, connection: RequestConnection) -> None:
        self.request = request
        self.connection = connection
        self.status = 0
        """The status that was answered; 0 before."""
        self.streamed = False
        self.last = False
        """Whether the connection is closed after the answer."""
        self.verb = ""
        """The verb of the request; empty before it is known."""
        self.created = b""
        """The created object, as JSON in tenant spelling."""
        self.on_stream: Callable[[], object] | None = None
        """Called when an answer begins whose length is not known."""
        self.websocket: WebSocket | None = None
        """Takes the parts of an answer of unknown length; None if they are parts of its body."""

    @property
    def answered(self) -> bool:
        """Return whether an answer has begun."""
        return self.status != 0

    @property
    def _ends_with_head(self) -> bool:
        return self.request.method == "HEAD" or self.status in WITHOUT_BODY

    async def answer(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Send a whole answer."""
        self.status = status
        sized = (*headers, ("Content-Length", str(len(body))), *self._ending())
        head = encode_response_head(status, sized)
        if self.request.method == "HEAD":
            body = b""
        # One write, unless that would copy a long body.
        for part in (head, body) if len(body) > _LONG else (head + body,):
            await self.connection.write(part)

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Begin an answer whose length is not known."""
        if self.websocket:
            _, sent = await self.switch(self.websocket.head)
            self.websocket.follow(self.connection, sent)
            return
        self.status, self.streamed = status, True
        self.forget_body()
        self.last = self.last or not self.request.chunks
        ends = self._ending()
        if self.request.chunks and not self._ends_with_head:
            ends = (*ends, ("Transfer-Encoding", "chunked"))
        self._notify_stream()
        await self.connection.write(encode_response_head(status, (*headers, *ends)))

    async def send(self, data: bytes) -> None:
        """Send a part of an answer that was started."""
        if self.websocket:
            await self.websocket.send(self.connection, data)
        elif data and not self._ends_with_head:
            chunks = self.request.chunks
            await self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if chunks else data)

    async def end(self) -> None:
        """End an answer that was started."""
        if self.websocket:
            await self.websocket.close(self.connection)
        elif self.request.chunks and not self._ends_with_head:
            await self.connection.write(b"0\r\n\r\n")

    async def switch(self, head: bytes) -> tuple[asyncio.Transport, Chunks]:
        """Answer 101 and return the connection's transport and what the client sends from now."""
        self.status, self.streamed = 101, True
        self.forget_body()
        self._notify_stream()
        return await self.connection.switch(head)

    def _ending(self) -> Headers:
        """Return the header that announces the end of the connection, if this is its end."""
        self.last = self.last or self.connection.draining
        return (("Connection", "close"),) if self.last else ()

    def _notify_stream(self) -> None:
        if self.on_stream:
            self.on_stream()

    def forget_body(self) -> None:
        """Drop the body of the request, whose memory counts against the limit of all clients."""
        size = len(self.request.body)
        self.request = replace(self.request, body=b"")
        self.connection.release(size)


Handler = Callable[[Exchange], Awaitable[None]]
