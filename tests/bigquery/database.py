"""The data, in DuckDB: a project is a database in memory, a dataset is a schema of it."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from tests.bigquery import types
from tests.bigquery.errors import ApiError, duplicate, invalid_query, not_found
from tests.bigquery.names import quoted


@dataclass(frozen=True)
class Result:
    """What a statement gave: columns and rows as the protocol writes them, and rows changed."""

    schema: types.Schema
    rows: list[dict[str, Any]]
    affected: int | None = None


class Database:
    """One connection; a statement is a transaction, as it is in BigQuery."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._projects: set[str] = set()

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._connection.close()

    def attach(self, project: str) -> None:
        """Attach every project that is asked for."""
        with self._lock:
            if project not in self._projects:
                self._connection.execute(f"ATTACH ':memory:' AS {quoted(project)}")
                self._projects.add(project)

    def query(self, sql: str, values: Mapping[str, Any] | None = None) -> Result:
        """Rows. Raises ApiError."""
        with self._lock:
            found = self._attempt(lambda: self._connection.sql(sql, params=dict(values or {})))
            if found is None:
                return Result([], [])
            kinds = found.types
            schema = [
                types.field(name, kind) for name, kind in zip(found.columns, kinds, strict=True)
            ]
            rows = self._attempt(found.fetchall)
            return Result(schema, [types.row(row, kinds) for row in rows])

    def change(self, sql: str, values: Mapping[str, Any] | None = None) -> int:
        """Change rows; how many. Raises ApiError."""
        return int(self.fetch(sql, values)[0][0])

    def append(self, table: str, values: Mapping[str, Any]) -> int:
        """Add one row; its number for ever. Raises ApiError."""
        names = ", ".join(map(quoted, values))
        marks = ", ".join(f"$p{place}" for place in range(len(values)))
        given = {f"p{place}": value for place, value in enumerate(values.values())}
        with self._lock:
            self.fetch(f"INSERT INTO {table} ({names}) VALUES ({marks})", given)  # noqa: S608
            return int(self.fetch(f"SELECT MAX(rowid) FROM {table}")[0][0])  # noqa: S608

    def define(self, sql: str) -> None:
        """Change what there is. Raises ApiError."""
        self.fetch(sql)

    def fetch(self, sql: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        """Plain rows, for the stand-in's own use. Raises ApiError."""
        with self._lock:
            return list(
                self._attempt(lambda: self._connection.execute(sql, dict(values or {})).fetchall())
            )

    def columns(self, sql: str) -> types.Schema:
        """Return the columns of a table or view, by its name in SQL. Raises ApiError."""
        with self._lock:
            described = self.fetch(f"DESCRIBE {sql}")
            found = self._attempt(lambda: self._connection.sql(f"FROM {sql} LIMIT 0"))
            return [
                types.field(name, kind, required=required)
                for name, kind, required in zip(
                    found.columns, found.types, _required(described), strict=True
                )
            ]

    @staticmethod
    def _attempt(action: Any) -> Any:
        try:
            return action()
        except duckdb.Error as error:
            raise _translated(error) from error


def _required(described: Sequence[Sequence[Any]]) -> list[bool]:
    return [line[2] == "NO" for line in described]


def _translated(error: duckdb.Error) -> ApiError:
    text = str(error).splitlines()[0]
    name = re.search(r'"([^"]+)"', text)
    if isinstance(error, duckdb.CatalogException) and "already exists" in text:
        return duplicate(name[1] if name else text)
    if isinstance(error, duckdb.CatalogException) and "does not exist" in text:
        return not_found(f"{text} in location US")
    if null := re.search(r"NOT NULL constraint failed: \w+\.(\w+)", text):
        return invalid_query(f"Required field {null[1]} cannot be null")
    return invalid_query(text)
