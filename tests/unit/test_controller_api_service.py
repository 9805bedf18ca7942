"""The Service `kubernetes` of a tenant leads to the gateway."""

import json

import pytest
from lnamespace.controller.lclusters.api_service import TenantApiService, api_service_objects
from lnamespace.controller.lclusters.gateway_endpoints import parse_endpoints
from lnamespace.errors import SettingsError

from tests.unit.support.cluster import cluster
from tests.unit.support.server import client_of

SERVICE = "/api/v1/namespaces/acme-default/services/kubernetes"
ENDPOINTS = "/api/v1/namespaces/acme-default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/acme-default/endpointslices/kubernetes"
TWO = parse_endpoints("10.0.0.8:6443, 10.0.0.7:6443")


def test_addresses_are_sorted_and_have_one_port() -> None:
    assert [str(address) for address in TWO.addresses] == ["10.0.0.7", "10.0.0.8"]
    assert TWO.port == 6443
    assert parse_endpoints("[fd00::1]:443").addresses[0].version == 6
    assert parse_endpoints("").addresses == ()


@pytest.mark.parametrize(
    "text", ["10.0.0.7", "host:443", "10.0.0.7:1,10.0.0.8:2", "10.0.0.7:1,[::1]:1"]
)
def test_invalid_endpoints_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--gateway-endpoints"):
        parse_endpoints(text)


def test_only_the_service_is_created_without_endpoints() -> None:
    assert [kind.kind for kind in api_service_objects(parse_endpoints(""))] == ["Service"]


async def test_the_objects_are_created_once_and_repaired() -> None:
    async with cluster() as server, client_of(server.url) as client:
        assert await TenantApiService(client, TWO).ensure("acme-default", "u-1") == []
        assert {SERVICE, ENDPOINTS, SLICE} == set(server.objects)
        server.written()
        assert await TenantApiService(client, TWO).ensure("acme-default", "u-1") == []
        assert {verb for verb, _ in server.written()} == {"GET"}
        one = TenantApiService(client, parse_endpoints("10.0.0.7:6443"))
        assert await one.ensure("acme-default", "u-1") == []
        assert "10.0.0.8" not in json.dumps(server.objects)
        server.written()
        assert await one.ensure("acme-default", "u-1") == []
        assert server.written() == []


async def test_a_failure_is_returned_and_retried() -> None:
    async with cluster() as server, client_of(server.url) as client:
        server.refusals["POST", SERVICE.rpartition("/")[0]] = 403
        service = TenantApiService(client, TWO)
        (error,) = await service.ensure("acme-default", "u-1")
        assert error.status == 403
        server.refusals.clear()
        assert await service.ensure("acme-default", "u-1") == []
        assert SERVICE in server.objects
