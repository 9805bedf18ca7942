"""A definition that its tenant filled up to what etcd takes is marked all the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jsonpatch
import msgspec
import pytest
from lnamespace.errors import ClusterError, NoRoom, NotFound, ServerFault
from lnamespace.gateway.definitions.conversion_marks import (
    REASON,
    TYPE,
    make_room,
    mark,
    unmark,
)
from lnamespace.gateway.tenants.watched_parts import KeptDefinition, PartReader
from lnamespace.kube.client import Client
from lnamespace.translate.objects.definition_reserve import (
    DEFINITION_ANNOTATIONS,
    RESERVE,
    RESERVED,
)

NAME = "carts.acme-shop.example.com"
PATH = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
ESTABLISHED = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}
OWNED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:versions": {}}}, "pad": "x" * RESERVED}]
OF_GATEWAY = {
    "manager": "lnamespace-gateway-5dd9f7c8b4-x2x9z",
    "operation": "Update",
    "apiVersion": "apiextensions.k8s.io/v1",
    "time": "2026-07-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:status": {
            "f:conditions": {
                'k:{"type":"Terminating"}': {
                    ".": {},
                    **{
                        f"f:{key}": {}
                        for key in ("lastTransitionTime", "message", "reason", "status", "type")
                    },
                }
            }
        }
    },
    "subresource": "status",
}
"""What the API server keeps about a write of the gateway, which is in the object too."""


def definition(*conditions: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"resourceVersion": "7"} | metadata,
        "status": {"conditions": [ESTABLISHED, *conditions]},
    }


MARKED = {
    "type": TYPE,
    "status": "True",
    "reason": REASON,
    "message": "the conversion webhook fails",
    "lastTransitionTime": "now",
}
RESERVED_ONE = definition(annotations={"a": "b", **DEFINITION_ANNOTATIONS})


@dataclass
class Etcd:
    """An API server with one definition, and so much room for it."""

    stored: dict[str, Any]
    room: int = 0
    limit: int = field(init=False)
    fault: ClusterError | None = None
    asked: int = 0

    def __post_init__(self) -> None:
        self.limit = len(msgspec.json.encode(self.stored)) + self.room

    async def get(self, path: str) -> bytes:
        if path != PATH:
            raise NotFound("no such definition", status=404)
        return msgspec.json.encode(self.stored)

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        assert path == f"{PATH}/status"
        self.asked += 1
        if self.fault:
            raise self.fault
        changed = jsonpatch.apply_patch(self.stored, operations)
        reset = changed["metadata"].get("managedFields") == [{}]
        kept = changed | {"managed": None if reset else OF_GATEWAY}
        if reset:
            del changed["metadata"]["managedFields"]
        if len(msgspec.json.encode(kept)) > self.limit:
            raise NoRoom("etcdserver: request is too large", status=500)
        self.stored = changed
        return b"{}"

    @property
    def client(self) -> Client:
        return cast("Client", self)

    @property
    def message(self) -> str:
        """Return the message of the mark; empty without one."""
        marks = [each for each in self.stored["status"]["conditions"] if each["type"] == TYPE]
        assert all(each["reason"] == REASON and each["status"] == "True" for each in marks)
        return marks[0]["message"] if marks else ""

    @property
    def reserved(self) -> bool:
        found = self.stored["metadata"].get("annotations", {})
        return bool(found.get(RESERVE) == DEFINITION_ANNOTATIONS[RESERVE])


@pytest.mark.parametrize(("room", "words", "reserved"), [(4096, True, True), (0, False, False)])
async def test_a_full_definition_is_marked_in_place_of_its_reserve(
    room: int, words: bool, reserved: bool
) -> None:
    etcd = Etcd(RESERVED_ONE, room)
    await mark(etcd.client, NAME, "no mapping " * 100)
    assert etcd.message
    assert ("no mapping" in etcd.message) == words
    assert etcd.reserved == reserved


@pytest.mark.parametrize("room", [0, 4096])
async def test_a_definition_gives_its_reserve_for_its_deletion(room: int) -> None:
    etcd = Etcd(RESERVED_ONE, room)
    assert await make_room(etcd.client, NAME)
    assert etcd.message
    assert not etcd.reserved
    assert not await make_room(etcd.client, NAME), "it was marked before"


async def test_a_marked_definition_that_was_filled_since_gives_its_managed_fields() -> None:
    etcd = Etcd(definition(MARKED, managedFields=OWNED))
    assert not await make_room(etcd.client, NAME)
    assert "managedFields" not in etcd.stored["metadata"]
    etcd = Etcd(definition(MARKED))
    with pytest.raises(NoRoom):
        await make_room(etcd.client, NAME)


async def test_a_definition_with_room_keeps_its_reserve_when_the_api_server_fails() -> None:
    """Any failure was taken for a lack of room: the reserve went, and the webhook's words."""
    etcd = Etcd(RESERVED_ONE, 4096, fault=ServerFault("etcdserver: leader changed", status=500))
    with pytest.raises(ServerFault):
        await mark(etcd.client, NAME, "no mapping")
    assert etcd.asked == 1


@pytest.mark.parametrize("annotations", [{"a": "b"}, {}])
async def test_the_reserve_is_there_again_when_the_mark_goes(annotations: dict[str, str]) -> None:
    etcd = Etcd(definition(annotations={**annotations, **DEFINITION_ANNOTATIONS}))
    etcd.limit += len(msgspec.json.encode({"managed": OF_GATEWAY}))
    before = etcd.stored
    await mark(etcd.client, NAME, "no mapping " * 50)
    assert not etcd.reserved
    await unmark(etcd.client, NAME)
    assert etcd.stored == before


@pytest.mark.parametrize(
    ("metadata", "room"),
    [
        pytest.param({}, 4096, id="no annotations"),
        pytest.param({"annotations": {"a": "b"}}, 4096, id="annotations"),
        pytest.param({"managedFields": OWNED * 3}, 0, id="no room but for managed fields"),
    ],
)
async def test_a_definition_that_gave_its_reserve_has_it_again_when_the_mark_goes(
    metadata: dict[str, Any], room: int
) -> None:
    etcd = Etcd(definition(MARKED, **metadata), room)
    await unmark(etcd.client, NAME)
    assert etcd.reserved
    assert not etcd.message
    kept = {key: each for key, each in etcd.stored["metadata"]["annotations"].items() if key == "a"}
    assert kept == metadata.get("annotations", {})


@pytest.mark.parametrize(("conditions", "marked"), [([], ""), ([MARKED], "now")])
def test_a_watch_keeps_when_a_definition_was_marked(conditions: list[Any], marked: str) -> None:
    raw = msgspec.json.encode(definition(*conditions, name=NAME))
    assert KeptDefinition.of(PartReader("label").definition(raw)).marked == marked
