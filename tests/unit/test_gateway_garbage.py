"""What is done with leaves nothing for the garbage collector, which stops the thread.

After some seconds in which one tenant did its worst, a search among what was left took 70 ms.
"""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from lnamespace.gateway.audit import AuditLog
from lnamespace.gateway.fairness.scheduler import FairScheduler
from lnamespace.gateway.serving import Gateway
from lnamespace.gateway.watches.merged_watches import MergedWatch
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.http.exchange import Exchange
from lnamespace.http.flow import Chunks, WriteGate
from lnamespace.http.messages import HttpRequest
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.model.names import Names
from lnamespace.runtime.lines import LineWriter

NOTHING = cast(Any, None)


class Thing:
    """Something that a task holds."""


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Connection:
    """A connection that takes every answer."""

    server_name = peer = owner = ""
    draining = False

    async def write(self, data: bytes) -> None:
        assert data


async def test_a_request_and_its_audit_record_do_not_keep_each_other(tmp_path: Path) -> None:
    writer = LineWriter(str(tmp_path / "audit.log"), lambda _: None)
    audit = AuditLog(Names(), writer)
    gateway = Gateway("", *(NOTHING,) * 8, metrics=GatewayMetrics.new(), audit=audit)
    exchange = Exchange(HttpRequest("GET", "/mine/api", ()), cast(Any, Connection()))
    await gateway.handle(exchange)
    assert exchange.status
    answered = weakref.ref(exchange)
    del exchange
    assert answered() is None


async def test_a_metered_task_that_is_cancelled_keeps_nothing() -> None:
    scheduler = FairScheduler()
    held = weakref.WeakSet[Thing]()

    async def work() -> None:
        thing = Thing()
        held.add(thing)
        await asyncio.Event().wait()

    task = asyncio.create_task(scheduler.metered("a", work()))
    await asyncio.sleep(0)
    assert held
    task.cancel()
    await asyncio.wait([task])
    del task
    await asyncio.sleep(0)
    assert not held


async def test_a_watch_that_is_closed_is_not_kept_by_its_members() -> None:
    async def never(_: MemberRequest) -> Any:
        await asyncio.Event().wait()

    watch = MergedWatch(WatchRequest("k", "5"), never, ResumeLog())
    watch.begin(["a", "b"])
    await asyncio.sleep(0)
    watch.close()
    closed = weakref.ref(watch)
    del watch
    for _ in range(5):
        await asyncio.sleep(0)
    assert closed() is None


async def wait(what: WriteGate | Chunks) -> None:
    if isinstance(what, WriteGate):
        what.pause()
        await what.drain()
    else:
        await what.take()


@pytest.mark.parametrize("kind", [WriteGate, Chunks])
async def test_the_error_of_a_lost_connection_does_not_keep_whoever_waited(kind: type) -> None:
    what = WriteGate() if kind is WriteGate else Chunks(NOTHING)
    error = ConnectionResetError("the client is gone")
    held = weakref.WeakSet[Thing]()

    async def hold() -> None:
        thing = Thing()
        held.add(thing)
        await wait(what)

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    (what.fail if isinstance(what, WriteGate) else what.end)(error)
    await asyncio.wait([task])
    assert str(task.exception()) == "the client is gone"
    del task
    await asyncio.sleep(0)
    assert not held
