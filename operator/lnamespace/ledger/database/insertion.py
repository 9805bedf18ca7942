"""Insert rows, each once, by as few statements as a database likes."""

from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa

from lnamespace.ledger.database.queries import SINCE, insertion, parameter
from lnamespace.ledger.database.table import Row

ROWS_PER_STATEMENT = 100
"""Rows for BigQuery: a fifth of its quota of 10,000 parameters; its planner is slow with more."""

LOOK_BACK = timedelta(days=30)
"""How much earlier than a row BigQuery looks for an event of the same id.

The records of one deletion by two processes differ by as long as one of them was down. BigQuery
partitions the table by day and bills for the days that it reads; a month of events is less than the
10 MB that it bills at least.
"""


def append(
    connection: sa.Connection, target: sa.Table, columns: tuple[str, ...], rows: Sequence[Row]
) -> int:
    """Insert rows of distinct events; return how many were new.

    A statement has one row and is executed for many, which drivers do fast. In BigQuery each
    execution is a job of a second, so there a statement has as many rows as it may.
    """
    if not rows:
        return 0
    bounded = connection.dialect.name == "bigquery"
    size = ROWS_PER_STATEMENT if bounded else 1
    since = {SINCE: min(row["valid_from"] for row in rows) - LOOK_BACK} if bounded else {}
    full = len(rows) - len(rows) % size
    added = 0
    for part, count in ((rows[:full], size), (rows[full:], len(rows) - full)):
        if part:
            result = connection.execute(
                insertion(target, columns, count, bounded),
                [values | since for values in _parameters(part, columns, count)],
                execution_options={"preserve_rowcount": True},
            )
            added += result.rowcount
    return added


def _parameters(rows: Sequence[Row], columns: tuple[str, ...], count: int) -> list[Row]:
    names = [[(column, parameter(column, i)) for column in columns] for i in range(count)]
    return [
        {key: row[column] for row, keys in zip(group, names, strict=True) for column, key in keys}
        for group in (rows[i : i + count] for i in range(0, len(rows), count))
    ]
