"""The difference between a role and a snapshot, as a table and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lnamespace.access.vetting import URL, Right, VettingResult, refusal, warning
from lnamespace.vet.cluster import ObservedRole

_STYLES = {"refused": "bold red", "new": "yellow", "lost": "cyan", "vetted": "dim"}
_COLUMNS = ("", "API GROUP", "RESOURCE", "VERBS", "FROM", "WHY")


@dataclass(frozen=True)
class Row:
    """Hold the verbs on one resource that have the same state, origin and reason."""

    state: str
    """``refused``, ``new``, ``lost``, or ``vetted`` for what is vetted and grave."""
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]
    origins: tuple[str, ...]
    why: str

    @property
    def words(self) -> tuple[str, ...]:
        """Return the row as cells of a table, safe to show on a terminal."""
        group = {"": "core", URL: "(path)"}.get(self.group, self.group)
        resource = f"{self.resource} {self.name}".strip()
        parts = (group, resource, ", ".join(self.verbs), ", ".join(self.origins), self.why)
        return (self.state, *map(_visible, parts))


def rows(verdict: VettingResult, role: ObservedRole) -> list[Row]:
    """Return all rows, the worst first."""
    return [
        *_rows("refused", verdict.refused, role),
        *_rows("new", verdict.gained, role),
        *_rows("lost", verdict.lost, role),
        *_rows("vetted", verdict.powers, role),
    ]


def show(console: Console, shown: Iterable[Row]) -> None:
    """Print rows as a table: in colour on a terminal, elsewhere as plain text without wrapping.

    Empty columns are left out.
    """
    lines = [row.words for row in shown]
    used = [column for column, words in enumerate(zip(*lines, strict=True)) if any(words)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in used:
        table.add_column(_COLUMNS[column], overflow="fold")
    for line in lines:
        table.add_row(*(Text(line[column]) for column in used), style=_STYLES[line[0]])
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(file=console.file, width=10_000, color_system=None)
    with wide.capture() as capture:
        wide.print(table)
    plain = (line.rstrip() for line in capture.get().splitlines())
    console.file.write("".join(f"{line}\n" for line in plain))


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


def _visible(text: str) -> str:
    """Escape text of the cluster in which a terminal would find control sequences."""
    return text if text.isprintable() else ascii(text)
