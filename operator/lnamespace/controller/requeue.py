"""The outcome of a reconcile: failures, and when to reconcile again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.errors import ClusterError

FAILURES_BEFORE_STATUS = 3
"""Retryable failures in a row that are not written into the status."""


@dataclass(frozen=True)
class RequeueResult:
    """The failures of a reconcile, and the time at which the desired objects change next.

    It is a value and not an exception: an entry must expire on time even while other parts of its
    LNamespace fail.
    """

    failures: Sequence[ClusterError] = ()
    requeue_at: datetime | None = None

    @property
    def decisive_failure(self) -> ClusterError | None:
        """Return the failure that decides about the retry: a retryable one if there is one."""
        return min(self.failures, key=lambda failure: not failure.retryable, default=None)
