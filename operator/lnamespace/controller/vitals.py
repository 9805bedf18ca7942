"""Whether the controller lives: what only a restart could mend, and what no restart mends."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lnamespace.kube.reflector import Pulse

STUCK_WATCH = 300.0
"""Seconds; every request of a watch ends, well or not, in a third of that."""

STUCK_WORKER = 600.0
"""Seconds; so long can a reconcile take where every request waits until its time is over."""

SILENCE = 180.0
"""Seconds without news of a kind after which what is known of it may be wrong."""


@dataclass(frozen=True)
class Sign:
    """How the watch of a resource is: whether everything was listed, and when it last did what."""

    resource: str
    synced: bool
    pulse: Pulse


@dataclass(frozen=True)
class Vitals:
    """``busy`` tells since when each worker has worked on what it works on."""

    signs: Callable[[], Iterable[Sign]]
    busy: Callable[[], Iterable[float]]
    clock: Callable[[], float] = time.monotonic

    def dead(self) -> str | None:
        """What only a restart can mend.

        That the API server does not answer is nothing of the kind: when it is back, a controller
        that was started again and again would be late.
        """
        now = self.clock()
        for sign in self.signs():
            if now - sign.pulse.tried > STUCK_WATCH:
                return f"the watch of {sign.resource} is stuck"
        if any(now - since > STUCK_WORKER for since in self.busy()):
            return "a worker is stuck"
        return None

    def unready(self) -> str | None:
        """Why what is known of the cluster may be wrong. A standby that knows all is ready."""
        now = self.clock()
        for sign in self.signs():
            if not sign.synced:
                return f"{sign.resource} have not been listed"
            if (silence := now - sign.pulse.heard) > SILENCE:
                return f"nothing was heard of {sign.resource} for {silence:.0f} seconds"
        return None
