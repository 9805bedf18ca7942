"""What is left of a hand-over to kubectl that could not take place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.processes import become_kubectl, run_kubectl
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2] / "operator"
TOUCHED = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
)


@pytest.mark.parametrize("hand_over", [become_kubectl, run_kubectl])
@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("/nowhere/kubectl", "/nowhere/kubectl was not found"),
        ("/tmp", "/tmp: Permission denied"),  # noqa: S108 - a folder
    ],
)
def test_signal_handlers_are_unchanged_if_kubectl_cannot_be_started(
    hand_over: Callable[[list[str]], object],
    program: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With SIGPIPE at its default a process ends at its next write to a closed socket."""
    monkeypatch.setenv("KUBECTL", program)
    before = {number: signal.getsignal(number) for number in TOUCHED}
    with pytest.raises(PluginError, match=f"^{told}"):
        hand_over(["version"])
    assert {number: signal.getsignal(number) for number in TOUCHED} == before


def test_child_processes_are_ended_with_the_command_that_started_them(tmp_path: Path) -> None:
    """After an error nobody reads the answers; one may wait for a login all the same."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho $$ > "$0.pid"\nexec sleep 60 <&- >&- 2>&-\n')
    kubectl.chmod(0o755)
    program = (
        "from lnamespace.plugins.commands.entry import leave, run\n"
        "from lnamespace.plugins.cluster.kubectl import Kubectl\n"
        "from lnamespace.plugins.runtime.errors import PluginError\n"
        "import os\n"
        "def command(argv):\n"
        "    Kubectl().start_whoami()\n"
        "    while not os.path.exists(argv[0]) or not os.path.getsize(argv[0]): pass\n"
        "    raise PluginError('refused')\n"
        "leave(run(command, 'kubectl lns'))\n"
    )
    environment = {"KUBECTL": str(kubectl), "PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    written = f"{kubectl}.pid"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, written],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (1, "error: refused\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(written).read_text()), 0)


def test_a_closed_output_is_not_an_error() -> None:
    program = "from lnamespace.plugins.commands.lns import main; main()"
    command = f'exec "$0" -S -c "{program}" --help >&- 2>&-'
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
    shell = ("sh", "-c", command, sys.executable)
    assert subprocess.run(shell, env=environment, check=False).returncode == 0


@pytest.mark.parametrize("hand_over", ["become_kubectl", "run_kubectl"])
@pytest.mark.parametrize(("chosen", "seen"), [({}, "150"), ({"GOGC": "50"}, "50")])
def test_kubectl_collects_garbage_later_unless_the_user_chose_when(
    hand_over: str, chosen: dict[str, str], seen: str, tmp_path: Path
) -> None:
    """By default it does so several times while it starts, in a heap of some MiB."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nprintf %s "$GOGC $KEPT"\n')
    kubectl.chmod(0o755)
    program = f"from lnamespace.plugins.runtime.processes import *; {hand_over}(['version'])"
    environment = {"KUBECTL": str(kubectl), "PYTHONPATH": str(ROOT), "KEPT": "kept"} | chosen
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, check=True, capture_output=True
    )
    assert done.stdout == f"{seen} kept".encode()
