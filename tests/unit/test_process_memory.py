"""The memory of another process, with which tests compare its peak."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.e2e.support.floods import Memory

_GIVES_BACK = """
import sys
pages = b"x" * (300 << 20)
print(flush=True)
sys.stdin.readline()
del pages
sys.stdin.readline()
"""


def test_a_peak_from_before_memory_is_given_back_does_not_count() -> None:
    """A gateway had 251 MiB, then 113, and seemed to have grown by 138."""
    pipe = subprocess.PIPE
    command = (sys.executable, "-c", _GIVES_BACK)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as child, ThreadPoolExecutor() as pool:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        memory = Memory(child.pid)
        assert memory.now > 300
        before = pool.submit(memory.settled)
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert before.result() < 100
        assert memory.peak < before.result() + 1
        child.stdin.write(b"\n")
