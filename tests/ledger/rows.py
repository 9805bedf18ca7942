"""Rows of the ledger, as the publisher makes them of records."""

from datetime import UTC, datetime, timedelta

from lnamespace.ledger.database.table import ClusterIdentity, Row, to_row
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord

START = datetime(2026, 11, 1, tzinfo=UTC)
PLACE = ClusterIdentity("shop-prod", "northamerica-northeast1", "main")


def applied(count: int) -> list[Row]:
    """Return the first events of so many LNamespaces."""
    return [
        event(f"team-{number}", f"uid-{number}", 1, START + timedelta(minutes=number), "4711")
        for number in range(count)
    ]


def event(namespace: str, uid: str, generation: int, at: datetime, cost_center: str) -> Row:
    """From then on that cost centre pays."""
    record = BillingRecord(
        event_id=f"{uid}/{generation}/{BillingOperation.APPLY}",
        operation=BillingOperation.APPLY,
        namespace=namespace,
        lnamespace_uid=uid,
        generation=generation,
        valid_from=at,
        recorded_at=at + timedelta(seconds=1),
        cost_center=cost_center,
    )
    return to_row(record, PLACE)


def ended(namespace: str, uid: str, generation: int, at: datetime, told: datetime) -> Row:
    """From then on nobody pays; the ledger was told when it was ``told``."""
    record = BillingRecord(
        event_id=f"{uid}/{BillingOperation.DELETE}",
        operation=BillingOperation.DELETE,
        namespace=namespace,
        lnamespace_uid=uid,
        generation=generation,
        valid_from=at,
        recorded_at=told,
    )
    return to_row(record, PLACE)
