"""Requests of a tenant and their answers, as the gateway forwards them."""

import asyncio
import gzip
import json
from dataclasses import replace
from typing import Any, cast

import pytest
import yaml
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.totals import TenantTotals
from lnamespace.http.messages import HttpRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.media_types import APPLY_PATCH, JSON, MERGE_PATCH
from lnamespace.translate.objects.confinement.certificates import REQUESTER
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END

from tests.unit.support.forwarded import Tenant, forwarding
from tests.unit.support.server import DEADLINE
from tests.unit.support.translation import ACME, LABEL, asked

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"
DEPRECATED = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
NO_ENDPOINTS = {"kind": "EndpointsList", "metadata": {"resourceVersion": "7"}, "items": []}


async def answer_version(tenant: Tenant) -> None:
    """Answer the gateway's own question for the resource version of now."""
    asked = await tenant.platform.next("GET", limit="1")
    assert asked.path == NAMESPACES
    asked.answer({"kind": "NamespaceList", "metadata": {"resourceVersion": "77"}, "items": []})


def warned(response: UpstreamResponse) -> list[str]:
    return [value for name, value in response.headers if name == "warning"]


def named(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}}).encode()


async def test_a_dry_run_of_a_namespace_does_not_wait_for_rights_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gateway waited 10 s for rights in a namespace that was never created."""

    async def wait(namespace: str) -> bool:
        pytest.fail(f"it waits for {namespace}")

    async with forwarding() as tenant:
        monkeypatch.setattr(tenant.namespaces, "wait_usable", wait)
        asked = tenant.ask("POST", f"{NAMESPACES}?dryRun=All", named("new"))
        sent = await tenant.platform.next("POST", dryRun="All")
        made = {"name": "acme-new", "labels": {LABEL: "acme"}, "resourceVersion": "7"}
        sent.answer({"kind": "Namespace", "metadata": made}, 201)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 201


@pytest.mark.parametrize("query", ["", "?limit=5"])
async def test_a_list_over_all_namespaces_passes_on_a_repeated_warning_once(query: str) -> None:
    async with forwarding() as tenant:
        tenant.open("acme-a", "acme-b")
        asked = tenant.ask("GET", f"/api/v1/endpoints{query}")
        for _ in range(2):
            part = await tenant.platform.next("GET")
            told = {"Warning": DEPRECATED, "Cache-Control": "no-cache, private", "Audit-Id": "i"}
            part.answer(NO_ENDPOINTS, headers=told)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert warned(answered) == [DEPRECATED]
        assert answered.value("cache-control") == "no-cache, private"
        assert answered.value("audit-id") == "i"


@pytest.mark.parametrize("path", ["/api/v1/endpoints", f"{NAMESPACES}/a/endpoints"])
async def test_a_watch_passes_on_the_warning_of_a_deprecated_version(path: str) -> None:
    async with forwarding() as tenant:
        tenant.open("acme-a", "acme-b")
        asked = tenant.ask("GET", f"{path}?watch=1")
        part = await tenant.platform.next("GET", watch="1")
        await part.send({"type": "BOOKMARK", "object": NO_ENDPOINTS}, warning=DEPRECATED)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert warned(answered) == [DEPRECATED]
        answered.close()


async def test_answers_of_the_gateway_itself_may_not_be_cached() -> None:
    async with forwarding() as tenant:
        asked = tenant.ask("GET", f"{NAMESPACES}/nope/configmaps/c")
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert (answered.status, answered.value("cache-control")) == (404, "no-cache, private")


@pytest.mark.parametrize(
    "target", ["/api/v1/configmaps", "/api/v1/configmaps?limit=5", f"{NAMESPACES}/nope/configmaps"]
)
async def test_a_list_is_empty_if_no_namespace_is_accessible(target: str) -> None:
    """In an LCluster that is being deleted, a list was refused or an internal error."""
    async with forwarding() as tenant:
        tenant.namespaces.add("acme-last", terminating=True)
        asked = tenant.ask("GET", target)
        await answer_version(tenant)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 200
        assert json.loads(await answered.read()) == {
            "kind": "ConfigMapList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "77"},
            "items": [],
        }


async def test_a_list_is_empty_if_its_last_namespace_is_closed_meanwhile() -> None:
    async with forwarding() as tenant:
        tenant.open("acme-last")
        asked = tenant.ask("GET", "/api/v1/configmaps")
        part = await tenant.platform.next("GET")
        tenant.namespaces.add("acme-last", terminating=True)
        tenant.namespaces.grant("acme-last", granted=False)
        part.refuse(403, "Forbidden")
        await answer_version(tenant)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 200
        assert json.loads(await answered.read())["items"] == []


@pytest.mark.parametrize("path", ["/api/v1/configmaps", f"{NAMESPACES}/nope/configmaps"])
async def test_the_initial_events_end_if_no_namespace_is_accessible(path: str) -> None:
    """Clients that request initial events waited forever, because no watch ended them."""
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    async with forwarding() as tenant:
        asked = tenant.ask("GET", f"{path}?{query}")
        await answer_version(tenant)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
            told = json.loads(await answered.take())
        assert told["type"] == "BOOKMARK"
        assert told["object"]["metadata"]["resourceVersion"] == "77"
        assert told["object"]["metadata"]["annotations"] == {INITIAL_EVENTS_END: "true"}
        answered.close()


async def test_a_watch_without_namespaces_sends_the_events_of_new_namespaces() -> None:
    async with forwarding() as tenant:
        async with asyncio.timeout(DEADLINE):
            answered = await tenant.ask("GET", "/api/v1/configmaps?watch=1")
        tenant.open("acme-new")
        part = await tenant.platform.next("GET", watch="1")
        assert part.path == f"{NAMESPACES}/acme-new/configmaps"
        made = {"name": "c", "namespace": "acme-new", "resourceVersion": "9"}
        await part.send({"type": "ADDED", "object": {"kind": "ConfigMap", "metadata": made}})
        async with asyncio.timeout(DEADLINE):
            told = json.loads(await answered.take())
        assert told["object"]["metadata"]["namespace"] == "new"
        answered.close()


@pytest.mark.parametrize(
    ("method", "path", "content_type", "words"),
    [
        ("POST", "configmaps", "application/json", 'namespaces "nope" not found'),
        ("PATCH", "configmaps/c", APPLY_PATCH, 'namespaces "nope" not found'),
        ("PATCH", "configmaps/c", "application/merge-patch+json", 'configmaps "c" not found'),
        ("POST", "pods/p/eviction", "application/json", 'namespaces "nope" not found'),
        ("POST", "pods/p/exec", "", 'pods "p" not found'),
        ("GET", "configmaps/c", "", 'configmaps "c" not found'),
        ("DELETE", "configmaps/c", "", 'configmaps "c" not found'),
    ],
)
async def test_a_creation_in_a_missing_namespace_is_refused_because_of_the_namespace(
    method: str, path: str, content_type: str, words: str
) -> None:
    """kubectl apply reported that the object, which it was to create, was not found."""
    async with forwarding() as tenant:
        target = f"{NAMESPACES}/nope/{path}"
        async with asyncio.timeout(DEADLINE):
            answered = await tenant.ask(method, target, named("c"), content_type=content_type)
            told = json.loads(await answered.read())
        assert (told["code"], told["message"]) == (404, words)


async def test_a_delete_collection_in_a_missing_namespace_deletes_nothing() -> None:
    async with forwarding() as tenant:
        tenant.open("acme-default")
        target = f"{NAMESPACES}/nope/configmaps?labelSelector=a%3Db&dryRun=All"
        asked = tenant.ask("DELETE", target)
        found = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": []}
        (await tenant.platform.next("GET", labelSelector="a=b", dryRun=None)).answer(found)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 200
        assert json.loads(await answered.read())["items"] == []


async def test_a_watch_of_generated_resources_ends_when_the_resources_change() -> None:
    """A client that watched APIServices was not notified of a new group."""
    async with forwarding() as tenant:
        path = "/apis/networking.k8s.io/v1/ipaddresses?watch=1"
        async with asyncio.timeout(DEADLINE):
            answered = await tenant.ask("GET", path)
            tenant.other_resources.set()
            assert await answered.read() == b""


@pytest.mark.parametrize(
    ("accepted", "size", "compressed"),
    [
        ("gzip", 200_000, True),
        ("deflate, gzip", 2_000_000, True),
        ("gzip", 1000, False),
        ("", 200_000, False),
        ("gzip;q=0", 200_000, False),
        ("br", 2_000_000, False),
    ],
)
async def test_a_long_answer_is_compressed_for_clients_that_accept_gzip(
    accepted: str, size: int, compressed: bool
) -> None:
    """kube-apiserver does so above 128 KiB; lists came in eleven times as many bytes."""
    each = {"metadata": {"name": "c", "namespace": "acme-a"}, "data": {"k": "v" * 5000}}
    items = [each] * (size // 5000)
    found = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}
    async with forwarding() as tenant:
        tenant.open("acme-a")
        path = f"{NAMESPACES}/a/configmaps"
        asked = tenant.ask("GET", path, accept_encoding=accepted)
        (await tenant.platform.next("GET")).answer(found)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
            body = await answered.read()
    assert answered.value("content-encoding") == ("gzip" if compressed else "")
    assert answered.value("vary") == ("Accept-Encoding" if compressed else "")
    told = json.loads(gzip.decompress(body) if compressed else body)
    assert [item["metadata"]["namespace"] for item in told["items"]] == ["a"] * len(items)


async def test_a_request_that_waits_for_a_share_repeats_its_demand_at_intervals() -> None:
    """With one demand others used what was moved; with one per retry there were too many."""
    secrets = f"{NAMESPACES}/a/secrets"
    totals = TenantTotals({"count/secrets": 99}, {"acme-a": {"count/secrets": 1}})
    async with forwarding(totals=totals) as tenant:
        tenant.open("acme-a")
        began = asyncio.get_running_loop().time()
        asked = tenant.ask("POST", secrets, named("s"))
        events: list[str] = []
        used = 1
        while len(events) < 3:
            sent = await tenant.platform.next("POST")
            if sent.path.endswith("/events"):
                assert sent.json["type"] == "Normal", "nothing has failed yet"
                events.append(sent.json["message"])
                sent.answer({}, 201)
                continue
            count = "count/secrets="
            counts = f"requested: {count}1, used: {count}{used}, limited: {count}{used}"
            words = f'secrets "s" is forbidden: exceeded quota: lcluster, {counts}'
            sent.refuse(403, "Forbidden", message=words)
            used += 1
        assert asyncio.get_running_loop().time() - began >= 1, "three times within a second"
        assert len(set(events)) == 3, "each says what is used by then"
        sent = await tenant.platform.next("POST")
        sent.answer({"kind": "Secret", "metadata": {"name": "s", "namespace": "acme-a"}}, 201)
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 201


async def test_an_empty_patch_keeps_its_content_type() -> None:
    """Without the type the API server reports an unsupported type instead of an empty patch."""
    async with forwarding() as tenant:
        tenant.open("acme-a")
        patch = "application/merge-patch+json"
        asked = tenant.ask("PATCH", f"{NAMESPACES}/a/configmaps/c", content_type=patch)
        sent = await tenant.platform.next("PATCH")
        assert sent.headers["Content-Type"] == patch
        sent.refuse(400, "BadRequest")
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 400


@pytest.mark.parametrize(
    ("removed", "sent"),
    [
        ({"annotations": None}, {"annotations": {"a": None}}),
        ({"labels": None, "name": "r"}, {"labels": {LABEL: "acme", "b": None}, "name": "acme-r"}),
    ],
)
async def test_the_last_label_or_annotation_is_removed_by_its_name(
    removed: dict[str, None], sent: dict[str, object]
) -> None:
    """`kubectl annotate clusterrole NAME KEY-` removes all annotations; some are hidden."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    async with forwarding() as tenant:
        body = json.dumps({"metadata": removed}).encode()
        asked = tenant.ask("PATCH", f"{path}/r", body, content_type=MERGE_PATCH)
        read = await tenant.platform.next("GET")
        kept = {"lcluster.tenancy.loblaw.digital/original": "x", "a": "1"}
        metadata = {"name": "acme-r", "labels": {LABEL: "acme", "b": "2"}, "annotations": kept}
        stored = {"kind": "ClusterRole", "metadata": metadata}
        read.answer(stored)
        written = await tenant.platform.next("PATCH")
        assert written.json == {"metadata": sent}
        written.answer(stored)
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 200


async def test_a_removal_of_all_labels_is_not_lost_where_they_cannot_be_read() -> None:
    """A patch of nothing was sent in its place, and answered as if it had removed them."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    body = json.dumps({"metadata": {"labels": None}}).encode()
    async with forwarding() as tenant:
        asked = tenant.ask("PATCH", f"{path}/r", body, content_type=MERGE_PATCH)
        read = await tenant.platform.next("GET")
        read.refuse(500, "InternalError")
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 503


def test_a_call_holds_no_body_that_its_exchange_has_forgotten() -> None:
    """A stream forgets its body when it begins, and the body counts for nobody from then on."""

    class Sent:
        request = HttpRequest("POST", "/", (), b"x" * 1000)

    call = TenantCall(
        cast(Any, Sent), asked("services", "create", subresource="proxy"), ACME, "ann"
    )
    assert len(call.body) == 1000
    Sent.request = replace(Sent.request, body=b"")
    assert call.body == b""


async def test_the_body_of_a_read_means_nothing() -> None:
    """The gateway translated it, and refused one that it could not read."""
    async with forwarding() as tenant:
        tenant.open("acme-a")
        asked = tenant.ask("GET", f"{NAMESPACES}/a/configmaps/c", b"[", content_type=JSON)
        read = await tenant.platform.next("GET")
        assert read.path == f"{NAMESPACES}/acme-a/configmaps/c"
        assert "content-length" not in read.headers
        read.answer({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "acme-a"}})
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 200
        assert json.loads(await answered.read())["metadata"] == {"name": "c", "namespace": "a"}


@pytest.mark.parametrize(("answers", "status"), [((200, 404, 200), 200), ((200, 403), 403)])
async def test_a_collection_of_definitions_is_deleted_one_by_one(
    answers: tuple[int, ...], status: int
) -> None:
    """At once the API server deletes them without their objects, which stay in etcd."""
    names = ("a", "b", "c")
    async with forwarding() as tenant:
        asked = tenant.ask("DELETE", f"{CRDS}?labelSelector=x%3Dy&dryRun=All&limit=5")
        listed = await tenant.platform.next("GET")
        assert listed.path == CRDS
        found = [f"{name}.acme-example.com" for name in names]
        items = [{"metadata": {"name": each, "resourceVersion": "7"}} for each in ("d.b", *found)]
        listed.answer({"kind": "PartialObjectMetadataList", "items": items})
        for name, code in zip(names, answers, strict=False):
            sent = await tenant.platform.next("DELETE", dryRun="All")
            assert sent.path == f"{CRDS}/{name}.acme-example.com"
            sent.answer({"kind": "Status", "code": code}, code)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == status


async def test_an_apply_has_no_line_break_of_yaml_where_the_gateway_adds_to_it() -> None:
    """The API server would read another text: a comment in an expression would end before."""
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    body = kind | {"metadata": {"name": "c", "annotations": {"a": "b \x85\x85 \u2028 c"}}}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/c?fieldManager=m"
    async with forwarding() as tenant:
        asked = tenant.ask("PATCH", path, json.dumps(body).encode(), content_type=APPLY_PATCH)
        stored = {"name": "acme-c", "labels": {LABEL: "acme"}, "annotations": {REQUESTER: "{}"}}
        (await tenant.platform.next("GET")).answer(kind | {"metadata": stored})
        sent = await tenant.platform.next("PATCH")
        assert sent.json["metadata"]["annotations"] == {"a": "b \x85\x85 \u2028 c", REQUESTER: "{}"}
        assert yaml.safe_load(sent.body) == sent.json
        asked.cancel()
