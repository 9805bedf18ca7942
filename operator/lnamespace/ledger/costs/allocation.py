"""Divide the lines of a bill among the payers of their namespaces. Pure.

The rules are those of ``docs/sql/cost-per-cost-centre.sql``:

1. The payers of a line are those who paid for its namespace within the line's window.
2. Several payers share a line in proportion to the time for which each of them paid. Time of the
   window in which the ledger knows no payer does not count: the namespace was not there.
3. A line without any payer is ``shared`` if it is the cluster's own, and ``unallocated`` if not.

All amounts are decimals, and the context traps inexact results: the sum of the charges equals the
sum of the lines, to the last decimal.
"""

import decimal
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from lnamespace.model.billing import BILLING_TEXTS

EXACT = decimal.Context(prec=100, traps=[decimal.InvalidOperation, decimal.Inexact])
"""Arithmetic that raises before it loses a digit."""

DECIMALS = 9
"""Decimals of a part of a line, as BigQuery's NUMERIC has them; a line with more keeps them."""

PAYER, SHARED, UNALLOCATED = "payer", "shared", "unallocated"
"""The kinds of rows. A cost centre that is called SHARED is a row of its own."""

LABELS = {SHARED: "SHARED", UNALLOCATED: "UNALLOCATED"}
"""The cost centres of rows that have none."""

SYSTEM = ("kube:*", "kube-*", "goog-k8s-*", "__*__")
"""Namespaces of the cluster itself: Kubernetes', GKE's and OpenCost's (``__idle__``)."""

FOREVER = 2**62
"""The end, in microseconds, of an interval that has none yet."""

DAY = 86_400_000_000
"""Microseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Cluster = tuple[str, str, str]
"""Project, location and name of a cluster."""


class Payer(NamedTuple):
    """The payer by the ledger, and the LCluster by the cluster."""

    cost_center: str
    owner: str = ""
    team: str = ""
    environment: str = ""
    lcluster: str = ""
    lcluster_uid: str = ""


class PaidInterval(NamedTuple):
    """A time in which one payer paid for a namespace: microseconds since 1970, end excluded."""

    start: int
    end: int
    payer: Payer


PaidIntervals = Mapping[tuple[Cluster, str], Sequence[PaidInterval]]
"""The intervals of each namespace in order of time; no two of a namespace overlap."""


class Line(NamedTuple):
    """A line of the bill: what one namespace cost in one window of time, its end excluded.

    Attributes
    ----------
    cluster
        None for a cost of no cluster.
    namespace
        Empty for a cost of the cluster as a whole.
    start, end
        Microseconds since 1970.
    cost
        Net of credits.
    month
        The month of the invoice, such as 202611; empty if the bill does not have it.
    """

    cluster: Cluster | None
    namespace: str
    start: int
    end: int
    cost: Decimal
    currency: str
    month: str = ""


class Key(NamedTuple):
    """The key of a row of the report; ``by`` has a value for each part of a break-down."""

    currency: str
    kind: str
    cost_center: str
    by: tuple[str, ...]


Totals = dict[Key, Decimal]


class Window(NamedTuple):
    """The key by which lines are gathered: a namespace, a window of time and a currency."""

    cluster: Cluster | None
    namespace: str
    start: int
    end: int
    currency: str


_Part = Callable[[Window, Payer, str], tuple[str, ...]]


def _text_part(name: str) -> _Part:
    return lambda _, payer, __: (getattr(payer, name),)


LINE_PARTS: Mapping[str, tuple[tuple[str, ...], _Part]] = {
    "cluster": (
        ("project_id", "cluster_location", "cluster_name"),
        lambda window, _, __: window.cluster or ("", "", ""),
    ),
    "namespace": (("namespace",), lambda window, _, __: (window.namespace,)),
    **{
        name: ((name,), _text_part(name))
        for name in BILLING_TEXTS.values()
        if name != "cost_center"
    },
    "lcluster": (
        ("lcluster", "lcluster_uid"),
        lambda _, payer, __: (payer.lcluster, payer.lcluster_uid),
    ),
    "day": (("day",), lambda _, __, day: (day,)),
}
"""The columns by which a report can be broken down, and how to get their values."""


@dataclass(frozen=True)
class Charging:
    """The rules by which a bill is charged: parts of a break-down, and shared namespaces."""

    by: tuple[str, ...] = ()
    shared_namespaces: tuple[str, ...] = ()

    def is_shared(self, namespace: str) -> bool:
        """Return whether a namespace without a payer is the cluster's own."""
        patterns = (*SYSTEM, *self.shared_namespaces)
        return not namespace or any(fnmatchcase(namespace, pattern) for pattern in patterns)


@dataclass
class Tally:
    """The sums of the lines charged so far. Use it in the context :data:`EXACT`.

    Lines that are divided are summed by their window first, so that the parts do not depend on how
    a bill splits a window into lines.
    """

    charging: Charging
    intervals: PaidIntervals
    lines: int = 0
    _whole: Totals = field(default_factory=dict)
    _divided: dict[Window, Decimal] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Charge a line."""
        self.lines += 1
        window = Window(line.cluster, line.namespace, line.start, line.end, line.currency)
        pieces = _pieces(window, self.intervals)
        if len(pieces) == 1 and not ("day" in self.charging.by and _is_long(window)):
            key = self._key(window, pieces[0].payer, _day(line.start // DAY))
            self._whole[key] = self._whole.get(key, Decimal(0)) + line.cost
        else:
            self._divided[window] = self._divided.get(window, Decimal(0)) + line.cost

    def totals(self) -> Totals:
        """Return the cost of each row of the report."""
        totals = dict(self._whole)
        for window, cost in self._divided.items():
            pieces = _pieces(window, self.intervals)
            costs = divide_amount(cost, [piece.end - piece.start for piece in pieces])
            for piece, part in zip(pieces, costs, strict=True):
                for day, of_day in self._by_day(piece, part):
                    key = self._key(window, piece.payer, day)
                    totals[key] = totals.get(key, Decimal(0)) + of_day
        return totals

    def _by_day(self, piece: PaidInterval, cost: Decimal) -> Iterable[tuple[str, Decimal]]:
        return _days(piece, cost) if "day" in self.charging.by else (("", cost),)

    def _key(self, window: Window, payer: Payer, day: str) -> Key:
        kind, cost_center = PAYER, payer.cost_center
        if not cost_center:
            kind = SHARED if self.charging.is_shared(window.namespace) else UNALLOCATED
            cost_center = LABELS[kind]
        by = tuple(
            value for name in self.charging.by for value in LINE_PARTS[name][1](window, payer, day)
        )
        return Key(window.currency, kind, cost_center, by)


def divide_amount(amount: Decimal, weights: Sequence[int]) -> list[Decimal]:
    """Divide an amount in proportion to weights, so that the parts add up to the amount.

    Each part is the difference of two truncated running totals, so that a fraction that one part
    loses is in the next.

    Parameters
    ----------
    weights
        No weight is negative, and not all are 0.
    """
    decimals = max(DECIMALS, -_exponent(amount.normalize(EXACT)))
    units = int(amount.scaleb(decimals, EXACT))
    total = sum(weights)
    running = (_truncated(units * upto, total) for upto in accumulate(weights, initial=0))
    return [Decimal(b - a).scaleb(-decimals, EXACT) for a, b in pairwise(running)]


def microseconds(moment: datetime) -> int:
    """Return an instant as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def _pieces(window: Window, intervals: PaidIntervals) -> Sequence[PaidInterval]:
    """Return who paid within a window; nobody, for all of it, if the ledger knows nobody."""
    known = intervals.get((window.cluster, window.namespace), ()) if window.cluster else ()
    first = last = bisect_left(known, (window.end,))
    while first and known[first - 1].end > window.start:
        first -= 1
    if first == last:
        return (PaidInterval(window.start, window.end, Payer("")),)
    return [
        PaidInterval(
            max(interval.start, window.start), min(interval.end, window.end), interval.payer
        )
        for interval in known[first:last]
    ]


def _is_long(window: Window) -> bool:
    return window.start // DAY != (window.end - 1) // DAY


def _days(piece: PaidInterval, cost: Decimal) -> Iterable[tuple[str, Decimal]]:
    first, last = piece.start // DAY, (piece.end - 1) // DAY
    edges = [piece.start, *(day * DAY for day in range(first + 1, last + 1)), piece.end]
    costs = divide_amount(cost, [end - start for start, end in pairwise(edges)])
    return zip((_day(day) for day in range(first, last + 1)), costs, strict=True)


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).date().isoformat()


def _exponent(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int):
        raise TypeError(f"{amount} is no amount")
    return exponent


def _truncated(numerator: int, denominator: int) -> int:
    """Return a quotient without its fraction, as SQL's DIV: towards zero, not down."""
    quotient = abs(numerator) // denominator
    return quotient if numerator >= 0 else -quotient
