"""Refuse times in definitions that the API server writes and cannot read again.

It takes ``9999-12-31T23:59:59-10:00`` and stores it in UTC, with a year of five digits. By one such
definition nobody could list any of the cluster, nor make or delete one. Policies are not shown the
managed fields of an object.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Path,
    RefusingRule,
    field_of,
    parents,
)

_TIMES: tuple[Path, ...] = (
    ("metadata", "managedFields", "*", "time"),
    ("status", "conditions", "*", "lastTransitionTime"),
)
_YEARS: Mapping[str, str] = {"9999": "10000", "0000": "-1"}
"""The years that may be others in UTC, with these."""


@dataclass(frozen=True)
class ReadableTimes(RefusingRule):
    """The times that a client may write into a definition."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the times."""
        return _TIMES

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse years that have no four digits in UTC."""
        for path in _TIMES:
            for parent in parents(subject.body, path):
                found = parent.get(path[-1])
                if isinstance(found, str) and found[:4] in _YEARS:
                    why = f"the year may be {_YEARS[found[:4]]} in UTC, which nobody could read"
                    raise subject.refuse(field_of(path), why)
