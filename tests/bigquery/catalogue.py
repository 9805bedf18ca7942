"""Datasets and tables: what there is, and how the protocol describes it."""

import threading
from collections.abc import Callable
from typing import Any

from tests.bigquery import types
from tests.bigquery.database import Database
from tests.bigquery.errors import duplicate, invalid, not_found
from tests.bigquery.names import DatasetId, TableId, quoted
from tests.bigquery.statement import Statement

Resource = dict[str, Any]

_KEPT = ("description", "friendlyName", "labels", "timePartitioning", "clustering", "view")


class Catalogue:
    """What there is. DuckDB knows the columns; the rest is kept here."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()
        self._options: dict[TableId, Resource] = {}

    def dataset(self, dataset: DatasetId) -> Resource:
        """One dataset. Raises ApiError (404)."""
        if dataset not in self.datasets(dataset.project):
            raise not_found(str(dataset))
        return {
            "kind": "bigquery#dataset",
            "id": f"{dataset.project}:{dataset.dataset}",
            "datasetReference": {"projectId": dataset.project, "datasetId": dataset.dataset},
            "location": "US",
        }

    def datasets(self, project: str) -> list[DatasetId]:
        """Return all datasets of a project."""
        self._database.attach(project)
        rows = self._database.fetch(
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = $project "
            "AND NOT internal ORDER BY 1",
            {"project": project},
        )
        return [DatasetId(project, name) for (name,) in rows]

    def add_dataset(self, project: str, sent: Resource) -> Resource:
        """Make a dataset. Raises ApiError (409)."""
        dataset = DatasetId(project, sent["datasetReference"]["datasetId"])
        if dataset in self.datasets(project):
            raise duplicate(str(dataset))
        self._database.define(f"CREATE SCHEMA {dataset.sql}")
        return self.dataset(dataset)

    def remove_dataset(self, dataset: DatasetId, *, contents: bool) -> None:
        """Remove a dataset. Raises ApiError (400 where it is not empty)."""
        self.dataset(dataset)
        if self.tables(dataset) and not contents:
            raise invalid(f"{dataset} is still in use")
        self._database.define(f"DROP SCHEMA {dataset.sql} CASCADE")

    def table(self, table: TableId) -> Resource:
        """One table or view. Raises ApiError (404)."""
        if table not in self.tables(table.parent):
            raise not_found(str(table))
        with self._lock:
            options = dict(self._options.get(table, {}))
        rows = self._database.fetch(f"SELECT COUNT(*) FROM {table.sql}")  # noqa: S608
        return {
            "kind": "bigquery#table",
            "etag": "etag",
            "id": f"{table.project}:{table.dataset}.{table.table}",
            "tableReference": table.reference,
            "type": "VIEW" if "view" in options else "TABLE",
            "schema": {"fields": self._database.columns(table.sql)},
            "numRows": str(rows[0][0]),
            "location": "US",
            **options,
        }

    def tables(self, dataset: DatasetId) -> list[TableId]:
        """Return the tables and views of a dataset. Raises ApiError (404)."""
        self.dataset(dataset)
        rows = self._database.fetch(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_catalog = $project AND table_schema = $dataset ORDER BY 1",
            dataset._asdict(),
        )
        return [TableId(*dataset, name) for (name,) in rows]

    def add_table(self, dataset: DatasetId, sent: Resource) -> Resource:
        """Make a table or view of what the protocol describes. Raises ApiError (409, 404)."""
        table = TableId(*dataset, sent["tableReference"]["tableId"])
        if table in self.tables(dataset):
            raise duplicate(str(table))
        if "view" in sent:
            raise invalid("Make views by CREATE VIEW")
        columns = ", ".join(_column(field) for field in (*sent["schema"]["fields"], *_pseudo(sent)))
        self._database.define(f"CREATE TABLE {table.sql} ({columns})")
        self._keep(table, sent)
        return self.table(table)

    def extend_table(self, table: TableId, sent: Resource) -> Resource:
        """Add columns, change options. Raises ApiError (400 for what cannot be changed)."""
        now = {field["name"]: field for field in self.table(table)["schema"]["fields"]}
        wanted = {field["name"]: field for field in sent.get("schema", {}).get("fields", ())}
        if wanted and (gone := now.keys() - wanted.keys()):
            raise invalid(f"Provided Schema does not match {table}. Missing: {sorted(gone)}")
        for name, field in wanted.items():
            if name not in now:
                if field.get("mode") == "REQUIRED":
                    raise invalid(f"Cannot add required fields to an existing schema: {name}")
                self._database.define(f"ALTER TABLE {table.sql} ADD COLUMN {_column(field)}")
        self._keep(table, sent)
        return self.table(table)

    def remove_table(self, table: TableId) -> None:
        """Remove a table or view. Raises ApiError (404)."""
        kind = self.table(table)["type"]
        self._database.define(f"DROP {kind} {table.sql}")
        with self._lock:
            self._options.pop(table, None)

    def defined(self, statement: Statement) -> None:
        """Keep what DuckDB does not, after a CREATE was carried out."""
        if statement.target and statement.options:
            self._keep(statement.target, statement.options)

    def _keep(self, table: TableId, options: Resource) -> None:
        kept = {name: options[name] for name in _KEPT if name in options}
        with self._lock:
            self._options[table] = {**self._options.get(table, {}), **kept}


def _pseudo(sent: Resource) -> list[dict[str, str]]:
    """Return the column that a table has if it is partitioned by the time of ingestion."""
    if "field" in sent.get("timePartitioning", {"field": ""}):
        return []
    return [{"name": "_PARTITIONTIME", "type": "TIMESTAMP"}]


def _column(field: dict[str, Any]) -> str:
    required = " NOT NULL" if field.get("mode") == "REQUIRED" else ""
    return f"{quoted(field['name'])} {types.column_type(field)}{required}"


def listed(
    kind: str, found: list[Any], described: Callable[[Any], Resource], query: dict[str, str]
) -> Resource:
    """Return a page of a list."""
    start, size = int(query.get("pageToken", 0)), int(query.get("maxResults", 1000))
    page = found[start : start + size]
    answer = {"kind": f"bigquery#{kind}List", kind + "s": [described(one) for one in page]}
    if start + size < len(found):
        answer["nextPageToken"] = str(start + size)
    return {**answer, "totalItems": len(found)}
