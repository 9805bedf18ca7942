"""The records of the end of an LNamespace: requested, held by a finalizer, and done. Pure."""

from datetime import UTC, datetime

import msgspec

from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord, apply_record
from lnamespace.model.lnamespace import LNamespace


def deletion(lns: LNamespace, now: datetime) -> BillingRecord:
    """Return the record that an LNamespace and its Namespace are gone.

    An LNamespace is deleted once, so that all processes that record it create one record, whatever
    generation they last saw.

    Parameters
    ----------
    lns
        The LNamespace as it was last seen.
    now
        When they were seen to be gone, and not when the deletion was requested: a Namespace that
        waits for a finalizer still costs. The record takes effect then, but not before the last
        change as it is recorded, because clocks differ.
    """
    last = apply_record(lns, lns.spec.billing, now)
    return msgspec.structs.replace(
        last,
        event_id=deletion_id(lns.uid),
        operation=BillingOperation.DELETE,
        generation=lns.metadata.generation,
        valid_from=max(last.valid_from, now.astimezone(UTC)),
        changed_by="",  # Only the audit log knows who deleted it.
    )


def pending_deletion(lns: LNamespace, now: datetime) -> BillingRecord:
    """Return the ENDING of an LNamespace that somebody asked to delete.

    There is one for each generation, so that many requests create one.
    """
    return as_pending(deletion(lns, now))


def as_pending(deleted: BillingRecord) -> BillingRecord:
    """Return the ENDING for a deletion that is not complete: its Namespace still exists."""
    return msgspec.structs.replace(
        deleted,
        event_id=f"{deleted.lnamespace_uid}/{deleted.generation}/{BillingOperation.ENDING}",
        operation=BillingOperation.ENDING,
    )


def as_held(pending: BillingRecord, now: datetime) -> BillingRecord:
    """Return the ENDING of a deletion that takes long, because a finalizer holds it.

    Its id is that of the request's ENDING with a suffix.
    """
    return msgspec.structs.replace(
        pending, event_id=f"{pending.event_id}/{BillingOperation.ENDING}", recorded_at=now
    )


def is_held(pending: BillingRecord) -> bool:
    """Return whether an ENDING says that the deletion takes long."""
    return pending.event_id.count(f"/{BillingOperation.ENDING}") > 1


def as_deleted(pending: BillingRecord, gone: datetime | None = None) -> BillingRecord:
    """Return the deletion that an ENDING has become; the same event as :func:`deletion`.

    Parameters
    ----------
    pending
        The ENDING.
    gone
        When the Namespace was seen to be gone, if it was seen to exist after the ENDING. None
        means that it was never seen, and that the deletion took effect when the ENDING says.
    """
    return msgspec.structs.replace(
        pending,
        event_id=deletion_id(pending.lnamespace_uid),
        operation=BillingOperation.DELETE,
        valid_from=max(gone, pending.valid_from) if gone else pending.valid_from,
    )


def deletion_id(uid: str, retractions: int = 0) -> str:
    """Return the id of the deletion of an LNamespace, after a number of retractions."""
    return f"{uid}/{BillingOperation.DELETE}" + (f"/{retractions}" if retractions else "")
