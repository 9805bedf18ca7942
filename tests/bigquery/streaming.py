"""tabledata.insertAll and its buffer, whose rows no statement may change for a while."""

import json
import time
from typing import Any

from tests.bigquery import parameters
from tests.bigquery.catalogue import Catalogue
from tests.bigquery.database import Database
from tests.bigquery.errors import ApiError, invalid_query
from tests.bigquery.limits import Limits
from tests.bigquery.names import TableId
from tests.bigquery.statement import MUTATING, Statement


class Streaming:
    """Rows that came by insertAll: when, and under which insertId."""

    def __init__(self, database: Database, catalogue: Catalogue, limits: Limits) -> None:
        self._database = database
        self._catalogue = catalogue
        self._limits = limits
        self._buffers: dict[TableId, dict[int, float]] = {}
        self._insert_ids: dict[tuple[TableId, str], float] = {}

    def insert(self, table: TableId, sent: dict[str, Any]) -> dict[str, Any]:
        """Insert rows, each by itself; one that is wrong stops all, as the service does it."""
        fields = {
            field["name"]: field for field in self._catalogue.table(table)["schema"]["fields"]
        }
        errors = [
            {"index": index, "errors": [{"reason": "invalid", "message": problem}]}
            for index, row in enumerate(sent["rows"])
            if (problem := _problem(row["json"], fields))
        ]
        if not errors:
            for row in sent["rows"]:
                if self._is_new(table, row.get("insertId")):
                    self._add(table, row["json"], fields)
        answer: dict[str, Any] = {"kind": "bigquery#tableDataInsertAllResponse"}
        return {**answer, "insertErrors": errors} if errors else answer

    def guard(self, statement: Statement, values: dict[str, Any]) -> None:
        """Refuse a statement that would change rows of the buffer.

        Raises
        ------
        ApiError
            It would.
        """
        if statement.kind not in MUTATING or statement.target is None:
            return
        limit = time.monotonic() - self._limits.streaming_buffer_window
        fresh = [row for row, at in self._buffers.get(statement.target, {}).items() if at > limit]
        if fresh and self._meets(statement, values, fresh):
            raise invalid_query(
                f"UPDATE or DELETE statement over {statement.target} would affect rows in the "
                "streaming buffer, which is not supported"
            )

    def _meets(self, statement: Statement, values: dict[str, Any], fresh: list[int]) -> bool:
        if statement.kind == "MERGE" or statement.target is None:
            return True
        used = {name: value for name, value in values.items() if f"${name}" in statement.condition}
        count = self._database.fetch(
            f"SELECT COUNT(*) FROM {statement.target.sql} "  # noqa: S608
            f"WHERE ({statement.condition}) AND rowid IN ({', '.join(map(str, fresh))})",
            used,
        )
        return bool(count[0][0])

    def _is_new(self, table: TableId, insert_id: str | None) -> bool:
        now = time.monotonic()
        if insert_id is None:
            return True
        key = (table, insert_id)
        known = self._insert_ids.get(key)
        self._insert_ids[key] = now
        return known is None or known <= now - self._limits.insert_id_window

    def _add(self, table: TableId, row: dict[str, Any], fields: dict[str, Any]) -> None:
        values = {name: _value(value, fields[name]) for name, value in row.items()}
        number = self._database.append(table.sql, values)
        self._buffers.setdefault(table, {})[number] = time.monotonic()


def _problem(row: dict[str, Any], fields: dict[str, Any]) -> str:
    if unknown := row.keys() - fields.keys():
        return f"no such field: {min(unknown)}."
    for name, field in fields.items():
        if field["mode"] == "REQUIRED" and row.get(name) is None:
            return f"Missing required field: {name}."
    for name, value in row.items():
        try:
            _value(value, fields[name])
        except (ValueError, ApiError) as error:
            return f"{name}: {error}"
    return ""


def _value(value: Any, field: dict[str, Any]) -> Any:
    if field["type"] == "TIMESTAMP" and isinstance(value, str):
        return parameters.instant(value)
    if field["type"] == "STRING" and isinstance(value, dict):
        return json.dumps(value)
    return value
