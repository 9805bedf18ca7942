"""Turns of the one thread: how much of it each tenant uses, and whose work goes on next.

All of the gateway runs in one thread, and behind it is one API server for all. A tenant that asks
without an end would have both: each of its thousand requests is as good as the only one of another.

So the time of the thread is counted for each tenant, in every step of its requests between two
points at which they wait. Steps of a tenant that uses little are done at once, and those of one
that is alone. Where several ask, those of whoever uses much are done a few milliseconds at a time,
first of whoever used least, and with rests in between: what arrives in a rest finds the thread,
and the API server, free.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

R = TypeVar("R")

Clock = Callable[[], float]
"""Returns seconds."""

_ACCOUNTS = 1000
"""Tenants and callers that are remembered before those are looked for that may be forgotten."""
_TURN = 0.002
"""Seconds of steps that are done before others may run, and of a rest at least."""
_NEW = 0.2
"""How much the latest step of a tenant says of its next one."""


@dataclass(frozen=True)
class TurnLimits:
    """What a tenant may use of the thread before its steps wait for turns.

    Parameters
    ----------
    free
        The part of the thread that each tenant may have all the time.
    burst
        Seconds of the thread that it may have at once beyond that.
    most
        Seconds that are remembered: what a tenant used is forgotten in ``most / free`` seconds.
    busy
        The part of the time that the thread is busy while turns are given.
    longest
        How long a rest may be, in times of what the turns before it took.
    recent
        For how many seconds after a step of another tenant nobody is alone.
    """

    free: float = 0.1
    burst: float = 0.5
    most: float = 1.0
    busy: float = 0.5
    longest: float = 4.0
    recent: float = 10.0


@dataclass(eq=False)
class Account:
    """What a tenant has used, and its steps that wait.

    Parameters
    ----------
    used
        Seconds of the thread beyond what is free, as they were at the time ``since``.
    users
        How many of its requests are under way.
    step
        Seconds that a step of it takes, as far as the latest ones tell.
    turned
        Seconds of turns that it has had, or others that waited meanwhile: the least is next.
    """

    used: float = 0.0
    since: float = 0.0
    users: int = 0
    step: float = _TURN
    turned: float = 0.0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class Turns:
    """Count what tenants use of the thread, and give turns to those that use much."""

    def __init__(
        self,
        limits: TurnLimits | None = None,
        now: Clock = time.monotonic,
        thread: Clock = time.thread_time,
    ) -> None:
        self._limits = limits or TurnLimits()
        self._now, self.thread = now, thread
        self._accounts: dict[str, Account] = {}
        self._latest: Account | None = None
        self._others = float("-inf")
        """When a step was done of another tenant than the one before."""
        self._waiting: dict[Account, None] = {}
        self._turned = 0.0
        """What whoever was given the latest turn had before, as ``Account.turned``."""
        self._given = 0
        """Turns that are not given back."""
        self._resting = False
        self._began, self._ran, self._own, self._besides = 0.0, 0.0, 0.0, 0.0
        """When the thread was last as idle as it should be, how much it had run by then, what turns
        have taken since, and what of that was no time of this thread."""

    async def metered(self, owner: str, work: Awaitable[R]) -> R:
        """Return what work comes to, whose steps count for a tenant and wait for its turns."""
        account = self._account(owner)
        account.users += 1
        try:
            return await _Metered(self, account, work)
        finally:
            account.users -= 1

    def charge_besides(self, owner: str, seconds: float) -> None:
        """Count what a request costs besides its steps, such as the API server's time."""
        account = self._account(owner)
        account.turned += seconds
        self.charge(account, seconds)
        if self.is_heavy(account):
            self._own += seconds
            self._besides += seconds

    def charge(self, account: Account, seconds: float) -> None:
        """Count so much for a tenant."""
        now = self._now()
        self._settle(account, now)
        account.used = min(account.used + seconds, self._limits.most)
        if account is not self._latest:
            self._others = now if self._latest else self._others
            self._latest = account

    def is_heavy(self, account: Account) -> bool:
        """Return whether the steps of a tenant need turns: it uses much, and is not alone."""
        limits = self._limits
        if account.used <= limits.burst:
            return False
        now = self._now()
        self._settle(account, now)
        return account.used > limits.burst and now - self._others <= limits.recent

    async def take(self, account: Account) -> None:
        """Wait for a turn."""
        # Who has not waited for a while has no claim to what others had meanwhile, and who had most
        # waits for others no longer than what is remembered.
        latest = self._turned + self._limits.most
        account.turned = min(max(account.turned, self._turned), latest)
        if not self._given and not self._resting:
            self._given = 1
            return
        waiter = asyncio.get_running_loop().create_future()
        account.waiting.append(waiter)
        self._waiting[account] = None
        try:
            await waiter
        except BaseException:
            # Whatever ends the task: a turn that nobody gives back would be the last one.
            if waiter.done() and not waiter.cancelled():
                self.give_back(account, 0.0)
            raise

    def give_back(self, account: Account, seconds: float) -> None:
        """Let the next ones have turns, when others have run; this one took so long."""
        account.turned += seconds
        account.step += (seconds - account.step) * _NEW
        self._own += seconds
        self._given -= 1
        if not self._given:
            # Not before all that is ready now has run: who needs no turn does not wait for turns.
            self._resting = True
            asyncio.get_running_loop().call_soon(self._next)

    def _account(self, owner: str) -> Account:
        account = self._accounts.get(owner)
        if account is None:
            if len(self._accounts) >= _ACCOUNTS:
                self._forget()
            account = self._accounts[owner] = Account(since=self._now())
        return account

    def _forget(self) -> None:
        """Forget tenants that have used nothing lately."""
        now = self._now()
        for owner, account in list(self._accounts.items()):
            self._settle(account, now)
            if not account.users and not account.used:
                del self._accounts[owner]

    def _settle(self, account: Account, now: float) -> None:
        account.used = max(account.used - (now - account.since) * self._limits.free, 0.0)
        account.since = now

    def _next(self) -> None:
        rest = self._rest()
        if rest < _TURN:
            self._resting = False
            self._give()
        else:
            asyncio.get_running_loop().call_later(rest, self._next)

    def _rest(self) -> float:
        """Return for how long there should be no turn; 0: there may be one."""
        limits, now, ran = self._limits, self._now(), self.thread()
        passed, busy = now - self._began, ran - self._ran + self._besides
        rest = min(busy / limits.busy, self._own * limits.longest) - passed
        if rest <= 0:
            self._began, self._ran, self._own, self._besides = now, ran, 0.0, 0.0
            return 0.0
        return rest

    def _give(self) -> None:
        """Give turns to as many as will take some milliseconds together."""
        left, given = _TURN, list[Account]()
        while self._waiting and left > 0:
            account = min(self._waiting, key=lambda each: each.turned)
            waiter = account.waiting.popleft()
            if not account.waiting:
                del self._waiting[account]
            if waiter.done():
                continue
            waiter.set_result(None)
            self._given += 1
            self._turned = account.turned
            left -= account.step
            # Until it is known what the step took.
            account.turned += account.step
            given.append(account)
        for account in given:
            account.turned -= account.step


class _Metered(Generic[R]):
    """Await something in steps that are counted."""

    def __init__(self, turns: Turns, account: Account, work: Awaitable[R]) -> None:
        self._turns = turns
        self._account = account
        self._work = work

    def __await__(self) -> Generator[Any, None, R]:
        turns, account, steps = self._turns, self._account, self._work.__await__()
        go_on: Callable[[], Any] = partial(steps.send, None)
        try:
            took = yield from self._turn()
        except BaseException:
            steps.close()
            raise
        while True:
            began = turns.thread()
            try:
                waited = go_on()
            except StopIteration as end:
                found: R = end.value
                return found
            finally:
                seconds = turns.thread() - began
                turns.charge(account, seconds)
                if took:
                    turns.give_back(account, seconds)
            took = False
            try:
                yield waited
                took = yield from self._turn()
            except BaseException as error:  # noqa: BLE001 - it is for what waits
                # At once: what is cancelled is to let go of what it has.
                go_on = partial(steps.throw, error)
            else:
                go_on = partial(steps.send, None)

    def _turn(self) -> Generator[Any, None, bool]:
        """Wait for a turn if one is needed; return whether there is one to give back."""
        if not self._turns.is_heavy(self._account):
            return False
        yield from self._turns.take(self._account).__await__()
        return True
