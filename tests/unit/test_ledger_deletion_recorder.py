"""The publisher sees LNamespaces go, for an outage of the controller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import msgspec
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.publisher.deletion_recorder import DeletionRecorder
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status
from lnamespace.model.names import Names

from tests.unit.support.outbox_server import OutboxServer, outbox_server
from tests.unit.support.server import client_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def tenant(namespace_uid: str = "n-1", recorded: int = 2, generation: int = 2) -> LNamespace:
    billing = Billing(
        cost_center="cc-1", provenance=Provenance(generation, NOW, BillingSource.EXPLICIT)
    )
    return LNamespace(
        Metadata("team-a", "u-1", "1", generation),
        Spec(billing=billing),
        Status(namespace_uid=namespace_uid, recorded=Recorded(recorded)),
    )


@asynccontextmanager
async def watching(*tenants: LNamespace) -> AsyncIterator[OutboxServer]:
    async with outbox_server() as server, client_of(server.url) as client:
        server.lnamespaces += tenants
        names = Names()
        task = asyncio.create_task(
            DeletionRecorder(client, names, OutboxClient(client, names)).run()
        )
        await server.until(lambda: server.tenants_watched)
        try:
            yield server
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_a_deletion_is_pending_until_the_namespace_is_gone() -> None:
    lns = tenant()
    async with watching(lns) as server:
        server.end(lns)
        await server.until(lambda: set(server.records) == {"u-1.2.ending"})


async def test_an_unrecorded_change_is_recorded_with_the_deletion() -> None:
    lns = tenant(recorded=1)
    async with watching(lns) as server:
        server.end(lns)
        await server.until(lambda: set(server.records) == {"u-1.2.apply", "u-1.2.ending"})


async def test_a_record_that_the_controller_created_first_is_kept() -> None:
    lns = tenant(recorded=1)
    async with watching(lns) as server:
        server.records["u-1.2.apply"] = {"first": True}
        server.end(lns)
        await server.until(lambda: "u-1.2.ending" in server.records)
        assert server.records["u-1.2.apply"] == {"first": True}


async def test_a_record_that_cannot_be_created_does_not_block_other_records() -> None:
    first, second = tenant(), tenant()
    other = msgspec.structs.replace(
        second, metadata=Metadata("team-b", "u-2", "1", 2), spec=second.spec
    )
    async with watching(first, other) as server:
        server.refuse_creates_of = {"u-1.2.ending"}
        server.end(first)
        server.end(other)
        await server.until(lambda: set(server.records) == {"u-2.2.ending"})


async def test_an_lnamespace_that_never_had_a_namespace_is_not_recorded() -> None:
    other = tenant()
    conflict = LNamespace(Metadata("team-b", "u-2", "1", 1), Spec(), Status())
    async with watching(other, conflict) as server:
        server.end(conflict)
        server.end(other)
        await server.until(lambda: "u-1.2.ending" in server.records)
        assert not [name for name in server.records if name.startswith("u-2")]
