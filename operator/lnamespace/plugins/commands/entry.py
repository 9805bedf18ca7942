"""Run a plugin from its arguments to its exit code, and print its errors in one form.

The usual API group of LNamespaces is tried first. If it is wrong, the command runs again with the
group that the cluster has, which is cached.
"""

from __future__ import annotations

import io
import os
import sys

from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE
from lnamespace.plugins.runtime.errors import KubectlError, OtherApiGroup, PluginError, UsageError
from lnamespace.plugins.runtime.memory import LEADING, FileCache, connection_key
from lnamespace.plugins.runtime.processes import kill_all
from lnamespace.plugins.runtime.terminal import printable_lines, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn, TextIO

    Command = Callable[[list[str]], int]
else:
    Command = object

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
GROUPS = FileCache("api-groups", 6 * 3600)  # as long as kubectl remembers what a cluster has


def run(command: Command, name: str) -> int:
    """Run a command on this process's arguments; `name` is what the user typed to get here."""
    _never_fail_to_print()
    try:
        code = discovering(command, sys.argv[1:])
        flush(sys.stdout)
    except PluginError as error:
        say(_error_text(error, name))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:  # such as a full disk under the output
        say(f"error: {printable_lines(str(error))}")
        _reader_left()
        return 1
    return code


def discovering(command: Command, argv: list[str]) -> int:
    """Run a command; if its LNamespaces are in another API group, run it again in that one."""
    if chosen := os.environ.get(SUFFIX_VARIABLE):
        return _once(command, argv, f"{SUFFIX_VARIABLE} is {chosen}; is that the one you mean?")
    if known := GROUPS.recall(_cluster(argv)):
        os.environ[SUFFIX_VARIABLE] = known[0]
    try:
        return command(argv)
    except OtherApiGroup as error:
        from lnamespace.plugins.cluster.instances import find

        suffix, alone = find(error)
    # For the command and its child processes: `kubectl sudo lns grant ...` need not search again.
    os.environ[SUFFIX_VARIABLE] = suffix
    if alone:
        GROUPS.remember(_cluster(argv), (suffix,))
    return _once(command, argv)


def _once(command: Command, argv: list[str], remark: str = "") -> int:
    try:
        return command(argv)
    except OtherApiGroup as error:
        if remark:
            error.cause.args = (f"{error.cause}\n{remark}",)
        raise error.cause from None


def _cluster(argv: Sequence[str]) -> str:
    """Return the key of the cluster that the flags lead to.

    A flag takes the next word only if it has no value of its own: the next word may be a token.
    """
    pairs = zip(argv, (*argv, "")[1:], strict=True)
    leading = (pair for pair in pairs if pair[0].startswith(LEADING))
    return connection_key(["=".join(pair) if pair[0] in LEADING else pair[0] for pair in leading])


def leave(code: int) -> NoReturn:
    """End the process, and those it has started, at once: Python itself takes longer."""
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


def _error_text(error: PluginError, name: str) -> str:
    text = printable_lines(str(error))
    if isinstance(error, KubectlError):
        return text
    if isinstance(error, UsageError):
        return f"error: {text}\nSee '{name} --help' for usage."
    return f"error: {text}"


def _never_fail_to_print() -> None:
    """Escape characters that the terminal's encoding lacks, instead of a stack trace."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reader_left() -> int:
    """Exit in silence: `kubectl lns list | head` is no error, also when Python closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
