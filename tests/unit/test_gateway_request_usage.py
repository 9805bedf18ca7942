"""What one tenant may take of what all share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.gateway.fairness import in_flight
from lnamespace.gateway.fairness.costs import seconds_for_answer, seconds_for_write
from lnamespace.gateway.fairness.in_flight import InFlight, WatchCounts
from lnamespace.gateway.fairness.request_usage import MemoryAccounts, MemoryLimits, RequestUsage
from lnamespace.gateway.requests.answer_encoders import JsonEncoder
from lnamespace.gateway.requests.answers import send_events
from lnamespace.gateway.watches import watch_events
from lnamespace.gateway.watches.watch_events import (
    OpeningSlot,
    QueuedEvent,
    WaitingEvents,
    event_lines,
)
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import HttpRequest
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.translate.names.tenant_view import CRDS, NAMESPACES
from lnamespace.translate.protocol.request import PathRequest
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import asked

SECRETS = GroupResource("", "secrets")
SMALL = 256 * 1024
LIMITS = MemoryLimits(owner=100, all=250)


def uncut() -> None:
    pytest.fail("it has to make room")


def code_of(usage: RequestUsage, size: int) -> int:
    with pytest.raises(Refused) as refused:
        usage.reserve(size)
    return refused.value.status.code


class _Sent:
    """An exchange that notes what is sent."""

    def __init__(self) -> None:
        self.count = 0

    async def send(self, data: bytes) -> None:
        self.count += len(data) > 0

    async def end(self) -> None:
        pass


async def test_other_tasks_run_between_the_initial_events_of_a_watch() -> None:
    sent, between = _Sent(), list[int]()

    async def lines() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 10_000

    async def short() -> None:
        while sent.count < 100:
            before = sent.count
            await asyncio.sleep(0)
            between.append(sent.count - before)

    async with asyncio.TaskGroup() as group:
        watch = send_events(sent, JsonEncoder(), lines(), bytes)  # type: ignore[arg-type]
        group.create_task(watch)
        group.create_task(short())
    assert max(between) <= 2


def test_a_tenant_beyond_its_memory_share_is_answered_with_429_or_413() -> None:
    accounts = MemoryAccounts(LIMITS)
    with accounts.account_for("a", uncut) as first, accounts.account_for("a", uncut) as second:
        first.reserve(SMALL + 60)
        assert code_of(second, SMALL + 60) == 429
        second.reserve(SMALL + 40)
        second.release(SMALL + 40)
        assert code_of(first, 41) == 413
    with accounts.account_for("a", uncut) as alone:
        assert code_of(alone, SMALL + 101) == 413
        alone.reserve(SMALL + 100)
    assert accounts.held("a") == 0


async def most_at_once(usage: RequestUsage) -> int:
    """Return how many of four costly requests are at the API server at once."""
    there, most = 0, list[int]()

    async def request() -> None:
        nonlocal there
        async with usage.costly_request():
            there += 1
            most.append(there)
            await asyncio.sleep(0)
            there -= 1

    await asyncio.gather(*(request() for _ in range(4)))
    return max(most)


async def test_a_heavy_tenant_has_one_costly_request_at_a_time_at_the_api_server() -> None:
    """Four lists at once occupied an API server with two processors: all others waited."""
    accounts = MemoryAccounts()
    with (
        accounts.account_for("much", uncut) as much,
        accounts.account_for("little", uncut) as little,
    ):
        much.charge_extra(10.0)
        assert await most_at_once(much) == 4  # alone
        little.charge_extra(0.001)
        much.charge_extra(0.001)
        assert (await most_at_once(much), await most_at_once(little)) == (1, 4)
    assert not accounts.costly


def test_stored_bytes_are_charged_more_than_sent_bytes() -> None:
    accounts = MemoryAccounts()
    with accounts.account_for("a", uncut) as usage, accounts.account_for("b", uncut) as other:
        other.charge_extra(0.001)
        usage.charge_extra(seconds_for_answer(20_000_000))
        other.charge_extra(0.001)
        assert not accounts.scheduler.needs_turns("a")
        usage.charge_extra(seconds_for_write(SECRETS, 20_000_000, creates=True))
        assert accounts.scheduler.needs_turns("a")


def test_definitions_and_new_namespaces_are_charged_more_than_their_bytes() -> None:
    plain = seconds_for_write(SECRETS, 1000, creates=True)
    for resource, creates, dearer in (
        (CRDS, False, True),
        (CRDS, True, True),
        (NAMESPACES, True, True),
        (NAMESPACES, False, False),
    ):
        assert (seconds_for_write(resource, 1000, creates=creates) > plain) is dearer


def test_the_tenant_that_holds_most_memory_is_cut_off_first() -> None:
    accounts, cut = MemoryAccounts(LIMITS), list[str]()
    with ExitStack() as stack:
        for owner in ("a", "b"):
            usage = stack.enter_context(accounts.account_for(owner, partial(cut.append, owner)))
            usage.reserve(SMALL + 100)
        other = stack.enter_context(accounts.account_for("c", uncut))
        other.reserve(SMALL + 60)
        assert cut == ["a"]
        assert accounts.held("a") == 0


def test_a_tenant_with_small_responses_is_never_refused_because_of_others() -> None:
    accounts = MemoryAccounts(MemoryLimits(owner=100, all=100))
    with accounts.account_for("a", uncut) as much, accounts.account_for("b", uncut) as little:
        much.reserve(SMALL + 100)
        little.reserve(SMALL)
        assert code_of(little, 100) == 429


async def test_a_fifth_concurrent_list_waits_only_for_requests_of_its_own_tenant() -> None:
    counted, begun, end = InFlight(200), list[str](), asyncio.Event()

    async def ask(tenant: str, verb: str, size: int = 0) -> None:
        async with counted.limit_concurrency(tenant, asked("secrets", verb), size):
            begun.append(f"{tenant} {verb}")
            await end.wait()

    tasks = [asyncio.create_task(ask("a", "list")) for _ in range(6)]
    for tenant, verb in (("a", "get"), ("a", "create"), ("a", "watch"), ("b", "list")):
        tasks.append(asyncio.create_task(ask(tenant, verb)))
    # Sixteen of 3 MB at once held up everybody at the API server for half a second.
    tasks += [asyncio.create_task(ask("a", "update", 3_000_000)) for _ in range(4)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sorted(begun) == [
        "a create",
        "a get",
        *["a list"] * 4,
        *["a update"] * 2,
        "a watch",
        "b list",
    ]
    end.set()
    await asyncio.gather(*tasks)
    assert len(begun) == len(tasks)


async def test_a_refusal_is_delayed_and_one_refusal_too_many_closes_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_flight, "_DELAY", 0.0)
    monkeypatch.setattr(in_flight, "_DELAYED", 1)
    counted = InFlight(1)
    with counted.counted("a", PathRequest("get", "/")):
        first = asyncio.create_task(counted.delay(exchange_of("a")))
        await asyncio.sleep(0)
        with pytest.raises(ConnectionAbortedError):
            await counted.delay(exchange_of("a"))
        await asyncio.gather(first, counted.delay(exchange_of("b")))
    await counted.delay(exchange_of("a"))


class _Connection:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.released = 0

    def release(self, size: int) -> None:
        self.released += size


def exchange_of(owner: str) -> Exchange:
    return Exchange(HttpRequest("GET", "/", (), b"x"), _Connection(owner))  # type: ignore[arg-type]


async def test_the_event_queue_of_a_slow_reader_is_limited_in_count_and_size() -> None:
    waiting = WaitingEvents()
    for _ in range(1000):
        assert not waiting.full()
        waiting.put_nowait(QueuedEvent("a", b"x"))
    assert waiting.full()
    long = WaitingEvents()
    long.put_nowait(QueuedEvent("a", b"x" * (SMALL + 1)))
    assert long.full()
    await long.get()
    assert not long.full()


class _Lines(UpstreamResponse):
    def __init__(self, *chunks: bytes) -> None:
        self.chunks = [*chunks]

    async def take(self) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""


async def test_buffered_bytes_of_an_event_are_counted_until_it_is_sent() -> None:
    accounts = MemoryAccounts(MemoryLimits(owner=SMALL, all=SMALL))
    half = b"x" * SMALL
    with accounts.account_for("a", uncut) as usage:
        lines: AsyncIterator[bytes] = event_lines(_Lines(half, b"x\ny", b"y\n"), usage)
        assert await anext(lines) == half + b"x"
        assert usage.size == len(half) + 3
        assert await anext(lines) == b"yy"
        assert usage.size == 3
        assert [line async for line in lines] == []
        assert usage.size == 0
    with accounts.account_for("a", uncut) as usage:
        with pytest.raises(Refused):
            await anext(event_lines(_Lines(half, half, half), usage))
        assert usage.size == 0


async def test_the_events_of_a_watch_cost_as_much_as_a_list_of_their_size() -> None:
    """By watches that began anew all the time a tenant slowed down the API server for others."""
    accounts, event = MemoryAccounts(), b"x" * 10_000_000 + b"\n"
    accounts.scheduler.charge_extra("other", 0.001)
    with accounts.account_for("a", uncut) as usage:
        for left in reversed(range(5)):
            assert len([line async for line in event_lines(_Lines(event), usage)]) == 1
            accounts.scheduler.charge_extra("other", 0.001)
            assert accounts.scheduler.needs_turns("a") == (not left)


async def test_a_buffered_event_is_counted_at_its_expanded_size() -> None:
    """A hundred clients that read slowly held 870 MiB after one change of a compressed object."""
    accounts, event = MemoryAccounts(MemoryLimits(owner=SMALL, all=SMALL)), b"x" * (SMALL // 2)
    with ExitStack() as stack:
        first, second = (stack.enter_context(accounts.account_for("a", uncut)) for _ in range(2))
        for usage in (first, second):
            usage.expansion = 3
        lines: AsyncIterator[bytes] = event_lines(_Lines(event, b"\n"), first)
        assert await anext(lines)
        with pytest.raises(Refused):
            await anext(event_lines(_Lines(event, event, b"\n"), second))
        assert [line async for line in lines] == []
        assert (first.size, second.size) == (0, 0)


class _Held(UpstreamResponse):
    """A watch that tells something, and then waits."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = [*chunks]

    async def take(self) -> bytes:
        if self.chunks:
            return self.chunks.pop(0)
        await asyncio.Event().wait()
        return b""


async def test_clients_that_read_no_events_do_not_keep_other_tenants_from_watching() -> None:
    """Each had a slot among the requests of all tenants until its client had read what was there:
    with a hundred of them the only request of another tenant waited for half a minute."""
    counts, opened = WatchCounts(), list[str]()
    end = asyncio.Event()

    async def watch(owner: str) -> None:
        with counts.counted(owner) as count:
            slot = OpeningSlot(count.opening)
            await slot.acquire()
            opened.append(owner)
            async for _ in event_lines(_Held(b"x\n" * 2), RequestUsage(), slot):
                await end.wait()  # as for a client that does not read
                return

    tasks = [asyncio.create_task(watch("a")) for _ in range(12)]
    tasks.append(asyncio.create_task(watch("b")))
    for _ in range(5):
        await asyncio.sleep(0)
    assert sorted(opened) == ["a"] * 4 + ["b"]
    end.set()
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks)
    assert len(opened) == 13


class _Busy(UpstreamResponse):
    """A watch in which something changes each few milliseconds."""

    def __init__(self, size: int) -> None:
        self.told = b"x" * size + b"\n"

    async def take(self) -> bytes:
        await asyncio.sleep(0.005)
        return self.told


@pytest.mark.parametrize(("size", "caught_up"), [(100, True), (100_000, False)])
async def test_a_busy_watch_releases_its_opening_slot_unless_its_initial_list_is_long(
    monkeypatch: pytest.MonkeyPatch, size: int, *, caught_up: bool
) -> None:
    """Of a hundred watches where ConfigMaps changed all the time, each waited 20 s for the eight
    before it: the conformance spec of concurrent watches found it."""
    # A busy machine reads nothing for a tenth of a second.
    monkeypatch.setattr(watch_events, "_QUIET", 0.1 if caught_up else 0.5)
    places = asyncio.Semaphore(1)
    slot = OpeningSlot(places)
    await slot.acquire()

    async def read() -> None:
        async for _ in event_lines(_Busy(size), RequestUsage(), slot):
            pass

    reading = asyncio.create_task(read())
    given_back = False
    with suppress(TimeoutError):
        async with asyncio.timeout(10 if caught_up else 1.2):
            given_back = await places.acquire()
    assert given_back == caught_up
    assert places.locked()
    reading.cancel()


@pytest.mark.parametrize("told", [b"x\n", b'{"k8s.io/initial-events-end":"true"}\n'])
async def test_a_watch_releases_its_opening_slot_after_the_initial_events(told: bytes) -> None:
    places = asyncio.Semaphore(1)
    slot = OpeningSlot(places)
    await slot.acquire()

    async def read() -> None:
        async for _ in event_lines(_Held(told), RequestUsage(), slot):
            pass

    reading = asyncio.create_task(read())
    async with asyncio.timeout(10):
        await places.acquire()
    reading.cancel()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-SMALL, 2 * SMALL)), max_size=20))
def test_the_bytes_of_an_owner_are_the_sum_of_its_requests_under_way(
    changes: list[tuple[str, int]],
) -> None:
    accounts = MemoryAccounts()
    with ExitStack() as stack:
        usages = list[RequestUsage]()
        for owner, size in changes:
            with accounts.account_for(owner, uncut) as brief:
                brief.reserve(SMALL + 1)
            usage = stack.enter_context(accounts.account_for(owner, uncut))
            usages.append(usage)
            usage.reserve(abs(size))
            usage.release(max(-size, 0))
        for owner in "ab":
            under_way = sum(each.counted for each in usages if each.owner == owner)
            assert accounts.held(owner) == under_way
    assert [accounts.held(owner) for owner in "ab"] == [0, 0]


def test_requests_of_no_size_are_charged_too() -> None:
    """A tenant that listed its 200 empty namespaces in a loop took a third of a processor."""
    accounts = MemoryAccounts()
    with accounts.account_for("a", uncut) as usage, accounts.account_for("b", uncut) as other:
        other.charge_extra(0.001)
        for _ in range(2000):
            usage.charge_extra(seconds_for_answer(100))
        other.charge_extra(0.001)
        assert accounts.scheduler.needs_turns("a")
    assert seconds_for_write(SECRETS, 100, creates=False) > seconds_for_answer(100)
