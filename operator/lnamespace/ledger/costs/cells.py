"""Read the heading and the cells of a bill. A cell that can be read in two ways is refused.

Every function raises ValueError with a message for the person who has the file.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lnamespace.errors import SettingsError
from lnamespace.ledger.costs.allocation import EXACT, microseconds

_AMOUNT = re.compile(r"[+-]?[0-9]{1,20}(?:[.,][0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
"""Amounts such as 1.234: a thousand, or one with three decimals, depending on the country."""

_DIGITS, _DECIMALS = 20, 60
"""The most digits before and after the point. Numbers of this size can be summed exactly."""

_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?"
    r"(?P<zone> ?(?:UTC|Z)|[+-]\d\d:?\d\d)?"
)
_ZONE = re.compile(r" ?(?:UTC|Z)$")
_FRACTION = re.compile(r"(\.\d{6})\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MONTH = re.compile(r"([12][0-9]{3})-?([0-9]{2})")
_CURRENCY = re.compile(r"[A-Za-z]{3}")

POINT, COMMA = ".", ","
_MARKS = {POINT: "point", COMMA: "comma"}


class AmountReader:
    """The amounts of one file, which all have one decimal mark.

    Parameters
    ----------
    mark
        The mark; None means that of the first number that can be read in one way only.
    """

    def __init__(self, mark: str | None) -> None:
        self._mark = mark

    def read(self, text: str) -> Decimal:
        """Read an amount, such as ``12.40``, ``-0,5`` or ``1.2E-7``."""
        cell = text.strip()
        if not _AMOUNT.fullmatch(cell):
            raise ValueError(f"{_shown(text)} is not a number; write 1234.56, without thousands")
        mark = POINT if POINT in cell else COMMA if COMMA in cell else None
        if mark and mark != self._mark:
            self._learn(mark, cell)
        amount = Decimal(cell.replace(COMMA, POINT))
        if amount.adjusted() >= _DIGITS or int(amount.as_tuple().exponent) < -_DECIMALS:
            raise ValueError(f"{_shown(text)} is too large or too small to be added up exactly")
        return amount

    def _learn(self, mark: str, cell: str) -> None:
        if self._mark:
            raise ValueError(
                f"{_shown(cell)} has a decimal {_MARKS[mark]}, where this file has a decimal "
                f"{_MARKS[self._mark]} (--decimal)"
            )
        if _EITHER.fullmatch(cell):
            raise ValueError(
                f"{_shown(cell)} may be a thousand or have three decimals: "
                "say --decimal point or --decimal comma"
            )
        self._mark = mark


@lru_cache(maxsize=65536)
def instant(text: str) -> int:
    """Read an instant as microseconds since 1970; UTC if it names no zone."""
    cell = text.strip()
    if not _INSTANT.fullmatch(cell):
        raise ValueError(f"{_shown(text)} is not a time; write 2026-11-21T06:00:00Z")
    try:
        read = datetime.fromisoformat(_FRACTION.sub(r"\1", _ZONE.sub("+00:00", cell)))
        return microseconds((read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{_shown(text)} is not a time: {error}") from error


def names_no_zone(text: str) -> bool:
    """Return whether a text is an instant without a time zone."""
    found = _INSTANT.fullmatch(text.strip())
    return found is not None and found["zone"] is None


@lru_cache(maxsize=4096)
def day(text: str) -> int:
    """Read a day (UTC) as the microseconds since 1970 at which it begins."""
    if not _DATE.fullmatch(text.strip()):
        raise ValueError(f"{_shown(text)} is not a day; write 2026-11-21")
    try:
        return microseconds(datetime.fromisoformat(text.strip()).replace(tzinfo=UTC))
    except ValueError as error:
        raise ValueError(f"{_shown(text)} is not a day: {error}") from error


@lru_cache(maxsize=4096)
def month(text: str) -> str:
    """Read a month, ``2026-11`` or ``202611``, as the latter; empty text is no month."""
    cell = text.strip()
    found = _MONTH.fullmatch(cell)
    if cell and not (found and 1 <= int(found[2]) <= 12):
        raise ValueError(f"{_shown(text)} is not a month; write 2026-11")
    return found[1] + found[2] if found else ""


@lru_cache(maxsize=4096)
def currency(text: str) -> str:
    """Read a currency by its three letters; CAD and cad are one."""
    cell = text.strip()
    if not _CURRENCY.fullmatch(cell):
        raise ValueError(f"{_shown(text)} is not a currency; write its three letters, such as CAD")
    return cell.upper()


@lru_cache(maxsize=65536)
def labels(text: str) -> Mapping[str, str]:
    """Read labels as BigQuery writes them: a JSON list of ``{"key": ..., "value": ...}``."""
    found = _json(text)
    if isinstance(found, dict):
        return {str(key): str(value) for key, value in found.items()}
    return {str(one["key"]): str(one["value"] or "") for one in _structs(found, text, "key")}


def credit(text: str, amounts: AmountReader) -> Decimal:
    """Read credits: a number, or BigQuery's JSON list of ``{"amount": ...}``."""
    if not text.lstrip().startswith(("[", "{")):
        return amounts.read(text) if text.strip() else Decimal(0)
    total = Decimal(0)
    for one in _structs(_json(text), text, "amount"):
        amount = one["amount"]
        # BigQuery writes FLOAT64 as a number and NUMERIC as text.
        total = EXACT.add(total, AmountReader(POINT).read(str(amount or "0")))
    return total


def part(text: str, name: str) -> str:
    """Read one field of a struct that BigQuery wrote as JSON, or plain text as it is."""
    if not text.lstrip().startswith("{"):
        return text
    found = _json(text)
    return str(found.get(name) or "") if isinstance(found, dict) else ""


def _structs(found: Any, text: str, name: str) -> list[dict[str, Any]]:
    structs = found if isinstance(found, list) else [found] if found else []
    if not all(isinstance(one, dict) and name in one for one in structs):
        raise ValueError(f"{_shown(text)} is not a list of structs with {name}")
    return [{"value": None} | one for one in structs]


def _json(text: str) -> Any:
    if not text.strip():
        return []
    try:
        return json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_shown(text)} is not JSON") from error


def _shown(text: str) -> str:
    short = text if len(text) <= 60 else f"{text[:59]}…"
    return ascii(short) if not short.isprintable() else repr(short)


Columns = Mapping[str, int]
"""The index of the cell of each meaning in a line."""

_LABEL = ("{}", "labels_{}", "label_{}")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "namespace": ("namespace", *(form.format("k8s_namespace") for form in _LABEL)),
    "start": ("usage_start_time", "usage_start", "start_time", "start", "window_start"),
    "end": ("usage_end_time", "usage_end", "end_time", "end", "window_end"),
    "day": ("date", "day", "usage_date"),
    "cost": ("cost", "net_cost", "total_cost", "totalcost"),
    "credits": ("credits", "credit", "credits_amount"),
    "currency": ("currency", "currency_code"),
    "month": ("invoice_month", "invoice"),
    "labels": ("labels",),
    "project": ("project_id", "project"),
    "location": ("cluster_location",),
    "cluster": ("cluster_name", "cluster"),
    "label_location": tuple(form.format("goog_k8s_cluster_location") for form in _LABEL),
    "label_cluster": tuple(form.format("goog_k8s_cluster_name") for form in _LABEL),
}
_MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names}
_UNNESTED = {"labels_key", "labels_value", "credits_name", "label_key", "label_value"}
_NEEDED = (
    "namespace, usage_start_time, usage_end_time, cost, currency; or Date, Namespace, TotalCost"
)


def plain(name: str) -> str:
    """Return a column's name in lower case, with ``_`` for all but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def is_heading(cells: Sequence[str]) -> bool:
    """Return whether cells look like a heading: two of them are names that bills have."""
    return len({plain(cell) for cell in cells} & _MEANINGS.keys()) > 1


def find_columns(heading: Sequence[str]) -> Columns:
    """Return the index of the column of each meaning.

    Raises
    ------
    SettingsError
        A column is missing, or two have one meaning.
    """
    found: dict[str, int] = {}
    for place, cell in enumerate(heading):
        name = plain(cell)
        if name in _UNNESTED:
            raise SettingsError(
                f"has a column {cell!r}: a line for each label or credit counts its cost several "
                "times. Export one line for each cost, as docs/guides/finance-analyst.md shows"
            )
        meaning = _MEANINGS.get(name)
        if meaning in found:
            raise SettingsError(
                f"has two columns for the {meaning}, {heading[found[meaning]]!r} and {cell!r}: "
                "remove one"
            )
        if meaning:
            found[meaning] = place
    _check(found)
    return found


def _check(found: Columns) -> None:
    missing = [] if {"namespace", "labels"} & found.keys() else ["namespace"]
    if "day" not in found or {"start", "end"} & found.keys():
        spelled = {"start": "usage_start_time", "end": "usage_end_time"}
        missing += [name for meaning, name in spelled.items() if meaning not in found]
    missing += [] if "cost" in found else ["cost"]
    if missing:
        raise SettingsError(f"lacks the columns {', '.join(missing)}. A bill has {_NEEDED}")
