"""A batch into the ledger, so that one bad row does not stop the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lnamespace.errors import RowsRefused
from lnamespace.ledger.database.ledger import Row

REFUSED_MAX = 8
"""So many rows refused one after the other, and none taken: it may not be the rows.

The others of the batch are not tried now, for each is a statement; neither do they wait for these.
"""

Append = Callable[[Sequence[Row]], int]


@dataclass(frozen=True)
class Delivery:
    """What became of a batch: event ids that are in the ledger now, and those it refuses.

    ``new`` is how many of the former were not there before. ``hopeless``: what is in neither was
    not tried.
    """

    delivered: tuple[str, ...] = ()
    new: int = 0
    refused: tuple[tuple[str, RowsRefused], ...] = ()

    @property
    def hopeless(self) -> bool:
        """Whether nothing was taken of so many that the database may refuse whatever it gets."""
        return len(self.refused) >= REFUSED_MAX and not self.delivered

    def __add__(self, other: "Delivery") -> "Delivery":
        return Delivery(
            self.delivered + other.delivered,
            self.new + other.new,
            self.refused + other.refused,
        )


def deliver(append: Append, rows: Sequence[Row]) -> Delivery:
    """Append rows, by halves where a batch is refused, down to the bad ones.

    Raises
    ------
    LedgerError
        The database cannot be written now. What has been written before it failed is there,
        and does no harm when it is sent again.
    """
    return _deliver(append, rows, Delivery())


def _deliver(append: Append, rows: Sequence[Row], before: Delivery) -> Delivery:
    if before.hopeless:
        return before
    try:
        new = append(rows)
    except RowsRefused as error:
        if len(rows) > 1:
            middle = len(rows) // 2
            return _deliver(append, rows[middle:], _deliver(append, rows[:middle], before))
        return before + Delivery(refused=((rows[0]["event_id"], error),))
    return before + Delivery(tuple(row["event_id"] for row in rows), new)
