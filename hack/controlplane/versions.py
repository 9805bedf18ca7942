"""Which Kubernetes can be run, and from which pinned modules; each version is written down once.

The present version is built from the ``go.mod`` beside this file, the oldest one from a go.mod of
its own, and those between are the present one, told to behave as they did.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .console import ClusterError

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PRESENT = HERE
OLDEST = HERE / "v1.30"
EMULATED = ("1.33", "1.34", "1.35")
"""The versions that the present kube-apiserver can emulate, from the oldest one on."""


@dataclass(frozen=True)
class Versions:
    """The versions that the go.mod of `folder` pins, without the leading `v`.

    `go` is the oldest Go that can build it all. A module without etcd and helm has None for them.
    """

    folder: Path
    kubernetes: str
    etcd: str | None
    helm: str | None
    go: str
    tools: frozenset[str]

    @property
    def minor(self) -> str:
        """Return the minor version of Kubernetes, such as 1.36."""
        return minor(self.kubernetes)


@dataclass(frozen=True)
class Release:
    """A Kubernetes to run: built from `versions`, and behaving as `emulated` where that is set."""

    versions: Versions
    emulated: str | None = None

    @property
    def name(self) -> str:
        """Return the value of K8S=... and --kubernetes that means this release."""
        return self.emulated or self.versions.minor

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags of kube-apiserver and kube-controller-manager.

        A server is compatible with the version before its own unless told otherwise, which keeps
        back the newest functions of CEL. The oldest version has none before it.
        """
        if self.emulated is None:
            return ()
        before = EMULATED[max(EMULATED.index(self.emulated) - 1, 0)]
        return (f"--emulated-version={self.emulated}", f"--min-compatibility-version={before}")


def release(name: str | None = None) -> Release:
    """Find a Kubernetes by its minor version; the present one if none is named.

    Raises
    ------
    ClusterError
        There is no version of that name.
    """
    present, oldest = pinned(PRESENT), pinned(OLDEST)
    if name is None or name == present.minor:
        return Release(present)
    if name == oldest.minor:
        return Release(oldest)
    if name in EMULATED:
        return Release(present, name)
    known = ", ".join((oldest.minor, *EMULATED, present.minor))
    raise ClusterError(f"Kubernetes {name!r} cannot be run here: choose one of {known}")


def pinned(folder: Path = PRESENT) -> Versions:
    """Read a go.mod."""
    text = (folder / "go.mod").read_text()
    return Versions(
        folder=folder,
        kubernetes=_required(text, "k8s.io/kubernetes"),
        etcd=_version(text, "go.etcd.io/etcd/server/v3"),
        helm=_version(text, "helm.sh/helm/v3"),
        go=_first(text, r"^go (\S+)$"),
        tools=frozenset(_first(text, r"(?s)^tool \((.*?)^\)").split()),
    )


def minor(version: str) -> str:
    """Return a version without what follows its second number."""
    return ".".join(version.split(".")[:2])


def _required(text: str, module: str) -> str:
    return _first(text, _requirement(module))


def _version(text: str, module: str) -> str | None:
    found = re.search(_requirement(module), text, re.MULTILINE)
    return found[1] if found else None


def _requirement(module: str) -> str:
    return rf"^\s*(?:require )?{re.escape(module)} v(\S+)"


def _first(text: str, pattern: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise ValueError(f"go.mod has no line like {pattern}")
    return match[1]
