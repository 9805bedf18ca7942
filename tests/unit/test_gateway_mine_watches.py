"""Watches at the endpoint `mine`, over a scripted API server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

import pytest
from lnamespace.gateway.fairness.request_usage import RequestUsage
from lnamespace.gateway.mine.watches import MineWatcher
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.watches.resuming import ResumeLog
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.mine import ANN, Client, MineApi, World, call_of
from tests.unit.support.server import DEADLINE

R = TypeVar("R")
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


async def code_of_refusal(world: World, api: MineApi, target: str, watcher: MineWatcher) -> int:
    call, _ = call_of(world, api, target)
    async with asyncio.timeout(DEADLINE):
        with pytest.raises(Refused) as refused:
            await watcher.watch(call)
    return refused.value.status.code


async def test_four_watches_of_a_person_receive_their_initial_events_at_once() -> None:
    """Without a limit 30 watches took 30 of the API server's seats."""
    names = "abcdef"
    world, api = world_of(*names), MineApi()
    async with watching(world, api, NAMESPACES):
        for name in names:
            api.tell(name, "ADDED", 5, long="x" * 400_000)
        await asyncio.sleep(0.02)
        assert len(api.asked) == 4


@pytest.mark.parametrize("status", [400, 401, 410, 429])
async def test_a_watch_that_the_api_server_refuses_is_refused_and_not_empty(status: int) -> None:
    world, api = world_of("a", "b"), MineApi()
    api.refusals = {"a": status, "b": status}
    call, client = call_of(world, api, PODS)
    with pytest.raises(UpstreamRefused) as refused:
        await MineWatcher(ResumeLog()).watch(call)
    assert (refused.value.status, client.status) == (status, 0)


@pytest.mark.parametrize(("bookmarks", "told"), [("", 0), ("&allowWatchBookmarks=true", 1)])
async def test_a_watch_without_namespaces_sends_a_bookmark_only_on_request(
    bookmarks: str, told: int
) -> None:
    initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with watching(World(), MineApi(), PODS + initial + bookmarks) as client:
        await asyncio.sleep(0.01)
        assert client.sent.qsize() == told


async def test_a_watch_of_one_namespace_receives_no_deletion_of_another() -> None:
    """`kubectl wait --for=delete ns/b` took the revocation in ``a`` for the deletion of ``b``."""
    world, api = world_of("a", "b"), MineApi()
    target = f"{NAMESPACES}&resourceVersion=1000&fieldSelector=metadata.name%3Db"
    async with watching(world, api, target) as client:
        world.unbind("a", 1001)
        await client.nothing()
        world.unbind("b", 1002)
        assert await client.event() == ("DELETED", "b", "1002")


async def test_a_sent_namespace_is_deleted_even_if_the_selector_no_longer_matches() -> None:
    world, api = world_of("a", "b"), MineApi()
    async with watching(world, api, f"{NAMESPACES}&labelSelector=x") as client:
        api.tell("a", "ADDED", 5)
        assert await client.event() == ("ADDED", "a", "5")
        api.items = 0
        world.unbind("a", 1001)
        assert await client.event() == ("DELETED", "a", "1001")


async def test_a_deletion_after_a_revocation_contains_only_the_namespace_name() -> None:
    world, api = world_of("a", "b"), MineApi()
    async with watching(world, api, f"{NAMESPACES}&resourceVersion=1000") as client:
        before = len(api.asked)
        world.unbind("a", 1001)
        assert await client.event() == ("DELETED", "a", "1001")
        assert len(api.asked) == before


async def test_a_namespace_that_leaves_and_joins_again_counts_once() -> None:
    world, api, watcher = world_of("a", "b"), MineApi(), MineWatcher(ResumeLog())
    async with watching(world, api, f"{NAMESPACES}&resourceVersion=1000", watcher) as client:
        for version in range(1001, 1020, 2):
            world.unbind("a", version)
            assert (await client.event())[0] == "DELETED"
            world.bind("a", version + 1, ANN)
            await client.nothing()
        assert list(watcher.counts.running.values()) == [2]
    assert not watcher.counts.running


async def test_the_setup_of_a_watch_and_changes_of_rights_count_to_its_share() -> None:
    """Reviews of 1,000 namespaces took seconds of the thread that no share was charged for."""
    world, api = world_of("a", "b"), MineApi()
    call, _ = call_of(world, api, PODS)
    counted = Metered()
    task = asyncio.create_task(MineWatcher(ResumeLog()).watch(replace(call, usage=counted)))
    await asyncio.sleep(0.02)
    world.bind("c", 21, ANN)
    await asyncio.sleep(0.02)
    task.cancel()
    assert sorted(api.reviewed) == ["a", "b"]
    begun = ["asked", "asked", "_follow", "_follow", "_send_membership_changes"]
    assert counted.works == [*begun, "_send_membership_changes", "_follow"]


async def test_a_client_that_leaves_during_a_join_has_to_list_again() -> None:
    """An object that was deleted meanwhile stayed in the client's cache for good."""
    world, api, watcher = world_of("a"), MineApi(), MineWatcher(ResumeLog())
    async with watching(world, api, f"{PODS}&resourceVersion=1000", watcher) as client:
        world.bind("b", 1001, ANN)
        api.tell("b", "ADDED", 501)
        assert await client.event() == ("ADDED", "b", "501")
        api.tell("a", "ADDED", 1002)
        assert await client.event() == ("ADDED", "a", "1002")
    assert await code_of_refusal(world, api, f"{PODS}&resourceVersion=1002", watcher) == 410


async def test_a_client_that_may_no_longer_watch_a_namespace_has_to_list_again() -> None:
    """The rights came from another binding; the LNamespace's own rights are still there."""
    world, api, watcher = world_of("a", "b"), MineApi(), MineWatcher(ResumeLog())
    async with watching(world, api, f"{PODS}&resourceVersion=1000", watcher) as client:
        api.tell("b", "ADDED", 1001)
        assert await client.event() == ("ADDED", "b", "1001")
    api.forbidden.add("b")
    assert await code_of_refusal(world, api, f"{PODS}&resourceVersion=1001", watcher) == 410


class Metered(RequestUsage):
    """A usage that remembers what is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.works: list[str] = []

    async def metered(self, work: Awaitable[R]) -> R:
        """Remember the name of a coroutine, and run it."""
        self.works.append(cast(Any, work).__name__)
        return await work
