"""The cost of each cost centre from a CSV file of what namespaces cost, wherever that is known.

The file's lines and the ledger's events meet in a database in memory, so that whoever asks needs
no right to write into the ledger's, and the rules are those of :mod:`lnamespace.billing.costs`.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import sqlalchemy as sa

from lnamespace.billing.costs import costs, per_cost_center
from lnamespace.billing.engines import engine, transaction
from lnamespace.billing.ledger import Ledger, Place, Row
from lnamespace.billing.table import table
from lnamespace.errors import SettingsError

REQUIRED = ("namespace", "usage_start_time", "usage_end_time", "cost", "currency")
"""The columns that a file must have; those that say which cluster may be there too."""

COLUMNS = ("cost_center", "currency", "cost")
"""What comes of it."""


def read_lines(text: Iterable[str], place: Place) -> list[Row]:
    """The lines of a CSV file with a heading.

    Times are RFC 3339, UTC where they name no zone. An empty ``namespace`` is a cost of the
    cluster as a whole. ``place`` is the cluster of a line that does not say one.

    Raises
    ------
    SettingsError
        A column is missing, or a value cannot be read; the message says in which line.
    """
    reader = csv.DictReader(text)
    if missing := [name for name in REQUIRED if name not in (reader.fieldnames or ())]:
        raise SettingsError(f"the file of costs lacks the columns {', '.join(missing)}")
    found = []
    for line in reader:
        try:
            found.append(_line(line, place))
        except (ValueError, TypeError, AttributeError) as error:
            raise SettingsError(f"the file of costs, line {reader.line_num}: {error}") from error
    return found


def totals(
    events: Sequence[Row],
    lines: Sequence[Row],
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Row]:
    """What each cost centre is charged, as :func:`per_cost_center` has it."""
    memory = Ledger(engine("sqlite://"), table("events"))
    memory.prepare()
    memory.append(events)
    bill = costs("bill")
    with transaction(memory.engine) as connection:
        bill.create(connection)
        if lines:
            connection.execute(sa.insert(bill), lines)
    found = memory.read(per_cost_center(memory.table, bill, since, until))
    memory.close()
    return found


def _line(line: Mapping[str, str], place: Place) -> Row:
    start, end = _instant(line["usage_start_time"]), _instant(line["usage_end_time"])
    if end <= start:
        raise ValueError("usage_end_time must be after usage_start_time")
    cost = float(line["cost"])
    if not isfinite(cost):
        raise ValueError("cost must be a number")
    clusters: dict[str, Any] = {name: line.get(name) or v for name, v in place.columns().items()}
    return clusters | {
        "namespace": line["namespace"] or None,
        "usage_start_time": start,
        "usage_end_time": end,
        "cost": cost,
        "currency": line["currency"],
    }


def _instant(text: str) -> datetime:
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
