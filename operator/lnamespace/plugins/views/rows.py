"""The table of `kubectl lns list` and `kubectl lns whoami`, and its other forms."""

from __future__ import annotations

from datetime import UTC, datetime

from lnamespace.plugins.model.api_group import api_version
from lnamespace.plugins.model.lnamespaces import (
    LNAMESPACE,
    Object,
    current,
    name_of,
    qualified,
    ready,
    sudo_identity,
    without_managed_fields,
)
from lnamespace.plugins.model.roles import access
from lnamespace.plugins.model.subjects import LISTS
from lnamespace.plugins.model.times import age
from lnamespace.plugins.runtime.terminal import render, shortened
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lnamespace.plugins.model.subjects import Caller
    from lnamespace.plugins.runtime.flags import Arguments

HEADER = ("NAME", "READY", "MY ACCESS", "UNTIL", "REQUESTER", "COST CENTER", "AGE")
WIDE = ("USERS", "MANAGERS", "SUDOERS", "OWNER", "TEAM", "ENVIRONMENT", "SUDO AS")


def chosen(arguments: Arguments, items: Iterable[Object], me: Caller) -> list[Object]:
    """Return the caller's LNamespaces, or all with --all, sorted by name."""
    now, everything = datetime.now(UTC), arguments.switch("all")
    return sorted((lns for lns in items if everything or access(lns, me, now).any), key=name_of)


def row_of(lns: Object, me: Caller, output: str) -> tuple[str, ...]:
    """Return the cells of one line in the form that was asked for."""
    if output == "name":
        return (qualified(name_of(lns)),)
    return row(lns, me, datetime.now(UTC), wide=output == "wide")


def whole(found: Sequence[Object]) -> Object:
    """Return the objects as one List, for `-o json` and `-o yaml`."""
    items = [
        {"apiVersion": api_version(), "kind": LNAMESPACE.kind, **without_managed_fields(lns)}
        for lns in found
    ]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def shown(found: Sequence[Object], me: Caller, now: datetime, output: str) -> str:
    """Return the list in the form that was asked for."""
    if output == "name":
        return "".join(f"{qualified(name_of(lns))}\n" for lns in found)
    return table(found, me, now, wide=output == "wide")


def table(found: Iterable[Object], me: Caller, now: datetime, wide: bool) -> str:
    """Return the list as a table."""
    rows = [row(lns, me, now, wide=wide) for lns in found]
    return render(HEADER + (WIDE if wide else ()), rows)


def row(lns: Object, me: Caller, now: datetime, *, wide: bool) -> tuple[str, ...]:
    """Return one line of the table; only a wide one has long texts whole."""
    mine = access(lns, me, now)
    cells = (
        name_of(lns),
        _ready_cell(lns),
        mine.names,
        mine.ends(now),
        _cell(lns["spec"].get("requester")),
        _cell(lns["spec"].get("billing", {}).get("costCenter")),
        age(lns["metadata"].get("creationTimestamp"), now),
    )
    return cells + wide_cells(lns) if wide else tuple(map(shortened, cells))


def _ready_cell(lns: Object) -> str:
    """Return whether it is ready, if the status is about the spec as it is now."""
    summary = ready(lns)
    if summary is None:
        return "<unknown>"
    if not current(lns):
        return "Pending"
    plain = summary.status == "True" or not summary.reason
    return summary.status if plain else f"{summary.status} ({summary.reason})"


def wide_cells(lns: Object) -> tuple[str, ...]:
    """Return the cells that `-o wide` adds."""
    spec = lns["spec"]
    counts = tuple(str(len(spec.get(field) or ())) for field in LISTS.values())
    billing = spec.get("billing", {})
    paid = tuple(_cell(billing.get(key)) for key in ("owner", "team", "environment"))
    return (*counts, *paid, sudo_identity(lns).shown)


def _cell(value: object) -> str:
    return str(value) if value else "<none>"
