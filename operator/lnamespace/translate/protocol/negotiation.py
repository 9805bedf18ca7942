"""Content negotiation by the header Accept.

As in kube-apiserver (``apiserver/pkg/endpoints/handlers/negotiation``), the clauses are ordered by
quality and then by how exact they are, and the first one that can be served is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_PEOPLES_CLIENTS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""The words that Go reads as true."""
TRANSFORMING = ("g", "v", "as")
"""Parameters that ask for another kind of the document: aggregated discovery, Table."""


@dataclass(frozen=True)
class AcceptClause:
    """One media range of a header Accept, in lower case but for the values of parameters."""

    main: str
    sub: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    quality: float = 1.0

    def covers(self, media_type: str) -> bool:
        """Return whether a media type, without its parameters, is in the range."""
        main, _, sub = media_type.partition("/")
        return self.main in {"*", main} and self.sub in {"*", sub}

    @property
    def transforms(self) -> dict[str, str]:
        """Return the parameters that ask for another kind of the document."""
        return {key: self.parameters[key] for key in TRANSFORMING if key in self.parameters}


ANYTHING = AcceptClause("*", "*")


def accept_clauses(header: str) -> list[AcceptClause]:
    """Return the clauses of a header Accept, the preferred one first.

    A header that is empty, or of which nothing can be understood, accepts anything.
    """
    clauses = [clause for part in header.split(",") if (clause := _clause(part))]
    clauses.sort(key=lambda each: (-each.quality, each.main == "*", each.sub == "*"))
    return clauses if header.strip() else [ANYTHING]


def _clause(text: str) -> AcceptClause | None:
    media, *parameters = (each.strip() for each in text.split(";"))
    main, slash, sub = media.lower().partition("/")
    if media == "*":
        main, slash, sub = "*", "/", "*"
    if not main or not slash or not sub:
        return None
    known = {
        key.strip().lower(): value.strip().strip('"')
        for key, _, value in (each.partition("=") for each in parameters)
    }
    return AcceptClause(main, sub, known, _quality(known.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0


def wants_indentation(pretty: str | None, user_agent: str) -> bool:
    """Return whether JSON is indented, as kube-apiserver does for people.

    Parameters
    ----------
    pretty
        The parameter of the query; None without it.
    """
    if pretty:
        return pretty in _TRUE
    return user_agent.startswith(_PEOPLES_CLIENTS)


def acceptable(header: str, media_types: tuple[str, ...]) -> str | None:
    """Return the media type to answer with, or None if the client accepts no offered one.

    Parameters
    ----------
    media_types
        Those that can be served, without parameters; the first is the answer to ``*/*``.
    """
    for clause in accept_clauses(header):
        if clause.quality == 0 or clause.transforms:
            continue
        found = next((each for each in media_types if clause.covers(each)), None)
        if found is not None:
            return found
    return None
