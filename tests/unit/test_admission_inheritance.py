"""The charge that a ServiceAccount inherits from the LNamespace of its namespace."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
import pytest_asyncio
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.admission import inheritance
from lnamespace.admission.inheritance import (
    NO_HOME,
    ClusterInheritance,
    HomeLNamespace,
    no_home,
)

from tests.unit.support.admission import NAMES, manifest
from tests.unit.support.server import Exchange, Server, client_of, serving
from tests.unit.support.strategies import NOW

LNAMESPACES = lnamespace_resource(NAMES)


class Asked:
    """An inheritance, and the API server that it asks."""

    def __init__(self, server: Server, cluster: ClusterInheritance) -> None:
        self.server, self.cluster = server, cluster

    async def of(self, home: str) -> tuple[Awaitable[HomeLNamespace], Exchange]:
        """Return what will be known, and the request that is to be answered for it."""
        task = asyncio.create_task(self.cluster.home_of(f"system:serviceaccount:{home}:bot"))
        return task, await self.server.next("GET")


@pytest_asyncio.fixture
async def asked() -> AsyncIterator[Asked]:
    async with serving() as server, client_of(server.url) as client:
        yield Asked(server, ClusterInheritance(client, LNAMESPACES, lambda: NOW))


BOT = {"kind": "ServiceAccount", "namespace": "ci", "name": "bot"}


def shown(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    whole = {"billing": {"costCenter": "4711"}, "managers": [BOT]} | (spec or {})
    return manifest(whole, name="ci") | {"status": status}


async def test_a_service_account_inherits_from_the_lnamespace_of_its_namespace(
    asked: Asked,
) -> None:
    found, exchange = await asked.of("ci")
    assert exchange.path == f"/apis/{NAMES.group}/v1beta1/lnamespaces/ci"
    exchange.answer(shown(namespaceUID="n-1"))
    home = await found
    assert home.inherited
    assert home.inherited.cost_center == "4711"
    assert home.unlisted == ""


@pytest.mark.parametrize(
    ("spec", "listed"),
    [
        ({"managers": [], "sudoers": [BOT]}, True),
        ({"managers": [{"name": "system:serviceaccount:ci:bot"}]}, True),
        ({"managers": [BOT | {"expiresAt": "2999-01-01T00:00:00Z"}]}, True),
        ({"managers": []}, False),
        ({"managers": [], "users": [BOT]}, False),
        ({"managers": [BOT | {"name": "other"}]}, False),
        ({"managers": [BOT | {"namespace": "elsewhere"}]}, False),
        ({"managers": [BOT | {"expiresAt": "2020-01-01T00:00:00Z"}]}, False),
    ],
)
async def test_only_a_listed_manager_or_sudoer_inherits(
    asked: Asked, spec: dict[str, Any], listed: bool
) -> None:
    """A user could create a ServiceAccount and charge the team even after being removed."""
    found, exchange = await asked.of("ci")
    exchange.answer(shown(spec, namespaceUID="n-1"))
    home = await found
    assert bool(home.inherited) is listed
    assert home.unlisted == ("" if listed else "ci")


async def test_an_lnamespace_without_a_charge_means_no_charge(asked: Asked) -> None:
    found, exchange = await asked.of("ci")
    exchange.answer(shown({"billing": {}}, namespaceUID="n-1"))
    assert await found == NO_HOME


async def test_an_lnamespace_without_its_namespace_means_no_charge(asked: Asked) -> None:
    found, exchange = await asked.of("ci")
    exchange.answer(shown())
    assert await found == NO_HOME


async def test_a_namespace_without_an_lnamespace_means_no_charge(asked: Asked) -> None:
    found, exchange = await asked.of("kube-system")
    exchange.refuse(404, "NotFound")
    assert await found == NO_HOME


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_an_error_of_the_api_server_means_no_charge(asked: Asked, status: int) -> None:
    found, exchange = await asked.of("ci")
    exchange.refuse(status)
    assert await found == NO_HOME


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"metadata": 7}', b"x" * 100])
async def test_a_garbled_answer_means_no_charge(asked: Asked, body: bytes) -> None:
    found, exchange = await asked.of("ci")
    exchange.answer(body)
    assert await found == NO_HOME


async def test_a_slow_answer_means_no_charge_before_the_api_server_gives_up(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inheritance.PATIENCE < 5
    monkeypatch.setattr(inheritance, "PATIENCE", 0.5)
    found, exchange = await asked.of("ci")
    assert await found == NO_HOME
    exchange.cut()


async def test_a_user_needs_no_request_to_the_api_server(asked: Asked) -> None:
    assert await asked.cluster.home_of("alice") == NO_HOME
    assert asked.server.arrived.empty()


async def test_no_charge_is_inherited_without_a_client() -> None:
    assert await no_home("system:serviceaccount:ci:bot") == NO_HOME


def test_a_namespace_name_cannot_change_the_path() -> None:
    """The API server determines the username, but it must not become a path."""
    assert "/" not in LNAMESPACES.path("a/../b").rpartition("lnamespaces/")[2]
