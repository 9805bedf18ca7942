"""Lists and watches of several namespaces as one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lnamespace.errors import Forbidden, Unreachable
from lnamespace.gateway.fairness.request_usage import MemoryAccounts, RequestUsage
from lnamespace.gateway.lists.merged_lists import PageRequest, list_all, list_page
from lnamespace.gateway.lists.pages import merge_pages, read_page
from lnamespace.gateway.requests.answers import UpstreamRefused
from lnamespace.gateway.watches import resuming, watch_events
from lnamespace.gateway.watches.merged_watches import MergedWatch
from lnamespace.gateway.watches.resuming import NOWHERE, ResumeLog, WatchHistory
from lnamespace.gateway.watches.watch_requests import MemberRequest, WatchRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.protocol.status import Refused, expired
from lnamespace.translate.requests.continuation import ListPosition

from tests.unit.support.server import DEADLINE


class Cluster:
    """Namespaces with numbered items, listed in pages as an API server does."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts
        self.asked: list[PageRequest] = []

    async def fetch(self, page: PageRequest) -> bytes:
        self.asked.append(page)
        names = [f"{page.namespace}/{i}" for i in range(self.counts[page.namespace])]
        start = int(page.continue_ or 0)
        end = start + page.limit if page.limit else len(names)
        more = str(end) if end < len(names) else ""
        items = [{"metadata": {"name": name}} for name in names[start:end]]
        metadata = {"resourceVersion": "7", "continue": more}
        return msgspec.json.encode({"kind": "XList", "metadata": metadata, "items": items})


def names_in(body: bytes) -> list[str]:
    return [item["metadata"]["name"] for item in msgspec.json.decode(body)["items"]]


async def test_all_namespaces_are_listed_at_the_version_of_the_first() -> None:
    cluster = Cluster({"a": 2, "b": 0, "c": 1})
    listed = await list_all(cluster.fetch, ["a", "b", "c"], RequestUsage())
    assert names_in(listed) == ["a/0", "a/1", "c/0"]
    assert [page.version for page in cluster.asked] == ["", "7", "7"]


async def test_a_failure_in_one_of_several_namespaces_is_raised_unchanged() -> None:
    """An exception group was not handled, and became an internal error instead of a 503."""

    async def fetch(page: PageRequest) -> bytes:
        if page.namespace == "b":
            raise Unreachable("cut")
        return b'{"metadata":{"resourceVersion":"5"},"items":[]}'

    with pytest.raises(Unreachable):
        await list_all(fetch, ["a", "b", "c"], RequestUsage())


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7, 50])
async def test_pages_of_any_size_contain_each_item_once(limit: int) -> None:
    cluster = Cluster({"a": 3, "b": 0, "c": 4, "d": 0})
    found: list[str] = []
    position: ListPosition | None = None
    for _ in range(20):
        pages, position = await list_page(cluster.fetch, list("abcd"), limit, position)
        body = merge_pages(pages)
        assert len(names_in(body)) <= limit
        found += names_in(body)
        if position is None:
            break
    assert found == [*(f"a/{i}" for i in range(3)), *(f"c/{i}" for i in range(4))]


async def test_a_position_in_a_deleted_namespace_continues_with_the_whole_next() -> None:
    cluster = Cluster({"a": 3, "b": 0, "c": 4})
    pages, position = await list_page(cluster.fetch, ["a", "b", "c"], 2, None)
    assert position == ListPosition("a", "2", "7")
    pages, position = await list_page(cluster.fetch, ["b", "c"], 9, position)
    assert names_in(merge_pages(pages)) == [f"c/{i}" for i in range(4)]
    assert position is None


async def test_a_continued_list_without_a_limit_returns_all_remaining_items() -> None:
    cluster = Cluster({"a": 3, "b": 2, "c": 1})
    _, position = await list_page(cluster.fetch, list("abc"), 2, None)
    pages, rest = await list_page(cluster.fetch, list("abc"), 0, position)
    assert names_in(merge_pages(pages)) == ["a/2", "b/0", "b/1", "c/0"]
    assert rest is None


def test_a_merged_table_has_the_columns_of_the_first_page() -> None:
    first = {"kind": "Table", "columnDefinitions": [{"name": "Name"}], "rows": [{"cells": ["a"]}]}
    second = {"kind": "Table", "columnDefinitions": None, "rows": [{"cells": ["b"]}]}
    pages = [read_page(msgspec.json.encode(page)) for page in (first, second)]
    merged = msgspec.json.decode(merge_pages(pages))
    assert merged["columnDefinitions"] == [{"name": "Name"}]
    assert [row["cells"] for row in merged["rows"]] == [["a"], ["b"]]


def order(log: ResumeLog, key: str, *steps: tuple[str, int]) -> WatchHistory:
    """One watch from version 10 over the namespaces a and b, which told this."""
    it = log.begin(key, "10", {"a": "10", "b": "10"})
    for namespace, version in steps:
        log.record_position(it, namespace, str(version), sent=True)
    return it


def test_a_client_resumes_before_the_events_that_were_not_sent() -> None:
    log = ResumeLog()
    order(log, "pods", ("b", 20), ("a", 19))
    # The event 19 of a was sent after the event 20 of b: who saw 20 last has not seen it.
    assert log.positions_at("pods", "20") == {"a": "10", "b": "20"}
    assert log.positions_at("pods", "19") == {"a": "19", "b": "20"}
    assert log.positions_at("pods", "10") == {"a": "10", "b": "10"}
    assert log.positions_at("pods", "33") is None
    assert log.positions_at("services", "10") is None


@settings(max_examples=300)
@given(st.data())
def test_a_resuming_client_misses_no_event_of_any_equal_watch(
    data: st.DataObject,
) -> None:
    """One log for all equal watches mixed up the events that were sent to each client."""
    log, key = ResumeLog(), "pods"
    versions = data.draw(st.lists(st.integers(11, 40), min_size=1, unique=True))
    namespaces = {each: data.draw(st.sampled_from("ab")) for each in sorted(versions)}
    watches = []
    for _ in range(data.draw(st.integers(1, 3))):
        own = data.draw(st.permutations(sorted(versions)))
        told = {each: [v for v in sorted(versions) if namespaces[v] == each] for each in "ab"}
        in_order = [told[namespaces[version]].pop(0) for version in own]
        seen = data.draw(st.integers(0, len(in_order)))
        watches.append(in_order[:seen])
        order(log, key, *((namespaces[each], each) for each in in_order))
    for seen_events in watches:
        last = str(seen_events[-1]) if seen_events else "10"
        reached = log.positions_at(key, last)
        assert reached is not None
        again = {v for v in versions if v > int(reached[namespaces[v]])}
        assert set(versions) - set(seen_events) <= again


async def test_a_resumed_watch_lists_a_new_namespace_from_the_beginning() -> None:
    """Its first events were missed, because they were older than those already sent."""
    streams, log = Streams(), ResumeLog()
    order(log, "k", ("a", 20))
    watch = MergedWatch(WatchRequest("k", "20"), streams.open, log)
    watch.begin(["a", "b", "new"])
    await asyncio.sleep(0.01)
    began = {each.namespace: each.version for each in streams.opened}
    assert began == {"a": "20", "b": "10", "new": ""}
    watch.close()


async def test_every_namespace_resumes_at_a_version_that_was_never_sent() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "33"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    await asyncio.sleep(0.01)
    assert [each.version for each in streams.opened] == ["33", "33"]
    watch.close()


def event(type_: str, version: int, **annotations: str) -> bytes:
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    object_ = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}
    return msgspec.json.encode({"type": type_, "object": object_})


class Streams:
    """The watches of namespaces, whose events a test tells."""

    def __init__(self) -> None:
        self.opened: list[MemberRequest] = []
        self.queues: dict[str, asyncio.Queue[bytes]] = {}

    def tell(self, namespace: str, *lines: bytes) -> None:
        queue = self.queues.setdefault(namespace, asyncio.Queue())
        for line in lines:
            queue.put_nowait(line + b"\n")

    async def open(self, member: MemberRequest) -> UpstreamResponse:
        self.opened.append(member)
        return _Response(self.queues.setdefault(member.namespace, asyncio.Queue()))


class _Response(UpstreamResponse):
    def __init__(self, queue: "asyncio.Queue[bytes]") -> None:
        self.status, self.headers = 200, ()
        self.queue = queue

    async def take(self) -> bytes:
        return await self.queue.get()

    def close(self) -> None:
        pass


class _Refusal(UpstreamResponse):
    def __init__(self) -> None:
        self.status, self.headers = 400, ()

    async def read(self, hold: Callable[[int], None] | None = None) -> bytes:
        del hold
        return b'{"code":400}'


async def take(lines: AsyncIterator[bytes], count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(DEADLINE):
        while len(found) < count:
            event_ = msgspec.json.decode(await anext(lines))
            found.append((event_["type"], event_["object"]["metadata"]["resourceVersion"]))
    return found


async def test_a_bookmark_has_the_oldest_position_of_all_namespaces() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5", bookmarks=True), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    lines = watch.lines()
    streams.tell("a", event("ADDED", 10))
    assert await take(lines, 1) == [("ADDED", "10")]
    streams.tell("b", event("MODIFIED", 20), event("BOOKMARK", 30))
    assert await take(lines, 2) == [("MODIFIED", "20"), ("BOOKMARK", "10")]
    watch.close()


class Behind(Streams):
    """Watches of which that of namespace b is answered later than the others."""

    def __init__(self) -> None:
        super().__init__()
        self.answered = asyncio.Event()

    async def open(self, member: MemberRequest) -> UpstreamResponse:
        if member.namespace == "b":
            await self.answered.wait()
        return await super().open(member)

    async def taken(self, namespace: str) -> None:
        """Wait until the gateway has taken what was told of a namespace."""
        async with asyncio.timeout(DEADLINE):
            while not self.queues[namespace].empty():  # noqa: ASYNC110 - a queue tells nobody
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("joins", [False, True])
async def test_newer_events_are_held_back_while_a_namespace_is_behind(joins: bool) -> None:
    """A client that had received 20 resumed there at a gateway that had been started anew. Event 15
    of a namespace that was seconds behind was lost for good."""
    streams = Behind()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a"] if joins else ["a", "b"])
    if joins:
        watch.join("b")
    streams.tell("a", event("MODIFIED", 20))
    await streams.taken("a")
    streams.answered.set()
    streams.tell("b", event("ADDED", 15), event("MODIFIED", 25))
    lines = watch.lines()
    assert await take(lines, 3) == [("ADDED", "15"), ("MODIFIED", "20"), ("MODIFIED", "25")]
    watch.close()


async def test_a_namespace_that_leaves_holds_back_no_events() -> None:
    streams = Behind()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    streams.tell("a", event("MODIFIED", 20))
    await streams.taken("a")
    watch.leave("b")
    assert await take(watch.lines(), 1) == [("MODIFIED", "20")]
    watch.close()


async def test_events_are_held_back_for_a_time_and_up_to_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streams = Behind()
    many = [event("MODIFIED", 20 + number) for number in range(1001)]
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    streams.tell("a", *many)
    lines = watch.lines()
    assert await take(lines, 1) == [("MODIFIED", "20")]
    watch.close()
    monkeypatch.setattr(watch_events, "_LONGEST_DELAY", 0.05)
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    streams.tell("a", event("MODIFIED", 20))
    assert await take(watch.lines(), 1) == [("MODIFIED", "20")]
    watch.close()


async def test_a_failure_discards_the_events_that_were_held_back() -> None:
    """These events are newer than those that the failed namespace still had to send."""
    streams = Behind()

    async def fail(member: MemberRequest) -> UpstreamResponse:
        response = await streams.open(member)
        if member.namespace == "b":
            raise Unreachable("cut")
        return response

    watch = MergedWatch(WatchRequest("k", "5"), fail, ResumeLog())
    watch.begin(["a", "b"])
    streams.tell("a", event("MODIFIED", 20))
    await streams.taken("a")
    streams.answered.set()
    with pytest.raises(Unreachable):
        await take(watch.lines(), 1)
    watch.close()


async def test_a_lost_position_ends_a_watch_that_has_begun_by_an_error_event() -> None:
    """It was answered by status 410 where it was found before the answer was begun."""
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "1"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    for namespace in ("a", "b"):
        streams.tell(namespace, event("ERROR", 1))
    for _ in range(20):
        await asyncio.sleep(0)
    await watch.wait_begun()
    with pytest.raises(Refused) as refused:
        await take(watch.lines(), 1)
    assert refused.value.status.code == 410
    watch.close()


async def test_the_initial_events_end_after_those_of_all_namespaces() -> None:
    streams = Streams()
    request = WatchRequest("k", "", initial_events=True, bookmarks=True)
    watch = MergedWatch(request, streams.open, ResumeLog())
    watch.begin(["a", "b"])
    lines = watch.lines()
    ended = {"k8s.io/initial-events-end": "true"}
    streams.tell("a", event("ADDED", 3), event("BOOKMARK", 50, **ended))
    assert await take(lines, 1) == [("ADDED", "3")]
    streams.tell("b", event("ADDED", 4), event("BOOKMARK", 40, **ended))
    assert await take(lines, 2) == [("ADDED", "4"), ("BOOKMARK", "40")]
    watch.close()


async def test_the_end_of_the_initial_events_is_recognized_in_tables() -> None:
    streams = Streams()
    request = WatchRequest("k", "", initial_events=True, bookmarks=True)
    watch = MergedWatch(request, streams.open, ResumeLog())
    watch.begin(["a", "b"])
    for namespace, version in (("a", "50"), ("b", "40")):
        metadata = {
            "resourceVersion": version,
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        row = {"cells": [""], "object": {"kind": "PartialObjectMetadata", "metadata": metadata}}
        table = {"kind": "Table", "metadata": {"resourceVersion": version}, "rows": [row]}
        streams.tell(namespace, msgspec.json.encode({"type": "BOOKMARK", "object": table}))
    async with asyncio.timeout(DEADLINE):
        told = msgspec.json.decode(await anext(watch.lines()))["object"]
    assert told["metadata"] == {"resourceVersion": "40"}
    assert told["rows"][0]["object"]["metadata"] == {
        "resourceVersion": "40",
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    watch.close()


@pytest.mark.parametrize(("asked", "match"), [(False, "NotOlderThan"), (None, "")])
async def test_a_joining_namespace_always_sends_its_initial_events(
    asked: bool | None, match: str
) -> None:
    opened: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    streams = Streams()

    async def remember(member: MemberRequest) -> UpstreamResponse:
        opened.put_nowait({"namespace": member.namespace} | dict(member.parameters))
        return await streams.open(member)

    watch = MergedWatch(WatchRequest("k", initial_events=asked), remember, ResumeLog())
    watch.begin(["a"])
    watch.join("b")
    async with asyncio.timeout(DEADLINE):
        found = {each["namespace"]: each for each in (await opened.get(), await opened.get())}
    watch.close()
    assert found["a"]["resourceVersionMatch"] == match
    assert found["a"]["sendInitialEvents"] == ("" if asked is None else "false")
    assert found["b"]["resourceVersionMatch"] == found["b"]["sendInitialEvents"] == ""


async def test_a_client_that_did_not_request_bookmarks_receives_no_bookmarks() -> None:
    streams = Streams()
    request = WatchRequest("k", "", initial_events=True)
    watch = MergedWatch(request, streams.open, ResumeLog())
    watch.begin(["a"])
    ended = {"k8s.io/initial-events-end": "true"}
    streams.tell("a", event("BOOKMARK", 50, **ended), event("ADDED", 51))
    assert await take(watch.lines(), 1) == [("ADDED", "51")]
    watch.close()


async def test_a_refusal_of_the_api_server_is_raised_before_any_event_is_sent() -> None:
    async def refuse(member: MemberRequest) -> UpstreamResponse:
        del member
        return _Refusal()

    watch = MergedWatch(WatchRequest("k"), refuse, ResumeLog())
    watch.begin(["a", "b"])
    with pytest.raises(UpstreamRefused) as refused:
        await watch.wait_begun()
    assert (refused.value.status, refused.value.body) == (400, b'{"code":400}')
    watch.close()


@pytest.mark.parametrize("asked", [False, True])
async def test_a_watch_begins_although_its_only_namespace_is_revoked(asked: bool) -> None:
    """A client whose rights ended when it had listed was not answered for half an hour."""
    watch = MergedWatch(WatchRequest("k", "5"), Behind().open, ResumeLog())
    begun = asyncio.create_task(watch.wait_begun())
    watch.begin(["b"])
    await asyncio.sleep(0.01 if asked else 0)
    watch.revoke("b")
    watch.send_last("b", event("DELETED", 12))
    async with asyncio.timeout(DEADLINE):
        await begun
    assert await take(watch.lines(), 1) == [("DELETED", "12")]
    watch.close()


async def test_the_initial_events_end_although_an_awaited_namespace_leaves() -> None:
    streams = Streams()
    request = WatchRequest("k", "", initial_events=True, bookmarks=True)
    watch = MergedWatch(request, streams.open, ResumeLog())
    watch.begin(["a", "b"])
    lines = watch.lines()
    ended = {"k8s.io/initial-events-end": "true"}
    streams.tell("a", event("BOOKMARK", 50, **ended), event("ADDED", 51))
    assert await take(lines, 1) == [("ADDED", "51")]
    watch.leave("b")
    async with asyncio.timeout(DEADLINE):
        last = msgspec.json.decode(await anext(lines))
    assert last["object"]["metadata"] == {"resourceVersion": "51", "annotations": ended}
    watch.close()


async def test_a_namespace_that_has_left_is_not_watched_again() -> None:
    asked = 0

    async def refuse(member: MemberRequest) -> UpstreamResponse:
        nonlocal asked
        asked += 1
        raise Forbidden(member.namespace)

    watch = MergedWatch(WatchRequest("k", "5"), refuse, ResumeLog())
    watch.begin(["a"])
    watch.leave("a")
    await asyncio.sleep(0)
    assert asked == 0
    watch.close()


async def test_a_joining_namespace_is_watched_from_its_beginning() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a"])
    watch.join("b")
    streams.tell("b", event("ADDED", 9))
    assert await take(watch.lines(), 1) == [("ADDED", "9")]
    assert [(each.namespace, each.version) for each in streams.opened] == [("a", "5"), ("b", "")]
    watch.close()


async def test_a_recreated_namespace_is_watched_once_and_ends_with_the_watch() -> None:
    before = asyncio.all_tasks()
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    await asyncio.sleep(0.01)
    watch.leave("b")
    assert not watch.join("b")
    streams.tell("b", event("ADDED", 9))
    assert await take(watch.lines(), 1) == [("ADDED", "9")]
    assert [each.namespace for each in streams.opened] == ["a", "b"]
    watch.close()
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before


async def test_an_ended_watch_ends_like_a_watch_that_timed_out() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a"])
    waiting = asyncio.create_task(anext(watch.lines(), b"over"))
    await asyncio.sleep(0.01)
    watch.end()
    async with asyncio.timeout(DEADLINE):
        assert await waiting == b"over"
    watch.close()


async def test_no_event_of_a_namespace_is_sent_after_its_last_event() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5", bookmarks=True), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    lines = watch.lines()
    streams.tell("a", event("ADDED", 9))
    streams.tell("b", event("ADDED", 10))
    assert sorted(await take(lines, 2)) == [("ADDED", "10"), ("ADDED", "9")]
    watch.revoke("b")
    watch.send_last("b", event("DELETED", 12))
    await asyncio.sleep(0)
    streams.tell("b", event("MODIFIED", 13))
    assert await take(lines, 1) == [("DELETED", "12")]
    streams.tell("a", event("BOOKMARK", 20))
    assert await take(lines, 1) == [("BOOKMARK", "20")], "what is gone holds no bookmark back"
    assert watch.join("b")
    assert await take(lines, 1) == [("MODIFIED", "13")]
    watch.close()


async def test_a_namespace_that_joins_again_is_added_after_its_last_event() -> None:
    """The Namespace is older than the end of the rights, and was sent before it: a client that read
    slowly had no namespace in which it had rights again."""
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin([])
    for ended in (20, 30):
        watch.join("a")
        streams.tell("a", event("ADDED", 9))
        async with asyncio.timeout(DEADLINE):
            while not streams.queues["a"].empty():  # noqa: ASYNC110 - a queue tells nobody
                await asyncio.sleep(0.001)
        watch.revoke("a")
        watch.send_last("a", event("DELETED", ended))
    once = [("ADDED", "9"), ("DELETED", "20")]
    assert await take(watch.lines(), 4) == [*once, ("ADDED", "9"), ("DELETED", "30")]
    watch.close()


async def test_a_client_that_leaves_during_a_join_has_to_list_again() -> None:
    streams, log = Streams(), ResumeLog()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, log)
    watch.begin(["a"])
    lines = watch.lines()
    watch.join("b")
    streams.tell("b", event("ADDED", 3))
    assert await take(lines, 1) == [("ADDED", "3")]
    streams.tell("a", event("ADDED", 20))
    assert await take(lines, 1) == [("ADDED", "20")]
    assert log.positions_at("k", "5") == {"a": "5"}
    for version, place in (("3", "5"), ("20", "20")):
        assert log.positions_at("k", version) == {"a": place, "b": NOWHERE}
    again = MergedWatch(WatchRequest("k", "20"), streams.open, log)
    again.begin(["a", "b"])
    with pytest.raises(Refused) as refused:
        await again.wait_begun()
    assert refused.value.status.code == 410
    streams.tell("b", event("ADDED", 4), event("BOOKMARK", 30), event("ADDED", 31))
    assert await take(lines, 2) == [("ADDED", "4"), ("ADDED", "31")]
    assert log.positions_at("k", "31") == {"a": "20", "b": "31"}
    watch.revoke("b")
    watch.send_last("b", event("DELETED", 33))
    assert await take(lines, 1) == [("DELETED", "33")]
    assert log.positions_at("k", "33") == {"a": "20"}
    watch.close()


def test_the_position_of_a_quiet_namespace_is_remembered() -> None:
    log = ResumeLog()
    order(log, "k", *(("b", version) for version in range(11, 5000)))
    assert log.positions_at("k", "4999") == {"a": "10", "b": "4999"}
    assert log.positions_at("k", "10") is log.positions_at("k", "12") is None


def test_the_log_of_an_inactive_watch_is_evicted_before_that_of_an_active_watch() -> None:
    log = ResumeLog()
    telling = order(log, "acme\ntelling")
    order(log, "acme\nquiet")
    for number in range(499):
        order(log, f"acme\nother {number}")
        log.record_sent(telling, str(20 + number))
    assert log.positions_at("acme\ntelling", "20") is not None
    assert log.positions_at("acme\nquiet", "10") is None


def test_watches_of_one_tenant_do_not_evict_the_history_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """500 watches of one tenant filled the log, and clients of others missed events."""
    monkeypatch.setattr(resuming, "_REMEMBERED_STEPS", 10_000)
    log = ResumeLog()
    order(log, "beta\npods", ("b", 20), ("a", 19))
    for number in range(600):
        order(log, f"acme\n{number}", *(("a", version) for version in range(11, 200)))
    assert log.positions_at("beta\npods", "20") == {"a": "10", "b": "20"}
    assert log.positions_at("acme\n599", "199") is not None
    assert log.positions_at("acme\n1", "199") is None


def test_an_evicted_history_is_counted_again_when_its_watch_sends_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resuming, "_REMEMBERED_STEPS", 30)
    log = ResumeLog()
    both = [order(log, f"acme\n{number}") for number in range(2)]
    for version in range(11, 200):
        log.record_position(both[version % 2], "a", str(version), sent=True)
        assert 0 <= log.size <= 30
    assert all(each.size <= 30 for each in both)


async def test_a_failure_ends_a_watch_before_its_queued_events() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a"])
    streams.tell("a", event("ADDED", 9))
    await asyncio.sleep(0.01)
    watch.fail(expired("the rights have ended"))
    with pytest.raises(Refused, match="the rights have ended"):
        await take(watch.lines(), 1)
    watch.close()


async def test_an_event_counts_to_the_share_until_the_client_has_read_it() -> None:
    """Queued events were not counted, and watches that nobody read held 1 GB."""
    streams, accounts = Streams(), MemoryAccounts()
    with accounts.account_for("ann", bool) as usage:
        watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog(), usage)
        watch.begin(["a"])
        lines = watch.lines()
        for version in (9, 10):
            streams.tell("a", event("ADDED", version, long="x" * 400_000))
        await take(lines, 1)
        await asyncio.sleep(0.01)
        assert accounts.held("ann") > 500_000
        await take(lines, 1)
        with suppress(TimeoutError):
            await asyncio.wait_for(anext(lines), 0.01)
        assert usage.size == 0
        watch.close()


async def test_an_expired_position_in_one_namespace_ends_the_whole_watch() -> None:
    streams = Streams()
    watch = MergedWatch(WatchRequest("k", "5"), streams.open, ResumeLog())
    watch.begin(["a", "b"])
    streams.tell("b", event("ERROR", 0))
    with pytest.raises(Refused) as refused:
        await take(watch.lines(), 1)
    assert refused.value.status.code == 410
    watch.close()


def test_only_a_list_of_one_part_states_the_remaining_item_count() -> None:
    page = b'{"kind":"XList","metadata":{"resourceVersion":"7","remainingItemCount":3},"items":[]}'
    merged = msgspec.json.decode(merge_pages([read_page(page)], "more"))
    assert merged["metadata"]["remainingItemCount"] == 3
    both = msgspec.json.decode(merge_pages([read_page(page), read_page(page)], "more"))
    assert "remainingItemCount" not in both["metadata"]


async def test_a_namespace_that_is_revoked_twice_at_one_version_has_both_events() -> None:
    """The version of a deletion is that of the newest RoleBinding: the second had no place."""
    watch = MergedWatch(WatchRequest("k", "5"), Behind().open, ResumeLog())
    watch.begin([])
    for _ in range(2):
        watch.send_last("a", event("DELETED", 20))
    assert await take(watch.lines(), 2) == [("DELETED", "20")] * 2
    watch.close()
