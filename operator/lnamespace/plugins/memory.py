"""What a command has found out and the next one need not ask, in a file of the user's cache.

Names of groups and people only, never a credential. A record is a line: when, of what, and the
values. What cannot be read is as good as not there, and who has no home asks again each time.
"""

from __future__ import annotations

import os
import time

from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RECORDS_MAX = 50
SEPARATORS = frozenset("\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")


class Memory(NamedTuple):
    """One kind of record, and how long it is good."""

    name: str
    seconds: float

    def recall(self, key: str) -> tuple[str, ...]:
        """Return the values that were remembered of it; none where there are none any more."""
        now = time.time()
        for line in reversed(self._lines()):
            at, _, rest = line.partition("\t")
            its_key, *values = rest.split("\t")
            if its_key == key and at.isdecimal() and 0 <= now - int(at) < self.seconds:
                return tuple(values)
        return ()

    def remember(self, key: str, values: Sequence[str]) -> None:
        """Keep the values, for others than who asks for them now."""
        if not any(SEPARATORS & set(value) for value in values):
            record = "\t".join((str(int(time.time())), key, *values))
            self._write((*self._others(key)[1 - RECORDS_MAX :], record))

    def forget(self, key: str) -> None:
        """Ask again the next time."""
        self._write(self._others(key))

    def _others(self, key: str) -> list[str]:
        return [line for line in self._lines() if line.split("\t")[1:2] != [key]]

    @property
    def _file(self) -> str:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        return f"{cache}/lnamespace/{self.name}"

    def _lines(self) -> list[str]:
        """The records; those that somebody else put there are none."""
        try:
            with open(self._file, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to load
                own = os.fstat(file.fileno()).st_uid == os.geteuid()
                return file.read().splitlines() if own else []
        except (OSError, ValueError):
            return []

    def _write(self, lines: Iterable[str]) -> None:
        path = self._file
        new = f"{path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.writelines(f"{line}\n" for line in lines)
            os.replace(new, path)  # noqa: PTH105
        except (OSError, ValueError):
            pass


def place(flags: Sequence[str]) -> str:
    """Return what tells whether the same cluster is meant, as the same user.

    The flags are those that lead to it. A kubeconfig that was changed is another; to read the
    cluster out of it would take longer than to ask.
    """
    home = os.path.expanduser("~/.kube/config")  # noqa: PTH111 - as above
    files = filter(None, (os.environ.get("KUBECONFIG") or home).split(os.pathsep))
    states = [(file, *_state(file)) for file in files]
    return repr((states, tuple(flags)))


def _state(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - as above
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
