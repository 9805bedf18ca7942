"""Schedule the one thread fairly: count each tenant's use, and order the work of heavy tenants.

The gateway runs in one thread, in front of one API server. A tenant with a thousand requests would
take both from one with a single request. So the thread's time is counted for each tenant, in every
step of its requests between two points at which they wait. Steps of a tenant that uses little, or
that is alone, run at once. Steps of tenants that use much run in turns of a few milliseconds, the
tenant with the least use first, with rests in between: a request that arrives in a rest finds the
thread, and the API server, free.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from lnamespace.gateway.fairness.costs import seconds_for_body

R = TypeVar("R")

Clock = Callable[[], float]
"""A function that returns seconds."""

_REMEMBERED = 1000
"""Tenants and callers that are remembered before the idle ones are removed."""
_TURN = 0.002
"""Seconds of steps in one turn, and of the shortest rest."""
_NEW = 0.2
"""The weight of the latest step in the moving average of a tenant's steps."""


@dataclass(frozen=True)
class SchedulerLimits:
    """The use of the thread above which a tenant's steps wait for turns.

    Parameters
    ----------
    free
        The fraction of the thread that each tenant may use all the time.
    burst
        Seconds of the thread that it may use at once beyond that.
    most
        The most seconds that are counted: they decay in ``most / free`` seconds.
    shared
        The fraction of the time that all tenants whose steps wait for turns have together.
    recent
        For how many seconds after a step of another tenant a tenant does not count as alone.
    read
        Bytes of bodies that are read in a second, of a tenant whose steps wait for turns: more than
        the API server would store.
    """

    free: float = 0.1
    burst: float = 0.5
    most: float = 1.0
    shared: float = 0.2
    recent: float = 10.0
    read: float = 16 * 1024 * 1024


@dataclass(eq=False)
class ThreadUsage:
    """A tenant's use of the thread, and its steps that wait for turns.

    Parameters
    ----------
    used
        Seconds of the thread beyond the free fraction, at the time ``since``.
    users
        The number of its requests under way.
    step
        The moving average of its steps, in seconds.
    turned
        Seconds of its turns, at least those of the others when it began to wait: the tenant with
        the least has the next turn.
    reads_at
        The time at which more of its bodies is read.
    """

    used: float = 0.0
    since: float = 0.0
    users: int = 0
    step: float = _TURN
    turned: float = 0.0
    reads_at: float = 0.0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class FairScheduler:
    """A scheduler that counts each tenant's use of the thread, and delays those that use much."""

    def __init__(
        self,
        limits: SchedulerLimits | None = None,
        now: Clock = time.monotonic,
        thread: Clock = time.thread_time,
    ) -> None:
        self._limits = limits or SchedulerLimits()
        self._now, self.thread = now, thread
        self._usages: dict[str, ThreadUsage] = {}
        self._latest: ThreadUsage | None = None
        self._others = float("-inf")
        """The time of the last step by another tenant than the one before."""
        self._waiting: dict[ThreadUsage, None] = {}
        self._turned = 0.0
        """``ThreadUsage.turned`` of the tenant with the latest turn, before it."""
        self._given = 0
        """The number of turns under way."""
        self._resting = False
        self._began, self._own = 0.0, 0.0
        """The time at the end of the last rest, and the seconds of turns since."""

    async def metered(self, owner: str, work: Awaitable[R]) -> R:
        """Await work whose steps count for a tenant and wait for its turns; return the result."""
        usage = self._usage_of(owner)
        usage.users += 1
        try:
            return await _Metered(self, usage, work)
        finally:
            usage.users -= 1

    def charge_extra(self, owner: str, seconds: float) -> None:
        """Count the costs of a request outside its steps, such as the API server's time."""
        usage = self._usage_of(owner)
        usage.turned += seconds
        self.charge(usage, seconds)
        if self.exceeds_share(usage):
            self._own += seconds

    def charge(self, usage: ThreadUsage, seconds: float) -> None:
        """Count seconds for a tenant."""
        now = self._now()
        self._decay(usage, now)
        usage.used = min(usage.used + seconds, self._limits.most)
        if usage is not self._latest:
            self._others = now if self._latest else self._others
            self._latest = usage

    def needs_turns(self, owner: str) -> bool:
        """Return whether a tenant uses much, and is not alone."""
        return self.exceeds_share(self._usage_of(owner))

    def exceeds_share(self, usage: ThreadUsage) -> bool:
        """Return whether the steps of a tenant need turns: it uses much, and is not alone."""
        limits = self._limits
        if usage.used <= limits.burst:
            return False
        now = self._now()
        self._decay(usage, now)
        return usage.used > limits.burst and now - self._others <= limits.recent

    def reading_pause(self, owner: str, size: int) -> float:
        """Count ``size`` bytes of a body that arrives; return the seconds before more is read.

        A body arrives before anything about its request can be refused: sixteen clients that sent
        3 MB again and again took the thread for 50 ms at a time.
        """
        self.charge_extra(owner, seconds_for_body(size))
        usage = self._usage_of(owner)
        if not self.exceeds_share(usage):
            return 0.0
        now = self._now()
        usage.reads_at = max(usage.reads_at, now) + size / self._limits.read
        return usage.reads_at - now

    async def take(self, usage: ThreadUsage) -> None:
        """Wait for a turn."""
        # A tenant that has not waited for a while does not catch up with the turns of others, and
        # one that had the most waits no longer than ``most``.
        latest = self._turned + self._limits.most
        usage.turned = min(max(usage.turned, self._turned), latest)
        if not self._given and not self._resting:
            self._given = 1
            return
        waiter = asyncio.get_running_loop().create_future()
        usage.waiting.append(waiter)
        self._waiting[usage] = None
        try:
            await waiter
        except BaseException:
            # Also when the task is cancelled: without this, no further turn would be given.
            if waiter.done() and not waiter.cancelled():
                self.give_back(usage, 0.0)
            raise

    def give_back(self, usage: ThreadUsage, seconds: float) -> None:
        """End a turn that took ``seconds``; give the next turns after a rest."""
        usage.turned += seconds
        usage.step += (seconds - usage.step) * _NEW
        self._own += seconds
        self._given -= 1
        if not self._given:
            # After all ready callbacks: tasks that need no turn do not wait for turns.
            self._resting = True
            asyncio.get_running_loop().call_soon(self._next)

    def _usage_of(self, owner: str) -> ThreadUsage:
        usage = self._usages.get(owner)
        if usage is None:
            if len(self._usages) >= _REMEMBERED:
                self._forget()
            usage = self._usages[owner] = ThreadUsage(since=self._now())
        return usage

    def _forget(self) -> None:
        """Forget tenants that have used nothing lately."""
        now = self._now()
        for owner, usage in list(self._usages.items()):
            self._decay(usage, now)
            if not usage.users and not usage.used:
                del self._usages[owner]

    def _decay(self, usage: ThreadUsage, now: float) -> None:
        usage.used = max(usage.used - (now - usage.since) * self._limits.free, 0.0)
        usage.since = now

    def _next(self) -> None:
        rest = self._rest()
        if rest < _TURN:
            self._resting = False
            self._give()
        else:
            asyncio.get_running_loop().call_later(rest, self._next)

    def _rest(self) -> float:
        """Return the rest before the next turn, in seconds; 0: none."""
        now = self._now()
        rest = self._own / self._limits.shared - (now - self._began)
        if rest <= 0:
            self._began, self._own = now, 0.0
            return 0.0
        return rest

    def _give(self) -> None:
        """Wake as many waiting steps as will take some milliseconds together."""
        left, given = _TURN, list[ThreadUsage]()
        while self._waiting and left > 0:
            usage = min(self._waiting, key=lambda each: each.turned)
            waiter = usage.waiting.popleft()
            if not usage.waiting:
                del self._waiting[usage]
            if waiter.done():
                continue
            waiter.set_result(None)
            self._given += 1
            self._turned = usage.turned
            left -= usage.step
            # This is the estimate until the time of the step is known.
            usage.turned += usage.step
            given.append(usage)
        for usage in given:
            usage.turned -= usage.step


class _Metered(Generic[R]):
    """An awaitable that runs work in steps and counts their time."""

    def __init__(self, scheduler: FairScheduler, usage: ThreadUsage, work: Awaitable[R]) -> None:
        self._scheduler = scheduler
        self._usage = usage
        self._work = work

    def __await__(self) -> Generator[Any, None, R]:
        scheduler, usage, steps = self._scheduler, self._usage, self._work.__await__()
        thrown: BaseException | None = None
        try:
            took = yield from self._turn()
        except BaseException:
            steps.close()
            raise
        while True:
            began = scheduler.thread()
            try:
                waited = steps.throw(thrown) if thrown else steps.send(None)
            except StopIteration as end:
                found: R = end.value
                return found
            finally:
                thrown = None  # It refers to this frame, and would wait for the garbage collector.
                seconds = scheduler.thread() - began
                scheduler.charge(usage, seconds)
                if took:
                    scheduler.give_back(usage, seconds)
            took = False
            try:
                yield waited
                took = yield from self._turn()
            except BaseException as error:  # noqa: BLE001 - it is for what waits
                # At once: a cancelled task must release what it holds.
                thrown = error

    def _turn(self) -> Generator[Any, None, bool]:
        """Wait for a turn if one is needed; return whether there is one to give back."""
        if not self._scheduler.exceeds_share(self._usage):
            return False
        yield from self._scheduler.take(self._usage).__await__()
        return True
