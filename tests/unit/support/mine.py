"""The platform's API server, and people's rights in its namespaces, for the endpoint `mine`."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.mine.callers import MineCaller
from lnamespace.gateway.mine.calls import MineCall, Platform
from lnamespace.gateway.mine.rights import NamespaceRights, Resumption
from lnamespace.gateway.mine.spans import parse_platform_request, platform_table, spans_namespaces
from lnamespace.gateway.tenants.namespaces import WatchedObject, read_watched
from lnamespace.http.messages import Headers, HttpRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.model.subject import Subject, SubjectKind
from lnamespace.translate.discovery.groups import DiscoveredGroup
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceTable

from tests.unit.support.server import DEADLINE


def table() -> ResourceTable:
    kinds = (("namespaces", "Namespace", "Cluster"), ("pods", "Pod", "Namespaced"))
    nodes = ("nodes", "Node", "Cluster")
    core = {"metadata": {"name": ""}, "versions": [_version("v1", *kinds, nodes)]}
    apps = {
        "metadata": {"name": "apps"},
        "versions": [_version("v1", ("deployments", "Deployment", "Namespaced"))],
    }
    return platform_table(msgspec.convert([core, apps], list[DiscoveredGroup]))


def _version(name: str, *kinds: tuple[str, str, str]) -> dict[str, Any]:
    resources = [
        {
            "resource": plural,
            "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": scope,
            "verbs": ["get", "list", "watch"],
        }
        for plural, kind, scope in kinds
    ]
    return {"version": name, "resources": resources}


def asked(target: str, method: str = "GET") -> ResourceRequest | None:
    """Return the request if it spans namespaces."""
    request = parse_platform_request(method, target, table())
    spans = isinstance(request, ResourceRequest) and spans_namespaces(request)
    return request if spans and isinstance(request, ResourceRequest) else None


ANN = Subject(SubjectKind.USER, "ann")
DEVELOPERS = Subject(SubjectKind.GROUP, "developers")
BOTH = frozenset((ANN, DEVELOPERS))


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class World:
    """RoleBindings that come and go, long before anybody asks."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rights = NamespaceRights(self.clock)
        self.rights.begin(10)
        self._bindings: dict[tuple[str, str], WatchedObject] = {}
        self.unmarked: set[str] = set()
        """Namespaces that are no LNamespaces'."""

    def mark(self, name: str, version: int, *, there: bool = True) -> None:
        """Make a Namespace that of an LNamespace, or not."""
        item = read_watched(
            msgspec.json.encode({"metadata": {"name": name, "resourceVersion": str(version)}})
        )
        self.rights.update_namespace(None if there else item, item if there else None, version)

    def bind(
        self, namespace: str, version: int, *subjects: Subject, name: str = "lnamespace-users"
    ) -> None:
        raw = msgspec.json.encode(
            {
                "metadata": {"name": name, "namespace": namespace, "resourceVersion": str(version)},
                "roleRef": {"kind": "ClusterRole", "name": "admin"},
                "subjects": [{"kind": each.kind, "name": each.name} for each in subjects],
            }
        )
        if namespace not in self.unmarked:
            self.mark(namespace, 1)
        key, new = (namespace, name), read_watched(raw)
        self.rights.update(self._bindings.get(key), new, version)
        self._bindings[key] = new
        self.clock.now += 100

    def unbind(self, namespace: str, version: int, name: str = "lnamespace-users") -> None:
        self.rights.update(self._bindings.pop((namespace, name)), None, version)
        self.clock.now += 100

    def held(self, *subjects: Subject) -> list[str]:
        return sorted(self.rights.held(frozenset(subjects)))

    def resumption(self, version: int, subjects: frozenset[Subject] = BOTH) -> Resumption:
        return self.rights.resumption(subjects, str(version))


class MineApi:
    """An API server whose watches tell what a test tells."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reviewed: list[str] = []
        self.forbidden: set[str] = set()
        self.told: dict[str, asyncio.Queue[bytes]] = {}
        self.refusals: dict[str, int] = {}
        """The status by which a namespace's watches and lists are refused."""
        self.items = 1
        """How many objects a list has."""

    def tell(self, namespace: str, type_: str, version: int, **annotations: str) -> None:
        """Tell an event of a namespace."""
        metadata = {
            "name": namespace,
            "resourceVersion": str(version),
            "annotations": annotations,
        }
        event = {"type": type_, "object": {"kind": "Namespace", "metadata": metadata}}
        self._stream(namespace).put_nowait(msgspec.json.encode(event) + b"\n")

    def _stream(self, namespace: str) -> "asyncio.Queue[bytes]":
        return self.told.setdefault(namespace, asyncio.Queue())

    async def send(
        self, method: str, target: str, *_: Any, lasting: bool = False, **__: Any
    ) -> UpstreamResponse:
        """Answer a request."""
        self.asked.append(f"{method} {target}")
        found = re.search("(?:/namespaces/|metadata.name%3D)([a-z0-9-]+)", target)
        namespace = found[1] if found else ""
        if status := self.refusals.get(namespace):
            return Answered(status, {"kind": "Status", "code": status})
        if lasting:
            return _Told(self._stream(namespace))
        names = set(re.findall("metadata.name%3D([a-z0-9-]+)", target))
        count = self.items if len(names) < 2 else 0
        items = [{"metadata": {"name": namespace}}] * count
        return Answered(200, {"metadata": {"resourceVersion": "77"}, "items": items})

    async def read(self, *_: Any) -> bytes:
        """Answer a read."""
        return msgspec.json.encode({"metadata": {"resourceVersion": "77"}, "items": []})

    async def review(self, _: str, question: Any, *__: Any) -> UpstreamResponse:
        """Allow what is asked about, where it is not forbidden."""
        namespace = question["spec"]["resourceAttributes"]["namespace"]
        self.reviewed.append(namespace)
        return Answered(201, {"status": {"allowed": namespace not in self.forbidden}})


class Answered(UpstreamResponse):
    """An answer."""

    def __init__(self, status: int, body: Any, headers: Headers = ()) -> None:
        self.status, self.headers = status, headers
        self._content = msgspec.json.encode(body)

    async def read(self, hold: Callable[[int], None] | None = None) -> bytes:
        """Return the body."""
        del hold
        return self._content

    def close(self) -> None:
        """Do nothing."""


class _Told(Answered):
    def __init__(self, told: "asyncio.Queue[bytes]") -> None:
        super().__init__(200, {})
        self._told = told

    async def take(self) -> bytes:
        return await self._told.get()


class Client:
    """A client, and what it was answered."""

    def __init__(self, target: str = "/api/v1/pods", method: str = "GET") -> None:
        self.request = HttpRequest(method, target, ())
        self.status = 0
        self.began = asyncio.Event()
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()
        self.websocket = None

    async def start(self, status: int, _: Any) -> None:
        """Begin an answer."""
        self.status = status
        self.began.set()

    async def answer(self, status: int, _: Any, body: bytes) -> None:
        """Answer."""
        self.status = status
        await self.send(body)

    async def send(self, data: bytes) -> None:
        """Send a part."""
        self.sent.put_nowait(data)

    async def end(self) -> None:
        """End the answer."""

    async def event(self) -> tuple[str, str, str]:
        """Return type, name and version of the next event; or that it is an error, and which."""
        async with asyncio.timeout(DEADLINE):
            found = msgspec.json.decode(await self.sent.get())
        if found["type"] == "ERROR":
            return "ERROR", found["object"]["reason"], str(found["object"]["code"])
        metadata = found["object"]["metadata"]
        return found["type"], metadata.get("name", ""), metadata["resourceVersion"]

    async def nothing(self) -> None:
        """Let others run; confirm that nothing is sent."""
        await asyncio.sleep(0.02)
        assert self.sent.empty()


def call_of(
    world: World, api: MineApi, target: str, caller: MineCaller | None = None
) -> tuple[MineCall, Client]:
    """Return a call, and its client."""
    request, client, upstream = asked(target), Client(target), cast(Any, api)
    assert request is not None
    caller = caller or MineCaller("ann", BOTH, (("authorization", "Bearer t"),))
    both = Platform(upstream, upstream)
    return MineCall.from_request(
        cast(Any, client), request, caller, both, world.rights, RequestUsage()
    ), client
