"""Compare the ledger with the cluster: which records are missing. Pure.

A record has the id of its event, so that nothing is recorded twice if the controller creates the
same record, or the comparison runs again.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from lnamespace.ledger.database.table import Row, labels_of, labels_text
from lnamespace.ledger.outbox.endings import deletion_id
from lnamespace.ledger.outbox.record import (
    CORRECTION,
    RECONCILE,
    BillingOperation,
    BillingRecord,
    effective_at,
    following_change,
    newest_generation,
    recorded_since,
    retraction,
    unseen_change,
)
from lnamespace.model.billing import BILLING_TEXTS
from lnamespace.model.lnamespace import LNamespace

_NOTHING: Mapping[str, str] = {}
_NO_ROWS: Mapping[str, Row] = {}

STARTS = (BillingOperation.APPLY, BillingOperation.RETRACT)
"""The operations from which on somebody pays."""

COMPARED_COLUMNS = (*BILLING_TEXTS.values(), "labels")
"""The columns in which the ledger must agree with the cluster."""


LEAST_ENDS = 20
"""The number of LNamespaces that a comparison may end however few are open."""

SHARE_OF_ENDS = 0.1
"""The share of the open LNamespaces that a comparison may end. More deletions look like another
cluster of these names, or a lost etcd."""


@dataclass(frozen=True)
class Differences:
    """The records that are to be created.

    Attributes
    ----------
    missing
        Events that the controller recorded and the ledger lacks.
    changed
        Changes of the billing that no webhook saw.
    gone
        Deletions of LNamespaces that the cluster does not have.
    reopened
        Retractions of deletions of LNamespaces that exist.
    withheld
        Deletions that are too many to be believed; see :func:`withhold_excess`.
    open
        The number of LNamespaces that are open in the ledger.
    strangers
        The number of rows of these names that are another cluster's, or may be.
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
        """Return the records to be created, by the reason."""
        return {
            "missing": self.missing,
            "changed": self.changed,
            "gone": self.gone,
            "reopened": self.reopened,
        }

    @property
    def records(self) -> tuple[BillingRecord, ...]:
        """Return the records to be created."""
        return tuple(record for records in self.kinds.values() for record in records)

    @property
    def suspicion(self) -> str:
        """Return why deletions were withheld; empty if all were made."""
        if not self.withheld:
            return ""
        return (
            f"this comparison would end {len(self.withheld)} of {self.open} LNamespaces: it ends "
            "none. If they are gone: lnamespace ledger reconcile --end-all"
        )


@dataclass(frozen=True)
class ClusterState:
    """The LNamespaces and charges of the cluster.

    Attributes
    ----------
    readable
        The LNamespaces that do not break their schema.
    uids
        The UIDs of all LNamespaces.
    pending
        The ENDINGs by UID. They are listed after the LNamespaces: one that was deleted before its
        page of that list has had its ENDING before this one.
    """

    readable: tuple[LNamespace, ...]
    uids: frozenset[str]
    pending: Mapping[str, BillingRecord] = field(default_factory=dict)


def find_differences(
    rows: Iterable[Row],
    cluster: ClusterState,
    now: datetime,
    ended: Mapping[str, str] = _NOTHING,
    uncorrected: Mapping[str, Row] = _NO_ROWS,
    renamed: Mapping[str, Row] = _NO_ROWS,
) -> Differences:
    """Compare this cluster's open rows with its LNamespaces.

    Parameters
    ----------
    rows
        The open rows, read before the cluster was listed: an LNamespace that is in them and in no
        later list is gone. If it has an ENDING, :mod:`~.pending_deletions` completes it.
    ended
        The ids of the deletions in the ledger of LNamespaces that exist, by UID.
    uncorrected
        The rows before their correction by hand, by UID; see :func:`before_corrections`.
    renamed
        The newest rows of LNamespaces, by UID, that the ledger has under other names of the
        cluster; see :func:`rows_of_other_names`.
    """
    known = {row["lnamespace_uid"]: row for row in rows}
    missing: list[BillingRecord] = []
    changed: list[BillingRecord] = []
    for lns in cluster.readable:
        row = renamed.get(lns.uid) or known.get(lns.uid)
        at = row["generation"] if row else 0  # What was before the row is in the ledger.
        events = () if lns.uid in ended else recorded_since(lns, at, now)
        missing += events
        if row is None or events:
            continue
        if lns.uid in renamed or _differs(lns, uncorrected.get(lns.uid, row), now):
            changed.append(_change_since(lns, row, now))
    gone = (
        _deletion_of(row, now)
        for uid, row in known.items()
        if uid not in cluster.uids and uid not in cluster.pending
    )
    reopened = (
        retraction(lns, ended[lns.uid], now) for lns in cluster.readable if lns.uid in ended
    )
    return Differences(
        tuple(missing), tuple(changed), tuple(gone), tuple(reopened), open=len(known)
    )


def is_corrected(row: Mapping[str, Any]) -> bool:
    """Return whether somebody corrected a row by hand."""
    return bool(row.get("billing_source") == CORRECTION)


def before_corrections(rows: Iterable[Row], history: Iterable[Row]) -> dict[str, Row]:
    """Return the rows before they were corrected by hand, by the UID of the LNamespace.

    A correction differs from the cluster and holds until the next change. The row before it agrees
    with the cluster as it was then: if the cluster differs from that row now, it has changed.

    Parameters
    ----------
    history
        All rows of the LNamespaces that have such a row.
    """
    known = {row["event_id"]: row for row in history}
    found: dict[str, Row] = {}
    for row in rows:
        first: Row | None = row
        while first is not None and is_corrected(first):
            # Each row once: other writers may have rows that correct each other.
            first = known.pop(first.get("corrects"), None)
        if first is not None and first is not row:
            found[row["lnamespace_uid"]] = {name: first[name] for name in row}
    return found


def rows_of_other_names(history: Iterable[Row], names: Mapping[str, str]) -> dict[str, Row]:
    """Return the newest row of each LNamespace, by UID, where it is under other names.

    Somebody changed ``--cluster-name``, ``--project-id`` or ``--cluster-location`` while it lives.

    Parameters
    ----------
    history
        All rows of LNamespaces of which something is missing under these names.
    names
        The cluster's names, by the ledger's columns.
    """
    starts = (row for row in history if row["operation"] in STARTS)
    ordered = sorted(starts, key=lambda r: (r["generation"], r["operation"], r["valid_from"]))
    newest = {row["lnamespace_uid"]: row for row in ordered}
    return {uid: row for uid, row in newest.items() if not _is_named(row, names)}


def _is_named(row: Row, names: Mapping[str, str]) -> bool:
    return all((row[name] or "") == value for name, value in names.items())


def withhold_excess(found: Differences) -> Differences:
    """Withhold all deletions if they are too many to be believed."""
    most = max(LEAST_ENDS, int(SHARE_OF_ENDS * found.open))
    if len(found.gone) <= most:
        return found
    return replace(found, gone=(), withheld=found.gone)


def rows_of_cluster(
    rows: Iterable[Row], cluster_uid: str, living: Container[str], former: Container[str] = ()
) -> tuple[list[Row], int]:
    """Return the rows of this cluster, and how many rows of the same names are not.

    Rows without a ``cluster_uid``, from a table that lacks the column, are this cluster's if more
    than half of their LNamespaces exist here; if not, another cluster of these names may have
    written them.

    Parameters
    ----------
    living
        The UIDs of the LNamespaces that exist here.
    former
        The UIDs of clusters that an administrator says are gone; "" stands for rows without one.
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


def _differs(lns: LNamespace, row: Mapping[str, Any], now: datetime) -> bool:
    """Return whether the billing was changed and no webhook saw it.

    The answer is False for a row that was corrected by hand, if its original is not known.
    """
    if is_corrected(row) or row["generation"] < newest_generation(lns):
        return False
    present = unseen_change(lns, now)
    wanted = msgspec.structs.asdict(present) | {"labels": labels_text(present.labels)}
    if all((row[name] or "") == wanted[name] for name in COMPARED_COLUMNS if name in row):
        return False
    return row["generation"] < lns.metadata.generation or _is_restored(lns, row, now)


def _is_restored(lns: LNamespace, row: Mapping[str, Any], now: datetime) -> bool:
    """Return whether the row is of a state that this LNamespace has never had.

    Generations only grow, and each has one payer. A restore of etcd takes them back, and the next
    change has the generation, and so the event's id, of another one.
    """
    since = effective_at(lns, now)
    return row["generation"] > lns.metadata.generation or bool(since and since > row["valid_from"])


def _change_since(lns: LNamespace, row: Mapping[str, Any], now: datetime) -> BillingRecord:
    """Return the record of the present billing, which is to follow a row.

    It takes effect when the webhook saw it, if that was after the row. A RETRACT is the last event
    of its generation in the views; the record has the next one then.
    """
    if row["generation"] < lns.metadata.generation:
        return unseen_change(lns, now)
    since, generation = effective_at(lns, now), row["generation"]
    if row["operation"] == BillingOperation.RETRACT:
        generation += 1
    begun = since if since and since > row["valid_from"] else now
    return following_change(lns, row["event_id"], generation, begun, now)


def _deletion_of(row: Mapping[str, Any], now: datetime) -> BillingRecord:
    """Return the deletion of an LNamespace that only the ledger has. Its time is not known."""
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
        **{name: row.get(name) or "" for name in BILLING_TEXTS.values()},
        labels=labels_of(row.get("labels")),
    )
