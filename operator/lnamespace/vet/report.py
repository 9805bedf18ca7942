"""The difference between a role and a snapshot, as a table and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console

from lnamespace.access.vetting import URL, Right, VettingResult, refusal, warning
from lnamespace.runtime.tables import print_table
from lnamespace.vet.cluster import ObservedRole

_STYLES = {"refused": "bold red", "new": "yellow", "lost": "cyan", "vetted": "dim"}
_COLUMNS = ("", "API GROUP", "RESOURCE", "VERBS", "FROM", "WHY")


@dataclass(frozen=True)
class Row:
    """The verbs on one resource that have the same state, origin and reason."""

    state: str
    """``refused``, ``new``, ``lost``, or ``vetted`` for rights that are vetted and dangerous."""
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]
    origins: tuple[str, ...]
    why: str

    @property
    def words(self) -> tuple[str, ...]:
        """Return the row as cells of a table."""
        group = {"": "core", URL: "(path)"}.get(self.group, self.group)
        resource = f"{self.resource} {self.name}".strip()
        parts = (group, resource, ", ".join(self.verbs), ", ".join(self.origins), self.why)
        return (self.state, *parts)


def rows(verdict: VettingResult, role: ObservedRole) -> list[Row]:
    """Return all rows, the worst first."""
    return [
        *_rows("refused", verdict.refused, role),
        *_rows("new", verdict.gained, role),
        *_rows("lost", verdict.lost, role),
        *_rows("vetted", verdict.dangerous, role),
    ]


def show(console: Console, shown: Iterable[Row]) -> None:
    """Print rows as a table."""
    print_table(console, _COLUMNS, ((_STYLES[row.state], row.words) for row in shown))


def as_json(shown: Iterable[Row]) -> Mapping[str, Any]:
    """Return the rows by state; groups, resources and names are as in a ClusterRole."""
    listed: dict[str, list[dict[str, Any]]] = {state: [] for state in _STYLES}
    for row in shown:
        entry = {
            "group": row.group,
            "resource": row.resource,
            "name": row.name,
            "verbs": row.verbs,
            "from": row.origins,
            "why": row.why,
        }
        listed[row.state].append(entry)
    return listed


def _rows(state: str, rights: Iterable[Right], role: ObservedRole) -> Iterator[Row]:
    def alike(right: Right) -> tuple[Any, ...]:
        origins = tuple(role.origins.get(right, ()))
        why = refusal(right) or warning(right)
        return right.group, right.resource, right.name, origins, why

    for (group, resource, name, origins, why), given in groupby(sorted(rights, key=alike), alike):
        verbs = tuple(sorted(right.verb for right in given))
        yield Row(state, group, resource, name, verbs, origins, why)
