"""Detect connections whose other end is gone."""

import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

API_SERVER = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 30_000,
}
"""Options that detect a vanished peer within half a minute, also while bytes are under way.

They are seconds, a number, and milliseconds: see tcp(7).
"""

CLIENT = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 8}
"""Options that detect it within three minutes: a client's network may be down for one."""


class Adjustable(Protocol):
    """A socket, or asyncio's view of one."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set an option."""


class Numbered(Protocol):
    """An object with a file number."""

    def fileno(self) -> int:
        """Return the number; negative if it is closed."""


def has_hung_up(connection: Numbered, *, also_half: bool) -> bool:
    """Return whether the other end of a connection is gone, without reading.

    Parameters
    ----------
    also_half
        Whether it counts as gone once it will send nothing further. Before its bytes are read,
        only Linux knows that.
    """
    if connection.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), getattr(select, "POLLRDHUP", 0) if also_half else 0)
    return bool(poll.poll(0))


def keep_alive(connection: Adjustable, options: Mapping[str, int]) -> None:
    """Enable TCP keep-alive, so that a connection whose peer has vanished ends.

    Otherwise a connection that only receives, such as a watch, would never end.
    """
    with suppress(OSError):  # macOS refuses to set an option of a connection that is cut already.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in options.items():
            if option := getattr(socket, name, None):  # macOS lacks some of them.
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
