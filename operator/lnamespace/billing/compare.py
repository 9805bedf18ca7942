"""What the ledger lacks of the cluster, as records to be made; pure.

Whatever is made here has the id that its event would have had, so that to make it while the
controller does, or a second time, is to make nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from lnamespace.billing.ledger import Row, labels_text
from lnamespace.billing.record import (
    RECONCILE,
    BillingRecord,
    Operation,
    come_true,
    end_id,
    found,
    newest,
    since,
)
from lnamespace.model.lnamespace import LNamespace

FIELDS = ("cost_center", "owner", "team", "environment", "labels")
"""What makes a difference."""


@dataclass(frozen=True)
class Differences:
    """Records to be made: events that are missing, changes that nobody told, ends."""

    missing: tuple[BillingRecord, ...] = ()
    changed: tuple[BillingRecord, ...] = ()
    gone: tuple[BillingRecord, ...] = ()

    @property
    def records(self) -> tuple[BillingRecord, ...]:
        """All of them."""
        return self.missing + self.changed + self.gone


@dataclass(frozen=True)
class Listed:
    """What the cluster has: LNamespaces that can be read, the UIDs of all, announced ends by UID.

    The ends are listed last: who is in no list of LNamespaces may have been announced until then.
    """

    readable: tuple[LNamespace, ...]
    uids: frozenset[str]
    announced: Mapping[str, BillingRecord] = field(default_factory=dict)


def differences(rows: Iterable[Row], cluster: Listed, now: datetime) -> Differences:
    """Compare this cluster's open rows with its LNamespaces.

    Read the rows first: what is in them and in no later list of the cluster is gone.
    """
    known = {row["lnamespace_uid"]: row for row in rows}
    missing: list[BillingRecord] = []
    changed: list[BillingRecord] = []
    for lns in cluster.readable:
        row = known.get(lns.uid)
        events = _missing(lns, row, now)
        missing += events
        if row is not None and not events and _differs(lns, row, now):
            changed.append(found(lns, now))
    gone = (_ended(row, cluster, now) for uid, row in known.items() if uid not in cluster.uids)
    return Differences(tuple(missing), tuple(changed), tuple(gone))


def _missing(lns: LNamespace, row: Row | None, now: datetime) -> tuple[BillingRecord, ...]:
    """What the controller has recorded and the ledger does not have.

    What it has not recorded yet it will. What the row is too new for, nobody has to tell.
    """
    recorded = lns.status.recorded.generation
    if recorded == 0:
        return ()
    at = row["generation"] if row else 0
    return tuple(r for r in since(lns, at, now) if r.generation <= recorded)


def _differs(lns: LNamespace, row: Mapping[str, Any], now: datetime) -> bool:
    """Whether somebody changed the billing without the webhook's knowing."""
    if row["generation"] < newest(lns) or row["generation"] >= lns.metadata.generation:
        return False
    present = found(lns, now)
    wanted = msgspec.structs.asdict(present) | {"labels": labels_text(present.labels)}
    return any((row[name] or "") != wanted[name] for name in FIELDS if name in row)


def _ended(row: Mapping[str, Any], cluster: Listed, now: datetime) -> BillingRecord:
    announced = cluster.announced.get(row["lnamespace_uid"])
    return come_true(announced) if announced else ended(row, now)


def ended(row: Mapping[str, Any], now: datetime) -> BillingRecord:
    """That an LNamespace, of which only the ledger knows, is gone; nobody knows since when."""
    return BillingRecord(
        event_id=end_id(row["lnamespace_uid"]),
        operation=Operation.DELETE,
        namespace=row["namespace"],
        lnamespace_uid=row["lnamespace_uid"],
        generation=row["generation"],
        valid_from=now,
        recorded_at=now,
        requester=row.get("requester") or "",
        billing_source=RECONCILE,
        cost_center=row.get("cost_center") or "",
        owner=row.get("owner") or "",
        team=row.get("team") or "",
        environment=row.get("environment") or "",
        labels=labels_of(row.get("labels")),
    )


def labels_of(text: str | None) -> dict[str, str]:
    """Labels from a row; whatever somebody else wrote there must stop nothing."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except msgspec.DecodeError:
        return {}
