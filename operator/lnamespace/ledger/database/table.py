"""The ledger's table, and the questions asked of it, in SQLAlchemy Core.

One row an event, never changed and never deleted: what a namespace cost last Tuesday must not
depend on who pays for it today. The same code serves sqlite, PostgreSQL, DuckDB and BigQuery;
what differs between them is forced and all of it is here.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from lnamespace.errors import SettingsError
from lnamespace.ledger.database import descriptions
from lnamespace.ledger.outbox.record import BillingOperation
from lnamespace.model.names import Names

SCHEMA_VERSION = 3
"""The version of the table's columns and of the views; each change of either is one more.

1: the first. 2: ``cluster_uid`` and ``corrects``; views know of corrections. 3: ``reason``; every
event can be corrected.
"""
VOID = "VOID"
"""The operation of a row that takes back what ``corrects`` names, and says nothing else.

Only who writes the database can make one: there is no such record in a cluster.
"""
VIEW_SUFFIX = "_intervals"
VERSION_SUFFIX = "_version"
"""Of a view with one row: the version of the views, which a query without cost tells."""
CLUSTER_COLUMNS = ("project_id", "cluster_location", "cluster_name")
"""The columns that say in which cluster; with ``namespace`` they join the cloud's bill."""

SINCE = "known_since"
"""The parameter of :func:`insertion` that bounds where an event is looked for."""

_COPY = "copy_number"
_STARTS = (BillingOperation.APPLY.value, BillingOperation.RETRACT.value)
"""From these on somebody pays."""
_CORRECTIONS = (BillingOperation.RETRACT.value, VOID)
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


def events_table(name: str, default_schema: str = "") -> sa.Table:
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
        _column("event_id", sa.String, primary_key=True),
        *(
            _column(column, sa.String)
            for column in (*CLUSTER_COLUMNS, "namespace", "lnamespace_uid")
        ),
        _column("generation", sa.BigInteger),
        _column("operation", sa.String),
        _column("valid_from", INSTANT),
        _column("recorded_at", INSTANT),
        *(
            _column(column, sa.String)
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
        _column("schema_version", sa.BigInteger),
        # New columns come last: a view can be replaced in place if columns are only appended.
        _column("cluster_uid", sa.String),
        _column("corrects", sa.String),
        _column("reason", sa.String),
        schema=".".join(schema) or default_schema or None,
        comment=descriptions.TABLE,
    )


def _column(name: str, kind: Any, primary_key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=primary_key, comment=descriptions.COLUMNS[name])


@lru_cache(maxsize=16)
def insertion(
    target: sa.Table, columns: tuple[str, ...], rows: int, bounded: bool = False
) -> sa.Insert:
    """INSERT so many rows, but those whose event is there: to repeat it is to do nothing.

    ``bounded``: look for it from the parameter :data:`SINCE` on only, where every look at a day
    costs. What was written before that twice, the views count once; a key would refuse it.

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
        sa.select(sa.literal_column("1")).where(
            target.c.event_id == batch.c.event_id,
            *([target.c.valid_from >= sa.bindparam(SINCE, type_=INSTANT)] if bounded else []),
        )
    )
    return target.insert().from_select(list(columns), sa.select(batch).where(~known))


def parameter(column: str, row: int) -> str:
    """What a value is called in :func:`insertion`."""
    return f"{column}_{row}"


def events(source: sa.FromClause) -> sa.Select[Any]:
    """Return the query for the events, each once.

    Two publishers at once could write an event twice where no key is enforced.
    """
    once = _once(source)
    return sa.select(*(once.c[column.name] for column in source.c)).where(once.c[_COPY] == 1)


def intervals(source: sa.FromClause, unique: bool = False) -> sa.Select[Any]:
    """Return the query for who pays from ``valid_from`` to ``valid_to`` (excluded; NULL: still).

    No two intervals of one namespace of one cluster overlap. An interval ends with the next one
    of its place, whatever the LNamespace, or with the end of its own LNamespace: a DELETE that was
    told late must not close the namespace that has been created anew meanwhile. Clocks of several
    webhooks differ, so within an LNamespace the generation decides, and time never runs backwards.

    What was taken back counts no more; a RETRACT begins an interval as an APPLY does, for another
    LNamespace may have had the name meanwhile.

    ``unique``: a key sees to it that no event is there twice. To look costs PostgreSQL a sort of
    the whole table.

    Every window is partitioned by the place first: a condition on the namespace is applied
    before anything is sorted, and PostgreSQL sorts within a namespace only.
    """
    place = (*CLUSTER_COLUMNS, "namespace")
    ordered = _ordered(source, unique)
    follows = sa.func.lead(ordered.c.begins, type_=INSTANT).over(
        partition_by=[*(ordered.c[name] for name in place), ordered.c.identity],
        order_by=[
            ordered.c.begins,
            sa.case((ordered.c.ended.is_(None), 1), else_=0),
            ordered.c.ended,
            ordered.c.generation,
            ordered.c.operation,
        ],
    )
    starts = (
        sa.select(*ordered.c, follows.label("follows"))
        .where(_is_start(ordered), ordered.c.taken_back.is_(None))
        .subquery("starts")
    )
    until = sa.case(
        (starts.c.follows.is_(None), starts.c.ended),
        (starts.c.ended < starts.c.follows, starts.c.ended),
        else_=starts.c.follows,
    )
    bounded = sa.select(*starts.c, sa.type_coerce(until, INSTANT).label("valid_to")).subquery(
        "bounded"
    )
    last = ("cluster_uid", "corrects", "recorded_at", "reason")
    computed = ("operation", "valid_from", *last, *place)
    return sa.select(
        *(bounded.c[name] for name in place),
        bounded.c.begins.label("valid_from"),
        bounded.c.valid_to,
        *(bounded.c[c.name] for c in source.c if c.name not in computed),
        bounded.c.identity.label("cluster_uid"),
        bounded.c.corrects,
        bounded.c.recorded_at,
        bounded.c.reason,
    ).where(bounded.c.valid_to.is_(None) | (bounded.c.valid_to > bounded.c.begins))


def latest(source: sa.FromClause, place: dict[str, str], api_group: str) -> sa.Select[Any]:
    """Return the query for the newest state of each LNamespace that is not known as ended.

    Of one instance, by its API group: another's LNamespaces are not gone. Rows that name none
    are the default instance's. ``cluster_uid`` is that of any row of the LNamespace: rows from
    before there was this column have none.
    """
    ended, uid = _ends(source).subquery("ended"), source.c.lnamespace_uid
    back = _taken_back(source)
    newest = sa.func.row_number().over(
        partition_by=uid, order_by=[source.c.generation.desc(), source.c.recorded_at]
    )
    identity = sa.func.max(source.c.cluster_uid).over(partition_by=uid)
    others = [column for column in source.c if column.name != "cluster_uid"]
    applied = (
        sa.select(*others, identity.label("cluster_uid"), newest.label(_COPY))
        .select_from(
            source.outerjoin(ended, ended.c.lnamespace_uid == uid).outerjoin(
                back, back.c.corrects == source.c.event_id
            )
        )
        .where(_is_start(source), ended.c.lnamespace_uid.is_(None), back.c.corrects.is_(None))
        .where(*(source.c[name] == value for name, value in place.items()))
        .where(sa.func.coalesce(source.c.api_group, _DEFAULT_GROUP) == api_group)
        .subquery("applied")
    )
    return sa.select(*(applied.c[column.name] for column in source.c)).where(applied.c[_COPY] == 1)


def ends_of(source: sa.FromClause, uids: Sequence[str]) -> sa.Select[Any]:
    """Return the query for the ends that count of these LNamespaces."""
    return _ends(source, source.c.lnamespace_uid.in_(uids))


def retracted(source: sa.FromClause) -> sa.Select[Any]:
    """Return the query for the ends that were taken back: their id, LNamespace and time of record.

    There are few: each is a mistake that somebody made.
    """
    back = _taken_back(source)
    return (
        sa.select(source.c.event_id, source.c.lnamespace_uid, source.c.recorded_at)
        .join_from(source, back, back.c.corrects == source.c.event_id)
        .where(source.c.operation == BillingOperation.DELETE.value)
    )


def whole(source: sa.Table, present: Collection[str]) -> sa.FromClause:
    """Return the table with all columns, NULL for those that somebody else's does not have."""
    if all(column.name in present for column in source.c):
        return source
    columns = (
        c if c.name in present else sa.cast(sa.null(), c.type).label(c.name) for c in source.c
    )
    return sa.select(*columns).select_from(source).subquery("whole")


def _ends(source: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The ends that nobody has taken back, each LNamespace's once."""
    back = _taken_back(source)
    return (
        sa.select(source.c.lnamespace_uid, sa.func.max(source.c.event_id).label("event_id"))
        .select_from(source.outerjoin(back, back.c.corrects == source.c.event_id))
        .where(source.c.operation == BillingOperation.DELETE.value, back.c.corrects.is_(None))
        .where(*conditions)
        .group_by(source.c.lnamespace_uid)
    )


def _ordered(source: sa.FromClause, unique: bool) -> sa.Subquery:
    """Each event with when its LNamespace ended, and when it itself takes effect."""
    once = sa.select(*source.c) if unique else events(source)
    seen, back = once.subquery("seen"), _taken_back(source)
    taken = sa.and_(
        back.c.corrects == seen.c.event_id,
        # So that a condition on the namespace holds for both.
        back.c.namespace == seen.c.namespace,
    )
    own = [seen.c[name] for name in (*CLUSTER_COLUMNS, "namespace", "lnamespace_uid")]
    is_end = sa.and_(seen.c.operation == BillingOperation.DELETE.value, back.c.corrects.is_(None))
    is_start = sa.and_(_is_start(seen), back.c.corrects.is_(None))
    begins = sa.func.max(sa.case((is_start, seen.c.valid_from)), type_=INSTANT).over(
        partition_by=own,
        # A RETRACT of the same generation follows its APPLY.
        order_by=[seen.c.generation, seen.c.operation, seen.c.valid_from],
    )
    ended = sa.func.max(sa.case((is_end, seen.c.valid_from)), type_=INSTANT).over(partition_by=own)
    own_uid = sa.case((_is_start(seen), seen.c.cluster_uid))
    # Another cluster of these names may have ended it wrongly; of rows from before there was an
    # identity the end alone may have one.
    identity = sa.func.coalesce(
        sa.func.max(own_uid).over(partition_by=own),
        sa.func.max(seen.c.cluster_uid).over(partition_by=own),
    )
    return (
        sa.select(
            *seen.c,
            begins.label("begins"),
            ended.label("ended"),
            identity.label("identity"),
            back.c.corrects.label("taken_back"),
        )
        .select_from(seen.outerjoin(back, taken))
        .subquery("ordered")
    )


def _is_start(events_: sa.FromClause) -> sa.ColumnElement[bool]:
    """Whether somebody pays from an event on."""
    return sa.or_(*(events_.c.operation == name for name in _STARTS))


def _taken_back(source: sa.FromClause) -> sa.Subquery:
    """The events that others take back, each once."""
    return (
        sa.select(source.c.corrects, source.c.namespace)
        .where(sa.or_(*(source.c.operation == name for name in _CORRECTIONS)))
        .distinct()
        .subquery("taken_back")
    )


def _once(source: sa.FromClause) -> sa.Subquery:
    copy = sa.func.row_number().over(
        partition_by=[
            *(source.c[name] for name in (*CLUSTER_COLUMNS, "namespace")),
            source.c.event_id,
        ],
        order_by=source.c.recorded_at,
    )
    return sa.select(*source.c, copy.label(_COPY)).subquery("once")
