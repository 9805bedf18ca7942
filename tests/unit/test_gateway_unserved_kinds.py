"""Kinds that are not served, since an object is stored in a version that they do not have."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import NoRoom
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.unserved_kinds import EVERY, LATE, TYPE, UnservedKinds
from lnamespace.gateway.tenants.watched_parts import KeptDefinition
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType

from tests.unit.support.translation import ACME

CARTS = ResourceType(
    "shop.example.com", "carts", "Cart", namespaced=True, custom=True, versions=("v2",)
)
NAME = "carts.acme-shop.example.com"
WORDS = "request to convert CR from an invalid group/version: acme-shop.example.com/v1"
MISSING = f'{{"message":"storage is (re)initializing: {WORDS}"}}'.encode()
FILLING = b'{"message":"storage is (re)initializing"}'


@dataclass
class Platform:
    """An API server with one definition, and the gateway's view of it."""

    answer: tuple[int, bytes] = (429, MISSING)
    generation: int = 1
    clock: float = 1000.0
    conditions: list[Any] = field(default_factory=list)
    full: bool = False
    listed: int = 0
    patched: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        cluster = LCluster(Metadata(name="acme"), LClusterSpec())
        view = replace(ACME, resources=ResourceTable((CARTS,)))
        self.tenant = ServedTenant(cluster, view, {})
        client = SimpleNamespace(get=self.read, patch_json=self.patch_json)
        self.kinds = UnservedKinds(
            cast(Any, self), cast(Any, self), cast(Any, client), lambda: self.clock
        )

    def get(self, name: str) -> ServedTenant | None:
        return self.tenant if name == "acme" else None

    def definitions(self) -> list[tuple[str, str, KeptDefinition]]:
        if not self.generation:
            return []
        return [("acme", NAME, KeptDefinition(generation=self.generation))]

    async def send(self, *_: object) -> Any:
        self.listed += 1
        status, body = self.answer
        parts = [b"", body]

        async def take() -> bytes:
            return parts.pop()

        return SimpleNamespace(status=status, take=take, close=lambda: None)

    async def read(self, _: str) -> bytes:
        versions = [{"name": "v1", "served": False}, {"name": "v2", "served": True}]
        metadata = {"resourceVersion": "7", "annotations": DEFINITION_ANNOTATIONS}
        status = {"conditions": self.conditions}
        return msgspec.json.encode(
            {"metadata": metadata, "spec": {"versions": versions}, "status": status}
        )

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        test, *changes = operations
        assert test["value"] == "7"
        if self.full and "served" in str(changes):
            raise NoRoom("too large")
        self.patched += [(path.rpartition("/")[2], each) for each in changes]
        return b"{}"

    async def look(self, seconds: float = EVERY) -> int:
        """Let it look once, after some seconds; return how often it has listed the kind."""
        self.clock += seconds
        before, looking = self.listed, asyncio.ensure_future(self.kinds.run())
        for _ in range(20):
            await asyncio.sleep(0)
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        return self.listed - before


@pytest.fixture
async def platform() -> Platform:
    """Return an API server whose definition is there since the gateway runs."""
    found = Platform(generation=0)
    await found.look()
    found.generation = 1
    return found


async def test_a_kind_that_lacks_a_version_of_an_object_is_not_served(platform: Platform) -> None:
    await platform.look()
    assert not platform.patched
    await platform.look()
    (where, unserved), (then, added) = platform.patched
    assert (where, then) == (NAME, "status")
    assert unserved == {"op": "replace", "path": "/spec/versions/1/served", "value": False}
    assert (added["op"], added["value"]["type"]) == ("add", TYPE)
    assert "version v1" in added["value"]["message"]


async def test_a_definition_is_listed_when_it_has_changed_and_when_no_creation_is_under_way(
    platform: Platform,
) -> None:
    platform.answer = 200, b'{"items":[]}'
    looks = [await platform.look(seconds) for seconds in (EVERY, EVERY, LATE, EVERY)]
    assert looks == [1, 0, 1, 0]
    platform.generation += 1
    assert await platform.look() == 1


async def test_what_was_there_before_the_gateway_is_not_listed() -> None:
    platform = Platform()
    assert await platform.look() == await platform.look(LATE) == 0


@pytest.mark.parametrize("answer", [(429, FILLING), (500, b"no conversion")])
async def test_another_failure_says_nothing(platform: Platform, answer: tuple[int, bytes]) -> None:
    platform.answer = answer
    assert [await platform.look(), await platform.look()] == [1, 1]
    assert not platform.patched


async def test_the_condition_goes_with_its_cause(platform: Platform) -> None:
    platform.answer = 200, b'{"items":[]}'
    platform.conditions = [{"type": "Established"}, {"type": TYPE}]
    await platform.look()
    assert platform.patched == [("status", {"op": "remove", "path": "/status/conditions/1"})]


async def test_a_definition_without_room_gives_its_reserve(platform: Platform) -> None:
    platform.full = True
    await platform.look()
    await platform.look()
    assert {where for where, _ in platform.patched} == {"status"}
    platform.full = False
    await platform.look()
    assert platform.patched[-1][1]["value"]["type"] == TYPE
