"""What a tenant is served of discovery and OpenAPI, beside what a real API server serves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from lnamespace.errors import ClusterError
from lnamespace.gateway.discovery.documents import fetch
from lnamespace.gateway.discovery.paths import DiscoveryDocuments, DocumentAnswer, DocumentRequest
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.http.upstream import UpstreamPool
from lnamespace.kube.connection import Access, connect
from lnamespace.translate.discovery.openapi_v2_protobuf import CONTENT_TYPE
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.discovery.service_paths import service_path
from lnamespace.translate.protocol.discovery_formats import AGGREGATED as FORMAT
from lnamespace.translate.protocol.request import PathRequest
from lnamespace.translate.protocol.status import Refused

from tests.e2e.support.api import Api, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.waiting import PATIENCE, eventually

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = FORMAT.content_type
CHANGED = frozenset({"", "apiregistration.k8s.io", "networking.k8s.io"})
"""Built-in groups of which something is hidden or read-only."""


class Reader:
    """Read documents directly, and as tenants do."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._documents = DiscoveryDocuments(upstream, Published())

    async def direct(self, target: str, accept: str = "application/json") -> bytes:
        return (await fetch(self._upstream, target, (("accept", accept),))).body

    async def answer(self, tenant: str, target: str, accept: str = "") -> DocumentAnswer:
        path, _, query = target.partition("?")
        words = tuple((key, value) for key, _, value in [query.partition("=")])
        request = PathRequest("get", path, words)
        headers = (("accept", accept),)
        asked = DocumentRequest(service_path(path), request, headers, "tenant.example.com")
        return await self._documents.answer(asked, tenant)

    async def served(self, tenant: str, target: str, accept: str = "") -> bytes:
        answer = await self.answer(tenant, target, accept)
        assert answer.status == 200, target
        return answer.body


@asynccontextmanager
async def reader(kubeconfig: Path) -> AsyncIterator[Reader]:
    async with connect(Access(str(kubeconfig), "")) as client:
        address = client.address()
        upstream = Upstream(UpstreamPool(address), client.token)
        try:
            yield Reader(upstream)
        finally:
            upstream.close()
            # A transport over TLS that was aborted is closed at the loop's next turns.
            for _ in range(10):
                await asyncio.sleep(0)


def read(cluster: Cluster, work: Callable[[Reader], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with reader(Path(cluster.environment["KUBECONFIG"])) as made:
            await work(made)

    asyncio.run(whole())


def definition(group: str, description: str = "A widget.") -> Object:
    spec = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
    schema = {"type": "object", "description": description, "properties": {"spec": spec}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version],
        },
    }


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def define(admin: Api) -> Iterator[Callable[[str], None]]:
    """Create CustomResourceDefinitions, and return when they can be used."""
    made: list[str] = []

    def create(group: str) -> None:
        path = f"{CRDS}/widgets.{group}"
        made.append(path)
        admin.create(CRDS, definition(group))
        eventually(lambda: _established(admin.get(path)))

    yield create
    for path in made:
        admin.remove(path)


def _established(found: Object) -> bool:
    conditions = found.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def versions(document: bytes) -> Iterator[tuple[str, str]]:
    for group in json.loads(document)["items"]:
        for version in group["versions"]:
            yield group["metadata"]["name"], version["version"]


def test_unfiltered_documents_are_served_byte_for_byte_as_upstream(cluster: Cluster) -> None:
    async def work(documents: Reader) -> None:
        served = await documents.served("nobody", "/apis", AGGREGATED)
        same = [each for each in versions(served) if each[0] not in CHANGED]
        assert len(same) > 15
        for group, version in same:
            for path in (f"/apis/{group}/{version}", f"/openapi/v3/apis/{group}/{version}"):
                assert await documents.served("nobody", path) == await documents.direct(path), path

    read(cluster, work)


def test_a_tenants_api_group_is_served_as_by_a_plain_api_server(
    cluster: Cluster, define: Callable[[str], None], tenant: str
) -> None:
    group = f"{uuid4().hex[:8]}.example.com"
    define(group)
    define(f"{tenant}-{group}")

    async def work(documents: Reader) -> None:
        for path in (f"/apis/{group}", f"/apis/{group}/v1", f"/openapi/v3/apis/{group}/v1"):
            assert await documents.served(tenant, path) == await documents.direct(path), path
        own = json.loads(await documents.served(tenant, "/openapi/v2"))
        plain = json.loads(await documents.direct("/openapi/v2"))
        for part, word in (("paths", group), ("definitions", ".".join(reversed(group.split("."))))):
            assert entries(own[part], word) == entries(plain[part], word) != {}

    eventually_read(cluster, work)


def test_no_document_contains_names_of_other_tenants(
    cluster: Cluster, define: Callable[[str], None], tenant: str
) -> None:
    other = f"t{uuid4().hex[:8]}"
    define(f"{other}-kumquat.example.com")
    define(f"{tenant}-own.example.com")

    async def work(documents: Reader) -> None:
        targets = [(path, "") for path in ("/", "/apis", "/openapi/v2", "/openapi/v3")]
        targets += [("/apis", AGGREGATED), ("/openapi/v2", CONTENT_TYPE)]
        for path, accept in targets:
            document = (await documents.served(tenant, path, accept)).lower()
            assert b"own.example.com" in document or b"ownexamplecom" in document, path
            for word in (other, "kumquat", tenant, "loblaw"):
                assert word.encode() not in document, (path, word)
        for path in (f"/apis/{other}-kumquat.example.com", "/apis/kumquat.example.com/v1"):
            assert (await documents.answer(tenant, path)).status == 404

    eventually_read(cluster, work)


def test_a_new_definition_is_served_as_soon_as_the_api_server_serves_it(
    cluster: Cluster, define: Callable[[str], None], tenant: str
) -> None:
    async def work(documents: Reader) -> None:
        for number in range(3):
            assert await documents.served(tenant, "/apis", AGGREGATED)
            group = f"g{number}.example.com"
            await asyncio.to_thread(define, f"{tenant}-{group}")
            await shown(documents, f"{tenant}-{group}")
            assert group.encode() in await documents.served(tenant, "/apis", AGGREGATED)

    read(cluster, work)


async def shown(documents: Reader, group: str) -> None:
    """Return when the API server itself shows a group."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if group.encode() in await documents.direct("/apis", AGGREGATED):
                return
            await asyncio.sleep(0.05)


def entries(part: dict[str, Any], word: str) -> dict[str, Any]:
    """Return the entries of a group, and not those of the same group with a prefix."""
    return {key: value for key, value in part.items() if key.startswith((f"/apis/{word}/", word))}


def eventually_read(cluster: Cluster, work: Callable[[Reader], Awaitable[None]]) -> None:
    """Read until the API server has published what was created."""

    def attempt() -> bool:
        try:
            read(cluster, work)
        except (Refused, ClusterError) as error:
            raise AssertionError(f"not published yet: {error}") from error
        return True

    eventually(attempt)
