"""`kubectl lns list` and `kubectl lns whoami`: which LNamespaces there are for the caller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from lnamespace.plugins.arguments import Arguments, one_of
from lnamespace.plugins.durations import age
from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.lnamespaces import (
    VERSION,
    Object,
    collection,
    group,
    name_of,
    qualified,
    ready,
    sudo_identity,
)
from lnamespace.plugins.roles import access
from lnamespace.plugins.subjects import LISTS, Caller
from lnamespace.plugins.tables import render
from lnamespace.plugins.terminal import printable, say

HEADER = ("NAME", "READY", "MY ACCESS", "UNTIL", "REQUESTER", "COST CENTER", "AGE")
WIDE = ("USERS", "MANAGERS", "SUDOERS", "OWNER", "TEAM", "ENVIRONMENT", "SUDO AS")


def listing(arguments: Arguments) -> int:
    """Show the caller's LNamespaces, or all of them."""
    if len(arguments.words) > 1:
        raise UsageError("list takes no names; for one LNamespace: kubectl lns describe NAME")
    output = one_of(arguments, "output", ("wide", "json", "name", ""), "")
    me, items = fetch(arguments)
    now = datetime.now(UTC)
    everything = arguments.switch("all")
    chosen = sorted((lns for lns in items if everything or access(lns, me, now).any), key=name_of)
    if not chosen and output != "json":
        say("No lnamespaces found.")
    else:
        print(shown(chosen, me, now, output), end="")
    return 0


def fetch(arguments: Arguments) -> tuple[Caller, list[Object]]:
    """Who we are and all LNamespaces, asked for at the same time."""
    kubectl = Kubectl(arguments.connection)
    who, found = kubectl.start_whoami(), kubectl.start_get(collection())
    me = caller(who.reply())
    return me, _items(kubectl, found.reply())


def _items(kubectl: Kubectl, reply: Reply) -> list[Object]:
    if reply.code:
        raise missing(reply, kubectl)
    items: list[Object] = reply.document().get("items") or []
    return items


def shown(chosen: Sequence[Object], me: Caller, now: datetime, output: str) -> str:
    """The list in the form that was asked for."""
    if output == "json":
        items = [
            {"apiVersion": f"{group()}/{VERSION}", "kind": "LNamespace", **lns} for lns in chosen
        ]
        whole = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
        return json.dumps(whole, indent=4, ensure_ascii=False) + "\n"
    if output == "name":
        return "".join(f"{qualified(name_of(lns))}\n" for lns in chosen)
    return table(chosen, me, now, wide=output == "wide")


def table(chosen: Iterable[Object], me: Caller, now: datetime, wide: bool) -> str:
    """The list as a table."""
    rows = [row(lns, me, now) + (wide_cells(lns) if wide else ()) for lns in chosen]
    return render(HEADER + (WIDE if wide else ()), rows)


def row(lns: Object, me: Caller, now: datetime) -> tuple[str, ...]:
    """One line of the table."""
    summary = ready(lns)
    mine = access(lns, me, now)
    return (
        name_of(lns),
        _ready_cell(summary.status, summary.reason) if summary else "<unknown>",
        mine.names,
        mine.ends(now),
        _cell(lns["spec"].get("requester")),
        _cell(lns["spec"].get("billing", {}).get("costCenter")),
        age(lns["metadata"].get("creationTimestamp"), now),
    )


def _ready_cell(status: str, reason: str) -> str:
    return status if status == "True" or not reason else f"{status} ({reason})"


def wide_cells(lns: Object) -> tuple[str, ...]:
    """What `-o wide` adds."""
    spec = lns["spec"]
    counts = tuple(str(len(spec.get(field) or ())) for field in LISTS.values())
    billing = spec.get("billing", {})
    paid = tuple(_cell(billing.get(key)) for key in ("owner", "team", "environment"))
    return (*counts, *paid, sudo_identity(lns).shown)


def _cell(value: object) -> str:
    return str(value) if value else "<none>"


def whoami(arguments: Arguments) -> int:
    """Who the API server says the caller is, and what that gives."""
    if len(arguments.words) > 1:
        raise UsageError("whoami takes no arguments")
    me, items = fetch(arguments)
    now = datetime.now(UTC)
    mine = sorted((lns for lns in items if access(lns, me, now).any), key=name_of)
    print(f"Username:   {printable(me.username)}")
    print(f"Groups:     {printable(', '.join(me.groups)) or '<none>'}")
    print(f"Written as: {printable(me.identity.spelling)}")
    print()
    if mine:
        print(table(mine, me, now, wide=False), end="")
    else:
        say("No lnamespaces found.")
    return 0
