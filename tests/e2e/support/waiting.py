"""Waiting for conditions, never for time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds; enough for a machine with ten times as much to do. Latencies are measured elsewhere."""

_TICK = 0.01
_LONGEST_TICK = 0.2
_PART, _MEASURED_PART = 0.1, 0.05
"""The part of the time waited so far that is waited until the next poll."""


def eventually(
    condition: Callable[[], T],
    deadline: float = PATIENCE,
    what: str = "",
    tick: float = _TICK,
    part: float = _PART,
) -> T:
    """Poll until the condition is true or its assertions hold; return what it returned.

    The longer it takes, the longer the pauses: several tests that wait must not load the machine.
    """
    started = time.monotonic()
    while True:
        doubt: AssertionError | None = None
        try:
            if found := condition():
                return found
        except AssertionError as error:
            doubt = error
        waited = time.monotonic() - started
        if waited > deadline:
            told = f": {doubt}" if doubt else ""
            raise AssertionError(f"{what or 'not so'} after {deadline:g} s{told}") from doubt
        time.sleep(max(tick, min(waited * part, _LONGEST_TICK)))


def measured(
    condition: Callable[[], object], deadline: float = PATIENCE, what: str = "", tick: float = _TICK
) -> float:
    """Return the seconds until the condition was true."""
    started = time.monotonic()
    eventually(condition, deadline, what, tick, _MEASURED_PART)
    return time.monotonic() - started


def settled(
    look: Callable[[], T], span: float = 1.0, deadline: float = PATIENCE, tick: float = 0.1
) -> T:
    """Return a value once it has not changed for ``span`` seconds."""
    last, since = look(), time.monotonic()

    def same() -> bool:
        nonlocal last, since
        if (now := look()) != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since >= span

    eventually(same, deadline, "still changing", tick)
    return last


class Measurements:
    """The measurements of this session, shown at its end."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def note(self, what: str, seconds: float) -> None:
        """Record one measurement."""
        self.seconds.setdefault(what, []).append(seconds)

    def lines(self) -> list[str]:
        """Return a line for each measurement: how often, the median, and the worst."""
        return [
            f"{what:<58} n={len(values):<4} median {_middle(values) * 1000:6.0f} ms"
            f"   worst {max(values) * 1000:6.0f} ms"
            for what, values in sorted(self.seconds.items())
        ]


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
