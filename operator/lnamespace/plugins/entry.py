"""How every plugin begins and ends: arguments in, exit code out, errors told once, in one form."""

from __future__ import annotations

import io
import os
import sys

from lnamespace.plugins.discovery import discovering
from lnamespace.plugins.errors import KubectlError, PluginError, UsageError
from lnamespace.plugins.processes import kill_all
from lnamespace.plugins.terminal import printable_lines, say
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TextIO

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def run(command: Callable[[list[str]], int], name: str) -> int:
    """Run a command on this process's arguments; `name` is what the user typed to get here."""
    _never_fail_to_print()
    try:
        code = discovering(command, sys.argv[1:])
        flush(sys.stdout)
    except PluginError as error:
        say(_told(error, name))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    return code


def leave(code: int) -> NoReturn:
    """End the process, and what it has started, at once: Python would take its time."""
    kill_all()
    try:
        flush(sys.stdout)
    finally:
        flush(sys.stderr)
        os._exit(code)


def flush(stream: TextIO | None) -> None:
    """Write what is buffered; a stream that was closed before we began, as by `>&-`, is None."""
    if stream is not None:
        stream.flush()


def _told(error: PluginError, name: str) -> str:
    text = printable_lines(str(error))
    if isinstance(error, KubectlError):
        return text
    if isinstance(error, UsageError):
        return f"error: {text}\nSee '{name} --help' for usage."
    return f"error: {text}"


def _never_fail_to_print() -> None:
    """Show escaped what the terminal's encoding lacks, instead of a stack trace."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reader_left() -> int:
    """Say nothing: `kubectl lns list | head` is no error, also when Python closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
