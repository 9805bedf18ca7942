"""Memory of long buffers: of TLS connections, and of answers of many megabytes."""

import asyncio
import ctypes
import gc
import time
from asyncio import sslproto
from contextlib import suppress
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
_LONG = 4 * 1024 * 1024
_KEPT = 8 * 1024 * 1024
"""Bytes that are kept where they are free at the end. Each buffer from 128 KiB on was once given
back at once: pages that the system had to clear again were a third of what a list of 1,000 costs.
"""
_TLS_BUFFER = 32 * 1024
"""Two records of TLS."""
_MUCH = 200 * 1024 * 1024
_SECONDS = 5.0
_SEARCH_SECONDS = 30.0
"""A search among all objects may hold up the thread for 50 ms."""


def shorten_buffers() -> None:
    """Have short buffers for TLS, and very long ones given back to the system when they are free.

    asyncio gives each TLS connection a buffer of 256 KiB: three thousand idle clients had a
    gigabyte. And once it has freed a long buffer, glibc keeps up to 32 MiB of each between shorter
    ones: after forty lists of 20 MiB a gateway had a gigabyte for good.
    """
    sslproto.SSLProtocol.max_size = _TLS_BUFFER
    with suppress(AttributeError, OSError):  # Other systems have other allocators.
        allocator = ctypes.CDLL(None)
        allocator.mallopt(_M_MMAP_THRESHOLD, _LONG)
        allocator.mallopt(_M_TRIM_THRESHOLD, _KEPT)


async def keep_giving_back() -> None:
    """Return free memory to the system every few seconds while the process has more than 200 MiB.

    Garbage too, which is looked for rarely: with nothing to do, a gateway kept what clients had
    left that were cut off while they did not read.
    """
    searched = 0.0
    while True:
        await asyncio.sleep(_SECONDS)
        if _resident() <= _MUCH:
            continue
        if time.monotonic() - searched > _SEARCH_SECONDS:
            gc.collect()
            searched = time.monotonic()
        give_back()


def give_back() -> None:
    """Give free memory back to the system."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    return 0
