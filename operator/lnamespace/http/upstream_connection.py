"""One connection to the platform's API server, and its present answer."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol, cast

import httptools

from lnamespace.errors import Unreachable
from lnamespace.http.flow import PART, Chunks, WriteGate
from lnamespace.http.messages import HEADER_SIZE, Headers
from lnamespace.kube.sockets import API_SERVER, keep_alive

_MOST_HEAD = 1024 * 1024
"""Bytes of memory for the headers of an answer. A pod chooses them through the API server's proxy,
which passes on ten megabytes."""


class ConnectionPool(Protocol):
    """The pool of a connection."""

    def put_back(self, connection: "UpstreamConnection") -> None:
        """Keep a connection for the next request."""

    def lost(self, connection: "UpstreamConnection") -> None:
        """Remove a connection that is closed."""


class UpstreamResponse:
    """An answer whose head has arrived."""

    def __init__(self, connection: "UpstreamConnection", status: int, headers: Headers) -> None:
        self._connection = connection
        self._chunks = connection.chunks
        self._closed = False
        self._body: bytes | None = None
        self.status = status
        self.headers = headers

    def value(self, name: str) -> str:
        """Return the first value of a header; empty without one."""
        return next((value for key, value in self.headers if key == name), "")

    async def take(self) -> bytes:
        """Return what has arrived of the body; empty at its end.

        Raises
        ------
        Unreachable
            The connection broke.
        """
        try:
            data = await self._chunks.take()
        except ConnectionError as error:
            raise Unreachable(str(error)) from error
        if not data:
            self.close()
        return data

    async def read(self, hold: Callable[[int], None] | None = None) -> bytes:
        """Return the whole body; it may be read again.

        Parameters
        ----------
        hold
            Counts bytes before they are kept; what it raises ends the reading.

        Raises
        ------
        Unreachable
            The connection broke.
        """
        if self._body is None:
            try:
                self._body = await self._read(hold or _uncounted)
            except BaseException:
                # The reader is gone: a connection that is paused would never notice that the API
                # server has closed it, and stay open for ever.
                self.close()
                raise
        return self._body

    async def _read(self, hold: Callable[[int], None]) -> bytes:
        try:
            body = await self._chunks.gather(hold)
        except ConnectionError as error:
            raise Unreachable(str(error)) from error
        self.close()
        return body

    def close(self) -> None:
        """Release the connection, which is reused if the answer has arrived completely.

        Call it once only: afterwards the connection may carry another answer.
        """
        if not self._closed:
            self._closed = True
            self._connection.release()

    @property
    def tunnel(self) -> tuple[asyncio.Transport, Chunks, WriteGate]:
        """Return the connection as it is, after an answer 101."""
        return self._connection.transport, self._chunks, self._connection.gate


def _uncounted(size: int) -> None:
    del size


class UpstreamConnection(asyncio.Protocol):
    """A connection to the API server, for one request at a time."""

    transport: asyncio.Transport
    chunks: Chunks

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self.gate = WriteGate()
        self.since = time.monotonic()
        self.lost = self.last = False
        self._head: asyncio.Future[UpstreamResponse] | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._headers: list[tuple[str, str]] = []
        self._head_size = 0
        self._reusable = self._switched = False
        self._interim = self._writing = False
        self._complete = True
        """Whether nothing is expected from the API server now."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport."""
        self.transport = cast(asyncio.Transport, transport)
        keep_alive(transport.get_extra_info("socket"), API_SERVER)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the task that waits for the answer."""
        self.lost = True
        error = ConnectionResetError(f"connection to the API server lost: {exc}")
        self.gate.fail(error)
        if self._head and not self._head.done():
            self._head.set_exception(error)
        elif hasattr(self, "chunks") and not self.chunks.ended:
            self.chunks.end(None if self._switched else error)
        self._pool.lost(self)
        # Each refers to this one: otherwise an unread answer waits for the garbage collector.
        self._head = self._parser = None

    def pause_writing(self) -> None:
        """Wait before more is written."""
        self.gate.pause()

    def resume_writing(self) -> None:
        """Write on."""
        self.gate.resume()

    async def exchange(self, head: bytes, body: bytes, *, bodiless: bool) -> UpstreamResponse:
        """Send a request; return when the head of the answer has arrived.

        ``bodiless`` is for HEAD, whose answer has no body, whatever its headers say.
        """
        self._parser = httptools.HttpResponseParser(self)
        self._bodiless = bodiless
        self._headers = []
        self._head_size = 0
        self._reusable = self._switched = False
        self._interim = self._complete = self._writing = False
        self.chunks = Chunks(self.transport)
        answered: asyncio.Future[UpstreamResponse] = asyncio.get_running_loop().create_future()
        self._head = answered
        if len(body) > PART:
            await self._write(head, body)
        else:
            self.transport.write(head + body if body else head)
            await self.gate.drain()
        return await answered

    async def _write(self, head: bytes, body: bytes) -> None:
        """Write a long request in parts, between which other tasks may run.

        The API server may answer before it is complete; the rest is then not sent.
        """
        self._writing = True
        self.transport.write(head)
        parts = memoryview(body)
        for start in range(0, len(body), PART):
            if self._complete:
                return
            self.transport.write(parts[start : start + PART])
            await self.gate.drain()
            await asyncio.sleep(0)
        self._writing = False

    def data_received(self, data: bytes) -> None:
        """Parse an answer, or pass on what comes through a tunnel."""
        if self._switched:
            self.chunks.put(data)
            return
        if self._complete or self._parser is None:
            # The next request would take it for its own answer.
            self.transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._switched = True
            if rest := data[upgrade.args[0] :]:
                self.chunks.put(rest)
        except httptools.HttpParserError:
            self.transport.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Append a header; close the connection when there are too many."""
        self._head_size += len(name) + len(value) + HEADER_SIZE
        if self._head_size > _MOST_HEAD:
            raise Unreachable("the headers of an answer are too large")
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Wake the task that waits for the answer, unless it is an interim one (RFC 9110, 15.2).

        A pod can send an interim answer through the API server's proxy: its final answer was then
        read as that to another request.
        """
        if self._parser is None:
            return
        status = self._parser.get_status_code()
        if status == HTTPStatus.SWITCHING_PROTOCOLS:
            self._switched = True
        elif status < HTTPStatus.OK:
            self._interim = True
            self._headers = []
            return
        if self._complete:
            self.transport.abort()
            return
        if self._head and not self._head.done():
            self._head.set_result(UpstreamResponse(self, status, tuple(self._headers)))
        if self._bodiless:
            self.chunks.end()

    def on_body(self, part: bytes) -> None:
        """Append a part of the body."""
        if not self._complete:
            self.chunks.put(part)

    def on_message_complete(self) -> None:
        """Record that the answer is complete."""
        if self._interim:
            self._interim = False
        elif self._parser and not self._switched and not self._complete:
            self._complete = True
            lasts = self._parser.should_keep_alive() and not self.last and not self._writing
            self._reusable = lasts and not self._bodiless
            self.chunks.end()

    def release(self) -> None:
        """Return to the pool, or close if an answer is unread.

        An unread answer may have arrived completely and paused the connection: the next request
        would wait for ever.
        """
        open_ = not self.lost and not self.transport.is_closing()
        if self._reusable and open_ and self.transport.is_reading():
            self._reusable = False
            self._head = None
            self.since = time.monotonic()
            self._pool.put_back(self)
        elif self._head is not None:
            self.transport.abort()
