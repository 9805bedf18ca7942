"""A control plane of its own for each measurement, and the controller on it."""

import os
import re
import shlex
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "lnamespace-system"
SERVICE_ACCOUNT = "lnamespace-controller"
DEADLINE = 60.0

Writes = Counter[tuple[str, str]]
"""Requests that changed something, by verb and resource."""


@dataclass(frozen=True)
class Plane:
    """A running control plane with the chart installed."""

    directory: Path
    environment: dict[str, str]
    controller_kubeconfig: Path

    @property
    def admin_kubeconfig(self) -> Path:
        """Of a cluster admin."""
        return self.directory / "kubeconfig"

    def run(self, *command: str) -> str:
        """Run a command against this plane; its output."""
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    @contextmanager
    def controller(self) -> Iterator["Process"]:
        """Run the controller as the chart's service account."""
        environment = self.environment | {
            "KUBECONFIG": str(self.controller_kubeconfig),
            "LNAMESPACE_LOG_LEVEL": "info",
        }
        log = self.directory / "controller.log"
        with log.open("w") as output:
            process = subprocess.Popen(["lnamespace", "controller"], env=environment, stderr=output)
        try:
            _until(lambda: "caches are complete" in log.read_text())
            yield Process(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)


@dataclass(frozen=True)
class Process:
    """Something that runs."""

    pid: int

    @property
    def memory(self) -> float:
        """Resident memory in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def plane() -> Iterator[Plane]:
    """A fresh control plane; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as parent:
        directory = Path(parent) / "plane"
        tool = str(ROOT / "hack" / "cluster")
        # Its progress is worth seeing: the first time of all, executables are built.
        subprocess.run([tool, "up", "--dir", str(directory)], check=True, stdout=subprocess.DEVNULL)
        try:
            yield _install(directory, _environment(tool, directory))
        finally:
            subprocess.run([tool, "down", "--dir", str(directory)], check=True)


def _environment(tool: str, directory: Path) -> dict[str, str]:
    command = f"eval {shlex.quote(_output(tool, 'env', '--dir', str(directory)))}; env -0"
    pairs = _output("sh", "-c", command).split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _install(directory: Path, environment: dict[str, str]) -> Plane:
    install = ["helm", "install", "lnamespace", str(ROOT / "charts" / "lnamespace")]
    options = ["--namespace", NAMESPACE, "--create-namespace", "--set", "controller.deploy=false"]
    _output(*install, *options, environment=environment)
    script = str(ROOT / "hack" / "service-account-kubeconfig.sh")
    kubeconfig = _output(script, NAMESPACE, SERVICE_ACCOUNT, environment=environment).strip()
    found = Plane(directory, environment, Path(kubeconfig))
    _until(lambda: "No resources" in _lists(found))
    return found


def _lists(found: Plane) -> str:
    listed = subprocess.run(
        ["kubectl", "get", "lnamespaces"],
        env=found.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return listed.stderr


def _output(*command: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=120
    ).stdout


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the control plane or the controller did not get ready")
        time.sleep(0.05)


def writes(metrics: str) -> Writes:
    """Count the writes that the API server's own metrics tell of, but for leases and reviews."""
    counted: Writes = Counter()
    for labels, value in re.findall(
        r"^apiserver_request_total\{(.*)\} (\S+)$", metrics, re.MULTILINE
    ):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        resource = f"{label['resource']}/{label['subresource']}".rstrip("/")
        if label["verb"] in _WRITING and not _INCIDENTAL.search(resource):
            counted[label["verb"], resource] += int(float(value))
    return counted


_WRITING = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
_INCIDENTAL = re.compile("leases|reviews|serviceaccounts/token|^configmaps$|^serviceaccounts$")
"""Not ours: elections, questions, and what controller-manager puts into every namespace."""
