"""What the tool says: progress on stderr, and errors that end in one sentence."""

import sys
from pathlib import Path


class ClusterError(Exception):
    """The command cannot go on; the text tells the person at the terminal what to do."""


def say(text: str) -> None:
    """Print progress; stdout stays free for what a script reads."""
    print(text, file=sys.stderr, flush=True)


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, indented, to show beside the error they explain."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return "    (no log was written)"
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


class Heartbeat:
    """A sign of life of a long job: one line rewritten on a terminal, a line at times in a pipe."""

    PIPE_INTERVAL = 30.0

    def __init__(self, what: str) -> None:
        self._what = what
        self._terminal = sys.stderr.isatty()
        self._last = 0.0

    def beat(self, elapsed: float) -> None:
        """Call about every second with the seconds since the job began."""
        if self._terminal:
            print(f"\r  {self._what} ... {elapsed:.0f} s", end="", file=sys.stderr, flush=True)
        elif elapsed - self._last >= self.PIPE_INTERVAL:
            self._last = elapsed
            say(f"  {self._what} ... {elapsed:.0f} s")

    def done(self, elapsed: float, outcome: str = "done") -> None:
        """End the line."""
        start = "\r" if self._terminal else ""
        say(f"{start}  {self._what}: {outcome} in {elapsed:.0f} s")
