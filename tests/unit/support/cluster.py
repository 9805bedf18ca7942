"""As much of an API server as a reconcile needs: keeps what is written, refuses when told to."""

import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.unit.support.server import failure, listening
from tests.unit.support.structural import merged


class Cluster:
    """The objects by their path; every write has the next resource version."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.refusals: dict[tuple[str, str], int] = {}
        self.version = 100
        self.url = ""

    def make(self, path: str, shown: dict[str, Any]) -> dict[str, Any]:
        """Have an object there; its UID is new."""
        self.version += 1
        meta = shown["metadata"] | {"resourceVersion": str(self.version)}
        self.objects[path] = copy.deepcopy(shown)
        self.objects[path]["metadata"] = {"uid": f"uid-{self.version}"} | meta
        return self.objects[path]

    def written(self) -> list[tuple[str, str]]:
        """Return the requests since the last call, each as its verb and the end of its path."""
        found, self.requests = self.requests, []
        return found

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path, body = request.path, await request.read()
        self.requests.append((request.method, path))
        code = self.refusals.get((request.method, path)) or self._problem(
            request.method, path, body
        )
        if code:
            reason = "AlreadyExists" if (request.method, code) == ("POST", 409) else ""
            return web.json_response(failure(code, reason), status=code)
        return web.json_response(self._do(request.method, path, body))

    def _problem(self, method: str, path: str, body: bytes) -> int:
        sent = json.loads(body) if body else {}
        if method == "POST":
            return 409 if f"{path}/{sent['metadata'].get('name')}" in self.objects else 0
        found = self.objects.get(path.removesuffix("/status"))
        if found is None:
            return 404
        meta = found["metadata"]
        if isinstance(sent, list):
            return 422 if any(_fails(operation, found) for operation in sent) else 0
        named = dict(sent.get("preconditions", {}))
        if "uid" in sent.get("metadata", {}) and not path.endswith("/status"):
            named["uid"] = sent["metadata"]["uid"]
        return 409 if any(meta[key] != value for key, value in named.items()) else 0

    def _do(self, method: str, path: str, body: bytes) -> Any:
        match method:
            case "POST":
                sent = json.loads(body)
                return self.make(f"{path}/{sent['metadata']['name']}", sent)
            case "PATCH":
                return self._patch(path, json.loads(body))
            case "DELETE":
                self.version += 1
                return self.objects.pop(path)
        return self.objects[path]

    def _patch(self, path: str, sent: Any) -> dict[str, Any]:
        """Change an object; of a merge patch to its status nothing but the status counts."""
        place = path.removesuffix("/status")
        if isinstance(sent, list):
            sent = {op["path"].strip("/"): op["value"] for op in sent if op["op"] == "add"}
            return self.make(place, self.objects[place] | sent)
        if place != path:
            sent = {"status": sent["status"]}
        return self.make(place, merged(self.objects[place], sent))


def _fails(operation: dict[str, Any], found: Any) -> bool:
    if operation["op"] != "test":
        return False
    for part in operation["path"].strip("/").split("/"):
        found = found.get(part)
    return bool(found != operation["value"])


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """Yield a cluster that listens for as long as the block lasts."""
    made = Cluster()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    async with listening(app, cancelling=False) as made.url:
        yield made
