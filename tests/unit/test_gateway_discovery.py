"""Discovery and OpenAPI as tenants are served them, with a recorded API server behind."""

import asyncio
import gzip
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from lnamespace.errors import ClusterError
from lnamespace.gateway.discovery.documents import (
    DocumentCache,
    RevalidatedDocument,
    TaggedDocument,
)
from lnamespace.gateway.discovery.paths import DiscoveryDocuments, DocumentAnswer, DocumentRequest
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.messages import Headers
from lnamespace.translate.discovery.openapi_v2_protobuf import ACCEPTED, CONTENT_TYPE
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.discovery.service_paths import service_path
from lnamespace.translate.protocol.discovery_formats import AGGREGATED as FORMAT
from lnamespace.translate.protocol.protobuf.wire import delimited
from lnamespace.translate.protocol.request import PathRequest
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.upstream import recorded

AGGREGATED = FORMAT.content_type
LEASES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "coordination.k8s.io/v1",
    "resources": [],
}
DOCUMENTS = {
    "/api": recorded("discovery-api.json"),
    "/apis": recorded("discovery-apis.json"),
    "/openapi/v2": recorded("openapi-v2.json"),
    "/openapi/v3": recorded("openapi-v3.json"),
    "/openapi/v3/api/v1": recorded("openapi-v3-core.json"),
    "/openapi/v3/apis/acme-stable.example.com/v1": recorded("openapi-v3-widgets.json"),
    "/apis/coordination.k8s.io/v1": json.dumps(LEASES).encode(),
    "/openapi/v2 protobuf": delimited(1, b"2.0") + delimited(8, b""),
    "/version": b'{"major": "1"}',
    "/": b'{"paths": ["/metrics", "/livez/etcd"]}',
    "/.well-known/openid-configuration": b'{"issuer": "https://i", "jwks_uri": "https://10.0.0.1"}',
}


@dataclass
class Response:
    status: int
    headers: Headers
    body: bytes

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        return self.body


@dataclass
class RecordedServer:
    """An API server that serves documents with ETags, and counts what is asked."""

    documents: dict[str, bytes] = field(default_factory=lambda: dict(DOCUMENTS))
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    refusal: int = 404

    async def send(
        self, _: str, target: str, acting: UpstreamIdentity, headers: Headers = (), __: bytes = b""
    ) -> Response:
        assert acting == UpstreamIdentity()
        protobuf = any("protobuf" in value for name, value in headers if name == "accept")
        body = self.documents.get(target.partition("?")[0] + " protobuf" * protobuf)
        if body is None:
            return self._answer(target, self.refusal, b'User "gateway" cannot get path')
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        if ("if-none-match", etag) in headers:
            return self._answer(target, 304, b"")
        further = (("etag", etag), ("content-type", "application/json"), ("x-kubernetes-pf", "u"))
        return self._answer(target, 200, body, further)

    def _answer(self, target: str, status: int, body: bytes, headers: Headers = ()) -> Response:
        self.asked[target, status] += 1
        return Response(status, headers, body)


class Client:
    """Ask for documents as one tenant after the other."""

    def __init__(self) -> None:
        self.server = RecordedServer()
        self.documents = DiscoveryDocuments(cast(Upstream, self.server), Published())

    def get(self, target: str, tenant: str = "acme", verb: str = "get", **headers: str) -> Any:
        path, _, text = target.partition("?")
        query = tuple((key, value) for key, _, value in (p.partition("=") for p in text.split("&")))
        named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
        asked = DocumentRequest(
            service_path(path),
            PathRequest(verb, path, query),
            named,
            "acme.example.com:443",
            "/clusters/acme",
        )
        return asyncio.run(self.documents.answer(asked, tenant))


@pytest.fixture
def client() -> Client:
    return Client()


def header(answer: DocumentAnswer, name: str) -> str:
    return dict(answer.headers).get(name, "")


def test_aggregated_discovery_has_its_media_type_and_an_etag(client: Client) -> None:
    answer = client.get("/apis", accept=f"{AGGREGATED},application/json")
    assert answer.status == 200
    assert header(answer, "Content-Type") == AGGREGATED
    assert header(answer, "Vary") == "Accept"
    names = [each["metadata"].get("name") for each in json.loads(answer.body)["items"]]
    assert "stable.example.com" in names
    assert "coordination.k8s.io" in names
    again = client.get("/apis", accept=AGGREGATED, if_none_match=header(answer, "ETag"))
    assert (again.status, again.body) == (304, b"")


def test_legacy_discovery_is_served_to_clients_without_an_accept_header(client: Client) -> None:
    assert json.loads(client.get("/apis").body)["kind"] == "APIGroupList"
    assert json.loads(client.get("/api").body)["serverAddressByClientCIDRs"] == [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": "acme.example.com:443"}
    ]
    assert json.loads(client.get("/apis/stable.example.com").body)["kind"] == "APIGroup"


def test_tenants_without_custom_resources_are_served_the_same_documents(client: Client) -> None:
    first, second = (client.get("/apis", each, accept=AGGREGATED) for each in ("carol", "dave"))
    assert first == second
    assert first.body is second.body
    one, other = (client.get("/openapi/v2", each) for each in ("carol", "dave"))
    assert one.body is other.body
    assert b"stable.example.com" not in one.body


def test_an_unchanged_upstream_document_is_answered_by_304(client: Client) -> None:
    for _ in range(3):
        client.get("/apis", accept=AGGREGATED)
    assert client.server.asked["/apis", 200] == 1
    assert client.server.asked["/apis", 304] == 2


def test_the_document_of_the_core_group_is_not_requested_each_time(client: Client) -> None:
    """The document changes only with the version of the API server."""
    for path in ("/apis", "/api", "/openapi/v2", "/apis"):
        assert client.get(path, accept="application/json").status == 200
    assert client.server.asked["/api", 200] == 1
    assert client.server.asked["/api", 304] == 0


async def test_a_stale_document_is_served_while_it_is_revalidated() -> None:
    server = RecordedServer()
    document = RevalidatedDocument(cast(Upstream, server), "/api", AGGREGATED, 0.05)
    first = await document.read()
    assert await document.read() is first
    assert server.asked == {("/api", 200): 1}
    async with asyncio.timeout(10):
        while not server.asked["/api", 304]:
            assert await document.read() is first
            await asyncio.sleep(0.01)


def test_a_change_upstream_is_seen_by_the_next_request(client: Client) -> None:
    before = client.get("/apis", accept=AGGREGATED)
    changed = DOCUMENTS["/apis"].replace(b"acme-stable", b"acme-newer")
    client.server.documents["/apis"] = changed
    after = client.get("/apis", accept=AGGREGATED)
    assert b"newer.example.com" in after.body
    assert header(before, "ETag") != header(after, "ETag")


def test_groups_of_other_tenants_are_not_found(client: Client) -> None:
    for path in ("/apis/beta-stable.example.com", "/apis/platform.example.org/v1"):
        answer = client.get(path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
    for path in ("apis/beta-stable.example.com/v2", "apis/acme-stable.example.com/v1"):
        answer = client.get(f"/openapi/v3/{path}")
        assert (answer.status, answer.body) == (404, b"")


def test_a_version_that_a_group_does_not_have_is_not_found(client: Client) -> None:
    with pytest.raises(Refused) as refusal:
        client.get("/apis/apps/v9")
    assert refusal.value.status.code == 404


def test_the_resources_of_a_group_version_are_served(client: Client) -> None:
    answer = client.get("/apis/coordination.k8s.io/v1")
    assert json.loads(answer.body) == LEASES


def test_a_document_of_openapi_v3_is_found_by_the_hash_of_the_index(client: Client) -> None:
    index = json.loads(client.get("/openapi/v3").body)["paths"]
    url = index["apis/stable.example.com/v1"]["serverRelativeURL"]
    answer = client.get(url)
    assert answer.status == 200
    assert header(answer, "Cache-Control") == "public, immutable"
    assert header(answer, "ETag").strip('"') == url.rpartition("=")[2]
    assert header(answer, "Expires").endswith("GMT")
    assert "com.example.stable.v1.Widget" in json.loads(answer.body)["components"]["schemas"]
    assert client.get(url, if_none_match=header(answer, "ETag")).status == 304


def test_an_old_hash_is_redirected_to_the_new_hash_under_the_same_path_prefix(
    client: Client,
) -> None:
    answer = client.get("/openapi/v3/api/v1?hash=OLD")
    assert answer.status == 301
    assert header(answer, "Location").startswith("/clusters/acme/openapi/v3/api/v1?hash=")


def test_a_translated_document_is_cached(client: Client) -> None:
    first = client.get("/openapi/v3/api/v1")
    second = client.get("/openapi/v3/api/v1")
    assert first.body is second.body
    assert client.server.asked["/openapi/v3/api/v1", 200] == 1
    assert header(first, "Cache-Control") == "no-cache, private"


def test_the_merged_document_has_its_own_etag(client: Client) -> None:
    answer = client.get("/openapi/v2")
    upstream = f'"{hashlib.sha256(DOCUMENTS["/openapi/v2"]).hexdigest()}"'
    assert header(answer, "ETag") not in {"", upstream}
    assert client.get("/openapi/v2", if_none_match=header(answer, "ETag")).status == 304


@pytest.mark.parametrize("accept", ACCEPTED)
def test_kubectl_and_helm_are_served_the_merged_document_as_protobuf(
    client: Client, accept: str
) -> None:
    answer = client.get("/openapi/v2", accept=accept)
    assert header(answer, "Content-Type") == CONTENT_TYPE
    assert answer.body == DOCUMENTS["/openapi/v2 protobuf"]
    assert client.get("/openapi/v2").headers != answer.headers


def test_a_large_document_is_compressed_for_clients_that_accept_it(client: Client) -> None:
    filling = b'{"x-filling":"' + b"2" * 200_000 + b'",'
    client.server.documents["/openapi/v2"] = filling + DOCUMENTS["/openapi/v2"][1:]
    plain = client.get("/openapi/v2")
    packed = client.get("/openapi/v2", accept_encoding="deflate, gzip")
    assert header(packed, "Content-Encoding") == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert header(packed, "ETag") == header(plain, "ETag")
    assert len(packed.body) < len(plain.body) / 4
    assert not header(client.get("/openapi/v2", accept_encoding="gzip;q=0"), "Content-Encoding")


def test_a_media_type_that_is_not_served_is_refused(client: Client) -> None:
    for path in ("/openapi/v2", "/openapi/v3/api/v1", "/apis", "/apis/coordination.k8s.io/v1"):
        with pytest.raises(Refused) as refusal:
            client.get(path, accept="text/html")
        assert refusal.value.status.code == 406


def test_the_version_is_served_without_the_upstream_headers(client: Client) -> None:
    answer = client.get("/version")
    assert answer.body == DOCUMENTS["/version"]
    assert answer.headers == (("content-type", "application/json"),)


def test_the_keys_of_the_issuer_are_read_at_the_tenants_address(client: Client) -> None:
    document = json.loads(client.get("/.well-known/openid-configuration").body)
    assert document["issuer"] == "https://i"
    assert document["jwks_uri"] == "https://acme.example.com:443/clusters/acme/openid/v1/jwks"


@pytest.mark.parametrize("status", [403, 404])
def test_a_path_that_the_gateway_may_not_read_is_not_found(client: Client, status: int) -> None:
    client.server.refusal = status
    with pytest.raises(Refused) as refusal:
        client.get("/livez/nonsense")
    assert refusal.value.status.code == 404
    assert "gateway" not in refusal.value.status.message


def test_another_failure_of_the_api_server_is_raised_as_a_cluster_error(client: Client) -> None:
    client.server.refusal = 503
    with pytest.raises(ClusterError):
        client.get("/livez/etcd")


def test_a_failed_health_check_is_passed_on(client: Client) -> None:
    client.server.refusal = 500
    assert client.get("/readyz").status == 500


def test_the_root_lists_only_the_paths_that_are_served(client: Client) -> None:
    paths = json.loads(client.get("/").body)["paths"]
    assert {"/apis/stable.example.com/v1", "/livez/etcd", "/openapi/v3"} <= set(paths)
    assert "/metrics" not in paths


def test_requests_other_than_get_are_refused(client: Client) -> None:
    with pytest.raises(Refused) as refusal:
        client.get("/apis", verb="post")
    assert refusal.value.status.code == 405


def test_json_is_indented_for_people_and_on_request(client: Client) -> None:
    assert b'\n  "kind"' in client.get("/apis", user_agent="curl/8").body
    assert b'\n  "kind"' in client.get("/apis?pretty=true").body
    assert b'\n  "kind"' not in client.get("/apis?pretty=false", user_agent="curl/8").body
    assert b'\n  "kind"' in client.get("/apis", user_agent="curl/8", accept=AGGREGATED).body


def test_concurrent_requests_share_their_upstream_requests() -> None:
    server = RecordedServer()
    document = RevalidatedDocument(cast(Upstream, server), "/apis")

    async def burst() -> None:
        await asyncio.gather(*(document.read() for _ in range(20)))

    asyncio.run(burst())
    assert sum(server.asked.values()) == 2


def test_the_least_recently_used_document_is_evicted_first() -> None:
    cache = DocumentCache(limit=20)
    first = cache.put("first", TaggedDocument.from_body(b"12345678"))
    cache.put("second", TaggedDocument.from_body(b"12345678"))
    assert cache.get("first") is first
    cache.put("third", TaggedDocument.from_body(b"12345678"))
    assert cache.get("second") is None
    assert cache.get("first") is first
    assert cache.size == 16


def test_a_document_that_is_larger_than_the_cache_is_not_cached() -> None:
    cache = DocumentCache(limit=4)
    cache.put("large", TaggedDocument.from_body(b"12345678"))
    assert cache.get("large") is None
    assert cache.size == 0
