"""Query parameters: what the protocol writes, as values for DuckDB."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from tests.bigquery.errors import invalid


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name in lower case (or its place, from 0), its type and its value."""

    name: str
    kind: str
    value: Any


def read(sent: list[dict[str, Any]]) -> list[Parameter]:
    """Return the parameters of a request.

    Raises
    ------
    ApiError
        A value that is not of its type.
    """
    return [_read(str(place), one) for place, one in enumerate(sent)]


def _read(place: str, sent: dict[str, Any]) -> Parameter:
    name = str(sent.get("name") or place).lower()
    kind = sent["parameterType"]
    try:
        return Parameter(name, _spelled(kind), _value(kind, sent["parameterValue"]))
    except (ValueError, KeyError, ArithmeticError) as error:
        raise invalid(f"Invalid value for parameter {name}: {error}") from error


def _spelled(kind: dict[str, Any]) -> str:
    if kind["type"] == "ARRAY":
        return f"ARRAY<{_spelled(kind['arrayType'])}>"
    if kind["type"] == "STRUCT":
        parts = (f"`{part['name']}` {_spelled(part['type'])}" for part in kind["structTypes"])
        return f"STRUCT<{', '.join(parts)}>"
    if kind["type"] not in _VALUES:
        raise ValueError(f"{kind['type']} is not a valid BigQuery scalar type")
    return str(kind["type"])


def _value(kind: dict[str, Any], sent: dict[str, Any]) -> Any:
    if kind["type"] == "ARRAY":
        return [_value(kind["arrayType"], item) for item in sent.get("arrayValues", ())]
    if kind["type"] == "STRUCT":
        types = {part["name"]: part["type"] for part in kind["structTypes"]}
        return {name: _value(types[name], item) for name, item in sent["structValues"].items()}
    text = sent.get("value")
    return None if text is None else _VALUES[kind["type"]](str(text))


def instant(text: str) -> datetime:
    """Return a TIMESTAMP as people and clients write it; without a zone it is UTC."""
    read = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
    return read if read.tzinfo else read.replace(tzinfo=UTC)


_VALUES: dict[str, Callable[[str], Any]] = {
    "STRING": str,
    "BOOL": lambda text: text.lower() == "true",
    "INT64": int,
    "FLOAT64": float,
    "NUMERIC": Decimal,
    "BIGNUMERIC": Decimal,
    "TIMESTAMP": instant,
    "DATETIME": datetime.fromisoformat,
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "BYTES": base64.b64decode,
}
