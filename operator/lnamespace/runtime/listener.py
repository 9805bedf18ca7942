"""An HTTP/1.1 listener with a limit of connections and a deadline for a request's headers.

aiohttp reads a request for as long as its sender takes. This listener closes a connection whose
headers do not arrive in time. Beyond the limit of connections, a new one replaces the one that has
been without a request for longest.
"""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from lnamespace.runtime.addresses import Address

log = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits of what connections may cost; times in seconds.

    Parameters
    ----------
    handshake
        Seconds for the TLS handshake.
    headers
        Seconds from the connection, or from the first byte of a request, to the end of its
        headers.
    idle
        Seconds between two requests: more than the 90 for which the API server's client keeps an
        unused connection. So the client closes it, and never while it sends a request.
    finish
        Seconds for requests that are under way when the listener stops.
    connections
        The most connections that may be open.
    """

    handshake: float = 10
    headers: float = 10
    idle: float = 120
    finish: float = 10
    connections: int = 512


class Connection(RequestHandler):
    """A connection that is closed unless a request's headers arrive in time."""

    __slots__ = ("_deadline", "_patience", "asked", "busy", "peer", "since")

    def __init__(self, manager: web.Server, patience: float, **options: Any) -> None:
        super().__init__(manager, **options)
        self._patience = patience
        self._deadline: asyncio.TimerHandle | None = None
        self.busy = False
        self.asked = False
        self.peer = ""
        self.since = 0.0

    @property
    def idle(self) -> bool:
        """Return whether no request is under way, not even the first bytes of one."""
        return not self.busy and self._deadline is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the deadline for the first request."""
        self.peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.since = self._loop.time()
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Start the deadline for the headers with the first bytes of a request."""
        if self.idle:
            self._start_deadline()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Cancel the deadline."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def begin(self) -> None:
        """Note that a request's headers have arrived."""
        self._cancel_deadline()
        self.busy = True

    def complete(self) -> None:
        """Note that a request has arrived in whole: the connection is not closed for others."""
        self.asked = True

    def end(self) -> None:
        """Note that the request has been answered."""
        self.busy = self.asked = False
        self.since = self._loop.time()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer bytes that are not HTTP; the log shows none of them."""
        del request, exc, message
        log.warning("refused", extra={"code": status, "reason": "not a request of HTTP/1.1"})
        return text_response(status, "this is not a request of HTTP/1.1")

    def _start_deadline(self) -> None:
        self.since = self._loop.time()
        self._deadline = self._loop.call_later(self._patience, self.force_close)

    def _cancel_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class Listener(web.Server):
    """A port that is listened to, and the number of its connections.

    Parameters
    ----------
    on_count
        Called with the number of open connections whenever it may have changed.
    """

    def __init__(
        self,
        handler: Handler,
        limits: ConnectionLimits,
        on_count: Callable[[int], object] = lambda _: None,
    ) -> None:
        super().__init__(handler)
        self._limits = limits
        self._counted = on_count
        self._open: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._server: asyncio.Server | None = None

    def __call__(self) -> RequestHandler:
        """Return a new connection; asyncio calls this."""
        return Connection(
            self,
            self._limits.headers,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._limits.idle,
            lingering_time=2,
            access_log=None,
            auto_decompress=False,
        )

    @property
    def accepting(self) -> bool:
        """Return whether new connections are accepted."""
        return self._server is not None and self._server.is_serving()

    async def start(self, address: Address, context: ssl.SSLContext | None = None) -> Address:
        """Start to listen, with TLS if there is a context; return the real address.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        secure: dict[str, Any] = {}
        if context:
            secure = {
                "ssl": context,
                "ssl_handshake_timeout": self._limits.handshake,
                "ssl_shutdown_timeout": 2,
            }
        self._server = await asyncio.get_running_loop().create_server(
            self, address.host or None, address.port, backlog=1024, **secure
        )
        return Address(*self._server.sockets[0].getsockname()[:2])

    async def stop(self) -> None:
        """Accept no more connections, close the idle ones, wait for requests under way."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._open):
            if connection.idle:
                connection.force_close()
        try:
            async with asyncio.timeout(self._limits.finish):
                await self._empty.wait()
        except TimeoutError:
            log.warning("cut off", extra={"connections": len(self._open)})
        await self.shutdown(0.1)  # aiohttp takes 0 for no time-out

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Count a new connection, and close another if there are too many."""
        super().connection_made(handler, transport)
        newcomer = cast(Connection, handler)
        if self._server and not self.accepting:
            transport.abort()  # Its handshake ended after the listener stopped.
            return
        self._open.add(newcomer)
        if len(self._open) > self._limits.connections:
            self._abort(self._choose_victim(newcomer))
        self._record_count()

    def _choose_victim(self, newcomer: Connection) -> Connection:
        """Return the connection that has been without a request for longest.

        It is one of the address with the most connections: a client that opens many loses its own,
        not those of the API server.
        """
        crowds = Counter(connection.peer for connection in self._open)
        waiting = [c for c in self._open if not c.asked and crowds[c.peer] >= crowds[newcomer.peer]]
        return min(waiting, key=lambda c: (-crowds[c.peer], c.since))

    def _abort(self, connection: Connection) -> None:
        log.warning("cut off", extra={"reason": "too many connections"})
        self._open.discard(connection)
        if connection.transport:
            connection.transport.abort()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Stop counting a connection."""
        super().connection_lost(handler, exc)
        self._open.discard(cast(Connection, handler))
        self._record_count()

    def _record_count(self) -> None:
        self._counted(len(self._open))
        if self._open:
            self._empty.clear()
        else:
            self._empty.set()


def text_response(status: int, text: str) -> web.Response:
    """Return a plain text answer, after which the connection is closed."""
    response = web.Response(status=status, text=text + "\n")
    response.force_close()
    return response
