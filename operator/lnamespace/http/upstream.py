"""A pool of connections to the platform's API server."""

import asyncio
import ssl
import time
from collections.abc import Iterable
from typing import Any

from lnamespace.errors import Unreachable
from lnamespace.http.messages import encode_request_head
from lnamespace.http.upstream_connection import UpstreamConnection, UpstreamResponse
from lnamespace.kube.client import ApiServerAddress

_IDLE = 60.0
"""Seconds after which an unused connection is not used again; the API server closes it later."""
_CONNECT = 10.0
_KEPT = 256


class UpstreamPool:
    """A pool of connections to one API server."""

    def __init__(self, endpoint: ApiServerAddress) -> None:
        self._endpoint = endpoint
        self._free: list[UpstreamConnection] = []
        self._open: set[UpstreamConnection] = set()
        host, port = endpoint.host, endpoint.port
        self.authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def send(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        body: bytes = b"",
        *,
        lasting: bool = False,
    ) -> UpstreamResponse:
        """Send a request; return when the head of the answer has arrived.

        A GET is sent once more where a kept connection turns out to be closed.

        Parameters
        ----------
        lasting
            Whether the answer lasts, as that of a watch: it gets a new connection. Pooled ones are
            for requests that return them: a tenant's watches took all of them, and the requests of
            others each waited for a new handshake.

        Raises
        ------
        Unreachable
            The API server did not answer; a write may have been carried out all the same.
        """
        sized = [("Host", self.authority), *headers]
        if body or method in ("POST", "PUT", "PATCH"):
            sized.append(("Content-Length", str(len(body))))
        head = encode_request_head(method, target, sized)
        # The API server closes it also if the kubelet refuses, and the answer does not say so.
        last = any(name == "upgrade" for name, _ in sized)
        connection = None if last or lasting else self._kept()
        if connection and method in ("GET", "HEAD"):
            try:
                return await connection.exchange(head, body, bodiless=method == "HEAD")
            except ConnectionError:
                connection = None
            except BaseException:
                connection.transport.abort()
                raise
        connection = connection or await self._connect()
        connection.last = last
        try:
            return await connection.exchange(head, body, bodiless=method == "HEAD")
        except ConnectionError as error:
            raise Unreachable(str(error)) from error
        except BaseException:
            connection.transport.abort()
            raise

    def put_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection for the next request."""
        if len(self._free) < _KEPT:
            self._free.append(connection)
        else:
            connection.transport.abort()

    def lost(self, connection: UpstreamConnection) -> None:
        """Remove a connection that is closed."""
        self._open.discard(connection)
        if connection in self._free:
            self._free.remove(connection)

    def close(self) -> None:
        """Close all connections."""
        self._free.clear()
        for connection in list(self._open):
            connection.transport.abort()

    def _kept(self) -> UpstreamConnection | None:
        while self._free:
            connection = self._free.pop()  # The newest; the others expire.
            if time.monotonic() - connection.since < _IDLE and not connection.lost:
                return connection
            connection.transport.abort()
        return None

    async def _connect(self) -> UpstreamConnection:
        endpoint = self._endpoint
        secure: dict[str, Any] = {}
        if endpoint.context:
            secure = {
                "ssl": endpoint.context,
                "server_hostname": endpoint.server_name or endpoint.host,
            }
        try:
            async with asyncio.timeout(_CONNECT):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: UpstreamConnection(self), endpoint.host, endpoint.port, **secure
                )
        except (OSError, TimeoutError, ssl.SSLError) as error:
            raise Unreachable(f"cannot connect to the API server: {error!r}") from error
        self._open.add(connection)
        return connection
