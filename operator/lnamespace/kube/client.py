"""One request to the API server, one answer, typed errors.

The official client reads the configuration, authenticates and makes the TLS context; what goes
over the wire is JSON in bytes, for its models cost ten times what the rest of a request does.
"""

import asyncio
import copy
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
from kubernetes.aio import config
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from yarl import URL

from lnamespace import errors
from lnamespace.kube.answers import does_not_apply, error_of
from lnamespace.kube.media_types import JSON, JSON_PATCH, MERGE_PATCH, METADATA_LIST
from lnamespace.kube.sockets import API_SERVER, keep_alive

FIELD_MANAGER = "lnamespace"

_TIMEOUT = aiohttp.ClientTimeout(total=30, sock_connect=5)
_READ_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=5, sock_read=30)
"""For reads, the longest pause between two chunks: a page of a list may be large, and the network
slow. The API server itself gives up after 60 s."""
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=90)
"""A watch that is silent for longer has lost its connection: the API server was asked to end the
watch before."""


@dataclass(frozen=True)
class ApiServerAddress:
    """The address of the API server, and how a connection to it is secured."""

    host: str
    port: int
    context: ssl.SSLContext | None
    server_name: str = ""
    certified: bool = False
    """Whether each connection shows a client certificate, and so who we are."""


Fence = Callable[[], float]
"""A function that returns the seconds that a write may take; raises if none may be sent."""

OnRequest = Callable[[str, str, int, float], None]
"""Called for each request: method, path, HTTP status (0: no answer), seconds to the answer."""

_AS_US = {"fieldManager": FIELD_MANAGER}
_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    params: Mapping[str, str]
    body: bytes | None = None
    content_type: str = JSON
    limits: aiohttp.ClientTimeout = _TIMEOUT
    accept: str = JSON
    longest: int | None = None


class _InFlight:
    """Requests that go on to their end, also when their callers are cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[bytes]] = set()

    async def finish(self, request: Coroutine[Any, Any, bytes]) -> bytes:
        """Wait for a request; if the caller is cancelled, the request is not."""
        task = asyncio.create_task(request)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return await asyncio.shield(task)

    async def ended(self) -> None:
        """Wait until no request is under way; each ends by its own time-out at the latest."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _end(self, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # There may be no caller left to whom it could be raised.


class Client:
    """A connection to one API server. Close it, or use :func:`connect`."""

    def __init__(self, configuration: Configuration) -> None:
        rest = RESTClientObject(configuration)
        self._configuration = configuration
        self.fence: Fence | None = None
        self.on_request: OnRequest | None = None
        self._writes = _InFlight()
        self._server = configuration.host.rstrip("/")
        self._context: ssl.SSLContext | None = rest.ssl_context
        self._options: dict[str, Any] = {
            "server_hostname": configuration.tls_server_name or None,
            "proxy": rest.proxy,
            "proxy_headers": rest.proxy_headers,
        }
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=rest.ssl_context, limit=0, keepalive_timeout=60, socket_factory=_make_socket
            ),
            headers={"User-Agent": "lnamespace", "Accept": JSON},
            auto_decompress=True,
            read_bufsize=2**20,
            trace_configs=[_fenced_once_connected()],
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    def fenced(self, fence: Fence) -> Self:
        """Return the same connection for a process that may lose the right to write.

        ``fence`` is called before each write and returns the seconds that it may take, or raises.
        A write that was sent goes on when its caller is cancelled: see :meth:`wait_for_writes`.
        """
        twin = copy.copy(self)
        twin.fence = fence
        return twin

    def address(self) -> ApiServerAddress:
        """Return where the API server is."""
        url = URL(self._server)
        secured = self._context if url.scheme == "https" else None
        name = str(self._options["server_hostname"] or "")
        certified = bool(self._configuration.cert_file)
        return ApiServerAddress(url.host or "", url.port or 443, secured, name, certified)

    async def token(self) -> str:
        """Return the header Authorization of a request; empty with a client certificate.

        Raises
        ------
        Unauthenticated
            There is no token, and there should be one.
        """
        try:
            found = await self._configuration.get_api_key_with_prefix("BearerToken")
        except (config.ConfigException, OSError) as error:
            raise errors.Unauthenticated(f"no token: {error}") from error
        return str(found or "")

    def counted(self, on_request: OnRequest) -> Self:
        """Return the same connection for a process that counts its requests."""
        twin = copy.copy(self)
        twin.on_request = on_request
        return twin

    async def wait_for_writes(self) -> None:
        """Wait until no fenced write is under way.

        The API server may carry out a write all the same whose connection was cut, perhaps after
        another process has begun to lead.
        """
        await self._writes.ended()

    async def get(self, path: str, *, longest: int | None = None, **params: str) -> bytes:
        """Read an object or a list.

        Raises
        ------
        TooLarge
            The answer has more bytes than ``longest``; it is not read on.
        """
        request = _Request("GET", path, params, limits=_READ_TIMEOUT, longest=longest)
        return await self._answer(request)

    async def list_metadata(self, path: str, *, longest: int | None = None, **params: str) -> bytes:
        """Read a page of a list as :meth:`get` does, of whose objects only the metadata is sent."""
        request = _Request(
            "GET", path, params, limits=_READ_TIMEOUT, accept=METADATA_LIST, longest=longest
        )
        return await self._answer(request)

    async def create(self, path: str, body: bytes, *, dry_run: bool = False) -> bytes:
        """Create an object in a collection.

        With ``dry_run``, nothing is stored, and unknown fields are refused.
        """
        params = _AS_US | (_DRY_RUN if dry_run else {})
        return await self._answer(_Request("POST", path, params, body))

    async def patch(self, path: str, body: bytes) -> bytes:
        """Change an object by a JSON merge patch (RFC 7386)."""
        return await self._answer(_Request("PATCH", path, _AS_US, body, MERGE_PATCH))

    async def patch_json(self, path: str, operations: Sequence[Mapping[str, Any]]) -> bytes:
        """Change an object by a JSON patch (RFC 6902), all of it or nothing.

        An operation ``test`` is a precondition that also holds on ``/status``: there the API
        server takes nothing but the status out of a merge patch, and ignores its ``metadata``.

        Raises
        ------
        Conflict
            A ``test`` fails, or an operation names a value that does not exist.
        """
        body = msgspec.json.encode(operations)
        return await self._answer(_Request("PATCH", path, _AS_US, body, JSON_PATCH))

    async def delete(self, path: str, uid: str, version: int = 0) -> bytes:
        """Delete an object if it still has that UID; with a version, if it is unchanged."""
        preconditions = {"uid": uid} | ({"resourceVersion": str(version)} if version else {})
        body = msgspec.json.encode({"preconditions": preconditions})
        return await self._answer(_Request("DELETE", path, {}, body))

    @asynccontextmanager
    async def watch(self, path: str, **params: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; yields its events as lines of JSON.

        Raises
        ------
        ClusterError
            The watch fails, perhaps while its lines are read.
        """
        query = params | {"watch": "true", "allowWatchBookmarks": "true"}
        request = _Request("GET", path, query, limits=_WATCH_TIMEOUT)
        try:
            async with await self._send(request) as response:
                if response.status != 200:
                    retry_after = response.headers.get("Retry-After", "")
                    raise error_of(response.status, await response.read(), retry_after)
                yield _lines(response.content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.Unreachable(f"watch interrupted: {error!r}") from error

    async def _answer(self, request: _Request) -> bytes:
        if self.fence and request.method != "GET":
            return await self._writes.finish(self._exchange(request))
        return await self._exchange(request)

    async def _exchange(self, request: _Request) -> bytes:
        try:
            async with await self._send(request) as response:
                answer = await _read(response, request.longest)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"{request.method} {request.path}: {error or type(error).__name__}"
            raise errors.Unreachable(message) from error
        if response.status >= 300:
            if request.content_type == JSON_PATCH and does_not_apply(response.status, answer):
                raise errors.Conflict("not as the patch assumes", status=response.status)
            raise error_of(response.status, answer, response.headers.get("Retry-After", ""))
        return answer

    async def _send(self, request: _Request) -> aiohttp.ClientResponse:
        headers = {"Content-Type": request.content_type} if request.body is not None else {}
        headers["Accept"] = request.accept
        limits = request.limits
        fence = self.fence if request.method != "GET" else None
        if token := await self.token():
            headers["Authorization"] = token
        # Paths are escaped where they are made; parsing them again is a tenth of a request.
        url = URL(f"{self._server}{request.path}?{urlencode(request.params)}", encoded=True)
        if fence:
            limits = aiohttp.ClientTimeout(total=fence(), sock_connect=5)
        started, status = time.perf_counter(), 0
        try:
            response = await self._session.request(
                request.method,
                url,
                data=request.body,
                headers=headers,
                timeout=limits,
                trace_request_ctx=fence,
                **self._options,
            )
            status = response.status
        finally:
            if self.on_request:
                took = time.perf_counter() - started
                self.on_request(request.method, request.path, status, took)
        return response


async def _read(response: aiohttp.ClientResponse, longest: int | None) -> bytes:
    if longest is None:
        return await response.read()
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > longest:
            raise errors.TooLarge(f"an answer of more than {longest} bytes")
        parts.append(part)
    return b"".join(parts)


def _make_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices within half a minute that the other end is gone.

    A watch waits and sends nothing. Without TCP keep-alive, it would not notice that the API
    server's machine is gone until the time-out of a silent watch.
    """
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    keep_alive(made, API_SERVER)
    return made


def _fenced_once_connected() -> aiohttp.TraceConfig:
    """Return hooks that check a request's fence again after it has waited for a new connection.

    The process may have lost its Lease in the meantime.
    """

    async def check(_: object, request: SimpleNamespace, __: object) -> None:
        if request.trace_request_ctx:
            request.trace_request_ctx()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_create_end.append(check)
    return tracing


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split a stream into lines, of whatever length: an object may have a megabyte."""
    rest = b""
    async for chunk in stream.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line
