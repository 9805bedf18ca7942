"""How long to wait before the next try."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """How long to wait before the next try, in seconds."""

    first: float = 0.05
    longest: float = 30.0

    def delay(self, failures: int, longest: float | None = None) -> float:
        """The delay after so many failures in a row, with jitter of a half."""
        grown = self.first * 2.0 ** min(failures - 1, 32)
        return min(grown, longest or self.longest) * random.uniform(0.5, 1)
