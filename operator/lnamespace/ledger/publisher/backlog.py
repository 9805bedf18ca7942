"""The records that the publisher is yet to write, in its order, and the writing of a batch."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from lnamespace.errors import RowsRefused
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.objects import Key
from lnamespace.ledger.database.table import Row
from lnamespace.ledger.outbox.client import QueuedRecord

PARKING = Backoff(first=60.0, longest=3600.0)
"""The time for which a refused record is not tried, longer each time."""

log = logging.getLogger(__name__)


class Backlog:
    """A queue of records, the oldest first. A refused record is parked and tried again later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Key, QueuedRecord] = {}
        self._heap: list[tuple[int, tuple[float, int, str], Key]] = []
        """Sorted by refusals first: no new record waits for one that is always refused."""
        self._refusals: dict[Key, list[str]] = {}
        """The errors of each record that was refused and not written since."""
        self._aside: dict[Key, float] = {}
        """Until when a parked record is not tried, by the clock."""
        self.arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def waiting(self) -> int:
        """Return the number of records that are ready to be written."""
        return len(self._heap)

    @property
    def parked(self) -> Mapping[str, str]:
        """Return the error of each record that cannot be written or read, by name."""
        unreadable = {key[1]: one.problem for key, one in self._known.items() if one.problem}
        return unreadable | {key[1]: errors[-1] for key, errors in self._refusals.items()}

    def changed(self, old: QueuedRecord | None, new: QueuedRecord | None) -> None:
        """Handle a change of the outbox; a listener of its store."""
        if new is not None:
            self._known[new.key] = new
            if new.problem:
                about = {"record": new.key[1], "error": new.problem}
                log.error("a record cannot be read; it is left in the outbox", extra=about)
            elif new.key not in self._aside:
                self._push(new)
        elif old is not None:
            self._known.pop(old.key, None)
            self._refusals.pop(old.key, None)
            self._aside.pop(old.key, None)

    def take(self, most: int) -> list[QueuedRecord]:
        """Return the next records to write, ``most`` at most; each is taken once.

        A record counts as in the backlog until its object is deleted.
        """
        taken: dict[Key, QueuedRecord] = {}
        while self._heap and len(taken) < most:
            key = heappop(self._heap)[-1]
            if key in self._known and key not in self._aside:
                taken[key] = self._known[key]
        if not self._heap:
            self.arrived.clear()
        return list(taken.values())

    def give_back(self, items: Iterable[QueuedRecord]) -> None:
        """Queue records again that could not be written."""
        for item in items:
            if item.key in self._known:
                self._push(item)

    def park(self, item: QueuedRecord, error: str) -> None:
        """Park a record that the database refused, for longer each time."""
        if item.key in self._known:
            errors = self._refusals.setdefault(item.key, [])
            errors.append(error)
            self._aside[item.key] = self._clock() + PARKING.delay(len(errors))

    def accepted(self, items: Iterable[QueuedRecord]) -> None:
        """Forget the refusals of records that are written, and retry all other parked records.

        The problem of a database that accepts a record which it refused before may be solved.
        """
        refused = [item.key for item in items if item.key in self._refusals]
        for key in refused:
            del self._refusals[key]
        if refused:
            self.unpark(everything=True)

    def unpark(self, everything: bool = False) -> None:
        """Queue the records that were parked for long enough, or all of them."""
        now = self._clock()
        for key in [key for key, until in self._aside.items() if everything or until <= now]:
            del self._aside[key]
            self._push(self._known[key])

    def oldest(self) -> float | None:
        """Return when the oldest record was made, in seconds since 1970; None if there is none."""
        return min((item.rank[0] for item in self._known.values()), default=None)

    def _push(self, item: QueuedRecord) -> None:
        refused = len(self._refusals.get(item.key, ()))
        heappush(self._heap, (refused, item.rank, item.key))
        self.arrived.set()


REFUSED_MAX = 8
"""Rows of a batch that are refused, while none is written, after which the others are not tried.

The rows may not be at fault, and each further row is a statement.
"""

Append = Callable[[Sequence[Row]], int]


@dataclass(frozen=True)
class Delivery:
    """The result of a batch.

    Attributes
    ----------
    delivered
        The ids of the events that are in the ledger now.
    new
        How many of these were not there before.
    refused
        The ids of the events that the database refused, with its errors. Events in neither were not
        tried; see :attr:`all_refused`.
    """

    delivered: tuple[str, ...] = ()
    new: int = 0
    refused: tuple[tuple[str, RowsRefused], ...] = ()

    @property
    def all_refused(self) -> bool:
        """Return whether the rest was not tried because all of the first rows were refused."""
        return len(self.refused) >= REFUSED_MAX and not self.delivered

    def __add__(self, other: "Delivery") -> "Delivery":
        return Delivery(
            self.delivered + other.delivered,
            self.new + other.new,
            self.refused + other.refused,
        )


def deliver(append: Append, rows: Sequence[Row]) -> Delivery:
    """Append rows; halve a batch that is refused, down to the bad rows.

    Raises
    ------
    LedgerError
        The database cannot be written now. Rows that were written before may be sent again: they
        are ignored.
    """
    return _deliver(append, rows, Delivery())


def _deliver(append: Append, rows: Sequence[Row], before: Delivery) -> Delivery:
    if before.all_refused:
        return before
    try:
        new = append(rows)
    except RowsRefused as error:
        if len(rows) > 1:
            middle = len(rows) // 2
            return _deliver(append, rows[middle:], _deliver(append, rows[:middle], before))
        return before + Delivery(refused=((rows[0]["event_id"], error),))
    return before + Delivery(tuple(row["event_id"] for row in rows), new)
