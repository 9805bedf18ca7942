"""`kubectl lns ledger`: who pays for an LNamespace, since when, and by whose word."""

from __future__ import annotations

import csv
import sys

from lnamespace.plugins.arguments import Arguments, one_of
from lnamespace.plugins.durations import format_instant, read_instant
from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.kubectl import Call, Kubectl, missing
from lnamespace.plugins.lnamespaces import VERSION, Object, group, read_name
from lnamespace.plugins.lnamespaces import path as path_of
from lnamespace.plugins.payment import COLUMNS, Payment, as_json, cells, harmless, payments
from lnamespace.plugins.tables import render
from lnamespace.plugins.terminal import printable, say
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HEADER = ("SINCE", "COST CENTER", "OWNER", "TEAM", "ENVIRONMENT", "LABELS", "BY", "WHY", "LEDGER")


def ledger(arguments: Arguments) -> int:
    """Show who pays and who did, as far as the cluster knows."""
    if len(arguments.words) != 2:
        raise UsageError("exactly one NAME is required")
    output = one_of(arguments, "output", ("table", "csv", "json", ""), "")
    name = read_name(arguments.words[1])
    kubectl = Kubectl(arguments.connection)
    found = kubectl.start_get(path_of(name))
    outbox = kubectl.start_get(f"/apis/{group()}/{VERSION}/billingrecords")
    reply, records = found.reply(), _records(outbox)
    if reply.code:
        raise missing(reply, kubectl, name)
    rows = payments(reply.document(), records)
    if output == "json":
        print(as_json(name, rows))
    elif output == "csv":
        write_csv(name, rows, arguments.switch("exact"))
    else:
        print(table(rows), end="")
        _remark(rows)
    return 0


def _records(outbox: Call) -> list[Object] | None:
    """What waits for the ledger; None where the caller may not see it."""
    reply = outbox.reply()
    if reply.code:
        return None
    items: list[Object] = reply.document().get("items") or []
    return items


def table(rows: Iterable[Payment]) -> str:
    """For people, the present one last."""
    return render(HEADER, [_row(row) for row in rows])


def _row(row: Payment) -> tuple[str, ...]:
    labels = ",".join(f"{key}={value}" for key, value in sorted(row.labels.items()))
    since = read_instant(row.since)
    shown = (format_instant(since) if since else "", *row.texts.values(), labels)
    return tuple(cell or "<none>" for cell in (*shown, row.changed_by, row.why, row.ledger))


def _remark(rows: Sequence[Payment]) -> None:
    states = {row.ledger for row in rows}
    if "due" in states:
        say("due: the controller has not recorded it yet")
    if "waiting" in states:
        say("waiting: it is safe in the cluster until the database has it")
    if "recorded" in states:
        say("recorded: whether the database has it, only who may list billingrecords can see")


def write_csv(name: str, rows: Iterable[Payment], exact: bool = False) -> None:
    """For spreadsheets, which must run nothing that somebody wrote; `exact` for other readers."""
    # A terminal would obey what is in a cell; a file or a pipe gets it as it is.
    shown = printable if sys.stdout.isatty() else str
    safe = str if exact else harmless
    writer = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([shown(safe(cell)) for cell in cells(name, row)])
