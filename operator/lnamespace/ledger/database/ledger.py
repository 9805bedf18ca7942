"""Rows into the ledger, each once; rows out of it. Everything here may wait for a database."""

import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Any

import msgspec
import sqlalchemy as sa

from lnamespace.errors import LedgerMisconfigured
from lnamespace.ledger.database import engines, schema
from lnamespace.ledger.database.table import (
    CLUSTER_COLUMNS,
    SCHEMA_VERSION,
    SINCE,
    VIEW_SUFFIX,
    ends_of,
    events,
    events_table,
    insertion,
    intervals,
    latest,
    parameter,
    retracted,
    whole,
)
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord, deletion_id
from lnamespace.model.names import Names
from lnamespace.settings import Settings

Row = dict[str, Any]

_DEFAULT_GROUP = Names().group

ROWS_PER_STATEMENT = 100
"""For BigQuery: a fifth of its quota of 10,000 parameters, for its planner is slow with more."""

UIDS_PER_QUERY = 500

LOOK_BACK = timedelta(days=30)
"""How much earlier an event may be in the ledger than a row of the same id says.

Two who tell of one end differ by as long as one of them was away. BigQuery keeps the table by day
and reads no others; a month of events is less than the 10 MB that it bills at least.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClusterIdentity:
    """Which cluster; by its names the cloud's bill knows it too.

    ``api_group`` is which instance on it; the bill does not care, for a namespace has one.
    ``cluster_uid`` tells clusters apart that were given the same names; empty: not known.
    """

    project_id: str = ""
    cluster_location: str = ""
    cluster_name: str = ""
    api_group: str = _DEFAULT_GROUP
    cluster_uid: str = ""

    def columns(self) -> dict[str, str]:
        """As the ledger has them."""
        return {name: getattr(self, name) for name in CLUSTER_COLUMNS}


def to_row(record: BillingRecord, place: ClusterIdentity) -> Row:
    """The row of a record, with every column."""
    values = msgspec.structs.asdict(record)
    return {
        **values,
        **place.columns(),
        "api_group": place.api_group,
        "operation": record.operation.value,
        "labels": labels_text(record.labels),
        "schema_version": SCHEMA_VERSION,
        "cluster_uid": place.cluster_uid or None,
        "corrects": record.corrects or None,
        "reason": None,
    }


def labels_text(labels: Mapping[str, str]) -> str:
    """Labels as JSON in order of their keys, for not every database binds JSON."""
    return msgspec.json.encode(labels, order="deterministic").decode()


class Ledger:
    """One table in one database.

    Every method raises a LedgerError when the database does not do what it is asked.
    """

    def __init__(self, engine: sa.Engine, target: sa.Table, manage: bool = True) -> None:
        self.engine = engine
        self.table = target
        self.view_problem = ""
        """Why readers do not see what they should; rows are written all the same."""
        self._manage = manage
        self._columns: tuple[str, ...] = ()
        self._retracted: Mapping[str, Sequence[Row]] | None = None
        self._lock = Lock()

    @classmethod
    def of(cls, settings: Settings) -> "Ledger":
        """The ledger that the settings name; nothing is connected yet."""
        made = engines.create_engine(settings.ledger_url)
        target = events_table(settings.ledger_table, engines.default_schema(settings.ledger_url))
        return cls(made, target, settings.ledger_manage != "Never")

    def prepare(self) -> None:
        """See that the table has its columns, and the readers their views; once is enough."""
        with self._lock:
            if not self._columns:
                self._columns = self._prepared()

    def _prepared(self) -> tuple[str, ...]:
        present = self._present()
        if self._manage:
            try:
                self._create(present)
            except LedgerMisconfigured:
                # Somebody else may have made it meanwhile; if not, this says so again.
                self._create(self._present())
            self._see_to_views()
            return tuple(column.name for column in self.table.c)
        missing = [c.name for c in self.table.c if c.name not in present]
        if "event_id" in missing:
            raise LedgerMisconfigured(
                f"there is no table {self.table.fullname} with a column event_id, and "
                "--ledger-manage=Never: create it (lnamespace ledger create-table --dry-run)"
            )
        if missing:
            log.warning("the table lacks columns, which are left out", extra={"columns": missing})
        return tuple(c.name for c in self.table.c if c.name in present)

    def _see_to_views(self) -> None:
        if self._manage:
            self.view_problem = schema.replace_views(self.engine, self.table)

    def append(self, rows: Sequence[Row]) -> int:
        """Add the rows of events that are not there yet; returns how many those were.

        One transaction: all or none, but for BigQuery, where that holds for each statement.
        """
        fresh = list({row["event_id"]: row for row in rows}.values())
        if not fresh:
            return 0
        self.prepare()
        try:
            with engines.transaction(self.engine) as connection:
                return self._append(connection, fresh)
        except LedgerMisconfigured:
            # It may have been dropped: the next try looks, and makes it if that is ours to do.
            self._columns = ()
            raise

    def _append(self, connection: sa.Connection, rows: Sequence[Row]) -> int:
        """Ends last: whether one is the first of its LNamespace, the corrections say."""
        ends = [row for row in rows if row["operation"] == BillingOperation.DELETE]
        others = [row for row in rows if row["operation"] != BillingOperation.DELETE]
        added = append(connection, self.table, self._columns, others)
        if any(row["corrects"] for row in others):
            self._retracted = None
        looked = self._retracted is None or connection.dialect.name == "bigquery"
        new = self._append_ends(connection, ends)
        if new < len(ends) and not looked:
            # Known, or another publisher has taken one back since we looked: a second end is new.
            # In BigQuery each look reads the whole table, so there it waits for a comparison.
            self._retracted = None
            new += self._append_ends(connection, ends)
        return added + new

    def _append_ends(self, connection: sa.Connection, ends: Sequence[Row]) -> int:
        if ends and self._retracted is None:
            self._retracted = self._corrections(connection)
        known = self._retracted or {}
        numbered = [_numbered(row, known.get(row["lnamespace_uid"], ())) for row in ends]
        return append(connection, self.table, self._columns, numbered)

    def _corrections(self, connection: sa.Connection) -> Mapping[str, Sequence[Row]]:
        """The ends that were taken back, by LNamespace."""
        found: dict[str, list[Row]] = {}
        if self.corrects:
            for row in connection.execute(retracted(self.table)).mappings():
                found.setdefault(row["lnamespace_uid"], []).append(dict(row))
        return found

    @property
    def corrects(self) -> bool:
        """Whether an end can be taken back: the table can say which."""
        return "corrects" in self._columns

    @property
    def can_be_corrected(self) -> bool:
        """Whether somebody can correct an event by hand: the table can say which, and why."""
        return {"corrects", "reason"} <= {*self._columns}

    def read(self, query: sa.Select[*tuple[Any, ...]]) -> list[Row]:
        """The rows that a query finds."""
        return list(self.stream(query))

    def stream(self, query: sa.Select[*tuple[Any, ...]]) -> Generator[Row]:
        """Return the rows that a query finds, as somebody takes them."""
        with engines.transaction(self.engine) as connection:
            yield from engines.stream(connection, query)

    def open(self, place: ClusterIdentity) -> list[Row]:
        """The newest row of each LNamespace of an instance that is not known as ended.

        Of all clusters of these names: ``cluster_uid`` says which, where it is known.

        Raises
        ------
        LedgerMisconfigured
            The table does not tell instances apart, and this is not the default one.
        """
        self.prepare()
        if place.api_group != _DEFAULT_GROUP and "api_group" not in self._columns:
            raise LedgerMisconfigured(
                f"the table {self.table.fullname} has no column api_group, by which this instance "
                "is told from others: add it, or let this instance have a table of its own"
            )
        self._retracted = None  # Another publisher may have taken one back.
        self._see_to_views()  # Another, of an older version, may have made its own.
        found = self.read(latest(self._whole(), place.columns(), place.api_group))
        kept = {*self._columns, "cluster_uid"}  # What the table cannot say is no difference.
        return [{name: row[name] for name in row if name in kept} for row in found]

    def ends(self, uids: Sequence[str]) -> dict[str, str]:
        """Return the ids of the ends that count, by LNamespace, of those that have ended."""
        found: dict[str, str] = {}
        for start in range(0, len(uids), UIDS_PER_QUERY):
            query = ends_of(self._whole(), uids[start : start + UIDS_PER_QUERY])
            found |= {row["lnamespace_uid"]: row["event_id"] for row in self.read(query)}
        return found

    def intervals(self) -> sa.Select[Any]:
        """Return the query for who paid from when to when.

        By the readers' view, which may be all that somebody may read; by the table where the view
        is not there or of another version.

        Raises
        ------
        LedgerError
            Neither can be read.
        """
        view = schema.view_of(self.table)
        with engines.transaction(self.engine) as connection:
            known = schema.columns_of(connection, view)
            if all(column.name in known for column in view.c):
                return sa.select(view)
        return intervals(self._readable())

    def events(self) -> sa.Select[Any]:
        """Return the query for the events, each once.

        Raises
        ------
        LedgerError
            The table cannot be read.
        """
        return events(self._readable())

    @property
    def view(self) -> str:
        """The name of the readers' view of intervals."""
        return self.table.fullname + VIEW_SUFFIX

    def definition(self) -> str:
        """The SQL that makes table and view, for whoever keeps them elsewhere."""
        return schema.definition(self.engine.dialect, self.table)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _present(self) -> list[str]:
        with engines.transaction(self.engine) as connection:
            return schema.columns_of(connection, self.table)

    def _whole(self) -> sa.FromClause:
        return whole(self.table, self._columns)

    def _readable(self) -> sa.FromClause:
        """The table as it is, which may be an older version's."""
        present = self._present()
        if not present:
            raise LedgerMisconfigured(
                f"there is no table {self.table.fullname}: lnamespace ledger create-table"
            )
        return whole(self.table, present)

    def _create(self, present: list[str]) -> None:
        with engines.transaction(self.engine) as connection:
            schema.create_or_extend(connection, self.table, present)


def _numbered(row: Row, taken_back: Sequence[Row]) -> Row:
    """An end that comes after others of its LNamespace were taken back has an id of its own.

    One of those, which is told once more, is known by when it was recorded: no clocks are compared.
    """
    if not taken_back or any(row["recorded_at"] == one["recorded_at"] for one in taken_back):
        return row
    ids = {one["event_id"] for one in taken_back}
    return row | {"event_id": deletion_id(row["lnamespace_uid"], len(ids))}


def append(
    connection: sa.Connection, target: sa.Table, columns: tuple[str, ...], rows: Sequence[Row]
) -> int:
    """Add rows, no event twice among them; returns how many were new.

    A statement carries one row and is run for many, which drivers are fast at. For BigQuery
    each run is a job of a second, so there a statement carries as many rows as it may.
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
