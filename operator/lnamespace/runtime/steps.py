"""Long work in steps, between which other tasks of the event loop run."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

R = TypeVar("R")


async def in_steps(steps: Generator[None, None, R]) -> R:
    """Run a generator to its result; other tasks may run after each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: R = end.value
            return found
        await asyncio.sleep(0)
