"""Definitions that are filled up to what etcd takes are deleted all the same."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import NotFound
from lnamespace.gateway.controllers.full_definitions import (
    AGAIN,
    EVERY,
    LARGE,
    FullDefinitions,
)
from lnamespace.gateway.objects import definition_deletions
from lnamespace.gateway.objects.definition_deletions import delete_definition
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.client import Client
from lnamespace.model.lnamespace import DeletionPolicy
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS, RESERVE

from tests.unit.support.structural import merged

LABEL = "tenancy.loblaw.digital/lcluster"
NAME = "carts.acme-shop.example.com"
PATH = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
LONG = "x" * LARGE
VERSION = {"name": "v1", "served": True, "storage": True}
EARLIER = {"name": "v1beta1", "served": True, "storage": False}
UNUSED = {"name": "v2", "served": True, "storage": False}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def definition(**changed: Any) -> dict[str, Any]:
    metadata = {
        "name": NAME,
        "resourceVersion": "7",
        "labels": {LABEL: "acme", "a": "b"},
        "annotations": {"a": "b", **DEFINITION_ANNOTATIONS},
        "finalizers": ["example.com/mine"],
        "managedFields": [{"manager": "kubectl"}],
    }
    spec = {
        "group": "acme-shop.example.com",
        "names": {"plural": "carts", "kind": "Cart", "shortNames": ["c"], "categories": ["all"]},
        "versions": [
            VERSION | {"schema": SCHEMA, "additionalPrinterColumns": [{"name": "a"}]},
            *({**each, "schema": SCHEMA} for each in (EARLIER, UNUSED)),
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1", "a"], "clientConfig": {"url": "b"}},
        },
    }
    conditions = [
        {"type": "Terminating", "status": "True", "reason": "ConversionFails", "message": "m"},
        {"type": "Terminating", "status": "False"},
        {"type": "Mine", "status": "True"},
        {"type": "Established", "status": "True"},
    ]
    status = {"conditions": conditions, "storedVersions": ["v1beta1", "v1"]}
    return {"metadata": metadata, "spec": spec, "status": status} | changed


@dataclass
class Stored:
    """An API server with one definition."""

    stored: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    async def get(self, path: str) -> bytes:
        self.asked.append(path)
        if path != PATH:
            raise NotFound("no such definition", status=404)
        return msgspec.json.encode(self.stored)

    async def patch(self, path: str, body: bytes) -> bytes:
        patch = msgspec.json.decode(body)
        assert ("status" in patch) == path.endswith("/status")
        self.stored = merged(self.stored, patch)
        return msgspec.json.encode(self.stored)


@dataclass(frozen=True)
class Spec:
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE


@dataclass(frozen=True)
class Cluster:
    spec: Spec = Spec()


@dataclass(frozen=True)
class Ending:
    name: str = "acme"
    terminating: bool = True
    cluster: Cluster = Cluster()


@dataclass
class Known:
    tenants: list[Ending]

    def __iter__(self) -> Any:
        return iter(self.tenants)

    def definitions_of(self, _name: str) -> frozenset[str]:
        return frozenset({NAME, "tills.beta-shop.example.com"})


async def looked(tenant: Ending, server: Stored, *times: float) -> None:
    now = 0.0
    known = cast(Any, Known([tenant]))
    full = FullDefinitions(known, cast("Client", server), LABEL, lambda: now)
    for now in times:  # noqa: B007
        await full.look()


@pytest.mark.parametrize(
    "changed",
    [
        {"filler": LONG},
        {"metadata": definition()["metadata"] | {"annotations": {"a": LONG}}},
    ],
)
async def test_a_large_definition_of_a_deleted_lcluster_keeps_nothing_of_its_tenant(
    changed: dict[str, Any],
) -> None:
    server = Stored(definition(**changed))
    reserve = server.stored["metadata"]["annotations"].keys() & {RESERVE}
    await looked(Ending(), server, 0, EVERY)
    metadata, spec = server.stored["metadata"], server.stored["spec"]
    assert metadata["labels"] == {LABEL: "acme"}
    assert metadata["annotations"].keys() == reserve
    assert metadata["finalizers"] == ["example.com/mine"], "whoever waits for it still does"
    assert metadata["managedFields"] == [{}]
    assert spec["names"] == {"plural": "carts", "kind": "Cart"}
    versions = [each | {"schema": SCHEMA} for each in (VERSION, EARLIER)]
    assert spec["versions"] == versions, "those in which no object is stored can be thousands"
    assert spec["conversion"] == {"strategy": "None"}, "lists and paths of a webhook are long too"
    conditions = server.stored["status"]["conditions"]
    assert {each["type"]: (each["status"], each.get("reason", "")) for each in conditions} == {
        "Terminating": ("True", "ConversionFails"),
        "Established": ("True", ""),
    }


async def test_a_definition_of_any_other_size_or_lcluster_is_left_alone() -> None:
    small, large = Stored(definition()), Stored(definition(filler=LONG))
    await looked(Ending(), small, 0, EVERY)
    assert small.asked == [PATH]
    assert small.stored == definition()
    retained = Cluster(Spec(DeletionPolicy.RETAIN))
    for tenant in (Ending(terminating=False), replace(Ending(), cluster=retained)):
        await looked(tenant, large, 0, EVERY, AGAIN)
    assert large.asked == []


async def test_a_definition_is_left_to_the_controller_for_some_seconds() -> None:
    server = Stored(definition())
    await looked(Ending(), server, 0, EVERY - 1)
    assert server.asked == []
    await looked(Ending(), server, 0, EVERY, EVERY * 2, EVERY + AGAIN)
    assert len(server.asked) == 2


def answered(status: int, message: str) -> tuple[UpstreamResponse, bytes]:
    response = cast(Any, type("Response", (), {"status": status}))
    return response, msgspec.json.encode({"message": message})


FULL = answered(500, "etcdserver: request is too large")


@pytest.mark.parametrize(
    ("answers", "done"),
    [
        pytest.param([answered(200, "")], [], id="it has room"),
        pytest.param([answered(500, "etcdserver: no leader")], [], id="another failure"),
        pytest.param([FULL, answered(200, "")], ["make_room"], id="full"),
        pytest.param([FULL, FULL, answered(200, "")], ["make_room"] * 2, id="changed meanwhile"),
        pytest.param([FULL, answered(409, "")], ["make_room", "unmark"], id="refused then"),
        pytest.param([FULL] * 6, [*["make_room"] * 5, "unmark"], id="full all the same"),
    ],
)
async def test_a_full_definition_is_given_room_when_its_tenant_deletes_it(
    answers: list[Any], done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    async def changed(_client: Client, name: str, what: str) -> bool:
        assert name == NAME
        calls.append(what)
        return True

    for what in ("make_room", "unmark"):
        monkeypatch.setattr(
            definition_deletions, what, lambda client, name, what=what: changed(client, name, what)
        )
    left = list(answers)

    async def send() -> Any:
        return left.pop(0)

    answer = await delete_definition(cast("Client", None), NAME, send)
    assert answer == answers[-1]
    assert not left
    assert calls == done
