"""Times that the API server takes and that nobody can read again."""

import json
from time import process_time
from typing import Any

import pytest
from lnamespace.kube.media_types import JSON, JSON_PATCH, MERGE_PATCH
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME

LATE, EARLY = "9999-12-31T23:59:59-10:00", "0000-01-01T00:00:00+10:00"
CONFIG_MAP = ResourceType("", "configmaps", "ConfigMap", namespaced=True)
DEPLOYMENT = ResourceType("apps", "deployments", "Deployment", namespaced=True)
WIDGET = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
LEASE = ResourceType("coordination.k8s.io", "leases", "Lease", namespaced=True)
BUDGET = ResourceType("policy", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True)
MANAGED = "/metadata/managedFields/0"


def send(body: Any, resource: ResourceType = CONFIG_MAP, kind: str = MERGE_PATCH) -> None:
    """Translate a body; it is sent as it is if it is bytes."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    verb = "create" if kind == JSON else "patch"
    request = ResourceRequest(verb, resource, "v1", namespace="default", name="one")
    request_up(request, kind, sent, ACME)


def managed(time: Any) -> dict[str, Any]:
    """Return metadata whose managed fields have a time."""
    return {"metadata": {"name": "one", "managedFields": [{"manager": "a", "time": time}]}}


def condition(time: Any) -> dict[str, Any]:
    """Return a status with a time."""
    return {"status": {"conditions": [{"type": "A"}, {"lastTransitionTime": time}]}}


@pytest.mark.parametrize("time", [LATE, EARLY, "9999-12-30T23:30:00.5-24:59"])
@pytest.mark.parametrize("kind", [MERGE_PATCH, JSON])
def test_a_time_that_has_another_year_in_utc_is_refused(time: str, kind: str) -> None:
    for body, resource in (
        (managed(time), CONFIG_MAP),
        (managed(time), WIDGET),
        (condition(time), DEPLOYMENT),
        ({"status": {"disruptedPods": {"web": time}}}, BUDGET),
        ({"spec": {"tolerations": [{"timeAdded": time}]}}, DEPLOYMENT),
        ({"status": {"startedAt": time}}, DEPLOYMENT),
    ):
        with pytest.raises(Refused, match="write it in UTC") as refused:
            send(body, resource, kind)
        assert refused.value.status.code == 422


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", None, 5])
def test_other_times_are_left_to_the_api_server(time: Any) -> None:
    send(managed(time))
    send(condition(time), DEPLOYMENT, JSON)


def test_a_time_with_escapes_is_refused() -> None:
    """The text of a body need not have its digits."""
    for old, new in (("9", "\\u0039"), ("-", "\\u002D")):
        with pytest.raises(Refused, match="write it in UTC"):
            send(json.dumps(managed(LATE.replace(old, "#"))).replace("#", new).encode())
    send(rb'{"data": {"a": "\u003c\u0026"}}')


def test_the_first_of_two_values_of_a_key_counts_too() -> None:
    """The API server puts both together, so the time of the first one stays."""
    first = json.dumps({"spec": {"renewTime": LATE}})
    twice = first[:-1] + ', "spec": {}}'
    with pytest.raises(Refused, match="write it in UTC"):
        send(twice.encode(), LEASE, JSON)


def test_many_values_at_a_great_depth_are_read_in_a_moment() -> None:
    """For each of them the whole path was copied: 1 MB took four seconds."""
    deep = b"[" * 400 + b",".join([b"[]"] * 300_000) + b"]" * 400
    began = process_time()
    send(b'{"x": "\\u003c", "y": %b}' % deep, WIDGET)
    assert process_time() - began < 2


def test_what_only_a_tenant_reads_may_have_any_time() -> None:
    send({"data": {"a": LATE}})
    send({"metadata": {"annotations": {"note": LATE}}})
    send({"spec": {"startTime": LATE}}, WIDGET)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": f"{MANAGED}/time", "value": LATE},
        {"op": "add", "path": "/metadata/managedFields/-", "value": {"time": LATE}},
        {"op": "add", "path": "/status/conditions/0/lastTransitionTime", "value": LATE},
    ],
)
def test_a_json_patch_writes_no_such_time(operation: dict[str, str]) -> None:
    with pytest.raises(Refused, match="write it in UTC"):
        send([{"op": "test", "path": "/data/a", "value": "b"}, operation], DEPLOYMENT, JSON_PATCH)


@pytest.mark.parametrize("kind", ["move", "copy"])
@pytest.mark.parametrize(
    ("path", "source"),
    [
        (f"{MANAGED}/time", "/data/late"),
        (MANAGED, "/data"),
        ("/status/conditions/0/lastTransitionTime", "/spec/template/spec/nodeName"),
    ],
)
def test_a_json_patch_carries_no_text_into_a_time(kind: str, path: str, source: str) -> None:
    with pytest.raises(Refused, match="instead of carrying it there"):
        send([{"op": kind, "path": path, "from": source}], DEPLOYMENT, JSON_PATCH)


def test_a_json_patch_carries_one_time_to_another() -> None:
    path, source = f"{MANAGED}/time", "/metadata/managedFields/1/time"
    send([{"op": "copy", "path": path, "from": source}], CONFIG_MAP, JSON_PATCH)
