"""Read JSON that is nested deeper than Python recurses.

The API server takes objects of 10,000 levels, and whoever may write any object can give it such
managed fields. msgspec counts the levels of a value that it only skips too, against Python's limit
of 1,000: one such object in a list would be no list for anybody.
"""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_DEEPEST = 12_000
"""What the API server takes, and the calls around it. A decoded level needs 400 bytes of stack."""

_limit_lock = threading.Lock()
"""The limit is that of all threads: the one that restores it would take it from another."""

R = TypeVar("R")


def at_any_depth(read: Callable[..., R], *arguments: object) -> R:
    """Call a function without effects; repeat it with a higher recursion limit if it needs that.

    Raises
    ------
    RecursionError
        The value is nested deeper than the API server takes it.
    """
    try:
        return read(*arguments)
    except RecursionError:
        pass
    with _limit_lock:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEEPEST))
        try:
            return read(*arguments)
        finally:
            sys.setrecursionlimit(limit)
