"""The listener: the connections of all clients, and their limits together."""

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from heapq import nsmallest

from lnamespace.http.accepting import Acceptor
from lnamespace.http.connection import ClientConnection
from lnamespace.http.exchange import Handler
from lnamespace.http.limits import ServerLimits
from lnamespace.runtime.addresses import Address


class HttpServer:
    """A server, at one address or several, that gives every request to a handler.

    Parameters
    ----------
    refused
        Called with the path, as far as it is known, and the status of what is refused before.
    pause
        Returns the seconds before more of an owner's body is read, after so many bytes of it.
    """

    def __init__(
        self,
        handler: Handler,
        limits: ServerLimits | None = None,
        refused: Callable[[str, int], None] = lambda _path, _status: None,
        pause: Callable[[str, int], float] = lambda _owner, _size: 0.0,
    ) -> None:
        self.handler = handler
        self.refused = refused
        self.pause = pause
        self.limits = limits or ServerLimits()
        self.draining = False
        self._open: set[ClientConnection] = set()
        self._held = 0
        self._acceptors: list[Acceptor] = []
        self._sweeper: asyncio.Task[None] | None = None

    async def start(
        self, address: Address, context: ssl.SSLContext | None = None, *, shared: bool = False
    ) -> Address:
        """Start to listen at an address, alone or beside other processes; return the real one.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        acceptor = Acceptor(lambda: ClientConnection(self), self.limits)
        real = await acceptor.start(address, context, shared=shared)
        self._acceptors.append(acceptor)
        self._sweeper = self._sweeper or asyncio.create_task(self._sweep())
        return real

    def drain(self) -> None:
        """Go on answering, and close every connection after its next answer."""
        self.draining = True

    async def stop(self) -> None:
        """Accept no more, wait a while for requests under way, and close the other connections."""
        if self._sweeper is None:
            return
        for acceptor in self._acceptors:
            acceptor.close()
        busy = [each.task for each in self._open if each.task]
        for connection in [each for each in self._open if each.idle]:
            connection.transport.abort()
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
        """Add a new connection; over the limit, close those that have been idle for longest.

        Several are closed at once, because a scan of all takes milliseconds. They belong to the
        owner with the most idle connections: a tenant that opens thousands loses its own.
        """
        self._open.add(connection)
        excess = len(self._open) - self.limits.connections
        if excess <= 0:
            return
        resting: dict[str, list[ClientConnection]] = {}
        for each in self._open:
            if each.idle and each is not connection:
                resting.setdefault(each.owner, []).append(each)
        most = max(resting.values(), key=len, default=[connection])
        room = max(excess, self.limits.connections // 100)
        for victim in nsmallest(room, most, key=lambda each: each.since):
            victim.transport.abort()
            self.closed(victim)

    def closed(self, connection: ClientConnection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self.release(connection, connection.held)

    def hold(self, connection: ClientConnection, size: int) -> bool:
        """Count a part of a body; return whether there is room for it.

        Over the limit, the connection whose body has been arriving for longest is closed: a client
        that sends many slowly, before it is authenticated, does not block the others.
        """
        while self._held + size > self.limits.bodies and connection.held + size > self.limits.small:
            arriving = [
                each
                for each in self._open
                if each.arriving and each.held > self.limits.small and each is not connection
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
        """Stop counting ``size`` bytes of a connection's bodies."""
        self._held -= size
        connection.held -= size

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1)
            now = time.monotonic()
            for connection in [each for each in self._open if each.overdue(now)]:
                connection.transport.abort()
