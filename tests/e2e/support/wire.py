"""A wire between one of our processes and the API server, on which things go wrong.

A small proxy on loopback. What a test wants to happen to a request is one function from the
request to a :class:`Trouble`; without one all requests pass as they are.
"""

import asyncio
import base64
import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

import yaml
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "date", "server"}
)
"""Of the connection, not of the request."""


@dataclass(frozen=True)
class Call:
    """A request on its way to the API server."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes

    @property
    def writes(self) -> bool:
        """Return whether the request changes anything."""
        return self.method != "GET"

    @property
    def watches(self) -> bool:
        """Return whether the request is a watch, whose answer lasts."""
        return "watch" in self.query

    @property
    def lists(self) -> bool:
        """Return whether the request is for a list, or for a page of one."""
        return "limit" in self.query

    @property
    def name(self) -> str:
        """Return the name of an object to be created; empty for all other requests."""
        if self.method != "POST":
            return ""
        sent = json.loads(self.body)["metadata"]
        return str(sent.get("name") or sent.get("generateName"))

    def about(self, name: str) -> bool:
        """Return whether the request names an object, or sends one of that name."""
        return name in self.path or name.encode() in self.body


class Kind(Enum):
    """The kinds of faults that a request can have."""

    REFUSED = auto()
    """Answered in the API server's stead, with a status."""

    CUT = auto()
    """Never arrives; the connection is cut."""

    LOST = auto()
    """Carried out; the connection is cut before the answer."""

    HALF = auto()
    """Carried out; half of the answer arrives, and then nothing."""

    SILENT = auto()
    """Neither arrives nor is answered, until all is well again."""

    HELD = auto()
    """Arrives and is answered once all is well again."""

    SLOW = auto()
    """Arrives and is answered, each a while later."""

    EXPIRED = auto()
    """A watch that begins well and tells at once that its place is too old."""


@dataclass(frozen=True)
class Trouble:
    """The fault of one request."""

    kind: Kind
    status: int = 500
    reason: str = ""
    seconds: float = 0.0
    """For how long; or what the answer advises to wait."""

    body: bytes | None = None
    """The answer, where it is not the API server's own kind."""

    def __str__(self) -> str:
        return f"{self.kind.name.lower()} {self.status if self.kind is Kind.REFUSED else ''}"


Plan = Callable[[Call], Trouble | None]


def all_well(_: Call) -> Trouble | None:
    """Return None: no request has a fault."""
    return None


def as_sent(call: Call) -> bytes:
    """Return the body as it was sent."""
    return call.body


def every_other(trouble: Trouble, meant: Callable[[Call], bool]) -> Plan:
    """Return a plan: the first request for each object has a fault, then every second one."""
    before: Counter[tuple[str, str]] = Counter()

    def plan(call: Call) -> Trouble | None:
        if not meant(call):
            return None
        key = (call.method, call.path + call.name)
        before[key] += 1
        return trouble if before[key] % 2 else None

    return plan


@dataclass
class Wire:
    """One wire. ``plan`` is asked about each request, and ``wording`` what of it arrives."""

    target: str
    tls: ssl.SSLContext
    address: str = ""
    plan: Plan = all_well
    wording: Callable[[Call], bytes] = as_sent
    met: list[Trouble] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _open: list[web.Request] = field(default_factory=list)
    _well: asyncio.Event = field(default_factory=asyncio.Event)

    def kubeconfig(self, own: Path, folder: Path) -> Path:
        """Return a copy of a kubeconfig that leads through the wire."""
        document = yaml.safe_load(own.read_text())
        for entry in document["clusters"]:
            entry["cluster"] = {"server": self.address}
        path = folder / f"{own.name}-by-wire"
        path.write_text(yaml.safe_dump(document))
        return path

    @contextmanager
    def trouble(self, plan: Plan) -> Iterator[list[Trouble]]:
        """Plan faults while the block runs; yield those that happened."""
        self._do(self._fall_ill())  # Before anything can be held until all is well again.
        start, self.plan = len(self.met), plan
        try:
            yield self.met
        finally:
            self.plan = all_well
            self._do(self._recover())
        assert len(self.met) > start, "nothing went wrong"

    def cut(self) -> None:
        """Cut all requests under way, the watches too."""
        self._do(self._cut())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Forward requests in a thread of its own, while the block runs."""
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        runner = self._do(self._start())
        try:
            yield
        finally:
            self._do(self._cut())
            self._do(self._end(runner))
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _fall_ill(self) -> None:
        self._well.clear()

    async def _recover(self) -> None:
        """Plan no more faults; wait for the decisions under way."""
        self._well.set()

    async def _start(self) -> web.AppRunner:
        connector = TCPConnector(ssl=self.tls, limit=0)
        timeout = ClientTimeout(total=None)
        self._session = ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._carry)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.address = f"http://127.0.0.1:{port}"
        return runner

    async def _end(self, runner: web.AppRunner) -> None:
        await runner.cleanup()
        await self._session.close()

    async def _cut(self) -> None:
        for request in list(self._open):
            _hang_up(request)

    async def _carry(self, request: web.Request) -> web.StreamResponse:
        self._open.append(request)
        try:
            path = request.raw_path.partition("?")[0]
            call = Call(request.method, path, dict(request.query), await request.read())
            trouble = self.plan(call)
            if trouble is None:
                return await self._forward(request, call)
            self.met.append(trouble)
            return await self._spoil(request, call, trouble)
        finally:
            self._open.remove(request)

    async def _spoil(
        self, request: web.Request, call: Call, trouble: Trouble
    ) -> web.StreamResponse:
        match trouble.kind:
            case Kind.REFUSED:
                return _refusal(trouble)
            case Kind.EXPIRED:
                return _expiry()
            case Kind.HELD:
                await self._well.wait()
                return await self._forward(request, call)
            case Kind.SLOW:
                await asyncio.sleep(trouble.seconds)
                return await self._forward(request, call, trouble.seconds)
            case Kind.SILENT:
                await self._well.wait()
            case Kind.LOST:
                # Also if who asked is dead by now.
                await asyncio.shield(self._complete(request, call))
            case Kind.HALF:
                await self._half(request, call)
            case Kind.CUT:
                pass
        _hang_up(request)
        return web.Response()

    def _sent(self, request: web.Request, call: Call) -> Any:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OWN_HEADERS}
        url = URL(self.target + request.raw_path, encoded=True)
        body = self.wording(call) or None
        return self._session.request(call.method, url, data=body, headers=headers)

    async def _forward(
        self, request: web.Request, call: Call, pause: float = 0.0
    ) -> web.StreamResponse:
        async with self._sent(request, call) as answer:
            await asyncio.sleep(pause)
            response = _begun(answer)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    async def _complete(self, request: web.Request, call: Call) -> None:
        async with self._sent(request, call) as answer:
            # A watch has no end to wait for: cut at its beginning, it is lost; held, it is silent.
            if not call.watches:
                await answer.read()

    async def _half(self, request: web.Request, call: Call) -> None:
        async with self._sent(request, call) as answer:
            whole = b"" if call.watches else await answer.read()
            response = _begun(answer)
            response.content_length = len(whole) or None
            await response.prepare(request)
            await response.write(whole[: len(whole) // 2])


def _begun(answer: Any) -> web.StreamResponse:
    headers = {k: v for k, v in answer.headers.items() if k.lower() not in _OWN_HEADERS}
    return web.StreamResponse(status=answer.status, headers=headers)


def _hang_up(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()


def _refusal(trouble: Trouble) -> web.Response:
    advice = {"Retry-After": f"{trouble.seconds:g}"} if trouble.seconds else {}
    body = json.dumps(_status(trouble.status, trouble.reason)).encode()
    return web.Response(status=trouble.status, body=trouble.body or body, headers=advice)


def _expiry() -> web.Response:
    event = {"type": "ERROR", "object": _status(410, "Expired")}
    return web.Response(body=json.dumps(event).encode() + b"\n")


def _status(code: int, reason: str) -> dict[str, Any]:
    kind = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return kind | {"code": code, "reason": reason, "message": "something went wrong on the wire"}


@contextmanager
def wire(kubeconfig: Path) -> Iterator[Wire]:
    """Yield a wire to the API server of a kubeconfig."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    it = Wire(cluster["server"].rstrip("/"), ssl.create_default_context(cadata=authority))
    with it.running():
        yield it
