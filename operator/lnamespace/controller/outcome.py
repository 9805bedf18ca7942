"""The outcome of a reconcile: failures, and when to reconcile again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.errors import ClusterError

PATIENCE = 3
"""So many failures in a row that should pass by themselves are not worth a status."""


@dataclass(frozen=True)
class Outcome:
    """The failures of a reconcile, and when time alone will change what should be.

    A value and no exception: an entry that expires must do so at its second even while something
    else about its LNamespace fails.
    """

    failures: Sequence[ClusterError] = ()
    changes_at: datetime | None = None

    @property
    def worst(self) -> ClusterError | None:
        """Return the failure that decides about the retry: a retryable one if there is one."""
        return min(self.failures, key=lambda failure: not failure.retryable, default=None)
