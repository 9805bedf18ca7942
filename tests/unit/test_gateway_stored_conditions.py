"""Stored webhooks and policies of tenants get the present match condition."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import ClusterError, Conflict, NoRoom, NotFound
from lnamespace.gateway.controllers.stored_conditions import NEVER, StoredConditions
from lnamespace.kube.answers import error_of
from lnamespace.kube.client import Client
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.admission import (
    CONDITION,
    expression,
    mutating_expression,
)

LABEL = "tenancy.loblaw.digital/lcluster"
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PRESENT = mutating_expression(TenantView("acme"))
OF_WEBHOOKS = expression(TenantView("acme"))
OWN = {"name": "mine", "expression": f"{PRESENT} ? (\ntrue\n) : false"}


@dataclass
class Stored:
    """An API server with some objects, one on each page."""

    objects: dict[str, list[dict[str, Any]]]
    refused: frozenset[str] = frozenset()
    discovery: dict[str, Any] = field(default_factory=dict)
    patched: dict[str, Sequence[Any]] = field(default_factory=dict)
    fault: ClusterError | None = None

    async def get(self, path: str, **params: str) -> bytes:
        if path in self.discovery:
            return msgspec.json.encode(self.discovery[path])
        if path not in self.objects:
            raise NotFound("no such kind", status=404)
        assert params["labelSelector"] == LABEL
        at = int(params.get("continue") or 0)
        items = self.objects[path]
        more = str(at + 1) if at + 1 < len(items) else ""
        page = {"metadata": {"continue": more}, "items": items[at : at + 1]}
        return msgspec.json.encode(page)

    async def patch_json(self, path: str, operations: Sequence[Any]) -> bytes:
        self.patched[path] = operations
        if path in self.refused:
            raise Conflict("the test failed", status=422)
        if self.fault and operations[-1]["value"] != NEVER:
            raise self.fault
        return b"{}"


def stored(name: str, tenant: str = "acme", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {LABEL: tenant}, "resourceVersion": "1"}} | fields


def policy(name: str, *conditions: dict[str, str], tenant: str = "acme") -> dict[str, Any]:
    return stored(name, tenant, spec={"matchConditions": list(conditions)})


def condition(text: str = PRESENT) -> dict[str, str]:
    return {"name": CONDITION, "expression": text}


async def renewed(upstream: Stored) -> dict[str, Sequence[Any]]:
    conditions = StoredConditions(cast("Client", upstream), LABEL)
    with suppress(TimeoutError):
        await asyncio.wait_for(conditions.run(), 0.05)
    return upstream.patched


async def test_the_condition_of_an_earlier_version_is_replaced_and_no_other() -> None:
    policies = [
        policy("acme-old", OWN, condition("true")),
        policy("acme-new", OWN, condition()),
        policy("acme-none"),
        policy("beta-mislabelled", condition("true")),
    ]
    webhooks = [
        stored(
            "acme-hook",
            webhooks=[
                {"matchConditions": [condition(OF_WEBHOOKS)]},
                {"matchConditions": [condition("1 == 1")]},
            ],
        )
    ]
    patched = await renewed(Stored({POLICIES: policies, WEBHOOKS: webhooks}))
    of_policy, of_webhook = (
        "/spec/matchConditions/1/expression",
        "/webhooks/1/matchConditions/0/expression",
    )
    assert patched == {
        f"{POLICIES}/acme-old": [
            {"op": "test", "path": of_policy, "value": "true"},
            {"op": "replace", "path": of_policy, "value": PRESENT},
        ],
        f"{WEBHOOKS}/acme-hook": [
            {"op": "test", "path": of_webhook, "value": "1 == 1"},
            {"op": "replace", "path": of_webhook, "value": OF_WEBHOOKS},
        ],
    }


async def test_a_condition_of_the_tenant_is_evaluated_for_its_own_requests_only() -> None:
    """An earlier version stored it as it was written, or in its own condition of that time."""
    plain = {"name": "mine", "expression": "a > 1"}
    earlier = {"name": "mine", "expression": "1 == 1 ? (\na > 1\n) : false"}
    for stored_before in (plain, earlier):
        policies = [policy("acme-a", stored_before, condition())]
        (operations,) = (await renewed(Stored({POLICIES: policies}))).values()
        assert operations[-1]["value"] == f"{PRESENT} ? (\na > 1\n) : false"
        full = Stored({POLICIES: policies}, fault=NoRoom("too large", status=500))
        (operations,) = (await renewed(full)).values()
        assert [each["value"] for each in operations if each["op"] == "replace"] == [NEVER, NEVER]


async def test_a_conflict_on_an_object_stops_no_other_object() -> None:
    policies = [policy(f"acme-{number}", condition("true")) for number in range(3)]
    upstream = Stored({POLICIES: policies}, frozenset({f"{POLICIES}/acme-0"}))
    assert len(await renewed(upstream)) == 3


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("etcdserver: request is too large", NEVER),
        (
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max",
            NEVER,
        ),
        ("etcdserver: leader changed", mutating_expression(TenantView("acme"))),
    ],
)
async def test_an_object_without_room_for_the_condition_is_asked_about_nothing(
    said: str, left: str
) -> None:
    """Its tenant filled it up to what etcd takes, and it did what an earlier version let it do."""
    fault = error_of(500, msgspec.json.encode({"message": said}))
    patched = await renewed(Stored({POLICIES: [policy("acme-a", condition("true"))]}, fault=fault))
    assert patched[f"{POLICIES}/acme-a"][-1]["value"] == left


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
async def test_the_condition_is_replaced_in_the_version_that_is_served(version: str) -> None:
    """Kubernetes 1.30 to 1.35 have no MutatingAdmissionPolicies in v1."""
    group, _, plural = POLICIES.partition("/v1")
    served = f"{group}/{version}{plural}"
    discovery: dict[str, Any] = {
        group: {"versions": [{"version": "v1"}, {"version": "v1beta2"}, {"version": version}]},
        f"{group}/v1beta2": {"resources": [{"name": "others"}]},
        f"{group}/{version}": {"resources": [{"name": plural.strip("/")}]},
    }
    upstream = Stored({served: [policy("acme-old", condition("true"))]}, discovery=discovery)
    assert list(await renewed(upstream)) == [f"{served}/acme-old"]
