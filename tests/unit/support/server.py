"""An API server for one test, on loopback: the test answers each request itself.

So a test reads as the dialogue that it is about, and nothing in it depends on time.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from kubernetes.aio.client import Configuration
from lnamespace.kube.client import Client

DEADLINE = 30.0
"""Seconds after which something that should have happened did not."""


class Exchange:
    """One request that came in, and its answer."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self._request = request
        self.body = body
        self._stream: web.StreamResponse | None = None
        self.finished: asyncio.Future[web.StreamResponse] = asyncio.Future()
        self.method = request.method
        self.path = request.raw_path.partition("?")[0]
        self.query = dict(request.query)
        self.headers = request.headers

    @property
    def json(self) -> Any:
        """Return what was sent."""
        return json.loads(self.body)

    def answer(
        self, body: Any = None, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with JSON, or with bytes just as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.finished.set_result(web.Response(body=raw, status=status, headers=headers))

    def refuse(self, status: int, reason: str = "", **parts: Any) -> None:
        """Answer as the API server does when it refuses."""
        self.answer(failure(status, reason, **parts), status)

    async def send(self, *pieces: bytes | Mapping[str, Any], **headers: str) -> None:
        """Send pieces of a watch, each on its own; a dict is an event on its line."""
        for piece in pieces:
            raw = piece if isinstance(piece, bytes) else json.dumps(piece).encode() + b"\n"
            await (await self._begun(headers)).write(raw)
            # Let the client read what there is before more is sent.
            await asyncio.sleep(0)

    async def end(self) -> None:
        """End a watch as the API server does when its time is over."""
        self.finished.set_result(await self._begun())

    def cut(self) -> None:
        """Cut the connection."""
        assert self._request.transport
        self._request.transport.abort()
        self.finished.cancel()

    async def _begun(self, headers: Mapping[str, str] | None = None) -> web.StreamResponse:
        if self._stream is None:
            told = {"Content-Type": "application/json", **(headers or {})}
            self._stream = web.StreamResponse(headers=told)
            await self._stream.prepare(self._request)
        return self._stream


class Server:
    """The requests that came in and have not been answered yet, in order."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[Exchange] = asyncio.Queue()
        self.url = ""

    async def next(self, method: str = "", **query: str | None) -> Exchange:
        """Return the next request; it must be as said; None: this must not be in its query."""
        async with asyncio.timeout(DEADLINE):
            exchange = await self.arrived.get()
        if method:
            assert exchange.method == method
        assert {key: exchange.query.get(key) for key in query} == query
        return exchange

    async def handle(self, request: web.Request) -> web.StreamResponse:
        exchange = Exchange(request, await request.read())
        self.arrived.put_nowait(exchange)
        return await exchange.finished


@asynccontextmanager
async def listening(app: web.Application, *, cancelling: bool = True) -> AsyncIterator[str]:
    """Serve an application on loopback for as long as the block lasts; yield its URL.

    Without ``cancelling``, a request is carried out though its connection was cut.
    """
    runner = web.AppRunner(
        app, shutdown_timeout=0, access_log=None, handler_cancellation=cancelling
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """Yield a server that listens for as long as the block lasts."""
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    async with listening(app) as server.url:
        yield server


def client_of(url: str, **parts: Any) -> Client:
    """Return a client of the server, not authenticated unless said."""
    configuration = Configuration()
    configuration.host = url
    for name, value in parts.items():
        setattr(configuration, name, value)
    return Client(configuration)


def failure(code: int, reason: str = "", message: str = "refused", **details: Any) -> Any:
    """Return a Status object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }
