"""Correct an event by hand, by further rows that have who did so and why.

:mod:`lnamespace.ledger.publisher.comparison` corrects the ledger by the cluster. A person must
correct the events of LNamespaces that are gone, and values that were wrong in the cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from typing import Any

import sqlalchemy as sa

from lnamespace.errors import SettingsError
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.queries import intervals
from lnamespace.ledger.database.rows import Row
from lnamespace.ledger.database.table import CLUSTER_COLUMNS, SCHEMA_VERSION, VOID, events_table
from lnamespace.ledger.outbox.record import CORRECTION, BillingOperation, deletion_id


@dataclass(frozen=True)
class Correction:
    """A correction of an event.

    Attributes
    ----------
    at
        When it took effect; None: its time was right.
    payer
        The columns of who pays that were wrong.
    void
        The event did not happen.
    """

    event_id: str
    by: str
    reason: str
    now: datetime
    at: datetime | None = None
    payer: Mapping[str, str] = field(default_factory=dict)
    void: bool = False


def correcting_rows(history: Sequence[Row], request: Correction) -> tuple[Row, ...]:
    """Return the rows that correct an event.

    Parameters
    ----------
    history
        All events of its namespace.

    Raises
    ------
    SettingsError
        It cannot be corrected so; the message says what can be done.
    """
    known = {row["event_id"]: row for row in history}
    wrong = known.get(request.event_id)
    if wrong is None:
        raise SettingsError(
            f"there is no event {request.event_id!r}: lnamespace ledger show -o csv has their ids"
        )
    correction = next((r for r in history if r["corrects"] == request.event_id), None)
    if correction is not None:
        raise SettingsError(
            f"{request.event_id} was corrected before, by {correction['event_id']}: correct that"
        )
    _check(wrong, request)
    if wrong["operation"] == BillingOperation.DELETE:
        return _void(wrong, request), _other_end(wrong, history, request)
    if not request.void:
        return (_instead(wrong, request),)
    if not _is_ended(wrong, history):
        raise SettingsError(
            f"LNamespace {wrong['namespace']} has not ended, so somebody pays for it: say who "
            "(--cost-center), or delete it"
        )
    return (_void(wrong, request),)


def preview(history: Sequence[Row], made: Sequence[Row]) -> list[Row]:
    """Return the intervals of a namespace as they would be with further rows."""
    target = events_table("events")
    trial = Ledger(sa.create_engine("sqlite://", poolclass=sa.StaticPool), target)
    try:
        trial.prepare()
        with trial.engine.begin() as connection:
            connection.execute(target.insert(), [*history, *made])
        return trial.read(intervals(target).order_by("namespace", "valid_from"))
    finally:
        trial.close()


def history_of(ledger: Ledger, event_id: str) -> list[Row]:
    """Return all events of the namespace of an event; empty if there is no such event."""
    events = ledger.events().subquery("events")
    found = ledger.read(sa.select(events).where(events.c.event_id == event_id))
    if not found:
        return []
    here = [events.c[name] == found[0][name] for name in (*CLUSTER_COLUMNS, "namespace")]
    return ledger.read(sa.select(events).where(*here))


def _check(wrong: Row, request: Correction) -> None:
    if not request.by.strip() or not request.reason.strip():
        raise SettingsError("who corrects it, and why, must be said: --by, --reason")
    if wrong["operation"] == VOID:
        raise SettingsError(f"{request.event_id} takes an event back; it cannot be taken back")
    if request.at and request.at > request.now:
        raise SettingsError("--at is in the future")
    if wrong["operation"] != BillingOperation.DELETE:
        if request.void == bool(request.at or request.payer):
            raise SettingsError("say what is so instead (--cost-center ..., --at), or --void")
    elif request.void or request.payer or not request.at:
        raise SettingsError(
            "of an end only its time can be corrected (--at TIME): who is gone does not come back"
        )


def _is_ended(wrong: Row, history: Sequence[Row]) -> bool:
    taken_back = {row["corrects"] for row in history}
    return any(
        row["lnamespace_uid"] == wrong["lnamespace_uid"]
        and row["operation"] == BillingOperation.DELETE
        and row["event_id"] not in taken_back
        for row in history
    )


def _void(wrong: Row, request: Correction) -> Row:
    return _signed(wrong, request) | {"operation": VOID, "event_id": f"{wrong['event_id']}/{VOID}"}


def _instead(wrong: Row, request: Correction) -> Row:
    return _signed(wrong, request) | {
        "operation": BillingOperation.RETRACT.value,
        "event_id": f"{wrong['event_id']}/{BillingOperation.RETRACT}",
        "valid_from": request.at or wrong["valid_from"],
        **request.payer,
    }


def _other_end(wrong: Row, history: Sequence[Row], request: Correction) -> Row:
    """Return the deletion at another time. Its id has the number of deletions before it."""
    uid = wrong["lnamespace_uid"]
    ends = [
        r
        for r in history
        if r["lnamespace_uid"] == uid and r["operation"] == BillingOperation.DELETE
    ]
    return _signed(wrong, request) | {
        "event_id": deletion_id(uid, len(ends)),
        "valid_from": request.at,
        "corrects": None,
    }


def _signed(wrong: Row, request: Correction) -> dict[str, Any]:
    return dict(wrong) | {
        "recorded_at": request.now,
        "changed_by": request.by,
        "billing_source": CORRECTION,
        "billing_source_group": None,
        "operator_version": version("lnamespace"),
        "schema_version": SCHEMA_VERSION,
        "corrects": wrong["event_id"],
        "reason": request.reason,
    }
