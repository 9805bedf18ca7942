"""What differs between ledger and cluster becomes records, and nothing else does."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.ledger.database.table import ClusterIdentity, Row, labels_of, to_row
from lnamespace.ledger.outbox.endings import deletion, pending_deletion
from lnamespace.ledger.outbox.record import CORRECTION, pending_records, unseen_change
from lnamespace.ledger.publisher.comparison import (
    ClusterState,
    Differences,
    find_differences,
    rows_of_cluster,
    rows_of_other_names,
    withhold_excess,
)
from lnamespace.model.billing import Billing, BillingSource, Charge, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status

from tests.unit.support.strategies import NOW

LATER = NOW + timedelta(days=30)


def lnamespace(
    uid: str = "u", generation: int = 3, at: int = 2, recorded: int = 2, **billing: Any
) -> LNamespace:
    origin = Provenance(at, NOW, BillingSource.EXPLICIT, "alice")
    fields: dict[str, Any] = {"cost_center": "1", "provenance": origin} | billing
    return LNamespace(
        Metadata("team-a", uid, generation=generation),
        Spec(billing=Billing(**fields)),
        Status(recorded=Recorded(recorded)),
    )


def rows_of(*tenants: LNamespace) -> list[Row]:
    """Return the open rows of a ledger that knows all of them."""
    fresh = (LNamespace(lns.metadata, lns.spec) for lns in tenants)
    return [to_row(pending_records(lns, NOW)[-1], ClusterIdentity()) for lns in fresh]


def compared(rows: list[Row], *tenants: LNamespace) -> Differences:
    return find_differences(
        rows, ClusterState(tenants, frozenset(lns.uid for lns in tenants)), LATER
    )


def test_no_record_is_created_if_ledger_and_cluster_agree() -> None:
    assert compared(rows_of(lnamespace()), lnamespace()) == Differences()
    assert compared([]) == Differences()


def test_a_missing_event_is_recorded_with_its_own_time() -> None:
    (record,) = compared([], lnamespace()).missing
    assert (record.event_id, record.valid_from, record.changed_by) == ("u/2/APPLY", NOW, "alice")


def test_events_not_yet_recorded_by_the_controller_are_not_missing() -> None:
    assert compared([], lnamespace(recorded=0)) == Differences()
    newer = lnamespace(generation=5, at=5, recorded=2, cost_center="2")
    assert compared(rows_of(lnamespace()), newer) == Differences()


def test_all_events_newer_than_the_ledger_row_are_missing() -> None:
    former = Charge("2", provenance=Provenance(4, NOW, BillingSource.EXPLICIT))
    lns = lnamespace(generation=6, at=6, recorded=6, cost_center="3", superseded=(former,))
    assert [r.generation for r in compared(rows_of(lnamespace()), lns).missing] == [4, 6]


@pytest.mark.parametrize("field", ["cost_center", "owner", "team", "environment"])
def test_a_change_that_bypassed_the_webhook_is_recorded_from_the_present_time(field: str) -> None:
    change: dict[str, Any] = {field: "new"}
    behind = lnamespace(generation=4, **change)
    (record,) = compared(rows_of(lnamespace()), behind).changed
    assert record == unseen_change(behind, LATER)
    # Once it is in the ledger, it is no difference.
    assert compared([to_row(record, ClusterIdentity())], behind) == Differences()


def test_a_correction_by_hand_holds_until_the_next_change() -> None:
    """The comparison of the same day ended it, after any edit of the lists."""
    (corrected,) = rows_of(lnamespace())
    corrected |= {"billing_source": CORRECTION, "cost_center": "0815"}
    assert compared([corrected], lnamespace(generation=5)) == Differences()
    newer = lnamespace(generation=6, at=6, recorded=6, cost_center="2")
    assert [record.generation for record in compared([corrected], newer).missing] == [6]


def test_labels_are_compared_in_any_order() -> None:
    known = lnamespace(labels={"a": "1", "b": "2"})
    assert not compared(rows_of(known), lnamespace(labels={"b": "2", "a": "1"})).records
    assert compared(rows_of(known), lnamespace(labels={"a": "1"})).changed


def test_an_edit_of_the_member_lists_does_not_change_the_bill() -> None:
    assert compared(rows_of(lnamespace()), lnamespace(generation=40)) == Differences()


def test_a_differing_row_of_the_same_generation_is_left_unchanged() -> None:
    """Its event is told; the table is nobody's to edit, and a second row could not be added."""
    assert compared(rows_of(lnamespace(generation=2)), lnamespace(generation=2, owner="new")) == (
        Differences()
    )


def restored(cost_center: str, generation: int, days: float) -> LNamespace:
    """Return an LNamespace whose etcd was restored, paid for since a day after the backup."""
    origin = Provenance(generation, NOW + timedelta(days=days), BillingSource.EXPLICIT, "alice")
    return lnamespace(
        generation=generation, recorded=generation, cost_center=cost_center, provenance=origin
    )


def test_after_a_restore_who_pays_by_the_cluster_pays_from_then_on() -> None:
    """The ledger has generation 5, and the LNamespace is at 2 again: no change was seen."""
    rows = rows_of(restored("later", 5, 3))
    (record,) = compared(rows, restored("1", 2, 0)).changed
    assert (record.event_id, record.generation) == ("u/5/APPLY/APPLY", 5)
    assert (record.cost_center, record.valid_from) == ("1", LATER)
    assert compared([to_row(record, ClusterIdentity())], restored("1", 2, 0)) == Differences()


@pytest.mark.parametrize("generation", [4, 5])
def test_a_change_at_a_generation_that_was_used_before_counts_from_its_own_time(
    generation: int,
) -> None:
    """Its event had the id of another, and was taken for known."""
    rows = rows_of(restored("before", 5, 3))
    changed = restored("2", generation, 10)
    (record,) = compared(rows, changed).changed
    assert (record.event_id, record.generation) == ("u/5/APPLY/APPLY", 5)
    assert (record.cost_center, record.valid_from) == ("2", NOW + timedelta(days=10))
    assert compared([to_row(record, ClusterIdentity())], changed) == Differences()


def test_after_a_restore_the_same_payer_is_no_difference() -> None:
    assert compared(rows_of(restored("1", 5, 3)), restored("1", 2, 0)) == Differences()
    assert compared(rows_of(restored("1", 5, 3)), restored("1", 5, 10)) == Differences()


def test_a_change_follows_a_retraction_of_its_generation() -> None:
    """In the views a RETRACT is the last event of its generation."""
    (row,) = rows_of(restored("before", 5, 3))
    row |= {"event_id": "u/DELETE/RETRACT", "operation": "RETRACT", "corrects": "u/DELETE"}
    (record,) = compared([row], restored("2", 5, 10)).changed
    assert (record.event_id, record.generation) == ("u/DELETE/RETRACT/APPLY", 6)


NEW = ClusterIdentity(cluster_name="new")
NAMES = NEW.columns()


def test_under_a_new_name_of_the_cluster_who_pays_pays_from_then_on() -> None:
    """Its events were in the ledger under the former name, and nobody paid under the new one."""
    lns = lnamespace(generation=2)
    former = [row | {"cluster_name": "old"} for row in rows_of(lns)]
    renamed = rows_of_other_names(former, NAMES)
    there = ClusterState((lns,), frozenset({"u"}))
    found = find_differences([], there, LATER, renamed=renamed)
    (record,) = found.changed
    assert found == Differences(changed=(record,))
    assert (record.event_id, record.generation) == ("u/2/APPLY/APPLY", 2)
    assert (record.cost_center, record.valid_from) == ("1", LATER)


def test_an_lnamespace_missing_under_every_name_is_recorded() -> None:
    former = [row | {"cluster_name": "old"} for row in rows_of(lnamespace())]
    newer = lnamespace(generation=4, at=4, recorded=4, cost_center="2")
    there = ClusterState((newer,), frozenset({"u"}))
    found = find_differences([], there, LATER, renamed=rows_of_other_names(former, NAMES))
    assert [record.event_id for record in found.records] == ["u/4/APPLY"]


def test_under_a_name_that_is_taken_back_who_pays_by_now_pays() -> None:
    """What changed meanwhile was in the ledger under the other name alone."""
    (here,) = ({**row, "cluster_name": "new"} for row in rows_of(lnamespace()))
    newer = lnamespace(generation=4, at=4, recorded=4, cost_center="2")
    (other,) = ({**row, "cluster_name": "old"} for row in rows_of(newer))
    there = ClusterState((newer,), frozenset({"u"}))
    renamed = rows_of_other_names([here, other], NAMES)
    (record,) = find_differences([here], there, LATER, renamed=renamed).records
    assert (record.event_id, record.cost_center) == ("u/4/APPLY/APPLY", "2")
    assert rows_of_other_names([here, to_row(record, NEW), other], NAMES) == {}


def test_an_lnamespace_missing_from_the_cluster_is_deleted_from_the_present_time() -> None:
    (record,) = compared(rows_of(lnamespace())).gone
    assert record.event_id == deletion(lnamespace(), NOW).event_id
    assert (record.valid_from, record.namespace, record.cost_center) == (LATER, "team-a", "1")


def test_an_unreadable_lnamespace_is_not_recorded_as_deleted() -> None:
    assert not find_differences(
        rows_of(lnamespace()), ClusterState((), frozenset({"u"})), LATER
    ).records


def test_an_lnamespace_with_a_pending_deletion_is_not_recorded_as_deleted() -> None:
    """Its Namespace may be there still, until when it costs."""
    announced = pending_deletion(lnamespace(cost_center="2"), NOW + timedelta(hours=1))
    there, gone = lnamespace("there"), ClusterState((), frozenset({"there"}), {"u": announced})
    assert find_differences(rows_of(lnamespace(), there), gone, LATER) == Differences()


def rows_from(cluster: str | None, *uids: str) -> list[Row]:
    rows = rows_of(*(lnamespace(uid) for uid in uids))
    return [row | {"cluster_uid": cluster} for row in rows]


def test_rows_of_another_cluster_with_the_same_names_are_ignored() -> None:
    """A copied values file: 1,080 LNamespaces of the other one were ended in 20 seconds."""
    rows = [*rows_from("here", "mine"), *rows_from("there", "theirs")]
    found, strangers = rows_of_cluster(rows, "here", {"mine"})
    assert ([row["lnamespace_uid"] for row in found], strangers) == (["mine"], 1)
    found, strangers = rows_of_cluster(rows, "here", {"mine"}, {"there"})
    assert (len(found), strangers) == (2, 0)


@pytest.mark.parametrize(
    ("living", "former", "adopted"),
    [
        ({"a", "b", "c"}, (), True),
        ({"a", "b"}, (), True),
        ({"a"}, (), False),
        ((), (), False),
        ((), ("",), True),
    ],
)
def test_rows_without_cluster_uid_are_adopted_if_most_of_their_lnamespaces_exist(
    living: Collection[str], former: Collection[str], adopted: bool
) -> None:
    rows = rows_from(None, "a", "b", "c")
    found, strangers = rows_of_cluster(rows, "here", living, former)
    assert len(found) == (3 if adopted else len(living))
    assert strangers == 3 - len(found)


def test_rows_without_cluster_uid_are_not_adopted_if_only_half_exist() -> None:
    """Each of them would adopt the other's, and end them."""
    rows = rows_from(None, "mine", "theirs")
    for living in ("mine", "theirs"):
        found, strangers = rows_of_cluster(rows, "here", {living})
        assert ([row["lnamespace_uid"] for row in found], strangers) == ([living], 1)


@pytest.mark.parametrize(("gone", "of", "ends"), [(20, 20, 20), (21, 21, 0), (30, 300, 30)])
def test_too_many_deletions_are_withheld(gone: int, of: int, ends: int) -> None:
    """An empty etcd, or another cluster, would have it end all that there is."""
    uids = [f"u-{number}" for number in range(of)]
    there = ClusterState((), frozenset(uids[gone:]))
    found = find_differences(rows_from("here", *uids), there, LATER)
    assert len(found.gone) == gone
    assert (len(withhold_excess(found).gone), len(withhold_excess(found).withheld)) == (
        ends,
        gone - ends,
    )
    assert (f"would end {gone} of {of}" in withhold_excess(found).suspicion) == (ends == 0)


def test_a_deletion_of_an_existing_lnamespace_is_retracted() -> None:
    """Another cluster ended it, or this one was restored from a backup of before its end."""
    lns = lnamespace(cost_center="2")
    there = ClusterState((lns,), frozenset({"u"}))
    found = find_differences([], there, LATER, {"u": "u/DELETE"})
    (record,) = found.reopened
    assert found == Differences(reopened=(record,))
    assert (record.event_id, record.corrects) == ("u/DELETE/RETRACT", "u/DELETE")
    assert (record.valid_from, record.cost_center) == (LATER, "2")


def test_an_existing_lnamespace_with_a_pending_deletion_is_not_deleted() -> None:
    lns = lnamespace()
    there = ClusterState((lns,), frozenset({"u"}), {"u": pending_deletion(lns, NOW)})
    assert find_differences(rows_of(lns), there, LATER) == Differences()


def test_columns_that_a_row_lacks_are_not_compared() -> None:
    (known,) = rows_of(lnamespace(team="red"))
    del known["team"], known["labels"]
    assert compared([known], lnamespace(team="blue", generation=4)) == Differences()
    assert compared([known]).gone[0].team == ""


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"a": 1}'])
def test_unreadable_labels_of_a_row_count_as_none(text: str | None) -> None:
    assert labels_of(text) == {}


@given(st.lists(st.booleans(), max_size=6), st.lists(st.booleans(), max_size=6))
def test_no_difference_remains_after_the_differences_are_repaired(
    in_ledger: list[bool], in_cluster: list[bool]
) -> None:
    everybody = [lnamespace(str(n), cost_center=str(n)) for n in range(6)]
    rows = rows_of(*(lns for lns, yes in zip(everybody, in_ledger, strict=False) if yes))
    present = [lns for lns, yes in zip(everybody, in_cluster, strict=False) if yes]
    first = compared(rows, *present)
    gone = {record.lnamespace_uid for record in first.gone}
    repaired = [r for r in rows if r["lnamespace_uid"] not in gone]
    repaired += [to_row(record, ClusterIdentity()) for record in first.missing]
    assert compared(repaired, *present) == Differences()
