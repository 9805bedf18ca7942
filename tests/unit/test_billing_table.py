"""The SQL for BigQuery, which cannot be run here, as files that people review."""

import os
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from lnamespace.billing.table import events, insertion, intervals, latest, table
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateTable, CreateView

FOLDER = Path(__file__).parent / "golden" / "sql"
TABLE = table("project.dataset.lnamespace_billing_events")
TABLE.dialect_kwargs["bigquery_clustering_fields"] = ["cluster_name", "namespace"]
PLACE = {"project_id": "p", "cluster_location": "l", "cluster_name": "c"}
STATEMENTS: dict[str, Any] = {
    "create-table": CreateTable(TABLE),
    "create-view": CreateView(intervals(TABLE), f"{TABLE.name}_intervals", schema=TABLE.schema),
    "append": insertion(TABLE, ("event_id", "namespace", "generation", "valid_from"), 2),
    "events": events(TABLE),
    "intervals": intervals(TABLE),
    "latest": latest(TABLE, PLACE, "tenancy.example.com"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_bigquery_is_asked_as_reviewed(name: str) -> None:
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
def test_nothing_is_used_that_bigquery_has_not(name: str, word: str) -> None:
    assert word not in (FOLDER / f"{name}.sql").read_text()


def test_a_statement_is_built_once() -> None:
    assert insertion(TABLE, ("event_id",), 3) is insertion(TABLE, ("event_id",), 3)
