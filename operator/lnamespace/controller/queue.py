"""A work queue with the semantics of client-go's, which makes the controller level-triggered.

A key that is added ten times is processed once. No two workers process a key at the same time. A
key that is added while it is processed is queued again afterwards. A key that failed is queued
again after a delay that doubles with each failure. A reconcile returns a :class:`RequeueResult`.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from lnamespace.errors import ClusterError
from lnamespace.kube.backoff import Backoff

REMEMBERED_SECONDS = 60.0
"""How long a closed queue remembers a key: longer than until there is a leader again."""

REMEMBERED_KEYS = 1000
"""The most keys that a closed queue remembers."""

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """A queue of keys for the workers; ``urgent`` keys do not wait for the others.

    ``waited`` is called with the seconds that each key waited for a worker.
    For one event loop; not thread-safe.
    """

    def __init__(
        self,
        backoff: Backoff | None = None,
        urgent: Callable[[K], bool] = lambda _: False,
        waited: Callable[[float], object] = lambda _: None,
    ) -> None:
        self._backoff = backoff or Backoff()
        self._is_urgent = urgent
        self._waited = waited
        self._urgent: deque[K] = deque()
        self._ready: deque[K] = deque()
        self._dirty: dict[K, float] = {}
        """The queued keys, and since when they have been due."""
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._remembered: dict[K, float] = {}
        """Keys that were added while the queue was closed, and when; the oldest first."""
        self._remembers = False
        self._wakeup = asyncio.Event()
        self._taken = asyncio.Event()
        self.closed = False

    def __len__(self) -> int:
        return len(self._urgent) + len(self._ready)

    def close(self) -> None:
        """Ignore keys until :meth:`open`: they would pile up in a process without workers."""
        self.closed = True

    def remember(self) -> None:
        """Remember from now on which keys are added while the queue is closed.

        Call it when the caches are complete: the objects of the first list have not changed.
        """
        self._remembers = True

    def open(self) -> None:
        """Accept keys from now on, after those that were added in the last minute."""
        self.closed = self._remembers = False
        self._forget_old()
        remembered, self._remembered = self._remembered, {}
        for key in remembered:
            self.add(key)

    def add(self, key: K) -> None:
        """Queue a key for the next free worker."""
        if self.closed:
            if self._remembers:
                self._remembered.pop(key, None)
                self._remembered[key] = time.monotonic()
                self._forget_old()
            return
        self._cancel(key)
        if key in self._dirty:
            return
        self._dirty[key] = time.monotonic()
        if key not in self._working:
            self._enqueue(key)

    def add_after(self, key: K, delay: float) -> None:
        """Queue a key in ``delay`` seconds, or earlier if it is due earlier already."""
        if self.closed or (key in self._dirty and key not in self._working):
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= loop.time() + delay:
            return
        self._cancel(key)
        self._timers[key] = loop.call_later(delay, self.add, key)

    def retry(self, key: K, at_least: float = 0.0, longest: float | None = None) -> None:
        """Queue a key that failed after a delay that grows with each failure in a row."""
        self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, max(at_least, self._backoff.delay(self._failures[key], longest)))

    def failures(self, key: K) -> int:
        """Return how many times in a row the key has failed."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """Forget the failures of a key that succeeded: the next delay is the shortest again."""
        self._failures.pop(key, None)

    def retry_now(self) -> None:
        """Retry all failed keys now and reset their delays, after an outage has ended."""
        failed, self._failures = self._failures, {}
        for key in failed:
            if key in self._timers:
                self.add(key)

    async def get(self, *, urgent: bool = False) -> K:
        """Return the next key, once there is one; give it back by :meth:`done`.

        A worker that asks for ``urgent`` keys only is free for them while all others are busy.
        """
        while not (self._urgent or (self._ready and not urgent)):
            self._wakeup.clear()
            await self._wakeup.wait()
        key = (self._urgent or self._ready).popleft()
        self._waited(time.monotonic() - self._dirty.pop(key))
        self._working.add(key)
        self._taken.set()
        return key

    async def wait_below(self, most: int) -> None:
        """Wait until at most ``most`` keys are queued."""
        while len(self) > most:
            self._taken.clear()
            await self._taken.wait()

    def done(self, key: K) -> None:
        """Note that a worker has processed the key; queue it again if it was added meanwhile."""
        self._working.discard(key)
        if key in self._dirty:
            self._enqueue(key)

    def _enqueue(self, key: K) -> None:
        lane = self._urgent if self._is_urgent(key) else self._ready
        lane.append(key)
        self._wakeup.set()

    def _forget_old(self) -> None:
        oldest = time.monotonic() - REMEMBERED_SECONDS
        while self._remembered:
            key = next(iter(self._remembered))
            if self._remembered[key] >= oldest and len(self._remembered) <= REMEMBERED_KEYS:
                return
            del self._remembered[key]

    def _cancel(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


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
