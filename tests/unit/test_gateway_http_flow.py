"""Bodies of the API server that are gathered as a whole."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

import pytest
from lnamespace.http.flow import Chunks
from lnamespace.translate.protocol.status import Refused, too_many_requests

from tests.unit.support.server import DEADLINE

PART = 4096 * b"x"


class Source(asyncio.ReadTransport):
    """A transport that notes whether it is paused."""

    paused = False

    def pause_reading(self) -> None:
        """Note it."""
        self.paused = True

    def resume_reading(self) -> None:
        """Note it."""
        self.paused = False


class Waiting:
    """Count how often something waits."""

    def __init__(self, work: Coroutine[Any, Any, bytes]) -> None:
        self.work = work
        self.times = 0

    def __await__(self) -> Generator[Any, None, bytes]:
        steps = self.work.__await__()
        try:
            while True:
                waited = next(steps)
                self.times += 1
                yield waited
        except StopIteration as end:
            body: bytes = end.value
            return body


async def read(waiting: Waiting) -> bytes:
    async with asyncio.timeout(DEADLINE):
        return await waiting


async def test_a_long_body_wakes_its_reader_once() -> None:
    """It was woken for each 32 KiB, a tenth of the cost of a list of 1,000."""
    chunks, counted = Chunks(Source()), list[int]()
    waiting = Waiting(chunks.gather(counted.append))
    reading = asyncio.create_task(read(waiting))
    for _ in range(100):
        chunks.put(PART)
        await asyncio.sleep(0)
    chunks.end()
    assert await reading == 100 * PART
    assert waiting.times == 1
    assert sum(counted) == 100 * len(PART)
    assert len(counted) < 20, "each chunk was counted"


async def test_a_body_that_is_gathered_is_counted_before_it_has_arrived() -> None:
    chunks = Chunks(Source())

    def hold(size: int) -> None:
        raise too_many_requests(f"no room for {size}")

    reading = asyncio.create_task(read(Waiting(chunks.gather(hold))))
    await asyncio.sleep(0)
    for _ in range(100):
        chunks.put(PART)
    with pytest.raises(Refused):
        await reading
    assert len(chunks._waiting) < 150_000, "what came afterwards was kept"  # noqa: SLF001


async def test_a_source_that_was_paused_goes_on_for_who_gathers() -> None:
    source = Source()
    chunks = Chunks(source)
    for _ in range(100):
        chunks.put(PART)
    assert source.paused
    reading = asyncio.create_task(read(Waiting(chunks.gather(lambda _: None))))
    await asyncio.sleep(0)
    assert not source.paused
    chunks.end()
    assert len(await reading) == 100 * len(PART)


async def test_a_body_that_breaks_off_is_not_returned() -> None:
    chunks = Chunks(Source())
    chunks.put(PART)
    chunks.end(ConnectionResetError("lost"))
    with pytest.raises(ConnectionResetError):
        await read(Waiting(chunks.gather(lambda _: None)))
