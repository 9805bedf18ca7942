"""A port on which HTTP/1.1 is spoken, where nobody can stay without asking something.

aiohttp reads a request for as long as its sender likes. Here a connection is closed unless
a request's headers are there in time, and there are only so many of them: a newcomer takes the
place of whoever has asked nothing for longest.
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

log = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read HOST:PORT, [HOST]:PORT or :PORT, which is every address of this machine.

        Raises
        ------
        ValueError
            It is none of these.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT, such as 0.0.0.0:8443")
        return cls(host.strip("[]"), int(port))


@dataclass(frozen=True)
class Limits:
    """What a connection may cost; times in seconds.

    ``idle`` is longer than the 90 seconds for which the API server's client keeps an unused
    connection: so it is always the client that closes it, and never while it is being used.
    """

    handshake: float = 10
    headers: float = 10
    idle: float = 120
    finish: float = 10
    connections: int = 512


class Connection(RequestHandler):
    """One connection, closed unless a request's headers arrive in time."""

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
        """Whether no request is under way, nor the first part of one."""
        return not self.busy and self._deadline is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        self.peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.since = self._loop.time()
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Begin to wait for the rest of a request, if this is its first part."""
        if self.idle:
            self._expect()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait no more."""
        self._calm()
        super().connection_lost(exc)

    def begin(self) -> None:
        """A request's headers are there."""
        self._calm()
        self.busy = True

    def complete(self) -> None:
        """The request is there in whole: now it is for us to do something."""
        self.asked = True

    def end(self) -> None:
        """The request has been answered."""
        self.busy = self.asked = False
        self.since = self._loop.time()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is not HTTP; the caller's bytes do not come into our log."""
        del request, exc, message
        log.warning("refused", extra={"code": status, "reason": "not a request of HTTP/1.1"})
        return in_words(status, "this is not a request of HTTP/1.1")

    def _expect(self) -> None:
        self.since = self._loop.time()
        self._deadline = self._loop.call_later(self._patience, self.force_close)

    def _calm(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


class Listener(web.Server):
    """A port and the connections to it."""

    def __init__(
        self, handler: Handler, limits: Limits, counted: Callable[[int], object] = lambda _: None
    ) -> None:
        super().__init__(handler)
        self._limits = limits
        self._counted = counted
        self._open: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._server: asyncio.Server | None = None

    def __call__(self) -> RequestHandler:
        """Make a connection; asyncio calls this."""
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
        """Whether new connections are taken."""
        return self._server is not None and self._server.is_serving()

    async def start(self, address: Address, context: ssl.SSLContext | None = None) -> Address:
        """Listen, by TLS if there is a context; returns the real address.

        Raises
        ------
        OSError
            The address is not ours, or somebody else's.
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
        """Take no more connections, close those that are idle, finish what is under way."""
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
        await self.shutdown(0.1)  # 0 would be for ever

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Count it; if there are too many, one has to go."""
        super().connection_made(handler, transport)
        newcomer = cast(Connection, handler)
        if self._server and not self.accepting:
            transport.abort()  # Its handshake lasted until after the end: nobody is here any more.
            return
        self._open.add(newcomer)
        if len(self._open) > self._limits.connections:
            self._cut(self._dispensable(newcomer))
        self._changed()

    def _dispensable(self, newcomer: Connection) -> Connection:
        """Who has asked nothing for longest, of those at the address that has most connections.

        Whoever opens many drives out their own, not those of the API server.
        """
        crowds = Counter(connection.peer for connection in self._open)
        waiting = [c for c in self._open if not c.asked and crowds[c.peer] >= crowds[newcomer.peer]]
        return min(waiting, key=lambda c: (-crowds[c.peer], c.since))

    def _cut(self, connection: Connection) -> None:
        log.warning("cut off", extra={"reason": "too many connections"})
        self._open.discard(connection)
        if connection.transport:
            connection.transport.abort()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Count it no more."""
        super().connection_lost(handler, exc)
        self._open.discard(cast(Connection, handler))
        self._changed()

    def _changed(self) -> None:
        self._counted(len(self._open))
        if self._open:
            self._empty.clear()
        else:
            self._empty.set()


def in_words(status: int, text: str) -> web.Response:
    """An answer in words; whoever sent what deserves one is not kept."""
    response = web.Response(status=status, text=text + "\n")
    response.force_close()
    return response
