"""All kubectl plugins of LNamespace in one file; each is this file under the plugin's name.

Python compiles what is in an archive anew at each start, which takes longer than the rest of it. So
the modules are laid out in the user's cache once, where Python keeps what it has compiled.
"""

import os
import sys

DIGEST = "DIGEST_OF_THE_MODULES"


def modules() -> str:
    """Return the place of the modules: a folder, or else the archive itself."""
    archive = os.path.dirname(os.path.abspath(__file__))
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    ours = f"{cache}/lnamespace"
    folder = f"{ours}/plugins-{DIGEST}"
    try:
        os.makedirs(ours, mode=0o700, exist_ok=True)
        if not _is_safe(cache) or not _is_own(ours):
            return archive
        if not os.path.lexists(folder):
            _lay_out(archive, folder)
        return folder if _is_own(folder) else archive
    except (OSError, ValueError):
        return archive


def _is_own(folder: str) -> bool:
    """Return whether nobody else can put modules there; a link is not followed."""
    found = os.lstat(folder)
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _is_safe(cache: str) -> bool:
    """Return whether nobody else can replace our folder; in /tmp, only its owner can."""
    found = os.stat(cache)
    sticky = found.st_mode & 0o1000
    return found.st_uid in (0, os.geteuid()) and bool(sticky or not found.st_mode & 0o022)


def _lay_out(archive: str, folder: str) -> None:
    from zipfile import ZipFile

    unfinished = f"{folder}.{os.getpid()}"
    os.mkdir(unfinished, mode=0o700)
    with ZipFile(archive) as packed:
        packed.extractall(unfinished)
    try:
        os.rename(unfinished, folder)
    except OSError:  # another command was faster
        from shutil import rmtree

        rmtree(unfinished)


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - this file alone can be read by an older one
        version = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"error: the kubectl plugins need Python 3.11 or later; python3 is {version}")
    sys.path.insert(0, modules())
    from lnamespace.plugins.__main__ import main

    sys.exit(main())
