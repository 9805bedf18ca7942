"""``lnamespace ledger costs``: the cost of each cost centre, by a bill in a CSV file."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from itertools import chain, islice
from typing import Any

from lnamespace.errors import OptionError
from lnamespace.ledger.commands.output import amount, progress, write
from lnamespace.ledger.costs import cells
from lnamespace.ledger.costs.allocation import (
    EXACT,
    LINE_PARTS,
    Charging,
    Cluster,
    Line,
    Tally,
    Totals,
    microseconds,
)
from lnamespace.ledger.costs.bill import BillFormat, open_bill, read_lines
from lnamespace.ledger.costs.distribution import distribute
from lnamespace.ledger.costs.intervals import read_intervals
from lnamespace.ledger.costs.lclusters import BilledLCluster, assign_lclusters
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import Row

_NEWS = 20_000
"""Lines between two reports of progress."""


@dataclass(frozen=True)
class CostsRequest:
    """The arguments of the command. ``month`` is such as 202611, or empty for all.

    ``lclusters`` are those of this cluster, where the report is broken down by them.
    """

    file: str
    bill: BillFormat
    charging: Charging
    month: str
    rule: str
    all_clusters: bool
    lclusters: tuple[BilledLCluster, ...] = ()

    @property
    def names_lclusters(self) -> bool:
        """Return whether the report is broken down by LCluster."""
        return "lcluster" in self.charging.by

    @property
    def cluster(self) -> Cluster | None:
        """Return the only cluster that is charged, or None for all."""
        return None if self.all_clusters else self.bill.cluster


@dataclass
class LeftOut:
    """The number and the cost of the lines that were not charged, by the reason."""

    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    costs: dict[tuple[str, str], Decimal] = field(default_factory=lambda: defaultdict(Decimal))

    def add(self, reason: str, line: Line) -> None:
        """Count a line."""
        self.counts[reason] += 1
        self.costs[reason, line.currency] += line.cost

    def texts(self) -> Iterator[str]:
        """Yield a text for each reason."""
        for reason, count in self.counts.items():
            sums = sorted((c, cost) for (why, c), cost in self.costs.items() if why == reason)
            shown = ", ".join(f"{amount(cost)} {currency}".rstrip() for currency, cost in sums)
            yield f"left out: {count} lines {reason}: {shown}"


def parse_arguments(arguments: argparse.Namespace, cluster: Cluster) -> CostsRequest:
    """Return the arguments, checked.

    Raises
    ------
    OptionError
        A value is invalid; the message says which.
    """
    by = _words(arguments.by)
    if unknown := [name for name in by if name not in LINE_PARTS]:
        raise OptionError(f"--by: {unknown[0]!r} is none of {', '.join(LINE_PARTS)}")
    try:
        month = cells.month(arguments.month)
        currency = cells.currency(arguments.currency) if arguments.currency else ""
    except ValueError as error:
        raise OptionError(str(error)) from error
    return CostsRequest(
        arguments.file,
        BillFormat(cluster, currency, arguments.decimal or ""),
        Charging(by, _words(arguments.shared_namespaces)),
        month,
        arguments.shared,
        arguments.all_clusters,
    )


def report(ledger: Ledger, asked: CostsRequest) -> tuple[list[Row], bool]:
    """Charge a bill; return the rows of the report, and whether the ledger knows a cluster of it.

    Raises
    ------
    LNamespaceError
        The bill or the ledger cannot be read.
    """
    left, clusters = LeftOut(), set[Cluster]()
    with open_bill(asked.file) as text:
        lines = read_lines(text, asked.bill, asked.file)
        first = list(islice(lines, 1))  # Refuse a file that is no bill before the ledger is read.
        with progress("asking the ledger"):
            intervals = read_intervals(ledger, asked.cluster)
            intervals = assign_lclusters(intervals, asked.bill.cluster, asked.lclusters)
            tally = Tally(asked.charging, intervals)
        with progress(f"reading {asked.file}") as news, localcontext(EXACT):
            for line in _charged(chain(first, lines), asked, left, clusters):
                tally.add(line)
                if not tally.lines % _NEWS:
                    news(f"{tally.lines:,} lines")
            rows = _rows(tally.totals(), asked)
    for note in left.texts():
        print(f"note: {note}", file=sys.stderr)
    known = {cluster for cluster, _ in tally.intervals}
    return rows, not clusters or not known.isdisjoint(clusters)


def print_report(rows: list[Row], asked: CostsRequest, form: str, exact: bool) -> None:
    """Write the report to standard output."""
    parts = [column for name in asked.charging.by for column in LINE_PARTS[name][0]]
    costs = ("cost",) if asked.rule == "none" else ("own_cost", "shared_cost", "cost")
    write(rows, ("cost_center", "kind", *parts, "currency", *costs), form, exact)


def _charged(
    lines: Iterable[Line], asked: CostsRequest, left: LeftOut, clusters: set[Cluster]
) -> Iterator[Line]:
    starts, ends = _bounds(asked.month)
    for line in lines:
        if line.cluster is None:
            left.add("that are of no cluster", line)
            continue
        clusters.add(line.cluster)
        of_month = line.month == asked.month if line.month else starts <= line.start < ends
        if asked.month and not of_month:
            left.add("that are not of the month", line)
        elif asked.cluster and line.cluster != asked.cluster:
            left.add("of other clusters (--all-clusters)", line)
        else:
            yield line


def _bounds(month: str) -> tuple[int, int]:
    if not month:
        return 0, 0
    year, number = int(month[:4]), int(month[4:])
    following = (year + 1, 1) if number == 12 else (year, number + 1)
    first, last = (datetime(y, m, 1, tzinfo=UTC) for y, m in ((year, number), following))
    return microseconds(first), microseconds(last)


def _rows(totals: Totals, asked: CostsRequest) -> list[Row]:
    """Return the rows of the report, by currency, and the highest cost first."""
    charges = distribute(totals, asked.rule)
    names = [column for name in asked.charging.by for column in LINE_PARTS[name][0]]
    rows: list[Row] = []
    for key, charge in sorted(charges.items(), key=lambda one: (one[0][0], -one[1].cost, one[0])):
        by: Mapping[str, Any] = dict(zip(names, key.by, strict=True))
        rows.append(
            {
                "cost_center": key.cost_center,
                "kind": key.kind,
                **by,
                "currency": key.currency,
                "own_cost": charge.own,
                "shared_cost": charge.shared,
                "cost": charge.cost,
            }
        )
    return rows


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
