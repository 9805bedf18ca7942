"""The queries and statements on the ledger's table, in SQLAlchemy Core.

Where sqlite, PostgreSQL, DuckDB and BigQuery need different SQL, the difference is here.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from lnamespace.ledger.database.table import CLUSTER_COLUMNS, DEFAULT_GROUP, INSTANT, VOID
from lnamespace.ledger.outbox.record import BillingOperation

SINCE = "known_since"
"""The parameter of :func:`insertion` that bounds where an event is looked for."""

_COPY = "copy_number"
_STARTS = (BillingOperation.APPLY.value, BillingOperation.RETRACT.value)
"""The operations with which an interval begins."""
_CORRECTIONS = (BillingOperation.RETRACT.value, VOID)


@lru_cache(maxsize=16)
def insertion(
    target: sa.Table, columns: tuple[str, ...], rows: int, bounded: bool = False
) -> sa.Insert:
    """Return an idempotent INSERT of rows that leaves out those whose event is in the table.

    The values are parameters, named by :func:`parameter`. A batch must not have an event twice.
    Statements are cached: to build one takes longer than sqlite takes for the rows.

    Parameters
    ----------
    bounded
        Whether to search events only from the parameter :data:`SINCE` on, for BigQuery bills each
        day that it reads. An older event is inserted again, and the views count it once.
    """
    # Each parameter has its column's type: within a UNION, PostgreSQL and BigQuery cannot infer it.
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
    """Return the name of a parameter of :func:`insertion`."""
    return f"{column}_{row}"


def events(source: sa.FromClause) -> sa.Select[Any]:
    """Return the query for the events, each once.

    Two publishers at once can write an event twice in BigQuery, which enforces no key.
    """
    once = _once(source)
    return sa.select(*(once.c[column.name] for column in source.c)).where(once.c[_COPY] == 1)


def intervals(source: sa.FromClause, unique: bool = False) -> sa.Select[Any]:
    """Return the query for who pays from ``valid_from`` to ``valid_to`` (excluded; NULL: still).

    No two intervals of one namespace of one cluster overlap. An interval ends with the next one of
    its namespace, whatever the LNamespace, or with the DELETE of its own LNamespace: a DELETE that
    arrives late must not end a namespace that was created again meanwhile. The clocks of webhooks
    differ, so within an LNamespace the generation decides, and no interval begins before the last.
    LNamespaces of one name follow each other as generations do, in the order in which they began: a
    last change of the first may have a later time than the start of the second, and would end it
    for ever. They do not follow in the order in which they ended: an end may be recorded late.

    An event that was taken back does not count. A RETRACT begins an interval as an APPLY does, for
    another LNamespace may have had the name meanwhile.

    Every window is partitioned by cluster and namespace first: a condition on the namespace is
    applied before the sort, and PostgreSQL sorts within a namespace only.

    Parameters
    ----------
    unique
        Whether the table's key prevents duplicates. PostgreSQL sorts the table to remove them.
    """
    place = (*CLUSTER_COLUMNS, "namespace")
    ordered = _ordered(source, unique)
    window: dict[str, Any] = {
        "partition_by": [*(ordered.c[name] for name in place), ordered.c.identity],
        "order_by": [
            ordered.c.born,
            sa.case((ordered.c.ended.is_(None), 1), else_=0),
            ordered.c.ended,
            *(ordered.c[name] for name in ("generation", "operation", "valid_from")),
        ],
    }
    since = sa.func.max(ordered.c.begins, type_=INSTANT).over(**window)
    follows = sa.func.lead(ordered.c.begins, type_=INSTANT).over(**window)
    starts = (
        sa.select(*ordered.c, since.label("since"), follows.label("follows"))
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
        bounded.c.since.label("valid_from"),
        bounded.c.valid_to,
        *(bounded.c[c.name] for c in source.c if c.name not in computed),
        bounded.c.identity.label("cluster_uid"),
        bounded.c.corrects,
        bounded.c.recorded_at,
        bounded.c.reason,
    ).where(bounded.c.valid_to.is_(None) | (bounded.c.valid_to > bounded.c.since))


def latest(source: sa.FromClause, place: dict[str, str], api_group: str) -> sa.Select[Any]:
    """Return the query for the newest row of each LNamespace that has no DELETE.

    The rows are those of one instance, by its API group; rows without a group are the default
    instance's. ``cluster_uid`` is that of any row of the LNamespace: older rows than the column
    have none.
    """
    ended, uid = _ends(source).subquery("ended"), source.c.lnamespace_uid
    back = _taken_back(source)
    newest = sa.func.row_number().over(
        partition_by=uid,
        # After a restore of etcd several events have one generation.
        order_by=[
            source.c.generation.desc(),
            source.c.operation.desc(),
            source.c.valid_from.desc(),
            source.c.recorded_at,
        ],
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
        .where(sa.func.coalesce(source.c.api_group, DEFAULT_GROUP) == api_group)
        .subquery("applied")
    )
    return sa.select(*(applied.c[column.name] for column in source.c)).where(applied.c[_COPY] == 1)


def ends_of(source: sa.FromClause, uids: Sequence[str]) -> sa.Select[Any]:
    """Return the query for the DELETEs of these LNamespaces that were not taken back."""
    return _ends(source, source.c.lnamespace_uid.in_(uids))


def retracted(source: sa.FromClause) -> sa.Select[Any]:
    """Return the query for the DELETEs that were taken back: id, LNamespace and time of record.

    There are few: each corrects a mistake.
    """
    back = _taken_back(source)
    return (
        sa.select(source.c.event_id, source.c.lnamespace_uid, source.c.recorded_at)
        .join_from(source, back, back.c.corrects == source.c.event_id)
        .where(source.c.operation == BillingOperation.DELETE.value)
    )


def whole(source: sa.Table, present: Collection[str]) -> sa.FromClause:
    """Return the table with all columns, NULL for those that it lacks."""
    if all(column.name in present for column in source.c):
        return source
    columns = (
        c if c.name in present else sa.cast(sa.null(), c.type).label(c.name) for c in source.c
    )
    return sa.select(*columns).select_from(source).subquery("whole")


def _ends(source: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the DELETE of each LNamespace that was not taken back."""
    back = _taken_back(source)
    return (
        sa.select(source.c.lnamespace_uid, sa.func.max(source.c.event_id).label("event_id"))
        .select_from(source.outerjoin(back, back.c.corrects == source.c.event_id))
        .where(source.c.operation == BillingOperation.DELETE.value, back.c.corrects.is_(None))
        .where(*conditions)
        .group_by(source.c.lnamespace_uid)
    )


def _ordered(source: sa.FromClause, unique: bool) -> sa.Subquery:
    """Return each event with when its LNamespace began and ended, and when it takes effect.

    An LNamespace whose end was taken back begins again: another may have had the name meanwhile.
    """
    once = sa.select(*source.c) if unique else events(source)
    seen, back = once.subquery("seen"), _taken_back(source)
    taken = sa.and_(
        back.c.corrects == seen.c.event_id,
        # So that a condition on the namespace is applied to both.
        back.c.namespace == seen.c.namespace,
    )
    own = [seen.c[name] for name in (*CLUSTER_COLUMNS, "namespace", "lnamespace_uid")]
    is_end = sa.and_(seen.c.operation == BillingOperation.DELETE.value, back.c.corrects.is_(None))
    is_start = sa.and_(_is_start(seen), back.c.corrects.is_(None))
    # A RETRACT of an end, or of such a RETRACT.
    again = sa.and_(is_start, seen.c.corrects.like(f"%/{BillingOperation.DELETE.value}%"))
    # A RETRACT of the same generation follows its APPLY.
    order = [seen.c.generation, seen.c.operation, seen.c.valid_from]
    starts = sa.case((is_start, seen.c.valid_from))
    begins = sa.func.max(starts, type_=INSTANT).over(partition_by=own, order_by=order)
    born = sa.func.coalesce(
        sa.func.max(sa.case((again, seen.c.valid_from)), type_=INSTANT).over(
            partition_by=own, order_by=order
        ),
        sa.func.min(starts, type_=INSTANT).over(partition_by=own),
        type_=INSTANT,
    )
    ended = sa.func.max(sa.case((is_end, seen.c.valid_from)), type_=INSTANT).over(partition_by=own)
    own_uid = sa.case((_is_start(seen), seen.c.cluster_uid))
    # The uid of an APPLY or RETRACT first: another cluster of these names may have recorded the
    # DELETE. Of rows of a table that lacked the column, the DELETE alone may have one.
    identity = sa.func.coalesce(
        sa.func.max(own_uid).over(partition_by=own),
        sa.func.max(seen.c.cluster_uid).over(partition_by=own),
    )
    return (
        sa.select(
            *seen.c,
            born.label("born"),
            begins.label("begins"),
            ended.label("ended"),
            identity.label("identity"),
            back.c.corrects.label("taken_back"),
        )
        .select_from(seen.outerjoin(back, taken))
        .subquery("ordered")
    )


def _is_start(events_: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return whether an interval begins with an event."""
    return sa.or_(*(events_.c.operation == name for name in _STARTS))


def _taken_back(source: sa.FromClause) -> sa.Subquery:
    """Return the events that other rows take back, each once."""
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
