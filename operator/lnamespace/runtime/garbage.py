"""Make full garbage collections rare, because they block the event loop."""

import gc

_RARELY = 50
"""The number of collections of younger objects before one of all: five times the default."""


def search_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, and collect the oldest ones rarely.

    Most objects are modules, classes and the first lists, and stay. A search through them took
    100 ms in a process that answers requests in 3 ms; one through a thousand watches takes 50 ms.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _RARELY)
