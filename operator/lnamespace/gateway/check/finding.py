"""Findings of the check, and the words that they have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lnamespace.kube.prefixed import ClusterObject
from lnamespace.runtime.texts import first_names

_SHOWN = 8
"""The most names in one line; the others are counted."""
_LONGEST = 250
"""Characters of what the API server says that stand in a cell."""


class Severity(StrEnum):
    """The severity of a finding."""

    PROBLEM = "problem"
    """Something leaks, collides or will not work."""
    WARNING = "warning"
    """Somebody should look at it and decide."""
    NOTE = "note"
    """Something that people of LClusters will see, or not have."""


@dataclass(frozen=True)
class LongText:
    """A part of a finding that is too long for a table, and what stands there in its place."""

    whole: str
    short: str

    def __str__(self) -> str:
        return self.whole


@dataclass(frozen=True)
class CheckFinding:
    """A finding of the check.

    Parameters
    ----------
    about
        The object, kind or right.
    advice
        What to do; empty where nothing need be done.
    long
        The part of ``found`` that a table shortens.
    """

    severity: Severity
    about: str
    found: str
    advice: str = ""
    long: LongText | None = None

    @property
    def cell(self) -> str:
        """Return what was found, for a table."""
        long = self.long
        return self.found.replace(long.whole, long.short, 1) if long else self.found


def group_of(definition: ClusterObject) -> str:
    """Return the API group of a CustomResourceDefinition."""
    return definition.metadata.name.partition(".")[2]


def name_some(names: Iterable[str], most: int = _SHOWN) -> str:
    """Return the first names, and how many more there are."""
    return first_names(sorted(set(names)), most)


def name_all(names: Iterable[str], most: int = _SHOWN) -> LongText:
    """Return all names; in a table the first, and how many more there are."""
    found = sorted(set(names))
    return LongText(", ".join(found), first_names(found, most))


def quote(message: str) -> LongText:
    """Return what the API server says; in a table its beginning."""
    return LongText(message, message[:_LONGEST] + ("..." if len(message) > _LONGEST else ""))
