"""Limit how long Kubernetes and the platform wait for the webhooks of one tenant.

Each of Kubernetes' controllers writes for all tenants with a few workers. A webhook that hangs
holds the worker that waits for it, and with the workers everybody's writes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lnamespace.translate.protocol.status import ApiStatus, Refused

MOST_SECONDS = 5.0
"""The longest wait of one write that is not the tenant's, and of one conversion, in seconds."""


@dataclass(frozen=True)
class WaitLimits:
    """The limits of the requests that wait for the webhooks of one tenant.

    Parameters
    ----------
    free
        How many may wait all the time.
    burst
        Seconds that further ones may wait together.
    """

    free: int
    burst: float


WRITES = WaitLimits(1, 10.0)
"""A ReplicaSet has hundreds of pods created at once, and a webhook that answers has to be asked
about each."""
CONVERSIONS = WaitLimits(4, 60.0)
"""The API server has the objects of a list converted one after the other, for each list: a thousand
take some seconds. Kubernetes' garbage collector reads with twenty workers."""


@dataclass
class _Wait:
    """The requests that wait for a tenant, and the seconds beyond the free ones, at a time."""

    limits: WaitLimits
    since: float
    running: int = 0
    used: float = 0.0

    @property
    def exhausted(self) -> bool:
        """Return whether no further request may wait."""
        return self.running >= self.limits.free and self.used >= self.limits.burst

    def advance(self, now: float) -> None:
        """Count the seconds until now; while fewer than ``free`` requests wait, the count falls."""
        used = self.used + (self.running - self.limits.free) * (now - self.since)
        self.used, self.since = min(max(used, 0.0), self.limits.burst), now


class ReviewWaits:
    """The waits of others for the webhooks of each tenant."""

    def __init__(
        self, limits: WaitLimits = WRITES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._now = now
        self._waits: dict[str, _Wait] = {}

    @contextmanager
    def waiting(self, tenant: str) -> Iterator[None]:
        """Count a request for as long as it waits for a webhook of a tenant.

        Raises
        ------
        Refused
            Requests have waited long enough for this tenant. The API server takes it for a webhook
            that does not answer: for a write its ``failurePolicy`` decides.
        """
        wait = self._waits.setdefault(tenant, _Wait(self._limits, self._now()))
        wait.advance(self._now())
        if wait.exhausted:
            message = "the webhooks of the LCluster hold up too many requests of Kubernetes"
            raise Refused(ApiStatus(504, "Timeout", message, {}))
        wait.running += 1
        try:
            yield
        finally:
            wait.advance(self._now())
            wait.running -= 1
            if not (wait.running or wait.used):
                self._waits.pop(tenant, None)
