"""Start kubectl: in place of this process, on its terminal, or to read its output.

The module `subprocess` does more, and takes longer to load than kubectl to start.
"""

from __future__ import annotations

import os

from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn
else:
    import _signal as signal  # the module `signal` makes enumerations, which takes longer

# Python ignores these, and what it starts would inherit that.
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # what a terminal sends to all that run in it
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)

# By default kubectl collects garbage several times while it starts: an eighth of `kubectl get`. A
# larger value saves little more, and takes memory: by 400 one died in a container of 128 MiB.
COLLECTS_LATER = {"GOGC": "150"}


def executable() -> str:
    """Return the kubectl to use."""
    return os.environ.get("KUBECTL") or "kubectl"


def environment() -> dict[str, str]:
    """Return the environment of the kubectl that we start; what the user chose stays."""
    return {**COLLECTS_LATER, **os.environ}


def become_kubectl(arguments: Sequence[str]) -> NoReturn:
    """Replace this process: standard input, exit code and signals are then kubectl's own."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in IGNORED}
    try:
        command = [executable(), *arguments]
        os.execvpe(command[0], command, environment())  # noqa: S606 - on purpose
    except OSError as error:
        raise not_started(executable(), error) from None
    finally:  # if exec failed: without this, our own next write to a closed pipe would end us
        _set(before)


def run_kubectl(arguments: Sequence[str]) -> int:
    """Run kubectl on our own terminal, input and output; return its exit code.

    Ctrl-C reaches both, and it is kubectl that ends by it; what is sent to us alone is passed on.
    """
    command, children, early = [executable(), *arguments], list[int](), list[int]()

    def pass_on(number: int, _: object) -> None:
        if children:
            os.kill(children[0], number)
        else:
            early.append(number)

    terminal = tuple(number for number in TERMINAL if _is_heard(number))
    before = {number: signal.signal(number, signal.SIG_IGN) for number in terminal}
    before |= {n: signal.signal(n, pass_on) for n in PASSED_ON if _is_heard(n)}
    try:
        children.append(_spawn(command, (*IGNORED, *terminal)))
        for number in early:
            os.kill(children[0], number)
        _, status = os.waitpid(children[0], 0)
    finally:
        _set(before)
    if os.WIFSIGNALED(status):  # the same signal ends us, so that our parent sees it too
        _end_by(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _spawn(
    command: list[str], defaults: Sequence[int], actions: Sequence[tuple[Any, ...]] = ()
) -> int:
    """Start a program and return its process ID; raise a PluginError if that fails.

    ``defaults`` are the signals that it is to handle by default, as if we ignored none.
    """
    try:
        return os.posix_spawnp(
            command[0], command, environment(), file_actions=actions, setsigdef=defaults
        )
    except OSError as error:
        raise not_started(command[0], error) from None


def _set(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _is_heard(number: int) -> bool:
    """Return whether a signal is not ignored, as it is under nohup: kubectl then ignores it too."""
    return signal.getsignal(number) != signal.SIG_IGN


def _end_by(number: int) -> None:
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def not_started(program: str, error: OSError) -> PluginError:
    """Return the error for a kubectl that is missing or cannot be run."""
    if isinstance(error, FileNotFoundError):
        return PluginError(f"{program} was not found; install kubectl or set KUBECTL to it")
    return PluginError(f"{program}: {error.strerror}")


CHUNK = 65536
_running: dict[int, Process] = {}


def kill_all() -> None:
    """Kill the programs that still run: after an error nobody reads their answers."""
    for process in tuple(_running.values()):
        process.kill()
        process.wait()


class Process:
    """A program that runs; its output is read when it is asked for."""

    def __init__(self, command: list[str], *, fed: bool = False, shows: bool = False) -> None:
        """Start the program; raise a PluginError if it is missing.

        A program that is ``fed`` gets its input from us, another one the terminal or nothing. If it
        ``shows``, its standard output is the user's, and otherwise ours; standard error is ours.
        """
        ours, theirs = zip(*(_pipe(fed, into=True), _pipe(not shows), _pipe(True)), strict=True)
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs) if end >= 0
        ]
        if not fed and not os.isatty(0):  # a pipe or a file there is for the user's own command
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        try:
            self.pid = _spawn(command, IGNORED, actions)
        finally:
            _close(theirs)
        self.input, self.output, self.errors = ours
        _running[self.pid] = self

    def communicate(
        self, body: bytes = b"", on_error: Callable[[bytes], None] | None = None
    ) -> tuple[bytes, bytes, int]:
        """Feed the program and wait for its end; return both outputs and the exit code.

        ``on_error`` is called with each piece of its standard error.
        """
        import select  # not needed to become kubectl

        parts: dict[int, list[bytes]] = {self.output: [], self.errors: []}
        poll = select.poll()
        for end in (self.output, self.errors):
            if end >= 0:
                poll.register(end, select.POLLIN)
        left = memoryview(body)
        if self.input >= 0:
            os.set_blocking(self.input, False)
            poll.register(self.input, select.POLLOUT)
        waiting = 2 + (self.input >= 0) - (self.output < 0)
        while waiting:
            for end, _ in poll.poll():
                data = b""
                if end == self.input:
                    left = _feed(end, left)
                    done = not left
                else:
                    data = os.read(end, CHUNK)
                    parts[end].append(data)
                    done = not data
                if data and end == self.errors and on_error:
                    on_error(data)
                if done:
                    poll.unregister(end)
                    os.close(end)
                    waiting -= 1
        self.input = -1
        out, err = (b"".join(parts[end]) for end in (self.output, self.errors))
        return out, err, self.wait()

    def wait(self) -> int:
        """Return the exit code as shells report it: 128 and more where a signal ended it."""
        _, status = os.waitpid(self.pid, 0)
        _running.pop(self.pid, None)
        code = os.waitstatus_to_exitcode(status)
        return 128 - code if code < 0 else code

    def kill(self) -> None:
        """Kill the program."""
        os.kill(self.pid, 9)


def _pipe(wanted: bool, into: bool = False) -> tuple[int, int]:
    """Return our end and theirs; -1 where there is none."""
    if not wanted:
        return -1, -1
    read, write = os.pipe()
    return (write, read) if into else (read, write)


def _feed(end: int, left: memoryview) -> memoryview:
    """Write as much as fits, and return the rest; nothing if the program reads no more."""
    try:
        return left[os.write(end, left) :]
    except BrokenPipeError:
        return left[:0]


def _close(ends: Sequence[int]) -> None:
    for end in ends:
        if end >= 0:
            os.close(end)
