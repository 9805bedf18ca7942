"""Liveness and readiness of the controller.

Liveness fails on a problem that only a restart solves. Readiness fails while the caches of the
cluster may be wrong.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lnamespace.kube.reflector import WatchActivity

STUCK_WATCH = 300.0
"""Seconds; every request of a watch ends, well or not, in a third of that."""

STUCK_WORKER = 600.0
"""Seconds; a reconcile takes as long if every request times out."""

SILENCE = 180.0
"""Seconds without a watch event or an answer after which the cache of a kind may be wrong."""


@dataclass(frozen=True)
class WatchHealth:
    """The state of the watch of one resource; ``synced``: its objects have been listed."""

    resource: str
    synced: bool
    activity: WatchActivity


@dataclass(frozen=True)
class Liveness:
    """The checks; ``busy`` returns since when each busy worker has worked on its key."""

    watches: Callable[[], Iterable[WatchHealth]]
    busy: Callable[[], Iterable[float]]
    clock: Callable[[], float] = time.monotonic

    def dead(self) -> str | None:
        """Return a problem that only a restart can solve, or None.

        An API server that does not answer is not a reason: a controller that is restarted again and
        again during an outage would be late after it.
        """
        now = self.clock()
        for watch in self.watches():
            if now - watch.activity.tried > STUCK_WATCH:
                return f"the watch of {watch.resource} is stuck"
        if any(now - since > STUCK_WORKER for since in self.busy()):
            return "a worker is stuck"
        return None

    def unready(self) -> str | None:
        """Return why the caches may be wrong, or None. A standby with full caches is ready."""
        now = self.clock()
        for watch in self.watches():
            if not watch.synced:
                return f"{watch.resource} have not been listed"
            if (silence := now - watch.activity.answered_at) > SILENCE:
                return f"nothing was heard of {watch.resource} for {silence:.0f} seconds"
        return None
