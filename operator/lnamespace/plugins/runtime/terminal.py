"""Text and tables on a terminal: nothing from a server moves the cursor."""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

RED, GREEN = "31", "32"


def printable(text: str) -> str:
    """Return the text with control, bidirectional and other invisible characters escaped.

    User names and messages come from the cluster; one with an escape sequence in it could rewrite
    what the reader sees of the lines around it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def printable_lines(text: str) -> str:
    """Escape as `printable` does, in text of several lines: line feeds stay, tabs become spaces."""
    return "\n".join(printable(line.expandtabs()) for line in text.split("\n"))


def colours(stream: TextIO) -> bool:
    """Return whether colour helps: a terminal that can, and nobody said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, enabled: bool) -> str:
    """Return the text in a colour, or unchanged."""
    return f"\x1b[{colour}m{text}\x1b[0m" if enabled else text


def say(message: str) -> None:
    """Print a line for the reader, not for a pipe."""
    print(message, file=sys.stderr, flush=True)


class Progress:
    """A line that is rewritten on a terminal, and not written anywhere else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._enabled = stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._enabled:
            width = _columns(self._stream) - 1
            self._stream.write(f"\r\x1b[K{printable(text)[:width]}")
            self._stream.flush()

    def clear(self) -> None:
        """Clear the line for whatever is printed next."""
        if self._enabled:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


GAP = 3
CELL_MAX = 64  # characters: one more than the longest name of an LNamespace


def shortened(text: str) -> str:
    """Return a text for a cell of a table; one that is too long is cut.

    A single cost center of 300 characters made every line of the table as wide.
    """
    shown = printable(text)
    return shown if len(shown) <= CELL_MAX else f"{shown[: CELL_MAX - 3]}..."


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as text; every cell has its control characters escaped first."""
    return "".join(f"{line}\n" for line in ColumnLayout((header, *rows)).lines)


class ColumnLayout:
    """The widths of columns, by the first rows, for rows that follow one by one."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        cells = [[printable(cell) for cell in row] for row in rows]
        self._widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        self.lines = [self.line(row) for row in rows]

    def line(self, row: Sequence[str]) -> str:
        """Return one row; a cell that is too wide moves the rest of its row."""
        return _line([printable(cell) for cell in row], self._widths)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (max(wide - width(cell), 0) + GAP)
        for cell, wide in zip(row, widths, strict=True)
    )
    return "".join(padded).rstrip()


def width(text: str) -> int:
    """Return the number of terminal columns of a text: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
