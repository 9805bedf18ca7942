"""A cache of answers for later commands, in a file of the user's cache folder.

It has names of groups and people only, never a credential. A record is a line: time, key, values.
An unreadable file counts as empty. Nothing is cached without a home folder, or in a folder that
somebody else owns or may write to.
"""

from __future__ import annotations

import os
import time

from lnamespace.plugins.runtime.processes import executable
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import IO

RECORDS_MAX = 50
OTHERS_WRITE = 0o022
# Flags that name a file: its content decides, and a relative name depends on the folder.
FILES = ("--kubeconfig", "--client-certificate")
# Flags that lead to another cluster than the current context does.
LEADING = ("--kubeconfig", "--context", "--cluster", "--server", "-s")
SEPARATORS = frozenset("\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")


class FileCache(NamedTuple):
    """A file of records, valid for some seconds. Nothing is kept under an empty key."""

    name: str
    seconds: float

    def recall(self, key: str) -> tuple[str, ...]:
        """Return the values of a key; empty if there are none, or they are too old."""
        now = time.time()
        for line in reversed(self._lines() if key else []):
            at, _, rest = line.partition("\t")
            its_key, *values = rest.split("\t")
            if its_key == key and at.isdecimal() and 0 <= now - int(at) < self.seconds:
                return tuple(values)
        return ()

    def remember(self, key: str, values: Sequence[str]) -> None:
        """Store the values for later calls, of other processes too."""
        if key and not any(SEPARATORS & set(value) for value in values):
            record = "\t".join((str(int(time.time())), key, *values))
            self._write((*self._others(key)[1 - RECORDS_MAX :], record))

    def forget(self, key: str) -> None:
        """Remove the record of a key."""
        self._write(self._others(key))

    def _others(self, key: str) -> list[str]:
        return [line for line in self._lines() if line.split("\t")[1:2] != [key]]

    @property
    def _folder(self) -> str:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
        return f"{cache}/lnamespace"

    def _lines(self) -> list[str]:
        """Return the records of the file; ignore a file that another user owns."""
        try:
            folder = _opened_own(self._folder)
        except (OSError, ValueError):
            return []
        try:
            with _opened(self.name, os.O_RDONLY, folder) as file:
                return file.read().splitlines() if _is_own(file.fileno()) else []
        except (OSError, ValueError):
            return []
        finally:
            os.close(folder)

    def _write(self, lines: Iterable[str]) -> None:
        """Write a whole file in place of the old one; if that fails, keep nothing."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow
            folder = _opened_own(self._folder)
        except (OSError, ValueError):
            return
        new = f"{self.name}.{os.getpid()}"
        try:
            _remove(new, folder)  # left by a killed command with our process number
            with _opened(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder) as file:
                file.writelines(f"{line}\n" for line in lines)
            os.replace(new, self.name, src_dir_fd=folder, dst_dir_fd=folder)
        except (OSError, ValueError):
            _remove(new, folder)
        finally:
            os.close(folder)


def _opened_own(folder: str) -> int:
    """Open a folder that nobody else may write in.

    The caller uses the descriptor, so that a change of the folder's name has no effect.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    if _is_own(descriptor):
        return descriptor
    os.close(descriptor)
    raise PermissionError


def _is_own(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    return found.st_uid == os.geteuid() and not found.st_mode & OTHERS_WRITE


def _opened(name: str, flags: int, folder: int) -> IO[str]:
    """Open a file of the folder; fail for a symbolic link."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    mode = "w" if flags & os.O_WRONLY else "r"
    return open(descriptor, mode, encoding="utf-8")  # noqa: PTH123 - pathlib is slow to load


def _remove(name: str, folder: int) -> None:
    try:  # noqa: SIM105 - contextlib is slow to load
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


def kubeconfigs() -> list[str]:
    """Return the files that kubectl reads if no flag names one; some may not exist."""
    home = os.path.expanduser("~/.kube/config")  # noqa: PTH111 - as above
    return (os.environ.get("KUBECONFIG") or home).split(os.pathsep)


def connection_key(flags: Sequence[str]) -> str:
    """Return a key that is equal for the same cluster and the same user.

    The flags are those that choose them, each as one argument. A changed kubeconfig gives another
    key: to read the cluster from it would take longer than a request. The key is empty if there is
    no such file at all, as in a pod, where nothing distinguishes two accounts.
    """
    files = kubeconfigs()
    # Besides, not instead: in `exec web-0 -- tool --kubeconfig=x` the flag is not kubectl's.
    files += [file for name, _, file in (flag.partition("=") for flag in flags) if name in FILES]
    states = [_state(os.path.abspath(file)) for file in files if file]  # noqa: PTH100 - as above
    if not any(state[1:] for state in states):
        return ""
    return repr((executable(), states, tuple(flags)))


def _state(file: str) -> tuple[str | int, ...]:
    """Return the name and state of a file; the name alone if it does not exist."""
    try:
        found = os.stat(file)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return (file,)
    return file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
