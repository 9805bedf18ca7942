"""Everything that can fail does, in no order: the ledger has each event once, and in its place."""

import random
from datetime import timedelta

import pytest
import sqlalchemy as sa
from google.cloud.bigquery.retry import DEFAULT_RETRY
from lnamespace.errors import LedgerError
from lnamespace.ledger.database import bigquery
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import Row
from lnamespace.ledger.publisher.backlog import deliver

from tests.bigquery import QUICK_FAULTS, Fault, Kind, StandIn
from tests.ledger.rows import START, ended, event

NAMESPACES = 60
BATCH = 12

WEATHER = (
    *QUICK_FAULTS,
    Fault(Kind.HANG, seconds=1.5),
    Fault(Kind.LATE, times=3, seconds=1.5),
    Fault(Kind.SLOW, seconds=1.5),
)


@pytest.fixture(autouse=True)
def impatient(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for less long than in earnest."""
    ledger.prepare()
    quick = DEFAULT_RETRY.with_timeout(1.5).with_delay(initial=0.05, maximum=0.2)
    monkeypatch.setattr(bigquery, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(bigquery, "_RETRY", quick)


@pytest.mark.thorough
def test_each_event_is_stored_once_despite_random_faults(service: StandIn, ledger: Ledger) -> None:
    weather, events = random.Random(5), life()
    for start in range(0, len(events), BATCH):
        waiting = {row["event_id"]: row for row in events[start : start + BATCH]}
        while waiting:
            service.faults.add(weather.choice(WEATHER))
            for identity in published(ledger, list(waiting.values())):
                del waiting[identity]
            service.faults.clear()
    service.settle()

    found = [row["event_id"] for row in ledger.read(sa.select(ledger.table.c.event_id))]
    assert sorted(found) == sorted(row["event_id"] for row in events)
    paid: dict[str, list[tuple[object, ...]]] = {}
    for row in ledger.read(ledger.intervals().order_by("valid_from")):
        span = (row["cost_center"], row["valid_from"], row["valid_to"])
        paid.setdefault(row["namespace"], []).append(span)
    first, second, third = (START + timedelta(days=day) for day in range(3))
    spans = [("4711", first, second), ("4712", second, third)]
    assert paid == {f"team-{number}": spans for number in range(NAMESPACES)}


def published(ledger: Ledger, rows: list[Row]) -> tuple[str, ...]:
    """Return what the publisher may strike off after one try."""
    try:
        return deliver(ledger.append, rows).delivered
    except LedgerError:
        return ()


def life() -> list[Row]:
    """Return rows by which all are created, then all move, then all end."""
    first, second, third = (START + timedelta(days=day) for day in range(3))
    numbers = range(NAMESPACES)
    return [
        *(event(f"team-{n}", f"uid-{n}", 1, first, "4711") for n in numbers),
        *(event(f"team-{n}", f"uid-{n}", 2, second, "4712") for n in numbers),
        *(ended(f"team-{n}", f"uid-{n}", 2, third, told=third) for n in numbers),
    ]
