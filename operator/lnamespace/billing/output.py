"""Rows for people and for programs. Whatever a tenant wrote comes out, and does no harm.

A table never has a control character. JSON is exact. CSV is exact but for cells that a
spreadsheet would run: :func:`harmless`.
"""

import csv
import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Timer
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lnamespace.billing.compare import labels_of

PATIENCE_SECONDS = 2.0

# What Excel, LibreOffice and Google Sheets take for the beginning of a formula (OWASP, CSV
# injection), in full width too; and what has been made harmless before.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - these are the ones meant
_CELL_WIDTH = 48
_WIDE = 1_000_000

Row = Mapping[str, Any]


def write(rows: Sequence[Row], columns: Sequence[str], form: str, exact: bool = False) -> None:
    """Write rows to standard output; ``exact`` leaves CSV as it is, formulas and all."""
    match form:
        case "json":
            # ASCII, for a terminal may act upon characters beyond it.
            json.dump([_value_row(row, columns) for row in rows], sys.stdout, indent=2)
            sys.stdout.write("\n")
        case "csv":
            _csv(rows, columns, sys.stdout, exact)
        case _:
            _table(rows, columns)


def harmless(text: str) -> str:
    """A cell that no spreadsheet runs: with an apostrophe before what begins as a formula does.

    Nothing is lost: whoever removes one apostrophe from each cell that begins with apostrophes
    and then one of ``= + - @``, tab or line end, has the text as it was.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def visible(text: str) -> str:
    """Text of which a terminal shows everything and obeys nothing."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c)[0] in "CZ" else c for c in text)


@contextmanager
def patience(what: str) -> Iterator[None]:
    """Say what is being waited for, on a terminal, if it takes longer than two seconds."""
    status = Console(stderr=True).status(f"{what} ...")
    timer = Timer(PATIENCE_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


def _escaped(character: str) -> str:
    return character if character == " " else character.encode("unicode_escape").decode()


def _value_row(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    values = {name: row[name] for name in columns}
    if "labels" in values:
        values["labels"] = labels_of(values["labels"])
    return {k: _instant(v) if isinstance(v, datetime) else v for k, v in values.items()}


def _instant(moment: datetime, timespec: str = "auto") -> str:
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def _cell(value: Any, timespec: str = "auto") -> str:
    if value is None:
        return ""
    return _instant(value, timespec) if isinstance(value, datetime) else str(value)


def _csv(rows: Sequence[Row], columns: Sequence[str], out: TextIO, exact: bool) -> None:
    # A terminal would obey what is in a cell; a file or a pipe gets it as it is.
    last = visible if out.isatty() else str
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    for row in rows:
        cells = [_cell(row[name]) for name in columns]
        writer.writerow([last(cell if exact else harmless(cell)) for cell in cells])


def _table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    limit = _CELL_WIDTH if sys.stdout.isatty() else _WIDE
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        shown.add_column(name.upper().replace("_", " "), no_wrap=True)
    for row in rows:
        cells = (visible(_cell(row[name], "seconds")) for name in columns)
        shown.add_row(*(Text(_short(cell, limit)) for cell in cells))
    # As wide as it is: a terminal breaks lines, rich would break words.
    Console(width=_WIDE).print(shown, soft_wrap=True)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
