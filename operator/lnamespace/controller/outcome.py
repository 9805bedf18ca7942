"""The outcome of a reconcile: failures, and when to reconcile again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.errors import ClusterError

PATIENCE = 3
"""Retryable failures in a row that are not written into the status."""


@dataclass(frozen=True)
class Outcome:
    """The failures of a reconcile, and the time at which the desired objects change next.

    It is a value and not an exception: an entry must expire on time even while other parts of its
    LNamespace fail.
    """

    failures: Sequence[ClusterError] = ()
    changes_at: datetime | None = None

    @property
    def worst(self) -> ClusterError | None:
        """Return the failure that decides about the retry: a retryable one if there is one."""
        return min(self.failures, key=lambda failure: not failure.retryable, default=None)
