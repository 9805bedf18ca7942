"""Limit the concurrent requests, bodies and watches of one tenant."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lnamespace.gateway.fairness.costs import is_long
from lnamespace.http.exchange import Exchange
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest
from lnamespace.translate.protocol.status import too_many_requests
from lnamespace.translate.protocol.verbs import CONNECTIONS

_BODIES = 64 * 1024 * 1024
"""Bytes of bodies that one tenant may have under way: a quarter of the listener's limit for all
(:class:`~lnamespace.http.limits.ServerLimits`)."""
_AT_ONCE = {"list": 4, "get": 16, "write": 16, "long write": 2}
"""The most concurrent requests of a tenant by kind; further ones wait."""
_DELAY = 1.0
"""Seconds before a refusal with ``Retry-After: 1`` is answered."""
_DELAYED = 500
"""The most refusals of one tenant that wait; one more closes its connection."""
_OPENING = 4
"""The most watches of a tenant that may receive their initial events at once. Each of them occupies
one of the API server's request slots, which all tenants share."""
_WATCHES = 1000
"""Watches upstream that one tenant or caller may have: each is a connection, with its buffers."""

K = TypeVar("K")


class InFlight:
    """The requests of each tenant that are under way, and its streams such as `kubectl exec`.

    Watches are counted by what they open upstream (:class:`WatchCounts`).

    Parameters
    ----------
    most
        How many requests, and as many streams, one tenant may have under way here.
    who
        The subject of the refusal's message.
    """

    def __init__(self, most: int, who: str = "this LCluster has") -> None:
        self._most = most
        self._who = who
        self._running: Counter[tuple[str, bool]] = Counter()
        self._bodies: Counter[str] = Counter()
        self._delayed: Counter[str] = Counter()
        self._concurrency: dict[tuple[str, str], _ConcurrencyLimit] = {}

    def counted(
        self, tenant: str, request: ResourceRequest | PathRequest
    ) -> AbstractContextManager[None]:
        """Count a request for as long as it is under way.

        Raises
        ------
        Refused
            TooManyRequests; clients try again a second later.
        """
        if request.verb == "watch":
            return nullcontext()
        key = tenant, _is_streamed(request)
        if self._running[key] >= self._most:
            what = "streams open" if key[1] else "requests under way"
            raise too_many_requests(f"{self._who} too many {what}")
        return _Counted(self._running, key)

    def limit_concurrency(
        self, tenant: str, request: ResourceRequest | PathRequest, size: int = 0
    ) -> AbstractAsyncContextManager[None]:
        """Wait for a slot among the tenant's requests of this kind: list, read, write, long write.

        Tenants share the API server's processors and this process's thread: a hundred concurrent
        requests of one would slow down the only one of another. Writes have their own slots, since
        a tenant's webhook may read before it answers one.

        Parameters
        ----------
        size
            The size of the body, in bytes.
        """
        if request.verb == "watch" or _is_streamed(request):
            return nullcontext()
        write = "long write" if is_long(size) else "write"
        kind = request.verb if request.verb in {"get", "list"} else write
        key = tenant, kind
        limit = self._concurrency.get(key)
        if limit is None:
            slots = asyncio.Semaphore(_AT_ONCE[kind])
            limit = self._concurrency[key] = _ConcurrencyLimit(self._concurrency, key, slots)
        return limit

    async def delay(self, exchange: Exchange) -> None:
        """Wait before a request is refused as one too many.

        Otherwise clients that retry at once would use the whole thread for refusals.

        Raises
        ------
        ConnectionAbortedError
            Too many wait already.
        """
        owner = exchange.connection.owner
        exchange.forget_body()
        if self._delayed[owner] >= _DELAYED:
            raise ConnectionAbortedError
        with _Counted(self._delayed, owner):
            await asyncio.sleep(_DELAY)

    def holding(self, tenant: str, size: int) -> AbstractContextManager[None]:
        """Count the body of a request for as long as the request is under way.

        Requests to a tenant's own Services and webhooks may last long: with enough of them one
        tenant would leave no memory for the bodies of others.

        Raises
        ------
        Refused
            TooManyRequests.
        """
        if not size:
            return nullcontext()
        if self._bodies[tenant] + size > _BODIES:
            raise too_many_requests(f"{self._who} sent too much at once")
        return _Counted(self._bodies, tenant, size)


class _Counted(Generic[K]):
    """A count that lasts for a block, without a trace of a count that is zero again.

    As generators this and the other limits were a twelfth of the cost of a GET.
    """

    __slots__ = ("_counts", "_key", "_size")

    def __init__(self, counts: Counter[K], key: K, size: int = 1) -> None:
        self._counts, self._key, self._size = counts, key, size

    def __enter__(self) -> None:
        self._counts[self._key] += self._size

    def __exit__(self, *_: object) -> None:
        self._counts[self._key] -= self._size
        if not self._counts[self._key]:
            del self._counts[self._key]


@dataclass
class _ConcurrencyLimit:
    """The slots of a tenant for one kind of request, and how many requests use or await them.

    A request has a slot for as long as a block runs. ``limits`` has it while it has users.
    """

    limits: dict[tuple[str, str], "_ConcurrencyLimit"]
    key: tuple[str, str]
    slots: asyncio.Semaphore
    users: int = 0

    async def __aenter__(self) -> None:
        self.users += 1
        try:
            await self.slots.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.slots.release()
        self._leave()

    def _leave(self) -> None:
        self.users -= 1
        if not self.users:
            del self.limits[self.key]


def _is_streamed(request: ResourceRequest | PathRequest) -> bool:
    return isinstance(request, ResourceRequest) and request.subresource in CONNECTIONS


class WatchCounts:
    """The number of watches upstream of each tenant or caller.

    Parameters
    ----------
    who
        The subject of the refusal's message.
    """

    def __init__(self, who: str = "this LCluster has") -> None:
        self._who = who
        self.running: Counter[str] = Counter()
        self._opening: dict[str, asyncio.Semaphore] = {}

    @contextmanager
    def counted(self, owner: str, size: int = 1) -> Iterator["WatchCount"]:
        """Count watches for as long as they are open, and those that are added to them.

        Raises
        ------
        Refused
            TooManyRequests.
        """
        opening = self._opening.setdefault(owner, asyncio.Semaphore(_OPENING))
        count = WatchCount(self.running, owner, opening)
        if not count.has_room(size):
            raise too_many_requests(f"{self._who} too many watches open", 5)
        count.add(size)
        try:
            yield count
        finally:
            self.running[owner] -= count.size
            if not self.running[owner]:
                del self.running[owner], self._opening[owner]


@dataclass
class WatchCount:
    """The number of watches upstream for one watch of a client.

    Parameters
    ----------
    opening
        Slots of its owner for watches that still receive their initial events.
    """

    running: Counter[str]
    owner: str
    opening: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_OPENING))
    size: int = 0

    def has_room(self, size: int = 1) -> bool:
        """Return whether its owner may open ``size`` more watches."""
        return self.running[self.owner] + size <= _WATCHES

    def add(self, size: int = 1) -> None:
        """Count ``size`` more watches."""
        self.size += size
        self.running[self.owner] += size
