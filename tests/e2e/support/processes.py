"""Our processes: started, stopped, killed, held up, each as the chart's service account."""

import os
import random
import resource
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.support.api import (
    CONFIGURATIONS,
    CRD,
    LNAMESPACES,
    Api,
    ApiError,
)
from tests.e2e.support.commands import environment
from tests.e2e.support.programs import PROGRAM, Forked, started
from tests.e2e.support.tenants import manifest
from tests.e2e.support.waiting import eventually

START = 180.0
"""Seconds; a machine that is busy with other things takes its time."""


class Process:
    """An `lnamespace` command that runs until it is told to stop."""

    words: tuple[str, ...]
    """The command's words after `lnamespace`."""

    defect: str
    """What it logs when it meets something that it was not written for."""

    def __init__(self, kubeconfig: Path, log: Path, **variables: str) -> None:
        self._variables = {"KUBECONFIG": str(kubeconfig), **variables}
        self._log = log
        self._log.touch()
        self._process: subprocess.Popen[bytes] | Forked | None = None

    def start(self, more: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it does its work; ``more`` are variables."""
        since = self.launch(more)
        eventually(lambda: self._alive_and_ready(since), START, f"{self} is not ready")

    def launch(self, more: Mapping[str, str] | None = None) -> int:
        """Start it and wait for nothing; returns where its log begins."""
        assert not self.running
        before = self.position
        with self._log.open("ab") as log:
            self._process = started(
                (str(PROGRAM), *self.words), environment(self._variables | dict(more or {})), log
            )
        return before

    def ready(self, log: str) -> bool:
        """Return whether the process does its work, by its log since its start, or otherwise."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop the process, which must end without an error; do nothing if it is not running."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            code = process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert code == 0, f"{self} ended with {code}\n{self.tail()}"

    def kill(self) -> None:
        """Kill the process, as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def hold(self) -> None:
        """Stop the process for a while (SIGSTOP), as on a machine that is too busy."""
        self.signal(signal.SIGSTOP)

    def release(self) -> None:
        """Continue the process."""
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def limit(self, kind: int, most: int) -> None:
        """Limit a resource of the process from now on (getrlimit(2))."""
        assert self._process is not None
        _, hardest = resource.prlimit(self._process.pid, kind)
        resource.prlimit(self._process.pid, kind, (most, hardest))

    def wait(self, seconds: float = 60.0) -> int:
        """Return the exit code, once the process has ended by itself."""
        assert self._process is not None
        code = self._process.wait(seconds)
        self._process = None
        return code

    @property
    def pid(self) -> int:
        """Return the number of the process, while it runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def position(self) -> int:
        """Return the present end of the log."""
        return self._log.stat().st_size

    def log(self, since: int = 0) -> str:
        """Return the log since a position."""
        with self._log.open("rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def tail(self, since: int = 0, lines: int = 80) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log(since).splitlines()[-lines:])

    def __str__(self) -> str:
        return f"`lnamespace {' '.join(self.words)}`"

    def _alive_and_ready(self, since: int) -> bool:
        if not self.running:
            raise RuntimeError(f"{self} ended\n{self.tail(since)}")
        return self.ready(self.log(since))


class Controller(Process):
    """The process `lnamespace controller`."""

    words = ("controller",)
    defect = "reconcile failed"

    def __init__(self, kubeconfig: Path, log: Path, **variables: str) -> None:
        self.health = free_port()
        fixed = {
            "LNAMESPACE_HEALTH_LISTEN": f"127.0.0.1:{self.health}",
            # A few users create hundreds of LNamespaces; test_limits.py is about the limit.
            "LNAMESPACE_LIMIT_PER_REQUESTER": "0",
            "LNAMESPACE_LCLUSTER_LIMIT_PER_REQUESTER": "0",
        }
        super().__init__(kubeconfig, log, **fixed | variables)

    def ready(self, log: str) -> bool:
        """Return whether the controller has listed everything."""
        return "caches are complete" in log


class Webhook(Process):
    """The process `lnamespace webhook` on a port of this machine; several may share it."""

    words = ("webhook",)
    defect = "Traceback"

    def __init__(
        self, kubeconfig: Path, log: Path, admin: Api, port: int, **variables: str
    ) -> None:
        self.health = free_port()
        self._admin = admin
        fixed = {
            "LNAMESPACE_LISTEN": f"127.0.0.1:{port}",
            "LNAMESPACE_HEALTH_LISTEN": f"127.0.0.1:{self.health}",
            "LNAMESPACE_SERVING_NAMES": "127.0.0.1",
            "LNAMESPACE_DRAIN_SECONDS": "1",
            "LNAMESPACE_CERTIFICATE_SETTLE_SECONDS": "1",
            "LNAMESPACE_LIMIT_PER_REQUESTER": "0",
            "LNAMESPACE_LCLUSTER_LIMIT_PER_REQUESTER": "0",
        }
        super().__init__(kubeconfig, log, **fixed | variables)

    def ready(self, log: str) -> bool:
        """Return whether the API server trusts the webhook everywhere, and creations work."""
        return "listening" in log and trusted(self._admin) and answers(self._admin)


class Publisher(Process):
    """The process `lnamespace ledger publish`; by default it writes rows every second."""

    words = ("ledger", "publish")
    defect = "Traceback"

    def __init__(self, kubeconfig: Path, log: Path, url: str, **variables: str) -> None:
        self.health = free_port()
        fixed = {
            "LNAMESPACE_HEALTH_LISTEN": f"127.0.0.1:{self.health}",
            "LNAMESPACE_LEDGER_URL": url,
            "LNAMESPACE_FLUSH_SECONDS": "1",
            "LNAMESPACE_CLUSTER_NAME": "e2e",
        }
        super().__init__(kubeconfig, log, **fixed | variables)

    def ready(self, log: str) -> bool:
        """Return whether the publisher has listed the outbox; the database need not answer."""
        return "publishing" in log


def trusted(admin: Api) -> bool:
    """Return whether a CA of the webhook's is in all places where the API server looks."""
    entries = [entry for path in CONFIGURATIONS for entry in admin.get(path)["webhooks"]]
    clients = [entry["clientConfig"] for entry in entries]
    clients.append(admin.get(CRD)["spec"]["conversion"]["webhook"]["clientConfig"])
    return all("caBundle" in client for client in clients)


def answers(admin: Api) -> bool:
    """Return whether an LNamespace can be created."""
    try:
        admin.create(LNAMESPACES, manifest("knock-knock", managers=["somebody"]), dryRun="All")
    except ApiError as error:
        if yet_to_answer(error):
            return False
        raise
    return True


def yet_to_answer(error: ApiError) -> bool:
    """Return whether the webhook or the kind is not served yet.

    A change of its definition, such as of whom to trust, makes the API server open its storage
    again; for a moment it says 503 "apiserver is shutting down".
    """
    words = ("failed calling webhook", "is its configuration there?")
    return error.status == 503 or any(each in error.message for each in words)


def free_port() -> int:
    """Return a free port of this machine, which no other caller is given.

    Systems use another range for outgoing connections and for port 0, and `hack/cluster` has its
    own range. Each of several workers (pytest-xdist) uses every tenth port. Workers of another run
    on this machine see that a port is taken by the UDP port of its number, which is held too.
    """
    return next(port for port in _ports if _is_free(port) and _reserve(port))


_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_ports = iter(random.sample(range(10000 + _worker % 10, 20000, 10), 1000))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _reserve(port: int) -> bool:
    """Hold the UDP port of that number for as long as this process lives."""
    twin = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        twin.bind(("127.0.0.1", port))
    except OSError:
        twin.close()
        return False
    twin.detach()  # The system closes it.
    return True
