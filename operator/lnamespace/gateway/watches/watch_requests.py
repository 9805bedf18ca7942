"""The watch that a client requests, and the watch of each namespace that it is merged from."""

import hashlib
from dataclasses import dataclass

import msgspec

from lnamespace.translate.protocol.list_options import (
    SELECTORS,
    asks_for_initial_events,
    takes_bookmarks,
)
from lnamespace.translate.protocol.numbers import parse_number
from lnamespace.translate.protocol.request import Query, ResourceRequest

_LONGEST = 365 * 24 * 3600
"""The longest timeout of a watch, in seconds."""


@dataclass(frozen=True)
class MemberRequest:
    """The watch of one namespace.

    Parameters
    ----------
    version
        The resource version at which it begins.
    initial_events
        Whether it begins with the existing objects; None: the API server's default.
    """

    namespace: str
    version: str
    initial_events: bool | None
    seconds: int

    @property
    def parameters(self) -> Query:
        """Return the parameters in which this watch differs from what the client asked for."""
        unset = self.initial_events is None
        return (
            ("resourceVersion", self.version),
            ("timeoutSeconds", str(self.seconds)),
            ("allowWatchBookmarks", "true"),
            ("sendInitialEvents", "" if unset else str(self.initial_events).lower()),
            ("resourceVersionMatch", "" if unset else "NotOlderThan"),
        )


@dataclass(frozen=True)
class WatchRequest:
    """A request for a watch.

    Parameters
    ----------
    key
        Equal for watches that select the same events: owner, resource, namespace, selectors.
    version
        ``resourceVersion``.
    initial_events
        ``sendInitialEvents``; None if the client does not set it.
    """

    key: str
    version: str = ""
    initial_events: bool | None = None
    bookmarks: bool = False
    seconds: int = 0

    @classmethod
    def from_request(cls, request: ResourceRequest, owner: str) -> "WatchRequest":
        """Parse a request for a watch; ``owner`` separates the watches of different people."""
        resource = request.resource
        key = (resource.group, resource.plural, request.namespace)
        selectors = (request.parameter(each) or "" for each in SELECTORS)
        # A digest: 500 histories of each owner are kept, and a selector may have 60 kB.
        encoded = msgspec.json.encode([*key, *selectors])
        return cls(
            f"{owner}\n{hashlib.blake2b(encoded, digest_size=16).hexdigest()}",
            request.parameter("resourceVersion") or "",
            initial_events=asks_for_initial_events(request),
            bookmarks=takes_bookmarks(request),
            seconds=min(max(parse_number(request.parameter("timeoutSeconds") or "0"), 0), _LONGEST),
        )
