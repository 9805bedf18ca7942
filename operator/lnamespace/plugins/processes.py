"""Programs that we start. The module `subprocess` does more, and takes longer to load than that."""

from __future__ import annotations

import os
import select

from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.handover import IGNORED, not_found
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CHUNK = 65536
_running: dict[int, Process] = {}


def kill_all() -> None:
    """Kill the programs that nobody has waited for: after an error nobody reads their answers."""
    for process in tuple(_running.values()):
        process.kill()
        process.wait()


class Process:
    """A program that runs; what it writes is read when somebody asks for it."""

    def __init__(self, command: list[str], *, fed: bool = False, shows: bool = False) -> None:
        """Start it; a program that is missing is told in words.

        ``fed`` programs get their input from us, others the terminal or nothing. What ``shows``
        writes to standard output is for the user, and otherwise for us; standard error is ours.
        """
        ours, theirs = zip(*(_pipe(fed, into=True), _pipe(not shows), _pipe(True)), strict=True)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs) if end >= 0
        ]
        if not fed and not os.isatty(0):  # a pipe or a file there is for the user's own command
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        try:
            self.pid = os.posix_spawnp(
                command[0], command, os.environ, file_actions=actions, setsigdef=IGNORED
            )
        except FileNotFoundError:
            raise not_found(command[0]) from None
        except OSError as error:
            raise PluginError(f"{command[0]}: {error.strerror}") from None
        finally:
            _close(theirs)
        self.input, self.output, self.errors = ours
        _running[self.pid] = self

    def communicate(
        self, body: bytes = b"", told: Callable[[bytes], None] | None = None
    ) -> tuple[bytes, bytes, int]:
        """Feed it, read what it writes, wait for its end; return both outputs and the exit code.

        ``told`` gets what it writes to standard error as it comes.
        """
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
                if data and end == self.errors and told:
                    told(data)
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
        """End it."""
        os.kill(self.pid, 9)


def _pipe(wanted: bool, into: bool = False) -> tuple[int, int]:
    """Return our end and theirs; -1 where there is none."""
    if not wanted:
        return -1, -1
    read, write = os.pipe()
    return (write, read) if into else (read, write)


def _feed(end: int, left: memoryview) -> memoryview:
    """Write what fits; a program that reads no more has had enough."""
    try:
        return left[os.write(end, left) :]
    except BrokenPipeError:
        return left[:0]


def _close(ends: Sequence[int]) -> None:
    for end in ends:
        if end >= 0:
            os.close(end)
