"""Whose work goes on next in the one thread of the gateway."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from lnamespace.gateway.fairness.scheduler import FairScheduler, SchedulerLimits

LIMITS = SchedulerLimits(free=0.1, burst=0.5, most=1.0, shared=0.5, recent=10.0)


class Thread:
    """A thread whose work takes as long as it says, on a machine with nothing else to do."""

    def __init__(self) -> None:
        self.idle = self.ran = 0.0
        self.scheduler = FairScheduler(LIMITS, lambda: self.idle + self.ran, lambda: self.ran)
        self.steps = list[str]()

    async def work(self, owner: str, *seconds: float) -> None:
        """Take so long for each step, and wait for nothing in between."""

        async def steps() -> None:
            for each in seconds:
                self.steps.append(owner)
                self.ran += each
                await asyncio.sleep(0)

        await self.scheduler.metered(owner, steps())

    async def use_up(self, *owners: str) -> None:
        """Let tenants have used all that they may use at once, and another ask a little."""
        for owner in owners:
            await self.work(owner, 2.0)
        await self.work("other", 0.001)
        self.steps.clear()


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Thread:
    made = Thread()
    loop = asyncio.BaseEventLoop

    def call_later(
        self: asyncio.AbstractEventLoop, delay: float, callback: Callable[[], object]
    ) -> asyncio.Handle:
        def rested() -> None:
            made.idle += delay
            callback()

        return self.call_soon(rested)

    monkeypatch.setattr(loop, "call_later", call_later)
    return made


async def _all(*works: Awaitable[None]) -> None:
    await asyncio.gather(*works)


async def test_a_light_tenant_waits_for_one_step_of_a_heavy_tenant(thread: Thread) -> None:
    await thread.use_up("much")
    many = [thread.work("much", *[0.002] * 5) for _ in range(20)]
    await _all(*many, thread.work("little", *[0.001] * 3))
    # The first step of each that began before is no more than one of all of them.
    assert "little" in thread.steps[:2]
    assert thread.steps[:7].count("little") == 3
    assert thread.steps.count("much") == 100


async def test_a_heavy_tenant_with_many_tasks_gets_as_many_turns_as_another(thread: Thread) -> None:
    await thread.use_up("many", "few")
    works = [thread.work("many", *[0.001] * 5) for _ in range(20)]
    await _all(*works, thread.work("few", *[0.001] * 5))
    # Some milliseconds at a time, of both.
    assert thread.steps[:12].count("few") == 5


async def test_the_tenant_that_used_the_least_time_has_the_next_turn(thread: Thread) -> None:
    """Else the steps of one that take ten times as long would be ten times as much."""
    await thread.use_up("long", "short")
    long = [thread.work("long", *[0.01] * 10) for _ in range(4)]
    short = [thread.work("short", *[0.001] * 50) for _ in range(4)]
    await _all(*long, *short)
    first = thread.steps[:88]
    assert 4 * first.count("long") <= first.count("short")


async def test_the_thread_idles_half_of_the_time_while_another_tenant_is_active(
    thread: Thread,
) -> None:
    await thread.use_up("much")
    before = thread.ran, thread.idle
    await thread.work("much", *[0.005] * 100)
    ran, idle = thread.ran - before[0], thread.idle - before[1]
    assert 0.8 < idle / ran < 1.2


async def test_short_steps_are_throttled_like_long_steps(thread: Thread) -> None:
    await thread.use_up("much")
    before = thread.ran, thread.idle
    await thread.work("much", *[0.0002] * 1000)
    ran, idle = thread.ran - before[0], thread.idle - before[1]
    assert 0.8 < idle / ran < 1.2


async def test_time_of_the_api_server_is_charged_to_the_tenant(thread: Thread) -> None:
    """A body of 3 MB costs the thread some milliseconds, and the API server fifty."""
    await thread.use_up("much")
    before = thread.ran, thread.idle

    async def write() -> None:
        for _ in range(20):
            thread.scheduler.charge_extra("much", 0.009)
            thread.ran += 0.001
            await asyncio.sleep(0)

    await thread.scheduler.metered("much", write())
    ran, idle = thread.ran - before[0], thread.idle - before[1]
    assert 15 < idle / ran < 21


async def test_a_sole_tenant_is_never_throttled(thread: Thread) -> None:
    await _all(*(thread.work("alone", *[0.1] * 20) for _ in range(4)))
    assert thread.idle == 0


async def test_throttling_ends_when_no_other_tenant_was_active_recently(thread: Thread) -> None:
    await thread.use_up("much")
    await thread.work("much", 1.0)
    thread.idle += LIMITS.recent - 0.5
    await thread.work("much", 1.0)
    before = thread.idle
    await thread.work("much", *[0.01] * 20)
    assert thread.idle == before


async def test_the_recorded_usage_of_a_heavy_tenant_decays_within_seconds(thread: Thread) -> None:
    await thread.work("other", 0.001)
    for _ in range(100):
        await thread.work("much", 1.0)
    thread.idle += LIMITS.most / LIMITS.free
    await thread.work("other", 0.001)
    before = thread.idle
    await thread.work("much", *[0.001] * 20)
    assert thread.idle == before


async def test_a_busy_thread_does_not_starve_a_heavy_tenant(thread: Thread) -> None:
    """Rests are as long as turns make them, whatever all others use."""
    await thread.use_up("much")

    async def others() -> None:
        for number in range(2000):
            # Each of them uses little, and all together the whole thread.
            await thread.work(f"other-{number % 50}", 0.005)

    rest = asyncio.create_task(others())
    before = thread.ran
    await thread.work("much", *[0.005] * 20)
    rest.cancel()
    with suppress(asyncio.CancelledError):
        await rest
    assert 0.1 / (thread.ran - before) > LIMITS.shared / 2


async def test_a_cancelled_waiting_task_takes_no_turn_from_others(thread: Thread) -> None:
    await thread.use_up("a")
    first, second, third = (asyncio.create_task(thread.work("a", *[0.001] * 3)) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(first, third)
    assert thread.steps == ["a"] * 6


async def test_a_discarded_task_returns_its_turn(thread: Thread) -> None:
    """Else nobody that uses much would ever have another."""
    await thread.use_up("a")
    await thread.work("a", 0.001)
    thrown = thread.scheduler.metered("a", asyncio.sleep(0)).__await__()
    turn = next(thrown)
    for _ in range(5):
        await asyncio.sleep(0)
    assert turn.done()
    thrown.close()
    async with asyncio.timeout(10):
        await thread.work("a", 0.001)


async def test_a_cancelled_task_cleans_up_without_waiting_for_a_turn(thread: Thread) -> None:
    """A connection that is closed must not keep its places until it has had a turn."""
    let_go = list[str]()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            let_go.append("a")

    task = asyncio.create_task(thread.scheduler.metered("a", work()))
    await asyncio.sleep(0)
    await thread.use_up("a")
    other = asyncio.create_task(thread.work("a", *[0.01] * 10))
    task.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert let_go == ["a"]
    await other


async def test_results_and_exceptions_of_metered_work_are_passed_on(thread: Thread) -> None:
    async def fine() -> int:
        await asyncio.sleep(0)
        return 7

    async def wrong() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    assert await thread.scheduler.metered("a", fine()) == 7
    with pytest.raises(ZeroDivisionError):
        await thread.scheduler.metered("a", wrong())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await thread.scheduler.metered("a", asyncio.Event().wait())


async def test_idle_tenants_are_removed_from_the_usage_table(thread: Thread) -> None:
    for number in range(5000):
        await thread.work(f"caller-{number}", 0.0001)
        thread.idle += 0.01
    assert len(thread.scheduler._usages) <= 1001  # noqa: SLF001 - it is memory


async def test_bodies_of_a_heavy_tenant_are_read_at_a_rate_of_its_own(thread: Thread) -> None:
    """They arrive before anything about their requests can be refused."""
    await thread.use_up("much", "more")
    second = int(LIMITS.read)
    assert thread.scheduler.reading_pause("much", second) == pytest.approx(1.0)
    assert thread.scheduler.reading_pause("much", second) == pytest.approx(2.0)
    assert thread.scheduler.reading_pause("more", second) == pytest.approx(1.0)
    thread.idle += 2.0
    assert thread.scheduler.reading_pause("much", second) == pytest.approx(1.0)


async def test_bodies_of_a_light_or_a_lone_tenant_are_read_as_they_come(thread: Thread) -> None:
    assert not thread.scheduler.reading_pause("little", 1024)
    await thread.work("alone", 2.0)
    thread.idle += 2 * LIMITS.recent
    assert not thread.scheduler.reading_pause("alone", 1024)


async def test_bytes_of_bodies_are_charged_to_the_tenant(thread: Thread) -> None:
    await thread.work("other", 0.001)
    for _ in range(2):
        thread.scheduler.reading_pause("sends", 10**9)
    await thread.work("other", 0.001)
    assert thread.scheduler.needs_turns("sends")
