"""The executables: taken from the cache, copied from this machine, or built."""

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import golang
from .console import say
from .versions import PRESENT, Release, Versions, pinned

VERSION_COMMAND = {
    "etcd": ("--version",),
    "kube-apiserver": ("--version",),
    "kube-controller-manager": ("--version",),
    "kubectl": ("version", "--client"),
    "helm": ("version", "--short"),
}


@dataclass(frozen=True)
class Executables:
    """The paths of a cluster's executables.

    `tools` has etcd, kubectl and helm, in the present versions whatever the cluster's own is.
    `servers` has kube-apiserver and kube-controller-manager.
    """

    tools: Path
    servers: Path


def ensure(release: Release) -> Executables:
    """Find the executables of a Kubernetes; build those that are missing."""
    tools = _built(pinned(PRESENT))
    servers = tools if release.versions.folder == PRESENT else _built(release.versions)
    return Executables(tools, servers)


def _built(versions: Versions) -> Path:
    """Return the folder with the executables of one go.mod; build them if need be."""
    home = cache_home() / cache_key(versions)
    if not _complete(home, versions):
        home.parent.mkdir(parents=True, exist_ok=True)
        with _lock(home.with_name(f"{home.name}.lock")):
            if not _complete(home, versions):  # another `up` may have built while this one waited
                _fill(home, versions)
    return home / "bin"


def cache_home() -> Path:
    """Return the folder of all builds, which every checkout of this user shares."""
    own = os.environ.get("LNAMESPACE_CACHE")
    general = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    base = Path(own).expanduser() if own else Path(general).expanduser() / "lnamespace"
    return base.absolute() / "controlplane"


def cache_key(versions: Versions) -> str:
    """Return the name of one build: of its pins, its recipe and the kind of machine."""
    digest = hashlib.sha256()
    pins = [(versions.folder / name).read_bytes() for name in ("go.mod", "go.sum")]
    for part in (*pins, golang.recipe(versions).encode()):
        digest.update(hashlib.sha256(part).digest())
    digest.update(f"{sys.platform} {platform.machine()}".encode())
    return f"v{versions.kubernetes}-{digest.hexdigest()[:10]}"


def _complete(home: Path, versions: Versions) -> bool:
    packages = golang.packages(versions)
    return all(os.access(home / "bin" / package.name, os.X_OK) for package in packages)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another `hack/cluster up` is building the control plane: waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fill(home: Path, versions: Versions) -> None:
    """Make the folder elsewhere and rename it into place: it is there whole, or not at all."""
    for leftover in [*home.parent.glob(f".{home.name}.*"), home]:
        shutil.rmtree(leftover, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{home.name}.", dir=home.parent))
    try:
        (scratch / "bin").mkdir()
        packages = golang.packages(versions)
        missing = [item for item in packages if not _copy(item.name, versions, scratch)]
        if missing:
            _build(missing, versions, scratch / "bin", home.with_name(f"{home.name}.log"))
        scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _build(missing: list[golang.Package], versions: Versions, into: Path, log: Path) -> None:
    go = golang.find_go(versions)
    names = ", ".join(package.name for package in missing)
    others = {"etcd": versions.etcd, "helm": versions.helm}
    what = [f"Kubernetes {versions.kubernetes}", *(f"{k} {v}" for k, v in others.items() if v)]
    say(
        f"Building {names}\n"
        f"  {', '.join(what)}, from source with {go}.\n"
        f"  Once per version; all of them take 6 to 8 minutes on two processors. Log: {log}"
    )
    golang.build(go, versions, missing, into, log)


def _copy(name: str, versions: Versions, scratch: Path) -> bool:
    """Take an executable that this machine has already, if it is of exactly the pinned version."""
    wanted = {"etcd": versions.etcd, "helm": versions.helm}.get(name, versions.kubernetes)
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    for path in filter(None, (assets, os.environ.get("PATH"))):
        found = shutil.which(name, path=path)
        if found and _version_of(found, name) == wanted:
            say(f"Using {found}, it is {name} {wanted}.")
            shutil.copy(found, scratch / "bin" / name)
            return True
    return False


def _version_of(executable: str, name: str) -> str | None:
    try:
        command = [executable, *VERSION_COMMAND[name]]
        answer = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\bv?(\d+\.\d+\.\d+[^\s+]*)", answer.stdout)
    return match[1] if match else None
