"""Signals that stop a process: the first asks it to end, the next one ends it."""

import asyncio
import signal
import subprocess
import sys

import pytest
from lnamespace.runtime.lifecycle import stop_event

_STOPPING = """
import asyncio, signal
from lnamespace.runtime.lifecycle import exit_at_next_signal, stop_event

async def main():
    stop = stop_event()
    signal.raise_signal(signal.SIGTERM)
    await stop.wait()
    exit_at_next_signal()
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_instead_of_ending_the_process(number: signal.Signals) -> None:
    async def stopped() -> bool:
        stop = stop_event()
        signal.raise_signal(number)
        return await asyncio.wait_for(stop.wait(), 10)

    before = signal.getsignal(number)
    try:
        assert asyncio.run(stopped())
    finally:
        signal.signal(number, before)


def test_a_second_signal_ends_a_stopping_process() -> None:
    done = subprocess.run([sys.executable, "-c", _STOPPING], check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGINT
