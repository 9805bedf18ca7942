"""The SQL for BigQuery, which cannot be run here, as files that people review."""

import os
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import sqlglot
from lnamespace.ledger.database import schema
from lnamespace.ledger.database.queries import (
    ends_of,
    events,
    insertion,
    intervals,
    latest,
    retracted,
)
from lnamespace.ledger.database.table import events_table
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateTable, CreateView

FOLDER = Path(__file__).parent / "golden" / "sql"
TABLE = events_table("project.dataset.lnamespace_billing_events")
schema.lay_out(registry.load("bigquery")(), TABLE)
PLACE = {"project_id": "p", "cluster_location": "l", "cluster_name": "c"}
STATEMENTS: dict[str, Any] = {
    "create-table": CreateTable(TABLE),
    "create-view": CreateView(intervals(TABLE), f"{TABLE.name}_intervals", schema=TABLE.schema),
    "append": insertion(TABLE, ("event_id", "namespace", "generation", "valid_from"), 2, True),
    "ends": ends_of(TABLE, ["u-1", "u-2"]),
    "retracted": retracted(TABLE),
    "events": events(TABLE),
    "intervals": intervals(TABLE),
    "latest": latest(TABLE, PLACE, "tenancy.example.com"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_bigquery_sql_equals_the_reviewed_files(name: str) -> None:
    dialect: sa.Dialect = registry.load("bigquery")()
    compiled = "\n".join(
        line.rstrip() for line in str(STATEMENTS[name].compile(dialect=dialect)).splitlines()
    )
    file = FOLDER / f"{name}.sql"
    if os.environ.get("LNAMESPACE_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(compiled.strip() + "\n")
    assert file.read_text() == compiled.strip() + "\n"


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("word", ["VALUES", "ON CONFLICT", "MERGE", "::", "RETURNING"])
def test_no_function_is_used_that_bigquery_lacks(name: str, word: str) -> None:
    assert word not in (FOLDER / f"{name}.sql").read_text()


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_sql_is_accepted_by_a_bigquery_parser(name: str) -> None:
    """As far as a parser can tell that raises for all that it does not know."""
    sql = (FOLDER / f"{name}.sql").read_text().replace(":", "@")
    (tree,) = sqlglot.parse(sql, read="bigquery", error_level=sqlglot.ErrorLevel.RAISE)
    assert tree is not None
    assert not list(tree.find_all(sqlglot.exp.Command))


def test_an_append_reads_only_the_partitions_that_can_hold_its_events() -> None:
    """To look for an event in the whole table was 2 TB a month at a million events."""
    assert "`valid_from` >= :known_since" in (FOLDER / "append.sql").read_text()
    assert "PARTITION BY" in (FOLDER / "create-table.sql").read_text()


def test_a_statement_is_built_once() -> None:
    assert insertion(TABLE, ("event_id",), 3) is insertion(TABLE, ("event_id",), 3)
