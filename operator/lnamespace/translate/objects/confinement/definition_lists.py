"""Bound the versions of a definition, and the names by which kubectl finds its kind.

The API server has discovery, an OpenAPI document and handlers for each version, and each version
has all of the names in discovery, which every client of the cluster reads. A definition of 31 KB
with 300 versions took 300 MB of the API server's memory, and one of 29 KB with 100 versions and 300
short names made discovery 1.9 MB longer.
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

MAX_VERSIONS = 10
MAX_NAMES = 32
"""Short names, and categories."""
_LISTS: Mapping[Path, int] = {
    ("spec", "versions"): MAX_VERSIONS,
    ("spec", "names", "shortNames"): MAX_NAMES,
    ("spec", "names", "categories"): MAX_NAMES,
}


@dataclass(frozen=True)
class BoundedDefinitionLists(RefusingRule):
    """The lists of a definition that multiply in discovery."""

    paths = tuple(_LISTS)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse lists that are very long; a policy counts what patches add one by one."""
        for path, most in _LISTS.items():
            for parent in parents(subject.body, path):
                found = parent.get(path[-1])
                if isinstance(found, list) and len(found) > most:
                    raise subject.refuse(field_of(path), f"must have at most {most} items")
