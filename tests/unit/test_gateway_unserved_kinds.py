"""Kinds that are not served, since an object is stored in a version that they do not have."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import Conflict, NoRoom, TooLarge
from lnamespace.gateway.controllers.unserved_kinds import (
    AGAIN,
    EVERY,
    HELD_UP,
    LATE,
    TRIES,
    TYPE,
    UnservedKinds,
)
from lnamespace.gateway.tenants.tenant import ServedTenant
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
    versions: dict[str, bool] = field(default_factory=lambda: {"v2": True, "v3": False})
    stored: tuple[str, ...] = ("v2",)
    taken: bool = True
    full: bool = False
    listed: int = 0
    namespaces: bytes | Exception = b'{"items":[]}'
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

    async def read(self, path: str, **_: object) -> bytes:
        if path == "/api/v1/namespaces":
            if isinstance(self.namespaces, Exception):
                raise self.namespaces
            return self.namespaces
        versions = [{"name": name, "served": at} for name, at in self.versions.items()]
        metadata = {"resourceVersion": "7", "annotations": DEFINITION_ANNOTATIONS}
        status = {"conditions": self.conditions, "storedVersions": self.stored}
        return msgspec.json.encode(
            {"metadata": metadata, "spec": {"versions": versions}, "status": status}
        )

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        changes = [each for each in operations if each["op"] != "test"]
        if self.full and TYPE in str(changes):
            raise NoRoom("too large")
        self.patched += [(path.rpartition("/")[2], each) for each in changes]
        if not self.taken:
            raise Conflict("its tenant was first")
        for each in changes:
            self.change(each)
        return b"{}"

    def change(self, operation: Any) -> None:
        """Carry out an operation of a JSON patch."""
        if "/served" in operation["path"]:
            self.versions = dict.fromkeys(self.versions, False)
        elif operation["path"].startswith("/status/conditions/"):
            kept = [each for each in self.conditions if each["type"] != TYPE]
            self.conditions = kept + ([operation["value"]] if operation["op"] == "add" else [])

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
    (then, added), (where, unserved) = platform.patched
    assert (where, then) == (NAME, "status")
    assert unserved == {"op": "replace", "path": "/spec/versions/0/served", "value": False}
    assert (added["op"], added["value"]["type"]) == ("add", TYPE)
    assert added["value"]["message"].startswith("v1: ")


async def test_a_kind_that_lacks_another_version_too_names_both(platform: Platform) -> None:
    await platform.look()
    platform.answer = 500, MISSING.replace(b"/v1", b"/v1-a")
    platform.versions = {"v1": False, "v2": True}
    platform.generation += 1
    await platform.look()
    (condition,) = platform.conditions
    assert condition["message"].startswith("v1,v1-a: ")
    assert not any(platform.versions.values())


async def test_a_version_that_has_just_been_added_is_not_missing(platform: Platform) -> None:
    platform.versions = {"v1": False, "v2": True}
    await platform.look()
    assert not platform.patched


async def test_it_is_tried_again_where_its_tenant_writes_all_the_time(platform: Platform) -> None:
    platform.taken = False
    await platform.look()
    assert len(platform.patched) == TRIES
    platform.taken = True
    await platform.look()
    assert not any(platform.versions.values())


async def test_an_object_in_no_namespace_is_served_by_no_version(platform: Platform) -> None:
    """The API server lists it from etcd, and nothing of its kind from memory."""
    said = "unable to sync list result: couldn't compute key: Namespace parameter required."
    platform.answer = 429, f'{{"message":"storage is (re)initializing: {said}"}}'.encode()
    await platform.look()
    assert platform.conditions[0]["message"].startswith("-: ")
    assert not any(platform.versions.values())


async def test_an_object_that_nobody_can_read_is_served_by_no_version(platform: Platform) -> None:
    platform.answer = 500, b'{"message":"invalid character \'{\' exceeded max depth"}'
    await platform.look()
    assert platform.conditions[0]["message"].startswith("--: an object is nested so deeply")
    assert not any(platform.versions.values())


@pytest.mark.parametrize(
    ("namespaces", "seconds"),
    [
        (b'{"items":[]}', AGAIN),
        (b'{"items":[{"status":{"conditions":[{"message":"exceeded max depth"}]}}]}', HELD_UP),
        (TooLarge("many Namespaces"), HELD_UP),
    ],
)
async def test_each_is_listed_again_and_soon_where_a_namespace_stays(
    platform: Platform, namespaces: bytes | Exception, seconds: float
) -> None:
    """A program in a pod writes an object past the gateway at any time."""
    platform.answer = 200, b'{"items":[]}'
    looks = [await platform.look(each) for each in (EVERY, LATE)]
    platform.namespaces = namespaces
    looks += [await platform.look(each) for each in (seconds - 1, 1, 1)]
    assert looks == [1, 1, 0, 1, 0]


async def test_a_definition_is_listed_when_it_has_changed_and_when_no_creation_is_under_way(
    platform: Platform,
) -> None:
    platform.answer = 200, b'{"items":[]}'
    looks = [await platform.look(seconds) for seconds in (EVERY, EVERY, LATE, EVERY)]
    assert looks == [1, 0, 1, 0]
    platform.generation += 1
    assert await platform.look() == 1


async def test_what_was_there_before_the_gateway_is_listed_once() -> None:
    """A creation that was under way when no gateway ran had made a kind that nobody looked at."""
    platform = Platform(answer=(200, b'{"items":[]}'))
    looks = [await platform.look(seconds) for seconds in (EVERY, EVERY, LATE, LATE)]
    assert looks == [0, 0, 1, 0]


@pytest.mark.parametrize("answer", [(429, FILLING), (500, b"no conversion")])
async def test_another_failure_says_nothing(platform: Platform, answer: tuple[int, bytes]) -> None:
    platform.answer = answer
    assert [await platform.look(), await platform.look()] == [2, 2]
    assert not platform.patched


async def test_the_condition_goes_with_its_cause(platform: Platform) -> None:
    """Its version is a stored one from then on, so its tenant cannot take it out again at once."""
    platform.answer = 200, b'{"items":[]}'
    platform.conditions = [{"type": "Established"}, {"type": TYPE, "message": "v1: a"}]
    await platform.look()
    assert not platform.patched  # by the list of a moment before
    platform.versions = {"v1": False, "v2": True}
    await platform.look()
    assert platform.patched == [
        ("status", {"op": "remove", "path": "/status/conditions/1"}),
        ("status", {"op": "add", "path": "/status/storedVersions/-", "value": "v1"}),
    ]


async def test_a_definition_without_room_gives_its_reserve(platform: Platform) -> None:
    platform.full = True
    await platform.look()
    assert {where for where, _ in platform.patched} == {"status"}
    platform.full = False
    await platform.look()
    assert platform.conditions[-1]["type"] == TYPE
    assert not any(platform.versions.values())
