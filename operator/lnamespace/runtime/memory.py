"""Memory of a process: long buffers, which are given back, and rare collections of garbage."""

import asyncio
import ctypes
import gc
import time
from asyncio import sslproto
from contextlib import suppress
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""The parameters of mallopt(3)."""
_LONG = 4 * 1024 * 1024
_KEPT = 8 * 1024 * 1024
"""Bytes of free memory at the end of the heap that are kept.

By default each buffer from 128 KiB on is given back at once. The system then had to clear its pages
again, which was a third of the cost of a list of 1,000.
"""
_TLS_BUFFER = 32 * 1024
"""The size of two TLS records."""
_MUCH = 200 * 1024 * 1024
"""Bytes of a process above which it returns free memory to the system."""
_CHECK_SECONDS = 5.0
_GROWTH = 64 * 1024 * 1024
"""Bytes that a process grows before it returns memory again within :data:`_COLLECT_SECONDS`. This
blocks the thread for up to 100 ms: every 5 seconds, it made 1 % of the requests late."""
_COLLECT_SECONDS = 30.0
"""Seconds between two collections of garbage, which may block the thread for 50 ms."""
_RARELY = 50
"""The number of collections of younger objects before one of all: five times the default."""


def shorten_buffers() -> None:
    """Shorten the buffers of TLS, and return free memory of very long buffers to the system.

    asyncio gives each TLS connection a buffer of 256 KiB: three thousand idle clients took a
    gigabyte. And glibc keeps up to 32 MiB of each long buffer that is free, between shorter ones:
    after forty lists of 20 MiB a gateway kept a gigabyte.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    with suppress(AttributeError, OSError):  # Other systems have other allocators.
        allocator = ctypes.CDLL(None)
        allocator.mallopt(_M_MMAP_THRESHOLD, _LONG)
        allocator.mallopt(_M_TRIM_THRESHOLD, _KEPT)


async def keep_giving_back() -> None:
    """Return free memory to the system while the process has more than 200 MiB.

    Garbage is collected before, which Python does rarely in an idle process: a gateway kept the
    buffers of clients that were cut off while they did not read.
    """
    kept, collected = 0, 0.0
    while True:
        await asyncio.sleep(_CHECK_SECONDS)
        rested = time.monotonic() - collected >= _COLLECT_SECONDS
        if _resident() <= (_MUCH if rested else max(_MUCH, kept + _GROWTH)):
            continue
        if rested:
            gc.collect()
            collected = time.monotonic()
        give_back()
        kept = _resident()


def give_back() -> None:
    """Return free memory to the system."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    return 0


def search_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, and collect the oldest ones rarely.

    Most objects are modules, classes and the first lists, and stay. A search through them took
    100 ms in a process that answers requests in 3 ms; one through a thousand watches takes 50 ms.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _RARELY)
