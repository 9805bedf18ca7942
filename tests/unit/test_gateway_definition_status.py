"""What a tenant's write of a definition's status leaves as the API server has it."""

import asyncio
import json
from typing import Any

import pytest
from lnamespace.gateway.objects.definition_status import KeptStatus
from lnamespace.kube.media_types import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
)

from tests.unit.support.forwarded import forwarding
from tests.unit.support.server import DEADLINE

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.{}example.com"
ESTABLISHED, ACCEPTED, MARK = (
    {"type": kind, "status": "True", "reason": "r"}
    for kind in ("Established", "NamesAccepted", "Terminating")
)
MINE, NEVER = {"type": "Mine", "status": "True"}, {"type": "Established", "status": "False"}
NAMES = {"plural": "as", "kind": "A"}
OTHERS = {"plural": "bs", "kind": "B"}
KEPT = KeptStatus(NAMES, (ACCEPTED, ESTABLISHED))
ALL = [MINE, ACCEPTED, ESTABLISHED]


def written(media_type: str, body: Any, kept: KeptStatus = KEPT) -> Any:
    """Return what is sent upstream."""
    return json.loads(kept.in_body(media_type, json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("conditions", "sent"),
    [
        pytest.param([MINE], ALL, id="replaced"),
        pytest.param([], [ACCEPTED, ESTABLISHED], id="removed"),
        pytest.param(None, [ACCEPTED, ESTABLISHED], id="null"),
        pytest.param([NEVER, MINE], [ESTABLISHED, MINE, ACCEPTED], id="changed"),
        pytest.param([NEVER, NEVER, MINE], [ESTABLISHED, MINE, ACCEPTED], id="written twice"),
        pytest.param([{"message": "m"}], [{"message": "m"}, ACCEPTED, ESTABLISHED], id="no type"),
        pytest.param(["a", {"type": {}}], ["a", {"type": {}}, ACCEPTED, ESTABLISHED], id="no one"),
        pytest.param("a", "a", id="no list"),
    ],
)
@pytest.mark.parametrize("media_type", [JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
def test_conditions_of_the_api_server_stay(media_type: str, conditions: Any, sent: Any) -> None:
    """A spec of Kubernetes' conformance replaces all by its own, and was refused."""
    body = {"metadata": {"name": "a"}, "status": {"conditions": conditions}}
    found = written(media_type, body)
    assert found["metadata"] == {"name": "a"}
    assert found["status"]["conditions"] == sent


def test_conditions_that_are_unchanged_keep_their_order() -> None:
    body = {"status": {"conditions": [ESTABLISHED, MINE, ACCEPTED], "acceptedNames": NAMES}}
    assert written(JSON, body) == body


def test_several_conditions_of_a_type_stay_as_they_are() -> None:
    kept = KeptStatus(NAMES, (ESTABLISHED, NEVER))
    body = {"status": {"conditions": [MINE, NEVER]}}
    assert written(MERGE_PATCH, body, kept)["status"]["conditions"] == [MINE, ESTABLISHED, NEVER]


def test_a_definition_that_is_new_has_no_condition_that_stays() -> None:
    body = {"status": {"conditions": [NEVER, MINE]}}
    assert written(MERGE_PATCH, body, KeptStatus())["status"]["conditions"] == [MINE]


@pytest.mark.parametrize(
    ("media_type", "status", "sent"),
    [
        (JSON, {"storedVersions": ["v1"]}, {"storedVersions": ["v1"], "acceptedNames": NAMES}),
        (JSON, {"acceptedNames": OTHERS}, {"acceptedNames": NAMES}),
        (MERGE_PATCH, {"acceptedNames": OTHERS, "a": 1}, {"a": 1}),
        (MERGE_PATCH, {"acceptedNames": None}, {}),
        (APPLY_PATCH, {"acceptedNames": OTHERS}, {}),
    ],
)
def test_the_accepted_names_stay(media_type: str, status: Any, sent: Any) -> None:
    found = written(media_type, {"status": status}, KeptStatus(NAMES))["status"]
    assert found == sent | ({"conditions": []} if media_type == JSON else {})


@pytest.mark.parametrize("media_type", [JSON, MERGE_PATCH, APPLY_PATCH])
@pytest.mark.parametrize("body", [{}, {"status": None}, {"status": "a"}])
def test_a_body_without_a_status_is_sent_as_it_is(media_type: str, body: Any) -> None:
    assert written(media_type, body) == body


def test_an_apply_says_nothing_of_what_stays() -> None:
    """Its manager would own it, and later remove it by leaving it out."""
    body = {"status": {"conditions": [NEVER, MINE], "acceptedNames": OTHERS}}
    assert written(APPLY_PATCH, body) == {"status": {"conditions": [MINE]}}


WHOLE = {"conditions": [MINE], "acceptedNames": OTHERS, "storedVersions": ["v1"]}
WHOLE_SENT = WHOLE | {"conditions": ALL, "acceptedNames": NAMES}


@pytest.mark.parametrize(
    ("op", "path", "value", "sent"),
    [
        ("add", "/status/conditions", [MINE], ("replace", ALL)),
        ("replace", "/status/conditions", [MINE], ("replace", ALL)),
        ("remove", "/status/conditions", None, ("replace", [ACCEPTED, ESTABLISHED])),
        ("test", "/status/conditions", [MINE], ("test", [MINE])),
        ("add", "/status/conditions/-", MINE, ("add", MINE)),
        ("replace", "/status", WHOLE, ("replace", WHOLE_SENT)),
        ("add", "", {"status": WHOLE}, ("add", {"status": WHOLE_SENT})),
        ("add", "", {"spec": {}}, ("add", {"spec": {}})),
        ("replace", "/status/acceptedNames", OTHERS, None),
        ("remove", "/status/acceptedNames/plural", None, None),
        ("test", "/status/acceptedNames", OTHERS, ("test", OTHERS)),
        ("add", "/metadata/labels/acceptedNames", "a", ("add", "a")),
    ],
)
def test_operations_leave_what_stays(op: str, path: str, value: Any, sent: Any) -> None:
    made = {"op": op, "path": path} | ({} if value is None else {"value": value})
    found = written(JSON_PATCH, [made])
    assert [(each["op"], each.get("value")) for each in found] == ([sent] if sent else [])
    assert [each["path"] for each in found] == ([path] if sent else [])


def test_an_operation_that_carries_conditions_elsewhere_is_sent_as_it_is() -> None:
    copied = {"op": "copy", "from": "/status/conditions/0", "path": "/status/conditions"}
    assert written(JSON_PATCH, [copied]) == [copied]


@pytest.mark.parametrize("stored", [[ACCEPTED, ESTABLISHED, MARK], None])
async def test_a_write_of_the_status_is_sent_with_what_is_stored(stored: Any) -> None:
    """The platform's mark, in place of the room for it, stays too."""
    body = json.dumps({"status": {"conditions": [MINE]}}).encode()
    async with forwarding() as tenant:
        asked = tenant.ask("PATCH", f"{PATH.format('')}/status", body, content_type=MERGE_PATCH)
        read = await tenant.platform.next("GET")
        assert read.path == PATH.format("acme-")
        metadata = {"name": "as.acme-example.com"}
        found = {"metadata": metadata, "status": {"conditions": stored, "acceptedNames": NAMES}}
        read.answer(found)
        sent = await tenant.platform.next("PATCH")
        assert sent.json["status"] == {"conditions": [MINE, *(stored or ())]}
        sent.answer(found)
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 200


async def test_a_write_of_a_definition_that_is_not_there_is_refused_by_the_api_server() -> None:
    async with forwarding() as tenant:
        target = f"{PATH.format('')}/status"
        asked = tenant.ask("PATCH", target, b'{"status":{}}', content_type=MERGE_PATCH)
        (await tenant.platform.next("GET")).refuse(404, "NotFound")
        (await tenant.platform.next("PATCH")).refuse(404, "NotFound")
        async with asyncio.timeout(DEADLINE):
            assert (await asked).status == 404
