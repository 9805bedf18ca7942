"""Answers that go on for long, and who waits for them."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from lnamespace.gateway.authorization.lasting_rights import answer_while_allowed

from tests.unit.support.server import DEADLINE


async def test_a_client_that_disconnects_causes_no_unretrieved_task_exception() -> None:
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

    serving = asyncio.create_task(answer_while_allowed(answer, changes.wait, lambda: None))
    for _ in range(5):
        await asyncio.sleep(0)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)
    del serving
    gc.collect()
    assert told == []


class Rights:
    """A right that ends, and who waits for that."""

    def __init__(self) -> None:
        self.held = True
        self.ending: Callable[[], None] = lambda: None
        """What happens when somebody looks whether the right is held."""
        self._changed = asyncio.Event()

    def changed(self) -> Any:
        """Return what waits for the next change."""
        return self._changed.wait()

    def end(self) -> None:
        """End the right."""
        self.held = False
        self._changed.set()
        self._changed = asyncio.Event()

    def confirm(self) -> None:
        """Refuse who has no right."""
        if not self.held:
            raise ConnectionAbortedError
        self.ending()


async def test_a_right_revoked_just_after_its_confirmation_ends_the_answer() -> None:
    """A watch that was opened at the moment of a revocation continued without a limit."""
    rights = Rights()

    def ending() -> None:
        asyncio.get_running_loop().call_soon(rights.end)

    rights.ending = ending
    with pytest.raises(ConnectionAbortedError):
        async with asyncio.timeout(DEADLINE):
            await answer_while_allowed(asyncio.Event().wait, rights.changed, rights.confirm)  # type: ignore[arg-type]


async def test_an_answer_is_not_started_after_its_right_was_revoked() -> None:
    rights, begun = Rights(), list[str]()
    rights.end()

    async def answer() -> None:
        begun.append("begun")

    with pytest.raises(ConnectionAbortedError):
        await answer_while_allowed(answer, rights.changed, rights.confirm)
    assert not begun
