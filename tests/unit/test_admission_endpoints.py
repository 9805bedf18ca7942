"""The endpoints answer reviews with the payers, the time and the cluster of the moment."""

import asyncio
import base64
import contextlib
import json
import logging
import threading
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import Any

import jsonpatch
import pytest
from lnamespace.admission.decisions.decision import Policy
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.admission.endpoints import ADMISSION_MAX, AdmissionEndpoints, CreationLimit
from lnamespace.admission.inheritance import NO_HOME, HomeLNamespace
from lnamespace.admission.threads import in_thread
from lnamespace.errors import ReviewError
from lnamespace.metrics.webhook import ENDPOINTS
from lnamespace.model.billing import Charge
from lnamespace.payers.entries import Entry, Fallback, Payers, Requester
from lnamespace.payers.file import PayersFile
from lnamespace.payers.patterns import compile_pattern
from lnamespace.settings import Settings

from tests.unit.support.admission import ABSENT, ALICE, NAMES, Json, manifest
from tests.unit.support.server import client_of, serving
from tests.unit.support.strategies import NOW


@dataclass
class World:
    """The endpoints, and what they were asked and did."""

    payers: Payers = field(default_factory=Payers)
    inherited: Charge | None = None
    listed: bool = True
    found: frozenset[str] | None = frozenset()
    asked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    async def home_of(self, username: str) -> HomeLNamespace:
        home = Requester(username).home
        self.asked.append(home)
        return HomeLNamespace(home, self.inherited, self.listed) if home else NO_HOME

    async def record(self, request: AdmissionRequest) -> None:
        self.deleted.append(request.name)

    def endpoints(self) -> AdmissionEndpoints:
        return AdmissionEndpoints(
            Policy(NAMES),
            payers=lambda: self.payers,
            home_of=self.home_of,
            directory=lambda _, __: self.found,
            record_deletion=self.record,
            clock=lambda: NOW,
            on_decision=lambda path, found: self.refused.append(path) if found.errors else None,
        )


def test_every_endpoint_has_metrics_from_the_start() -> None:
    assert tuple(one.path for one in World().endpoints().all()) == ENDPOINTS


def review(spec: Any = ABSENT, user: str = ALICE, operation: str = "CREATE", **more: Any) -> Json:
    kind = {"group": NAMES.group, "version": "v1beta1", "kind": "LNamespace"}
    request = {
        "uid": "r-1",
        "kind": kind,
        "operation": operation,
        "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": manifest(spec),
    }
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request | more,
    }


async def ask(endpoints: AdmissionEndpoints, path: str, sent: Json) -> Json:
    (endpoint,) = [e for e in endpoints.all() if e.path == path]
    answer = json.loads(await endpoint.answer(json.dumps(sent).encode()))
    response: Json = answer["response"]
    assert response["uid"] == sent["request"]["uid"]
    return response


async def through(endpoints: AdmissionEndpoints, sent: Json, suffix: str = "") -> tuple[Json, Json]:
    """Return what the API server does: mutation, then validation of what came of it."""
    answer = await ask(endpoints, f"/mutate{suffix}", sent)
    assert answer["allowed"], answer
    patch = json.loads(base64.b64decode(answer.get("patch", "W10=")))
    changed = jsonpatch.apply_patch(sent["request"]["object"], patch)
    again = sent | {"request": sent["request"] | {"object": changed}}
    return changed, await ask(endpoints, f"/validate{suffix}", again)


def test_every_path_of_the_webhook_configurations_is_served() -> None:
    found = {endpoint.path: endpoint for endpoint in World().endpoints().all()}
    assert list(found) == [
        "/mutate",
        "/mutate-administrator",
        "/validate",
        "/validate-administrator",
        "/depart",
        "/convert",
    ]
    # etcd takes objects of 1.5 MiB, and an update shows two; a list has many.
    assert all(endpoint.max_bytes >= ADMISSION_MAX > 3 * 2**20 for endpoint in found.values())


async def longest_pause(work: Awaitable[object]) -> float:
    """Do the work; return for how many seconds the event loop did nothing else."""
    loop, pauses = asyncio.get_running_loop(), [0.0]

    async def tick() -> None:
        while True:
            before = loop.time()
            await asyncio.sleep(0)
            pauses.append(loop.time() - before)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    try:
        await work
        await asyncio.sleep(0)
    finally:
        ticking.cancel()
    return max(pauses)


@pytest.mark.parametrize(
    ("groups", "allowed", "said"),
    [(100_000, False, "You are in more than 1000 groups"), (1000, True, "")],
)
async def test_a_caller_with_very_many_groups_does_not_delay_other_requests(
    groups: int, allowed: bool, said: str
) -> None:
    """A request with 300,000 groups against 50 patterns took 13 s, for all others too."""
    patterns = [compile_pattern(rf"team-{n}-(?P<costCenter>\d+)@example\.com") for n in range(50)]
    entries = tuple(Entry(n, Charge(), pattern=pattern) for n, pattern in enumerate(patterns))
    world = World(Payers(entries))
    who = {"username": "bob", "groups": [f"group-{n}@example.com" for n in range(groups)]}
    answered: list[tuple[Json, Json]] = []

    async def ask_both() -> None:
        answered.append(await through(world.endpoints(), review(userInfo=who)))

    pause = await longest_pause(ask_both())
    verdict = answered[0][1]
    assert verdict["allowed"] is allowed
    assert said in str(verdict)
    assert pause < 0.25


async def test_cancelled_work_in_a_thread_is_waited_for() -> None:
    """Otherwise a second large conversion began while the first one was still running."""
    started, finish = asyncio.Event(), threading.Event()
    loop, ended = asyncio.get_running_loop(), list[str]()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        assert finish.wait(10)
        ended.append("work")

    task = asyncio.create_task(in_thread(work))
    await started.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["work"]


async def test_an_object_with_only_a_name_is_completed_and_allowed() -> None:
    changed, verdict = await through(World().endpoints(), review())
    assert verdict == {"uid": "r-1", "allowed": True}
    assert changed["spec"]["requester"] == ALICE
    assert changed["spec"]["managers"] == [{"name": ALICE}]
    assert changed["spec"]["billing"]["provenance"]["effectiveAt"] == "2026-03-01T12:00:00Z"


async def test_a_refusal_is_complete_and_counted_and_its_log_shows_no_values(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    caplog.set_level(logging.INFO)
    _, verdict = await through(
        world.endpoints(), review({"sudoers": [{"name": "*"}, {"name": "\n"}]})
    )
    assert verdict["allowed"] is False
    causes = verdict["status"]["details"]["causes"]
    assert [cause["field"] for cause in causes] == [
        "spec.sudoers[0].name",
        "spec.sudoers[1].name",
        "spec.managers",
    ]
    assert verdict["status"]["message"].startswith('LNamespace.tenancy.loblaw.digital "team-a" is')
    assert world.refused == ["/validate"]
    (record,) = [r for r in caplog.records if r.name == "lnamespace.admission.endpoints"]
    assert record.getMessage() == "refused"


async def test_a_refused_request_gets_its_warnings_too() -> None:
    past = {"name": "bob", "expiresAt": "2020-01-01T00:00:00Z"}
    _, verdict = await through(World().endpoints(), review({"users": [past, {"name": "*"}]}))
    assert verdict["allowed"] is False
    (warning,) = verdict["warnings"]
    assert warning.startswith("spec.users[0].expiresAt: is in the past")


@pytest.mark.parametrize("kind", ["LNamespace", "LCluster"])
async def test_a_creation_over_the_limit_of_its_kind_is_refused(kind: str) -> None:
    full = {ALICE: "you have 3 of 3"}
    limit = CreationLimit(exceeded=lambda user: full.get(user, ""))
    sent: dict[str, Any] = {
        "kind": {"group": NAMES.group, "version": "v1beta1", "kind": kind},
        "object": manifest() | {"kind": kind, "metadata": {"name": "acme"}},
    }
    other = replace(World().endpoints(), limits={"Another": limit})
    assert (await through(other, review(**sent)))[1]["allowed"]
    endpoints = replace(World().endpoints(), limits={kind: limit})
    _, verdict = await through(endpoints, review(**sent))
    assert verdict["status"]["message"].endswith("spec.requester: Forbidden: you have 3 of 3")
    assert (await through(endpoints, review(user="bob", **sent)))[1]["allowed"]


class AskedNames:
    """A check of names that says which it was asked about."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def conflict(self, kind: str, name: str) -> str:
        self.names.append(f"{kind} {name}")
        return "it is taken" if name == "taken" else ""


async def test_only_a_validation_looks_for_names_with_the_prefix_of_a_new_lcluster() -> None:
    """Mutation and validation each listed all Namespaces, and only the latter refuses a name."""
    asked = AskedNames()
    endpoints = replace(World().endpoints(), name_conflict=asked.conflict)
    sent: dict[str, Any] = {
        "kind": {"group": NAMES.group, "version": "v1beta1", "kind": "LCluster"},
        "object": manifest() | {"kind": "LCluster", "metadata": {"name": "taken"}},
    }
    _, verdict = await through(endpoints, review(**sent))
    assert verdict["status"]["message"].endswith("it is taken")
    assert asked.names == ["LCluster taken"]


async def test_an_error_of_mutation_refuses_the_request() -> None:
    world = World()
    waiting = [
        {
            "costCenter": "1",
            "provenance": {
                "generation": n,
                "effectiveAt": "2026-01-01T00:00:00Z",
                "source": "User",
            },
        }
        for n in range(1, 12)
    ]
    old = {"billing": waiting[-1] | {"superseded": waiting[:-1]}}
    sent = review({"billing": {"costCenter": "2"}}, operation="UPDATE", oldObject=manifest(old))
    answer = await ask(world.endpoints(), "/mutate", sent)
    assert answer["allowed"] is False
    assert "patch" not in answer
    assert world.refused == ["/mutate"]


async def test_only_the_request_path_makes_the_caller_an_administrator() -> None:
    """The API server checks the caller's rights and chooses the path."""
    endpoints = World(Payers((Entry(0, Charge("1"), user="bob"),))).endpoints()
    spec = {"users": [{"name": "bob"}], "billing": {"costCenter": "9"}}
    _, verdict = await through(endpoints, review(spec, user="root"))
    assert verdict["allowed"] is False
    changed, verdict = await through(endpoints, review(spec, user="root"), "-administrator")
    assert verdict["allowed"] is True
    assert changed["spec"]["billing"]["costCenter"] == "9"
    assert changed["spec"]["billing"]["provenance"]["changedBy"] == "root"
    emptied = review({}, user="root", operation="UPDATE", oldObject=manifest({}))
    assert (await ask(endpoints, "/validate", emptied))["allowed"] is False
    assert (await ask(endpoints, "/validate-administrator", emptied))["allowed"] is True


async def test_the_inherited_charge_of_a_service_account_is_looked_up() -> None:
    world = World(Payers((Entry(0, Charge("1"), user="bob"),)), inherited=Charge("4711"))
    changed, verdict = await through(
        world.endpoints(), review({}, user="system:serviceaccount:ci:bot")
    )
    assert verdict["allowed"] is True
    assert changed["spec"]["billing"]["costCenter"] == "4711"
    assert set(world.asked) == {"ci"}
    world.asked.clear()
    await ask(world.endpoints(), "/mutate", review({}, user="ci"))
    assert set(world.asked) <= {""}


async def test_changed_payers_take_effect_at_once() -> None:
    world = World()
    endpoints = world.endpoints()
    assert (await through(endpoints, review()))[0]["spec"]["billing"]["costCenter"] == "unallocated"
    world.payers = Payers((Entry(0, Charge("7"), user=ALICE),))
    assert (await through(endpoints, review()))[0]["spec"]["billing"]["costCenter"] == "7"


async def test_payers_that_change_between_mutation_and_validation_are_reported() -> None:
    """Mutation could not resolve the charge; validation could."""
    world = World(Payers((Entry(0, Charge("1"), group="red"),)), found=None)
    sent = review()
    endpoints = world.endpoints()
    answer = await ask(endpoints, "/mutate", sent)
    patch = json.loads(base64.b64decode(answer["patch"]))
    changed = jsonpatch.apply_patch(sent["request"]["object"], patch)
    world.found = frozenset({"red"})
    verdict = await ask(
        endpoints, "/validate", sent | {"request": sent["request"] | {"object": changed}}
    )
    assert verdict["allowed"] is False
    assert "try again" in verdict["status"]["message"]


async def test_a_deletion_passes_mutation_and_validation() -> None:
    sent = review(operation="DELETE", object=None, oldObject={"spec": "x"})
    for path in ("/mutate", "/validate", "/mutate-administrator", "/validate-administrator"):
        assert await ask(World().endpoints(), path, sent) == {"uid": "r-1", "allowed": True}


async def test_a_deletion_is_recorded_and_allowed() -> None:
    world = World()
    sent = review(operation="DELETE", object=None, oldObject={"spec": "x"}, name="team-a")
    assert await ask(world.endpoints(), "/depart", sent) == {"uid": "r-1", "allowed": True}
    assert world.deleted == ["team-a"]


@pytest.mark.parametrize("path", ["/mutate", "/validate", "/depart", "/convert"])
@pytest.mark.parametrize("body", [b"", b"{}", b"[" * 100_000, b"\xff", b" " * 3_000_000])
async def test_garbage_is_refused(path: str, body: bytes) -> None:
    (endpoint,) = [e for e in World().endpoints().all() if e.path == path]
    with pytest.raises(ReviewError):
        await endpoint.answer(body)


@pytest.mark.parametrize("depth", [100, 400, 800, 950, 1_100, 9_000])
async def test_deeply_nested_json_is_answered_or_refused(depth: int) -> None:
    """An internal error of the webhook would be recorded by the API server as such."""
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    body = json.dumps(review({"billing": "DEEP"})).encode()
    for place in (b'"DEEP"', b'{"billing": "DEEP"}'):
        for endpoint in World().endpoints().all():
            with contextlib.suppress(ReviewError):
                await endpoint.answer(body.replace(place, deep))


@pytest.mark.parametrize("levels", [900, 1_100, 9_900])
async def test_the_deepest_managed_fields_do_not_prevent_an_edit(levels: int) -> None:
    """A manager could use such fields to have all later edits refused."""
    spec = {"managers": [{"name": ALICE}], "requester": ALICE}
    sent = review(spec, operation="UPDATE", oldObject=manifest(spec))
    for part in ("object", "oldObject"):
        sent["request"][part]["metadata"]["managedFields"] = "DEEP"
    deep = b'[{"fieldsV1":' + b'{"f:a":' * levels + b"{}" + b"}" * levels + b"}]"
    body = json.dumps(sent).encode().replace(b'"DEEP"', deep)
    for path in ("/mutate", "/validate"):
        (endpoint,) = [e for e in World().endpoints().all() if e.path == path]
        assert json.loads(await endpoint.answer(body))["response"]["allowed"]


@pytest.mark.parametrize("name", [None, 7, "", ["x"]])
async def test_a_refusal_names_an_object_of_any_shape(name: Any) -> None:
    sent = review({"managers": []}, name="asked-for")
    sent["request"]["object"]["metadata"]["name"] = name
    answer = await ask(World().endpoints(), "/validate", sent)
    assert answer["allowed"] is False
    assert isinstance(answer["status"]["details"]["name"], str)


# By its settings


def test_the_settings_choose_the_policy() -> None:
    settings = Settings(
        api_group_suffix="example.com",
        sudoers_group_format="k8s:{name}",
        default_lists="managers, sudoers",
        never_impersonate="root,admin",
    )
    policy = AdmissionEndpoints.from_settings(
        settings, None, PayersFile(""), lambda _, __: None, lambda: None
    ).policy
    assert policy.names.group == "tenancy.example.com"
    assert policy.names.sudoers_group("a") == "k8s:a"
    assert policy.default_lists == ("managers", "sudoers")
    assert policy.never_impersonate == {"root", "admin"}


async def test_a_deletion_that_cannot_be_recorded_is_reported() -> None:
    missed = list[str]()
    sent = review(operation="DELETE", object=None, oldObject={}, name="team-a")
    async with serving() as server, client_of(server.url) as client:
        endpoints = AdmissionEndpoints.from_settings(
            Settings(), client, PayersFile(""), lambda _, __: None, lambda: missed.append("x")
        )
        answer = asyncio.create_task(ask(endpoints, "/depart", sent))
        (await server.next("GET")).refuse(403, "Forbidden")
        assert (await answer)["allowed"]
    assert missed == ["x"]


@pytest.mark.parametrize("on_missing", list(Fallback))
async def test_the_answer_explains_why_an_unlisted_service_account_does_not_inherit(
    on_missing: Fallback,
) -> None:
    payers = Payers((Entry(0, Charge("1"), user="bob"),), on_missing=on_missing)
    world = World(payers, inherited=Charge("4711"), listed=False)
    robot = "system:serviceaccount:ci:robot"
    spec = {"managers": [{"name": ALICE}]}
    changed, verdict = await through(world.endpoints(), review(spec, robot))
    words = 'a ServiceAccount of LNamespace "ci" charges the same cost centre only if a manager'
    if on_missing is Fallback.REJECT:
        assert not verdict["allowed"]
        assert words in verdict["status"]["message"]
    else:
        assert changed["spec"]["billing"]["costCenter"] == "unallocated"
        (warning,) = (await ask(world.endpoints(), "/mutate", review(spec, robot)))["warnings"]
        assert warning.startswith(f'charged to "unallocated": {words}')
    asked = spec | {"billing": {"costCenter": "4711"}}
    _, verdict = await through(world.endpoints(), review(asked, robot))
    assert not verdict["allowed"]
    assert words in verdict["status"]["message"]
