"""A configuration file that is read anew when it changes.

In a cluster the file is a key of a mounted ConfigMap: the kubelet replaces the content by changing
the target of a symbolic link.
"""

from pathlib import Path

_Stamp = tuple[int, int, int, int, int]


class ChangingFile:
    """A file that is read when it has changed; a call without a change costs one ``stat``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: _Stamp | None = None
        self._file: tuple[int, int] | None = None
        self.in_place = False
        """Whether the last change wrote into the same file, which may be incomplete then."""

    def changed(self) -> bytes | None:
        """Return the content if it may have changed since the last call, else None.

        Raises
        ------
        OSError
            The file cannot be read; the next call tries again.
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
