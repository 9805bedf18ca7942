"""How many objects to ask for at once: a list page is bounded in bytes as well as by count."""

from dataclasses import dataclass

FIRST = 50
MOST = 1000
BYTES = 2 * 2**20
"""The size of a page, which must arrive in time and is in memory as a whole."""
_GROWTH = 4


@dataclass
class PageSize:
    """The ``limit`` of the next page, by the sizes of those before.

    The API server bounds a page by count alone, and one object may have a megabyte: 1,000 of
    750 KB did not arrive in 30 s, and would not have fitted into the memory of the process.
    """

    limit: int = FIRST

    def arrived(self, size: int) -> None:
        """Note how many bytes a page of ``limit`` objects had."""
        fitting = self.limit * BYTES // max(size, 1)
        self.limit = max(1, min(fitting, self.limit * _GROWTH, MOST))

    def failed(self) -> None:
        """Note that a page did not come; it may have been too large."""
        self.limit = max(1, self.limit // 2)
