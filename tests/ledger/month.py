"""A month in the life of a cluster: what the ledger was told, what it cost, who is charged.

The same for every test of a join, and for a check of a real project.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lnamespace.ledger.database.table import Row

from tests.ledger.rows import ended, event

HOUR = timedelta(hours=1)
SINCE = datetime(2026, 11, 1, tzinfo=UTC)
UNTIL = datetime(2026, 12, 1, tzinfo=UTC)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def told() -> list[Row]:
    """Return the ledger's events, in no good order and one of them twice."""
    moved = event("moves", "m", 2, at(10, 12, 30), "4712")
    return [
        ended("again", "a1", 1, at(5, 10, 30), told=at(20)),  # Long after "again" was made again.
        event("steady", "s", 1, at(1, 0, 20), "4711"),
        moved,
        event("moves", "m", 1, at(2), "4711"),
        moved,
        event("again", "a1", 1, at(2), "4711"),
        event("again", "a2", 1, at(6), "4713"),
        event("gone", "g", 1, at(2), "4714"),
        ended("gone", "g", 1, at(9, 6, 15), told=at(9, 7)),
        event("nobody", "n", 1, at(2), ""),
        event("O'Brien; DROP--", "o", 1, at(2), "=1+1"),
    ]


@dataclass(frozen=True)
class Line:
    """A line of the bill: an hour of a namespace, and which cost centres are to share it evenly."""

    namespace: str | None
    start: datetime
    cost: float
    charged: str
    credit: float = 0.0
    cluster: str | None = "main"
    currency: str = "CAD"
    hours: int = 1

    @property
    def end(self) -> datetime:
        return self.start + self.hours * HOUR

    @property
    def net(self) -> Decimal:
        return Decimal(repr(self.cost)) + Decimal(repr(self.credit))


LINES = [
    Line("steady", at(1, 0), 1.5, "4711"),  # The hour in which it was created.
    Line("steady", at(30, 23), 10.25, "4711", credit=-0.25),
    Line("steady", at(3), 7.0, "4711", currency="USD"),
    Line("steady", at(3), 9.0, "UNALLOCATED", cluster="other"),
    Line("moves", at(2), 100.0, "4711"),
    Line("moves", at(10, 11), 200.0, "4711"),
    Line("moves", at(10, 12), 400.0, "4711+4712"),  # It moved in the middle of this hour.
    Line("moves", at(20), 800.0, "4712"),
    Line("again", at(4), 3.0, "4711"),
    Line("again", at(5, 10), 5.0, "4711"),  # The hour in which it was deleted.
    Line("again", at(5, 11), 7.0, "UNALLOCATED"),
    Line("again", at(6), 11.0, "4713"),
    Line("again", at(21), 13.0, "4713"),
    Line("gone", at(9, 6), 17.0, "4714"),
    Line("gone", at(9, 7), 19.0, "UNALLOCATED"),
    Line("nobody", at(3), 23.0, "UNALLOCATED"),
    Line("stranger", at(3), 29.0, "UNALLOCATED"),
    Line("O'Brien; DROP--", at(3), 31.0, "=1+1"),
    Line("kube:unallocated", at(3), 37.0, "SHARED", credit=-7.0),
    Line("kube:system-overhead", at(3), 41.0, "SHARED"),
    Line("kube-system", at(3), 43.0, "SHARED"),
    Line(None, at(3), 47.0, "SHARED"),  # The control plane's fee.
]

ELSEWHERE = [
    Line("steady", SINCE, 1000.0, "", cluster=None),  # Not of any cluster.
    Line("steady", UNTIL, 2000.0, ""),  # Another month's invoice.
]


def expected() -> dict[tuple[str, str, str], Decimal]:
    """Return what each cost centre is to be charged, by kind, cost centre and currency."""
    totals: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    for line in LINES:
        payers = line.charged.split("+") if line.charged[0] != "=" else [line.charged]
        for payer in payers:
            kind = payer.lower() if payer in ("SHARED", "UNALLOCATED") else "payer"
            totals[kind, payer, line.currency] += line.net / len(payers)
    return dict(totals)
