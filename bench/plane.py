"""A control plane of its own for each measurement, and our processes on it."""

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.support.processes import free_port

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "lnamespace-system"
DEADLINE = 60.0

Requests = Counter[tuple[str, str]]
"""Requests by verb and resource."""

Writes = Requests
"""The requests that changed something."""


@dataclass(frozen=True)
class Plane:
    """A running control plane with the chart installed and the webhook running."""

    directory: Path
    environment: dict[str, str]
    controller_kubeconfig: Path
    limit: str = "0"
    webhook_url: str = ""
    webhook_process: "Process | None" = None

    @property
    def admin_kubeconfig(self) -> Path:
        """Return the kubeconfig of a cluster admin."""
        return self.directory / "kubeconfig"

    @property
    def _limited(self) -> dict[str, str]:
        return {"LNAMESPACE_LIMIT_PER_REQUESTER": self.limit} if self.limit else {}

    def run(self, *command: str) -> str:
        """Run a command against this plane, and return its output."""
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    @contextmanager
    def controller(self) -> Iterator["Process"]:
        """Run the controller as the chart's service account."""
        with self.process("controller", LNAMESPACE_LOG_LEVEL="info") as started:
            self.until_said("controller", "caches are complete")
            yield started

    def until_said(self, log: str, text: str) -> None:
        """Wait until a process has logged a text."""
        _until(lambda: text in (self.directory / f"{log}.log").read_text())

    @contextmanager
    def webhook(self, port: int) -> Iterator["Process"]:
        """Run the webhook as the chart's service account, until it is trusted."""
        address = {
            "LNAMESPACE_LISTEN": f"127.0.0.1:{port}",
            "LNAMESPACE_SERVING_NAMES": "127.0.0.1",
        }
        with self.process("webhook", **address) as started:
            _until(lambda: _lets_in(self))
            yield started

    @contextmanager
    def process(
        self, name: str, *words: str, log: str = "", **variables: str
    ) -> Iterator["Process"]:
        """Run `lnamespace NAME WORDS` as service account NAME; it logs into NAME.log or LOG.log."""
        kubeconfig = {"KUBECONFIG": str(_kubeconfig(name, self.environment))}
        with (self.directory / f"{log or name}.log").open("w") as output:
            process = subprocess.Popen(
                ["lnamespace", name, *words],
                env=self.environment | kubeconfig | self._limited | variables,
                stderr=output,
            )
        try:
            yield Process(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)


@dataclass(frozen=True)
class Process:
    """A process that runs."""

    pid: int

    @property
    def memory(self) -> float:
        """Return the resident memory in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    @property
    def cpu(self) -> float:
        """Return the seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def plane(limit: str = "0") -> Iterator[Plane]:
    """Make a new control plane, which is deleted afterwards.

    ``limit`` is that of LNamespaces for each requester. By default there is none, because one
    person creates thousands in most measurements; an empty text means the chart's own default.
    """
    with tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as parent:
        directory = Path(parent) / "plane"
        tool = str(ROOT / "hack" / "cluster")
        # Its progress is worth seeing: the first time of all, executables are built.
        subprocess.run([tool, "up", "--dir", str(directory)], check=True, stdout=subprocess.DEVNULL)
        try:
            port = free_port()
            installed = _install(directory, _environment(tool, directory), port)
            # The garbage collector looks for new kinds every 30 s, and until it knows ours it
            # requests each owner again and again, which must not be measured.
            _kill(int((directory / "kube-controller-manager.pid").read_text()))
            subprocess.run(
                [tool, "up", "--dir", str(directory)], check=True, stdout=subprocess.DEVNULL
            )
            limited = replace(installed, limit=limit, webhook_url=f"https://127.0.0.1:{port}")
            with limited.webhook(port) as process:
                yield replace(limited, webhook_process=process)
        finally:
            subprocess.run([tool, "down", "--dir", str(directory)], check=True)


def _kill(pid: int) -> None:
    """Kill a process and wait until it has ended: `up` leaves alone one that still answers."""
    os.kill(pid, signal.SIGKILL)
    _until(lambda: not _command_line(pid))


def _command_line(pid: int) -> bytes:
    """Return the command line of a process; empty if it is dead, even if not reaped yet."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _environment(tool: str, directory: Path) -> dict[str, str]:
    command = f"eval {shlex.quote(_output(tool, 'env', '--dir', str(directory)))}; env -0"
    pairs = _output("sh", "-c", command).split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _install(directory: Path, environment: dict[str, str], port: int) -> Plane:
    install = ["helm", "install", "lnamespace", str(ROOT / "charts" / "lnamespace")]
    values = ["controller.deploy=false", "ledger.deploy=false", "webhook.deploy=false"]
    values.append(f"webhook.url=https://127.0.0.1:{port}")
    options = ["--namespace", NAMESPACE, "--create-namespace", "--set", ",".join(values)]
    _output(*install, *options, environment=environment)
    found = Plane(directory, environment, _kubeconfig("controller", environment))
    _until(lambda: "No resources" in _kubectl(found, "get", "lnamespaces").stderr)
    return found


def _kubeconfig(name: str, environment: dict[str, str]) -> Path:
    script = str(ROOT / "hack" / "service-account-kubeconfig.sh")
    return Path(_output(script, NAMESPACE, f"lnamespace-{name}", environment=environment).strip())


def _lets_in(plane: Plane) -> bool:
    kind = "apiVersion: tenancy.loblaw.digital/v1beta1, kind: LNamespace"
    first = f"{{{kind}, metadata: {{name: knock-knock}}, spec: {{}}}}"
    return _kubectl(plane, "create", "--dry-run=server", "-f", "-", text=first).returncode == 0


def _kubectl(plane: Plane, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["kubectl", *words],
        env=plane.environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


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
    """Return the number of writes by the API server's own metrics, without leases and reviews."""
    return _requests(metrics, _WRITING, _INCIDENTAL)


def reads(metrics: str) -> Requests:
    """Return the number of reads of the kinds that the controller reads, by any client."""
    return _requests(metrics, _READING, _FOREIGN)


def _requests(metrics: str, verbs: set[str], but: re.Pattern[str]) -> Requests:
    counted: Requests = Counter()
    for labels, value in re.findall(
        r"^apiserver_request_total\{(.*)\} (\S+)$", metrics, re.MULTILINE
    ):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        resource = f"{label['resource']}/{label['subresource']}".rstrip("/")
        if label["verb"] in verbs and not but.search(resource):
            counted[label["verb"], resource] += int(float(value))
    return counted


_WRITING = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
_READING = {"GET", "LIST", "WATCH"}
_INCIDENTAL = re.compile("leases|reviews|serviceaccounts/token|^configmaps$|^serviceaccounts$")
"""Requests that do not count: elections, reviews, and objects that every namespace gets."""
_FOREIGN = re.compile("^(?!(lnamespaces|namespaces|(cluster)?role(binding)?s)$)")
