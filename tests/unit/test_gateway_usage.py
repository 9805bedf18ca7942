"""How many objects and how much storage each tenant has, without a list of them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lnamespace.errors import Forbidden, Unreachable
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.object_counts import ObjectCounter, count_of, counted_paths
from lnamespace.gateway.tenants.usage import TenantUsage, expose_usage
from lnamespace.gateway.tenants.volume_sizes import VolumeSizes, read_volume
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.server import HttpServer
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType

LIST = frozenset({"get", "list"})


def kind(group: str, plural: str, **more: Any) -> ResourceType:
    known: dict[str, Any] = {"namespaced": True, "versions": ("v1", "v1beta1"), "verbs": LIST}
    return ResourceType(group, plural, plural.title(), **(known | more))


VIEW = TenantView(
    "acme",
    ResourceTable.from_types(
        (
            kind("", "pods"),
            kind("apps", "deployments"),
            kind("events.k8s.io", "events"),
            kind("authorization.k8s.io", "localsubjectaccessreviews", verbs=frozenset({"create"})),
            kind("example.com", "widgets", custom=True, versions=("v2",)),
            kind("example.com", "globes", custom=True, namespaced=False),
            kind("storage.k8s.io", "storageclasses", namespaced=False),
        )
    ),
)


def tenant(name: str = "acme", uid: str = "u-1", namespaces: tuple[str, ...] = ("a",)) -> Any:
    upstream = [f"{name}-{each}" for each in namespaces]
    return SimpleNamespace(
        name=name,
        view=replace(VIEW, tenant=name),
        cluster=SimpleNamespace(uid=uid),
        namespaces=SimpleNamespace(all=lambda: upstream),
    )


class FakeTenants(dict[str, Any]):
    """Tenants by name, which are iterated over as the gateway's are."""

    def __iter__(self) -> Any:
        return iter(list(self.values()))

    def marked_definitions(self) -> dict[str, str]:
        """Return two of one tenant."""
        return {f"{kind}.acme-example.com": "now" for kind in ("carts", "tills")}


class FakeServer:
    """An API server that says of each list how long it is."""

    def __init__(self, length: Callable[[str], int] = lambda _: 1) -> None:
        self.asked: list[tuple[str, str]] = []
        self.length = length

    async def read(self, target: str, acting: UpstreamIdentity, headers: Any = ()) -> bytes:
        """Answer as a list of one object that says how many there are besides."""
        assert "PartialObjectMetadataList" in dict(headers)["accept"]
        self.asked.append((acting.tenant, target))
        count = self.length(target)
        rest = {"remainingItemCount": count - 1} if count > 1 else {}
        return json.dumps({"metadata": rest, "items": [{}] if count else []}).encode()


def counter(server: Any, *tenants: Any, least: float = 3600.0) -> ObjectCounter:
    known = FakeTenants({each.name: each for each in tenants})
    return ObjectCounter(cast(Upstream, server), cast(Tenants, known), 0.0, least)


async def counts(found: ObjectCounter, until: Callable[[], bool]) -> None:
    """Count until something is so."""
    work = asyncio.create_task(found.run())
    async with asyncio.timeout(30):
        while not until():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
    work.cancel()


def test_each_resource_is_counted_once_per_namespace_of_the_tenant() -> None:
    assert list(counted_paths(VIEW, ["acme-a", "acme-b"])) == [
        "/api/v1/namespaces/acme-a/pods?limit=1",
        "/api/v1/namespaces/acme-b/pods?limit=1",
        "/apis/apps/v1/namespaces/acme-a/deployments?limit=1",
        "/apis/apps/v1/namespaces/acme-b/deployments?limit=1",
        "/apis/acme-example.com/v2/namespaces/acme-a/widgets?limit=1",
        "/apis/acme-example.com/v2/namespaces/acme-b/widgets?limit=1",
        "/apis/acme-example.com/v1/globes?limit=1",
    ]


@pytest.mark.parametrize(
    ("page", "count"),
    [
        (b'{"metadata": {"remainingItemCount": 41}, "items": [{}]}', 42),
        (b'{"metadata": {}, "items": [{}]}', 1),
        (b'{"metadata": {}, "items": []}', 0),
        (b'{"metadata": {}, "items": null}', 0),
        # Whoever writes one object that is nested so deeply ended the gateway of all.
        (b'{"items": [{"a": ' + b"[" * 9000 + b"]" * 9000 + b"}]}", 1),
    ],
)
def test_the_object_count_is_read_from_a_list_with_limit_one(page: bytes, count: int) -> None:
    assert count_of(page) == count


async def test_objects_are_counted_as_the_tenant_and_not_recounted_at_once() -> None:
    server = FakeServer(lambda target: 1000 if "pods" in target else 2)
    acme, beta = tenant(), tenant("beta")
    found = counter(server, acme, beta)
    assert found.objects_of(acme) is None
    await counts(found, lambda: found.objects_of(acme) is not None is not found.objects_of(beta))
    await asyncio.sleep(0)
    assert found.objects_of(acme) == 1006
    assert {who for who, _ in server.asked} == {"acme", "beta"}
    assert all(f"{who}-" in target for who, target in server.asked if "namespaces" in target)
    asked = len(server.asked)
    await counts(found, lambda: True)
    assert len(server.asked) == asked


async def test_a_resource_that_may_no_longer_be_listed_counts_as_zero() -> None:
    def gone(target: str) -> int:
        if "pods" in target:
            raise Forbidden("no more")
        return 1

    acme = tenant()
    found = counter(FakeServer(gone), acme)
    await counts(found, lambda: found.objects_of(acme) is not None)
    assert found.objects_of(acme) == 3


async def test_a_failed_count_keeps_the_previous_count() -> None:
    answers = [True]

    def length(_: str) -> int:
        if not answers[0]:
            raise Unreachable("no answer")
        return 5

    acme = tenant()
    server = FakeServer(length)
    found = counter(server, acme, least=0.0)
    await counts(found, lambda: found.objects_of(acme) == 20)
    answers[0] = False
    asked = len(server.asked)
    await counts(found, lambda: len(server.asked) > asked)
    assert found.objects_of(acme) == 20


async def test_a_recreated_lcluster_has_no_count_of_its_predecessor() -> None:
    acme = tenant()
    found = counter(FakeServer(), acme)
    await counts(found, lambda: found.objects_of(acme) is not None)
    assert found.objects_of(tenant(uid="u-2")) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10Gi", 10 * 1024**3),
        ("1Ki", 1024),
        ("1.5G", 1.5e9),
        ("500M", 5e8),
        ("128", 128),
        ("1e3", 1000),
        ("1E", 1e18),
        ("100m", 0.1),
        ("", 0),
        ("ten", 0),
        ("1Zi", 0),
    ],
)
def test_a_storage_quantity_is_parsed_as_a_number(text: str, number: float) -> None:
    assert read_volume(volume("pvc-1", "acme-prod", text)).size == pytest.approx(number)


def volume(name: str, namespace: str, size: str) -> bytes:
    claim = {"claimRef": {"namespace": namespace, "name": "data"}} if namespace else {}
    spec = {"capacity": {"storage": size}} | claim
    return json.dumps({"metadata": {"name": name, "resourceVersion": "7"}, "spec": spec}).encode()


def test_a_tenants_storage_is_the_sum_of_volumes_claimed_in_its_namespaces() -> None:
    sizes = VolumeSizes(cast(Any, None))
    for each in (
        volume("pvc-1", "acme-prod", "1Gi"),
        volume("pvc-2", "acme-test", "2Gi"),
        volume("pvc-3", "beta-prod", "4Gi"),
        volume("free", "", "8Gi"),
        volume("ours", "default", "16Gi"),
    ):
        sizes._store.apply_event(read_volume(each))  # noqa: SLF001 - what a watch does
    found = sizes.by_tenant()
    assert found["acme"] == 3 * 1024**3
    assert found["beta"] == 4 * 1024**3


async def test_the_metrics_have_series_only_for_existing_lclusters() -> None:
    acme, beta = tenant(), tenant("beta", namespaces=("a", "b"))
    found = counter(FakeServer(), acme)
    await counts(found, lambda: found.objects_of(acme) is not None)
    usage = TenantUsage(
        cast(Tenants, FakeTenants(acme=acme, beta=beta)), found, VolumeSizes(cast(Any, None))
    )
    metrics = GatewayMetrics.new()
    metrics.lcluster_objects.labels("gone").set(7)
    server = cast(HttpServer, SimpleNamespace(connections=1))
    text = expose_usage(usage, server, metrics).decode()
    assert 'lnamespace_gateway_lcluster_objects{lcluster="acme"} 4.0' in text
    assert 'lnamespace_gateway_lcluster_objects{lcluster="beta"}' not in text
    assert 'lnamespace_gateway_lcluster_storage_bytes{lcluster="beta"} 0.0' in text
    assert 'lnamespace_gateway_lcluster_namespaces{lcluster="beta"} 2.0' in text
    assert 'lnamespace_gateway_lcluster_failing_converters{lcluster="acme"} 2.0' in text
    assert 'lnamespace_gateway_lcluster_failing_converters{lcluster="beta"} 0.0' in text
    assert "gone" not in text
