"""Read and validate the options of a list or watch as the API server does.

The rules are those of k8s.io/apimachinery/pkg/apis/meta/internalversion (``validation`` and
``SetListOptionsDefaults``). One request here may be several upstream with other options, or none,
so the client's options are validated first.
"""

from collections.abc import Iterator, Sequence

from lnamespace.translate.protocol.request import ResourceRequest, query_flag
from lnamespace.translate.protocol.status import Cause, invalid

SELECTORS = ("fieldSelector", "labelSelector")
"""The options that say which objects are meant; deletions of collections have them too."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events."""

_MATCH = "resourceVersionMatch"
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_INITIAL = "sendInitialEvents"


def confirm_list_options(request: ResourceRequest) -> None:
    """Refuse invalid options of a list or watch.

    Raises
    ------
    Refused
        Invalid, in the words of the API server.
    """
    causes = [*(_watch_causes(request) if request.verb == "watch" else _list_causes(request))]
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)


def asks_for_initial_events(request: ResourceRequest) -> bool | None:
    """Return ``sendInitialEvents`` of a watch; None if the client does not set it."""
    asked = request.parameter(_INITIAL)
    return None if asked is None else query_flag(asked)


def begins_with_everything(request: ResourceRequest) -> bool:
    """Return whether a watch begins with initial events, as it does without a version."""
    asked = asks_for_initial_events(request)
    return request.parameter("resourceVersion") in (None, "", "0") if asked is None else asked


def takes_bookmarks(request: ResourceRequest) -> bool:
    """Return whether the client of a watch accepts bookmarks."""
    return query_flag(request.parameter("allowWatchBookmarks"))


def _list_causes(request: ResourceRequest) -> Iterator[Cause]:
    match = request.parameter(_MATCH)
    version = request.parameter("resourceVersion")
    if match:
        if not version:
            yield _forbidden(f"{_MATCH} is forbidden unless resourceVersion is provided")
        if request.parameter("continue"):
            yield _forbidden(f"{_MATCH} is forbidden when continue is provided")
        if match not in (_EXACT, _NOT_OLDER):
            yield _unsupported(match, (_EXACT, _NOT_OLDER, ""))
        if match == _EXACT and version == "0":
            yield _forbidden(f'{_MATCH} "exact" is forbidden for resourceVersion "0"')
    if request.parameter(_INITIAL) is not None:
        yield _forbidden(f"{_INITIAL} is forbidden for list", _INITIAL)


def _watch_causes(request: ResourceRequest) -> Iterator[Cause]:
    match, asked = request.parameter(_MATCH), request.parameter(_INITIAL)
    if asked is not None and match != _NOT_OLDER:
        yield _forbidden(f"{_INITIAL} requires setting {_MATCH} to {_NOT_OLDER}")
    if not match:
        return
    if asked is None:
        yield _forbidden(f"{_MATCH} is forbidden for watch unless {_INITIAL} is provided")
    if match != _NOT_OLDER:
        yield _unsupported(match, (_NOT_OLDER,))
    if request.parameter("continue"):
        yield _forbidden(f"{_MATCH} is forbidden when continue is provided")


def _forbidden(why: str, field: str = _MATCH) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def _unsupported(value: str, supported: Sequence[str]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in supported)
    message = f'Unsupported value: "{value}": supported values: {listed}'
    return Cause("FieldValueNotSupported", message, _MATCH)
