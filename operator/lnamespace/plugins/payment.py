"""Who pays for an LNamespace and who did: its spec, and what waits for the ledger. Pure."""

from __future__ import annotations

import json
import re

from lnamespace.plugins.lnamespaces import Object
from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SOURCES = {
    "Explicit": "as asked for",
    "User": "the entry for who asked",
    "Group": "the entry of group {group}",
    "Inherited": "as the LNamespace of the ServiceAccount",
    "Default": "by default",
    "Ambiguous": "by default, several entries fit",
    "Reconcile": "found by comparing",
}
# What spreadsheets take for a formula, in full width too; and what was made harmless before.
FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
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
    """Who pays from a moment on.

    `ledger` is `written`, `waiting` for the database, `due` to be recorded by the controller, or
    `recorded` where it may not be asked whether it is written.
    """

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
        """Where it came from, in words."""
        return SOURCES.get(self.source, self.source).replace("{group}", self.group)


def payments(lns: Object, records: Iterable[Object] | None) -> list[Payment]:
    """All that is known, the oldest first.

    `records` are the BillingRecords that wait for the ledger, None where they may not be seen. What
    the ledger has alone is not among them: that takes `lnamespace ledger`.
    """
    billing = lns["spec"].get("billing") or {}
    recorded = int((lns.get("status", {}).get("recorded") or {}).get("generation") or 0)
    own = [r["spec"] for r in records or () if r["spec"].get("lnamespaceUID") == _uid(lns)]
    paid = [spec for spec in own if spec.get("operation") != "ENDING"]
    waiting = {int(spec.get("generation") or 0): _waiting(spec) for spec in paid}
    known = [*(billing.get("superseded") or ()), billing]
    for charge in known:
        generation = _generation(charge, lns)
        state = "due" if generation > recorded else "recorded" if records is None else "written"
        if generation in waiting:
            state = "waiting"
        waiting[generation] = _charged(charge, generation, charge is billing, state)
    return [waiting[generation] for generation in sorted(waiting)]


def _uid(lns: Object) -> str:
    return str(lns["metadata"].get("uid"))


def _generation(charge: Mapping[str, Any], lns: Object) -> int:
    provenance = charge.get("provenance") or {}
    return int(provenance.get("generation") or lns["metadata"].get("generation") or 0)


def _charged(charge: Mapping[str, Any], generation: int, present: bool, state: str) -> Payment:
    provenance = charge.get("provenance") or {}
    return Payment(
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


def _waiting(spec: Mapping[str, Any]) -> Payment:
    return Payment(
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


def columns(name: str, row: Payment) -> dict[str, Any]:
    """A payment by the names that the ledger's columns have, in their order."""
    values = (
        name,
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


def as_json(name: str, rows: Iterable[Payment]) -> str:
    """For programs: exact, in ASCII, for a terminal may act upon characters beyond it."""
    return json.dumps([columns(name, row) for row in rows], indent=4)


def cells(name: str, row: Payment) -> list[str]:
    """The columns as text, what is no text as JSON."""
    return [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for value in columns(name, row).values()
    ]


def harmless(text: str) -> str:
    """A cell that no spreadsheet runs: with an apostrophe before what begins as a formula does.

    As `lnamespace ledger` does it; whoever takes one apostrophe away again has the text as it was.
    """
    return f"'{text}" if FORMULA.match(text) else text
