"""Records reach the ledger once, whatever fails, and leave the outbox when they have."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from lnamespace.errors import LedgerMisconfigured, LedgerUnavailable, SettingsError
from lnamespace.kube.backoff import Backoff
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import CLUSTER_COLUMNS
from lnamespace.ledger.outbox.client import QueuedRecord
from lnamespace.ledger.outbox.endings import pending_deletion
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord
from lnamespace.ledger.publisher import backlog
from lnamespace.ledger.publisher import pending_deletions as announcements
from lnamespace.ledger.publisher import process as module
from lnamespace.ledger.publisher.backlog import Backlog
from lnamespace.ledger.publisher.process import Publisher
from lnamespace.ledger.publisher.reconciliation import cluster_of
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status
from lnamespace.settings import Settings

from tests.unit.support.ledger_contract import applied, day, ended
from tests.unit.support.outbox_server import OutboxServer, outbox_server
from tests.unit.support.server import client_of


def event(uid: str, generation: int = 1, cost_center: str = "1") -> BillingRecord:
    return BillingRecord(
        f"{uid}/{generation}/APPLY",
        BillingOperation.APPLY,
        "team-a",
        uid,
        generation,
        day(generation),
        day(generation),
        cost_center=cost_center,
    )


def lnamespace(uid: str) -> LNamespace:
    """One that the controller has recorded."""
    origin = Provenance(1, day(1), BillingSource.EXPLICIT)
    return LNamespace(
        Metadata("team-a", uid, generation=1),
        Spec(billing=Billing(cost_center="1", provenance=origin)),
        Status(recorded=Recorded(1)),
    )


def settings_of(folder: Path, **fields: int) -> Settings:
    return Settings(ledger_url=f"sqlite:///{folder}/ledger.db", **fields)  # type: ignore[arg-type]


class Database(Ledger):
    """A real ledger that fails when told to."""

    failing: Exception | None = None
    poison = ""
    writes = 0
    meanwhile: Callable[[], None] | None = None
    """What happens once, while a batch is written."""

    def fail(self, _: object, __: object, statement: str, parameters: object, *___: object) -> None:
        if statement.startswith("INSERT"):
            self.writes += 1
            if self.meanwhile:
                self.meanwhile()
                self.meanwhile = None
            if self.failing:
                raise self.failing
            if self.poison and self.poison in str(parameters):
                raise ValueError("poison")

    def ids(self) -> list[str]:
        return sorted(found["event_id"] for found in self.read(sa.select(self.table)))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Database]:
    made = Database.from_settings(settings_of(tmp_path))
    assert isinstance(made, Database)
    made.prepare()
    sa.event.listen(made.engine, "before_cursor_execute", made.fail)
    yield made
    made.close()


@pytest.fixture
async def server() -> AsyncIterator[OutboxServer]:
    async with outbox_server() as made:
        yield made


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", Backoff(0.01, 0.02))


@asynccontextmanager
async def publishing(
    server: OutboxServer, ledger: Ledger, folder: Path, **fields: int
) -> AsyncIterator[Publisher]:
    stop = asyncio.Event()
    async with client_of(server.url) as client:
        made = Publisher(client, ledger, settings_of(folder, **fields))
        work = asyncio.create_task(made.run(stop))
        try:
            yield made
        finally:
            stop.set()
            await work


def present(server: OutboxServer, *uids: str) -> None:
    server.lnamespaces = [lnamespace(uid) for uid in uids]


async def test_a_record_becomes_a_row_and_is_deleted(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path) as made:
        await server.until(lambda: not server.records)
        assert made.problem() is None
    assert ledger.ids() == ["a/1/APPLY"]


async def test_records_that_arrive_together_are_written_in_one_batch(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path, flush_seconds=2):
        await server.until(lambda: not server.records)
        server.add(event("b"))
        server.add(event("c"))
        await server.until(lambda: not server.records)
    assert ledger.writes == 2


async def test_full_batches_are_written_without_a_pause(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, *map(str, range(30)))
    server.add(*(event(str(number)) for number in range(30)))
    async with publishing(server, ledger, tmp_path, batch_size=10):
        await server.until(lambda: not server.records)
    assert (len(ledger.ids()), ledger.writes) == (30, 3)


async def test_records_stay_in_the_outbox_while_the_database_is_down(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    ledger.failing = LedgerUnavailable("down")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path) as made:
        await server.until(lambda: ledger.writes > 3)
        assert made.problem() == "the ledger: down"
        assert len(server.records) == 1
        ledger.failing = None
        await server.until(lambda: not server.records)
        assert made.problem() is None
    assert ledger.ids() == ["a/1/APPLY"]


async def test_a_row_written_before_a_restart_is_not_written_twice(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: not server.records)
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path) as again:
        await server.until(lambda: not server.records)
        assert "rows_known_total 1.0" in again.measure().decode()
    assert ledger.ids() == ["a/1/APPLY"]


async def test_a_refused_record_does_not_block_others_and_is_retried(
    server: OutboxServer,
    ledger: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(backlog, "PARKING", Backoff(0.05, 0.1))
    monkeypatch.setattr(module, "UNPARK_SECONDS", 0.05)
    ledger.poison = "arsenic"
    present(server, "a", "b", "c", "d")
    server.add(event("a"), event("b", cost_center="arsenic"), event("c"), event("d"))
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: len(server.records) == 1)
        assert ledger.ids() == ["a/1/APPLY", "c/1/APPLY", "d/1/APPLY"]
        assert "parked_records" in made.measure().decode()
        ledger.poison = ""
        await server.until(lambda: not server.records)
    assert "the ledger refuses a record" in caplog.text


async def test_an_unreadable_record_does_not_block_others(
    server: OutboxServer, ledger: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    present(server, "a", "b")
    server.add(event("a"), event("b"))
    server.records["a.1.apply"]["spec"]["validFrom"] = "yesterday"
    async with publishing(server, ledger, tmp_path) as made:
        await server.until(lambda: list(server.records) == ["a.1.apply"])
        made.backlog.unpark()
        assert "parked_records 1.0" in made.measure().decode()
    assert "b/1/APPLY" in ledger.ids()
    assert "a record cannot be read" in caplog.text


async def test_a_failed_deletion_of_a_record_is_retried(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    server.refuse_deletes = 2
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: not server.records)
    assert ledger.writes == 1


async def test_a_row_that_is_missing_is_recorded_again(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    async with publishing(server, ledger, tmp_path) as made:
        await server.until(lambda: ledger.ids() == ["a/1/APPLY"])
        assert 'drift_total{kind="missing"} 1.0' in made.measure().decode()


async def test_a_repaired_difference_is_no_longer_counted(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    """The alert stayed for a day after one row had been found missing and was written."""
    present(server, "a")
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: ledger.ids() == ["a/1/APPLY"])
        await server.until(lambda: 'ledger_differences{kind="missing"} 0.0' in metrics_of(made))
        assert 'drift_total{kind="missing"} 1.0' in metrics_of(made)


async def test_a_difference_that_cannot_be_repaired_is_counted(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    ledger.poison = "a/1/APPLY"
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: "parked_records 1.0" in metrics_of(made))
        assert 'drift_total{kind="missing"} 1.0' in metrics_of(made)
    assert not ledger.ids()


def metrics_of(made: Publisher) -> str:
    return made.measure().decode()


async def test_a_deletion_during_an_outage_is_recorded(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: not server.records)
    present(server)
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: "a/DELETE" in ledger.ids())


async def test_a_pending_deletion_is_written_only_when_the_deletion_is_complete(
    server: OutboxServer, ledger: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcements, "POLL_SECONDS", 0.01)
    present(server, "a")
    server.add(event("a"), pending_deletion(lnamespace("a"), day(3)))
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: list(server.records) == ["a.1.ending"])
        assert ledger.ids() == ["a/1/APPLY"]
    present(server)
    async with publishing(server, ledger, tmp_path, flush_seconds=1):
        await server.until(lambda: not server.records)
    assert ledger.ids() == ["a/1/APPLY", "a/DELETE"]
    (end,) = ledger.read(sa.select(ledger.table).where(ledger.table.c.operation == "DELETE"))
    assert end["valid_from"] == day(3)


async def test_a_comparison_adds_nothing_to_a_full_outbox(
    server: OutboxServer,
    ledger: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "OUTBOX_MAX", 1)
    monkeypatch.setattr(backlog, "PARKING", Backoff(0.05, 0.1))
    monkeypatch.setattr(module, "UNPARK_SECONDS", 0.05)
    ledger.poison = "arsenic"
    present(server, "a", "b", "c")
    server.add(event("a", cost_center="arsenic"), event("b", cost_center="arsenic"))
    async with publishing(server, ledger, tmp_path, flush_seconds=1):
        await server.until(lambda: "not compared" in caplog.text)
        assert len(server.records) == 2
        ledger.poison = ""
        await server.until(lambda: len(ledger.ids()) == 3)


async def test_ledger_and_cluster_are_not_compared_while_records_are_waiting(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a", "c")
    ledger.failing = LedgerMisconfigured("no rights")
    server.add(event("a"))
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: ledger.writes > 3)
        assert len(server.records) == 1
        ledger.failing = None
        await server.until(lambda: len(ledger.ids()) == 2)
        assert 'drift_total{kind="missing"} 1.0' in made.measure().decode()


async def test_no_text_of_a_tenant_is_in_a_log_message(
    server: OutboxServer, ledger: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "lnamespace")
    present(server, "a")
    server.add(event("a", cost_center="secret-project"))
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: not server.records)
    assert "secret-project" not in caplog.text
    assert all(not entry.args for entry in caplog.records if entry.name.startswith("lnamespace"))


def test_a_shared_database_needs_the_clusters_name() -> None:
    with pytest.raises(SettingsError, match="--cluster-name"):
        cluster_of(Settings(ledger_url="postgresql://host/db"))
    assert cluster_of(Settings(ledger_url="postgresql://host/db", cluster_name="c"))
    assert cluster_of(Settings())


def queued(uid: str, generation: int) -> QueuedRecord:
    record = event(uid, generation)
    return QueuedRecord(("", record.name), "uid", 1, record)


def test_the_oldest_records_and_generations_are_written_first() -> None:
    backlog = Backlog()
    for item in (queued("a", 10), queued("a", 2), queued("b", 1)):
        backlog.changed(None, item)
    assert [item.record.generation for item in backlog.take(2)] == [1, 2]
    assert [item.record.generation for item in backlog.take(2)] == [10]
    assert backlog.take(2) == []
    assert not backlog.arrived.is_set()


def test_records_given_back_are_taken_again_unless_deleted() -> None:
    backlog = Backlog()
    first, second = queued("a", 1), queued("a", 2)
    for item in (first, second):
        backlog.changed(None, item)
    taken = backlog.take(2)
    backlog.changed(first, None)
    backlog.give_back(taken)
    assert backlog.take(2) == [second]


def test_the_parking_time_of_a_refused_record_doubles_each_time() -> None:
    now = 0.0
    backlog = Backlog(lambda: now)
    item = queued("a", 1)
    backlog.changed(None, item)
    for longest in (60, 120, 240):
        (taken,) = backlog.take(1)
        backlog.park(taken, "no")
        backlog.changed(item, item)
        now += longest / 2 - 1
        backlog.unpark()
        assert (backlog.take(1), backlog.parked, len(backlog)) == ([], {"a.1.apply": "no"}, 1)
        now += longest / 2 + 1
        backlog.unpark()
    assert backlog.take(1) == [item]
    backlog.changed(item, None)
    assert (len(backlog), backlog.parked, backlog.oldest()) == (0, {}, None)


def test_an_accepted_record_lets_the_refused_records_be_retried() -> None:
    backlog = Backlog()
    first, second = queued("a", 1), queued("a", 2)
    for item in (first, second):
        backlog.changed(None, item)
    for item in backlog.take(2):
        backlog.park(item, "no")
    backlog.accepted([first])
    assert (second in backlog.take(2), list(backlog.parked)) == (True, ["a.2.apply"])


def test_refused_records_are_retried_after_new_records() -> None:
    """450 rows that are refused led every batch in turn, and no other was tried for hours."""
    backlog = Backlog()
    older, newer = queued("a", 1), queued("b", 2)
    backlog.changed(None, older)
    for item in backlog.take(1):
        backlog.park(item, "no")
    backlog.changed(None, newer)
    backlog.unpark(everything=True)
    assert backlog.take(1) == [newer]
    assert backlog.take(1) == [older]


async def test_eight_refused_rows_do_not_block_the_ledger(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    """The eight oldest led every batch again: nothing was written any more."""
    ledger.poison = "arsenic"
    bad = [event(f"bad-{number}", cost_center="arsenic") for number in range(8)]
    good = [f"good-{number}" for number in range(20)]
    present(server, *good)
    server.add(*bad, *(event(uid, 2) for uid in good))
    async with publishing(server, ledger, tmp_path, batch_size=10, flush_seconds=1) as made:
        await server.until(lambda: len(server.records) == len(bad))
        assert sorted(made.backlog.parked) == sorted(record.name for record in bad)


async def test_a_record_whose_metadata_changed_meanwhile_is_deleted(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    """Its object stayed until the next start, and nobody could see that."""
    present(server, "a")
    server.add(event("a"))
    ledger.meanwhile = lambda: server.touch("a.1.apply")
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: not server.records)
        await server.until(lambda: made.backlog.oldest() is None)
    assert ledger.ids() == ["a/1/APPLY"]


async def test_rows_have_the_uid_of_their_cluster(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    server.add(event("a"))
    present(server, "a")
    async with publishing(server, ledger, tmp_path):
        await server.until(lambda: not server.records)
    (found,) = ledger.read(sa.select(ledger.table))
    assert found["cluster_uid"] == "this-cluster"


async def test_an_existing_lnamespace_whose_deletion_was_recorded_is_billed_again(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    present(server, "a")
    rows = [applied("a", 1, 1, cost_center="1"), ended("a", 1, 2)]
    ledger.append([row | dict.fromkeys(CLUSTER_COLUMNS, "") for row in rows])
    async with publishing(server, ledger, tmp_path, flush_seconds=1):
        await server.until(lambda: "a/DELETE/RETRACT" in ledger.ids())
    (open_,) = (row for row in ledger.read(ledger.intervals()) if row["valid_to"] is None)
    assert (open_["lnamespace_uid"], open_["corrects"]) == ("a", "a/DELETE")


async def test_after_a_change_of_the_clusters_name_somebody_pays(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    """Each LNamespace that lived on was billed to nobody under the new name."""
    present(server, "a")
    ledger.append([applied("a", 1, 1, cost_center="1") | {"cluster_uid": "this-cluster"}])
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: "a/1/APPLY/APPLY" in ledger.ids())
        await server.until(lambda: 'differences{kind="changed"} 0.0' in metrics_of(made))
    assert ledger.ids() == ["a/1/APPLY", "a/1/APPLY/APPLY"]
    found = {row["cluster_name"]: row for row in ledger.read(ledger.intervals())}
    assert set(found) == {"cluster-a", ""}
    assert found[""]["lnamespace_uid"] == "a"
    assert found[""]["valid_to"] is None


async def test_after_a_restore_of_etcd_who_pays_by_the_cluster_pays(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    """A change after the restore had the generation of one before it, and was left out."""
    present(server, "a")
    former = [applied("a", 1, 1, cost_center="1"), applied("a", 4, 2, cost_center="former")]
    ledger.append([row | dict.fromkeys(CLUSTER_COLUMNS, "") for row in former])
    async with publishing(server, ledger, tmp_path, flush_seconds=1) as made:
        await server.until(lambda: "a/4/APPLY/APPLY" in ledger.ids())
        await server.until(lambda: 'differences{kind="changed"} 0.0' in metrics_of(made))
    assert ledger.ids() == ["a/1/APPLY", "a/4/APPLY", "a/4/APPLY/APPLY"]
    spans = sorted(ledger.read(ledger.intervals()), key=lambda row: row["valid_from"])
    assert [row["cost_center"] for row in spans][:2] == ["1", "former"]
    assert spans[-1]["event_id"] == "a/4/APPLY/APPLY"
    assert [row["valid_to"] is None for row in spans] == [False, False, True]


async def test_a_second_cluster_with_the_same_names_records_no_deletion(
    server: OutboxServer, ledger: Database, tmp_path: Path
) -> None:
    theirs = [applied(f"u-{n}", 1, 1) | {"cluster_uid": "another"} for n in range(5)]
    ledger.append([row | dict.fromkeys(CLUSTER_COLUMNS, "") for row in theirs])
    async with publishing(server, ledger, tmp_path) as made:
        await server.until(lambda: "strangers 5.0" in made.measure().decode())
    assert not [row for row in ledger.ids() if "DELETE" in row]
