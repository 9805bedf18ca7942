"""Append rows to the ledger, each once, and read them. Every call may block."""

import logging
from collections.abc import Collection, Generator, Mapping, Sequence
from threading import Lock
from typing import Any

import sqlalchemy as sa

from lnamespace.errors import LedgerMisconfigured
from lnamespace.ledger.database import engines, schema
from lnamespace.ledger.database.insertion import append
from lnamespace.ledger.database.queries import (
    ends_of,
    events,
    intervals,
    latest,
    retracted,
    whole,
)
from lnamespace.ledger.database.table import (
    DEFAULT_GROUP,
    VIEW_SUFFIX,
    ClusterIdentity,
    Row,
    events_table,
)
from lnamespace.ledger.outbox.endings import deletion_id
from lnamespace.ledger.outbox.record import BillingOperation
from lnamespace.settings import Settings

UIDS_PER_QUERY = 500

log = logging.getLogger(__name__)


class Ledger:
    """The table and its views in one database.

    Every method raises a LedgerError if the database fails.

    Parameters
    ----------
    manage
        Whether the table and its views are ours to create, extend and replace.
    read_only
        Whether to change nothing, and to read as if the table and the views were up to date.
    """

    def __init__(
        self, engine: sa.Engine, target: sa.Table, manage: bool = True, read_only: bool = False
    ) -> None:
        self.engine = engine
        self.table = target
        self.view_problem = ""
        """Why the views are not up to date; empty if they are. Rows are written all the same."""
        self._manage = manage
        self._read_only = read_only
        self._columns: tuple[str, ...] = ()
        self._retracted: Mapping[str, Sequence[Row]] | None = None
        self._lock = Lock()

    @classmethod
    def from_settings(cls, settings: Settings, read_only: bool = False) -> "Ledger":
        """Return the ledger that the settings name; nothing is connected yet."""
        made = engines.create_engine(settings.ledger_url, read_only)
        target = events_table(settings.ledger_table, engines.default_schema(settings.ledger_url))
        return cls(made, target, settings.ledger_manage != "Never", read_only)

    def prepare(self) -> None:
        """Create or extend the table and update the views, once."""
        with self._lock:
            if not self._columns:
                self._columns = self._prepared()

    def _prepared(self) -> tuple[str, ...]:
        if self._manage and self._read_only:
            return tuple(column.name for column in self.table.c)
        present = self._present()
        if self._manage:
            try:
                self._create(present)
            except LedgerMisconfigured:
                # Another process may have created it meanwhile; if not, this raises again.
                self._create(self._present())
            self._update_views()
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

    def _update_views(self) -> None:
        if self._manage and not self._read_only:
            self.view_problem = schema.replace_views(self.engine, self.table)

    def append(self, rows: Sequence[Row]) -> int:
        """Insert the rows of events that the table does not have; return how many those were.

        There is one transaction; in BigQuery each statement is one.
        """
        fresh = list({row["event_id"]: row for row in rows}.values())
        if not fresh:
            return 0
        self.prepare()
        try:
            with engines.transaction(self.engine) as connection:
                return self._append(connection, fresh)
        except LedgerMisconfigured:
            # The table may have been dropped: the next try prepares it again.
            self._columns = ()
            raise

    def append_correction(self, rows: Sequence[Row]) -> int:
        """Insert the rows of one correction, all or none; return how many were new.

        In BigQuery, where each statement is a transaction, one statement has all rows: where the
        second row failed, a deletion was retracted and not replaced, and an LNamespace that was
        gone paid on. The ids are final: a person has seen them.
        """
        self.prepare()
        with engines.transaction(self.engine) as connection:
            added = append(connection, self.table, self._columns, rows)
        self._retracted = None
        return added

    def _append(self, connection: sa.Connection, rows: Sequence[Row]) -> int:
        """Insert the rows, deletions last: their ids depend on retractions."""
        ends = [row for row in rows if row["operation"] == BillingOperation.DELETE]
        others = [row for row in rows if row["operation"] != BillingOperation.DELETE]
        added = append(connection, self.table, self._columns, others)
        if any(row["corrects"] for row in others):
            self._retracted = None
        is_current = self._retracted is None or connection.dialect.name == "bigquery"
        new = self._append_ends(connection, ends)
        if new < len(ends) and not is_current:
            # They are in the table, or another publisher has retracted one since we read them, and
            # a second deletion is new. BigQuery would read the whole table: there a comparison
            # finds it later.
            self._retracted = None
            new += self._append_ends(connection, ends)
        return added + new

    def _append_ends(self, connection: sa.Connection, ends: Sequence[Row]) -> int:
        if ends and self._retracted is None:
            self._retracted = self._read_retracted(connection)
        known = self._retracted or {}
        numbered = [_numbered(row, known.get(row["lnamespace_uid"], ())) for row in ends]
        return append(connection, self.table, self._columns, numbered)

    def _read_retracted(self, connection: sa.Connection) -> Mapping[str, Sequence[Row]]:
        """Return the deletions that were retracted, by LNamespace."""
        found: dict[str, list[Row]] = {}
        if self.can_retract:
            for row in connection.execute(retracted(self.table)).mappings():
                found.setdefault(row["lnamespace_uid"], []).append(dict(row))
        return found

    @property
    def can_retract(self) -> bool:
        """Return whether the table has the column that a retraction needs."""
        return "corrects" in self._columns

    @property
    def can_be_corrected(self) -> bool:
        """Return whether the table has the columns that a correction by hand needs."""
        return {"corrects", "reason"} <= {*self._columns}

    def read(self, query: sa.Select[*tuple[Any, ...]]) -> list[Row]:
        """Return the rows of a query."""
        return list(self.stream(query))

    def stream(self, query: sa.Select[*tuple[Any, ...]]) -> Generator[Row]:
        """Yield the rows of a query."""
        with engines.transaction(self.engine) as connection:
            yield from engines.stream(connection, query)

    def open_rows(self, cluster: ClusterIdentity) -> list[Row]:
        """Return the newest row of each LNamespace of an instance that has no deletion.

        The rows are of all clusters of these names; ``cluster_uid`` distinguishes them, if it is
        known.

        Raises
        ------
        LedgerMisconfigured
            The table has no column for the instance, and this is not the default one.
        """
        self.prepare()
        if cluster.api_group != DEFAULT_GROUP and "api_group" not in self._columns:
            raise LedgerMisconfigured(
                f"the table {self.table.fullname} has no column api_group, by which this instance "
                "is told from others: add it, or let this instance have a table of its own"
            )
        self._retracted = None  # Another publisher may have retracted one.
        self._update_views()  # Somebody may have dropped or replaced them.
        found = self.read(latest(self._readable(), cluster.columns(), cluster.api_group))
        kept = {*self._columns, "cluster_uid"}  # A column that the table lacks is not compared.
        return [{name: row[name] for name in row if name in kept} for row in found]

    def deletion_ids(self, uids: Sequence[str]) -> dict[str, str]:
        """Return the ids of the deletions that were not retracted, by LNamespace."""
        found: dict[str, str] = {}
        source = self._readable()
        for start in range(0, len(uids), UIDS_PER_QUERY):
            query = ends_of(source, uids[start : start + UIDS_PER_QUERY])
            found |= {row["lnamespace_uid"]: row["event_id"] for row in self.read(query)}
        return found

    def rows_of(self, uids: Sequence[str]) -> list[Row]:
        """Return all rows of LNamespaces."""
        if not uids:
            return []
        source, parts = self._readable(), range(0, len(uids), UIDS_PER_QUERY)
        wanted = (source.c.lnamespace_uid.in_(uids[i : i + UIDS_PER_QUERY]) for i in parts)
        return [row for one in wanted for row in self.read(sa.select(source).where(one))]

    def intervals(self) -> sa.Select[Any]:
        """Return the query for who paid from when to when.

        The query is on the view, because some users may read nothing else; without a view of this
        version, it is on the table.

        Raises
        ------
        LedgerError
            Neither the view nor the table can be read.
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
        """Return the name of the readers' view of intervals."""
        return self.table.fullname + VIEW_SUFFIX

    def definition(self, present: Collection[str] = (), known: Collection[str] = ()) -> str:
        """Return the SQL that creates table and views, or adds what those that are there lack."""
        return schema.definition(self.engine.dialect, self.table, present, known)

    def present_columns(self) -> tuple[list[str], list[str]]:
        """Return the columns of the table and of the readers' view; none of what is not there."""
        with engines.transaction(self.engine) as connection:
            view = schema.view_of(self.table)
            return schema.columns_of(connection, self.table), schema.columns_of(connection, view)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _present(self) -> list[str]:
        with engines.transaction(self.engine) as connection:
            return schema.columns_of(connection, self.table)

    def _readable(self) -> sa.FromClause:
        """Return the table with all columns; one that is not ours to extend may lack some."""
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
    """Return a deletion with its id; it has a number if others of its LNamespace were retracted.

    A retracted deletion that arrives again is recognised by its time of record. That compares no
    clocks: it is the same record.
    """
    if not taken_back or any(row["recorded_at"] == one["recorded_at"] for one in taken_back):
        return row
    ids = {one["event_id"] for one in taken_back}
    return row | {"event_id": deletion_id(row["lnamespace_uid"], len(ids))}
