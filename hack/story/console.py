"""How the story looks: coloured on a terminal, plain elsewhere."""

import os
import shutil
import sys
import textwrap
from typing import TextIO

BOLD, DIM, RED, GREEN, CYAN = "1", "2", "31", "32", "36"


class Console:
    """A writer to one stream; colours are used if it is a terminal and NO_COLOR is not set."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._coloured = (
            stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        self._width = min(shutil.get_terminal_size().columns, 100)

    def title(self, text: str) -> None:
        """Print the title of the next part."""
        self._write("", self._paint(text, BOLD))

    def note(self, text: str) -> None:
        """Print which preparations are under way."""
        self._write(self._paint(text, DIM))

    def expectation(self, number: int, text: str) -> None:
        """Print the number and the description of the next step."""
        self._write("", textwrap.fill(f"{number}. {text}", self._width, subsequent_indent="   "))

    def command(self, who: str, line: str) -> None:
        """Print a command as a person types it."""
        self._write(f"   {self._paint(who + '$', CYAN)} {self._paint(line, BOLD)}")

    def output(self, text: str) -> None:
        """Print the output of a command."""
        for line in text.splitlines():
            self._write(f"   {line}".rstrip())

    def as_told(self, seconds: float) -> None:
        """Print that the step went as told."""
        self._write(f"   {self._paint('✔', GREEN)} {self._paint(f'{seconds:.1f} s', DIM)}")

    def not_as_told(self, reason: str) -> None:
        """Print that the step did not go as told."""
        self._write(f"   {self._paint('✘ not as told: ' + reason, RED)}")

    def verdict(self, text: str, *, good: bool) -> None:
        """Print the result of the whole story."""
        self._write("", self._paint(("✔ " if good else "✘ ") + text, GREEN if good else RED))

    def text(self, text: str) -> None:
        """Print any other text, unchanged."""
        self._write(text)

    def _paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._coloured else text

    def _write(self, *lines: str) -> None:
        for line in lines:
            print(line, file=self._stream, flush=True)
