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
"""The longest wait of one write, in seconds."""
_FREE = 1
"""The writes that may wait for one tenant all the time."""
_BURST = 10.0
"""Seconds that further writes may wait together: a ReplicaSet has hundreds of pods created at once,
and a webhook that answers has to be asked about each."""


@dataclass
class _Wait:
    """The writes that wait for a tenant, and the seconds beyond the free ones, at a time."""

    since: float
    running: int = 0
    used: float = 0.0

    def advance(self, now: float) -> None:
        """Count the seconds until now; those in which fewer wait give some back."""
        used = self.used + (self.running - _FREE) * (now - self.since)
        self.used, self.since = min(max(used, 0.0), _BURST), now


class ReviewWaits:
    """The waits of others' writes for the webhooks of each tenant."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._waits: dict[str, _Wait] = {}

    @contextmanager
    def waiting(self, tenant: str) -> Iterator[None]:
        """Count a write for as long as it waits for a webhook of a tenant.

        Raises
        ------
        Refused
            Such writes have waited long enough for this tenant. The API server takes it for a
            webhook that does not answer: the webhook's ``failurePolicy`` decides.
        """
        wait = self._waits.setdefault(tenant, _Wait(self._now()))
        wait.advance(self._now())
        if wait.running >= _FREE and wait.used >= _BURST:
            message = "the webhooks of the LCluster hold up too many writes of Kubernetes"
            raise Refused(ApiStatus(504, "Timeout", message, {}))
        wait.running += 1
        try:
            yield
        finally:
            wait.advance(self._now())
            wait.running -= 1
            if not (wait.running or wait.used):
                self._waits.pop(tenant, None)
