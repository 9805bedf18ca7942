"""As much of an API server as the publisher needs: an outbox that can be watched, LNamespaces."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web
from lnamespace.ledger.outbox.client import QueuedRecord, decode_queued
from lnamespace.ledger.outbox.record import BillingRecord, manifest
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import Names

from tests.unit.support.server import DEADLINE, failure, listening

GROUP = "/apis/tenancy.loblaw.digital/v1beta1"


class OutboxServer:
    """The records by name; watches are sent all that happens to them."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.lnamespaces: list[LNamespace] = []
        self.lclusters: list[LCluster] | None = None
        """None where there is no such kind."""
        self.namespaces: dict[str, Any] = {"kube-system": {"metadata": {"uid": "this-cluster"}}}
        self.looks: list[str] = []
        self.namespace_looks = 0
        """The names of LNamespaces that were asked for one by one."""
        self.refuse_deletes = 0
        self.refuse_deletes_of: set[str] = set()
        self.refuse_creates_of: set[str] = set()
        self.refuse_looks = 0
        self.url = ""
        self._version = 1
        self._watches: list[asyncio.Queue[dict[str, Any]]] = []
        self._tenant_watches: list[asyncio.Queue[dict[str, Any]]] = []

    def add(self, *records: BillingRecord) -> None:
        """Have records in the outbox."""
        for record in records:
            self._put(json.loads(msgspec.json.encode(manifest(record, Names()))))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds."""
        deadline = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)

    def _put(self, shown: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        meta = shown["metadata"]
        meta |= {"uid": f"uid-{self._version}", "resourceVersion": str(self._version)}
        self.records[meta["name"]] = shown
        self._tell("ADDED", shown)
        return shown

    def _tell(self, kind: str, shown: dict[str, Any]) -> None:
        for watch in self._watches:
            watch.put_nowait({"type": kind, "object": shown})

    @property
    def tenants_watched(self) -> bool:
        """Return whether anybody watches LNamespaces."""
        return bool(self._tenant_watches)

    def end(self, lns: LNamespace) -> None:
        """Have an LNamespace go, and tell whoever watches."""
        self.lnamespaces.remove(lns)
        self._version += 1
        shown = msgspec.to_builtins(lns)
        shown["metadata"]["resourceVersion"] = str(self._version)
        for watch in self._tenant_watches:
            watch.put_nowait({"type": "DELETED", "object": shown})

    def become(self, old: LNamespace, new: LNamespace) -> None:
        """Have another in its place, and tell whoever watches of that one alone."""
        self.lnamespaces.remove(old)
        self.lnamespaces.append(new)
        self._version += 1
        shown = msgspec.to_builtins(new)
        shown["metadata"]["resourceVersion"] = str(self._version)
        for watch in self._tenant_watches:
            watch.put_nowait({"type": "MODIFIED", "object": shown})

    async def list_lnamespaces(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._stream(request, self._tenant_watches, asyncio.Queue())
        meta = {"resourceVersion": str(self._version)}
        items = [msgspec.to_builtins(lns) for lns in self.lnamespaces]
        return web.json_response({"metadata": meta, "items": items})

    async def list_lclusters(self, _: web.Request) -> web.Response:
        if self.lclusters is None:
            return web.json_response(failure(404), status=404)
        items = [msgspec.to_builtins(lcluster) for lcluster in self.lclusters]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})

    async def get_lnamespace(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if self.refuse_looks:
            self.refuse_looks -= 1
            return web.json_response(failure(503), status=503)
        self.looks.append(name)
        for lns in self.lnamespaces:
            if lns.name == name:
                return web.json_response(msgspec.to_builtins(lns))
        return web.json_response(failure(404), status=404)

    def touch(self, name: str) -> None:
        """Have somebody put a label onto a record."""
        self._version += 1
        shown = self.records[name]
        shown["metadata"] |= {"resourceVersion": str(self._version), "labels": {"seen": "yes"}}
        self._tell("MODIFIED", shown)

    async def get_namespace(self, request: web.Request) -> web.Response:
        self.namespace_looks += 1
        found = self.namespaces.get(request.match_info["name"])
        if found is None:
            return web.json_response(failure(404), status=404)
        shown = {"metadata": {"name": request.match_info["name"], **found["metadata"]}}
        return web.json_response(shown)

    def hold(self, name: str, uid: str) -> None:
        """Have the Namespace of an LNamespace that a finalizer holds."""
        self.namespaces[name] = {
            "metadata": {"uid": f"ns-{uid}", "ownerReferences": [{"uid": uid}]}
        }

    async def list_records(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        meta = {"resourceVersion": str(self._version)}
        return web.json_response({"metadata": meta, "items": list(self.records.values())})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        news: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for shown in self.records.values():
            if int(shown["metadata"]["resourceVersion"]) > int(request.query["resourceVersion"]):
                news.put_nowait({"type": "ADDED", "object": shown})
        return await self._stream(request, self._watches, news)

    async def _stream(
        self,
        request: web.Request,
        watches: list[asyncio.Queue[dict[str, Any]]],
        news: asyncio.Queue[dict[str, Any]],
    ) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        watches.append(news)
        while True:
            await stream.write(json.dumps(await news.get()).encode() + b"\n")

    async def create(self, request: web.Request) -> web.Response:
        shown = await request.json()
        if shown["metadata"]["name"] in self.refuse_creates_of:
            return web.json_response(failure(403), status=403)
        if shown["metadata"]["name"] in self.records:
            return web.json_response(failure(409, "AlreadyExists"), status=409)
        return web.json_response(self._put(shown))

    async def delete(self, request: web.Request) -> web.Response:
        if self.refuse_deletes:
            self.refuse_deletes -= 1
            return web.json_response(failure(503), status=503)
        if request.match_info["name"] in self.refuse_deletes_of:
            return web.json_response(failure(403), status=403)
        shown = self.records.get(request.match_info["name"])
        if shown is None:
            return web.json_response(failure(404), status=404)
        wanted = (await request.json())["preconditions"]
        if any(shown["metadata"][key] != value for key, value in wanted.items()):
            return web.json_response(failure(409), status=409)
        del self.records[request.match_info["name"]]
        self._version += 1
        shown["metadata"]["resourceVersion"] = str(self._version)
        self._tell("DELETED", shown)
        return web.json_response(shown)


@asynccontextmanager
async def outbox_server() -> AsyncIterator[OutboxServer]:
    """Yield a server that listens for as long as the block lasts."""
    made = OutboxServer()
    app = web.Application()
    app.router.add_get(f"{GROUP}/billingrecords", made.list_records)
    app.router.add_post(f"{GROUP}/billingrecords", made.create)
    app.router.add_delete(f"{GROUP}/billingrecords/{{name}}", made.delete)
    app.router.add_get(f"{GROUP}/lnamespaces", made.list_lnamespaces)
    app.router.add_get(f"{GROUP}/lclusters", made.list_lclusters)
    app.router.add_get(f"{GROUP}/lnamespaces/{{name}}", made.get_lnamespace)
    app.router.add_get("/api/v1/namespaces/{name}", made.get_namespace)
    async with listening(app) as made.url:
        yield made


def queued(server: OutboxServer, record: BillingRecord) -> QueuedRecord:
    """Return a record as a watch of the outbox tells it."""
    return decode_queued(msgspec.json.encode(server.records[record.name]))
