"""The figures as a table for people and as JSON for programs."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """A figure, the same figure of the plain alternative, and what the peer needs of its own.

    ``peer`` is Capsule 0.14.0, tuned, as a multiple of a baseline client that does its work
    (docs/performance.md describes the measurement).
    """

    name: str
    unit: str
    ours: float
    plain: float | None = None
    goal: str = ""
    peer: str = ""

    @property
    def ratio(self) -> float | None:
        """Return our figure as a multiple of the baseline."""
        return self.ours / self.plain if self.plain else None


def table(rows: Sequence[Row]) -> str:
    """Return rows aligned under their headings."""
    heads = ("FIGURE", "OURS", "PLAIN", "RATIO", "GOAL", "CAPSULE")
    cells = [heads, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    lines = ("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells)
    return "\n".join(line.rstrip() for line in lines)


def write(path: Path, rows: Sequence[Row], details: dict[str, Any]) -> None:
    """Write all figures as JSON."""
    figures = [{**vars(row), "ratio": row.ratio} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine(), "figures": figures, "details": details}
    path.write_text(json.dumps(content, indent=2) + "\n")


def machine() -> str:
    """Return a description of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB, "
        f"Python {platform.python_version()}"
    )


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit, with as many digits as it is precise to."""
    exact = value >= 100 or value == int(value)
    return f"{value:,.{0 if exact else 1}f} {unit}".rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    plain = "" if row.plain is None else amount(row.plain, row.unit)
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    return row.name, amount(row.ours, row.unit), plain, ratio, row.goal, row.peer
