"""`kubectl lns ledger`: who pays for an LNamespace or an LCluster, and who paid before."""

from __future__ import annotations

import csv
import json
import re
import sys

from lnamespace.plugins.cluster.kubectl import Call, Kubectl, missing
from lnamespace.plugins.model.api_group import api_version
from lnamespace.plugins.model.lnamespaces import LCLUSTER, Object, name_of, read_target
from lnamespace.plugins.model.lnamespaces import path as path_of
from lnamespace.plugins.model.times import format_instant, read_instant
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import Arguments, one_of
from lnamespace.plugins.runtime.terminal import printable, render, say, shortened
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

HEADER = ("SINCE", "COST CENTER", "OWNER", "TEAM", "ENVIRONMENT", "LABELS", "BY", "WHY", "LEDGER")


def show_ledger(arguments: Arguments) -> int:
    """Show who pays and who paid before, as far as the cluster knows."""
    if len(arguments.words) != 2:
        raise UsageError("exactly one NAME is required")
    output = one_of(arguments, "output", ("table", "csv", "json", ""), "")
    kind, name = read_target(arguments.words[1])
    kubectl = Kubectl(arguments.connection)
    found = kubectl.start_get(path_of(name, kind))
    outbox = kubectl.start_get(f"/apis/{api_version()}/billingrecords")
    reply, records = found.reply(), _records(outbox)
    if reply.code:
        raise missing(reply, kubectl, name, kind)
    document = reply.document()
    of_lcluster = kind == LCLUSTER
    paid = charged_namespaces(document) if of_lcluster else [document]
    rows = [row for each in paid for row in payments(each, records)]
    if output == "json":
        print(as_json(rows))
    elif output == "csv":
        write_csv(rows, arguments.switch("exact"))
    else:
        print(table(rows, named=of_lcluster), end="")
        _remark(rows)
    return 0


def _records(outbox: Call) -> list[Object] | None:
    """Return the records that wait for the ledger; None if the caller may not see them."""
    reply = outbox.reply()
    if reply.code:
        return None
    items: list[Object] = reply.document().get("items") or []
    return items


def table(rows: Iterable[Payment], named: bool = False) -> str:
    """Return a table for people, the present payment last; long texts are cut.

    `named` puts the namespaces first.
    """
    if named:
        return render(("NAMESPACE", *HEADER), [(row.namespace, *_row(row)) for row in rows])
    return render(HEADER, [_row(row) for row in rows])


def _row(row: Payment) -> tuple[str, ...]:
    labels = ",".join(f"{key}={value}" for key, value in sorted(row.labels.items()))
    since = read_instant(row.since)
    shown = (format_instant(since) if since else "", *row.texts.values(), labels)
    cells = (*shown, row.changed_by, row.why, row.ledger)
    return tuple(shortened(cell) or "<none>" for cell in cells)


def _remark(rows: Sequence[Payment]) -> None:
    states = {row.ledger for row in rows}
    if "due" in states:
        say("due: the controller has not recorded it yet")
    if "waiting" in states:
        say("waiting: it is safe in the cluster until the database has it")
    if "recorded" in states:
        say("recorded: whether the database has it, only who may list billingrecords can see")


def write_csv(rows: Iterable[Payment], exact: bool) -> None:
    """Write CSV in which no spreadsheet runs a formula; with `exact`, unchanged cells."""
    # A terminal would obey control characters of a cell; a file or a pipe gets them unchanged.
    shown = printable if sys.stdout.isatty() else str
    safe = str if exact else harmless
    writer = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([shown(safe(cell)) for cell in cells(row)])


SOURCES = {
    "Explicit": "as asked for",
    "User": "the entry for who asked",
    "Group": "the entry of group {group}",
    "Inherited": "as the LNamespace of the ServiceAccount",
    "Default": "by default",
    "Ambiguous": "by default, several entries fit",
    "Reconcile": "found by comparing",
}
# An apostrophe goes before all that spreadsheets take for a formula, in full width too, and before
# text that has one already: at the beginning of a cell, and after characters that end a cell in
# another language's CSV.
FORMULA = re.compile(
    "^(?='*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"
    "|(?<=[;\t\r\n])(?='*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
)
TEXTS = {
    "cost_center": "costCenter",
    "owner": "owner",
    "team": "team",
    "environment": "environment",
}
COLUMNS = (
    "namespace",
    "valid_from",
    *TEXTS,
    "labels",
    "billing_source",
    "billing_source_group",
    "changed_by",
    "generation",
    "present",
    "ledger",
)


class Payment(NamedTuple):
    """The payer from a moment on.

    `ledger` is `written`, `waiting` for the database, `due` to be recorded by the controller, or
    `recorded` where it may not be asked whether it is written.
    """

    namespace: str
    since: str
    generation: int
    present: bool
    texts: Mapping[str, str]  # by the name of the ledger's column
    labels: Mapping[str, str]
    changed_by: str
    source: str
    group: str
    ledger: str

    @property
    def why(self) -> str:
        """Return the origin of the payment, in words."""
        return SOURCES.get(self.source, self.source).replace("{group}", self.group)


def charged_namespaces(lcluster: Object) -> Iterable[Object]:
    """Yield the namespaces of an LCluster that are in the ledger, as LNamespaces that it pays for.

    The ledger has them so, by their names in the platform's cluster.
    """
    billing, status = lcluster["spec"].get("billing") or {}, lcluster.get("status", {})
    for namespace in status.get("charged") or ():
        metadata = {**lcluster["metadata"], "name": namespace["name"], "uid": namespace.get("uid")}
        spec = {"billing": _billing_since(billing, read_instant(namespace.get("created")))}
        yield {"metadata": metadata, "spec": spec, "status": status}


def _billing_since(billing: Mapping[str, Any], created: datetime | None) -> dict[str, Any]:
    """Return the billing of a namespace, for which nobody paid before it was created."""
    charges = [*(billing.get("superseded") or ()), billing]
    ends = [*(_begin(charge) for charge in charges[1:]), None]
    *former, present = (
        _clipped(charge, created)
        for charge, end in zip(charges, ends, strict=True)
        if not (created and end and end <= created)
    )
    return present | {"superseded": former}


def _clipped(charge: Mapping[str, Any], created: datetime | None) -> dict[str, Any]:
    begin = _begin(charge)
    if not (created and begin and begin < created):
        return dict(charge)
    provenance = charge["provenance"] | {"effectiveAt": format_instant(created)}
    return {**charge, "provenance": provenance}


def _begin(charge: Mapping[str, Any]) -> datetime | None:
    return read_instant((charge.get("provenance") or {}).get("effectiveAt"))


def payments(lns: Object, records: Iterable[Object] | None) -> list[Payment]:
    """Return all payments that are known, the oldest first.

    `records` are the BillingRecords that wait for the ledger, None if the caller may not see them.
    Older payments, which only the ledger has, are shown by `lnamespace ledger`.
    """
    billing = lns["spec"].get("billing") or {}
    recorded = int((lns.get("status", {}).get("recorded") or {}).get("generation") or 0)
    own = [r["spec"] for r in records or () if r["spec"].get("lnamespaceUID") == _uid(lns)]
    paid = [spec for spec in own if spec.get("operation") != "ENDING"]
    name = name_of(lns)
    waiting = {int(spec.get("generation") or 0): _waiting(name, spec) for spec in paid}
    known = [*(billing.get("superseded") or ()), billing]
    for charge in known:
        generation = _generation(charge, lns)
        state = "due" if generation > recorded else "recorded" if records is None else "written"
        if generation in waiting:
            state = "waiting"
        waiting[generation] = _charged(name, charge, generation, charge is billing, state)
    return [waiting[generation] for generation in sorted(waiting)]


def _uid(lns: Object) -> str:
    return str(lns["metadata"].get("uid"))


def _generation(charge: Mapping[str, Any], lns: Object) -> int:
    provenance = charge.get("provenance") or {}
    return int(provenance.get("generation") or lns["metadata"].get("generation") or 0)


def _charged(
    name: str, charge: Mapping[str, Any], generation: int, present: bool, state: str
) -> Payment:
    provenance = charge.get("provenance") or {}
    return Payment(
        name,
        str(provenance.get("effectiveAt") or ""),
        generation,
        present,
        _texts(charge),
        charge.get("labels") or {},
        str(provenance.get("changedBy") or ""),
        str(provenance.get("source") or "Explicit") if provenance else "",
        str(provenance.get("group") or ""),
        state,
    )


def _waiting(name: str, spec: Mapping[str, Any]) -> Payment:
    return Payment(
        name,
        str(spec.get("validFrom") or ""),
        int(spec.get("generation") or 0),
        False,
        _texts(spec),
        spec.get("labels") or {},
        str(spec.get("changedBy") or ""),
        str(spec.get("billingSource") or ""),
        str(spec.get("billingSourceGroup") or ""),
        "waiting",
    )


def _texts(charge: Mapping[str, Any]) -> dict[str, str]:
    return {column: str(charge.get(field) or "") for column, field in TEXTS.items()}


def columns(row: Payment) -> dict[str, Any]:
    """Return a payment by the names that the ledger's columns have, in their order."""
    values = (
        row.namespace,
        row.since,
        *row.texts.values(),
        dict(row.labels),
        row.source,
        row.group,
        row.changed_by,
        row.generation,
        row.present,
        row.ledger,
    )
    return dict(zip(COLUMNS, values, strict=True))


def as_json(rows: Iterable[Payment]) -> str:
    """Return JSON: exact, and in ASCII, because a terminal may act upon other characters."""
    return json.dumps([columns(row) for row in rows], indent=4)


def cells(row: Payment) -> list[str]:
    """Return the columns as text; other values as JSON."""
    return [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for value in columns(row).values()
    ]


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe precedes formulas.

    `lnamespace ledger` does the same; without the apostrophes, the text is the original one.
    """
    return FORMULA.sub("'", text)
