"""Requests of a tenant and their answers, as the gateway forwards them."""

import asyncio
import json

import pytest
from lnamespace.gateway.http.upstream import UpstreamResponse

from tests.unit.support.forwarded import forwarding
from tests.unit.support.server import DEADLINE
from tests.unit.support.translation import LABEL

NAMESPACES = "/api/v1/namespaces"
DEPRECATED = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
NO_ENDPOINTS = {"kind": "EndpointsList", "metadata": {"resourceVersion": "7"}, "items": []}


def warned(response: UpstreamResponse) -> list[str]:
    return [value for name, value in response.headers if name == "warning"]


def named(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}}).encode()


async def test_a_dry_run_of_a_namespace_does_not_wait_for_rights_in_it() -> None:
    """The gateway waited 10 s to be let in where nothing had been made."""
    async with forwarding() as tenant:
        began = asyncio.get_running_loop().time()
        asked = tenant.ask("POST", f"{NAMESPACES}?dryRun=All", named("new"))
        sent = await tenant.platform.next("POST", dryRun="All")
        made = {"name": "acme-new", "labels": {LABEL: "acme"}}
        sent.answer({"kind": "Namespace", "metadata": made}, 201)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 201
        assert asyncio.get_running_loop().time() - began < 9


@pytest.mark.parametrize("query", ["", "?limit=5"])
async def test_a_list_over_all_namespaces_warns_once_of_what_each_part_warns_of(query: str) -> None:
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
async def test_a_watch_warns_of_a_version_that_is_deprecated(path: str) -> None:
    async with forwarding() as tenant:
        tenant.open("acme-a", "acme-b")
        asked = tenant.ask("GET", f"{path}?watch=1")
        part = await tenant.platform.next("GET", watch="1")
        await part.send({"type": "BOOKMARK", "object": NO_ENDPOINTS}, warning=DEPRECATED)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert warned(answered) == [DEPRECATED]
        answered.close()


async def test_what_the_gateway_answers_itself_is_kept_in_no_cache() -> None:
    async with forwarding() as tenant:
        asked = tenant.ask("GET", f"{NAMESPACES}/nope/configmaps/c")
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert (answered.status, answered.value("cache-control")) == (404, "no-cache, private")
