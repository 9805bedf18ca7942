"""Processes that outlive this tool: started, found again by pidfile, and stopped."""

import contextlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .console import ClusterError, tail
from .pki import Pair

POLL_INTERVAL = 0.05
START_TIMEOUT = 240.0  # on a machine with ten times as much to do; an end is reported at once
TERM_TIMEOUT = 4.0  # the data are deleted anyway, and an API server without etcd never ends
KILL_TIMEOUT = 30.0
PORT_TIMEOUT = 30.0
# The shell writes its own pid and then becomes the process: there is no moment at which the process
# runs and the pidfile is missing, even if this tool is killed.
PIDFILE_THEN_EXEC = 'echo $$ >"$0" && exec "$@"'


@dataclass(frozen=True)
class Probe:
    """An https path on the loopback interface that answers 200 when the process is ready."""

    port: int
    path: str
    authority: Path
    client: Pair

    def succeeds(self) -> bool:
        """Ask once, at the port itself, so that no proxy of the environment is used."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.load_cert_chain(self.client.certificate, self.client.key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5, context=context)
        try:
            connection.request("GET", self.path)
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@dataclass(frozen=True)
class Daemon:
    """One process of a cluster.

    `identity` is an argument that no other process has: it tells a process of ours from a stranger
    that was given the same pid later.
    """

    name: str
    executable: Path
    identity: str
    flags: tuple[str, ...]
    ports: tuple[int, ...]
    probes: tuple[Probe, ...]
    directory: Path

    @property
    def pidfile(self) -> Path:
        """Return the file with the pid, for `down` and for tests that kill the process."""
        return pidfile(self.directory, self.name)

    @property
    def log(self) -> Path:
        """Return the file of stdout and stderr; each start appends to it."""
        return self.directory / "logs" / f"{self.name}.log"

    def running(self) -> bool:
        """Return whether the process of the pidfile is alive and ours."""
        return running_pid(self.pidfile, self.identity) is not None


def pidfile(directory: Path, name: str) -> Path:
    """Return the file with a daemon's pid."""
    return directory / f"{name}.pid"


def running_pid(file: Path, identity: str) -> int | None:
    """Return the pid in a pidfile, if that process is alive and has our argument."""
    try:
        pid = int(file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if identity in _arguments(pid) else None


def _arguments(pid: int) -> str | list[str]:
    """Return the command line; empty for a process that is gone, or dead and not yet reaped."""
    if sys.platform != "linux":
        command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def start(daemon: Daemon) -> None:
    """Start a daemon and return when it is ready; its session is its own, so Ctrl-C spares it."""
    _wait_for_ports(daemon)
    command = [str(daemon.executable), daemon.identity, *daemon.flags]
    with daemon.log.open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", PIDFILE_THEN_EXEC, str(daemon.pidfile), *command],
            cwd=daemon.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    if not becomes_ready(daemon, lambda: process.poll() is None):
        raise ClusterError(_explain(daemon, "ended while it started"))


def becomes_ready(daemon: Daemon, alive: Callable[[], bool]) -> bool:
    """Poll until all probes succeed; return False if the process ends first."""
    deadline = time.monotonic() + START_TIMEOUT
    while not all(probe.succeeds() for probe in daemon.probes):
        if not alive():
            return False
        if time.monotonic() > deadline:
            raise ClusterError(_explain(daemon, f"was not ready after {START_TIMEOUT:.0f} s"))
        time.sleep(POLL_INTERVAL)
    return True


def _wait_for_ports(daemon: Daemon) -> None:
    """Wait until the ports are free: a killed process keeps its port longer than its pid."""
    deadline = time.monotonic() + PORT_TIMEOUT
    while taken := [port for port in daemon.ports if not is_free(port)]:
        if time.monotonic() > deadline:
            raise ClusterError(
                f"another program listens on port {taken[0]}, which this cluster's {daemon.name} "
                f"needs: stop that program, or `hack/cluster down` and start afresh"
            )
        time.sleep(POLL_INTERVAL)


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _explain(daemon: Daemon, what: str) -> str:
    return (
        f"{daemon.name} {what}; its log is {daemon.log} and ends with\n{tail(daemon.log)}\n"
        f"  With the same --dir, `hack/cluster up` tries again and `hack/cluster down` cleans up."
    )


def stop(file: Path, identity: str) -> None:
    """End a process politely, then firmly; return when it is gone."""
    for number, patience in ((signal.SIGTERM, TERM_TIMEOUT), (signal.SIGKILL, KILL_TIMEOUT)):
        pid = running_pid(file, identity)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if _gone(file, identity, patience):
            file.unlink(missing_ok=True)
            return
    raise ClusterError(f"the process of {file} survived SIGKILL: look at it with `ps`")


def _gone(file: Path, identity: str, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while running_pid(file, identity) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_INTERVAL)
    return True


def _environment() -> dict[str, str]:
    """Return a small environment: etcd reads ETCD_*, and no proxy must see this traffic.

    GOGC says how much memory the daemons may take instead of processor; the tests set it.
    """
    kept = ("GOGC", "HOME", "PATH", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}
