"""Types and values: DuckDB's as BigQuery's, and as the protocol writes them."""

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

from duckdb.sqltypes import DuckDBPyType

Schema = list[dict[str, Any]]

_FROM_DUCKDB = {
    "varchar": "STRING",
    "boolean": "BOOLEAN",
    "tinyint": "INTEGER",
    "smallint": "INTEGER",
    "integer": "INTEGER",
    "bigint": "INTEGER",
    "hugeint": "INTEGER",
    "float": "FLOAT",
    "double": "FLOAT",
    "decimal": "NUMERIC",
    "timestamp with time zone": "TIMESTAMP",
    "timestamp": "DATETIME",
    "date": "DATE",
    "time": "TIME",
    "blob": "BYTES",
    "json": "JSON",
    "null": "INTEGER",
}

_TO_DUCKDB = {
    "STRING": "VARCHAR",
    "BOOL": "BOOLEAN",
    "BOOLEAN": "BOOLEAN",
    "INT64": "BIGINT",
    "INTEGER": "BIGINT",
    "FLOAT64": "DOUBLE",
    "FLOAT": "DOUBLE",
    "NUMERIC": "DECIMAL(38, 9)",
    "TIMESTAMP": "TIMESTAMPTZ",
    "DATETIME": "TIMESTAMP",
    "DATE": "DATE",
    "TIME": "TIME",
    "BYTES": "BLOB",
}


def field(name: str, kind: DuckDBPyType, *, required: bool = False) -> dict[str, Any]:
    """Return a column as the protocol describes it."""
    if kind.id == "list":
        return {**field(name, _child(kind)), "mode": "REPEATED"}
    described: dict[str, Any] = {"name": name, "mode": "REQUIRED" if required else "NULLABLE"}
    if kind.id == "struct":
        fields = [field(name, part) for name, part in _parts(kind).items()]
        return {**described, "type": "RECORD", "fields": fields}
    return {**described, "type": _FROM_DUCKDB[str(kind.id)]}


def column_type(described: dict[str, Any]) -> str:
    """Return the DuckDB type of a column that the protocol describes."""
    kind = str(described["type"]).upper()
    if kind in ("RECORD", "STRUCT"):
        parts = (f'"{part["name"]}" {column_type(part)}' for part in described["fields"])
        spelled = f"STRUCT({', '.join(parts)})"
    else:
        spelled = _TO_DUCKDB[kind]
    return f"{spelled}[]" if described.get("mode") == "REPEATED" else spelled


def row(values: Sequence[Any], kinds: Sequence[DuckDBPyType]) -> dict[str, Any]:
    """Return a row as the protocol writes it."""
    return {"f": [_cell(value, kind) for value, kind in zip(values, kinds, strict=True)]}


def _cell(value: Any, kind: DuckDBPyType) -> dict[str, Any]:
    return {"v": _written(value, kind)}


def _written(value: Any, kind: DuckDBPyType) -> Any:
    if kind.id == "list":
        return [_cell(item, _child(kind)) for item in value or ()]
    if value is None:
        return None
    if kind.id == "struct":
        return row(list(value.values()), list(_parts(kind).values()))
    return _WRITTEN.get(type(value), str)(value)


def _child(kind: DuckDBPyType) -> DuckDBPyType:
    return _parts(kind)["child"]


def _parts(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return {name: part for name, part in kind.children if isinstance(part, DuckDBPyType)}


def _microseconds(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    since = value - datetime(1970, 1, 1, tzinfo=UTC)
    return str((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds)


_WRITTEN: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    float: repr,
    datetime: _microseconds,
    date: date.isoformat,
    time: time.isoformat,
    bytes: lambda value: base64.b64encode(value).decode(),
}
