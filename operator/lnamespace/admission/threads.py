"""Work that is too long for the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread, and return only when it is over.

    A thread cannot be stopped. A caller that is cancelled, for its time is up, waits all the same:
    otherwise the bounds on how much is done at a time would be given back while it is being done.
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
        task.exception()  # Somebody has looked at it.
        raise
