"""Delays between retries."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """An exponential backoff with jitter; all times in seconds."""

    first: float = 0.05
    longest: float = 30.0

    def delay(self, failures: int, longest: float | None = None) -> float:
        """Return the delay after a number of failures in a row, half of it random."""
        grown = self.first * 2.0 ** min(failures - 1, 32)
        return min(grown, longest or self.longest) * random.uniform(0.5, 1)
