"""Each tenant's share of the memory for answers, and of the one thread's time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self, TypeVar
from weakref import WeakValueDictionary

from lnamespace.gateway.fairness.scheduler import FairScheduler
from lnamespace.translate.protocol.status import ApiStatus, Refused, too_many_requests

_MIB = 1024 * 1024
_SMALL = 256 * 1024
"""Bytes of each answer that do not count, so that small answers are never refused."""

R = TypeVar("R")


@dataclass(frozen=True)
class MemoryLimits:
    """The limits of the answers under way, in bytes as they come from the API server.

    Translated and encoded, an answer takes about three times as much for a moment.

    Parameters
    ----------
    owner
        The limit of one tenant or caller.
    all
        The limit of all together.
    """

    owner: int = 64 * _MIB
    all: int = 192 * _MIB


class MemoryAccounts:
    """The accounts of the memory of each tenant's answers under way."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self.limits = limits or MemoryLimits()
        self.scheduler = FairScheduler()
        self.costly: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """The owners with a costly request at the API server, of those that use much."""
        self._open: dict[str, dict[RequestUsage, None]] = {}
        # Sums would be made anew for each part of each answer: a tenant with 500 requests took a
        # seventh of the thread by them.
        self._held: Counter[str] = Counter()
        self._total = 0

    def account_for(self, owner: str, cut: Callable[[], object]) -> "RequestUsage":
        """Return the usage of a request, which counts in a block for as long as it is under way.

        Parameters
        ----------
        cut
            Ends the request at once, to free its memory for others.
        """
        return RequestUsage(owner, self, cut)

    def open(self, usage: "RequestUsage") -> None:
        """Begin to count a request."""
        self._open.setdefault(usage.owner, {})[usage] = None

    def close(self, usage: "RequestUsage") -> None:
        """Stop counting a request."""
        usage.resize(0)
        usages = self._open[usage.owner]
        del usages[usage]
        if not usages:
            del self._open[usage.owner], self._held[usage.owner]

    def held(self, owner: str) -> int:
        """Return how many bytes an owner's answers take."""
        return self._held[owner]

    def count(self, usage: "RequestUsage", size: int) -> None:
        """Count bytes of a request that is under way; less than 0: count so many less."""
        if usage in self._open.get(usage.owner, ()):
            self._held[usage.owner] += size
            self._total += size

    def make_room(self, usage: "RequestUsage", size: int) -> None:
        """Make room for ``size`` more bytes of a request.

        Over the limit of all together, the owner with the most bytes loses answers, the oldest
        first: a client that reads slowly does not block clients with less.

        Raises
        ------
        Refused
            TooManyRequests, or that the answer is too large for anybody.
        """
        mine = self.held(usage.owner)
        if mine + size > self.limits.owner:
            if mine > usage.counted:
                raise too_many_requests("too many long answers are under way for this LCluster")
            raise _too_large()
        while self._total + size > self.limits.all:
            most = max(self._open, key=self.held)
            if self.held(most) <= mine + size:
                raise too_many_requests("too many long answers are under way")
            victim = next(each for each in self._open[most] if each.counted)
            victim.resize(0)
            victim.cut()


@dataclass(eq=False)
class RequestUsage:
    """The memory and time that one request uses.

    Parameters
    ----------
    expansion
        The factor by which objects may be longer for their tenant than upstream.
    """

    owner: str = ""
    accounts: MemoryAccounts = field(default_factory=MemoryAccounts)
    cut: Callable[[], object] = bool
    size: int = 0
    expansion: int = 1

    def __enter__(self) -> Self:
        self.accounts.open(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.accounts.close(self)

    @property
    def counted(self) -> int:
        """Return the bytes that count against the limits."""
        return max(self.size - _SMALL, 0)

    def reserve(self, size: int) -> None:
        """Count ``size`` more bytes from the API server, as long as they may be for the tenant.

        Raises
        ------
        Refused
            There is no room for the bytes.
        """
        size *= self.expansion
        more = max(self.size + size - _SMALL, 0) - self.counted
        if more:
            self.accounts.make_room(self, more)
        self.resize(self.size + size)

    def release(self, size: int) -> None:
        """Stop counting ``size`` bytes from the API server."""
        self.resize(max(self.size - size * self.expansion, 0))

    def resize(self, size: int) -> None:
        """Set the bytes of the answer that are under way."""
        before = self.counted
        self.size = size
        if self.counted != before:
            self.accounts.count(self, self.counted - before)

    def charge_extra(self, seconds: float) -> None:
        """Count further costs, such as the API server's time."""
        self.accounts.scheduler.charge_extra(self.owner, seconds)

    @asynccontextmanager
    async def costly_request(self) -> AsyncIterator[None]:
        """Wait until the owner, if it uses much, has no other costly request at the API server.

        Four lists at once occupied all processors of an API server with two. An owner that uses
        little, or is alone, does not wait.
        """
        if not self.accounts.scheduler.needs_turns(self.owner):
            yield
            return
        lock = self.accounts.costly.setdefault(self.owner, asyncio.Lock())
        async with lock:
            yield

    async def metered(self, work: Awaitable[R]) -> R:
        """Run a task for the request, and count its time for the owner."""
        return await self.accounts.scheduler.metered(self.owner, work)


def _too_large() -> Refused:
    message = "the answer is too large for the gateway: ask for it in pages, by the parameter limit"
    return Refused(ApiStatus(413, "RequestEntityTooLarge", message, {}))
