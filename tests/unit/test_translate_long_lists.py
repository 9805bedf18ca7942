"""Long lists are translated in steps, and come down as others do."""

from collections.abc import Generator
from typing import Any

import msgspec
import pytest
from lnamespace.nesting import at_any_depth
from lnamespace.translate.bodies import long_lists
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.bodies.long_lists import LONG_ANSWER, answer_down_in_steps
from lnamespace.translate.protocol.request import ResourceRequest

from tests.unit.support.translation import ACME, LABEL, asked

PAD = "x" * 5000
DEEP = b'{"f:a":' * 3000 + b"{}" + b"}" * 3000


def run(steps: Generator[None, None, bytes]) -> tuple[bytes, int]:
    """Return what steps come to, and how many there are."""
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bytes(end.value), count
        count += 1


def items(plural: str, name: str) -> list[dict[str, Any]]:
    made = []
    for number in range(200):
        meta: dict[str, Any] = {"name": f"{name}{number}"}
        if asked(plural).resource.namespaced:
            meta["namespace"] = "acme-prod"
        else:
            meta["labels"] = {LABEL: name.partition("-")[0]}
        made.append({"metadata": meta, "data": {"key": PAD}})
    return made


def listed(kind: str, objects: Any) -> bytes:
    meta = {"resourceVersion": "5", "remainingItemCount": 3, "selfLink": "x"}
    return msgspec.json.encode(
        {"kind": kind, "apiVersion": "v1", "metadata": meta, "items": objects}
    )


def table(objects: list[Any]) -> bytes:
    """Return a table of objects, whose first cells are their names."""
    rows = [
        {"cells": [each["metadata"]["name"], PAD], "object": each} if "metadata" in each else each
        for each in objects
    ]
    columns = [{"name": "Name"}, {"name": "Data"}]
    meta = {"resourceVersion": "5"}
    return msgspec.json.encode(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": columns,
            "rows": rows,
        }
    )


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (asked("configmaps", "list"), listed("ConfigMapList", items("configmaps", "a"))),
        (
            asked("configmaps", "list", namespace=""),
            listed("ConfigMapList", items("configmaps", "a")) + b"\n",
        ),
        (
            asked("clusterroles", "list"),
            listed(
                "ClusterRoleList",
                [*items("clusterroles", "acme-a"), *items("clusterroles", "beta-b")],
            ),
        ),
        (asked("configmaps", "list"), table(items("configmaps", "a"))),
        (
            asked("clusterroles", "list"),
            table([*items("clusterroles", "acme-a"), *items("clusterroles", "beta-b")]),
        ),
        (asked("configmaps", "list"), table([]) + b" " * LONG_ANSWER),
        (asked("configmaps", "list"), table(["x" * LONG_ANSWER])),
        (asked("configmaps", "get", name="a"), listed("ConfigMap", None)),
        (asked("configmaps", "list"), listed("ConfigMapList", None) + b" " * LONG_ANSWER),
        (asked("configmaps", "list"), listed("ConfigMapList", []) + b" " * LONG_ANSWER),
        (asked("configmaps", "list"), listed("ConfigMapList", ["x" * LONG_ANSWER])),
        (asked("configmaps", "list"), listed("ConfigMapList", ["x" * LONG_ANSWER]) + b"\n"),
        (
            asked("configmaps", "list"),
            listed("ConfigMapList", items("configmaps", "a"))[:-1] + b',"more":[]}\n',
        ),
    ],
)
def test_a_long_list_is_translated_in_steps_to_the_same_result(
    request_: ResourceRequest, body: bytes
) -> None:
    found, _ = run(answer_down_in_steps(request_, body, ACME))
    assert found == answer_down(request_, body, ACME)
    assert found.count(f'"{PAD}"'.encode()) in (0, 200, 400)


def test_a_deeply_nested_object_does_not_fail_a_long_list() -> None:
    objects = items("configmaps", "a")
    objects[7]["metadata"]["managedFields"] = [{"manager": "x", "fieldsV1": msgspec.Raw(DEEP)}]
    body, request = listed("ConfigMapList", objects), asked("configmaps", "list")
    found, _ = run(answer_down_in_steps(request, body, ACME))
    assert found == answer_down(request, body, ACME)
    names = [each["metadata"]["name"] for each in at_any_depth(msgspec.json.decode, found)["items"]]
    assert len(names) == 200


@pytest.mark.parametrize(("name", "cost"), [("acme", 1), ("a", 4)])
def test_other_tasks_run_between_the_steps_of_a_long_list(name: str, cost: int) -> None:
    """Objects of which only the namespace is translated take a quarter of the time, or less."""
    body, request = listed("ConfigMapList", items("configmaps", name)), asked("configmaps", "list")
    _, steps = run(answer_down_in_steps(request, body, ACME))
    assert steps >= len(body) // LONG_ANSWER // cost
    _, steps = run(answer_down_in_steps(request, listed("ConfigMapList", []), ACME))
    assert steps == 0


def test_other_tasks_run_between_the_rows_of_a_long_table() -> None:
    """Clients like kubectl ask for tables: one of 20,000 rows took a second in one step."""
    body = table(items("configmaps", "acme"))
    _, steps = run(answer_down_in_steps(asked("configmaps", "list"), body, ACME))
    assert steps >= len(body) // LONG_ANSWER


def test_other_tasks_run_between_objects_that_take_long_to_translate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """500 Events whose messages repeat the prefix were six steps, of seconds."""
    now = iter(range(10_000))
    monkeypatch.setattr(long_lists, "perf_counter", lambda: float(next(now)))
    meta = {"name": "e", "namespace": "acme-prod"}
    events = [{"metadata": meta, "message": " acme-" * 90}] * 100
    for body in (listed("EventList", events), table(events)):
        _, steps = run(answer_down_in_steps(asked("events", "list"), body, ACME))
        assert steps >= 50
