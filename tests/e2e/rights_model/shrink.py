"""Makes a play that fails shorter, for as long as it still fails."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrunk(steps: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Steps that fail still, of which none of the pieces tried can be left out.

    Halves first, then ever smaller pieces down to single steps (Zeller's ddmin, complements only).
    ``fails`` may say no when it has had enough.
    """
    kept, size = list(steps), max(1, len(steps) // 2)
    while True:
        for start in reversed(range(0, len(kept), size)):
            shorter = kept[:start] + kept[start + size :]
            if shorter and fails(shorter):
                kept = shorter
        if size == 1:
            return kept
        size = max(1, size // 2)
