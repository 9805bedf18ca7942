"""Cuts connections to a PostgreSQL that has fallen silent.

A server that is frozen acknowledges packets and answers nothing: it does not keep its own time
limits, and libpq waits for ever. One thread looks at all connections that are in use, for a timer
each would cost more than the statements do.
"""

import os
import socket
import threading
import time
from functools import partial
from typing import Any

import sqlalchemy as sa

ATTEND = "lnamespace.attend"
"""In a connection's ``info``: to be called with whether the database is asked for something now.

A connection in use is, unless this says otherwise.
"""


class Watchdog:
    """Looks after the connections of one engine: how long each has been in use."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._in_use: dict[Any, float] = {}
        self._begun = False
        self._lock = threading.Lock()

    def watch(self, engine: sa.Engine) -> None:
        """Look after all that the engine will connect."""
        sa.event.listen(engine, "checkout", self._taken)
        sa.event.listen(engine, "checkin", self._given_back)

    def _taken(self, driver: Any, record: Any = None, *_: object) -> None:
        if record is not None:
            record.info[ATTEND] = partial(self._attend, driver)
        with self._lock:
            self._in_use[driver] = time.monotonic() + self._limit
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._look, name="silence", daemon=True).start()

    def _attend(self, driver: Any, is_asked: bool) -> None:
        """Begin to wait for an answer, or end."""
        if is_asked:
            self._taken(driver)
        else:
            self._given_back(driver)

    def _given_back(self, driver: Any, *_: object) -> None:
        with self._lock:
            self._in_use.pop(driver, None)

    def _look(self) -> None:
        """While anything is in use, cut what has been for too long; then end."""
        while True:
            time.sleep(min(1.0, self._limit / 4))
            with self._lock:
                now = time.monotonic()
                late = [driver for driver, end in self._in_use.items() if end < now]
                for driver in late:
                    del self._in_use[driver]
                    _cut(driver)
                if not self._in_use:
                    self._begun = False
                    return


def _cut(driver: Any) -> None:
    try:
        descriptor = driver.fileno()
    except Exception:  # noqa: BLE001 - whatever says that it is closed already
        return
    with socket.socket(fileno=os.dup(descriptor)) as wire:
        wire.shutdown(socket.SHUT_RDWR)
