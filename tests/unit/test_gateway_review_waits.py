"""How long Kubernetes and the platform wait for the webhooks of one tenant."""

from contextlib import AbstractContextManager, ExitStack, suppress

import pytest
from lnamespace.gateway.fairness.review_waits import CONVERSIONS, MOST_SECONDS, ReviewWaits
from lnamespace.translate.protocol.status import Refused


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waits(clock: Clock) -> ReviewWaits:
    return ReviewWaits(now=clock)


def is_refused(review: AbstractContextManager[None]) -> bool:
    """Return whether a write waits for no webhook."""
    try:
        with review:
            return False
    except Refused as refused:
        return refused.status.code == 504


def hang(waits: ReviewWaits, clock: Clock, tenant: str = "acme", writes: int = 5) -> None:
    """Have writes wait as long as they may."""
    with ExitStack() as stack:
        for _ in range(writes):
            stack.enter_context(waits.waiting(tenant))
        clock.time += MOST_SECONDS


def test_a_second_write_does_not_wait_for_a_hanging_webhook(
    waits: ReviewWaits, clock: Clock
) -> None:
    hang(waits, clock)
    for _ in range(3):
        with waits.waiting("acme"):
            assert is_refused(waits.waiting("acme"))
            assert not is_refused(waits.waiting("beta"))
            clock.time += MOST_SECONDS


def test_writes_wait_again_after_a_time_without_delays(waits: ReviewWaits, clock: Clock) -> None:
    hang(waits, clock)
    clock.time += 60
    with waits.waiting("acme"), waits.waiting("acme"):
        pass


def test_a_webhook_that_answers_is_asked_about_hundreds_of_pods_at_once(
    waits: ReviewWaits, clock: Clock
) -> None:
    for _ in range(20):
        with ExitStack() as stack:
            for _ in range(250):
                stack.enter_context(waits.waiting("acme"))
            clock.time += 0.03
        clock.time += 10
    hang(waits, clock)


def test_an_always_slow_webhook_delays_at_most_one_write_at_a_time(
    waits: ReviewWaits, clock: Clock
) -> None:
    """It answers in time, so nothing would tell it from one that works but the time itself."""
    asked = 0
    for _ in range(100):
        with ExitStack() as stack:
            for _ in range(5):
                try:
                    stack.enter_context(waits.waiting("acme"))
                except Refused:
                    continue
                asked += 1
            clock.time += MOST_SECONDS - 0.1
    assert asked <= 100 + 2 * 5


def test_a_failed_write_releases_its_wait(waits: ReviewWaits, clock: Clock) -> None:
    with pytest.raises(ZeroDivisionError), waits.waiting("acme"):
        raise ZeroDivisionError
    hang(waits, clock, writes=1)
    assert not is_refused(waits.waiting("acme"))


def test_hanging_conversions_hold_a_few_readers_of_kubernetes_at_a_time(clock: Clock) -> None:
    """Each object that was converted held a worker of the garbage collector for 30 s."""
    waits = ReviewWaits(CONVERSIONS, clock)
    asked = 0
    for _ in range(100):
        with ExitStack() as stack:
            for _ in range(20):
                with suppress(Refused):
                    stack.enter_context(waits.waiting("acme"))
                    asked += 1
            clock.time += MOST_SECONDS
    assert asked <= 100 * CONVERSIONS.free + 2 * 20


def test_a_converter_that_answers_converts_the_objects_of_many_lists(clock: Clock) -> None:
    waits = ReviewWaits(CONVERSIONS, clock)
    for _ in range(1000):
        with ExitStack() as stack:
            for _ in range(10):
                stack.enter_context(waits.waiting("acme"))
            clock.time += 0.005
