"""Words on a terminal: nothing from a server moves the cursor, and colour only where it helps."""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

RED, GREEN, YELLOW = "31", "32", "33"


def printable(text: str) -> str:
    """The text with control, bidirectional and other invisible characters written as escapes.

    User names and messages come from the cluster; one with an escape sequence in it could rewrite
    what the reader sees of the lines around it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def printable_lines(text: str) -> str:
    """Like `printable`, for text of several lines: line feeds stay, tabs become spaces."""
    return "\n".join(printable(line.expandtabs()) for line in text.split("\n"))


def colours(stream: TextIO) -> bool:
    """Whether colour helps: a terminal that can, and nobody said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, enabled: bool) -> str:
    """The text in a colour, or as it is."""
    return f"\x1b[{colour}m{text}\x1b[0m" if enabled else text


def say(message: str) -> None:
    """A line for the reader, not for a pipe."""
    print(message, file=sys.stderr, flush=True)


class Progress:
    """One line that rewrites itself on a terminal, and nothing at all anywhere else."""

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
        """Leave the line empty for whatever is printed next."""
        if self._enabled:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
