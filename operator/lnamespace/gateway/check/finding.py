"""Findings of the check, and the words that they have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lnamespace.kube.prefixed import ClusterObject
from lnamespace.runtime.texts import first_names

_SHOWN = 8
"""The most names in one line; the others are counted."""


class Severity(StrEnum):
    """The severity of a finding."""

    PROBLEM = "problem"
    """Something leaks, collides or will not work."""
    WARNING = "warning"
    """Somebody should look at it and decide."""
    NOTE = "note"
    """Something that people of LClusters will see, or not have."""


@dataclass(frozen=True)
class CheckFinding:
    """A finding of the check.

    Parameters
    ----------
    about
        The object, kind or right.
    advice
        What to do; empty where nothing need be done.
    """

    severity: Severity
    about: str
    found: str
    advice: str = ""


def group_of(definition: ClusterObject) -> str:
    """Return the API group of a CustomResourceDefinition."""
    return definition.metadata.name.partition(".")[2]


def name_some(names: Iterable[str], most: int = _SHOWN) -> str:
    """Return the first names, and how many more there are."""
    return first_names(sorted(set(names)), most)
