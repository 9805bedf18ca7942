"""The work queue has the semantics of client-go's; time is a clock that the tests turn."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from lnamespace.controller.queue import WorkQueue
from lnamespace.kube.backoff import Backoff

R = TypeVar("R")


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time goes on only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return self.run_until_complete(coroutine)

    def call(self, function: Callable[..., R], *arguments: Any) -> R:
        """Call a function within the loop."""

        async def called() -> R:
            return function(*arguments)

        return self.run(called())

    def settle(self) -> None:
        """Let everything go on that can."""

        async def rounds() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        self.run(rounds())

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.settle()


@pytest.fixture
def clock() -> Iterator[Clock]:
    loop = Clock()
    yield loop
    loop.close()


@pytest.fixture
def queue() -> WorkQueue[str]:
    return WorkQueue()


class Workers:
    """Workers that wait for keys; a key is got but not given back until the test says so."""

    def __init__(
        self, clock: Clock, queue: WorkQueue[str], count: int = 1, *, urgent: bool = False
    ) -> None:
        self.queue = queue
        self._urgent = urgent
        self.got: list[str] = []
        self.clock = clock
        self._tasks = [clock.create_task(self._get()) for _ in range(count)]

    async def _get(self) -> None:
        self.got.append(await self.queue.get(urgent=self._urgent))

    def settle(self) -> list[str]:
        self.clock.settle()
        return self.got

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.clock.settle()


def take(clock: Clock, queue: WorkQueue[str]) -> str:
    return clock.run(asyncio.wait_for(queue.get(), 1))


def test_keys_are_returned_in_the_order_in_which_they_were_added(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    for key in "bac":
        queue.add(key)
    assert len(queue) == 3
    assert [take(clock, queue) for _ in range(3)] == ["b", "a", "c"]


def test_urgent_keys_are_returned_before_other_keys(clock: Clock) -> None:
    """A revocation waited behind 250 creations for 13 seconds."""
    queue: WorkQueue[str] = WorkQueue(urgent=lambda key: key.startswith("!"))
    for key in ("a", "b", "!c", "d", "!e"):
        queue.add(key)
    assert len(queue) == 5
    assert [take(clock, queue) for _ in range(5)] == ["!c", "!e", "a", "b", "d"]


def test_a_worker_for_urgent_keys_takes_no_other_keys(clock: Clock) -> None:
    """All workers were busy with slow keys when a revocation was enqueued."""
    queue: WorkQueue[str] = WorkQueue(urgent=lambda key: key.startswith("!"))
    there_for_it = Workers(clock, queue, 1, urgent=True)
    others = Workers(clock, queue, 2)
    for key in ("a", "b", "c"):
        queue.add(key)
    assert (others.settle(), there_for_it.settle()) == (["a", "b"], [])
    queue.add("!d")
    assert there_for_it.settle() == ["!d"]
    there_for_it.end()
    others.end()


def test_every_waiting_worker_gets_a_key(clock: Clock, queue: WorkQueue[str]) -> None:
    workers = Workers(clock, queue, 3)
    assert workers.settle() == []
    for key in "abc":
        queue.add(key)
    assert sorted(workers.settle()) == ["a", "b", "c"]


def test_a_cancelled_worker_loses_no_key(clock: Clock, queue: WorkQueue[str]) -> None:
    workers = Workers(clock, queue, 1)
    workers.settle()
    queue.add("a")
    workers.end()
    assert take(clock, queue) == "a"


# Failures


def delays(clock: Clock, queue: WorkQueue[str], count: int) -> list[float]:
    """Return how long after each failure in a row the key comes again."""
    found = []
    queue.add("a")
    for _ in range(count):
        assert take(clock, queue) == "a"
        clock.call(queue.retry, "a")
        queue.done("a")
        start = clock.now
        while not len(queue):
            clock.advance(0.005)
        found.append(clock.now - start)
    return found


def test_a_failure_that_a_person_must_repair_is_retried_less_often(clock: Clock) -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(first=100.0, longest=1.0))
    clock.call(queue.retry, "a", 0.0, 8.0)
    clock.advance(3.9)
    assert len(queue) == 0
    clock.advance(4.2)
    assert len(queue) == 1


def test_the_delay_doubles_with_each_failure_up_to_a_maximum(clock: Clock) -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(first=0.1, longest=1.0))
    for failures, delay in enumerate(delays(clock, queue, 8)):
        longest = min(0.1 * 2**failures, 1.0)
        assert longest / 2 - 0.01 <= delay <= longest + 0.01


@given(st.integers(1, 10**6), st.integers(0, 2**32))
def test_the_delay_has_a_jitter_of_a_half(failures: int, seed: int) -> None:
    random.seed(seed)
    backoff = Backoff(first=0.05, longest=30.0)
    longest = min(0.05 * 2 ** min(failures - 1, 20), 30.0)
    assert longest / 2 <= backoff.delay(failures) <= longest


def test_the_jitter_varies_between_calls() -> None:
    assert len({Backoff().delay(5) for _ in range(20)}) > 1


def test_forget_resets_the_failure_count(clock: Clock, queue: WorkQueue[str]) -> None:
    for count in range(1, 4):
        clock.call(queue.retry, "a")
        assert queue.failures("a") == count
    assert queue.failures("b") == 0
    queue.forget("a")
    assert queue.failures("a") == 0
    queue.forget("never failed")


def test_the_retry_after_of_the_server_makes_the_delay_longer(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    clock.call(queue.retry, "a", 7.0)
    clock.advance(6.9)
    assert len(queue) == 0
    clock.advance(0.2)
    assert len(queue) == 1


def test_retry_now_returns_failed_keys_at_once_but_not_delayed_keys(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    clock.call(queue.retry, "failed", 100.0)
    clock.call(queue.add_after, "expires", 100.0)
    clock.call(queue.retry_now)
    assert take(clock, queue) == "failed"
    assert len(queue) == 0
    assert queue.failures("failed") == 0


def test_retry_now_does_not_requeue_a_key_that_is_worked_on(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    clock.call(queue.retry, "a", 100.0)
    queue.add("a")
    assert take(clock, queue) == "a"
    clock.call(queue.retry_now)
    queue.done("a")
    assert len(queue) == 0


def test_an_added_key_does_not_wait_for_its_backoff(clock: Clock, queue: WorkQueue[str]) -> None:
    clock.call(queue.retry, "a", 100.0)
    queue.add("a")
    assert take(clock, queue) == "a"
    assert queue.failures("a") == 1


def test_the_queue_keeps_no_state_of_a_finished_key(clock: Clock, queue: WorkQueue[str]) -> None:
    """A controller sees many names while it runs."""
    for i in range(100):
        queue.add(f"k{i}")
        key = take(clock, queue)
        clock.call(queue.retry, key)
        queue.done(key)
        clock.advance(1)
        key = take(clock, queue)
        queue.forget(key)
        queue.done(key)
    kept = [value for value in vars(queue).values() if hasattr(value, "__len__")]
    assert sum(map(len, kept)) == 0


keys = st.sampled_from("abc")


class QueueMachine(RuleBasedStateMachine):
    """Any use of the queue, beside a plain model of what it promises."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.queue: WorkQueue[str] = WorkQueue()
        self.working: set[str] = set()
        self.owed: set[str] = set()
        self.due: dict[str, float] = {}

    def teardown(self) -> None:
        self.clock.close()

    @rule(key=keys)
    def add(self, key: str) -> None:
        self.clock.call(self.queue.add, key)
        self._owe(key)

    @rule(key=keys, delay=st.integers(1, 9))
    def add_after(self, key: str, delay: int) -> None:
        self.clock.call(self.queue.add_after, key, delay)
        if key not in self.owed or key in self.working:
            self.due[key] = min(self.due.get(key, 1e9), self.clock.now + delay)

    @rule(seconds=st.integers(1, 5))
    def time_goes_by(self, seconds: int) -> None:
        self.clock.advance(seconds)
        for key in [key for key, at in self.due.items() if at <= self.clock.now]:
            self._owe(key)

    @precondition(lambda self: self.owed - self.working)
    @rule()
    def get(self) -> None:
        key = take(self.clock, self.queue)
        assert key in self.owed
        assert key not in self.working
        self.owed.discard(key)
        self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.clock.call(self.queue.done, key)
        self.working.discard(key)

    @invariant()
    def what_waits_is_what_is_owed_and_not_worked_on(self) -> None:
        assert len(self.queue) == len(self.owed - self.working)

    def _owe(self, key: str) -> None:
        self.owed.add(key)
        self.due.pop(key, None)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(
    max_examples=max(150, settings().max_examples), stateful_step_count=100
)


async def test_wait_below_blocks_until_the_queue_has_room() -> None:
    queue: WorkQueue[int] = WorkQueue()
    added = []

    async def add_all() -> None:
        for key in range(10):
            await queue.wait_below(2)
            queue.add(key)
            added.append(key)

    adding = asyncio.create_task(add_all())
    for taken in range(7):
        await asyncio.sleep(0)
        assert len(queue) == 3
        assert await queue.get() == taken
    await adding
    assert added == list(range(10))


def test_a_closed_queue_accepts_no_keys(clock: Clock, queue: WorkQueue[str]) -> None:
    """A standby has no workers: keys of LNamespaces deleted meanwhile stayed in its queue."""
    queue.close()
    clock.call(queue.add, "a")
    clock.call(queue.add_after, "b", 1.0)
    clock.now += 2
    clock.settle()
    assert len(queue) == 0
    queue.open()
    clock.call(queue.add, "a")
    assert len(queue) == 1


def test_keys_changed_under_another_leader_are_returned_first(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    """An edit that the former leader had not reconciled waited behind all other keys."""
    queue.close()
    clock.call(queue.add, "listed")
    queue.remember()
    for key in ("edited", "created", "edited"):
        clock.call(queue.add, key)
    assert len(queue) == 0
    clock.call(queue.open)
    for key in ("a", "created", "edited", "listed"):
        clock.call(queue.add, key)
    assert [take(clock, queue) for _ in range(4)] == ["created", "edited", "a", "listed"]


def test_urgent_keys_are_returned_before_changed_keys(clock: Clock) -> None:
    queue: WorkQueue[str] = WorkQueue(urgent=lambda key: key.startswith("!"))
    queue.close()
    queue.remember()
    for key in ("created", "!edited"):
        clock.call(queue.add, key)
    clock.call(queue.open)
    clock.call(queue.add, "!other")
    assert [take(clock, queue) for _ in range(3)] == ["!edited", "!other", "created"]


def test_a_closed_queue_remembers_keys_for_a_minute(
    clock: Clock, queue: WorkQueue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("lnamespace.controller.queue.time.monotonic", lambda: now)
    queue.close()
    queue.remember()
    for key, second in (("a", 1.0), ("b", 2.0), ("c", 30.0), ("a", 59.0)):
        now = second
        clock.call(queue.add, key)
    now = 70.0
    clock.call(queue.open)
    assert [take(clock, queue) for _ in range(len(queue))] == ["c", "a"]


def test_a_closed_queue_remembers_the_last_thousand_keys(clock: Clock) -> None:
    queue: WorkQueue[int] = WorkQueue()
    queue.close()
    queue.remember()
    for key in range(1500):
        clock.call(queue.add, key)
    clock.call(queue.open)
    assert [clock.run(queue.get()) for _ in range(len(queue))] == list(range(500, 1500))


def test_a_queue_that_was_opened_forgets_the_remembered_keys(
    clock: Clock, queue: WorkQueue[str]
) -> None:
    queue.close()
    queue.remember()
    clock.call(queue.open)
    queue.close()
    clock.call(queue.add, "a")
    clock.call(queue.open)
    assert len(queue) == 0
