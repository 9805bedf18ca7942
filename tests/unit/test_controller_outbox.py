"""Each billing event is recorded once, whatever fails, and access never waits for it."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.controller.deleted import DeletedLNamespace, DeletedLNamespaceKey
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import FAILURES_BEFORE_STATUS, RequeueResult
from lnamespace.kube.resources import NAMESPACE
from lnamespace.ledger.outbox.endings import deletion
from lnamespace.ledger.outbox.record import BillingRecord, is_billable, pending_records
from lnamespace.model.billing import Billing, BillingSource, Charge, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec

from tests.unit.support.desk import (
    ALICE,
    BINDINGS,
    EDITOR,
    LNS,
    NAMES,
    RECORDS,
    ROLES,
    SPACE,
    USERS,
    Desk,
    working,
)
from tests.unit.support.server import Server, client_of, serving
from tests.unit.support.strategies import NOW

AT = "2026-02-01T00:00:00Z"
BOB = {"users": [{"name": "bob"}]}


@pytest_asyncio.fixture
async def desk() -> AsyncIterator[Desk]:
    async with working() as desk:
        yield desk


def paid(cost_center: str, generation: int, *superseded: Any) -> Any:
    """Return a spec as the webhook writes it."""
    charge = {
        "costCenter": cost_center,
        "provenance": {"generation": generation, "effectiveAt": AT, "source": "Explicit"},
    }
    waiting = [paid(*former)["billing"] for former in superseded]
    return {"billing": charge | ({"superseded": waiting} if waiting else {})} | BOB


def spec_of(desk: Desk, name: str) -> Any:
    return desk.cluster.objects[f"{RECORDS}/{name}"]["spec"]


def recorded(desk: Desk) -> int:
    generation: int = desk.cluster.objects[LNS]["status"]["recorded"].get("generation", 0)
    return generation


def sent(desk: Desk) -> int:
    """Return how many records were sent, refused ones too."""
    return desk.cluster.written().count(("POST", RECORDS))


async def test_a_charge_is_recorded_once(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    for _ in range(3):
        assert await desk.reconcile() == RequeueResult([], None)
    assert desk.records == ["uid-a.1.apply"]
    assert spec_of(desk, "uid-a.1.apply")["costCenter"] == "1"
    assert spec_of(desk, "uid-a.1.apply")["namespace"] == "team-a"
    assert recorded(desk) == 1
    assert sent(desk) == 1


async def test_a_charge_is_sent_once_although_a_sudoer_is_late(desk: Desk) -> None:
    """The status follows in the second reconcile, which sent the record again.

    The publisher may have carried it on meanwhile, and would have had it again.
    """
    desk.lnamespace(**paid("1", 1), sudoers=[{"name": "alice"}])
    await desk.reconcile()
    assert "status" not in desk.cluster.objects[LNS]
    del desk.cluster.objects[f"{RECORDS}/uid-a.1.apply"]
    await desk.impersonators.reconcile(ALICE)
    assert desk.woken == ["team-a"]
    await desk.reconcile()
    assert recorded(desk) == 1
    assert sent(desk) == 1


async def test_a_charge_that_follows_before_the_first_status_is_recorded(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1), sudoers=[{"name": "alice"}])
    await desk.reconcile()
    desk.lnamespace(**paid("2", 2, ("1", 1)), sudoers=[{"name": "alice"}])
    await desk.reconcile()
    assert desk.records == ["uid-a.1.apply", "uid-a.2.apply"]


async def test_a_record_has_no_owner_reference_and_no_finalizer(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    metadata = desk.cluster.objects[f"{RECORDS}/uid-a.1.apply"]["metadata"]
    assert "ownerReferences" not in metadata
    assert "finalizers" not in metadata


async def test_an_edit_of_another_field_writes_no_record(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.lnamespace(**paid("1", 1) | {"users": []})
    await desk.reconcile()
    assert desk.records == ["uid-a.1.apply"]


async def test_superseded_charges_are_recorded_before_the_present_charge(desk: Desk) -> None:
    desk.lnamespace(**paid("3", 4, ("1", 1), ("2", 3)))
    await desk.reconcile()
    assert desk.records == ["uid-a.1.apply", "uid-a.3.apply", "uid-a.4.apply"]
    centers = [spec_of(desk, name)["costCenter"] for name in desk.records]
    assert centers == ["1", "2", "3"]
    assert recorded(desk) == 4


async def test_an_existing_record_counts_as_created(desk: Desk) -> None:
    """The answer to the creation was lost, or the process ended before it could say so."""
    desk.lnamespace(**paid("2", 2, ("1", 1)))
    desk.cluster.make(f"{RECORDS}/uid-a.1.apply", {"metadata": {"name": "uid-a.1.apply"}})
    assert await desk.reconcile() == RequeueResult([], None)
    assert desk.records == ["uid-a.1.apply", "uid-a.2.apply"]
    assert desk.conditions["BillingRecorded"] == ("True", "Recorded")


async def test_a_published_record_is_not_created_again_after_a_restart(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    del desk.cluster.objects[f"{RECORDS}/uid-a.1.apply"]  # The publisher carried it on.
    desk.restart()
    await desk.reconcile()
    assert desk.records == []


async def test_a_restart_before_the_status_write_repeats_the_same_record(
    desk: Desk,
) -> None:
    desk.cluster.refusals["PATCH", f"{LNS}/status"] = 500
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.cluster.refusals.clear()
    desk.restart()
    assert await desk.reconcile() == RequeueResult([], None)
    assert desk.records == ["uid-a.1.apply"]
    assert recorded(desk) == 1


async def test_a_foreign_namespace_is_charged_to_nobody(desk: Desk) -> None:
    desk.cluster.make(SPACE, {"metadata": {"name": "team-a"}})
    desk.lnamespace(**paid("1", 1))
    for _ in range(2):
        await desk.reconcile()
    assert desk.conditions["Ready"] == ("False", "Conflict")
    assert desk.conditions["BillingRecorded"] == ("False", "NamespaceNotReady")
    desk.deleted(LNS)
    assert await desk.close() == RequeueResult()
    assert desk.records == []
    assert desk.cache.deleted == {}


async def test_a_refused_name_is_charged_to_nobody(desk: Desk) -> None:
    desk.tenants = dataclasses.replace(desk.tenants, reserved=("team-*",))
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    assert desk.conditions["BillingRecorded"] == ("False", "ReservedName")
    desk.gone()
    await desk.close()
    assert desk.records == []


# It cannot be recorded


@pytest.mark.parametrize("code", [403, 429, 500, 503])
async def test_a_failed_record_is_reported_and_revokes_no_access(desk: Desk, code: int) -> None:
    desk.cluster.refusals["POST", RECORDS] = code
    desk.lnamespace(**paid("1", 1))
    outcome = await desk.reconcile(failed_before=FAILURES_BEFORE_STATUS)
    assert outcome.decisive_failure is not None
    assert desk.subjects(USERS) == ["bob"]
    reason = type(outcome.decisive_failure).__name__
    assert desk.conditions["AccessReady"] == ("True", "AsListed")
    assert desk.conditions["BillingRecorded"] == desk.conditions["Ready"] == ("False", reason)
    assert recorded(desk) == 0
    desk.cluster.refusals.clear()
    assert await desk.reconcile() == RequeueResult([], None)
    assert desk.records == ["uid-a.1.apply"]
    assert desk.conditions["Ready"] == ("True", "Ready")
    assert recorded(desk) == 1


async def test_a_failed_record_does_not_delay_a_revocation(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.cluster.refusals["POST", RECORDS] = 500
    desk.lnamespace(**paid("2", 2) | {"users": []})
    await desk.reconcile()
    assert desk.subjects(USERS) == []
    assert desk.records == ["uid-a.1.apply"]


async def test_a_failed_record_blocks_the_records_after_it(desk: Desk) -> None:
    desk.cluster.refusals["POST", RECORDS] = 500
    desk.lnamespace(**paid("2", 2, ("1", 1)))
    await desk.reconcile()
    assert sent(desk) == 1


async def test_the_recorded_generation_advances_only_after_a_successful_record(desk: Desk) -> None:
    """Otherwise the next edit would drop the unrecorded charges from the spec."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.cluster.refusals["POST", RECORDS] = 403
    desk.lnamespace(**paid("2", 2))
    await desk.reconcile(failed_before=FAILURES_BEFORE_STATUS)
    assert recorded(desk) == 1
    desk.cluster.refusals = {("PATCH", f"{BINDINGS}/{EDITOR}"): 422}
    desk.lnamespace(**paid("3", 3, ("2", 2)) | {"managers": [{"name": "eve"}]})
    await desk.reconcile(failed_before=FAILURES_BEFORE_STATUS)
    assert recorded(desk) == 3
    assert desk.records == ["uid-a.1.apply", "uid-a.2.apply", "uid-a.3.apply"]


async def test_a_namespace_is_charged_although_a_grant_keeps_failing(desk: Desk) -> None:
    desk.cluster.refusals["POST", ROLES] = 422
    desk.lnamespace(**paid("1", 1))
    for failed_before in range(FAILURES_BEFORE_STATUS + 1):
        await desk.reconcile(failed_before)
    assert desk.records == ["uid-a.1.apply"]
    assert desk.conditions["BillingRecorded"] == ("True", "Recorded")
    assert desk.conditions["Ready"] == ("False", "Invalid")


# The end


async def test_the_end_of_an_lnamespace_is_recorded_once(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.gone()
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]
    assert spec_of(desk, "uid-a.delete")["operation"] == "DELETE"
    assert desk.cache.deleted == {}
    assert desk.tenants.outbox.recorded == {}
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]


async def test_the_end_of_an_lnamespace_is_recorded_after_a_restart_too(desk: Desk) -> None:
    """The Namespace still exists, and only the status shows that the LNamespace owned it."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.restart()
    desk.gone()
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]


async def test_the_end_of_an_unreconciled_lnamespace_records_its_charges_first(desk: Desk) -> None:
    desk.lnamespace(**paid("2", 2, ("1", 1)))
    desk.gone()
    await desk.close()
    assert desk.records == ["uid-a.1.apply", "uid-a.2.apply", "uid-a.delete"]


async def test_an_end_that_could_not_be_recorded_is_retried(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.gone()
    desk.cluster.refusals["POST", RECORDS] = 503
    assert isinstance((await desk.close()).decisive_failure, errors.ServerFault)
    assert set(desk.cache.deleted) == {"uid-a"}
    desk.cluster.refusals.clear()
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]


async def test_the_charge_ends_when_the_namespace_is_gone(desk: Desk) -> None:
    """A finalizer held the Namespace for 24 seconds, and nobody paid for them."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.deleted(LNS)
    for _ in range(2):
        assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.1.ending"]
    before = datetime.now(UTC)
    desk.deleted(SPACE)
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.1.ending", "uid-a.delete"]
    end = datetime.fromisoformat(spec_of(desk, "uid-a.delete")["validFrom"])
    assert before <= end <= datetime.now(UTC)
    assert desk.cache.deleted == {}


async def test_the_controller_writes_the_ending_record_before_the_first_status(desk: Desk) -> None:
    """The webhook and the publisher take it for one that never had a Namespace.

    A controller that ends while that Namespace terminates would leave it to the daily comparison.
    """
    desk.cluster.refusals = {("PATCH", f"{LNS}/status"): 503}
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    listed = desk.cache.lnamespace("team-a")
    assert listed
    assert not is_billable(listed.lns)
    assert SPACE in desk.cluster.objects
    desk.deleted(LNS)
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.1.ending"]


@pytest_asyncio.fixture
async def waiting(desk: Desk) -> None:
    """Let UID uid-b wait for the Namespace of uid-a, its predecessor by name."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.deleted(LNS)
    desk.lnamespace("uid-b", **paid("2", 1))
    await desk.reconcile()


@pytest.mark.usefixtures("waiting")
async def test_a_successor_pays_from_the_creation_of_its_own_namespace(desk: Desk) -> None:
    """The predecessor pays until its own Namespace is gone."""
    before = datetime.now(UTC)
    desk.deleted(SPACE)
    await desk.close("uid-a")
    desk.now[0] = datetime.now(UTC)
    await desk.reconcile()
    begin = datetime.fromisoformat(spec_of(desk, "uid-b.1.apply")["validFrom"])
    end = datetime.fromisoformat(spec_of(desk, "uid-a.delete")["validFrom"])
    assert before <= end <= begin


@pytest.mark.usefixtures("waiting")
async def test_a_successor_pays_from_its_own_namespace_after_a_restart_too(desk: Desk) -> None:
    """A finalizer held the old Namespace for days, which the successor was charged for."""
    desk.deleted(SPACE)
    desk.restart()
    desk.now[0] = before = datetime.now(UTC)
    await desk.reconcile()
    assert datetime.fromisoformat(spec_of(desk, "uid-b.1.apply")["validFrom"]) >= before


@pytest.mark.usefixtures("waiting")
async def test_a_late_record_of_a_successor_begins_at_its_own_namespace(desk: Desk) -> None:
    """The API server accepted no records for an hour, and that hour was not charged."""
    desk.deleted(SPACE)
    desk.cluster.refusals["POST", RECORDS] = 503
    desk.now[0] = begin = datetime.now(UTC)
    await desk.reconcile()
    desk.cluster.refusals.clear()
    desk.now[0] += timedelta(hours=1)
    await desk.reconcile()
    assert datetime.fromisoformat(spec_of(desk, "uid-b.1.apply")["validFrom"]) == begin


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("failures", [0, FAILURES_BEFORE_STATUS])
async def test_an_lnamespace_that_waited_pays_from_its_namespace_after_a_restart(
    desk: Desk, failures: int
) -> None:
    """The API server took no records, and with the process the start was forgotten.

    It paid from its restart on; or, where the status had named the Namespace, for what the
    predecessor had cost.
    """
    desk.deleted(SPACE)
    desk.cluster.refusals["POST", RECORDS] = 503
    desk.now[0] = begin = datetime.now(UTC).replace(microsecond=0)
    await desk.reconcile(failures)
    own = desk.cluster.objects[SPACE]
    own["metadata"]["creationTimestamp"] = begin.isoformat()
    desk.cluster.make(SPACE, own)
    desk.told(NAMESPACE, SPACE)
    desk.cluster.refusals.clear()
    desk.restart()
    desk.now[0] += timedelta(hours=1)
    await desk.reconcile()
    found = datetime.fromisoformat(spec_of(desk, "uid-b.1.apply")["validFrom"])
    assert begin <= found <= begin + timedelta(seconds=1)


@pytest.mark.usefixtures("waiting")
async def test_a_successor_that_was_deleted_while_waiting_pays_for_no_time(desk: Desk) -> None:
    """The successor and the Namespace that it waited for were deleted together."""
    desk.deleted(SPACE)
    desk.deleted(LNS)
    for uid in ("uid-a", "uid-b"):
        assert await desk.close(uid) == RequeueResult()
    begin, end = (spec_of(desk, f"uid-b.{name}")["validFrom"] for name in ("1.apply", "delete"))
    assert begin == end
    assert desk.tenants.outbox.waited == set()


async def test_the_charge_of_a_retained_namespace_ends_with_the_lnamespace(desk: Desk) -> None:
    """With deletionPolicy Retain the Namespace has no owner from then on."""
    desk.lnamespace(**paid("1", 1), deletionPolicy="Retain")
    await desk.reconcile()
    desk.deleted(LNS)
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]


async def test_a_successor_of_the_same_name_is_charged_separately(desk: Desk) -> None:
    """The watch was cut, and shows only the successor."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    del desk.cluster.objects[LNS]
    desk.lnamespace("uid-b", **paid("2", 1))
    assert await desk.close("uid-a") == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.1.ending"]
    await desk.reconcile()
    assert "uid-b.1.apply" not in desk.records, "its namespace is still the predecessor's"
    desk.deleted(SPACE)
    assert await desk.close("uid-a") == RequeueResult()
    assert spec_of(desk, "uid-a.delete")["costCenter"] == "1"
    await desk.reconcile()
    assert "uid-b.1.apply" in desk.records


async def test_the_end_of_an_lnamespace_deleted_during_its_creation_is_recorded(desk: Desk) -> None:
    """The Namespace exists, but neither the status nor the ledger has it yet."""
    desk.cluster.refusals = {("POST", RECORDS): 503, ("PATCH", f"{LNS}/status"): 503}
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.gone()
    desk.cluster.refusals.clear()
    assert await desk.close() == RequeueResult()
    assert desk.records == ["uid-a.1.apply", "uid-a.delete"]


async def test_no_end_is_recorded_for_an_existing_lnamespace(desk: Desk) -> None:
    desk.lnamespace(**paid("1", 1))
    assert await desk.close() == RequeueResult()
    assert await desk.close("uid-never-seen") == RequeueResult()
    assert desk.records == []


async def test_the_end_of_an_lnamespace_that_became_a_conflict_is_recorded(desk: Desk) -> None:
    """Its Namespace was deleted, and somebody else created another of the same name."""
    desk.lnamespace(**paid("1", 1))
    await desk.reconcile()
    desk.deleted(SPACE)
    desk.cluster.make(SPACE, {"metadata": {"name": "team-a"}})
    desk.told(NAMESPACE, SPACE)
    for _ in range(2):
        await desk.reconcile()
    assert desk.conditions["Ready"] == ("False", "Conflict")
    desk.gone()
    assert await desk.close() == RequeueResult()
    assert desk.records[-1] == "uid-a.delete"


# By itself, over the wire


LNS_A = LNamespace(
    Metadata("team-a", "UID-A", generation=2),
    Spec(
        billing=Billing(
            "2",
            provenance=Provenance(2, NOW, BillingSource.EXPLICIT),
            superseded=(Charge("1", provenance=Provenance(1, NOW, BillingSource.USER)),),
        )
    ),
)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


async def test_a_record_is_sent_in_the_format_that_the_ledger_reads(server: Server) -> None:
    async with client_of(server.url) as client:
        outbox = BillingRecorder(client, NAMES)
        task = asyncio.create_task(outbox.record_deletion(DeletedLNamespace(LNS_A, NOW)))
        sent = []
        for _ in range(3):
            exchange = await server.next("POST")
            assert exchange.path == RECORDS
            sent.append(exchange.json)
            exchange.answer(exchange.json, 201)
        assert await task == []
    assert [one["metadata"] for one in sent] == [
        {"name": "uid-a.1.apply"},
        {"name": "uid-a.2.apply"},
        {"name": "uid-a.delete"},
    ]
    records = [msgspec.convert(one["spec"], BillingRecord) for one in sent]
    assert records == [*pending_records(LNS_A, NOW), deletion(LNS_A, NOW)]


async def test_a_conflict_other_than_already_exists_is_a_failure(server: Server) -> None:
    async with client_of(server.url) as client:
        task = asyncio.create_task(BillingRecorder(client, NAMES).record(LNS_A, NOW))
        (await server.next("POST")).refuse(409, "Conflict")
        (failure,) = await task
        assert isinstance(failure, errors.Conflict)
        assert server.arrived.empty()


def test_deletions_are_distinguished_by_uid() -> None:
    assert DeletedLNamespaceKey("a") == DeletedLNamespaceKey("a") != DeletedLNamespaceKey("b")
