"""What happened to the billing of an LNamespace becomes records, each once."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.cli import main
from lnamespace.ledger.outbox.crd import billingrecords_crd
from lnamespace.ledger.outbox.endings import as_deleted, deletion, pending_deletion
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    billingrecords,
    manifest,
    newest_generation,
    pending_records,
    records_since,
    unseen_change,
)
from lnamespace.model.billing import Billing, BillingSource, Charge, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status
from lnamespace.model.names import Names

from tests.unit.support.strategies import NOW, lnamespaces
from tests.unit.support.structural import accepts

FILE = Path(__file__).resolve().parents[2] / "crds" / "billingrecords.yaml"
(VERSION,) = billingrecords_crd(Names())["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]["properties"]["spec"]
LATER = NOW + timedelta(days=30)
UID = "0b5c3f0e-0000-4000-8000-000000000001"


def origin(generation: int, source: BillingSource = BillingSource.EXPLICIT) -> Provenance:
    return Provenance(generation, NOW + timedelta(days=generation), source, f"by-{generation}")


def lnamespace(generation: int = 1, recorded: int = 0, **billing: Any) -> LNamespace:
    return LNamespace(
        Metadata("team-a", UID, generation=generation),
        Spec(requester="alice", billing=Billing(**billing)),
        Status(recorded=Recorded(recorded)),
    )


def test_the_crd_file_is_the_rendered_output_of_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["render", "billingrecords"]) == 0
    assert capsys.readouterr().out == FILE.read_text(), "run `make crds`"


def test_a_new_lnamespace_has_one_pending_record() -> None:
    lns = lnamespace(cost_center="4711", owner="o", team="t", environment="e", labels={"a": "b"},
                     provenance=origin(1, BillingSource.GROUP))  # fmt: skip
    (record,) = pending_records(lns, LATER)
    assert record.event_id == f"{UID}/1/APPLY"
    assert record.name == f"{UID}.1.apply"
    assert (record.operation, record.namespace) == (BillingOperation.APPLY, "team-a")
    assert record.valid_from == NOW + timedelta(days=1)
    assert record.recorded_at == LATER
    assert (record.requester, record.changed_by) == ("alice", "by-1")
    assert record.billing_source == "Group"
    assert (record.cost_center, record.owner, record.team) == ("4711", "o", "t")
    assert (record.environment, record.labels) == ("e", {"a": "b"})


def test_a_record_does_not_begin_in_the_future_if_the_webhook_clock_is_ahead() -> None:
    """One that was deleted at once would else begin after its successor, and end the living one."""
    ahead = msgspec.structs.replace(origin(1), effective_at=NOW + timedelta(seconds=2))
    lns = lnamespace(provenance=ahead)
    (record,) = pending_records(lns, NOW)
    assert record.valid_from == NOW
    assert deletion(lns, NOW).valid_from >= record.valid_from


def test_a_record_does_not_precede_the_lnamespace_if_the_webhook_clock_is_behind() -> None:
    """It would begin before its predecessor's last change, and be ended by that for ever."""
    behind = msgspec.structs.replace(origin(1), effective_at=NOW - timedelta(seconds=3))
    made = Metadata("team-a", UID, generation=1, creation_timestamp=f"{NOW:%Y-%m-%dT%H:%M:%SZ}")
    lns = msgspec.structs.replace(lnamespace(provenance=behind), metadata=made)
    (record,) = pending_records(lns, LATER)
    assert record.valid_from == NOW.replace(microsecond=0)


def test_a_record_does_not_precede_the_lnamespace_if_the_recorder_clock_is_behind() -> None:
    """By its clock the LNamespace is not there yet; its predecessor's last change is."""
    made = Metadata("team-a", UID, generation=1, creation_timestamp=f"{NOW:%Y-%m-%dT%H:%M:%SZ}")
    lns = msgspec.structs.replace(lnamespace(provenance=origin(1)), metadata=made)
    (record,) = pending_records(lns, NOW - timedelta(seconds=5))
    assert record.valid_from == NOW.replace(microsecond=0)


def test_records_of_superseded_billings_come_first() -> None:
    former = (Charge("1", provenance=origin(1)), Charge("2", provenance=origin(3)))
    lns = lnamespace(9, cost_center="3", provenance=origin(7), superseded=former)
    assert [(r.generation, r.cost_center) for r in pending_records(lns, NOW)] == [
        (1, "1"),
        (3, "2"),
        (7, "3"),
    ]


@pytest.mark.parametrize(("recorded", "generations"), [(0, [1, 3]), (1, [3]), (3, []), (9, [])])
def test_recorded_generations_are_not_pending(recorded: int, generations: list[int]) -> None:
    former = (Charge("1", provenance=origin(1)),)
    lns = lnamespace(3, recorded, cost_center="2", provenance=origin(3), superseded=former)
    assert [record.generation for record in pending_records(lns, NOW)] == generations


def test_a_billing_without_provenance_takes_effect_now() -> None:
    lns = lnamespace(5, cost_center="1")
    (record,) = pending_records(lns, NOW)
    assert (record.generation, record.valid_from) == (5, NOW)
    assert (record.billing_source, newest_generation(lns)) == ("Reconcile", 5)


def test_the_newest_generation_is_that_of_the_current_billing() -> None:
    assert newest_generation(lnamespace(9, provenance=origin(4))) == 4


def test_the_event_of_a_deletion_has_one_id_regardless_of_the_generation() -> None:
    early = lnamespace(1, cost_center="1")
    late = lnamespace(8, cost_center="2", provenance=origin(7))
    assert deletion(early, NOW).event_id == deletion(late, NOW).event_id == f"{UID}/DELETE"
    assert deletion(late, NOW).name == f"{UID}.delete"
    assert deletion(late, NOW).changed_by == ""
    assert deletion(late, NOW).generation == 8


def test_a_deletion_takes_effect_when_it_was_observed() -> None:
    """And not when the deletion was asked for: what finalizers hold costs what it did."""
    asked = NOW - timedelta(minutes=5)
    lns = lnamespace(provenance=origin(-1))
    going = LNamespace(msgspec.structs.replace(lns.metadata, deletion_timestamp=asked), lns.spec)
    assert deletion(going, NOW).valid_from == NOW
    assert as_deleted(pending_deletion(going, asked)).valid_from == asked
    assert as_deleted(pending_deletion(going, asked), NOW).valid_from == NOW
    assert as_deleted(pending_deletion(going, NOW), asked).valid_from == NOW


def test_no_deletion_takes_effect_before_the_last_recorded_change() -> None:
    """Not as the webhook says: one whose clock was hours ahead had the end in the future."""
    made = Metadata("team-a", UID, generation=1, creation_timestamp=f"{NOW:%Y-%m-%dT%H:%M:%SZ}")
    created = NOW.replace(microsecond=0)
    ahead = msgspec.structs.replace(origin(1), effective_at=NOW + timedelta(hours=3))
    lns = msgspec.structs.replace(lnamespace(provenance=ahead), metadata=made)
    for now, ended in ((LATER, LATER), (NOW, NOW), (NOW - timedelta(seconds=5), created)):
        (record,) = pending_records(lns, now)
        assert record.valid_from <= deletion(lns, now).valid_from == ended


@given(lnamespaces())
def test_a_completed_pending_deletion_equals_the_deletion(lns: LNamespace) -> None:
    announced = pending_deletion(lns, NOW)
    assert announced.operation is BillingOperation.ENDING
    assert as_deleted(announced) == deletion(lns, NOW)


def test_each_generation_has_its_own_pending_deletion() -> None:
    first, again, later = (
        pending_deletion(lnamespace(2), NOW),
        pending_deletion(lnamespace(2), LATER),
        lnamespace(3),
    )
    assert first.event_id == again.event_id == f"{UID}/2/ENDING"
    assert first.name == f"{UID}.2.ending"
    assert pending_deletion(later, NOW).name == f"{UID}.3.ending"


def test_an_unseen_change_takes_effect_at_the_time_of_recording() -> None:
    record = unseen_change(lnamespace(6, cost_center="2", provenance=origin(2)), NOW)
    assert (record.event_id, record.valid_from) == (f"{UID}/6/APPLY", NOW)
    assert (record.billing_source, record.changed_by, record.cost_center) == ("Reconcile", "", "2")


def test_null_characters_are_replaced_for_postgresql() -> None:
    (record,) = pending_records(lnamespace(cost_center="a\0b", labels={"\0": "\0"}), NOW)
    assert (record.cost_center, record.labels) == ("a\u2400b", {"\u2400": "\u2400"})


def test_record_times_are_in_utc() -> None:
    eastern = datetime.fromisoformat("2026-03-01T12:00:00-05:00")
    (record,) = pending_records(
        lnamespace(provenance=Provenance(1, eastern, BillingSource.EXPLICIT)), NOW
    )
    assert record.valid_from.tzinfo is UTC


def test_another_instance_has_its_own_api_group_for_records() -> None:
    names = Names("example.com")
    (record,) = pending_records(lnamespace(), NOW)
    assert manifest(record, names)["apiVersion"] == "tenancy.example.com/v1beta1"
    assert billingrecords(names).path("x").startswith("/apis/tenancy.example.com/v1beta1/billing")


@given(lnamespaces(), st.integers(0, 9))
def test_every_record_round_trips_through_its_manifest_and_schema(
    lns: LNamespace, generation: int
) -> None:
    for record in (
        *records_since(lns, generation, NOW),
        deletion(lns, NOW),
        unseen_change(lns, NOW),
    ):
        written = msgspec.json.encode(manifest(record, Names()))
        assert msgspec.convert(json.loads(written)["spec"], BillingRecord) == record
        assert "ownerReferences" not in json.loads(written)["metadata"]
        assert accepts(SCHEMA, json.loads(written)["spec"])
