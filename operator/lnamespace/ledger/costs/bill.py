"""Read a bill from a CSV file; the formats are in docs/guides/finance-analyst.md.

Lines are read one by one, for a file can be larger than the memory.
"""

import csv
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from lnamespace.errors import SettingsError
from lnamespace.ledger.costs import cells
from lnamespace.ledger.costs.allocation import DAY, EXACT, Cluster, Line
from lnamespace.ledger.costs.cells import find_columns, is_heading

_LONGEST = 3_660 * DAY
"""A longer window has a mistyped year; by day, it would be millions of rows."""
_DELIMITERS = (",", ";", "\t")
_LABELS = ("k8s-namespace", "goog-k8s-cluster-location", "goog-k8s-cluster-name")


@dataclass(frozen=True)
class BillFormat:
    """The format of a bill that does not name its format itself.

    Attributes
    ----------
    cluster
        The cluster of lines that name none.
    currency
        The currency of a file without such a column.
    decimal
        ``point`` or ``comma``; if empty, the amounts of the file show it.
    """

    cluster: Cluster = ("", "", "")
    currency: str = ""
    decimal: str = ""


@contextmanager
def open_bill(name: str) -> Iterator[Iterator[str]]:
    """Open a file, ``-`` for standard input, as lines of text.

    Raises
    ------
    SettingsError
        The file cannot be read, or is not text in UTF-8.
    """
    try:
        with _binary(name) as raw:
            yield iter(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""))
    except OSError as error:
        raise SettingsError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"cannot read {name}: it is not text in UTF-8; in a spreadsheet, choose "
            '"CSV UTF-8" when you save it'
        ) from error


def read_lines(text: Iterator[str], bill: BillFormat, name: str = "the bill") -> Iterator[Line]:
    """Yield the lines of a bill.

    Raises
    ------
    SettingsError
        A column is missing, or a cell cannot be read; the message says in which line.
    """
    first = next(text, "")
    if not first.strip() or "\0" in first:
        raise SettingsError(f"{name} is {'no CSV' if first else 'empty'}: a bill has a heading")
    delimiter = _delimiter(first)
    reader = csv.reader(chain((first,), text), delimiter=delimiter, strict=True)
    try:
        heading = next(reader)
        read = _reader(heading, bill, delimiter)
        for fields in reader:
            if any(fields):
                yield read(fields)
    except SettingsError as error:
        raise SettingsError(f"{name} {error}") from error
    except UnicodeDecodeError:
        raise  # It is a ValueError too, but of no line; open_bill() has the message.
    except (ValueError, csv.Error) as error:
        raise SettingsError(f"{name}, line {reader.line_num}: {error}") from error


def _binary(name: str) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else Path(name).open("rb")


def _delimiter(first: str) -> str:
    for delimiter in _DELIMITERS:
        if is_heading(first.lstrip("\ufeff").replace('"', "").split(delimiter)):
            return delimiter
    return ","


def _reader(
    heading: Sequence[str], bill: BillFormat, delimiter: str
) -> Callable[[Sequence[str]], Line]:
    place = find_columns(heading)
    marks = {"point": cells.POINT, "comma": cells.COMMA}
    # Where commas separate cells the decimal mark is a point, unless --decimal says otherwise.
    known = marks.get(bill.decimal) or (cells.POINT if delimiter == "," else None)
    amounts = cells.AmountReader(known)

    def read(fields: Sequence[str]) -> Line:
        if len(fields) != len(heading):
            raise ValueError(
                f"there are {len(fields)} cells, where the heading has {len(heading)}; an amount "
                "with a decimal comma needs quotation marks, or ; between the cells"
            )
        row = {meaning: fields[at] for meaning, at in place.items()}
        start, end = _window(row)
        cost = amounts.read(row["cost"])
        if "credits" in row:
            cost = EXACT.add(cost, cells.credit(row["credits"], amounts))
        labels = _labels(row)
        return Line(
            _cluster(row, labels, bill.cluster),
            (row["namespace"] if "namespace" in row else labels.get(_LABELS[0], "")).strip(),
            start,
            end,
            cost,
            cells.currency(row["currency"]) if "currency" in row else bill.currency,
            cells.month(cells.part(row.get("month", ""), "month")),
        )

    return read


def _window(row: Mapping[str, str]) -> tuple[int, int]:
    if "start" not in row:
        day = cells.day(row["day"])
        return day, day + DAY
    start, end = cells.instant(row["start"]), cells.instant(row["end"])
    if end <= start:
        raise ValueError(f"usage ends at {row['end']}, which is not after {row['start']}")
    if end - start > _LONGEST:
        raise ValueError(f"usage from {row['start']} to {row['end']} is longer than ten years")
    return start, end


def _labels(row: Mapping[str, str]) -> Mapping[str, str]:
    """Return BigQuery's labels. OpenCost's column Labels is ignored: it has other columns."""
    text = row.get("labels", "")
    return cells.labels(text) if _is_list(text) or "namespace" not in row else {}


def _cluster(row: Mapping[str, str], labels: Mapping[str, str], here: Cluster) -> Cluster | None:
    """Return the cluster of a line; None if Google's labels name no cluster."""
    project = cells.part(row.get("project", ""), "id").strip()
    location = row.get("label_location") or labels.get(_LABELS[1]) or row.get("location", "")
    name = row.get("label_cluster") or labels.get(_LABELS[2]) or row.get("cluster", "")
    if not name and ("label_cluster" in row or _is_list(row.get("labels", ""))):
        return None
    return (project or here[0], location.strip() or here[1], name.strip() or here[2])


def _is_list(text: str) -> bool:
    return text.lstrip().startswith("[")
