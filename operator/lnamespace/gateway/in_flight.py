"""How much one tenant may ask at once: without a bound, one would take the gateway from all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from lnamespace.gateway.calls import STREAMED
from lnamespace.translate.request import PathRequest, ResourceRequest
from lnamespace.translate.status import too_many_requests

_BODIES = 64 * 1024 * 1024
"""Bytes of bodies that one tenant may have under way: a quarter of what the listener takes of all
(:class:`~lnamespace.gateway.http.limits.ServerLimits`)."""


class InFlight:
    """Count what is under way of each tenant: requests, and streams such as `kubectl exec`.

    Watches are counted by what they open upstream (:mod:`~lnamespace.gateway.watching`).

    Parameters
    ----------
    most
        How many requests, and as many streams, one tenant may have under way here.
    who
        Who is counted, in the words of a refusal.
    """

    def __init__(self, most: int, who: str = "this LCluster") -> None:
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
            raise too_many_requests(f"{self._who} has too many {what}")
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
            raise too_many_requests(f"{self._who} sends too much at once")
        self._bodies[tenant] += size
        try:
            yield
        finally:
            self._bodies[tenant] -= size
            if not self._bodies[tenant]:
                del self._bodies[tenant]
