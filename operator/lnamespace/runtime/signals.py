"""SIGTERM, with which Kubernetes ends a container, and SIGINT, which is Ctrl-C."""

import asyncio
import os
import signal

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def stop_event() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set from now on, instead of ending the process.

    Call it within the running event loop.
    """
    stop = asyncio.Event()
    set_at_signals(stop)
    return stop


def set_at_signals(stop: asyncio.Event) -> None:
    """Make SIGTERM and SIGINT set an event, whatever they did before."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)


def exit_at_next_signal() -> None:
    """End the process at once when the next signal arrives, with exit code 128 + its number.

    It is for a process that has begun to stop and takes longer than the user wants to wait.
    """
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, os._exit, 128 + number)
