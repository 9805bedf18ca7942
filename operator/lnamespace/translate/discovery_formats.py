"""In which format a client asks for a discovery document, and the media type of the answer."""

from enum import StrEnum

from lnamespace.translate.media_types import JSON, YAML
from lnamespace.translate.negotiation import AcceptClause, accept_clauses
from lnamespace.translate.status import not_acceptable

AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


class DiscoveryFormat(StrEnum):
    """A format of discovery; the value is the media type.

    YAML documents are written as JSON, which YAML includes.
    """

    AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    LEGACY = JSON
    LEGACY_YAML = YAML


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
    types = f"{JSON}, {YAML}"
    raise not_acceptable(f"only the following media types are accepted: {types}")


def _format(clause: AcceptClause, *, aggregated: bool) -> DiscoveryFormat | None:
    asked = clause.transforms
    if asked:
        served = aggregated and asked == AGGREGATED and clause.covers(JSON)
        return DiscoveryFormat.AGGREGATED if served else None
    if clause.covers(JSON):
        return DiscoveryFormat.LEGACY
    return DiscoveryFormat.LEGACY_YAML if clause.covers(YAML) else None
