"""Create and extend the ledger's table, and replace its views.

Nothing is renamed or dropped: reports on the views would break, and readers lose their grants.
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
from lnamespace.ledger.database import engines
from lnamespace.ledger.database.queries import intervals
from lnamespace.ledger.database.table import COLUMNS, SCHEMA_VERSION, VERSION_SUFFIX, VIEW_SUFFIX

_VERSION = "schema_version"

log = logging.getLogger(__name__)


def columns_of(connection: sa.Connection, source: sa.Table) -> list[str]:
    """Return the columns of a table or view; empty if it does not exist.

    A query without rows finds them: each dialect reflects types in its own way.
    """
    if not sa.inspect(connection).has_table(source.name, source.schema):
        return []
    nothing: sa.Select[Any] = (
        sa.select(sa.literal_column("*")).select_from(source).where(sa.false())
    )
    return list(connection.execute(nothing).keys())


def create_or_extend(connection: sa.Connection, target: sa.Table, present: list[str]) -> None:
    """Create the table, or add the columns that it lacks."""
    lay_out(connection.dialect, target)
    if not present:
        target.create(connection, checkfirst=True)
    for column in target.c if present else ():
        if column.name not in present:
            _extend(connection, column)


def lay_out(dialect: sa.Dialect, target: sa.Table) -> None:
    """Set the table's partitions and clusters, for BigQuery alone."""
    if dialect.name == "bigquery":
        from lnamespace.ledger.database import bigquery  # noqa: PLC0415 - slow, and for BigQuery only

        target.dialect_kwargs.update(
            bigquery.table_options("valid_from", ["cluster_name", "namespace"])
        )


def view_of(target: sa.Table) -> sa.Table:
    """Return the readers' view of intervals, to select from."""
    columns = (
        sa.Column(c.name, c.type, comment=COLUMNS[c.name])
        for c in intervals(target).selected_columns
    )
    return sa.Table(target.name + VIEW_SUFFIX, sa.MetaData(), *columns, schema=target.schema)


def version(connection: sa.Connection, target: sa.Table) -> int:
    """Return the version of the views; 0 if there are none."""
    named = _version_view(target)
    if not sa.inspect(connection).has_table(named.name, named.schema):
        return 0
    return int(connection.execute(sa.select(named.c[_VERSION])).scalar_one())


def replace_views(engine: sa.Engine, target: sa.Table) -> str:
    """Replace the views of an older version, in place; return why that failed, or "".

    Views of a newer version stay: clusters that share a ledger are upgraded one after the other.
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
    """Comment the columns, if that is allowed: the table may have another owner than the view."""
    try:
        with engines.transaction(engine) as connection:
            for comment in _comments(connection.dialect, target):
                connection.execute(comment)
    except LedgerError as error:
        log.info("the columns could not be described", extra={"error": str(error)})


def _are_outdated(connection: sa.Connection, target: sa.Table) -> bool:
    """Return whether the views are of an older version, by their version or by their columns.

    The columns matter because somebody may have dropped or replaced the view of intervals alone.
    """
    known = version(connection, target)
    if known != SCHEMA_VERSION:
        return known < SCHEMA_VERSION
    view = view_of(target)
    there = columns_of(connection, view)
    return any(column.name not in there for column in view.c)


def definition(
    dialect: sa.Dialect,
    target: sa.Table,
    present: Collection[str] = (),
    known: Collection[str] = (),
) -> str:
    """Return the SQL that creates table and views, for people who manage them elsewhere.

    Parameters
    ----------
    present, known
        The columns of the table that is there and of the view of intervals; of a table, only what
        it lacks is added.

    Raises
    ------
    LedgerMisconfigured
        The view has columns that are not ours.
    """
    lay_out(dialect, target)
    views = (_view(dialect, target, known), _version_statement(target))
    rest = (
        *([] if present else [CreateTable(target)]),
        *(one for view in views for one in _in_place(dialect, view)),
        *_comments(dialect, target),
    )
    lacking = [column for column in target.c if present and column.name not in present]
    statements = (
        *(_addition(dialect, column) for column in lacking),
        *(str(part.compile(dialect=dialect)).strip() for part in rest),
    )
    return "\n".join(f"{statement};" for statement in statements)


def _replace_views(connection: sa.Connection, target: sa.Table) -> None:
    # sqlite's driver begins no transaction for such statements, and readers would find no view
    # between DROP and CREATE.
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    for view in (
        _view(connection.dialect, target, columns_of(connection, view_of(target))),
        _version_statement(target),
    ):
        for statement in _in_place(connection.dialect, view):
            connection.execute(statement)


def _comments(dialect: sa.Dialect, target: sa.Table) -> Iterator[ExecutableDDLElement]:
    """Yield the comments for PostgreSQL; BigQuery has them from the CREATE statements."""
    if dialect.name == "postgresql":
        yield SetTableComment(target)
        for column in (*target.c, *view_of(target).c):
            yield SetColumnComment(column)


def _view(dialect: sa.Dialect, target: sa.Table, known: Collection[str]) -> CreateView:
    """Return the view of intervals. Its present columns come first, or it cannot be replaced.

    Parameters
    ----------
    known
        The present columns.

    Raises
    ------
    LedgerMisconfigured
        The view has columns that are not ours.
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
    """Yield the statements that replace a view and keep its grants; sqlite has neither."""
    if dialect.name == "sqlite":
        yield DropView(view.table, if_exists=True)
        yield view
    else:
        yield CreateView(
            view.selectable, view.table.name, schema=view.table.schema, or_replace=True
        )


def _extend(connection: sa.Connection, column: sa.Column[Any]) -> None:
    connection.exec_driver_sql(_addition(connection.dialect, column))
    log.info("column added to the table", extra={"column": column.name})


def _addition(dialect: sa.Dialect, column: sa.Column[Any]) -> str:
    """Return the ALTER TABLE, for which SQLAlchemy has no construct; the dialect quotes names."""
    name = dialect.identifier_preparer.format_table(column.table)
    definition = CreateColumn(sa.Column(column.name, column.type)).compile(dialect=dialect)
    return f"ALTER TABLE {name} ADD COLUMN {definition}"
