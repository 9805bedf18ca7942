"""What `up`, `down` and `env` do with one cluster's folder."""

import contextlib
import fcntl
import itertools
import json
import os
import random
import shlex
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from . import binaries, components, pki, processes
from .binaries import Executables
from .components import AUDIT_POLICY, CHOSEN_CONTROLLERS, Layout, Ports
from .console import ClusterError, say
from .versions import REPOSITORY, Release, release

# The file that `up` makes before anything else, and that a command locks to change the folder.
# `down` deletes only a folder that has it.
MARKER = ".lnamespace-cluster"
STATE = "cluster.json"
# Below the range from which systems pick ports for outgoing connections: a port that is free while
# the API server is down must still be free when it comes back.
PORT_RANGE = range(20000, 32000)


@dataclass(frozen=True)
class State:
    """The state that a cluster remembers between two commands."""

    bin_folder: str
    """The folder of the tools for people, for the PATH."""
    server_folder: str
    """The folder of kube-apiserver and kube-controller-manager."""
    kubernetes: str
    ports: Ports


def up(directory: Path, kubernetes: str | None = None) -> None:
    """Start what is not running; a second call finds everything in place.

    A cluster stays of the version with which it was made; `kubernetes` names that of a new one.
    """
    _check_usable(directory)
    start = time.monotonic()
    wanted = release(_chosen(directory, kubernetes))
    executables = binaries.ensure(wanted)
    with _locked(directory, create=True):
        started = _start_all(directory, executables, wanted)
    say(f"Ready in {time.monotonic() - start:.1f} s." if started else "It was up already.")


def down(directory: Path) -> bool:
    """Stop everything and delete the folder; say whether there was anything."""
    if not directory.exists():
        return False
    if not (directory / MARKER).is_file():
        raise ClusterError(
            f"{directory} was not made by `hack/cluster up` (it has no file {MARKER}), so it is "
            f"left alone: check --dir, or delete it yourself"
        )
    with _locked(directory, create=False) as there:
        if there:
            for name, identity in reversed(Layout(directory).identities().items()):
                processes.stop(processes.pidfile(directory, name), identity)
            _remove(directory)
    return there


def environment(directory: Path) -> str:
    """Return shell commands that point kubectl at the cluster; only if it is up."""
    layout = Layout(directory)
    for name, identity in layout.identities().items():
        if processes.running_pid(processes.pidfile(directory, name), identity) is None:
            raise ClusterError(f"{name} of {directory} is not running: {_command('up', directory)}")
    state = _read_state(directory)
    if state is None:
        raise ClusterError(f"{directory / STATE} is missing: {_command('up', directory)}")
    path = f"{state.bin_folder}:{REPOSITORY / '.venv' / 'bin'}"
    return (
        f"export KUBECONFIG={shlex.quote(str(layout.kubeconfig))}\n"
        f'export PATH={shlex.quote(path)}:"$PATH"\n'
    )


def _chosen(directory: Path, kubernetes: str | None) -> str | None:
    """Return the version of a cluster that exists, else the one that was asked for."""
    state = _read_state(directory)
    if state is None or kubernetes in (None, state.kubernetes):
        return state.kubernetes if state else kubernetes
    raise ClusterError(
        f"{directory} is a cluster of Kubernetes {state.kubernetes}, and data do not go from one "
        f"version to any other: {_command('down', directory)} first, or give another --dir"
    )


def _start_all(directory: Path, executables: Executables, wanted: Release) -> bool:
    layout = Layout(directory)
    (directory / "logs").mkdir(exist_ok=True)
    certificates = pki.ensure(directory / "pki")
    ports = _ports(directory)
    folders = str(executables.tools), str(executables.servers)
    _write_state(directory, State(*folders, wanted.name, ports))
    _write_kubeconfigs(layout, ports, certificates)
    started = False
    for daemon in components.daemons(layout, executables, wanted, ports, certificates):
        if daemon.running() and processes.becomes_ready(daemon, daemon.running):
            continue
        say(f"Starting {daemon.name} on port {daemon.ports[0]}.")
        processes.start(daemon)
        started = True
    return started


def _write_kubeconfigs(layout: Layout, ports: Ports, certificates: pki.Pki) -> None:
    """Write the missing kubeconfigs only: users may have changed the namespace in theirs."""
    owners = {
        layout.kubeconfig: "admin",
        layout.controller_manager_kubeconfig: "controller-manager",
    }
    for file, owner in owners.items():
        if not file.exists():
            pair = certificates.pair(owner)
            content = components.kubeconfig(ports.api_server, certificates.authority, pair)
            pki.write_private(file, content)


def _ports(directory: Path) -> Ports:
    """Return the cluster's ports, chosen once so that its kubeconfigs stay valid."""
    state = _read_state(directory)
    return state.ports if state else Ports(*_free_ports(4))


def _read_state(directory: Path) -> State | None:
    try:
        content = json.loads((directory / STATE).read_text())
    except FileNotFoundError:
        return None
    try:
        return State(**content | {"ports": Ports(**content["ports"])})
    except TypeError as error:
        raise ClusterError(
            f"{directory} was made by another version of this tool: {_command('down', directory)}"
        ) from error


def _write_state(directory: Path, state: State) -> None:
    scratch = directory / f"{STATE}.new"
    pki.write_private(scratch, json.dumps(asdict(state), indent=2).encode())
    scratch.rename(directory / STATE)


def _free_ports(count: int) -> list[int]:
    shuffled = random.sample(PORT_RANGE, len(PORT_RANGE))
    free = list(itertools.islice(filter(processes.is_free, shuffled), count))
    if len(free) < count:
        raise ClusterError(f"no {count} ports between 20000 and 32000 are free: stop a program")
    return free


def _check_usable(directory: Path) -> None:
    if ":" in str(directory):
        raise ClusterError(f"{directory} has a colon, which KUBECONFIG cannot hold: use another")
    if directory.exists() and not directory.is_dir():
        raise ClusterError(f"{directory} is a file: give --dir a folder that is new or empty")
    found = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    if MARKER not in found and found - {AUDIT_POLICY, CHOSEN_CONTROLLERS}:
        raise ClusterError(
            f"{directory} has other files in it: give --dir one that is new or empty"
        )


@contextlib.contextmanager
def _locked(directory: Path, *, create: bool) -> Iterator[bool]:
    """Run one command at a time for a cluster; yield False if there is no cluster to lock."""
    marker = _lock(directory, create=create)
    try:
        yield marker is not None
    finally:
        if marker is not None:
            os.close(marker)


def _lock(directory: Path, *, create: bool) -> int | None:
    """Lock the marker; again from the start if a `down` deleted it while this one waited."""
    while True:
        if create:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            marker = os.open(directory / MARKER, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        except FileNotFoundError:
            if create:
                continue
            return None
        fcntl.flock(marker, fcntl.LOCK_EX)
        if os.fstat(marker).st_nlink:
            return marker
        os.close(marker)


def _remove(directory: Path) -> None:
    """Delete the marker last: while anything is left, `down` can be run again."""
    for entry in list(directory.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != MARKER:
            entry.unlink()
    (directory / MARKER).unlink()
    with contextlib.suppress(OSError):  # a waiting `up` may have made it its own meanwhile
        directory.rmdir()


def _command(name: str, directory: Path) -> str:
    return f"run `hack/cluster {name} --dir {shlex.quote(str(directory))}`"
