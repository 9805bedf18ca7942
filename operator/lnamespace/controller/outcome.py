"""What came of working on a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.errors import ClusterError

PATIENCE = 3
"""So many failures in a row that should pass by themselves are not worth a status."""


@dataclass(frozen=True)
class Outcome:
    """What could not be done, and when time alone will change what should be.

    A value and no exception: an entry that expires must do so at its second even while something
    else about its LNamespace fails.
    """

    failures: Sequence[ClusterError] = ()
    changes_at: datetime | None = None

    @property
    def worst(self) -> ClusterError | None:
        """The failure to act upon: one that waiting can help, if there is one."""
        return min(self.failures, key=lambda failure: not failure.retryable, default=None)
