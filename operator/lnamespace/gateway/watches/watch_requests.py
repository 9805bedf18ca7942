"""What a client asks of a watch, and what is asked of each namespace for it."""

from dataclasses import dataclass

from lnamespace.translate.protocol.list_options import asks_for_initial_events, takes_bookmarks
from lnamespace.translate.protocol.numbers import parse_number
from lnamespace.translate.protocol.request import Query, ResourceRequest

_LONGEST = 365 * 24 * 3600
"""Seconds that a watch lasts at most, whatever its client asks for."""


@dataclass(frozen=True)
class MemberRequest:
    """The watch of one namespace.

    Parameters
    ----------
    version
        Where it begins.
    initial_events
        Whether it is to begin with what is there; None: as the API server does for the version.
    """

    namespace: str
    version: str
    initial_events: bool | None
    seconds: int

    @property
    def parameters(self) -> Query:
        """Return the parameters in which this watch differs from what the client asked for."""
        unsaid = self.initial_events is None
        return (
            ("resourceVersion", self.version),
            ("timeoutSeconds", str(self.seconds)),
            ("allowWatchBookmarks", "true"),
            ("sendInitialEvents", "" if unsaid else str(self.initial_events).lower()),
            ("resourceVersionMatch", "" if unsaid else "NotOlderThan"),
        )


@dataclass(frozen=True)
class WatchRequest:
    """A request for a watch.

    Parameters
    ----------
    key
        Everything that makes two watches alike.
    version
        ``resourceVersion``.
    initial_events
        ``sendInitialEvents``: true if what is there comes first, then a bookmark that says so;
        false if not even a watch from no version tells it. None if the client does not say.
    """

    key: str
    version: str = ""
    initial_events: bool | None = None
    bookmarks: bool = False
    seconds: int = 0

    @classmethod
    def of(cls, request: ResourceRequest, owner: str) -> "WatchRequest":
        """Return a request as a watch request; ``owner`` tells watches of people apart."""
        resource = request.resource
        key = (owner, resource.group, resource.plural, request.namespace)
        selectors = (request.parameter(each) or "" for each in ("labelSelector", "fieldSelector"))
        return cls(
            "\n".join((*key, *selectors)),
            request.parameter("resourceVersion") or "",
            initial_events=asks_for_initial_events(request),
            bookmarks=takes_bookmarks(request),
            seconds=min(max(parse_number(request.parameter("timeoutSeconds") or "0"), 0), _LONGEST),
        )
