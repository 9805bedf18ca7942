"""A file of the configuration, read anew when it changes.

In a cluster it is a ConfigMap's key: a new content comes as a new target of a symbolic link.
"""

from pathlib import Path

_Stamp = tuple[int, int, int, int, int]


class ChangingFile:
    """One file by its path; asked often, it costs a look at its inode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: _Stamp | None = None
        self._file: tuple[int, int] | None = None
        self.in_place = False
        """Whether what changed last is the same file, written over: it may not be whole yet."""

    def changed(self) -> bytes | None:
        """The content, if it may be another than the last time; else None.

        Raises
        ------
        OSError
            It cannot be read; it is tried again the next time.
        """
        before, self._stamp = self._stamp, None
        stamp = _stamp(self.path)
        content = self.path.read_bytes() if stamp != before else None
        if content is not None:
            self.in_place = self._file == stamp[:2]
            self._file = stamp[:2]
        self._stamp = stamp
        return content


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
