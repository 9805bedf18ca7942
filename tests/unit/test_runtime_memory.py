"""Searches for cycles of objects that nobody has."""

import subprocess
import sys

_COUNT = """
import gc
from lnamespace.runtime.memory import search_garbage_rarely
kept = [[] for _ in range(100_000)]
search_garbage_rarely()
print(len(gc.get_objects()), gc.get_threshold()[2])
"""


def test_objects_that_exist_at_startup_are_excluded_from_garbage_collection() -> None:
    """A search through all modules held up every request for 100 ms."""
    run = subprocess.run(
        [sys.executable, "-c", _COUNT], capture_output=True, text=True, check=True, timeout=60
    )
    searched, rarely = map(int, run.stdout.split())
    assert searched < 10_000
    assert rarely > 10
