"""Rows into the ledger, each once; rows out of it. Everything here may wait for a database."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn, CreateTable, CreateView, DropView

from lnamespace.billing import engines
from lnamespace.billing.record import BillingRecord
from lnamespace.billing.table import (
    PLACE,
    SCHEMA_VERSION,
    VIEW_SUFFIX,
    insertion,
    intervals,
    latest,
    parameter,
    table,
)
from lnamespace.errors import LedgerMisconfigured
from lnamespace.model.names import Names
from lnamespace.settings import Settings

Row = dict[str, Any]

_DEFAULT_GROUP = Names().group

ROWS_PER_STATEMENT = 100
"""For BigQuery: a fifth of its quota of 10,000 parameters, for its planner is slow with more."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Place:
    """Which cluster; by these the cloud's bill knows it too.

    ``api_group`` is which instance on it; the bill does not care, for a namespace has one.
    """

    project_id: str = ""
    cluster_location: str = ""
    cluster_name: str = ""
    api_group: str = _DEFAULT_GROUP

    def columns(self) -> dict[str, str]:
        """As the ledger has them."""
        return {name: getattr(self, name) for name in PLACE}


def row(record: BillingRecord, place: Place) -> Row:
    """The row of a record, with every column."""
    values = msgspec.structs.asdict(record)
    return {
        **values,
        **place.columns(),
        "api_group": place.api_group,
        "operation": record.operation.value,
        "labels": labels_text(record.labels),
        "schema_version": SCHEMA_VERSION,
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
        self._manage = manage
        self._columns: tuple[str, ...] = ()
        self._lock = Lock()

    @classmethod
    def of(cls, settings: Settings) -> "Ledger":
        """The ledger that the settings name; nothing is connected yet."""
        made = engines.engine(settings.ledger_url)
        target = table(settings.ledger_table, engines.default_schema(settings.ledger_url))
        return cls(made, target, settings.ledger_manage != "Never")

    def prepare(self) -> None:
        """See that the table has its columns, and the readers their view; once is enough."""
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

    def append(self, rows: Sequence[Row]) -> int:
        """Add the rows of events that are not there yet; returns how many those were.

        One transaction: all or none, but for BigQuery, where that holds for each statement.
        """
        fresh = list({row["event_id"]: row for row in rows}.values())
        if not fresh:
            return 0
        self.prepare()
        with engines.transaction(self.engine) as connection:
            return append(connection, self.table, self._columns, fresh)

    def read(self, query: sa.Select[*tuple[Any, ...]]) -> list[Row]:
        """The rows that a query finds."""
        with engines.transaction(self.engine) as connection:
            return [dict(found) for found in connection.execute(query).mappings()]

    def open(self, place: Place) -> list[Row]:
        """The newest row of each LNamespace of an instance that is not known as ended.

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
        return self.read(latest(self._visible(), place.columns(), place.api_group))

    def intervals(self) -> sa.Select[Any]:
        """The query for who paid from when to when."""
        return intervals(self.table)

    @property
    def view(self) -> str:
        """The name of the readers' view of intervals."""
        return self.table.fullname + VIEW_SUFFIX

    def definition(self) -> str:
        """The SQL that makes table and view, for whoever keeps them elsewhere."""
        self._cluster()
        view = CreateView(intervals(self.table), self._view_name, schema=self.table.schema)
        parts = (CreateTable(self.table), view)
        return "\n".join(f"{str(p.compile(self.engine)).strip()};" for p in parts)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _present(self) -> list[str]:
        with engines.transaction(self.engine) as connection:
            return _columns_of(connection, self.table)

    def _visible(self) -> sa.Table:
        """The table without the columns that somebody else's does not have."""
        columns = (sa.Column(name, self.table.c[name].type) for name in self._columns)
        return sa.Table(self.table.name, sa.MetaData(), *columns, schema=self.table.schema)

    def _create(self, present: list[str]) -> None:
        self._cluster()
        with engines.transaction(self.engine) as connection:
            if not present:
                self.table.create(connection, checkfirst=True)
            for column in self.table.c if present else ():
                if column.name not in present:
                    self._extend(connection, column)
            self._create_view(connection)

    @property
    def _view_name(self) -> str:
        return self.table.name + VIEW_SUFFIX

    def _cluster(self) -> None:
        """Tell BigQuery, and it alone, how to lay out the table."""
        if self.engine.dialect.name == "bigquery":
            self.table.dialect_kwargs["bigquery_clustering_fields"] = ["cluster_name", "namespace"]

    def _extend(self, connection: sa.Connection, column: sa.Column[Any]) -> None:
        dialect = connection.dialect
        name = dialect.identifier_preparer.format_table(self.table)
        definition = CreateColumn(sa.Column(column.name, column.type)).compile(dialect=dialect)
        # SQLAlchemy has no construct for it; both parts are quoted by the dialect.
        connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {definition}")
        log.info("column added to the table", extra={"column": column.name})

    def _create_view(self, connection: sa.Connection) -> None:
        query = intervals(self.table)
        wanted = [column.name for column in query.selected_columns]
        view = CreateView(query, self._view_name, schema=self.table.schema)
        known = _columns_of(connection, view.table)
        if known == wanted:
            return
        if known:
            connection.execute(DropView(view.table))
        connection.execute(view)


def _columns_of(connection: sa.Connection, source: sa.Table) -> list[str]:
    """The columns of a table or view; none if it does not exist.

    By a query without rows: reflection of types is another thing in every dialect.
    """
    if not sa.inspect(connection).has_table(source.name, source.schema):
        return []
    nothing: sa.Select[Any] = (
        sa.select(sa.literal_column("*")).select_from(source).where(sa.false())
    )
    return list(connection.execute(nothing).keys())


def append(
    connection: sa.Connection, target: sa.Table, columns: tuple[str, ...], rows: Sequence[Row]
) -> int:
    """Add rows, no event twice among them; returns how many were new.

    A statement carries one row and is run for many, which drivers are fast at. For BigQuery
    each run is a job of a second, so there a statement carries as many rows as it may.
    """
    size = ROWS_PER_STATEMENT if connection.dialect.name == "bigquery" else 1
    full = len(rows) - len(rows) % size
    added = 0
    for part, count in ((rows[:full], size), (rows[full:], len(rows) - full)):
        if part:
            result = connection.execute(
                insertion(target, columns, count),
                _parameters(part, columns, count),
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
