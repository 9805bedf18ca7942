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

from lnamespace.errors import OptionError, SettingsError
from lnamespace.kube.times import format_time
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.queries import intervals
from lnamespace.ledger.database.table import (
    CLUSTER_COLUMNS,
    SCHEMA_VERSION,
    VOID,
    Row,
    events_table,
)
from lnamespace.ledger.outbox.endings import deletion_id
from lnamespace.ledger.outbox.record import CORRECTION, BillingOperation


@dataclass(frozen=True)
class Correction:
    """A correction of an event.

    Attributes
    ----------
    at
        When the event took effect; None if its time was right.
    payer
        The columns of who pays that were wrong.
    void
        Whether the event did not happen.
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
        The event cannot be corrected so; the message says what can be done.
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


def effect(
    history: Sequence[Row], made: Sequence[Row], request: Correction
) -> tuple[list[Row], list[Row]]:
    """Return the intervals of a namespace before a correction and after it.

    Raises
    ------
    SettingsError
        The correction would do something else than it says; the message says what, and which
        times are free.
    """
    before, after = preview(history, ()), preview(history, made)
    problem = _closed(before, after)
    if request.at:
        problem = problem or _displaced(history, before, after, request.event_id)
        problem = problem or _ineffective(after, made[-1], request)
    if problem:
        raise SettingsError(f"{problem}{_free_times(before, made[-1], request)}")
    return before, after


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
        raise OptionError("who corrects it, and why, must be said: --by, --reason")
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


def _closed(before: Sequence[Row], after: Sequence[Row]) -> str:
    """Return that a living LNamespace would have no payer; empty if each has one."""
    open_ = {row["lnamespace_uid"] for row in after if row["valid_to"] is None}
    lost = (row["lnamespace_uid"] for row in before if row["valid_to"] is None)
    uid = next((uid for uid in lost if uid not in open_), None)
    return f"nobody would pay any more for LNamespace {uid}, which has not ended" if uid else ""


def _displaced(
    history: Sequence[Row], before: Sequence[Row], after: Sequence[Row], corrected: str
) -> str:
    """Return which other event would lose its interval or begin at another time; empty if none.

    One may come to begin at its own time: a wrong correction that moved it can be corrected.
    """
    own = {row["event_id"]: row["valid_from"] for row in history}
    begins = {row["event_id"]: row["valid_from"] for row in after}
    for event, begun in ((row["event_id"], row["valid_from"]) for row in before):
        if event == corrected:
            continue
        if event not in begins:
            return f"{event} would have no time left"
        if begins[event] not in (begun, own[event]):
            return f"{event} would begin at {format_time(begins[event])}"
    return ""


def _ineffective(after: Sequence[Row], new: Row, request: Correction) -> str:
    """Return that nothing would begin or end at the time that is asked for; empty if it would."""
    if new["operation"] == BillingOperation.DELETE:
        times = [r["valid_to"] for r in after if r["lnamespace_uid"] == new["lnamespace_uid"]]
    else:
        times = [r["valid_from"] for r in after if r["event_id"] == new["event_id"]]
    return "" if request.at in times else f"{request.event_id} would not take effect then"


def _free_times(before: Sequence[Row], new: Row, request: Correction) -> str:
    """Return between which times an event may be moved; empty if none are known.

    An event lies between the start of the interval before its own and the end of its own; an end
    between the start of the interval that it ends and that of the next.
    """
    is_end = new["operation"] == BillingOperation.DELETE
    name = "lnamespace_uid" if is_end else "event_id"
    value = new["lnamespace_uid"] if is_end else request.event_id
    own = next((row for row in reversed(before) if row[name] == value), None)
    if own is None or not request.at:
        return ""
    here = [row for row in before if row["cluster_uid"] == own["cluster_uid"]]
    first = here.index(own) - (0 if is_end else 1)
    next_start = here[first + 1]["valid_from"] if first + 1 < len(here) else None
    earliest = here[first]["valid_from"] if first >= 0 else None
    latest = next_start if is_end else own["valid_to"]
    words = (("after", earliest), ("before", latest))
    bounds = [f"{word} {format_time(moment)}" for word, moment in words if moment]
    return f"; --at may lie {' and '.join(bounds)}" if bounds else ""


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
