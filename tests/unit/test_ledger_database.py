"""The ledger keeps its promises on every database that can be had here."""

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import sqlalchemy as sa
from lnamespace.errors import LedgerMisconfigured, LedgerUnavailable, RowsRefused, SettingsError
from lnamespace.ledger.database import engines, schema
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import events_table
from lnamespace.settings import Settings

from tests.unit.support.engines import DATABASES
from tests.unit.support.ledger_contract import *  # noqa: F403 - the tests
from tests.unit.support.ledger_contract import (
    applied,
    ended,
    older_view,
    retraction,
    spans,
)


@pytest.fixture(params=DATABASES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(engines.create_engine(DATABASES[request.param](tmp_path)), events_table("events"))
    # DuckDB opens its file for the first of several connections, which takes 50 ms.
    with made.engine.connect() if request.param == "duckdb" else nullcontext():
        yield made
    made.close()


def test_a_missing_table_is_an_error_if_the_table_is_not_managed(ledger: Ledger) -> None:
    with pytest.raises(LedgerMisconfigured, match="create-table"):
        Ledger(ledger.engine, ledger.table, manage=False).prepare()


def test_the_table_can_be_created_from_its_sql_definition(ledger: Ledger) -> None:
    with ledger.engine.begin() as connection:
        for statement in ledger.definition().split(";\n"):
            connection.exec_driver_sql(statement.rstrip(";"))
    assert Ledger(ledger.engine, ledger.table, manage=False).append([applied("u", 1, 0)]) == 1


def test_a_failed_append_writes_no_row_and_can_be_repeated(ledger: Ledger) -> None:
    ledger.append([applied("first", 1, 0)])
    rows = [applied(f"u{number}", 1, 0) for number in range(5)]

    @sa.event.listens_for(ledger.engine, "after_cursor_execute")
    def fail(*_: object) -> None:
        raise OSError("the network is gone")

    with pytest.raises(LedgerUnavailable, match="the network is gone"):
        ledger.append(rows)
    sa.event.remove(ledger.engine, "after_cursor_execute", fail)
    assert len(ledger.read(sa.select(ledger.table))) == 1
    assert ledger.append(rows) == 5


def test_a_second_deletion_is_kept_after_a_retraction_by_another_writer(ledger: Ledger) -> None:
    """Two publishers at once: the other had looked for corrections before there was one."""
    other = Ledger(ledger.engine, ledger.table)
    ledger.append([applied("u", 1, 0, cost_center="1"), ended("u", 1, 5)])
    other.append([applied("v", 1, 0, namespace="b", cost_center="9")])
    other.append([ended("v", 1, 1, namespace="b")])
    ledger.append([retraction("u", 1, 6, cost_center="1")])
    assert other.append([ended("u", 1, 8)]) == 1
    assert spans(ledger) == [("9", 0, 1), ("1", 0, 6), ("1", 6, 8)]


def test_two_writers_at_once_write_each_row_once(ledger: Ledger) -> None:
    other = Ledger(ledger.engine, ledger.table)
    ledger.prepare()
    with engines.transaction(ledger.engine) as connection:
        connection.execute(sa.select(ledger.table))
    assert ledger.append([applied("u", 1, 0)]) + other.append([applied("u", 1, 0)]) == 1


def test_a_slow_reader_is_not_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of a million intervals was cut off after a minute: the file was not written yet."""
    url = DATABASES["postgresql"](tmp_path)
    writer = Ledger(engines.create_engine(url), events_table("events"))
    writer.append([applied(f"u{number}", 1, 0) for number in range(9)])
    writer.close()
    # From here on, for on a slow disk the writer itself would be silent for longer.
    monkeypatch.setattr(engines, "SILENCE_SECONDS", 1.0)
    monkeypatch.setattr(engines, "ROWS_AT_ONCE", 2)
    made = Ledger(engines.create_engine(url), events_table("events"))
    rows = made.stream(sa.select(made.table))
    taken = [next(rows)]
    wakened = threading.Event()
    assert not wakened.wait(timeout=2.0)  # As long as it takes to write to a slow disk.
    taken += rows
    made.close()
    assert len(taken) == 9


def test_privileges_on_the_view_and_dependent_views_are_kept_in_an_upgrade(tmp_path: Path) -> None:
    """A view that was dropped and made anew took them along."""
    made = Ledger(engines.create_engine(DATABASES["postgresql"](tmp_path)), events_table("events"))
    made.append([applied("u", 1, 0, cost_center="1")])
    older_view(made, ["cost_center", "namespace"])
    reader = f"reader_{tmp_path.name}"
    asked = f"SELECT has_table_privilege('{reader}', 'events_intervals', 'SELECT')"
    with made.engine.begin() as connection:
        connection.exec_driver_sql(f'CREATE ROLE "{reader}"')
        connection.exec_driver_sql(f'GRANT SELECT ON events_intervals TO "{reader}"')
        connection.exec_driver_sql("CREATE VIEW report AS SELECT cost_center FROM events_intervals")
    again = Ledger(made.engine, made.table)
    again.prepare()
    assert again.view_problem == ""
    with made.engine.begin() as connection:
        view = schema.view_of(made.table)
        assert "cluster_uid" in schema.columns_of(connection, view)
        assert connection.exec_driver_sql(asked).scalar_one() is True
        assert connection.exec_driver_sql("SELECT * FROM report").scalar_one() == "1"
        connection.exec_driver_sql(f'DROP OWNED BY "{reader}"')
        connection.exec_driver_sql(f'DROP ROLE "{reader}"')
    made.close()


def test_a_read_that_is_given_up_leaves_the_database_usable(ledger: Ledger) -> None:
    ledger.append([applied(f"u{number}", 1, 0) for number in range(9)])
    rows = ledger.stream(sa.select(ledger.table))
    next(rows)
    rows.close()
    assert ledger.append([applied("another", 1, 0)]) == 1


def test_a_programming_error_is_not_reported_as_a_database_failure(ledger: Ledger) -> None:
    with pytest.raises(KeyError), engines.transaction(ledger.engine):
        raise KeyError("ours")


def test_an_append_to_a_dropped_table_is_a_misconfiguration(ledger: Ledger) -> None:
    ledger.append([applied("u", 1, 0)])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("DROP VIEW events_intervals")
        ledger.table.drop(connection)
    with pytest.raises(LedgerMisconfigured):
        ledger.append([applied("u", 2, 0)])


def test_a_row_that_the_database_cannot_take_is_refused(ledger: Ledger) -> None:
    with pytest.raises(RowsRefused):
        ledger.append([applied("u", 2**70, 0)])


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "a.b.c.d"])
def test_an_invalid_table_name_is_a_settings_error(name: str) -> None:
    with pytest.raises(SettingsError, match="--ledger-table"):
        events_table(name)


def test_the_dataset_may_be_in_the_table_or_in_the_url() -> None:
    assert events_table("p.d.t").schema == "p.d"
    assert events_table("t", "d").fullname == "d.t"
    assert events_table("x.t", "d").fullname == "x.t"
    assert Ledger.from_settings(Settings(ledger_url="sqlite://")).table.schema is None
