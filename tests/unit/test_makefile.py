"""The benchmarks and plays that the Makefile runs begin, on the path that it gives them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PROGRAM = re.compile(
    r"(PYTHONPATH=hack )?\$\(BIN\)/python -m ((?:bench|tests\.e2e)[\w.]*)(\$\S*)?"
)
_PARTS = re.compile(r"for part in ([\w ]+); do")
_NEEDS_MORE = "bench.plots"
"""It draws by matplotlib, which is no dependency of the tests."""


def programs() -> list[tuple[str, str]]:
    """Return the path and the name of each program."""
    text = (ROOT / "Makefile").read_text()
    ends = {
        "": [""],
        "$$part": " ".join(_PARTS.findall(text)).split(),
        "$(or": ["rights_model", "lclusters_model"],
    }
    found = [(path, stem + x) for path, stem, end in _PROGRAM.findall(text) for x in ends[end]]
    return [each for each in found if each[1] != _NEEDS_MORE]


@pytest.mark.parametrize(("path", "program"), programs())
def test_each_python_program_of_the_makefile_starts(path: str, program: str) -> None:
    """Half of the benchmarks did not: only pytest had `hack` on its path."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = "hack"
    run = subprocess.run(
        [sys.executable, "-m", program, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_the_python_programs_of_the_makefile_are_found() -> None:
    assert len(programs()) > 10
