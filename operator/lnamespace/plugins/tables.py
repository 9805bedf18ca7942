"""Tables as kubectl prints them: upper-case headers, three spaces, no space at the end."""

from __future__ import annotations

from unicodedata import east_asian_width

from lnamespace.plugins.terminal import printable
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 3


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as text; every cell has its control characters escaped first."""
    return "".join(f"{line}\n" for line in Layout((header, *rows)).lines)


class Layout:
    """Columns as wide as the first rows need, for rows that follow one by one."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        cells = [[printable(cell) for cell in row] for row in rows]
        self._widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        self.lines = [self.line(row) for row in rows]

    def line(self, row: Sequence[str]) -> str:
        """One row; a cell that is too wide moves the rest of its row."""
        return _line([printable(cell) for cell in row], self._widths)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (max(wide - width(cell), 0) + GAP)
        for cell, wide in zip(row, widths, strict=True)
    )
    return "".join(padded).rstrip()


def width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
