"""Running commands as people do: real processes, with nothing of this machine's own kubeconfig."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.support.programs import REPOSITORY, is_preloaded, output

__all__ = ("REPOSITORY", "Result", "environment", "run")

_OWN = ("KUBECONFIG", "KUBECTL")


@dataclass(frozen=True)
class Result:
    """The result of a command."""

    command: Sequence[str]
    code: int
    out: str
    err: str

    def ok(self) -> str:
        """Return the standard output of a command that must have succeeded."""
        assert self.code == 0, str(self)
        return self.out

    def refused(self) -> str:
        """Return the standard error of a command that must have failed with exit code 1."""
        assert self.code == 1, str(self)
        return self.err

    def __str__(self) -> str:
        return f"{' '.join(self.command)}\nexit code {self.code}\n{self.out}\n{self.err}"


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float = 300,
    cwd: Path = REPOSITORY,
) -> Result:
    """Run a command to its end, whatever that is; after ``timeout`` nothing of it is left."""
    words = [str(word) for word in command]
    if is_preloaded(words):
        code, *told = output(words, environment(env), stdin, timeout, cwd)
        return Result(words, code, *(each.decode().replace("\r\n", "\n") for each in told))
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin, timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Result(words, process.returncode, out, err)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process, without variables that lead to another cluster."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OWN and not name.startswith("LNAMESPACE_API")
    }
    return kept | dict(more or {})
