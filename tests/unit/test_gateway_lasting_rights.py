"""Answers that go on for long, and who waits for them."""

import asyncio
import gc
from contextlib import suppress
from typing import Any

from lnamespace.gateway.lasting_rights import answer_while_allowed


async def test_a_client_that_goes_while_it_is_answered_leaves_no_failure_to_nobody() -> None:
    """The log said "Task exception was never retrieved", with a traceback, for clients cut off.

    ``asyncio.wait_for`` of Python 3.11 returns where it is cancelled at the moment when what it
    waits for is there; what is sent next finds no client.
    """
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    changes = asyncio.Event()

    async def answer() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise ConnectionResetError("the client is gone")

    serving = asyncio.create_task(answer_while_allowed(answer(), changes.wait, lambda: None))
    for _ in range(5):
        await asyncio.sleep(0)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)
    del serving
    gc.collect()
    assert told == []
