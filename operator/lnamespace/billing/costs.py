"""What each cost centre cost: the ledger joined with what the cloud says its namespaces cost.

The same rules as ``docs/sql/cost-per-cost-centre.sql``, which reads Google's export, for any
database and a plain table of costs.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lnamespace.billing.table import INSTANT, PLACE, intervals

SHARED = "SHARED"
"""Who is charged for what is the cluster's own."""

UNALLOCATED = "UNALLOCATED"
"""Who is charged where the ledger does not know."""

_SHARED_PREFIXES = ("kube:", "kube-", "goog-k8s-")
"""GKE's names for what is no namespace's, and the system's namespaces."""

_NAMESPACE = (*PLACE, "namespace")


def costs(name: str, schema: str | None = None) -> sa.Table:
    """A table of costs: lines of one namespace and one usage window each.

    ``namespace`` is NULL for what belongs to a cluster and to no namespace of it. ``cost`` is net
    of credits, in units of ``currency``. The window's end is excluded.
    """
    return sa.Table(
        name,
        sa.MetaData(),
        *(sa.Column(column, sa.String) for column in _NAMESPACE),
        sa.Column("usage_start_time", INSTANT),
        sa.Column("usage_end_time", INSTANT),
        sa.Column("cost", sa.Double),
        sa.Column("currency", sa.String),
        schema=schema,
    )


def per_cost_center(
    events: sa.Table, lines: sa.Table, since: datetime | None = None, until: datetime | None = None
) -> sa.Select[Any]:
    """Cost centre, currency and cost of the usage that starts in a span, the dearest first.

    ``since`` is included, ``until`` is not; None is no bound.

    A line goes as a whole to the last payer within its window: so a namespace is paid for from
    its first second, and no line is counted twice.
    """
    paid = _with_next(intervals(events).subquery("paid")).subquery("ledger")
    payer = sa.and_(
        *(paid.c[column] == lines.c[column] for column in _NAMESPACE),
        paid.c.valid_from < lines.c.usage_end_time,
        paid.c.valid_to.is_(None) | (paid.c.valid_to > lines.c.usage_start_time),
        paid.c.next_from.is_(None) | (paid.c.next_from >= lines.c.usage_end_time),
    )
    starts = lines.c.usage_start_time
    first = [] if since is None else [starts >= since]
    last = [] if until is None else [starts < until]
    charged = (
        sa.select(
            _charged(paid.c.cost_center, lines.c.namespace).label("cost_center"),
            lines.c.currency,
            lines.c.cost,
        )
        .select_from(lines.outerjoin(paid, payer))
        .where(*first, *last)
        .subquery("charged")
    )
    total = sa.func.sum(charged.c.cost).label("cost")
    return (
        sa.select(charged.c.cost_center, charged.c.currency, total)
        .group_by(charged.c.cost_center, charged.c.currency)
        .order_by(charged.c.currency, total.desc(), charged.c.cost_center)
    )


def _with_next(paid: sa.Subquery) -> sa.Select[Any]:
    following = sa.func.lead(paid.c.valid_from, type_=INSTANT).over(
        partition_by=[paid.c[column] for column in _NAMESPACE], order_by=paid.c.valid_from
    )
    return sa.select(*paid.c, following.label("next_from"))


def _charged(
    cost_center: sa.ColumnElement[str], namespace: sa.ColumnElement[str]
) -> sa.ColumnElement[str]:
    is_shared = sa.or_(
        namespace.is_(None),
        *(namespace.startswith(prefix, autoescape=True) for prefix in _SHARED_PREFIXES),
    )
    otherwise = sa.case((is_shared, SHARED), else_=UNALLOCATED)
    return sa.func.coalesce(sa.func.nullif(cost_center, ""), otherwise, type_=sa.String)
