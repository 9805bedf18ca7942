"""A batch into the ledger, so that one bad row does not stop the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lnamespace.billing.ledger import Row
from lnamespace.errors import LedgerMisconfigured, RowsRefused

HOPELESS = 8
"""So many rows refused one after the other, and none taken: it is not the rows."""

Append = Callable[[Sequence[Row]], int]


@dataclass(frozen=True)
class Delivery:
    """What became of a batch: event ids that are in the ledger now, and those it refuses.

    ``new`` is how many of the former were not there before.
    """

    delivered: tuple[str, ...] = ()
    new: int = 0
    refused: tuple[tuple[str, RowsRefused], ...] = ()

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
    try:
        new = append(rows)
    except RowsRefused as error:
        if len(rows) > 1:
            middle = len(rows) // 2
            return _deliver(append, rows[middle:], _deliver(append, rows[:middle], before))
        after = before + Delivery(refused=((rows[0]["event_id"], error),))
        if len(after.refused) >= HOPELESS and not after.delivered:
            raise LedgerMisconfigured(f"the database refuses every row: {error}") from error
        return after
    return before + Delivery(tuple(row["event_id"] for row in rows), new)
