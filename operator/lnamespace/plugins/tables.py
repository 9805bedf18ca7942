"""Tables as kubectl prints them: upper-case headers, three spaces, no space at the end."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from lnamespace.plugins.terminal import printable

GAP = 3


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as text; every cell has its control characters escaped first."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return "".join(f"{_line(row, widths)}\n" for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (wide - width(cell) + GAP) for cell, wide in zip(row, widths, strict=True)
    )
    return "".join(padded).rstrip()


def width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
