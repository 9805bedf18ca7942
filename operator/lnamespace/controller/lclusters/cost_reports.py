"""Costs of LClusters, by reports that the platform puts into a directory.

A report is what ``lnamespace ledger costs --by lcluster -o json`` prints, in a file that is named
by its month: ``2026-10.json``. So neither the controller nor the gateway needs the database or the
bill. In a cluster the directory is a mounted ConfigMap.

A report that cannot be read is ignored: the last good report of that month counts.
"""

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import msgspec

from lnamespace.files.changing import ChangingFile

POLL_SECONDS = 5.0
"""Seconds between two checks whether a report has changed, with one ``stat`` of each."""

_NAME = re.compile(r"([0-9]{4}-(?:0[1-9]|1[0-2]))\.json")

log = logging.getLogger(__name__)


class _Row(msgspec.Struct, frozen=True):
    cost: Decimal
    cost_center: str = ""
    currency: str = ""
    lcluster_uid: str = ""


_rows = msgspec.json.Decoder(list[_Row])


@dataclass(frozen=True, order=True)
class LClusterCost:
    """The cost of one LCluster to one payer in a month."""

    month: str
    cost_center: str
    currency: str
    cost: Decimal


Costs = Mapping[str, tuple[LClusterCost, ...]]
"""The costs of each LCluster by its UID, which differs for a later LCluster of its name."""


@dataclass
class CostReports:
    """The reports in a directory; without a path there are none."""

    path: str = ""
    _files: dict[str, ChangingFile] = field(default_factory=dict)
    _months: dict[str, Costs] = field(default_factory=dict)

    def costs_for(self, uid: str) -> tuple[LClusterCost, ...]:
        """Return the costs of an LCluster, the latest month first."""
        months = (self._months[month] for month in sorted(self._months, reverse=True))
        return tuple(cost for costs in months for cost in costs.get(uid, ()))

    async def run(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Poll the directory for ever; await ``changed`` when a report has changed."""
        while self.path:
            if self.refresh():
                await changed()
            await asyncio.sleep(POLL_SECONDS)

    def refresh(self) -> bool:
        """Read the reports whose files have changed; return whether any report has."""
        if not self.path:
            return False
        before = dict(self._months)
        named = {found[1]: each for each in _listed(self.path) if (found := _NAME.fullmatch(each))}
        for month in [each for each in self._months if each not in named]:
            del self._months[month], self._files[month]
        for month, name in named.items():
            self._read(month, Path(self.path) / name)
        return self._months != before

    def _read(self, month: str, path: Path) -> None:
        file = self._files.setdefault(month, ChangingFile(path))
        try:
            content = file.changed()
            if content is not None:
                self._months[month] = decode_report(month, content)
        except (OSError, msgspec.MsgspecError) as error:
            about = {"file": str(path), "error": str(error)}
            log.warning("a report of costs cannot be used", extra=about)


def decode_report(month: str, content: bytes) -> Costs:
    """Return the costs of a report; rows of no LCluster are left out.

    Raises
    ------
    MsgspecError
        The content is not a report.
    """
    sums: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    for row in _rows.decode(content):
        if row.lcluster_uid:
            sums[row.lcluster_uid, row.cost_center, row.currency] += row.cost
    found: dict[str, list[LClusterCost]] = defaultdict(list)
    for (uid, cost_center, currency), cost in sums.items():
        found[uid].append(LClusterCost(month, cost_center, currency, cost))
    return {uid: tuple(sorted(costs)) for uid, costs in found.items()}


def _listed(path: str) -> Iterable[str]:
    try:
        return sorted(each.name for each in Path(path).iterdir())
    except OSError:
        return ()
