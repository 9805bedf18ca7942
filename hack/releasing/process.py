"""Programs that a release is made by, and the one error."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class ReleaseError(Exception):
    """The release cannot go on; the text tells the person at the terminal what to do."""


def say(text: str) -> None:
    """Print progress; stdout stays free for what a script reads."""
    print(text, file=sys.stderr, flush=True)


def output(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it prints.

    Raises
    ------
    ReleaseError
        The program fails; the message has the end of its output.
    """
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).splitlines()[-15:])
        raise ReleaseError(f"{command[0]} failed:\n{said}")
    return done.stdout


def show(command: Sequence[str], folder: Path) -> None:
    """Run a program that writes to the terminal itself.

    Raises
    ------
    ReleaseError
        The program fails.
    """
    say(f"$ {' '.join(command)}")
    if code := subprocess.run(command, cwd=folder, check=False).returncode:
        raise ReleaseError(f"{command[0]} failed with exit code {code}")


def first_of(probes: Sequence[Sequence[str]], what: str) -> str:
    """Return the first program that is installed and works, as its probe shows.

    Raises
    ------
    ReleaseError
        No program works; the message has the last words of those that are installed.
    """
    failures = []
    for probe in probes:
        if shutil.which(probe[0]):
            done = subprocess.run(probe, check=False, capture_output=True, text=True)
            if not done.returncode:
                return probe[0]
            words = (done.stderr or done.stdout).strip().splitlines()
            failures.append(f"`{' '.join(probe)}` says: {words[-1] if words else done.returncode}")
    names = " or ".join(probe[0] for probe in probes)
    remedy = f"start one of them, or install {names}" if failures else f"install {names}"
    raise ReleaseError("\n".join([f"{what}: {remedy}, or leave this step out", *failures]))
