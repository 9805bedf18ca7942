"""Another of the same name, made before anybody looked: neither is taken for the other."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.outbox.record import pending_records
from lnamespace.ledger.publisher.deletion_recorder import DeletionRecorder
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import LNamespace, Metadata, Recorded, Spec, Status
from lnamespace.model.names import Names

from tests.unit.support.outbox_server import outbox_server, queued
from tests.unit.support.server import DEADLINE, client_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BILLING = Billing(cost_center="cc-1", provenance=Provenance(1, NOW, BillingSource.EXPLICIT))
OLD = LNamespace(
    Metadata("team-a", "u-1", "1", 1),
    Spec(billing=BILLING),
    Status(namespace_uid="n-1", recorded=Recorded(1)),
)
NEW = msgspec.structs.replace(OLD, metadata=Metadata("team-a", "u-2", "1", 1))


async def test_a_successor_of_the_same_name_does_not_hide_a_deletion() -> None:
    async with outbox_server() as server, client_of(server.url) as client:
        server.lnamespaces.append(OLD)
        names = Names()
        task = asyncio.create_task(
            DeletionRecorder(client, names, OutboxClient(client, names)).run()
        )
        await server.until(lambda: server.tenants_watched)
        server.become(OLD, NEW)
        await server.until(lambda: set(server.records) == {"u-1.1.ending"})
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_record_recreated_under_the_same_name_is_not_deleted_with_the_old_one() -> None:
    (record,) = pending_records(msgspec.structs.replace(OLD, status=Status()), NOW)
    async with outbox_server() as server, client_of(server.url) as client:
        server.add(record)
        old = queued(server, record)
        server.add(record)
        async with asyncio.timeout(DEADLINE):
            await OutboxClient(client, Names()).remove(old)
        assert set(server.records) == {record.name}
