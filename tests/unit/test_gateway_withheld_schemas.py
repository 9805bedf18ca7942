"""Definitions whose schemas are withheld, since nobody could list their objects by them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import NotFound
from lnamespace.gateway.controllers.withheld_schemas import HELD, LOOK, WithheldSchemas
from lnamespace.gateway.tenants.embedding_schemas import EmbeddingSchemas
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.tenants.watched_parts import KeptDefinition, PartReader
from lnamespace.model.lcluster import LCluster, LClusterSpec
from lnamespace.model.lnamespace import Metadata
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType

from tests.unit.support.translation import ACME, LABEL

CARTS = ResourceType(
    "shop.example.com", "carts", "Cart", namespaced=True, custom=True, versions=("v2", "v1")
)
GROUP = "acme-shop.example.com"
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
OPEN = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
FAILURE = b'{"message":"x.apiVersion: Invalid value: 5: must be a string"}'


def definition(plural: str = "carts", *, differs: bool = True, withheld: str = "") -> Any:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"x": EMBEDDED}}}
    versions: list[Any] = [{"name": "v1", "schema": OPEN}]
    if differs:
        versions.append({"name": "v2", "schema": schema, "selectableFields": [{"jsonPath": ".a"}]})
    conditions = [{"type": "Established", "status": "True"}]
    if withheld:
        condition = {"type": "SchemasWithheld", "status": "True", "lastTransitionTime": withheld}
        conditions.append(condition)
    metadata = {
        "name": f"{plural}.{GROUP}",
        "uid": plural,
        "generation": 1 + differs,
        "resourceVersion": "7",
        "labels": {LABEL: "acme"},
    }
    spec, status = {"versions": versions}, {"conditions": conditions}
    return {"metadata": metadata, "spec": spec, "status": status}


@dataclass
class Answer:
    status: int
    body: bytes

    async def take(self) -> bytes:
        part, self.body = self.body, b""
        return part

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Platform:
    """An API server with definitions, and the gateway's view of them."""

    failure: bytes = FAILURE
    slow: bool = False
    has_synced: bool = True
    served: bool = True
    clock: float = 1000.0
    there: dict[str, Any] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    patched: list[tuple[str, Sequence[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        cluster = LCluster(Metadata(name="acme"), LClusterSpec())
        tills = replace(CARTS, plural="tills", kind="Till")
        view = replace(ACME, resources=ResourceTable((CARTS, tills)))
        self.tenant = ServedTenant(cluster, view, {})
        self.tenant.namespaces.add("acme-default", terminating=False)
        self.embedding = EmbeddingSchemas(LABEL)
        self.schemas = WithheldSchemas(
            cast(Any, self), cast(Any, self), cast(Any, self.client), lambda: self.clock
        )

    @property
    def client(self) -> SimpleNamespace:
        return SimpleNamespace(get=self.read, patch_json=self.patch_json)

    def get(self, name: str) -> ServedTenant | None:
        return self.tenant if name == "acme" and self.served else None

    def put(self, found: Any) -> None:
        self.there[found["metadata"]["name"]] = found
        item = PartReader(LABEL).definition(msgspec.json.encode(found))
        self.embedding.change(item, KeptDefinition.of(item).state)

    def remove(self, plural: str) -> None:
        found = self.there.pop(f"{plural}.{GROUP}")
        self.embedding.change(PartReader(LABEL).definition(msgspec.json.encode(found)), None)

    async def send(self, _: str, target: str, *__: object) -> Answer:
        if (plural := target.partition("?")[0].rpartition("/")[2]) not in self.listed:
            self.listed.append(plural)
        if self.slow and "Selector" not in target:
            raise TimeoutError
        return Answer(500, self.failure) if self.failure else Answer(200, b'{"items":[]}')

    async def read(self, path: str) -> bytes:
        name = path.rpartition("/")[2]
        if name not in self.there:
            raise NotFound("gone", status=404)
        return msgspec.json.encode(self.there[name])

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        tests = [each for each in operations if each["op"] == "test"]
        changes = [each for each in operations if each not in tests]
        at = {"/metadata/resourceVersion": "7", "/spec/versions/0/name": "v1"}
        at["/spec/versions/1/name"] = "v2"
        assert all(at[each["path"]] == each["value"] for each in tests)
        self.patched.append((path.rpartition("/")[2], changes))
        return b"{}"

    async def look(self) -> list[tuple[str, Sequence[Any]]]:
        """Let it look once; return what it has written."""
        self.patched.clear()
        self.listed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await self.schemas.run()
        return self.patched


def later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_schemas_by_which_nobody_can_list_a_kind_are_withheld() -> None:
    platform = Platform()
    platform.put(definition())
    (name, opened), (status, told) = await platform.look()
    assert name == f"carts.{GROUP}"
    assert opened == [
        {"op": "replace", "path": "/spec/versions/1/schema", "value": OPEN},
        {"op": "remove", "path": "/spec/versions/1/selectableFields"},
    ]
    assert status == "status"
    assert told[0]["path"] == "/status/conditions/-"
    assert told[0]["value"]["type"] == "SchemasWithheld"


@pytest.mark.parametrize(
    "failure", [b"", b'{"message":"conversion webhook for a failed: no answer"}']
)
async def test_schemas_that_differ_are_kept_while_they_are_not_why_a_list_fails(
    failure: bytes,
) -> None:
    platform = Platform(failure)
    platform.put(definition())
    assert await platform.look() == []
    assert platform.listed == ["carts"]
    await platform.look()
    assert platform.listed == []
    platform.clock += LOOK
    await platform.look()
    assert platform.listed == ["carts"]


async def test_schemas_are_withheld_though_a_page_of_the_objects_takes_too_long() -> None:
    """With large objects before the one that is invalid no list ended in time."""
    platform = Platform(slow=True)
    platform.put(definition())
    assert await platform.look()


async def test_schemas_that_an_lcluster_leaves_behind_are_withheld() -> None:
    """By the token of a pod a value that is no object was stored when nobody looked any more."""
    platform = Platform(served=False, has_synced=False)
    platform.put(definition())
    for synced in (False, True):
        platform.has_synced = synced
        platform.clock += LOOK
        assert not await platform.look()
    platform.clock += LOOK
    assert await platform.look()
    assert platform.listed == []


async def test_after_one_was_withheld_others_of_its_lcluster_are_not_even_listed() -> None:
    """They were unlistable in turns: each for half a minute."""
    platform = Platform()
    platform.put(definition())
    await platform.look()
    platform.remove("carts")
    platform.put(definition("tills"))
    assert [name for name, _ in await platform.look()] == [f"tills.{GROUP}", "status"]
    assert platform.listed == []
    platform.clock += HELD
    platform.failure = b""
    assert await platform.look() == []


async def test_a_gateway_that_starts_anew_knows_what_was_withheld() -> None:
    platform = Platform()
    platform.put(definition(differs=False, withheld=later(-60)))
    platform.put(definition("tills"))
    assert [name for name, _ in await platform.look()] == [f"tills.{GROUP}", "status"]
    assert platform.listed == []


async def test_schemas_are_withheld_for_six_hours() -> None:
    platform = Platform()
    platform.put(definition(differs=False, withheld=later(60 - HELD)))
    assert await platform.look() == []
    platform.put(definition(differs=False, withheld=later(-HELD)))
    assert await platform.look() == [("status", [{"op": "remove", "path": "/status/conditions/1"}])]


async def test_others_schemas_and_definitions_of_nobody_are_left_alone() -> None:
    platform = Platform()
    platform.put(definition(differs=False))
    foreign = definition("tills")
    foreign["metadata"]["labels"] = {}
    platform.put(foreign)
    assert await platform.look() == []
    assert platform.listed == []
