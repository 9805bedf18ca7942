"""The controller as a process: started, stopped, killed, held up."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.support.commands import REPOSITORY, environment
from tests.e2e.support.waiting import eventually

DEFECT = "reconcile failed"
"""What the controller logs when it meets something that it was not written for."""

_COMMAND = (str(REPOSITORY / ".venv" / "bin" / "lnamespace"), "controller")
_COMPLETE = "caches are complete"


class Controller:
    """`lnamespace controller`, with the kubeconfig of its service account."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._environment = {"KUBECONFIG": str(kubeconfig)}
        self._log = log
        self._log.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, more: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it has listed everything."""
        assert not self.running
        before = self.position
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                _COMMAND,
                env=environment(self._environment | dict(more or {})),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        eventually(lambda: self._complete(before), what="the controller has not listed everything")

    def stop(self) -> None:
        """Ask it to end, which it must do well; does nothing if it is not running."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            code = process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert code == 0, f"the controller ended with {code}\n{self.tail()}"

    def kill(self) -> None:
        """What a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def hold(self) -> None:
        """Let it not run for a while, as on a machine that is too busy."""
        self._signal(signal.SIGSTOP)

    def release(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    @property
    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def position(self) -> int:
        """The present end of its log."""
        return self._log.stat().st_size

    def log(self, since: int = 0) -> str:
        """What it has logged since a position."""
        with self._log.open("rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def tail(self, since: int = 0, lines: int = 80) -> str:
        """The last lines of its log."""
        return "\n".join(self.log(since).splitlines()[-lines:])

    def _complete(self, since: int) -> bool:
        if not self.running:
            raise RuntimeError(f"the controller ended\n{self.tail(since)}")
        return _COMPLETE in self.log(since)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)
