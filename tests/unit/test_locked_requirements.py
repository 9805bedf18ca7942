"""What the locked lists install: themselves, and nothing that is newer than they are."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLERS = ("Makefile", "Dockerfile", "hack/controlplane/golang.py")


def test_pip_installs_locked_requirements_without_dependency_resolution() -> None:
    """A newer google-auth came out: pip took it for an extra, and no checkout could be built."""
    found = 0
    for name in INSTALLERS:
        text = re.sub(r'\\\n|"\n\s*f"', " ", (REPOSITORY / name).read_text())
        for line in text.splitlines():
            if re.search(r"bin/pip install .*--require-hashes|\"--require-hashes\"", line):
                assert "--no-deps" in line, f"{name}: {line}"
                found += 1
    assert found >= len(INSTALLERS)


def test_the_locked_requirements_satisfy_all_dependencies() -> None:
    command = [sys.executable, "-m", "pip", "check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
