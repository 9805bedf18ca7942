"""Write a batch of rows, so that one bad row does not stop the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lnamespace.errors import RowsRefused
from lnamespace.ledger.database.rows import Row

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
