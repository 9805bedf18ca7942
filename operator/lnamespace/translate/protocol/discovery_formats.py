"""The format of a discovery document, by the header Accept."""

from dataclasses import dataclass
from typing import Final

from lnamespace.kube.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.protocol.negotiation import AcceptClause, accept_clauses
from lnamespace.translate.protocol.status import not_acceptable

_AGGREGATED: Final = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_MEDIA_TYPES: Final = (JSON, YAML, PROTOBUF)


@dataclass(frozen=True)
class DiscoveryFormat:
    """A format of discovery: aggregated, with all groups and resources, or one part."""

    media_type: str
    aggregated: bool = False

    @property
    def content_type(self) -> str:
        """Return the media type with the parameters that name the kind of the document."""
        parameters = _AGGREGATED.items() if self.aggregated else ()
        return ";".join((self.media_type, *(f"{key}={value}" for key, value in parameters)))


AGGREGATED: Final = DiscoveryFormat(JSON, aggregated=True)


def discovery_format(accept: str, *, aggregated: bool) -> DiscoveryFormat:
    """Return the format that a header Accept asks for.

    Parameters
    ----------
    aggregated
        Whether the path has an aggregated document: ``/api`` and ``/apis`` do.

    Raises
    ------
    Refused
        If the client accepts no format that is served, with status 406.
    """
    for clause in accept_clauses(accept):
        found = _format(clause, aggregated=aggregated)
        if found is not None and clause.quality > 0:
            return found
    raise not_acceptable(f"only the following media types are accepted: {', '.join(_MEDIA_TYPES)}")


def _format(clause: AcceptClause, *, aggregated: bool) -> DiscoveryFormat | None:
    asked = clause.transforms
    if asked and not (aggregated and asked == _AGGREGATED):
        return None
    media_type = next((each for each in _MEDIA_TYPES if clause.covers(each)), None)
    return DiscoveryFormat(media_type, aggregated=bool(asked)) if media_type else None
