"""Reconciling: what comes to be on the cluster, what it costs, and what happens when it refuses."""

import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.controller.cache import LNamespaceKey, WorkKey
from lnamespace.controller.queue import FAILURES_BEFORE_STATUS, RequeueResult
from lnamespace.controller.resource import read_lnamespace
from lnamespace.kube.resources import CLUSTER_ROLE_BINDING, NAMESPACE, ROLE_BINDING

from tests.unit.support.desk import (
    ALICE,
    BINDINGS,
    EDITOR,
    LAYOUT,
    LNS,
    NAMES,
    RECORDS,
    ROLES,
    SELF,
    SPACE,
    SUDOER,
    SUDOERS,
    USERS,
    Desk,
    working,
)
from tests.unit.support.strategies import NOW


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with working() as desk:
        yield desk


ALICE_ENTRY, BOB_ENTRY = {"name": "alice"}, {"name": "bob"}


async def test_one_reconcile_creates_all_objects_and_writes_the_status(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY], sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    assert await desk.reconcile() == RequeueResult([], None)
    assert {path.rpartition("/")[2] for path in desk.cluster.objects} == {
        "team-a",
        "lnamespace-users",
        "lnamespace-sudoers",
        EDITOR,
        SUDOER,
        SELF,
        "uid-a.1.apply",
    }
    assert desk.conditions["Ready"] == ("True", "Ready")
    status = desk.cluster.objects[LNS]["status"]
    assert status["namespaceUID"] == desk.cluster.objects[SPACE]["metadata"]["uid"]
    assert status["sudoersGroup"] == "team-a-sudoers"
    assert status["counts"] == {"users": 1, "managers": 0, "sudoers": 1}


async def test_a_reconcile_without_changes_sends_no_requests(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY], sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    desk.cluster.written()
    desk.now[0] += timedelta(days=1)
    await desk.reconcile()
    await desk.impersonators.reconcile(ALICE)
    assert desk.cluster.written() == []


async def test_a_person_removed_from_a_list_loses_access_at_once(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE_ENTRY, BOB_ENTRY])
    await desk.reconcile()
    assert desk.subjects(USERS) == ["alice", "bob"]
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    assert desk.subjects(USERS) == ["bob"]
    desk.lnamespace()
    await desk.reconcile()
    assert desk.subjects(USERS) == []


async def test_an_entry_expires_on_time_and_the_outcome_states_the_next_expiry(desk: Desk) -> None:
    end = NOW + timedelta(hours=1)
    desk.lnamespace(users=[ALICE_ENTRY | {"expiresAt": end.isoformat()}])
    assert (await desk.reconcile()).requeue_at == end
    assert desk.subjects(USERS) == ["alice"]
    desk.now[0] = end
    assert (await desk.reconcile()).requeue_at is None
    assert desk.subjects(USERS) == []


async def test_the_next_expiry_is_known_even_while_another_write_fails(desk: Desk) -> None:
    end = NOW + timedelta(hours=1)
    desk.cluster.refusals["POST", ROLES] = 422
    desk.lnamespace(users=[ALICE_ENTRY | {"expiresAt": end.isoformat()}])
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Invalid)
    assert outcome.requeue_at == end


async def test_a_failed_grant_does_not_prevent_the_revocation_of_others(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE_ENTRY], managers=[ALICE_ENTRY])
    await desk.reconcile()
    desk.cluster.refusals["PATCH", f"{BINDINGS}/{EDITOR}"] = 422
    desk.lnamespace()
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Invalid)
    assert desk.subjects(USERS) == []
    assert desk.conditions["AccessReady"] == ("False", "Invalid")


async def test_access_is_revoked_although_the_status_cannot_be_written(desk: Desk) -> None:
    desk.lnamespace(users=[ALICE_ENTRY])
    await desk.reconcile()
    desk.cluster.refusals["PATCH", f"{LNS}/status"] = 500
    desk.lnamespace()
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.ServerFault)
    assert desk.subjects(USERS) == []


async def test_a_namespace_that_existed_before_is_a_conflict_and_not_changed(desk: Desk) -> None:
    """This holds even if the watch is behind, so that the controller tries to create it."""
    before = desk.cluster.make(SPACE, {"metadata": {"name": "team-a", "labels": {"theirs": "x"}}})
    desk.lnamespace(users=[ALICE_ENTRY], sudoers=[ALICE_ENTRY])
    await desk.reconcile()
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    assert desk.cluster.objects[SPACE] == before
    assert desk.conditions["Ready"] == ("False", "Conflict")
    assert USERS not in desk.cluster.objects
    assert SUDOERS not in desk.cluster.objects
    assert f"{BINDINGS}/{SUDOER}" not in desk.cluster.objects


async def test_an_lnamespace_with_a_reserved_name_gets_only_its_editors(desk: Desk) -> None:
    meta = {"name": "kube-x", "uid": "u", "resourceVersion": "1"}
    raw = msgspec.json.encode({"metadata": meta, "spec": {"users": [ALICE_ENTRY]}})
    desk.cluster.make(lnamespace_resource(LAYOUT.names).path("kube-x"), {"metadata": meta})
    desk.cache.lnamespaces.apply_event(read_lnamespace(raw))
    await desk.tenants.reconcile("kube-x")
    made = {path.rpartition("/")[2] for path in desk.cluster.objects}
    assert made <= {"kube-x", NAMES.editor("kube-x")} | {p for p in made if p.startswith("kube-x.")}
    assert NAMESPACE.path("kube-x") not in desk.cluster.objects


async def test_a_changed_object_is_restored(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    desk.cluster.objects[USERS]["subjects"].append({"kind": "User", "name": "mallory"})
    desk.cluster.objects[USERS] = desk.cluster.make(USERS, desk.cluster.objects[USERS])
    desk.told(ROLE_BINDING, USERS)
    await desk.reconcile()
    assert desk.subjects(USERS) == ["bob"]


async def test_a_deleted_object_is_recreated(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    desk.deleted(USERS)
    await desk.reconcile()
    assert desk.subjects(USERS) == ["bob"]


async def test_an_object_that_lost_its_label_is_found_and_restored(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    del desk.cluster.objects[USERS]["metadata"]["labels"]
    shown = desk.cluster.make(USERS, desk.cluster.objects[USERS])
    # To a watch that selects by the label this is a deletion.
    version = int(shown["metadata"]["resourceVersion"])
    desk.cache.objects[ROLE_BINDING].remove(("team-a", "lnamespace-users"), version)
    await desk.reconcile()
    await desk.reconcile()
    assert desk.cluster.objects[USERS]["metadata"]["labels"] == LAYOUT.labels("team-a")


def orphaned(desk: Desk) -> None:
    """Somebody takes the owner reference off the Namespace; the watch tells."""
    shown = desk.cluster.objects[SPACE]
    del shown["metadata"]["ownerReferences"]
    desk.cluster.make(SPACE, shown)
    desk.told(NAMESPACE, SPACE)


async def test_a_lost_owner_reference_is_restored(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    orphaned(desk)
    await desk.reconcile()
    assert [o["uid"] for o in desk.cluster.objects[SPACE]["metadata"]["ownerReferences"]] == [
        "uid-a"
    ]


@pytest.mark.parametrize("there", ["terminating", "gone", "another of its name"])
async def test_an_orphaned_namespace_gets_no_owner_reference_again(there: str, desk: Desk) -> None:
    """``kubectl delete lns --cascade=orphan``, and the watch of Namespaces is ahead of the other.

    The owner reference came back, and the garbage collector deleted the Namespace by it.
    """
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    shown = desk.cluster.objects.pop(LNS)
    if there != "gone":
        changed = (
            {"uid": "uid-b"} if there != "terminating" else {"deletionTimestamp": NOW.isoformat()}
        )
        desk.cluster.objects[LNS] = shown | {"metadata": shown["metadata"] | changed}
    orphaned(desk)
    await desk.reconcile()
    assert "ownerReferences" not in desk.cluster.objects[SPACE]["metadata"]


async def test_a_revocation_does_not_wait_for_the_check_of_an_owner_reference(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    orphaned(desk)
    desk.cluster.refusals["GET", LNS] = 403
    desk.lnamespace(users=[])
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Forbidden)
    assert desk.subjects(USERS) == []
    assert "ownerReferences" not in desk.cluster.objects[SPACE]["metadata"]


async def test_the_deletion_of_an_lnamespace_deletes_its_grants_only(desk: Desk) -> None:
    """The garbage collector deletes the Namespace, so an error of the controller loses no data."""
    desk.lnamespace(users=[BOB_ENTRY], sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    desk.deleted(LNS)
    await desk.reconcile()
    await desk.impersonators.reconcile(ALICE)
    assert set(desk.cluster.objects) == {SPACE, f"{RECORDS}/uid-a.1.apply"}


async def test_bindings_are_deleted_only_at_the_observed_version(desk: Desk) -> None:
    desk.lnamespace()
    await desk.reconcile()
    path = f"{BINDINGS}/{EDITOR}"
    desk.cluster.make(path, desk.cluster.objects[path])  # somebody changes it meanwhile
    desk.deleted(LNS)
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Conflict)
    assert path in desk.cluster.objects


async def test_an_invalid_spec_is_reported_once_and_changes_no_objects(desk: Desk) -> None:
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    before = dict(desk.cluster.objects)
    desk.lnamespace(users=7)
    desk.cluster.written()
    await desk.reconcile()
    assert desk.conditions == {"Ready": ("False", "InvalidSpec")}
    assert desk.cluster.objects[LNS]["status"]["namespaceUID"] == before[SPACE]["metadata"]["uid"]
    assert desk.subjects(USERS) == ["bob"]
    desk.cluster.written()
    desk.now[0] += timedelta(minutes=10)
    await desk.reconcile()
    assert desk.cluster.written() == [], "it is told once"


async def test_a_transient_failure_is_not_reported_at_once(desk: Desk) -> None:
    desk.cluster.refusals["POST", NAMESPACE.path()] = 503
    desk.lnamespace()
    await desk.reconcile()
    assert desk.conditions == {}
    await desk.reconcile(failed_before=FAILURES_BEFORE_STATUS)
    assert desk.conditions["Ready"] == ("False", "ServerFault")


async def test_an_lnamespace_waits_for_its_sudoers_to_be_ready(desk: Desk) -> None:
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.reconcile()
    assert desk.conditions == {}
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == ["team-a"]
    await desk.reconcile()
    assert desk.conditions["Ready"] == ("True", "Ready")


async def test_an_lnamespace_is_requeued_even_if_its_sudoers_objects_exist_already(
    desk: Desk,
) -> None:
    """The answer to the creation was lost; the next reconcile finds nothing to change."""
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    desk.woken.clear()
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == ["team-a"]


async def test_the_refusal_of_a_sudoers_objects_is_reported(desk: Desk) -> None:
    desk.cluster.refusals["POST", BINDINGS] = 403
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    outcome = await desk.impersonators.reconcile(ALICE, failed_before=FAILURES_BEFORE_STATUS)
    assert isinstance(outcome.decisive_failure, errors.Forbidden)
    assert desk.woken == ["team-a"]
    assert desk.cache.impersonators.problems[ALICE] == "alice: refused"
    desk.cluster.refusals.clear()
    desk.woken.clear()
    await desk.impersonators.reconcile(ALICE)
    assert desk.cache.impersonators.problems == {}
    assert desk.woken == ["team-a"]


@pytest.mark.parametrize(("code", "told"), [(422, True), (503, False)])
async def test_a_transient_failure_of_a_sudoer_is_not_reported_at_once(
    desk: Desk, code: int, told: bool
) -> None:
    desk.cluster.refusals["POST", BINDINGS] = code
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    assert (ALICE in desk.cache.impersonators.problems) == told
    await desk.impersonators.reconcile(ALICE, failed_before=FAILURES_BEFORE_STATUS)
    assert ALICE in desk.cache.impersonators.problems


async def test_a_ready_lnamespace_reports_that_a_sudoers_objects_cannot_be_recreated(
    desk: Desk,
) -> None:
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    assert desk.conditions["Ready"] == ("True", "Ready")
    desk.woken.clear()
    del desk.cluster.objects[f"{BINDINGS}/{SELF}"]
    desk.cache.objects[CLUSTER_ROLE_BINDING].remove(("", SELF), desk.cluster.version + 1)
    desk.cluster.refusals["POST", BINDINGS] = 422
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == ["team-a"]
    await desk.reconcile()
    assert desk.conditions["Ready"] == ("False", "SudoNotReady")


async def test_a_person_who_expires_everywhere_loses_their_objects(desk: Desk) -> None:
    end = NOW + timedelta(hours=1)
    desk.lnamespace(sudoers=[ALICE_ENTRY | {"expiresAt": end.isoformat()}])
    assert (await desk.impersonators.reconcile(ALICE)).requeue_at == end
    assert f"{BINDINGS}/{SELF}" in desk.cluster.objects
    desk.now[0] = end
    await desk.impersonators.reconcile(ALICE)
    assert f"{BINDINGS}/{SELF}" not in desk.cluster.objects
    assert f"{ROLES}/{SELF}" not in desk.cluster.objects


async def test_a_change_first_seen_in_the_status_response_is_enqueued(desk: Desk) -> None:
    """The spec is edited during the status write, and the response shows it before the watch."""
    desk.lnamespace()
    stale = desk.cache.lnamespace("team-a")
    desk.cluster.objects[LNS] |= {"spec": {"users": [ALICE_ENTRY]}}
    while len(desk.queue):
        desk.queue.done(await desk.queue.get())
    await desk.reconcile()
    assert stale
    assert (listed := desk.cache.lnamespace("team-a"))
    assert listed.lns.spec != stale.lns.spec
    keys = [await desk.queue.get() for _ in range(len(desk.queue))]
    assert LNamespaceKey("team-a") in keys


@pytest.mark.parametrize(("sudoers", "meanwhile"), [([ALICE_ENTRY], []), ([], [ALICE_ENTRY])])
async def test_a_change_that_is_reverted_during_the_status_write_has_no_effect(
    desk: Desk, sudoers: list[Any], meanwhile: list[Any]
) -> None:
    """The watch shows the change, and the response of the write first shows its reversal."""
    desk.lnamespace(sudoers=sudoers)
    await desk.impersonators.reconcile(ALICE)

    def changed_and_back() -> datetime:
        desk.lnamespace(sudoers=meanwhile)
        desk.cluster.make(LNS, desk.cluster.objects[LNS] | {"spec": {"sudoers": sudoers}})
        return NOW

    await dataclasses.replace(desk.tenants, clock=changed_and_back).reconcile("team-a")
    await desk.impersonators.reconcile(ALICE)
    assert (f"{BINDINGS}/{SELF}" in desk.cluster.objects) == bool(sudoers)


async def test_an_lnamespace_deleted_during_its_status_write_stays_deleted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response of the write shows an edit from before the deletion."""
    desk.lnamespace()
    write = desk.tenants.client.patch_json

    async def overtaken(path: str, operations: Any) -> bytes:
        desk.cluster.objects[LNS] |= {"spec": {"users": [ALICE_ENTRY]}}
        answer = await write(path, operations)
        desk.deleted(LNS)
        return answer

    monkeypatch.setattr(desk.tenants.client, "patch_json", overtaken)
    await desk.reconcile()
    assert desk.cache.lnamespace("team-a") is None


async def test_an_event_is_recorded_for_a_problem_and_for_its_end(desk: Desk) -> None:
    desk.cluster.make(SPACE, {"metadata": {"name": "team-a"}})
    desk.lnamespace()
    for _ in range(3):
        await desk.reconcile()
    desk.deleted(SPACE)
    await desk.reconcile()
    events = [o for p, o in desk.cluster.objects.items() if "/events/" in p]
    assert [(e["type"], e["reason"]) for e in events] == [
        ("Warning", "Conflict"),
        ("Normal", "Ready"),
    ]
    assert {e["involvedObject"]["uid"] for e in events} == {"uid-a"}


async def test_an_event_has_the_fields_that_kubectl_describe_needs(desk: Desk) -> None:
    desk.cluster.make(SPACE, {"metadata": {"name": "team-a"}})
    desk.lnamespace()
    before = datetime.now(UTC).replace(microsecond=0)
    for _ in range(2):
        await desk.reconcile()
    ((path, event),) = ((p, o) for p, o in desk.cluster.objects.items() if "/events/" in p)
    condition = desk.cluster.objects[LNS]["status"]["conditions"][0]
    metadata, first = event.pop("metadata"), event.pop("firstTimestamp")
    assert path == f"/api/v1/namespaces/default/events/{metadata['name']}"
    assert metadata["namespace"] == "default"
    assert metadata["name"].startswith("team-a.")
    assert first == event.pop("lastTimestamp")
    assert before <= datetime.fromisoformat(first) <= datetime.now(UTC)
    assert int(event["involvedObject"].pop("resourceVersion")) > 0
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "tenancy.loblaw.digital/v1beta1",
            "kind": "LNamespace",
            "name": "team-a",
            "uid": "uid-a",
        },
        "type": "Warning",
        "reason": "Conflict",
        "message": condition["message"],
        "source": {"component": "lnamespace"},
        "count": 1,
    }


async def test_an_event_that_cannot_be_posted_does_not_fail_the_reconcile(desk: Desk) -> None:
    desk.cluster.refusals["POST", "/api/v1/namespaces/default/events"] = 403
    desk.cluster.make(SPACE, {"metadata": {"name": "team-a"}})
    desk.lnamespace()
    for _ in range(2):
        await desk.reconcile()
    assert desk.conditions["Ready"] == ("False", "Conflict")


async def test_a_status_is_not_written_to_a_successor_of_the_same_name(desk: Desk) -> None:
    """The LNamespace was deleted and recreated, and the watch has not shown it yet."""
    desk.lnamespace(users=[ALICE_ENTRY])
    desk.cluster.make(LNS, {"metadata": {"name": "team-a", "uid": "uid-b", "generation": 1}})
    outcome = await desk.reconcile()
    assert isinstance(outcome.decisive_failure, errors.Conflict)
    assert "status" not in desk.cluster.objects[LNS]


async def test_an_unreadable_lnamespace_revokes_no_sudo(desk: Desk) -> None:
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    desk.lnamespace(sudoers=[ALICE_ENTRY], deletionPolicy="Sell")
    desk.cluster.written()
    await desk.impersonators.reconcile(ALICE)
    assert desk.cluster.written() == []


async def test_an_unreadable_lnamespace_revokes_no_sudo_after_a_restart(desk: Desk) -> None:
    """A newer version wrote a value that the older version, after a rollback, cannot read."""
    desk.lnamespace(sudoers=[ALICE_ENTRY])
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    desk.lnamespace(sudoers=[ALICE_ENTRY], deletionPolicy="Sell")
    desk.restart()
    desk.cluster.written()
    await desk.impersonators.reconcile(ALICE)
    await desk.reconcile()
    assert f"{BINDINGS}/{SELF}" in desk.cluster.objects
    assert "DELETE" not in {verb for verb, _ in desk.cluster.written()}
    # Another one lists her too: it becomes an owner beside the one that cannot be read.
    meta = {"name": "team-b", "uid": "uid-b", "resourceVersion": "900"}
    other = {"metadata": meta, "spec": {"sudoers": [ALICE_ENTRY]}}
    desk.cache.lnamespaces.apply_event(read_lnamespace(msgspec.json.encode(other)))
    await desk.impersonators.reconcile(ALICE)
    owners = desk.cluster.objects[f"{BINDINGS}/{SELF}"]["metadata"]["ownerReferences"]
    assert {owner["uid"] for owner in owners} == {"uid-a", "uid-b"}
    # What it says when it can be read counts again.
    desk.cache.lnamespaces.remove(("", "team-b"), 901)
    desk.cluster.version = 1000
    desk.lnamespace(sudoers=[BOB_ENTRY])
    assert ALICE in await queued(desk)
    await desk.impersonators.reconcile(ALICE)
    assert f"{BINDINGS}/{SELF}" not in desk.cluster.objects


async def queued(desk: Desk) -> list[WorkKey]:
    """Return what is to be worked on."""
    keys = []
    while len(desk.queue):
        keys.append(await desk.queue.get())
        desk.queue.done(keys[-1])
    return keys


async def test_the_status_of_a_terminating_lnamespace_is_terminating(desk: Desk) -> None:
    """A foreign finalizer holds the LNamespace, and nobody has access any more."""
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    meta = desk.cluster.objects[LNS]["metadata"]
    meta |= {"deletionTimestamp": NOW.isoformat(), "finalizers": ["example.com/held"]}
    desk.lnamespace(users=[BOB_ENTRY])
    desk.cluster.refusals["DELETE", USERS] = 403
    assert isinstance((await desk.reconcile()).decisive_failure, errors.Forbidden)
    assert desk.conditions["AccessReady"] == ("False", "Forbidden")
    del desk.cluster.refusals["DELETE", USERS]
    assert await desk.reconcile() == RequeueResult([])
    assert desk.conditions == {
        "Ready": ("False", "Terminating"),
        "NamespaceReady": ("False", "Terminating"),
        "AccessReady": ("False", "Terminating"),
        "BillingRecorded": ("True", "Recorded"),
    }
    status = desk.cluster.objects[LNS]["status"]
    assert status["counts"] == {"users": 0, "managers": 0, "sudoers": 0}
    assert status["namespaceUID"]
    assert "example.com/held" in status["conditions"][0]["message"]
    desk.cluster.written()
    await desk.reconcile()
    assert desk.cluster.written() == []


@pytest.mark.parametrize("released", [True, False])
async def test_an_unlabelled_object_in_the_way_is_read_again_before_each_retry(
    desk: Desk, released: bool
) -> None:
    """Without our label no watch reports that the object was changed or deleted."""
    desk.lnamespace(users=[BOB_ENTRY])
    await desk.reconcile()
    desk.deleted(USERS)
    theirs: dict[str, Any] = {
        "metadata": {
            "name": "lnamespace-users",
            "namespace": "team-a",
            "finalizers": ["example.com/held"],
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "theirs"},
    }
    desk.cluster.make(USERS, theirs)
    desk.cluster.refusals["PATCH", USERS] = 403
    for _ in range(2):
        outcome = await desk.reconcile(FAILURES_BEFORE_STATUS)
    assert isinstance(outcome.decisive_failure, errors.Forbidden)
    assert desk.conditions["Ready"] == ("False", "Forbidden")
    if released:
        del theirs["metadata"]["finalizers"]
        desk.cluster.make(USERS, theirs)
    else:
        del desk.cluster.objects[USERS]
    assert await desk.reconcile(FAILURES_BEFORE_STATUS) == RequeueResult([])
    assert desk.subjects(USERS) == ["bob"]
    assert desk.conditions["Ready"] == ("True", "Ready")
