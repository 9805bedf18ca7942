"""The publisher sees LNamespaces go, for an outage of the controller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from lnamespace.billing import announcements
from lnamespace.billing.outbox import Outbox
from lnamespace.billing.record import ending
from lnamespace.billing.witness import Witness
from lnamespace.model.lnamespace import (
    Billing,
    BillingSource,
    LNamespace,
    Metadata,
    Provenance,
    Recorded,
    Spec,
    Status,
)
from lnamespace.model.names import Names

from tests.unit.support.outbox_server import OutboxServer, outbox_server, queued
from tests.unit.support.server import DEADLINE, client_of

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
        task = asyncio.create_task(Witness(client, names, Outbox(client, names)).run())
        await server.until(lambda: server.tenants_watched)
        try:
            yield server
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_an_end_is_recorded() -> None:
    lns = tenant()
    async with watching(lns) as server:
        server.end(lns)
        await server.until(lambda: set(server.records) == {"u-1.delete"})


async def test_a_change_that_nobody_recorded_is_recorded_with_the_end() -> None:
    lns = tenant(recorded=1)
    async with watching(lns) as server:
        server.end(lns)
        await server.until(lambda: set(server.records) == {"u-1.2.apply", "u-1.delete"})


async def test_what_the_controller_recorded_first_stays() -> None:
    lns = tenant(recorded=1)
    async with watching(lns) as server:
        server.records["u-1.2.apply"] = {"first": True}
        server.end(lns)
        await server.until(lambda: "u-1.delete" in server.records)
        assert server.records["u-1.2.apply"] == {"first": True}


async def test_what_was_announced_is_settled_by_who_saw_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its announcement is taken away, and nobody has to be asked whether it came true."""
    monkeypatch.setattr(announcements, "LOOK", DEADLINE * 2)
    lns = tenant()
    async with outbox_server() as server, client_of(server.url) as client:
        server.lnamespaces.append(lns)
        witness = Witness(client, Names(), Outbox(client, Names()))
        seen = asyncio.create_task(witness.run())
        await server.until(lambda: server.tenants_watched)
        announced = ending(lns, NOW)
        server.add(announced)
        witness.announcements.changed(None, queued(server, announced))
        told = spied(monkeypatch, witness)
        server.end(lns)
        await server.until(told.is_set)
        monkeypatch.setattr(announcements, "LOOK", 0.01)
        looking = asyncio.create_task(witness.announcements.run())
        await server.until(lambda: set(server.records) == {"u-1.delete"})
        assert server.looks == []
        for task in (seen, looking):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def spied(monkeypatch: pytest.MonkeyPatch, witness: Witness) -> asyncio.Event:
    """Set once the witness has told its announcements of an end."""
    heard = asyncio.Event()
    told = witness.announcements.told

    def tell(uid: str) -> None:
        told(uid)
        heard.set()

    monkeypatch.setattr(witness.announcements, "told", tell)
    return heard


async def test_what_never_had_a_namespace_of_its_own_is_charged_to_nobody() -> None:
    other = tenant()
    conflict = LNamespace(Metadata("team-b", "u-2", "1", 1), Spec(), Status())
    async with watching(other, conflict) as server:
        server.end(conflict)
        server.end(other)
        await server.until(lambda: "u-1.delete" in server.records)
        assert not [name for name in server.records if name.startswith("u-2")]
