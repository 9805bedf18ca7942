"""The ledger's table, and the questions asked of it, in SQLAlchemy Core.

One row an event, never changed and never deleted: what a namespace cost last Tuesday must not
depend on who pays for it today. The same code serves sqlite, PostgreSQL, DuckDB and BigQuery;
what differs between them is forced and all of it is here.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from lnamespace.billing.record import Operation
from lnamespace.errors import SettingsError
from lnamespace.model.names import Names

SCHEMA_VERSION = 1
VIEW_SUFFIX = "_intervals"
PLACE = ("project_id", "cluster_location", "cluster_name")
"""The columns that say in which cluster; with ``namespace`` they join the cloud's bill."""

_COPY = "copy_number"
_DEFAULT_GROUP = Names().group


class _Text(TypeDecorator[datetime]):
    """An instant as text of one width, for sqlite knows no zones; its order is that of time."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: object) -> str | None:
        """To ``2026-03-01T12:00:00.000000+00:00``."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, _: object) -> datetime | None:
        """Back, aware of its zone."""
        return None if value is None else datetime.fromisoformat(value)


INSTANT = sa.TIMESTAMP(timezone=True).with_variant(_Text(), "sqlite")


def table(name: str, default_schema: str = "") -> sa.Table:
    """The table; ``name`` may be SCHEMA.NAME or PROJECT.DATASET.NAME too.

    Raises
    ------
    SettingsError
        The name has an empty part, or more than three.
    """
    *schema, last = name.split(".")
    if not all((*schema, last)) or len(schema) > 2:
        raise SettingsError(
            f"--ledger-table must be NAME, SCHEMA.NAME or PROJECT.DATASET.NAME, not {name!r}"
        )
    return sa.Table(
        last,
        sa.MetaData(),
        # BigQuery has no primary keys that it enforces; the statement and the view do without.
        sa.Column("event_id", sa.String, primary_key=True),
        *(sa.Column(column, sa.String) for column in (*PLACE, "namespace", "lnamespace_uid")),
        sa.Column("generation", sa.BigInteger),
        sa.Column("operation", sa.String),
        sa.Column("valid_from", INSTANT),
        sa.Column("recorded_at", INSTANT),
        *(
            sa.Column(column, sa.String)
            for column in (
                "requester",
                "changed_by",
                "billing_source",
                "billing_source_group",
                "cost_center",
                "owner",
                "team",
                "environment",
                "labels",
                "api_group",
                "operator_version",
            )
        ),
        sa.Column("schema_version", sa.BigInteger),
        schema=".".join(schema) or default_schema or None,
    )


@lru_cache(maxsize=16)
def insertion(target: sa.Table, columns: tuple[str, ...], rows: int) -> sa.Insert:
    """INSERT so many rows, but those whose event is there: to repeat it is to do nothing.

    The values are parameters named by :func:`parameter`. A batch must not hold an event
    twice. Kept, for to build a statement takes longer than sqlite does for the rows.
    """
    # Each parameter has its column's type, by which the dialects of PostgreSQL and BigQuery say
    # what it is: within a UNION these would not know.
    selects = (
        sa.select(
            *(
                sa.bindparam(parameter(name, row), type_=target.c[name].type).label(name)
                for name in columns
            )
        )
        for row in range(rows)
    )
    batch = sa.union_all(*selects).subquery("batch")
    known = sa.exists(
        sa.select(sa.literal_column("1")).where(target.c.event_id == batch.c.event_id)
    )
    return target.insert().from_select(list(columns), sa.select(batch).where(~known))


def parameter(column: str, row: int) -> str:
    """What a value is called in :func:`insertion`."""
    return f"{column}_{row}"


def events(source: sa.Table) -> sa.Select[Any]:
    """The events, each once, oldest first within a namespace.

    Two publishers at once could write an event twice where no key is enforced.
    """
    once = _once(source)
    return sa.select(*(once.c[column.name] for column in source.c)).where(once.c[_COPY] == 1)


def intervals(source: sa.Table) -> sa.Select[Any]:
    """Who pays for which namespace from ``valid_from`` to ``valid_to`` (excluded; NULL: still).

    No two intervals of one namespace overlap. An interval ends with the next one of its place,
    whatever the LNamespace, or with the end of its own LNamespace: a DELETE that was told late
    must not close the namespace that has been created anew meanwhile. Clocks of several webhooks
    differ, so within an LNamespace the generation decides, and time never runs backwards.
    """
    place = (*PLACE, "namespace")
    applied, seen = Operation.APPLY.value, events(source).subquery("seen")
    is_end = seen.c.operation == Operation.DELETE.value
    own = [seen.c[name] for name in (*PLACE, "lnamespace_uid")]
    begins = sa.func.max(seen.c.valid_from, type_=INSTANT).over(
        partition_by=[*own, seen.c.operation], order_by=seen.c.generation
    )
    ended = sa.func.max(sa.case((is_end, seen.c.valid_from)), type_=INSTANT).over(partition_by=own)
    kept = [c for c in seen.c if c.name not in ("valid_from", "operation", "recorded_at")]
    ordered = sa.select(
        *kept, seen.c.operation, begins.label("begins"), ended.label("ended")
    ).subquery("ordered")
    follows = sa.func.lead(ordered.c.begins, type_=INSTANT).over(
        partition_by=[ordered.c[name] for name in place],
        order_by=[
            ordered.c.begins,
            sa.case((ordered.c.ended.is_(None), 1), else_=0),
            ordered.c.ended,
            ordered.c.generation,
        ],
    )
    applies = (
        sa.select(*ordered.c, follows.label("follows"))
        .where(ordered.c.operation == applied)
        .subquery("applies")
    )
    until = sa.case(
        (applies.c.follows.is_(None), applies.c.ended),
        (applies.c.ended < applies.c.follows, applies.c.ended),
        else_=applies.c.follows,
    )
    bounded = sa.select(*applies.c, sa.type_coerce(until, INSTANT).label("valid_to")).subquery(
        "bounded"
    )
    return sa.select(
        *(bounded.c[name] for name in place),
        bounded.c.begins.label("valid_from"),
        bounded.c.valid_to,
        *(bounded.c[c.name] for c in kept if c.name not in place),
    ).where(bounded.c.valid_to.is_(None) | (bounded.c.valid_to > bounded.c.begins))


def latest(source: sa.Table, place: dict[str, str], api_group: str) -> sa.Select[Any]:
    """The newest APPLY of each LNamespace of a cluster that the ledger does not know as ended.

    Of one instance, by its API group: another's LNamespaces are not gone. Rows that name none
    are the default instance's.
    """
    known = "api_group" in source.c
    instance = [sa.func.coalesce(source.c.api_group, _DEFAULT_GROUP) == api_group] if known else []
    ended = source.alias("ended")
    newest = sa.func.row_number().over(
        partition_by=source.c.lnamespace_uid,
        order_by=[source.c.generation.desc(), source.c.recorded_at],
    )
    applied = (
        sa.select(*source.c, newest.label(_COPY))
        .where(source.c.operation == Operation.APPLY.value)
        .where(*(source.c[name] == value for name, value in place.items()), *instance)
        .where(
            ~sa.exists(
                sa.select(sa.literal_column("1")).where(
                    ended.c.operation == Operation.DELETE.value,
                    ended.c.lnamespace_uid == source.c.lnamespace_uid,
                )
            )
        )
        .subquery("applied")
    )
    return sa.select(*(applied.c[column.name] for column in source.c)).where(applied.c[_COPY] == 1)


def _once(source: sa.Table) -> sa.Subquery:
    copy = sa.func.row_number().over(partition_by=source.c.event_id, order_by=source.c.recorded_at)
    return sa.select(*source.c, copy.label(_COPY)).subquery("once")
