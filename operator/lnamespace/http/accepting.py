"""Accept connections, and bound those whose TLS handshake is not done."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lnamespace.http.limits import ServerLimits
from lnamespace.runtime.addresses import Address

_AT_ONCE = 100
"""Connections that are accepted before others may run."""
_PAUSE = 0.2
"""Seconds until the next try, if the system has no room for a further connection."""
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

log = logging.getLogger(__name__)


class Acceptor:
    """A task that accepts the connections to one address.

    asyncio's own server reports a connection only after its handshake. A client that opened
    thousands and sent nothing was not counted, and used up the file descriptors for the API server.
    Here one handshake too many ends the oldest one.
    """

    def __init__(
        self, protocol_factory: Callable[[], asyncio.Protocol], limits: ServerLimits
    ) -> None:
        self._protocol_factory = protocol_factory
        self._limits = limits
        self._tls: dict[str, Any] = {}
        self._sockets: list[socket.socket] = []
        self._beginning: dict[asyncio.Task[None], None] = {}
        self._resuming: asyncio.TimerHandle | None = None

    @property
    def beginning(self) -> int:
        """Return the number of connections whose handshake is not done."""
        return len(self._beginning)

    async def start(
        self, address: Address, context: ssl.SSLContext | None, *, shared: bool = False
    ) -> Address:
        """Start to accept; return the real address.

        Parameters
        ----------
        shared
            Whether other processes accept there too, and the system spreads connections.

        Raises
        ------
        OSError
            The address is not this machine's, or in use.
        """
        if context:
            handshake, shutdown = self._limits.handshake, self._limits.shutdown
            self._tls = {"ssl": context, "ssl_handshake_timeout": handshake}
            self._tls["ssl_shutdown_timeout"] = shutdown
        loop = asyncio.get_running_loop()
        # This server binds all addresses of a name, and never accepts.
        bound = await loop.create_server(
            self._protocol_factory,
            address.host or None,
            address.port,
            start_serving=False,
            reuse_port=shared or None,
        )
        self._sockets = [each.dup() for each in bound.sockets]
        bound.close()
        for each in self._sockets:
            each.setblocking(False)
            each.listen(self._limits.backlog)
        self._listen()
        return Address(*self._sockets[0].getsockname()[:2])

    def close(self) -> None:
        """Accept no more, and end the handshakes."""
        if self._resuming:
            self._resuming.cancel()
        for each in self._sockets:
            asyncio.get_running_loop().remove_reader(each)
            each.close()
        self._sockets = []
        for task in self._beginning:
            task.cancel()

    def _listen(self) -> None:
        self._resuming = None
        for each in self._sockets:
            asyncio.get_running_loop().add_reader(each, self._accept, each)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._pause(error)
                return
            accepted.setblocking(False)
            self._begin(accepted)

    def _pause(self, error: OSError) -> None:
        """Stop accepting for a moment: otherwise the event loop would try without a pause."""
        log.warning("no further connection can be accepted", extra={"error": str(error)})
        loop = asyncio.get_running_loop()
        for each in self._sockets:
            loop.remove_reader(each)
        self._resuming = self._resuming or loop.call_later(_PAUSE, self._listen)

    def _begin(self, accepted: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(self._handshake(accepted))
        self._beginning[task] = None
        task.add_done_callback(lambda done: self._beginning.pop(done, None))
        if len(self._beginning) > self._limits.handshakes:
            oldest = next(iter(self._beginning))
            del self._beginning[oldest]
            oldest.cancel()

    async def _handshake(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            # A client that is gone, speaks no TLS or takes too long gets no answer.
            with suppress(OSError):
                await loop.connect_accepted_socket(self._protocol_factory, accepted, **self._tls)
        except asyncio.CancelledError:
            accepted.close()  # It may not have begun.
            raise
