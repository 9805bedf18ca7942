"""Long work, outside the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread, and return only when it has ended, also when cancelled.

    A thread cannot be stopped. If the caller of one whose time is up returned at once, it would
    free its turn while the thread still works: a second large conversion then ran beside the first.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        task.exception()  # Retrieved, so that asyncio does not log it as lost.
        raise
