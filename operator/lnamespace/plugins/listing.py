"""`kubectl lns list` and `kubectl lns whoami`: which LNamespaces there are for the caller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from lnamespace.plugins.arguments import Arguments, one_of
from lnamespace.plugins.durations import age
from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.kubectl import Kubectl, Reply, caller, missing
from lnamespace.plugins.lnamespaces import (
    VERSION,
    Object,
    collection,
    current,
    group,
    name_of,
    qualified,
    ready,
    sudo_identity,
)
from lnamespace.plugins.roles import access
from lnamespace.plugins.subjects import LISTS, Caller
from lnamespace.plugins.tables import Layout, render
from lnamespace.plugins.terminal import printable, say
from lnamespace.plugins.watching import changes

HEADER = ("NAME", "READY", "MY ACCESS", "UNTIL", "REQUESTER", "COST CENTER", "AGE")
WIDE = ("USERS", "MANAGERS", "SUDOERS", "OWNER", "TEAM", "ENVIRONMENT", "SUDO AS")


def listing(arguments: Arguments) -> int:
    """Show the caller's LNamespaces, or all of them."""
    if len(arguments.words) > 1:
        raise UsageError("list takes no names; for one LNamespace: kubectl lns describe NAME")
    output = one_of(arguments, "output", ("wide", "json", "yaml", "name", ""), "")
    me, items = fetch(arguments)
    chosen = _chosen(arguments, items, me)
    if arguments.switch("watch"):
        return _follow(arguments, me, chosen, output)
    if not chosen and output not in ("json", "yaml"):
        say("No lnamespaces found.")
    elif output == "yaml":
        print(Kubectl(arguments.connection).as_yaml(whole(chosen)), end="")
    else:
        print(shown(chosen, me, datetime.now(UTC), output), end="")
    return 0


def _chosen(arguments: Arguments, items: Iterable[Object], me: Caller) -> list[Object]:
    now, everything = datetime.now(UTC), arguments.switch("all")
    return sorted((lns for lns in items if everything or access(lns, me, now).any), key=name_of)


def fetch(arguments: Arguments) -> tuple[Caller, list[Object]]:
    """Who we are and all LNamespaces, asked for at the same time."""
    kubectl = Kubectl(arguments.connection)
    who, found = kubectl.start_whoami(), kubectl.start_get(collection() + _query(arguments))
    me = caller(who.reply())
    return me, _items(kubectl, found.reply())


def _query(arguments: Arguments, **more: str) -> str:
    """The query of a list or a watch; what the user typed is escaped."""
    selector = arguments.one("selector")
    parameters = more | ({"labelSelector": selector} if selector else {})
    encoded = "&".join(f"{key}={quote(value)}" for key, value in parameters.items())
    return f"?{encoded}" if encoded else ""


def _items(kubectl: Kubectl, reply: Reply) -> list[Object]:
    if reply.code:
        raise missing(reply, kubectl)
    items: list[Object] = reply.document().get("items") or []
    return items


def _follow(arguments: Arguments, me: Caller, chosen: Sequence[Object], output: str) -> int:
    """Show what there is, then a line for each change, until interrupted, as kubectl does."""
    if output in ("json", "yaml"):
        raise UsageError("--watch shows a table or names; for objects: kubectl get -w -o json")
    known = {name_of(lns): _row_of(lns, me, output) for lns in chosen}
    header = [] if output == "name" else [HEADER + (WIDE if output == "wide" else ())]
    layout = Layout([*header, *known.values()])
    for line in layout.lines:
        print(line, flush=True)
    for lns in changes(Kubectl(arguments.connection), _query(arguments, watch="true")):
        name = name_of(lns)
        if lns in _chosen(arguments, (lns,), me) or name in known:
            cells = _row_of(lns, me, output)
            if known.get(name) != cells:
                known[name] = cells
                print(layout.line(cells), flush=True)
    return 0


def _row_of(lns: Object, me: Caller, output: str) -> tuple[str, ...]:
    if output == "name":
        return (qualified(name_of(lns)),)
    return row(lns, me, datetime.now(UTC)) + (wide_cells(lns) if output == "wide" else ())


def whole(chosen: Sequence[Object]) -> Object:
    """The objects as one, for programs."""
    items = [{"apiVersion": f"{group()}/{VERSION}", "kind": "LNamespace", **lns} for lns in chosen]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def shown(chosen: Sequence[Object], me: Caller, now: datetime, output: str) -> str:
    """The list in the form that was asked for."""
    if output == "json":
        return json.dumps(whole(chosen), indent=4, ensure_ascii=False) + "\n"
    if output == "name":
        return "".join(f"{qualified(name_of(lns))}\n" for lns in chosen)
    return table(chosen, me, now, wide=output == "wide")


def table(chosen: Iterable[Object], me: Caller, now: datetime, wide: bool) -> str:
    """The list as a table."""
    rows = [row(lns, me, now) + (wide_cells(lns) if wide else ()) for lns in chosen]
    return render(HEADER + (WIDE if wide else ()), rows)


def row(lns: Object, me: Caller, now: datetime) -> tuple[str, ...]:
    """One line of the table."""
    mine = access(lns, me, now)
    return (
        name_of(lns),
        _ready_cell(lns),
        mine.names,
        mine.ends(now),
        _cell(lns["spec"].get("requester")),
        _cell(lns["spec"].get("billing", {}).get("costCenter")),
        age(lns["metadata"].get("creationTimestamp"), now),
    )


def _ready_cell(lns: Object) -> str:
    """Whether it is ready, of the spec as it is now: what was said of an earlier one is over."""
    summary = ready(lns)
    if summary is None:
        return "<unknown>"
    if not current(lns):
        return "Pending"
    told = summary.status == "True" or not summary.reason
    return summary.status if told else f"{summary.status} ({summary.reason})"


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
