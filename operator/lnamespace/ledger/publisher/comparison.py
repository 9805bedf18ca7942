"""What the ledger lacks of the cluster, as records to be made; pure.

Whatever is made here has the id that its event would have had, so that to make it while the
controller does, or a second time, is to make nothing.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from lnamespace.ledger.database.ledger import Row, labels_text
from lnamespace.ledger.outbox.record import (
    CORRECTION,
    RECONCILE,
    BillingOperation,
    BillingRecord,
    deletion_id,
    newest_generation,
    records_since,
    retraction,
    unseen_change,
)
from lnamespace.model.lnamespace import LNamespace

_NOTHING: Mapping[str, str] = {}

COMPARED_COLUMNS = ("cost_center", "owner", "team", "environment", "labels")
"""What makes a difference."""


LEAST_ENDS = 20
"""So many LNamespaces a comparison may end of however few there are."""

SHARE_OF_ENDS = 0.1
"""Of those that are open; more than that look like another cluster, or a lost or empty etcd."""


@dataclass(frozen=True)
class Differences:
    """Records to be made: events that are missing, changes that nobody told, ends, corrections.

    ``withheld`` are ends that are too many to be believed; ``strangers`` is how many rows of these
    names are another cluster's, or may be.
    """

    missing: tuple[BillingRecord, ...] = ()
    changed: tuple[BillingRecord, ...] = ()
    gone: tuple[BillingRecord, ...] = ()
    reopened: tuple[BillingRecord, ...] = ()
    withheld: tuple[BillingRecord, ...] = ()
    open: int = field(default=0, compare=False)
    strangers: int = 0

    @property
    def kinds(self) -> Mapping[str, tuple[BillingRecord, ...]]:
        """The records to be made, by why."""
        return {
            "missing": self.missing,
            "changed": self.changed,
            "gone": self.gone,
            "reopened": self.reopened,
        }

    @property
    def records(self) -> tuple[BillingRecord, ...]:
        """All of them."""
        return tuple(record for records in self.kinds.values() for record in records)

    @property
    def suspicion(self) -> str:
        """Why ends were withheld, or ""."""
        if not self.withheld:
            return ""
        return (
            f"this comparison would end {len(self.withheld)} of {self.open} LNamespaces: it ends "
            "none. If they are gone: lnamespace ledger reconcile --end-all"
        )


@dataclass(frozen=True)
class ClusterState:
    """What the cluster has: LNamespaces that can be read, the UIDs of all, announced ends by UID.

    The ends are listed last: who is in no list of LNamespaces may have been announced until then.
    """

    readable: tuple[LNamespace, ...]
    uids: frozenset[str]
    announced: Mapping[str, BillingRecord] = field(default_factory=dict)


def find_differences(
    rows: Iterable[Row], cluster: ClusterState, now: datetime, ended: Mapping[str, str] = _NOTHING
) -> Differences:
    """Compare this cluster's open rows with its LNamespaces.

    Read the rows first: what is in them and in no later list of the cluster is gone, but for what
    an announcement tells of, which comes true by itself. ``ended`` are LNamespaces that
    live, as was seen after the ledger was asked, with the ids of the ends that it has of them.
    """
    known = {row["lnamespace_uid"]: row for row in rows}
    missing: list[BillingRecord] = []
    changed: list[BillingRecord] = []
    for lns in cluster.readable:
        row = known.get(lns.uid)
        events = () if lns.uid in ended else _missing(lns, row, now)
        missing += events
        if row is not None and not events and _differs(lns, row, now):
            changed.append(unseen_change(lns, now))
    gone = (
        _deletion_of(row, now)
        for uid, row in known.items()
        if uid not in cluster.uids and uid not in cluster.announced
    )
    reopened = (
        retraction(lns, ended[lns.uid], now) for lns in cluster.readable if lns.uid in ended
    )
    return Differences(
        tuple(missing), tuple(changed), tuple(gone), tuple(reopened), open=len(known)
    )


def withhold_excess(found: Differences) -> Differences:
    """Withhold all ends where they are too many to be believed."""
    most = max(LEAST_ENDS, int(SHARE_OF_ENDS * found.open))
    if len(found.gone) <= most:
        return found
    return replace(found, gone=(), withheld=found.gone)


def rows_of_cluster(
    rows: Iterable[Row], cluster_uid: str, living: Container[str], former: Container[str] = ()
) -> tuple[list[Row], int]:
    """Return the rows that are of this cluster, and how many of its names are not.

    Rows from before they had an identity are ours if more than half of the LNamespaces that they
    are of live here; else another cluster of these names may have written them. ``former`` are
    identities of clusters that an administrator says are gone; "" is that of rows without one.
    """
    rows = list(rows)
    nameless = [row for row in rows if not row["cluster_uid"]]
    alive = [row for row in nameless if row["lnamespace_uid"] in living]
    adopted = "" in former or 2 * len(alive) > len(nameless)
    mine = [
        row
        for row in rows
        if row["cluster_uid"] == cluster_uid
        or row["lnamespace_uid"] in living
        or (adopted if not row["cluster_uid"] else row["cluster_uid"] in former)
    ]
    return mine, len(rows) - len(mine)


def _missing(lns: LNamespace, row: Row | None, now: datetime) -> tuple[BillingRecord, ...]:
    """What the controller has recorded and the ledger does not have.

    What it has not recorded yet it will. What the row is too new for, nobody has to tell.
    """
    recorded = lns.status.recorded.generation
    if recorded == 0:
        return ()
    at = row["generation"] if row else 0
    return tuple(r for r in records_since(lns, at, now) if r.generation <= recorded)


def _differs(lns: LNamespace, row: Mapping[str, Any], now: datetime) -> bool:
    """Whether somebody changed the billing without the webhook's knowing.

    What was corrected by hand differs from the cluster, and holds until the next change of it.
    """
    if row.get("billing_source") == CORRECTION:
        return False
    if row["generation"] < newest_generation(lns) or row["generation"] >= lns.metadata.generation:
        return False
    present = unseen_change(lns, now)
    wanted = msgspec.structs.asdict(present) | {"labels": labels_text(present.labels)}
    return any((row[name] or "") != wanted[name] for name in COMPARED_COLUMNS if name in row)


def _deletion_of(row: Mapping[str, Any], now: datetime) -> BillingRecord:
    """That an LNamespace, of which only the ledger knows, is gone; nobody knows since when."""
    return BillingRecord(
        event_id=deletion_id(row["lnamespace_uid"]),
        operation=BillingOperation.DELETE,
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
