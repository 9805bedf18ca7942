"""Read from the ledger who paid for each namespace, and when, in little memory."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lnamespace.ledger.costs.allocation import (
    FOREVER,
    Cluster,
    PaidInterval,
    PaidIntervals,
    Payer,
    microseconds,
)
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import CLUSTER_COLUMNS
from lnamespace.model.billing import BILLING_TEXTS


def read_intervals(ledger: Ledger, cluster: Cluster | None) -> PaidIntervals:
    """Return who paid for each namespace of a cluster; of all clusters if it is None.

    Raises
    ------
    LedgerError
        The database fails.
    """
    found = ledger.intervals().subquery("found")
    names = (*CLUSTER_COLUMNS, "namespace", "valid_from", "valid_to", *BILLING_TEXTS.values())
    here = dict(zip(CLUSTER_COLUMNS, cluster, strict=True)) if cluster else {}
    query = sa.select(*(found.c[name] for name in names)).where(
        *(found.c[name] == value for name, value in here.items())
    )
    return by_namespace(ledger.stream(query))


def by_namespace(rows: Iterable[Mapping[Any, Any]]) -> PaidIntervals:
    """Return the intervals of each namespace in order of time, from rows of the ledger's view."""
    payers: dict[Payer, Payer] = {}
    found: dict[tuple[Cluster, str], list[PaidInterval]] = defaultdict(list)
    for row in rows:
        payer = Payer(**{name: row[name] or "" for name in BILLING_TEXTS.values()})
        payer = payers.setdefault(payer, payer)  # One object for all the intervals of a payer.
        interval = PaidInterval(microseconds(row["valid_from"]), _end(row["valid_to"]), payer)
        cluster = (
            row[CLUSTER_COLUMNS[0]] or "",
            row[CLUSTER_COLUMNS[1]] or "",
            row[CLUSTER_COLUMNS[2]] or "",
        )
        found[cluster, row["namespace"] or ""].append(interval)
    return {key: _in_order(unsorted) for key, unsorted in found.items()}


def _in_order(unsorted: list[PaidInterval]) -> list[PaidInterval]:
    """Sort intervals, and end each where the next one begins.

    Spans of a namespace overlap in the view in one case: two clusters have the same names. No bill
    can tell these apart, so the payer who began last pays.
    """
    ordered = sorted(unsorted)
    later = [*ordered[1:], PaidInterval(FOREVER, FOREVER, Payer(""))]
    pairs = zip(ordered, later, strict=True)
    trimmed = [
        interval._replace(end=min(interval.end, following.start)) for interval, following in pairs
    ]
    return [interval for interval in trimmed if interval.end > interval.start]


def _end(value: datetime | None) -> int:
    return FOREVER if value is None else microseconds(value)
