"""The listener: the connections of all clients, and what they may cost together."""

import asyncio
import ssl
import time
from contextlib import suppress
from typing import Any

from lnamespace.gateway.http.connection import ClientConnection
from lnamespace.gateway.http.exchange import Handler
from lnamespace.gateway.http.limits import ServerLimits
from lnamespace.runtime.addresses import Address


class HttpServer:
    """Listen, at one address or several, and hand every request to a handler."""

    def __init__(self, handler: Handler, limits: ServerLimits | None = None) -> None:
        self.handler = handler
        self.limits = limits or ServerLimits()
        self.draining = False
        self._open: set[ClientConnection] = set()
        self._held = 0
        self._servers: list[asyncio.Server] = []
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self, address: Address, context: ssl.SSLContext | None = None) -> Address:
        """Start to listen at an address; return the real one.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        secure: dict[str, Any] = {}
        if context:
            secure = {"ssl": context, "ssl_handshake_timeout": self.limits.handshake}
        server = await asyncio.get_running_loop().create_server(
            lambda: ClientConnection(self),
            address.host or None,
            address.port,
            backlog=1024,
            **secure,
        )
        self._servers.append(server)
        self._sweeper = self._sweeper or asyncio.create_task(self._sweep())
        return Address(*server.sockets[0].getsockname()[:2])

    def drain(self) -> None:
        """Go on answering, and close every connection after its next answer."""
        self.draining = True

    async def stop(self) -> None:
        """Accept no more, let requests under way end for a while, close what is left."""
        if self._sweeper is None:
            return
        for server in self._servers:
            server.close()
        busy = [each.task for each in self._open if each.task]
        if busy:
            await asyncio.wait(busy, timeout=self.limits.finish)
        for connection in list(self._open):
            connection.transport.abort()
        self._sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._sweeper

    @property
    def connections(self) -> int:
        """Return how many connections are open."""
        return len(self._open)

    def opened(self, connection: ClientConnection) -> None:
        """Take a new connection in; one that has been idle for longest makes room for it."""
        self._open.add(connection)
        if len(self._open) > self.limits.connections:
            resting = [each for each in self._open if each.idle and each is not connection]
            victim = min(resting, key=lambda each: each.since, default=connection)
            victim.transport.abort()

    def closed(self, connection: ClientConnection) -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self.release(connection, connection.held)

    def hold(self, connection: ClientConnection, size: int) -> bool:
        """Count a part of a body; return whether there is room for it.

        The body that has been arriving for longest makes room: so whoever sends many slowly, before
        anybody knows who it is, takes nothing from those who send theirs at once.
        """
        while self._held + size > self.limits.bodies:
            arriving = [
                each
                for each in self._open
                if each.arriving and each.held and each is not connection
            ]
            if not arriving:
                return False
            victim = min(arriving, key=lambda each: each.since)
            victim.transport.abort()
            self.closed(victim)
        self._held += size
        connection.held += size
        return True

    def release(self, connection: ClientConnection, size: int) -> None:
        """Count so much of a connection's bodies no longer: nobody needs it any more."""
        self._held -= size
        connection.held -= size

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            for connection in [each for each in self._open if each.overdue(now)]:
                connection.transport.abort()
