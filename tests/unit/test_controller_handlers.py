"""kopf hands the events of a watch to the store, and does nothing else."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import kopf
import msgspec
import pytest
from lnamespace.access.conventions import lnamespace_resource
from lnamespace.controller import embedded_kopf
from lnamespace.controller.embedded_kopf import EmbeddedKopf
from lnamespace.controller.handlers import lnamespace_handlers
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.errors import Unreachable, Unreadable
from lnamespace.kube.reflector import WatchEvent
from lnamespace.kube.store import Store

from tests.unit.support.desk import LAYOUT
from tests.unit.support.server import DEADLINE

RESOURCE = lnamespace_resource(LAYOUT.names)


def event(type_: str, name: str, version: int, **spec: Any) -> WatchEvent:
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    shown = {"metadata": meta, "spec": spec}
    return WatchEvent(type_, msgspec.Raw(json.dumps(shown).encode()))


class Watch:
    """A watch that tells what it is given, until it is cut."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[WatchEvent | Exception] = asyncio.Queue()

    def tell(self, *events: WatchEvent) -> None:
        for one in events:
            self._events.put_nowait(one)

    def cut(self) -> None:
        self._events.put_nowait(Unreachable("watch interrupted"))

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        while True:
            found = await self._events.get()
            if isinstance(found, Exception):
                raise found
            yield found


class Play:
    """The handlers, a watch, and what the store says."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, int | None]] = asyncio.Queue()
        self.store: Store[CachedLNamespace] = Store(self._tell)
        self.watch = Watch()
        self.starts = 0
        self.operator = lnamespace_handlers(RESOURCE, self.store, self._start)

    def _tell(self, old: CachedLNamespace | None, new: CachedLNamespace | None) -> None:
        known = new or old
        assert known
        self.told.put_nowait((known.lns.name, new.version if new else None))

    def _start(self) -> None:
        self.starts += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """kopf, as long as the block lasts; nothing of it is left then."""
        before = asyncio.all_tasks()
        async with asyncio.timeout(DEADLINE):
            task = asyncio.create_task(self.operator.handle(aiter(self.watch)))
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.wait([task])
                await self.operator.stop()
            # kopf forgets a task that waits for nothing where its watch fails.
            left = asyncio.all_tasks() - before
            assert all(task.get_name().startswith("pause-waiter for") for task in left)
            for waiter in left:
                waiter.cancel()

    async def news(self, count: int = 1) -> list[tuple[str, int | None]]:
        return [await self.told.get() for _ in range(count)]


@pytest.fixture
def play() -> Play:
    return Play()


async def test_the_deepest_managed_fields_do_not_end_the_watch(play: Play) -> None:
    """Such an event ended kopf; all was listed again, and the next event ended it again."""
    told = event("ADDED", "a", 1, users=[{"name": "alice"}])
    levels = 9_900
    fields = b'"managedFields":[{"fieldsV1":' + b'{"f:a":' * levels + b"{}" + b"}" * levels + b"}],"
    deep = bytes(told.object).replace(b'"metadata": {', b'"metadata": {' + fields)
    async with play.running():
        play.watch.tell(WatchEvent("ADDED", msgspec.Raw(deep)), event("ADDED", "b", 2))
        assert await play.news(2) == [("a", 1), ("b", 2)]
    assert play.starts == 1
    listed = play.store.get(("", "a"))
    assert listed
    assert not listed.problem
    assert [user.name for user in listed.lns.spec.users] == ["alice"]


async def test_the_store_receives_creations_edits_and_deletions(play: Play) -> None:
    async with play.running():
        play.watch.tell(event("ADDED", "a", 1), event("ADDED", "b", 2), event("MODIFIED", "a", 3))
        assert sorted(await play.news(3)) == [("a", 1), ("a", 3), ("b", 2)]
        play.watch.tell(event("DELETED", "a", 4))
        assert await play.news() == [("a", None)]
    assert [listed.key for listed in play.store] == [("", "b")]


async def test_the_events_of_an_object_arrive_in_order(play: Play) -> None:
    async with play.running():
        for version in range(1, 100):
            play.watch.tell(event("MODIFIED", "a", version))
        assert await play.news(99) == [("a", version) for version in range(1, 100)]


async def test_the_listed_users_are_decoded_into_the_store(play: Play) -> None:
    async with play.running():
        play.watch.tell(event("ADDED", "a", 1, users=[{"name": "alice"}]))
        await play.news()
    (listed,) = play.store
    assert [member.name for member in listed.lns.spec.users] == ["alice"]


async def test_a_cut_watch_is_noticed_before_kopf_has_delivered_buffered_events(
    play: Play,
) -> None:
    """An outage was noticed half a second late, while kopf worked on buffered events."""
    async with play.running() as handling:
        play.watch.tell(*(event("ADDED", f"n{number}", number) for number in range(1, 1001)))
        play.watch.cut()
        await asyncio.wait([handling])
        assert isinstance(handling.exception(), Unreachable)
        assert len(play.store) == 0
        assert len(await play.news(1000)) == 1000


async def test_kopf_continues_across_watches(play: Play) -> None:
    async with play.running() as handling:
        play.watch.tell(event("ADDED", "a", 1))
        await play.news()
        play.watch.cut()
        await asyncio.wait([handling])
        again = asyncio.create_task(play.operator.handle(aiter(play.watch)))
        play.watch.tell(event("ADDED", "b", 2))
        assert await play.news() == [("b", 2)]
        again.cancel()
        await asyncio.wait([again])
    assert play.starts == 1


async def test_kopf_is_restarted_after_a_stop(play: Play) -> None:
    for version in (1, 2):
        async with play.running():
            play.watch.tell(event("MODIFIED", "a", version))
            assert await play.news() == [("a", version)]
    assert play.starts == 2


async def test_a_stop_while_kopf_starts_never_hangs(play: Play) -> None:
    """It hung when the start was cancelled at the sixteenth to the eighteenth of its steps."""
    for steps in itertools.count():
        play = Play()
        async with play.running():
            play.watch.tell(event("ADDED", "a", 1))
            for _ in range(steps):
                await asyncio.sleep(0)
            handed_on = len(play.store)
        if handed_on:
            break
    assert steps > 18


async def test_an_event_that_cannot_be_read_ends_the_watch(play: Play) -> None:
    async with play.running() as handling:
        play.watch.tell(WatchEvent("ADDED", msgspec.Raw(b'{"metadata":{"name":5}}')))
        await asyncio.wait([handling])
        assert isinstance(handling.exception(), Unreadable)


@pytest.mark.parametrize("garbage", [b"{}", b'{"metadata":null}'])
async def test_an_event_that_kopf_cannot_read_ends_the_watch(play: Play, garbage: bytes) -> None:
    async with play.running() as handling:
        play.watch.tell(WatchEvent("ADDED", msgspec.Raw(garbage)))
        await asyncio.wait([handling])
        assert isinstance(handling.exception(), Unreadable)


async def test_an_event_that_kopf_does_not_deliver_ends_the_watch(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_kopf, "STALLED", 0.1)
    held = asyncio.Event()
    play.operator = EmbeddedKopf(RESOURCE)

    @kopf.on.event(RESOURCE.group, RESOURCE.plural, registry=play.operator.registry)
    @play.operator.delivers
    async def hold(**_: Any) -> None:
        await held.wait()

    async with play.running() as handling:
        play.watch.tell(event("ADDED", "a", 1))
        await asyncio.wait([handling])
        with pytest.raises(Unreadable, match="has not handed on 1 events"):
            handling.result()
        held.set()


async def test_the_end_of_kopf_ends_the_watch(play: Play) -> None:
    async with play.running() as handling:
        play.watch.tell(event("ADDED", "a", 1))
        await play.news()
        (orchestrator,) = (t for t in asyncio.all_tasks() if "multitasker" in t.get_name())
        orchestrator.cancel()
        await asyncio.wait([handling])
        with pytest.raises(Unreadable, match="kopf ended: multidimensional multitasker"):
            handling.result()


async def test_kopf_that_does_not_start_ends_the_watch(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(**_: Any) -> None:
        raise OSError("no more files")

    monkeypatch.setattr(kopf, "spawn_tasks", fail)
    async with play.running() as handling:
        await asyncio.wait([handling])
        with pytest.raises(Unreadable, match="no more files"):
            handling.result()


@pytest.mark.parametrize(
    ("method", "query"), [("get", ""), ("get", "?limit=500"), ("patch", ""), ("post", "")]
)
async def test_kopf_neither_lists_nor_writes(play: Play, method: str, query: str) -> None:
    """kopf has no connection, and each of its requests is refused."""

    @kopf.on.event(RESOURCE.group, RESOURCE.plural, registry=play.operator.registry)
    async def ask(**_: Any) -> None:
        session = (await play.operator.login()).aiohttp_session
        await session.request(method, f"http://embedded{RESOURCE.path()}{query}")

    async with play.running() as handling:
        play.watch.tell(event("ADDED", "a", 1))
        await asyncio.wait([handling])
        with pytest.raises(Unreadable, match=f"kopf is not to {method}"):
            handling.result()


async def test_a_kopf_finalizer_on_an_object_causes_no_write(play: Play) -> None:
    """kopf removes its finalizer from objects whose handlers need no finalizer."""
    shown = {
        "metadata": {
            "name": "a",
            "uid": "uid-a",
            "resourceVersion": "1",
            "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
        },
        "spec": {},
    }
    async with play.running() as handling:
        play.watch.tell(WatchEvent("ADDED", msgspec.Raw(json.dumps(shown).encode())))
        await play.news()
        play.watch.tell(event("MODIFIED", "b", 2))
        await play.news()
        assert not handling.done()
