"""An announced end comes true when the API server says so, and else comes to nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.kube.backoff import Backoff
from lnamespace.ledger.outbox.client import OutboxClient, decode_queued
from lnamespace.ledger.outbox.endings import pending_deletion
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.ledger.publisher import pending_deletions as module
from lnamespace.ledger.publisher.pending_deletions import (
    REFUSED_AFTER_SECONDS,
    DeletionOutcome,
    PendingDeletions,
    outcome_of,
)
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec, Status
from lnamespace.model.names import Names

from tests.unit.support.outbox_server import OutboxServer, outbox_server, queued
from tests.unit.support.server import client_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LNAMESPACES = lnamespace_resource(Names())


def tenant(uid: str = "u-1", generation: int = 2, cost_center: str = "cc-1") -> LNamespace:
    origin = Provenance(generation, NOW - timedelta(days=1), BillingSource.EXPLICIT)
    return LNamespace(
        Metadata("team-a", uid, "1", generation),
        Spec(billing=Billing(cost_center=cost_center, provenance=origin)),
        Status(namespace_uid="n-1"),
    )


def going(lns: LNamespace) -> LNamespace:
    metadata = msgspec.structs.replace(lns.metadata, deletion_timestamp=NOW)
    return msgspec.structs.replace(lns, metadata=metadata)


@pytest.mark.parametrize(
    ("there", "waited", "expected"),
    [
        (None, 0, DeletionOutcome.GONE),
        (tenant("u-2").metadata, 0, DeletionOutcome.GONE),
        (tenant().metadata, 0, DeletionOutcome.UNDECIDED),
        (tenant().metadata, REFUSED_AFTER_SECONDS, DeletionOutcome.UNDECIDED),
        (tenant().metadata, REFUSED_AFTER_SECONDS + 1, DeletionOutcome.REFUSED),
        (going(tenant()).metadata, REFUSED_AFTER_SECONDS + 1, DeletionOutcome.TERMINATING),
        (going(tenant("u-2")).metadata, 0, DeletionOutcome.GONE),
    ],
)
def test_the_outcome_of_a_deletion_follows_from_uid_termination_and_waiting_time(
    there: Metadata | None, waited: float, expected: DeletionOutcome
) -> None:
    assert outcome_of("u-1", there, waited) is expected


def test_a_pending_deletion_is_kept_longer_than_the_request_timeout() -> None:
    assert REFUSED_AFTER_SECONDS > 60


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "_BACKOFF", Backoff(0.01, 0.02))


class Desk:
    """Announcements, and what a watch of LNamespaces is said to have told."""

    def __init__(self, server: OutboxServer) -> None:
        self.server = server
        self.heard: Metadata | None = None
        self.made: PendingDeletions

    def announce(self, *records: BillingRecord) -> None:
        self.server.add(*records)
        for record in records:
            self.made.changed(None, queued(self.server, record))

    async def looked(self, times: int = 1) -> None:
        """Wait until the API server has been asked so many times more."""
        wanted = len(self.server.looks) + times
        await self.server.until(lambda: len(self.server.looks) >= wanted)

    async def left(self, *names: str) -> None:
        await self.server.until(lambda: set(self.server.records) == set(names))


@asynccontextmanager
async def looking(*there: LNamespace) -> AsyncIterator[Desk]:
    async with outbox_server() as server, client_of(server.url) as client:
        server.lnamespaces += there
        desk, outbox = Desk(server), OutboxClient(client, Names())
        desk.made = PendingDeletions(client, LNAMESPACES, outbox, lambda _: desk.heard)
        task = asyncio.create_task(desk.made.run())
        try:
            yield desk
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_a_deletion_takes_effect_at_the_time_of_its_pending_deletion() -> None:
    async with looking() as desk:
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left("u-1.delete")
        spec = desk.server.records["u-1.delete"]["spec"]
        assert (spec["eventId"], spec["operation"]) == ("u-1/DELETE", "DELETE")
        assert (spec["validFrom"], spec["costCenter"]) == ("2026-03-01T00:00:00Z", "cc-1")


async def test_a_deletion_takes_effect_when_a_namespace_held_by_finalizers_is_gone() -> None:
    """For 24 seconds a Namespace went on, and whoever had paid for it did not."""
    async with looking() as desk:
        desk.server.hold("team-a", "u-1")
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.server.until(lambda: desk.server.namespace_looks >= 3)
        # That the LNamespace is gone lasts, and is asked once.
        assert desk.server.looks == ["team-a"]
        assert set(desk.server.records) == {"u-1.2.ending"}
        before = datetime.now(UTC)
        del desk.server.namespaces["team-a"]
        await desk.left("u-1.delete")
        spec = desk.server.records["u-1.delete"]["spec"]
        assert datetime.fromisoformat(spec["validFrom"]) >= before


async def test_the_next_publisher_knows_that_a_deletion_was_held() -> None:
    """It was replaced while a finalizer held the LNamespace: the end was that of the request."""
    lns = going(tenant())
    async with looking(lns) as desk:
        desk.announce(pending_deletion(lns, NOW))
        await desk.left("u-1.2.ending", "u-1.2.ending.ending")
        kept = dict(desk.server.records)
    async with looking() as desk:
        desk.server.records |= kept
        before = datetime.now(UTC)
        for shown in kept.values():
            desk.made.changed(None, decode_queued(msgspec.json.encode(shown)))
        await desk.left("u-1.delete")
        spec = desk.server.records["u-1.delete"]["spec"]
        assert datetime.fromisoformat(spec["validFrom"]) >= before


async def test_a_deletion_that_is_held_is_kept_once() -> None:
    lns = going(tenant())
    async with looking(lns) as desk:
        first = pending_deletion(lns, NOW)
        desk.announce(first)
        await desk.server.until(lambda: len(desk.server.records) == 2)
        (made,) = set(desk.server.records) - {first.name}
        shown = msgspec.json.encode(desk.server.records[made])
        desk.made.changed(None, decode_queued(shown))
        await desk.looked(5)
        assert len(desk.server.records) == 2


async def test_a_namespace_without_the_owner_reference_delays_no_deletion() -> None:
    """It stays after its LNamespace (Retain), or is that of another of its name."""
    async with looking() as desk:
        desk.server.hold("team-a", "u-2")
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left("u-1.delete")
        assert desk.server.records["u-1.delete"]["spec"]["validFrom"] == "2026-03-01T00:00:00Z"


async def test_a_stuck_deletion_delays_no_other() -> None:
    async with looking() as desk:
        desk.server.refuse_deletes_of = {"u-1.2.ending"}
        other = msgspec.structs.replace(pending_deletion(tenant("u-2"), NOW), namespace="team-b")
        desk.announce(pending_deletion(tenant(), NOW), other)
        await desk.left("u-1.2.ending", "u-1.delete", "u-2.delete")


async def test_a_pending_deletion_with_changed_metadata_is_removed() -> None:
    """Somebody labelled it: it was asked for, made and refused each second for ever."""
    async with looking() as desk:
        desk.server.add(pending_deletion(tenant(), NOW))
        seen = queued(desk.server, pending_deletion(tenant(), NOW))
        desk.server.touch("u-1.2.ending")
        desk.made.changed(None, seen)
        await desk.left("u-1.delete")


async def test_a_successor_of_the_same_name_does_not_delay_a_deletion() -> None:
    async with looking(tenant("u-2")) as desk:
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left("u-1.delete")


async def test_a_deletion_that_is_recorded_already_is_kept() -> None:
    async with looking() as desk:
        desk.server.records["u-1.delete"] = {"first": True}
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left("u-1.delete")
        assert desk.server.records["u-1.delete"] == {"first": True}


async def test_the_last_of_several_pending_deletions_becomes_the_deletion() -> None:
    async with looking() as desk:
        later = tenant(generation=3, cost_center="cc-2")
        desk.announce(
            pending_deletion(later, NOW + timedelta(minutes=1)), pending_deletion(tenant(), NOW)
        )
        await desk.left("u-1.delete")
        spec = desk.server.records["u-1.delete"]["spec"]
        assert (spec["validFrom"], spec["costCenter"]) == ("2026-03-01T00:01:00Z", "cc-2")


async def test_a_pending_deletion_waits_for_a_terminating_lnamespace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REFUSED_AFTER_SECONDS", 0)
    lns = tenant()
    async with looking(going(lns)) as desk:
        desk.announce(pending_deletion(lns, NOW))
        await desk.looked(3)
        assert set(desk.server.records) == {"u-1.2.ending"}
        desk.server.lnamespaces.clear()
        await desk.left("u-1.delete")


async def test_a_stale_watch_cache_completes_no_deletion() -> None:
    """It has not heard of the LNamespace, or heard it was gone; the API server knows better."""
    async with looking(tenant()) as desk:
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.looked(3)
        assert set(desk.server.records) == {"u-1.2.ending"}


async def test_an_lnamespace_in_the_watch_cache_costs_no_request() -> None:
    async with looking() as desk:
        desk.heard = tenant().metadata
        desk.announce(pending_deletion(tenant(), NOW))
        other = msgspec.structs.replace(pending_deletion(tenant("u-2"), NOW), namespace="team-b")
        desk.announce(other)
        await desk.left("u-1.2.ending", "u-2.delete")
        assert set(desk.server.looks) == {"team-b"}


async def test_a_refused_deletion_removes_its_pending_deletion(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(module, "REFUSED_AFTER_SECONDS", 0)
    async with looking(tenant()) as desk:
        desk.heard = tenant().metadata
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left()
    assert "a deletion came to nothing" in caplog.text


async def test_a_failed_request_is_tried_again() -> None:
    async with looking() as desk:
        desk.server.refuse_looks = 3
        desk.announce(pending_deletion(tenant(), NOW))
        await desk.left("u-1.delete")


async def test_a_pending_deletion_deleted_by_a_user_is_forgotten() -> None:
    async with looking(tenant()) as desk:
        record = pending_deletion(tenant(), NOW)
        desk.announce(record)
        assert len(desk.made) == 1
        desk.made.changed(queued(desk.server, record), None)
        assert len(desk.made) == 0
