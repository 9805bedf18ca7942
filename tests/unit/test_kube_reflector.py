"""List and watch: whatever happens to the connection, the store comes to be as the cluster is."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from lnamespace.errors import Unreadable
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector, WatchEvent, WatchHandler
from lnamespace.kube.resources import NAMESPACE
from lnamespace.kube.store import Store

from tests.unit.support.server import DEADLINE, Exchange, Server, client_of, failure, serving


class Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class Shown(msgspec.Struct):
    metadata: Meta


@dataclass(frozen=True)
class Thing:
    """The least that a reflector can feed a store with."""

    key: Key
    version: int
    size: int


def read(raw: bytes | msgspec.Raw) -> Thing:
    """Read a thing; the raw bytes are counted, for nothing must be lost of them."""
    meta = msgspec.json.decode(raw, type=Shown).metadata
    return Thing(("", meta.name), int(meta.resource_version), len(bytes(raw)))


def thing(name: str, version: int, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version), **more}}


def event(type_: str, name: str, version: int, **more: Any) -> dict[str, Any]:
    return {"type": type_, "object": thing(name, version, **more)}


def bookmark(version: int) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


def page(version: int, *items: Any, continue_: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": str(version)} | ({"continue": continue_} if continue_ else {})
    return {"metadata": metadata, "items": list(items)}


@dataclass
class Play:
    """A reflector at work, the server that it asks, and what its store tells."""

    server: Server
    told: asyncio.Queue[tuple[str, int | None]] = field(default_factory=asyncio.Queue)
    recovered: asyncio.Event = field(default_factory=asyncio.Event)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store: Store[Thing] = Store(self._tell)

    def _tell(self, old: Thing | None, new: Thing | None) -> None:
        known = new or old
        assert known
        self.told.put_nowait((known.key[1], new.version if new else None))

    @asynccontextmanager
    async def running(
        self,
        selector: str = "",
        handler: WatchHandler | None = None,
        is_needed: Callable[[Key], bool] | None = None,
    ) -> AsyncIterator[Reflector[Thing]]:
        async with client_of(self.server.url) as client:
            well = self.recovered.set
            reflector = Reflector(
                client,
                NAMESPACE,
                self.store,
                read,
                selector,
                self.failed.append,
                well,
                handler,
                is_needed,
            )
            task = asyncio.create_task(reflector.run())
            try:
                yield reflector
                assert not task.done(), "a reflector never ends by itself"
            finally:
                task.cancel()
                await asyncio.wait([task])

    async def news(self, count: int = 1) -> list[tuple[str, int | None]]:
        """Return the next pieces of news."""
        async with asyncio.timeout(DEADLINE):
            return [await self.told.get() for _ in range(count)]

    async def list(self, *items: Any, version: int = 10) -> Exchange:
        """Answer a list, and see the watch that follows."""
        (await self.server.next("GET", watch=None)).answer(page(version, *items))
        return await self.server.next("GET", watch="true", resourceVersion=str(version))

    async def let_in_again(self, watch: Exchange) -> None:
        """Let in a watch after a failure."""
        await watch.send(b"\n")

    @property
    def names(self) -> dict[str, int]:
        return {item.key[1]: item.version for item in self.store}


@pytest_asyncio.fixture
async def play(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Play]:
    # Else a few refused watches of a busy machine would be a long outage.
    monkeypatch.setattr("lnamespace.kube.reflector._OUTAGE_SECONDS", DEADLINE)
    async with serving() as server:
        yield Play(server)


async def test_all_pages_are_listed_before_the_reflector_is_synced(play: Play) -> None:
    async with play.running() as reflector:
        first = await play.server.next("GET", watch=None)
        assert first.path == "/api/v1/namespaces"
        assert "labelSelector" not in first.query
        first.answer(page(10, thing("a", 1), continue_="more"))
        second = await play.server.next("GET", **{"continue": "more"})
        assert not reflector.synced.is_set()
        assert play.names == {}
        second.answer(page(10, thing("b", 2), continue_="rest"))
        (await play.server.next("GET", **{"continue": "rest"})).answer(page(10, thing("c", 3)))
        assert sorted(await play.news(3)) == [("a", 1), ("b", 2), ("c", 3)]
        watch = await play.server.next("GET", watch="true", resourceVersion="10")
        assert reflector.synced.is_set()
        assert watch.query["allowWatchBookmarks"] == "true"
        assert 45 <= int(watch.query["timeoutSeconds"]) <= 75


async def test_the_page_limit_adapts_to_large_objects_and_timeouts(play: Play) -> None:
    """As many as fit into two megabytes, whatever they were before; and fewer if none come."""
    async with play.running() as reflector:
        first = await play.server.next("GET", limit="50")
        large = [thing(f"n{n}", n, padding="x" * 100_000) for n in range(1, 51)]
        first.answer(page(100, *large, continue_="more"))
        second = await play.server.next("GET", **{"continue": "more", "limit": "20"})
        second.refuse(504, "Timeout")
        again = await play.server.next("GET", limit="10")
        assert "continue" not in again.query
        again.answer(page(100, thing("a", 1)))
        await play.server.next("GET", watch="true")
        assert reflector.synced.is_set()


async def test_a_list_without_items_syncs_the_reflector(play: Play) -> None:
    async with play.running() as reflector:
        nothing = {"metadata": {"resourceVersion": "10"}, "items": None}
        (await play.server.next()).answer(nothing)
        await play.server.next("GET", watch="true", resourceVersion="10")
        assert reflector.synced.is_set()


async def test_the_label_selector_is_sent_with_lists_and_watches(play: Play) -> None:
    async with play.running("managed-by=us"):
        (await play.server.next(labelSelector="managed-by=us")).answer(page(10))
        await play.server.next(watch="true", labelSelector="managed-by=us")


async def test_objects_that_are_not_needed_are_neither_read_nor_kept(play: Play) -> None:
    """Users may give our labels to any number of objects, each of a megabyte."""
    unreadable = {"metadata": {"name": "theirs", "resourceVersion": "no number"}}
    async with play.running(is_needed=lambda key: key == ("", "ours")):
        watch = await play.list(thing("ours", 1), unreadable)
        assert play.names == {"ours": 1}
        await watch.send(event("ADDED", "theirs", 11), event("MODIFIED", "ours", 12))
        await watch.send(event("DELETED", "theirs", 13), event("DELETED", "ours", 14))
        assert await play.news(3) == [("ours", 1), ("ours", 12), ("ours", None)]
        assert len(play.store) == 0
        await watch.send(event("ADDED", "theirs", 15))
        await watch.end()
        await play.server.next("GET", watch="true", resourceVersion="15")


async def test_events_change_the_store(play: Play) -> None:
    async with play.running():
        watch = await play.list(thing("a", 1))
        await watch.send(event("ADDED", "b", 11), event("MODIFIED", "a", 12))
        await watch.send(event("DELETED", "b", 13))
        assert await play.news(4) == [("a", 1), ("b", 11), ("a", 12), ("b", None)]
        assert play.names == {"a": 12}


async def test_events_may_be_split_across_chunks(play: Play) -> None:
    text = b"".join(
        json.dumps(event("ADDED", f"n{i}-ü", 11 + i)).encode() + b"\n" for i in range(9)
    )
    async with play.running():
        watch = await play.list()
        for i in range(0, len(text), 7):
            await watch.send(text[i : i + 7])
        assert await play.news(9) == [(f"n{i}-ü", 11 + i) for i in range(9)]


async def test_an_object_may_be_several_megabytes_large(play: Play) -> None:
    big = {"annotations": {"x": "y" * (2 * 2**20)}}
    async with play.running():
        watch = await play.list(thing("listed", 1, **big))
        await watch.send(event("ADDED", "watched", 11, **big), event("ADDED", "next", 12))
        assert await play.news(3) == [("listed", 1), ("watched", 11), ("next", 12)]
        assert [item.size for item in play.store] == [
            len(json.dumps(thing("listed", 1, **big))),
            len(json.dumps(thing("watched", 11, **big))),
            len(json.dumps(thing("next", 12))),
        ]


async def test_a_new_watch_resumes_from_the_last_resource_version(play: Play) -> None:
    async with play.running():
        watch = await play.list()
        await watch.send(event("ADDED", "a", 15))
        await watch.end()
        watch = await play.server.next("GET", watch="true", resourceVersion="15")
        await watch.send(bookmark(40))
        await watch.end()
        await play.server.next("GET", watch="true", resourceVersion="40")


async def test_an_interrupted_watch_resumes_from_the_last_resource_version(play: Play) -> None:
    async with play.running():
        watch = await play.list()
        await watch.send(event("ADDED", "a", 15), b'{"type":"ADDED","object":{"metadata":{"na')
        await play.news()
        watch.cut()
        watch = await play.server.next("GET", watch="true", resourceVersion="15")
        await play.let_in_again(watch)
        await watch.send(event("ADDED", "b", 16))
        assert await play.news() == [("b", 16)]


class Holder:
    """A handler that keeps events to itself."""

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self.stops = 0

    async def handle(self, events: AsyncIterator[WatchEvent]) -> None:
        async for one in events:
            self.held.append(bytes(one.object))

    async def stop(self) -> None:
        self.stops += 1


async def until(condition: Callable[[], object]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(DEADLINE):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


async def test_a_handler_receives_only_events_new_to_the_store(play: Play) -> None:
    handler = Holder()
    async with play.running(handler=handler):
        watch = await play.list(thing("a", 1))
        play.store.apply_write_response(Thing(("", "ours"), 12, 0))
        await watch.send(event("ADDED", "ours", 12), event("ADDED", "b", 13), bookmark(40))
        await watch.end()
        await play.server.next("GET", watch="true", resourceVersion="40")
        assert [json.loads(one)["metadata"]["name"] for one in handler.held] == ["b"]


async def test_an_outage_is_reported_while_a_handler_holds_events(play: Play) -> None:
    """What kopf had buffered was read first: for half a second nobody knew of the outage."""
    handler = Holder()
    async with play.running(handler=handler):
        watch = await play.list()
        await watch.send(event("ADDED", "a", 15))
        await until(lambda: handler.held)
        watch.cut()
        await until(lambda: play.failed)
        await play.server.next("GET", watch="true", resourceVersion="15")
        assert play.names == {}


async def test_the_handler_is_stopped_before_each_list(play: Play) -> None:
    handler = Holder()
    async with play.running(handler=handler) as reflector:
        await gone_in_stream(await play.list())
        await play.server.next("GET", watch=None)
        assert handler.stops == 2, "before the first list, too"
        assert not reflector.synced.is_set()
    assert handler.stops == 3


async def test_an_error_of_the_handler_causes_a_relist(play: Play) -> None:
    class Fails(Holder):
        async def handle(self, events: AsyncIterator[WatchEvent]) -> None:
            async for _ in events:
                raise Unreadable("no")

    async with play.running(handler=Fails()):
        await (await play.list()).send(event("ADDED", "a", 15))
        (await play.server.next("GET", watch=None)).answer(page(20, thing("a", 15)))
        assert await play.news() == [("a", 15)]


HISTORY = (thing("stays", 1), thing("edited", 2), thing("deleted", 3))


@pytest.mark.parametrize("reached", [12, 17, 400])
async def test_an_outage_long_enough_for_a_restore_from_backup_causes_a_relist(
    play: Play, monkeypatch: pytest.MonkeyPatch, reached: int
) -> None:
    """Restored from a backup it lets a watch in, and tells nothing until it has caught up.

    By the time that we ask it may have passed our place already, by writes of its own: on a busy
    machine an edit of before was missed for ever, for a watch from there tells only what follows.
    """
    monkeypatch.setattr("lnamespace.kube.reflector._OUTAGE_SECONDS", 0.2)
    async with play.running():
        watch = await play.list(*HISTORY)
        await watch.send(event("MODIFIED", "edited", 15), event("DELETED", "deleted", 16))
        await watch.send(event("ADDED", "made", 17))
        await play.news(6)
        watch.cut()
        while "watch" in (asked := await play.server.next("GET")).query:
            asked.cut()
        asked.answer(page(reached, *HISTORY))
        news = await play.news(3)
        assert sorted(news, key=str) == [("deleted", 3), ("edited", 2), ("made", None)]
        watch = await play.server.next("GET", watch="true", resourceVersion=str(reached))
        await play.let_in_again(watch)
        await watch.send(event("MODIFIED", "edited", reached + 1))
        assert await play.news() == [("edited", reached + 1)]
        monkeypatch.setattr("lnamespace.kube.reflector._OUTAGE_SECONDS", DEADLINE)
        watch.cut()
        await play.server.next("GET", watch="true", resourceVersion=str(reached + 1))


async def test_the_reflector_is_unsynced_until_the_relist_after_a_long_outage(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bindings were listed first, and one was deleted as that of an LNamespace that is no more."""
    monkeypatch.setattr("lnamespace.kube.reflector._OUTAGE_SECONDS", 0.2)
    async with play.running() as reflector:
        watch = await play.list(thing("a", 1))
        watch.cut()
        while "watch" in (asked := await play.server.next("GET")).query:
            asked.cut()
        assert not reflector.synced.is_set()
        assert play.names == {"a": 1}
        asked.answer(page(10, thing("a", 1)))
        async with asyncio.timeout(DEADLINE):
            await reflector.synced.wait()


@pytest.mark.parametrize("status", [None, 403, 503])
async def test_the_recovery_is_reported_when_a_watch_is_accepted_again(
    play: Play, status: int | None
) -> None:
    async with play.running():
        watch = await play.list()
        await watch.send(event("ADDED", "a", 15))
        await play.news()
        assert not play.recovered.is_set()
        watch.cut()
        watch = await play.server.next("GET", watch="true", resourceVersion="15")
        if status:
            watch.refuse(status)
            watch = await play.server.next("GET", watch="true", resourceVersion="15")
        assert not play.recovered.is_set()
        await play.let_in_again(watch)
        async with asyncio.timeout(DEADLINE):
            await play.recovered.wait()


async def test_an_accepted_watch_updates_the_time_of_last_activity(play: Play) -> None:
    """A kind of which nothing changed was once told nothing, not even a bookmark, for 90 s."""
    async with play.running() as reflector:
        watch = await play.list()
        heard = reflector.activity.answered_at
        await watch.send(b"{")
        async with asyncio.timeout(DEADLINE):
            while True:
                if reflector.activity.answered_at > heard:
                    break
                await asyncio.sleep(0.005)


def in_stream(code: int) -> dict[str, Any]:
    return {"type": "ERROR", "object": failure(code, "Expired" if code == 410 else "")}


async def gone_in_stream(watch: Exchange) -> None:
    await watch.send(in_stream(410))


async def gone_at_once(watch: Exchange) -> None:
    watch.refuse(410, "Expired")


@pytest.mark.parametrize("forget", [gone_in_stream, gone_at_once])
async def test_the_relist_detects_objects_deleted_while_the_watch_was_interrupted(
    play: Play, forget: Callable[[Exchange], Any]
) -> None:
    async with play.running():
        watch = await play.list(thing("stays", 1), thing("goes", 2), thing("changes", 3))
        await play.news(3)
        await forget(watch)
        (await play.server.next("GET", watch=None)).answer(
            page(90, thing("stays", 1), thing("changes", 50), thing("comes", 60))
        )
        news = await play.news(3)
        assert sorted(news, key=str) == [("changes", 50), ("comes", 60), ("goes", None)]
        await play.server.next("GET", watch="true", resourceVersion="90")
        assert play.names == {"stays": 1, "changes": 50, "comes": 60}


async def test_a_write_during_a_relist_is_not_undone_by_the_list(play: Play) -> None:
    async with play.running():
        await gone_in_stream(await play.list(thing("a", 1)))
        relist = await play.server.next("GET", watch=None)
        play.store.apply_write_response(Thing(("", "new"), 95, 0))
        relist.answer(page(90, thing("a", 1)))
        await play.server.next("GET", watch="true", resourceVersion="90")
        assert play.names == {"a": 1, "new": 95}


async def test_an_expired_paginated_list_is_restarted(play: Play) -> None:
    async with play.running() as reflector:
        (await play.server.next()).answer(page(10, thing("old", 1), continue_="more"))
        (await play.server.next("GET", **{"continue": "more"})).refuse(410, "Expired")
        again = await play.server.next("GET", watch=None)
        assert "continue" not in again.query
        assert not reflector.synced.is_set()
        again.answer(page(20, thing("new", 15)))
        await play.server.next("GET", watch="true", resourceVersion="20")
        assert play.names == {"new": 15}


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_a_failed_list_is_retried_until_it_succeeds(play: Play, status: int) -> None:
    """Not found is what the server says while the CRD is not there yet."""
    async with play.running() as reflector:
        for _ in range(2):
            (await play.server.next("GET", watch=None)).refuse(status)
        assert not reflector.synced.is_set()
        await play.list(thing("a", 1))
        assert play.names == {"a": 1}


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_a_refused_watch_is_retried_from_the_same_resource_version(
    play: Play, status: int
) -> None:
    async with play.running():
        watch = await play.list(thing("a", 1))
        for _ in range(2):
            watch.refuse(status)
            watch = await play.server.next("GET", watch="true", resourceVersion="10")
        assert play.names == {"a": 1}


async def test_a_watch_that_is_refused_repeatedly_causes_a_relist(play: Play) -> None:
    """What is known grew stale for ever, and the controller fought the garbage collector."""
    async with play.running() as reflector:
        watch = await play.list(thing("a", 1))
        for _ in range(4):
            watch.refuse(500)
            watch = await play.server.next("GET", watch="true", resourceVersion="10")
        watch.refuse(500)
        relist = await play.server.next("GET", watch=None)
        assert not reflector.synced.is_set()
        relist.answer(page(20, thing("b", 15)))
        await play.server.next("GET", watch="true", resourceVersion="20")
        assert play.names == {"b": 15}


async def test_the_store_is_emptied_when_the_custom_resource_definition_is_deleted(
    play: Play,
) -> None:
    """Nothing may be done by what was known before its CRD was deleted."""
    async with play.running() as reflector:
        (await play.list(thing("a", 1))).refuse(404, "NotFound")
        (await play.server.next("GET", watch=None)).refuse(404, "NotFound")
        (await play.server.next("GET", watch=None)).answer(page(20))
        await play.server.next("GET", watch="true", resourceVersion="20")
        assert reflector.synced.is_set()
        assert play.names == {}


@pytest.mark.parametrize("code", [429, 500, 504])
async def test_a_retryable_error_event_in_a_watch_causes_no_relist(play: Play, code: int) -> None:
    async with play.running():
        await (await play.list(thing("a", 1))).send(in_stream(code))
        await play.server.next("GET", watch="true", resourceVersion="10")


async def test_an_interrupted_list_is_retried(play: Play) -> None:
    async with play.running():
        (await play.server.next("GET", watch=None)).cut()
        await play.list(thing("a", 1))
        assert play.names == {"a": 1}


async def test_the_retry_after_of_the_server_is_respected(play: Play) -> None:
    loop = asyncio.get_running_loop()
    async with play.running():
        asked = loop.time()
        details = failure(429, "TooManyRequests", retryAfterSeconds=1)
        (await play.server.next()).answer(details, 429, {"Retry-After": "1"})
        await play.server.next("GET", watch=None)
        assert loop.time() - asked >= 0.99


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>Bad gateway</html>\n",
        b"{}\n",
        b'{"type":"ADDED","object":{"metadata":{}}}\n',
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":""}}}\n',
    ],
)
async def test_malformed_watch_events_do_not_end_the_reflector(play: Play, garbage: bytes) -> None:
    """A proxy in between may say anything."""
    async with play.running():
        await (await play.list(thing("a", 1))).send(garbage)
        again = await play.server.next("GET")
        again.answer(page(20, thing("a", 1)))
        assert play.names == {"a": 1}


@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>Sign in, please</html>",
        b"{}",
        b'{"metadata":{"resourceVersion":""},"items":[]}',
        b'{"metadata":{"resourceVersion":"10"},"items":[{}]}',
    ],
)
async def test_malformed_lists_do_not_end_the_reflector(play: Play, garbage: bytes) -> None:
    async with play.running():
        (await play.server.next("GET", watch=None)).answer(garbage)
        await play.list(thing("a", 1))
        assert play.names == {"a": 1}


async def test_only_the_first_expiry_of_a_watch_is_no_warning(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    """An install changes the definition once more: a stranger took the warning for a fault."""
    caplog.set_level(logging.INFO, "lnamespace.kube.reflector")
    async with play.running():
        await gone_in_stream(await play.list(thing("a", 1)))
        await gone_in_stream(await play.list(thing("a", 1)))
        await play.list(thing("a", 1))
    levels = [each.levelname for each in caplog.records if each.message == "listing again"]
    assert levels == ["INFO", "WARNING"]


async def test_a_watch_without_events_that_ends_normally_is_no_failure(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With nothing to tell there is not even a bookmark; the tenth such end waited for long."""
    monkeypatch.setattr("lnamespace.kube.reflector._WORKING_SECONDS", 0.0)
    monkeypatch.setattr("lnamespace.kube.reflector._BACKOFF", Backoff(longest=600))
    async with play.running():
        watch = await play.list()
        for _ in range(12):
            assert 45 <= int(watch.query["timeoutSeconds"]) <= 75
            await watch.send(b"\n")
            await watch.end()
            watch = await play.server.next("GET", watch="true", resourceVersion="10")
    assert not caplog.records
    assert not play.failed


async def test_an_unexplained_silence_of_the_watch_causes_a_relist(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was to end the watch before: nobody knows since when the connection is dead."""
    silence = aiohttp.ClientTimeout(sock_connect=DEADLINE, sock_read=0.3)
    monkeypatch.setattr("lnamespace.kube.client._WATCH_TIMEOUT", silence)
    monkeypatch.setattr("lnamespace.kube.reflector.WATCH_SECONDS", 0.1)
    monkeypatch.setattr("lnamespace.kube.reflector._OUTAGE_SECONDS", 0.2)
    async with play.running():
        watch = await play.list(thing("a", 1))
        await watch.send(b"\n")
        (await play.server.next("GET", watch=None)).answer(page(4, thing("b", 2)))
        await play.news(3)
        assert play.names == {"b": 2}


async def asked_within(play: Play, seconds: float, answer: Callable[[Exchange], Any]) -> int:
    """Return how many lists and watches a server gets that answers each watch so."""
    count = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                exchange = await play.server.arrived.get()
                count += 1
                if "watch" in exchange.query:
                    await answer(exchange)
                else:
                    exchange.answer(page(10))
    except TimeoutError:
        return count


@pytest.mark.parametrize("answer", [gone_in_stream, gone_at_once, Exchange.end])
async def test_a_server_that_ends_every_watch_immediately_is_retried_with_backoff(
    play: Play, answer: Callable[[Exchange], Any]
) -> None:
    async with play.running():
        assert await asked_within(play, 0.4, answer) < 40
