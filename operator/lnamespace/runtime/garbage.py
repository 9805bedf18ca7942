"""Make full garbage collections rare, because they block the event loop."""

import gc

_RARELY = 50
"""How many searches among younger objects there are before one among all: five times as many."""


def search_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, and collect the oldest ones rarely.

    Modules, classes and what was read at first are most objects, and stay. A search through them
    took 100 ms of a process that answers requests in 3; one through a thousand watches takes 50.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _RARELY)
