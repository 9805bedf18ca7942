"""What the ledger promises, whatever the database: tests over a fixture `ledger`.

A module that has such a fixture (an empty ledger for each test) imports them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from lnamespace.billing.ledger import Ledger, Place, Row, row
from lnamespace.billing.record import BillingRecord, Operation
from lnamespace.billing.table import events, intervals
from lnamespace.errors import LedgerMisconfigured

START = datetime(2026, 3, 1, tzinfo=UTC)
HERE = Place("project", "northamerica-northeast1", "cluster-a")
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
    return row(
        BillingRecord(
            f"{uid}/{generation}/APPLY",
            Operation.APPLY,
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
    rows = [applied(f"u{number}", 1, 0) for number in range(450)]
    assert (ledger.append(rows), ledger.append(rows)) == (450, 0)


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


def test_one_who_ended_gives_way_to_one_who_lives_at_one_instant(ledger: Ledger) -> None:
    ledger.append(
        [
            applied("old", 5, 2, cost_center="1"),
            applied("new", 1, 2, cost_center="2"),
            ended("old", 5, 3),
        ]
    )
    assert spans(ledger) == [("2", 2, None)]


def test_clusters_do_not_meet(ledger: Ledger) -> None:
    there = applied("there", 1, 1, cost_center="2") | {"cluster_name": "cluster-b"}
    ledger.append([applied("here", 1, 0, cost_center="1"), there])
    assert spans(ledger) == [("1", 0, None), ("2", 1, None)]
    assert [found["lnamespace_uid"] for found in ledger.open(HERE)] == ["here"]


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
    assert [(r["lnamespace_uid"], r["cost_center"]) for r in ledger.open(HERE)] == [("lives", "2")]


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
    (found,) = theirs.open(HERE)
    assert found["cost_center"] == "1"
    assert "team" not in found


def test_two_instances_on_one_cluster_do_not_miss_each_others(ledger: Ledger) -> None:
    other = replace(HERE, api_group="tenancy.example.com")
    mine, theirs = applied("mine", 1, 0), applied("theirs", 1, 0)
    ledger.append([mine, theirs | {"api_group": other.api_group}])
    assert [found["lnamespace_uid"] for found in ledger.open(HERE)] == ["mine"]
    assert [found["lnamespace_uid"] for found in ledger.open(other)] == ["theirs"]


def test_a_row_of_no_instance_is_the_default_ones(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0) | {"api_group": None}])
    assert len(ledger.open(HERE)) == 1
    assert ledger.open(replace(HERE, api_group="tenancy.example.com")) == []


def test_a_table_that_cannot_tell_instances_apart_serves_one(ledger: Ledger) -> None:
    older(ledger)
    theirs = Ledger(ledger.engine, ledger.table, manage=False)
    theirs.append([applied("u", 1, 0)])
    assert len(theirs.open(HERE)) == 1
    with pytest.raises(LedgerMisconfigured, match="no column api_group"):
        theirs.open(replace(HERE, api_group="tenancy.example.com"))


def older(ledger: Ledger) -> None:
    """The table as it was before it had all columns."""
    kept = [
        c for c in ledger.table.c if c.name not in ("team", "labels", "api_group", "schema_version")
    ]
    columns = [sa.Column(c.name, c.type, primary_key=c.primary_key) for c in kept]
    past = sa.Table(ledger.table.name, sa.MetaData(), *columns, schema=ledger.table.schema)
    with ledger.engine.begin() as connection:
        past.create(connection)


def by_id(rows: Sequence[Row]) -> dict[str, Row]:
    return {found["event_id"]: found for found in rows}
