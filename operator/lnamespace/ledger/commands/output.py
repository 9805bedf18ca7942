"""Print rows for people and for programs. Text of tenants is printed so that it does no harm.

A table never has a control character. JSON is exact. CSV is exact, except for cells that a
spreadsheet would run as formulas: :func:`harmless`.
"""

import csv
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from functools import partial
from threading import Timer
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lnamespace.kube.times import format_time
from lnamespace.ledger.costs.allocation import EXACT
from lnamespace.ledger.database.table import labels_of

PATIENCE_SECONDS = 2.0

# An apostrophe goes before all that Excel, LibreOffice and Google Sheets take for the beginning of
# a formula (OWASP, CSV injection), in full width too, and before text that has one already. Also
# within a cell, after characters that end a cell in another language's CSV: a quote in the middle
# of a cell protects nothing.
_FORMULA = re.compile(
    "^(?='*[=+\\-@\t\r\n＝＋－＠])"  # noqa: RUF001 - these are the ones meant
    "|(?<=[;\t\r\n])(?='*[=+\\-@＝＋－＠])"  # noqa: RUF001 - as above
)
_SUSPECT = frozenset("'=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - as above
"""The first characters of formulas: few of millions of cells need the regular expression."""
_SEPARATORS = frozenset(";\t\r\n")

_CENT = Decimal("0.01")
_CELL_WIDTH = 48
_WIDE = 1_000_000

Row = Mapping[str, Any]


def write(rows: Iterable[Row], columns: Sequence[str], form: str, exact: bool = False) -> None:
    """Write rows to standard output; ``exact`` leaves formulas in CSV as they are.

    CSV and JSON are written row by row; a table needs all rows, for its width.
    """
    match form:
        case "json":
            _json(rows, columns, sys.stdout)
        case "csv":
            _csv(rows, columns, sys.stdout, exact)
        case _:
            _table(list(rows), columns)


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet runs: a formula gets an apostrophe before it.

    A formula may also begin after a semicolon, a tab or a line end. Nothing is lost: to undo it,
    remove one apostrophe wherever the beginning of the cell, or one of these characters, is
    followed by apostrophes and then one of ``= + - @`` (at the beginning of the cell, tab or line
    end too).
    """
    if text[:1] in _SUSPECT or not _SEPARATORS.isdisjoint(text):
        return _FORMULA.sub("'", text)
    return text


def visible(text: str) -> str:
    """Return text with control and invisible characters escaped, for a terminal."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c)[0] in "CZ" else c for c in text)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Print on standard error what the command waits for, if it takes longer than two seconds.

    Yields a function that takes the progress; a terminal shows it, a log has the first text only.
    """
    console = Console(stderr=True)
    status = console.status(f"{what} ...")
    start = status.start if console.is_terminal else partial(print, f"{what} ...", file=sys.stderr)
    timer = Timer(PATIENCE_SECONDS, start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda news: status.update(f"{what}: {news} ...")
    finally:
        timer.cancel()
        status.stop()


def _escaped(character: str) -> str:
    return character if character == " " else character.encode("unicode_escape").decode()


def _value_row(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    values = {name: row[name] for name in columns}
    if "labels" in values:
        values["labels"] = labels_of(values["labels"])
    return {k: format_time(v) if isinstance(v, datetime) else v for k, v in values.items()}


def amount(value: Decimal) -> str:
    """Return an amount with all of its decimals, at least two."""
    short = value.normalize(EXACT)
    if int(short.as_tuple().exponent) >= -2:
        short = short.quantize(_CENT, context=EXACT)
    return f"{short:f}"


def _cell(value: Any, timespec: str = "auto") -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return amount(value)
    return format_time(value, timespec) if isinstance(value, datetime) else str(value)


def _json(rows: Iterable[Row], columns: Sequence[str], out: TextIO) -> None:
    """Write JSON, in which a decimal is a number with all of its digits: json knows floats only."""
    between = "["
    for row in rows:
        members = ",\n".join(_member(k, v) for k, v in _value_row(row, columns).items())
        out.write(f"{between}\n  {{\n{members}\n  }}")
        between = ","
    out.write("[]\n" if between == "[" else "\n]\n")


def _member(name: str, value: Any) -> str:
    # ASCII only: a terminal may act upon other characters.
    text = amount(value) if isinstance(value, Decimal) else json.dumps(value)
    return f"    {json.dumps(name)}: {text}"


def _csv(rows: Iterable[Row], columns: Sequence[str], out: TextIO, exact: bool) -> None:
    # A terminal would obey control characters of a cell; a file or a pipe gets them unchanged.
    last = visible if out.isatty() else str
    # A number is no formula: -5.00 must not become text.
    text = str if exact else harmless
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    for row in rows:
        values = [row[name] for name in columns]
        writer.writerow([last(text(v) if isinstance(v, str) else _cell(v)) for v in values])


def _table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    limit = _CELL_WIDTH if sys.stdout.isatty() else _WIDE
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        right = any(isinstance(row[name], Decimal) for row in rows[:1])
        heading = name.upper().replace("_", " ")
        shown.add_column(heading, no_wrap=True, justify="right" if right else "left")
    for row in rows:
        cells = (visible(_cell(row[name], "seconds")) for name in columns)
        shown.add_row(*(Text(_short(cell, limit)) for cell in cells))
    # The table keeps its width: a terminal breaks lines, rich would break words.
    Console(width=_WIDE).print(shown, soft_wrap=True)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
