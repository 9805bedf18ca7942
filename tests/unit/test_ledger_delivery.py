"""One bad row stops no other; a database that takes nothing is not the rows' fault."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import LedgerUnavailable, RowsRefused
from lnamespace.ledger.database.table import Row
from lnamespace.ledger.publisher.backlog import REFUSED_MAX, Delivery, deliver


class Database:
    """Takes a batch whole or not at all, as a transaction does."""

    def __init__(self, bad: set[int]) -> None:
        self.bad = bad
        self.taken: list[Any] = []
        self.calls = 0

    def append(self, rows: Sequence[Row]) -> int:
        self.calls += 1
        numbers = [row["event_id"] for row in rows]
        if self.bad & set(numbers):
            raise RowsRefused("no")
        fresh = [number for number in numbers if number not in self.taken]
        self.taken += fresh
        return len(fresh)


def rows(count: int) -> list[Row]:
    return [{"event_id": number} for number in range(count)]


def test_a_batch_without_refused_rows_takes_one_write() -> None:
    database = Database(set())
    delivery = deliver(database.append, rows(100))
    assert (delivery.new, database.calls, delivery.refused) == (100, 1, ())


@given(st.sets(st.integers(0, 99), max_size=REFUSED_MAX - 1))
def test_accepted_rows_are_written_in_order_and_refused_rows_are_reported(bad: set[int]) -> None:
    database = Database(bad)
    delivery = deliver(database.append, rows(100))
    assert database.taken == [n for n in range(100) if n not in bad]
    assert [*delivery.delivered] == database.taken
    assert {*_refused(delivery)} == bad
    assert delivery.new == 100 - len(bad)


def test_a_single_refused_row_is_found_with_few_writes() -> None:
    database = Database({42})
    deliver(database.append, rows(100))
    assert database.calls < 20


def test_delivery_stops_after_a_maximum_of_refused_rows() -> None:
    database = Database(set(range(100)))
    delivery = deliver(database.append, rows(100))
    assert (delivery.all_refused, _refused(delivery)) == (True, list(range(REFUSED_MAX)))
    assert database.calls < 30


def test_all_rows_of_a_small_batch_can_be_refused_individually() -> None:
    delivery = deliver(Database({0, 1}).append, rows(2))
    assert _refused(delivery) == [0, 1]


def test_a_database_that_fails_within_a_batch_is_an_error() -> None:
    database = Database({1})

    def append(batch: Sequence[Row]) -> int:
        if database.calls == 3:
            raise LedgerUnavailable("gone")
        return database.append(batch)

    with pytest.raises(LedgerUnavailable):
        deliver(append, rows(4))
    database.bad = set()
    assert deliver(database.append, rows(4)).new + 1 == 4


def _refused(delivery: Delivery) -> list[Any]:
    return [event for event, _ in delivery.refused]
