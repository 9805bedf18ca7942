"""Cut connections to a PostgreSQL that no longer answers.

The kernel of a frozen server acknowledges packets, so that TCP's time-outs do not apply; the server
does not enforce ``statement_timeout``, and libpq waits for ever. One thread watches all connections
that are in use: a timer for each statement would cost more than the statement.
"""

import os
import socket
import threading
import time
from functools import partial
from typing import Any

import sqlalchemy as sa

ATTEND = "lnamespace.attend"
"""The key in a connection's ``info`` of a function that suspends and resumes the watchdog.

Its argument is whether the caller waits for an answer of the database. By default a connection that
is in use does.
"""


class Watchdog:
    """A thread that cuts the connections of an engine that wait for an answer for too long."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._in_use: dict[Any, float] = {}
        self._begun = False
        self._lock = threading.Lock()

    def watch(self, engine: sa.Engine) -> None:
        """Watch the future connections of an engine."""
        sa.event.listen(engine, "checkout", self._taken)
        sa.event.listen(engine, "checkin", self._given_back)

    def _taken(self, driver: Any, record: Any = None, *_: object) -> None:
        if record is not None:
            record.info[ATTEND] = partial(self._attend, driver)
        with self._lock:
            self._in_use[driver] = time.monotonic() + self._limit
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._cut_late, name="silence", daemon=True).start()

    def _attend(self, driver: Any, is_asked: bool) -> None:
        """Resume the watch of a connection, or suspend it."""
        if is_asked:
            self._taken(driver)
        else:
            self._given_back(driver)

    def _given_back(self, driver: Any, *_: object) -> None:
        with self._lock:
            self._in_use.pop(driver, None)

    def _cut_late(self) -> None:
        """Cut the connections that are late, until no connection is in use."""
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
