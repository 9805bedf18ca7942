"""How much one tenant may ask at once: without a bound, one would take the gateway from all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lnamespace.gateway.calls import STREAMED
from lnamespace.translate.request import PathRequest, ResourceRequest
from lnamespace.translate.status import too_many_requests

_BODIES = 64 * 1024 * 1024
"""Bytes of bodies that one tenant may have under way: a quarter of what the listener takes of all
(:class:`~lnamespace.gateway.http.limits.ServerLimits`)."""
_WATCHES = 1000
"""Watches upstream that one tenant or visitor may have: each is a connection, with its buffers."""


class InFlight:
    """Count what is under way of each tenant: requests, and streams such as `kubectl exec`.

    Watches are counted by what they open upstream (:class:`WatchCounts`).

    Parameters
    ----------
    most
        How many requests, and as many streams, one tenant may have under way here.
    who
        Who is counted, in the words of a refusal.
    """

    def __init__(self, most: int, who: str = "this LCluster has") -> None:
        self._most = most
        self._who = who
        self._running: Counter[tuple[str, bool]] = Counter()
        self._bodies: Counter[str] = Counter()

    @contextmanager
    def counted(self, tenant: str, request: ResourceRequest | PathRequest) -> Iterator[None]:
        """Count a request for as long as it is under way.

        Raises
        ------
        Refused
            TooManyRequests; clients try again a second later.
        """
        if request.verb == "watch":
            yield
            return
        key = tenant, isinstance(request, ResourceRequest) and request.subresource in STREAMED
        if self._running[key] >= self._most:
            what = "streams open" if key[1] else "requests under way"
            raise too_many_requests(f"{self._who} too many {what}")
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]

    @contextmanager
    def holding(self, tenant: str, size: int) -> Iterator[None]:
        """Count the body of a request for as long as the request is under way.

        The longest are those for a tenant's own Services and webhooks, which may take their time:
        with enough of them one tenant would leave no room for the body of anybody else.

        Raises
        ------
        Refused
            TooManyRequests.
        """
        if self._bodies[tenant] + size > _BODIES:
            raise too_many_requests(f"{self._who} sent too much at once")
        self._bodies[tenant] += size
        try:
            yield
        finally:
            self._bodies[tenant] -= size
            if not self._bodies[tenant]:
                del self._bodies[tenant]


class WatchCounts:
    """Count the watches upstream of each tenant or visitor.

    Parameters
    ----------
    who
        Who has them, in the words of a refusal.
    """

    def __init__(self, who: str = "this LCluster has") -> None:
        self._who = who
        self.running: Counter[str] = Counter()

    @contextmanager
    def counted(self, owner: str, size: int = 1) -> Iterator["WatchCount"]:
        """Count so many watches for as long as they are open, and those that join them.

        Raises
        ------
        Refused
            TooManyRequests.
        """
        count = WatchCount(self.running, owner)
        if not count.has_room(size):
            raise too_many_requests(f"{self._who} too many watches open", 5)
        count.add(size)
        try:
            yield count
        finally:
            self.running[owner] -= count.size
            if not self.running[owner]:
                del self.running[owner]


@dataclass
class WatchCount:
    """How many watches upstream one watch of a client is made of."""

    running: Counter[str]
    owner: str
    size: int = 0

    def has_room(self, size: int = 1) -> bool:
        """Return whether its owner may have so many watches more."""
        return self.running[self.owner] + size <= _WATCHES

    def add(self, size: int = 1) -> None:
        """Count so many watches more."""
        self.size += size
        self.running[self.owner] += size
