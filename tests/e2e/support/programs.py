"""`lnamespace` and `hack/cluster`, started by a process that has the libraries already.

Whatever `subprocess` could do for them here is done likewise: files, environment, session, signals,
exit codes. `LNAMESPACE_TESTS_COLD=1` starts each by itself, as do the unit tests, `make demo` and
all tests of what is installed otherwise.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = REPOSITORY / ".venv" / "bin" / "lnamespace"

TOOL = REPOSITORY / "hack" / "cluster"

File = IO[bytes] | IO[str] | int


def is_preloaded(words: Sequence[str]) -> bool:
    """Return whether a command can be forked here."""
    cold = os.environ.get("LNAMESPACE_TESTS_COLD") or not hasattr(os, "pidfd_open")
    found = Path(words[0])
    known = any(
        found.name == each.name and found.parent.resolve() == each.parent.resolve()
        for each in (PROGRAM, TOOL)
    )
    return known and not cold


class Forked:
    """A process with what tests use of `subprocess.Popen`."""

    def __init__(
        self,
        words: Sequence[str],
        files: Sequence[File],
        env: Mapping[str, str],
        cwd: Path = REPOSITORY,
        *,
        session: bool = False,
    ) -> None:
        self.returncode: int | None = None
        asked = {
            "argv": list(words),
            "env": dict(env),
            "cwd": str(cwd),
            "session": session,
        }
        numbers = [each if isinstance(each, int) else each.fileno() for each in files]
        self._connection = _server().connect()
        socket.send_fds(self._connection, [json.dumps(asked).encode() + b"\n"], numbers)
        self._told = self._connection.makefile("r")
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        """Return the exit code, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, once it has ended."""
        if self.returncode is None:
            readable, _, _ = select.select([self._connection], [], [], timeout)
            if not readable:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._told.readline())
            self._told.close()
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def started(
    words: Sequence[str], env: Mapping[str, str], log: IO[bytes]
) -> "subprocess.Popen[bytes] | Forked":
    """Start a command that writes a log."""
    nothing = subprocess.DEVNULL
    if not is_preloaded(words):
        return subprocess.Popen(words, env=env, stdin=nothing, stdout=log, stderr=log)
    with Path(os.devnull).open("rb") as empty:
        return Forked(words, (empty, log, log), env)


def output(
    words: Sequence[str],
    env: Mapping[str, str],
    stdin: str | None = None,
    timeout: float = 300,
    cwd: Path = REPOSITORY,
) -> tuple[int, bytes, bytes]:
    """Run a command to its end; return its exit code, standard output and standard error."""
    with ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write((stdin or "").encode())
        given.seek(0)
        process = Forked(words, (given, out, err), env, cwd, session=True)
        try:
            code = process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


class _Server:
    """The process that forks, for as long as this one lives."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lns-")
        self._address = f"{self._folder.name}/s"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(128)
            number = listener.fileno()
            words = (sys.executable, "-m", "tests.e2e.support.preloading", str(number))
            path = f"{REPOSITORY}/hack:{os.environ.get('PYTHONPATH', '')}"
            self._process = subprocess.Popen(
                words,
                cwd=REPOSITORY,
                env=os.environ | {"PYTHONPATH": path},
                stdin=subprocess.PIPE,
                pass_fds=[number],
            )

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(None)
        connection.connect(self._address)
        return connection

    def close(self) -> None:
        """End it; those that it has started go on."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server
