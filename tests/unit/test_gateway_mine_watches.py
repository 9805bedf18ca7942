"""Watches at the endpoint `mine`, over a scripted API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.watches.resuming import ResumeLog

from tests.unit.support.mine import ANN, Client, MineApi, World, call_of
from tests.unit.support.server import DEADLINE

NAMESPACES = "/api/v1/namespaces?watch=1"
PODS = "/api/v1/pods?watch=1"


def world_of(*namespaces: str) -> World:
    world = World()
    for namespace in namespaces:
        world.bind(namespace, 20, ANN)
    return world


@asynccontextmanager
async def watching(
    world: World, api: MineApi, target: str, watcher: MineWatcher | None = None
) -> AsyncIterator[Client]:
    """Watch until the end of the block."""
    call, client = call_of(world, api, target)
    watcher = watcher or MineWatcher(ResumeLog())
    task = asyncio.create_task(watcher.watch(call))
    began = asyncio.create_task(client.began.wait())
    try:
        await asyncio.wait((task, began), timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield client
    finally:
        began.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_four_watches_of_a_person_receive_their_initial_events_at_once() -> None:
    """The limit of tenants did not apply: 30 watches filled 30 places of the API server."""
    names = "abcdef"
    world, api = world_of(*names), MineApi()
    async with watching(world, api, NAMESPACES):
        for name in names:
            api.tell(name, "ADDED", 5, long="x" * 400_000)
        await asyncio.sleep(0.02)
        assert len(api.asked) == 4


@pytest.mark.parametrize("status", [400, 401, 410, 429])
async def test_what_the_api_server_refuses_is_refused_and_is_no_empty_stream(status: int) -> None:
    world, api = world_of("a", "b"), MineApi()
    api.refusals = {"a": status, "b": status}
    call, client = call_of(world, api, PODS)
    with pytest.raises(UpstreamRefused) as refused:
        await MineWatcher(ResumeLog()).watch(call)
    assert (refused.value.status, client.status) == (status, 0)


@pytest.mark.parametrize(("bookmarks", "told"), [("", 0), ("&allowWatchBookmarks=true", 1)])
async def test_who_asks_for_no_bookmarks_is_sent_none_without_namespaces(
    bookmarks: str, told: int
) -> None:
    initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with watching(World(), MineApi(), PODS + initial + bookmarks) as client:
        await asyncio.sleep(0.01)
        assert client.sent.qsize() == told
