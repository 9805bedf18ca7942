"""What the ledger promises, whatever the database: tests over a fixture `ledger`.

A module that has such a fixture (an empty ledger for each test) imports them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from lnamespace.errors import LedgerMisconfigured
from lnamespace.ledger.database import schema
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.queries import events, intervals
from lnamespace.ledger.database.table import (
    SCHEMA_VERSION,
    VERSION_SUFFIX,
    VIEW_SUFFIX,
    ClusterIdentity,
    Row,
    to_row,
)
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord

START = datetime(2026, 3, 1, tzinfo=UTC)
HERE = ClusterIdentity("project", "northamerica-northeast1", "cluster-a")
NASTY = (
    "'; DROP TABLE lnamespace_billing_events; --",
    'say "hi"\r\n\tand %s %(x)s {0} :name ? $1 \\',
    "=HYPERLINK(1)",
    "Zoë 😀 \u202e\u0007 漢字",
    "x" * 10_000,
    " ",
)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def applied(uid: str, generation: int, since: float, **fields: Any) -> Row:
    return to_row(
        BillingRecord(
            f"{uid}/{generation}/APPLY",
            BillingOperation.APPLY,
            fields.pop("namespace", "team-a"),
            uid,
            generation,
            day(since),
            day(since),
            **fields,
        ),
        fields.pop("place", HERE),
    )


def ended(uid: str, generation: int, since: float, **fields: Any) -> Row:
    first = applied(uid, generation, since, **fields)
    return first | {"event_id": f"{uid}/DELETE", "operation": "DELETE"}


def spans(ledger: Ledger) -> list[tuple[str, float, float | None]]:
    """Cost centre and the days from and to which it pays, in order."""
    query = intervals(ledger.table).order_by("namespace", "valid_from")
    return [
        (found["cost_center"], _days(found["valid_from"]), _days(found["valid_to"]))
        for found in ledger.read(query)
    ]


def _days(moment: datetime | None) -> Any:
    return moment and (moment - START) / timedelta(days=1)


def test_a_row_is_added_once(ledger: Ledger) -> None:
    rows = [applied("u", generation, generation) for generation in range(4)]
    assert [ledger.append(rows[:3]), ledger.append(rows), ledger.append(rows)] == [3, 1, 0]
    assert len(ledger.read(sa.select(ledger.table))) == 4


def test_an_event_twice_in_a_batch_is_one_row(ledger: Ledger) -> None:
    assert ledger.append([applied("u", 1, 0), applied("u", 1, 0)]) == 1


def test_no_rows_are_no_work(ledger: Ledger) -> None:
    assert ledger.append([]) == 0


def test_more_rows_than_a_statement_can_carry(ledger: Ledger) -> None:
    rows = [applied(f"u{number}", 1, 0) for number in range(230)]
    assert (ledger.append(rows), ledger.append(rows)) == (230, 0)


def test_text_comes_out_as_it_went_in(ledger: Ledger) -> None:
    rows = [
        applied(
            f"u{number}",
            1,
            number,
            requester=text,
            changed_by=text,
            billing_source_group=text,
            cost_center=text,
            owner=text,
            team=text,
            environment=text,
            labels={text[:63]: text},
        )
        for number, text in enumerate(NASTY)
    ]
    ledger.append(rows)
    assert by_id(ledger.read(events(ledger.table))) == by_id(rows)


def test_instants_keep_their_microseconds(ledger: Ledger) -> None:
    moment = START + timedelta(microseconds=1)
    ledger.append([applied("u", 1, 0) | {"valid_from": moment}])
    (found,) = ledger.read(sa.select(ledger.table))
    assert found["valid_from"] == moment
    assert found["valid_from"].tzinfo is not None


def test_an_interval_ends_where_the_next_begins(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), applied("u", 2, 3, cost_center="2")])
    assert spans(ledger) == [("1", 0, 3), ("2", 3, None)]


def test_an_end_closes_the_last_interval(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 7, 5)])
    assert spans(ledger) == [("1", 0, 5)]


def test_between_an_end_and_the_successor_nobody_pays(ledger: Ledger) -> None:
    ledger.append(
        [
            applied("old", 1, 0, cost_center="1"),
            ended("old", 1, 2),
            applied("new", 1, 5, cost_center="2"),
        ]
    )
    assert spans(ledger) == [("1", 0, 2), ("2", 5, None)]


def test_a_late_end_does_not_close_the_successor(ledger: Ledger) -> None:
    ledger.append(
        [
            applied("old", 1, 0, cost_center="1"),
            applied("new", 1, 4, cost_center="2"),
            ended("old", 1, 6),
        ]
    )
    assert spans(ledger) == [("1", 0, 4), ("2", 4, None)]


def test_a_missed_end_is_closed_by_the_successor(ledger: Ledger) -> None:
    ledger.append([applied("old", 1, 0, cost_center="1"), applied("new", 1, 4, cost_center="2")])
    assert spans(ledger) == [("1", 0, 4), ("2", 4, None)]


def test_generations_decide_where_clocks_differ(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 2, cost_center="1"), applied("u", 2, 1, cost_center="2")])
    assert spans(ledger) == [("2", 2, None)]


def test_two_changes_at_one_instant_count_once(ledger: Ledger) -> None:
    ledger.append([applied("u", n, 2, cost_center=str(n)) for n in (3, 1, 2)])
    assert spans(ledger) == [("3", 2, None)]


def test_a_living_lnamespace_takes_over_from_an_ended_one_at_the_same_instant(
    ledger: Ledger,
) -> None:
    ledger.append(
        [
            applied("old", 5, 2, cost_center="1"),
            applied("new", 1, 2, cost_center="2"),
            ended("old", 5, 3),
        ]
    )
    assert spans(ledger) == [("2", 2, None)]


def test_a_predecessor_that_began_later_by_its_clock_does_not_close_who_lives(
    ledger: Ledger,
) -> None:
    """The webhook of the successor was slow: nobody followed the predecessor, for ever."""
    ledger.append([applied("old", 1, 0, cost_center="1"), applied("old", 2, 4, cost_center="2")])
    ledger.append([ended("old", 2, 5), applied("new", 1, 3, cost_center="3")])
    assert spans(ledger) == [("1", 0, 4), ("3", 4, None)]
    ledger.append([applied("new", 2, 4.5, cost_center="4"), ended("new", 2, 9)])
    assert spans(ledger) == [("1", 0, 4), ("3", 4, 4.5), ("4", 4.5, 9)]


def test_migrated_rows_keep_their_order(ledger: Ledger) -> None:
    ledger.append([applied("old", n, n, cost_center=f"old {n}") for n in (0, 1, 5)])
    ledger.append([ended("old", 5, 6)])
    ledger.append([applied("new", n, n, cost_center=f"new {n}") for n in (2, 3, 7)])
    assert spans(ledger) == [("old 0", 0, 1), ("old 1", 1, 5), ("new 3", 5, 7), ("new 7", 7, None)]


def test_an_end_that_was_missed_leaves_its_time_to_the_successor(ledger: Ledger) -> None:
    """The successor has ended, and a comparison has not found the predecessor gone yet."""
    ledger.append([applied("old", 1, 0, cost_center="1"), applied("new", 1, 4, cost_center="2")])
    ledger.append([ended("new", 1, 6)])
    assert spans(ledger) == [("1", 0, 4), ("2", 4, 6)]
    ledger.append([ended("old", 1, 8)])
    assert spans(ledger) == [("1", 0, 4), ("2", 4, 6)]


def test_clusters_do_not_meet(ledger: Ledger) -> None:
    there = applied("there", 1, 1, cost_center="2") | {"cluster_name": "cluster-b"}
    ledger.append([applied("here", 1, 0, cost_center="1"), there])
    assert spans(ledger) == [("1", 0, None), ("2", 1, None)]
    assert [found["lnamespace_uid"] for found in ledger.open_rows(HERE)] == ["here"]


def test_open_is_the_newest_of_what_has_not_ended(ledger: Ledger) -> None:
    ledger.append(
        [
            applied("gone", 1, 0),
            ended("gone", 1, 1),
            applied("lives", 1, 0, cost_center="1"),
            applied("lives", 10, 1, cost_center="2"),
            applied("lives", 9, 1, cost_center="3"),
        ]
    )
    assert [(r["lnamespace_uid"], r["cost_center"]) for r in ledger.open_rows(HERE)] == [
        ("lives", "2")
    ]


def test_readers_have_a_view(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    view = sa.table(
        f"{ledger.table.name}_intervals",
        sa.column("cost_center"),
        sa.column("valid_to", ledger.table.c.valid_from.type),
        schema=ledger.table.schema,
    )
    (found,) = ledger.read(sa.select(view))
    assert (found["cost_center"], found["valid_to"]) == ("1", day(5))


def test_to_prepare_again_changes_nothing(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0)])
    again = Ledger(ledger.engine, ledger.table)
    again.prepare()
    assert again.append([applied("u", 1, 0), applied("u", 2, 0)]) == 1


def test_a_table_that_lacks_columns_is_extended(ledger: Ledger) -> None:
    older(ledger)
    assert ledger.append([applied("u", 1, 0, team="red")]) == 1
    assert [found["team"] for found in ledger.read(sa.select(ledger.table))] == ["red"]


def test_a_table_of_somebody_elses_is_left_as_it_is(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    older(ledger)
    theirs = Ledger(ledger.engine, ledger.table, manage=False)
    assert theirs.append([applied("u", 1, 0, cost_center="1", team="red")]) == 1
    assert "the table lacks columns" in caplog.text
    (found,) = theirs.open_rows(HERE)
    assert found["cost_center"] == "1"
    assert "team" not in found


def test_two_instances_on_one_cluster_do_not_miss_each_others(ledger: Ledger) -> None:
    other = replace(HERE, api_group="tenancy.example.com")
    mine, theirs = applied("mine", 1, 0), applied("theirs", 1, 0)
    ledger.append([mine, theirs | {"api_group": other.api_group}])
    assert [found["lnamespace_uid"] for found in ledger.open_rows(HERE)] == ["mine"]
    assert [found["lnamespace_uid"] for found in ledger.open_rows(other)] == ["theirs"]


def test_a_row_of_no_instance_is_the_default_ones(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0) | {"api_group": None}])
    assert len(ledger.open_rows(HERE)) == 1
    assert ledger.open_rows(replace(HERE, api_group="tenancy.example.com")) == []


def test_a_table_that_cannot_tell_instances_apart_serves_one(ledger: Ledger) -> None:
    older(ledger)
    theirs = Ledger(ledger.engine, ledger.table, manage=False)
    theirs.append([applied("u", 1, 0)])
    assert len(theirs.open_rows(HERE)) == 1
    with pytest.raises(LedgerMisconfigured, match="no column api_group"):
        theirs.open_rows(replace(HERE, api_group="tenancy.example.com"))


def older(ledger: Ledger) -> None:
    """Make the table as it was before it had all columns."""
    kept = [
        c
        for c in ledger.table.c
        if c.name not in ("team", "labels", "api_group", "schema_version")
        and c.name not in ("cluster_uid", "corrects", "reason")
    ]
    columns = [sa.Column(c.name, c.type, primary_key=c.primary_key) for c in kept]
    past = sa.Table(ledger.table.name, sa.MetaData(), *columns, schema=ledger.table.schema)
    with ledger.engine.begin() as connection:
        past.create(connection)


def by_id(rows: Sequence[Row]) -> dict[str, Row]:
    return {found["event_id"]: found for found in rows}


def retraction(uid: str, generation: int, since: float, end: str = "", **fields: Any) -> Row:
    """That an end was wrong, and who pays since then."""
    corrected = end or f"{uid}/DELETE"
    first = applied(uid, generation, since, **fields)
    return first | {
        "event_id": f"{corrected}/RETRACT",
        "operation": "RETRACT",
        "corrects": corrected,
    }


def test_an_end_that_was_taken_back_ends_nothing(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    ledger.append([retraction("u", 1, 8, cost_center="1")])
    assert spans(ledger) == [("1", 0, 8), ("1", 8, None)]
    assert [found["lnamespace_uid"] for found in ledger.open_rows(HERE)] == ["u"]


def voiding(row_: Row) -> Row:
    """That an event counts no more."""
    event = row_["event_id"]
    return row_ | {"event_id": f"{event}/VOID", "operation": "VOID", "corrects": event}


def test_a_correction_moves_an_interval_to_another_payer(ledger: Ledger) -> None:
    first, second = applied("u", 1, 0, cost_center="1"), applied("u", 2, 4, cost_center="2")
    ledger.append([first, second])
    ledger.append([retraction("u", 1, 1, end="u/1/APPLY", cost_center="9")])
    assert spans(ledger) == [("9", 1, 4), ("2", 4, None)]
    ledger.append([retraction("u", 1, 0, end="u/1/APPLY/RETRACT", cost_center="8")])
    assert spans(ledger) == [("8", 0, 4), ("2", 4, None)]
    assert [found["cost_center"] for found in ledger.open_rows(HERE)] == ["2"]


def test_a_change_that_did_not_happen_leaves_what_was_before(ledger: Ledger) -> None:
    rows = [applied("u", n, n - 1, cost_center=str(n)) for n in (1, 2, 3)]
    ledger.append(rows)
    ledger.append([voiding(rows[1]), voiding(rows[2])])
    assert spans(ledger) == [("1", 0, None)]
    assert [found["generation"] for found in ledger.open_rows(HERE)] == [1]


def test_an_end_of_another_time_is_told_instead(ledger: Ledger) -> None:
    end = ended("u", 1, 5)
    ledger.append([applied("u", 1, 0, cost_center="1"), end])
    ledger.append([voiding(end), ended("u", 1, 3) | {"recorded_at": day(9)}])
    assert spans(ledger) == [("1", 0, 3)]
    ledger.append([end])
    assert spans(ledger) == [("1", 0, 3)]
    assert ledger.open_rows(HERE) == []


def test_a_payer_is_corrected_before_a_reopened_end(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 2)])
    ledger.append([applied("u", 2, 3, cost_center="2"), retraction("u", 2, 8, cost_center="2")])
    assert spans(ledger) == [("1", 0, 3), ("2", 3, 8), ("2", 8, None)]


def test_after_an_end_was_taken_back_the_next_end_counts(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    assert ledger.append([retraction("u", 1, 8, cost_center="1")]) == 1
    assert ledger.append([ended("u", 1, 9)]) == 1
    assert ledger.append([ended("u", 1, 9)]) == 0
    assert spans(ledger) == [("1", 0, 8), ("1", 8, 9)]
    assert ledger.open_rows(HERE) == []
    ledger.append([retraction("u", 1, 10, "u/DELETE/1", cost_center="1"), ended("u", 1, 11)])
    assert spans(ledger)[-1] == ("1", 10, 11)


def test_a_wrong_end_that_is_told_again_is_known(ledger: Ledger) -> None:
    """Its record waits in the outbox still, while the correction is written."""
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    ledger.append([retraction("u", 1, 8, cost_center="1"), ended("u", 1, 5)])
    assert Ledger(ledger.engine, ledger.table).append([ended("u", 1, 5)]) == 0
    assert spans(ledger)[-1] == ("1", 8, None)


def test_an_lnamespace_that_was_restored_pays_again_after_one_of_its_name(ledger: Ledger) -> None:
    ledger.append([applied("old", 1, 0, cost_center="1"), ended("old", 1, 2)])
    ledger.append([applied("other", 1, 3, cost_center="2"), ended("other", 1, 5)])
    ledger.append([retraction("old", 1, 6, cost_center="1")])
    assert spans(ledger) == [("1", 0, 3), ("2", 3, 5), ("1", 6, None)]
    again = retraction("old", 1, 7, "old/DELETE/RETRACT", cost_center="3")
    ledger.append([again, applied("old", 2, 8, cost_center="4")])
    assert spans(ledger) == [("1", 0, 3), ("2", 3, 5), ("3", 7, 8), ("4", 8, None)]


def test_clusters_of_the_same_names_do_not_end_each_others_intervals(ledger: Ledger) -> None:
    """A copied values file: nothing but the cluster's own UID tells them apart."""
    mine = applied("mine", 1, 0, cost_center="1") | {"cluster_uid": "here"}
    theirs = applied("theirs", 1, 1, cost_center="2") | {"cluster_uid": "there"}
    ledger.append([mine, theirs])
    assert spans(ledger) == [("1", 0, None), ("2", 1, None)]


def test_rows_without_identity_are_those_of_the_lnamespaces_cluster(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1")])
    ledger.append([applied("u", 2, 3, cost_center="2") | {"cluster_uid": "here"}])
    assert spans(ledger) == [("1", 0, 3), ("2", 3, None)]
    assert [found["cluster_uid"] for found in ledger.open_rows(HERE)] == ["here"]
    query = ledger.intervals()
    assert {found["cluster_uid"] for found in ledger.read(query)} == {"here"}


def test_an_end_by_another_cluster_does_not_say_whose_it_is(ledger: Ledger) -> None:
    """It ended what was not its own; that was taken back, and its own LNamespace has the name."""
    wrong = ended("u", 1, 5) | {"cluster_uid": "there"}
    ledger.append([applied("u", 1, 0, cost_center="1"), wrong])
    back = retraction("u", 1, 6, cost_center="1") | {"cluster_uid": "here"}
    theirs = applied("t", 1, 8, cost_center="2") | {"cluster_uid": "there"}
    ledger.append([back, theirs])
    assert spans(ledger) == [("1", 0, 6), ("1", 6, None), ("2", 8, None)]
    ids = {row["lnamespace_uid"]: row["cluster_uid"] for row in ledger.read(ledger.intervals())}
    assert ids == {"u": "here", "t": "there"}


def test_the_ends_that_count_are_told(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0), ended("u", 1, 5), applied("v", 1, 0), ended("v", 1, 5)])
    ledger.append([retraction("v", 1, 6)])
    assert ledger.deletion_ids(["u", "v", "w"]) == {"u": "u/DELETE"}


def test_a_table_that_is_dropped_is_made_again(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0)])
    with ledger.engine.begin() as connection:
        connection.execute(sa.schema.DropView(schema.view_of(ledger.table)))
        ledger.table.drop(connection)
    with pytest.raises(LedgerMisconfigured):
        ledger.append([applied("u", 2, 1)])
    assert ledger.append([applied("u", 2, 1)]) == 1


def test_a_corrected_view_reaches_an_existing_table(ledger: Ledger) -> None:
    """An older view with its own order of columns, as `api_group` once came among others."""
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    query = intervals(ledger.table)
    names = ["cost_center", *(c.name for c in query.selected_columns if c.name != "cost_center")]
    older_view(ledger, names[:8])
    again = Ledger(ledger.engine, ledger.table)
    again.prepare()
    assert again.view_problem == ""
    with ledger.engine.connect() as connection:
        known = schema.columns_of(connection, schema.view_of(ledger.table))
    assert (known[0], sorted(known)) == ("cost_center", sorted(names))


def test_a_comparison_sees_to_the_view_again(ledger: Ledger) -> None:
    """Somebody replaced the view, and left the view that says the version."""
    ledger.append([applied("u", 1, 0, cost_center="1")])
    older_view(ledger, ["cost_center", "namespace"], version=SCHEMA_VERSION)
    ledger.open_rows(HERE)
    with ledger.engine.connect() as connection:
        known = schema.columns_of(connection, schema.view_of(ledger.table))
    assert "cluster_uid" in known


def test_a_view_of_a_newer_version_is_left_alone(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1")])
    older_view(ledger, ["cost_center"], version=SCHEMA_VERSION + 1)
    Ledger(ledger.engine, ledger.table).prepare()
    with ledger.engine.connect() as connection:
        known = schema.columns_of(connection, schema.view_of(ledger.table))
    assert known == ["cost_center"]
    assert [found["cost_center"] for found in ledger.read(ledger.intervals())] == ["1"]


def test_a_view_of_somebody_elses_does_not_stop_the_ledger(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0, cost_center="1")])
    older_view(ledger, ["cost_center", "mine"])
    again = Ledger(ledger.engine, ledger.table)
    assert again.append([applied("u", 2, 1, cost_center="2")]) == 1
    assert "mine" in again.view_problem


def test_a_newer_command_reads_an_older_table(ledger: Ledger) -> None:
    older(ledger)
    theirs = Ledger(ledger.engine, ledger.table, manage=False)
    theirs.append([applied("u", 1, 0, cost_center="1")])
    (found,) = theirs.read(theirs.intervals())
    assert (found["cost_center"], found["team"], found["cluster_uid"]) == ("1", None, None)
    assert [row["api_group"] for row in theirs.read(theirs.events())] == [None]


def older_view(ledger: Ledger, columns: Sequence[str], version: int = 0) -> None:
    """Make the views as some other version made them."""
    names = (VIEW_SUFFIX, VERSION_SUFFIX)
    query = intervals(ledger.table)
    known = {c.name: c for c in query.selected_columns}
    extra = [sa.literal("1").label(name) for name in columns if name not in known]
    kept = query.with_only_columns(*(known[n] for n in columns if n in known), *extra)
    number = sa.select(sa.literal(version).label("schema_version"))
    with ledger.engine.begin() as connection:
        for name, made in zip(names, (kept, number), strict=True):
            there = sa.Table(ledger.table.name + name, sa.MetaData(), schema=ledger.table.schema)
            connection.execute(sa.schema.DropView(there, if_exists=True))
            connection.execute(
                sa.schema.CreateView(made, ledger.table.name + name, schema=ledger.table.schema)
            )
