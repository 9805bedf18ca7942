"""A process of ours on the stage: started, watched, stopped."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PATIENCE = 30.0
"""Seconds for a process to start."""


class StageError(Exception):
    """The stage cannot be set; the text says why and what to do."""


@dataclass(frozen=True)
class Process:
    """A running `lnamespace` command and the file that has its log."""

    name: str
    log: Path
    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(cls, name: str, log: Path, environment: Mapping[str, str]) -> Self:
        """Start `lnamespace NAME` with ``environment`` and nothing else of ours."""
        program = str(Path(sys.executable).with_name("lnamespace"))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [program, *name.split()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; we stop it in order
            )
        return cls(name, log, process)

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait until the process does its work.

        Raises
        ------
        StageError
            It ended, or took too long; with the end of its log.
        """
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise StageError(f"`lnamespace {self.name}` did not start:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines: int = 20) -> str:
        """Return the end of the process's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """Stop the process, in order if it can."""
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
