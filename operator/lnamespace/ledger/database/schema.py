"""The table and the views of the ledger in a database: made, extended, replaced.

Nothing is ever renamed or dropped, so that no report on them breaks and no reader loses a right.
"""

import logging
from collections.abc import Collection, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import (
    CreateColumn,
    CreateTable,
    CreateView,
    DropView,
    ExecutableDDLElement,
    SetColumnComment,
    SetTableComment,
)

from lnamespace.errors import LedgerError, LedgerMisconfigured
from lnamespace.ledger.database import descriptions, engines
from lnamespace.ledger.database.table import SCHEMA_VERSION, VERSION_SUFFIX, VIEW_SUFFIX, intervals

_VERSION = "schema_version"

log = logging.getLogger(__name__)


def columns_of(connection: sa.Connection, source: sa.Table) -> list[str]:
    """Return the columns of a table or view; none if it does not exist.

    By a query without rows: reflection of types is another thing in every dialect.
    """
    if not sa.inspect(connection).has_table(source.name, source.schema):
        return []
    nothing: sa.Select[Any] = (
        sa.select(sa.literal_column("*")).select_from(source).where(sa.false())
    )
    return list(connection.execute(nothing).keys())


def create_or_extend(connection: sa.Connection, target: sa.Table, present: list[str]) -> None:
    """Create the table, or add the columns that it does not have."""
    lay_out(connection.dialect, target)
    if not present:
        target.create(connection, checkfirst=True)
    for column in target.c if present else ():
        if column.name not in present:
            _extend(connection, column)


def lay_out(dialect: sa.Dialect, target: sa.Table) -> None:
    """Tell BigQuery, and it alone, how to lay out the table."""
    if dialect.name == "bigquery":
        from lnamespace.ledger.database import bigquery  # noqa: PLC0415 - slow, and for BigQuery only

        target.dialect_kwargs.update(
            bigquery.table_options("valid_from", ["cluster_name", "namespace"])
        )


def view_of(target: sa.Table) -> sa.Table:
    """Return the readers' view of intervals, as something to select from."""
    columns = (
        sa.Column(c.name, c.type, comment=descriptions.COLUMNS[c.name])
        for c in intervals(target).selected_columns
    )
    return sa.Table(target.name + VIEW_SUFFIX, sa.MetaData(), *columns, schema=target.schema)


def version(connection: sa.Connection, target: sa.Table) -> int:
    """Return the version of the views; 0 where there are none, or from before they had one."""
    named = _version_view(target)
    if not sa.inspect(connection).has_table(named.name, named.schema):
        return 0
    return int(connection.execute(sa.select(named.c[_VERSION])).scalar_one())


def replace_views(engine: sa.Engine, target: sa.Table) -> str:
    """Make the views what they are in this version, in place; return why that failed, or "".

    Views of a newer version stay: clusters that share a ledger are not upgraded at one moment.
    """
    try:
        with engines.transaction(engine) as connection:
            if not _are_outdated(connection, target):
                return ""
            _replace_views(connection, target)
    except LedgerError as error:
        log.warning("the readers' view could not be replaced", extra={"error": str(error)})
        return f"the view {target.fullname}{VIEW_SUFFIX} is not up to date: {error}"
    _describe(engine, target)
    return ""


def _describe(engine: sa.Engine, target: sa.Table) -> None:
    """Say what the columns mean, if we may: the table need not be ours where the view is."""
    try:
        with engines.transaction(engine) as connection:
            for comment in _comments(connection.dialect, target):
                connection.execute(comment)
    except LedgerError as error:
        log.info("the columns could not be described", extra={"error": str(error)})


def _are_outdated(connection: sa.Connection, target: sa.Table) -> bool:
    """Return whether the views are of an older version, by their version or by their columns.

    The first version knew of none: after a roll-back it made its own view in place of ours, and
    left the version as it was.
    """
    known = version(connection, target)
    if known != SCHEMA_VERSION:
        return known < SCHEMA_VERSION
    view = view_of(target)
    there = columns_of(connection, view)
    return any(column.name not in there for column in view.c)


def definition(dialect: sa.Dialect, target: sa.Table) -> str:
    """Return the SQL that makes table and views, for whoever keeps them elsewhere."""
    lay_out(dialect, target)
    views = (_view(dialect, target, []), _version_statement(target))
    made = (
        CreateTable(target),
        *(one for view in views for one in _in_place(dialect, view)),
        *_comments(dialect, target),
    )
    return "\n".join(f"{str(part.compile(dialect=dialect)).strip()};" for part in made)


def _replace_views(connection: sa.Connection, target: sa.Table) -> None:
    # The driver of sqlite begins no transaction by itself for such statements, and readers
    # would find no view between the two.
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    for view in (
        _view(connection.dialect, target, columns_of(connection, view_of(target))),
        _version_statement(target),
    ):
        for statement in _in_place(connection.dialect, view):
            connection.execute(statement)


def _comments(dialect: sa.Dialect, target: sa.Table) -> Iterator[ExecutableDDLElement]:
    """Say in PostgreSQL what the columns mean; BigQuery is told when they are made."""
    if dialect.name == "postgresql":
        yield SetTableComment(target)
        for column in (*target.c, *view_of(target).c):
            yield SetColumnComment(column)


def _view(dialect: sa.Dialect, target: sa.Table, known: Collection[str]) -> CreateView:
    """The view, with the columns that it has already first: only so can it be replaced.

    The table is ours, so it has its key, but in BigQuery, which enforces none.

    Raises
    ------
    LedgerMisconfigured
        It has columns that are not ours.
    """
    query = intervals(target, unique=dialect.name != "bigquery")
    columns = {column.name: column for column in query.selected_columns}
    if foreign := [name for name in known if name not in columns]:
        raise LedgerMisconfigured(f"it has columns of its own: {', '.join(foreign)}")
    order = [*known, *(name for name in columns if name not in known)]
    return CreateView(
        query.with_only_columns(*(columns[name] for name in order)),
        target.name + VIEW_SUFFIX,
        schema=target.schema,
    )


def _version_view(target: sa.Table) -> sa.Table:
    column = sa.Column(_VERSION, sa.BigInteger)
    return sa.Table(target.name + VERSION_SUFFIX, sa.MetaData(), column, schema=target.schema)


def _version_statement(target: sa.Table) -> CreateView:
    query = sa.select(sa.literal(SCHEMA_VERSION, sa.BigInteger).label(_VERSION))
    return CreateView(query, target.name + VERSION_SUFFIX, schema=target.schema)


def _in_place(dialect: sa.Dialect, view: CreateView) -> Iterator[ExecutableDDLElement]:
    """Replace a view and keep the rights on it; sqlite knows no rights, and no replacing."""
    if dialect.name == "sqlite":
        yield DropView(view.table, if_exists=True)
        yield view
    else:
        yield CreateView(
            view.selectable, view.table.name, schema=view.table.schema, or_replace=True
        )


def _extend(connection: sa.Connection, column: sa.Column[Any]) -> None:
    dialect = connection.dialect
    name = dialect.identifier_preparer.format_table(column.table)
    definition = CreateColumn(sa.Column(column.name, column.type)).compile(dialect=dialect)
    # SQLAlchemy has no construct for it; both parts are quoted by the dialect.
    connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {definition}")
    log.info("column added to the table", extra={"column": column.name})
