"""End watches and streams when the right to them ends."""

import asyncio
from collections.abc import Awaitable, Callable


def _no_end() -> float | None:
    return None


async def answer_while_allowed(
    answer: Callable[[], Awaitable[None]],
    changed: Callable[[], Awaitable[object]],
    confirm: Callable[[], None],
    seconds_left: Callable[[], float | None] = _no_end,
) -> None:
    """Send an answer, and cut it off when a right ends.

    Parameters
    ----------
    changed
        Returns an awaitable for the first change of rights after the call.
    confirm
        Called first, and after each change; raises if the right to the answer has ended.
    seconds_left
        Returns the seconds until the next confirmation; None: only after a change.
    """
    work: asyncio.Future[None] | None = None
    try:
        while work is None or not work.done():
            # This comes before the confirmation. Otherwise a watch whose right ended between the
            # two, or while its request waited, went on until the next change, perhaps for months.
            change = asyncio.ensure_future(changed())
            try:
                confirm()
                if work is None:
                    work = asyncio.ensure_future(answer())
                    work.add_done_callback(_retrieve)
                await asyncio.wait(
                    (work, change), timeout=seconds_left(), return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                # Also if the client is gone: rights may not change for months, and each watch that
                # ended meanwhile would leave a future behind.
                change.cancel()
        await work
    finally:
        if work is not None:
            work.cancel()


def _retrieve(work: asyncio.Future[None]) -> None:
    """Retrieve a failure, whose waiter may have been cancelled, so that it is not logged."""
    if not work.cancelled():
        work.exception()
