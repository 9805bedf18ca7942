"""However BigQuery fails, the ledger holds each event exactly once, and nobody waits long."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import pytest
import sqlalchemy as sa
from google.api_core.retry import Retry
from google.cloud.bigquery.retry import DEFAULT_RETRY
from lnamespace.errors import LedgerError, LedgerMisconfigured, LedgerUnavailable, RowsRefused
from lnamespace.ledger.database import bigquery
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.queries import events
from lnamespace.ledger.database.table import Row
from lnamespace.ledger.publisher.backlog import deliver

from tests.bigquery import Fault, Kind, StandIn
from tests.ledger.rows import applied

REQUEST_SECONDS = 1.0
RETRY_SECONDS = 1.5
PATIENT_SECONDS = 60.0
"""Where an answer comes in the end: on a busy machine it is late, and asked for again."""

LONGEST = 90.0
"""For one append: the retries, the last of which may start just before they end, and slack."""

WRITES = "POST /bigquery/v2/projects/fin-ops/queries"
INSERT = "INSERT"


@pytest.fixture(autouse=True)
def prepared(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ledger wait for less long, and the faults meet rows, not the making of the table."""
    ledger.prepare()
    monkeypatch.setattr(bigquery, "REQUEST_SECONDS", REQUEST_SECONDS)
    monkeypatch.setattr(bigquery, "_RETRY", retry(PATIENT_SECONDS))


def retry(seconds: float) -> Retry:
    return DEFAULT_RETRY.with_timeout(seconds).with_delay(initial=0.05, maximum=0.2)


@contextmanager
def giving_up_soon() -> Iterator[None]:
    """Let the ledger not try for long what cannot succeed."""
    with pytest.MonkeyPatch.context() as meanwhile:
        meanwhile.setattr(bigquery, "_RETRY", retry(RETRY_SECONDS))
        yield


@dataclass(frozen=True)
class Case:
    """A fault, and what it does to an append: the error, or that it passes unnoticed."""

    fault: Fault
    error: type[LedgerError] | None
    stored: bool
    """Whether the rows are there although there was an error."""


def fault(kind: Kind, times: int = 1, **options: object) -> Fault:
    return Fault(kind, where=WRITES, containing=INSERT, times=times, **options)  # type: ignore[arg-type]


def error(status: int, reason: str, times: int = 0) -> Fault:
    return fault(Kind.ERROR, times, status=status, reason=reason)


CASES = {
    "503 twice": Case(error(503, "backendError", 2), None, stored=True),
    "503 for ever": Case(error(503, "backendError"), LedgerUnavailable, stored=False),
    "500 for ever": Case(error(500, "internalError"), LedgerUnavailable, stored=False),
    "502 of a proxy": Case(error(502, "badGateway"), LedgerUnavailable, stored=False),
    "429": Case(error(429, "rateLimitExceeded", 1), None, stored=True),
    "rate, once": Case(error(403, "rateLimitExceeded", 1), None, stored=True),
    "rate, for ever": Case(error(403, "rateLimitExceeded"), LedgerUnavailable, stored=False),
    "job rate": Case(error(400, "jobRateLimitExceeded"), LedgerUnavailable, stored=False),
    "quota used up": Case(error(403, "quotaExceeded"), LedgerMisconfigured, stored=False),
    "no access": Case(error(403, "accessDenied"), LedgerMisconfigured, stored=False),
    "no table": Case(error(404, "notFound"), LedgerMisconfigured, stored=False),
    "bad rows": Case(error(400, "invalidQuery"), RowsRefused, stored=False),
    "too large": Case(error(413, "uploadTooLarge"), RowsRefused, stored=False),
    "lost before": Case(fault(Kind.LOST_BEFORE), None, stored=True),
    "lost before, for ever": Case(fault(Kind.LOST_BEFORE, 0), LedgerUnavailable, stored=False),
    "lost after": Case(fault(Kind.LOST_AFTER), None, stored=True),
    "lost after, for ever": Case(fault(Kind.LOST_AFTER, 0), LedgerUnavailable, stored=True),
    "cut": Case(fault(Kind.CUT), None, stored=True),
    "cut, for ever": Case(fault(Kind.CUT, 0), LedgerUnavailable, stored=True),
    "garbage": Case(fault(Kind.GARBAGE), LedgerUnavailable, stored=True),
    "hangs once": Case(fault(Kind.HANG, seconds=2.0), None, stored=True),
    "hangs for ever": Case(fault(Kind.HANG, 0, seconds=2.0), LedgerUnavailable, stored=False),
    "slow": Case(fault(Kind.SLOW, seconds=0.3), None, stored=True),
    "too slow, for ever": Case(fault(Kind.SLOW, 0, seconds=1.5), LedgerUnavailable, stored=True),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_fault_loses_and_duplicates_no_event(
    service: StandIn, ledger: Ledger, case: Case
) -> None:
    batch = applied(5)
    ledger.append(batch[:2])
    service.faults.add(case.fault)

    started = time.monotonic()
    raised: LedgerError | None = None
    try:
        with giving_up_soon() if case.error is LedgerUnavailable else nullcontext():
            ledger.append(batch)
    except LedgerError as found:
        raised = found
    assert time.monotonic() - started < LONGEST
    assert type(raised) is (case.error or type(None)), raised

    service.faults.clear()
    if not case.error:
        assert stored(ledger) == identities(batch)
    elif not case.stored:
        assert stored(ledger) == identities(batch[:2])
    ledger.append(batch)
    service.settle()
    assert stored(ledger) == identities(batch)


def test_a_batch_completed_after_the_client_gave_up_is_stored_once(
    service: StandIn, ledger: Ledger
) -> None:
    """The request hangs, the client gives up, the batch is sent again, and then both are done."""
    batch = applied(5)
    late = RETRY_SECONDS + REQUEST_SECONDS + 0.5
    service.faults.add(fault(Kind.LATE, times=0, seconds=late))
    with giving_up_soon(), pytest.raises(LedgerUnavailable):
        ledger.append(batch)
    tried = len(service.faults.requests(WRITES))
    service.faults.clear()
    ledger.append(batch)
    service.settle()
    assert tried > 1
    assert stored(ledger) == identities(batch)


def test_an_expired_request_id_causes_no_duplicates(service: StandIn, ledger: Ledger) -> None:
    """Its memory is fifteen minutes; an outage can be longer."""
    batch = applied(5)
    service.faults.add(fault(Kind.LOST_AFTER, times=0))
    with giving_up_soon(), pytest.raises(LedgerUnavailable):
        ledger.append(batch)
    service.faults.clear()
    assert ledger.append(batch) == 0
    assert stored(ledger) == identities(batch)


def test_a_rejected_row_is_found_by_bisection(service: StandIn, ledger: Ledger) -> None:
    batch = applied(9)
    batch[6]["owner"] = "poison"
    service.faults.add(
        Fault(Kind.ERROR, WRITES, "poison", times=0, status=400, reason="invalidQuery")
    )
    delivery = deliver(ledger.append, batch)
    assert [identity for identity, _ in delivery.refused] == [batch[6]["event_id"]]
    assert stored(ledger) == sorted(delivery.delivered) == identities(batch[:6] + batch[7:])


def test_an_unreachable_service_is_reported_at_once(service: StandIn, ledger: Ledger) -> None:
    service.stop()
    started = time.monotonic()
    with giving_up_soon(), pytest.raises(LedgerUnavailable):
        ledger.append(applied(1))
    assert time.monotonic() - started < LONGEST


def test_an_event_written_by_two_publishers_is_read_once(ledger: Ledger) -> None:
    """There must be one; while its lease moves there may be two, and no key stops them."""
    batch = applied(3)
    with ledger.engine.connect() as connection:
        for _ in range(2):
            connection.execute(ledger.table.insert().values(batch))
    assert stored(ledger) == sorted(identities(batch) * 2)
    assert sorted(row["event_id"] for row in ledger.read(events(ledger.table))) == identities(batch)
    assert len(ledger.read(ledger.intervals())) == len(batch)


def stored(ledger: Ledger) -> list[str]:
    """Return the event of each row that is really there."""
    found = ledger.read(sa.select(ledger.table.c.event_id))
    return sorted(row["event_id"] for row in found)


def identities(batch: list[Row]) -> list[str]:
    return sorted(row["event_id"] for row in batch)
