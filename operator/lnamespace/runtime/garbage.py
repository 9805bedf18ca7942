"""Python's search for cycles of objects that nobody has: it holds up the one thread."""

import gc


def spare_what_stays() -> None:
    """Leave out of every later search what there is now: modules, classes, what was read at first.

    They are most of all objects. A search through them took 100 ms of a process that answers
    requests in 3, some times a minute.
    """
    gc.collect()
    gc.freeze()
