"""Write lines to a file from a thread, so that a slow disk holds up nobody."""

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STANDARD_OUTPUT = "-"
_STDOUT = 1
_MOST = 16 * 1024 * 1024
_CLOSE_SECONDS = 5.0
_GATHER_SECONDS = 0.02
"""Seconds for which lines are gathered before they are written. A thread that was woken for each
line took a sixth of the cost of a request, in switches between the two threads."""
_WARN_SECONDS = 60.0

log = logging.getLogger(__name__)


class LineWriter:
    """A writer of lines to a file, or to standard output.

    A file that was moved or deleted is created again, so that a rotation of logs needs no signal.
    Lines are lost, and counted, if the file cannot be written or is too slow.

    Parameters
    ----------
    path
        The file, or ``-`` for standard output.
    lost
        Called with a number of lines that were lost; from any thread.
    most
        The most bytes that may wait to be written.
    lock
        A descriptor that is locked for each write, if several processes write to one pipe, which
        takes 4 KiB of each at a time. None if no other process writes.

    Raises
    ------
    OSError
        The file cannot be opened.
    """

    def __init__(
        self,
        path: str,
        lost: Callable[[int], object],
        most: int = _MOST,
        lock: int | None = None,
    ) -> None:
        self._path = path
        self._lost = lost
        self._most = most
        self._lock = lock
        self._waiting: list[bytes] = []
        self._size = 0
        self._closing = False
        self._torn = False
        self._warned = -_WARN_SECONDS
        self._ready = threading.Condition()
        self._descriptor = self._open()
        self._thread = threading.Thread(target=self._run, name="line-writer", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queue a line to be written, without its line break; return at once."""
        with self._ready:
            fits = self._size + len(line) <= self._most
            if fits:
                self._waiting.append(line)
                self._size += len(line)
                if len(self._waiting) == 1:
                    self._ready.notify()
        if not fits:
            self._lost(1)

    def close(self) -> None:
        """Write the lines that wait, for at most a few seconds."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join(_CLOSE_SECONDS)

    # In the thread.

    def _run(self) -> None:
        while lines := self._next():
            try:
                self._write(lines)
            except OSError as error:
                self._lost(len(lines))
                self._torn = True
                self._warn(error)
            with self._ready:
                self._size -= sum(map(len, lines))

    def _next(self) -> list[bytes]:
        """Return the lines that wait; empty when all are written and no more will come."""
        with self._ready:
            while not self._waiting and not self._closing:
                self._ready.wait()
            # A further line does not notify; only the end does.
            self._ready.wait_for(lambda: self._closing, _GATHER_SECONDS)
            lines, self._waiting = self._waiting, []
            return lines

    def _write(self, lines: list[bytes]) -> None:
        if self._path != STANDARD_OUTPUT:
            self._follow()
        # After a failure there may be a part of a line.
        start = b"\n" if self._torn else b""
        rest = memoryview(start + b"\n".join(lines) + b"\n")
        with self._alone():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        self._torn = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing; the system gives back the lock of one that ends."""
        if self._lock is None:
            yield
            return
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def _follow(self) -> None:
        """Open the file anew if another, or none, has its name now."""
        try:
            same = os.path.samestat(Path(self._path).stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            same = False
        if not same:
            fresh = self._open()
            os.close(self._descriptor)
            self._descriptor = fresh

    def _open(self) -> int:
        if self._path == STANDARD_OUTPUT:
            return _STDOUT
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)

    def _warn(self, error: OSError) -> None:
        now = time.monotonic()
        if now - self._warned >= _WARN_SECONDS:
            self._warned = now
            log.warning("lines are lost", extra={"file": self._path, "error": str(error)})
