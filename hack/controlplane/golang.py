"""Finds a Go toolchain and builds the executables with it."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .console import ClusterError, Heartbeat, say, tail
from .versions import REPOSITORY, Versions

VENV = REPOSITORY / ".venv"
GO_REQUIREMENTS = REPOSITORY / "requirements" / "go.txt"

# GOTOOLCHAIN=local: the Go that was chosen builds, and never downloads another one instead.
BUILD_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}
# Settings of the caller's shell that would build for another machine than this one.
FOREIGN_SETTINGS = ("GOOS", "GOARCH", "GOBIN")


@dataclass(frozen=True)
class Package:
    """An executable and the Go package it is built from."""

    name: str
    path: str


PACKAGES = (
    Package("etcd", "go.etcd.io/etcd/server/v3"),
    Package("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Package("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Package("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    Package("helm", "helm.sh/helm/v3/cmd/helm"),
)

HELM = "helm.sh/helm/v3/pkg"


def packages(versions: Versions) -> tuple[Package, ...]:
    """List what is built from a go.mod: its tools."""
    return tuple(package for package in PACKAGES if package.path in versions.tools)


def linker_flags(versions: Versions) -> str:
    """Return the flags that set the versions: else Kubernetes reports v0.0.0, and clients warn."""
    package = "k8s.io/component-base/version"
    major, minor = versions.minor.split(".")
    stamps = {
        f"{package}.gitVersion": f"v{versions.kubernetes}",
        f"{package}.gitMajor": major,
        f"{package}.gitMinor": minor,
        f"{package}.gitTreeState": "clean",
        **(_helm_stamps(versions.helm, major, minor) if versions.helm else {}),
    }
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in stamps.items())])


def _helm_stamps(version: str, major: str, minor: str) -> dict[str, str]:
    return {
        "helm.sh/helm/v3/internal/version.version": f"v{version}",
        # The Kubernetes version for `helm template` and `helm lint`, which ask no cluster.
        f"{HELM}/chartutil.k8sVersionMajor": major,
        f"{HELM}/chartutil.k8sVersionMinor": minor,
        f"{HELM}/lint/rules.k8sVersionMajor": major,
        f"{HELM}/lint/rules.k8sVersionMinor": minor,
    }


def recipe(versions: Versions) -> str:
    """Return the part of the cache's key that is not in go.mod and go.sum: settings and flags."""
    return repr((BUILD_SETTINGS, packages(versions), linker_flags(versions)))


def find_go(versions: Versions) -> Path:
    """Return the Go on PATH if it is new enough, else that of .venv; install it if missing."""
    in_venv = VENV / "bin" / "go"
    for candidate in (shutil.which("go"), str(in_venv)):
        if candidate and _is_new_enough(candidate, versions.go):
            return Path(candidate)
    _install_go_in_venv(versions.go)
    if not _is_new_enough(str(in_venv), versions.go):
        raise ClusterError(_no_go(versions.go, f"{in_venv} does not work"))
    return in_venv


def build(go: Path, versions: Versions, missing: list[Package], into: Path, log: Path) -> None:
    """Build one package after the other; Go itself uses all processors."""
    with log.open("w") as output:
        for package in missing:
            command = [str(go), "build", "-trimpath", "-ldflags", linker_flags(versions)]
            command += ["-o", str(into / package.name), package.path]
            _run(command, versions.folder, package.name, output.fileno(), log)


def _run(command: list[str], folder: Path, name: str, output: int, log: Path) -> None:
    heartbeat, start = Heartbeat(name), time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdout=output,
        stderr=output,
        stdin=subprocess.DEVNULL,
    )
    try:
        while (code := _wait_a_second(process)) is None:
            heartbeat.beat(time.monotonic() - start)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    heartbeat.done(time.monotonic() - start, "done" if code == 0 else "failed")
    if code != 0:
        raise ClusterError(f"building {name} failed; the whole log is {log}\n{tail(log)}")


def _wait_a_second(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN_SETTINGS}
    return kept | BUILD_SETTINGS


def _is_new_enough(go: str, oldest: str) -> bool:
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"],
            check=False,
            env=_environment(),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and _numbers(answer.stdout) >= _numbers(oldest)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _install_go_in_venv(oldest: str) -> None:
    python = VENV / "bin" / "python"
    if not python.exists():
        raise ClusterError(_no_go(oldest, "there is no .venv to install it into"))
    say(f"No Go {oldest} or newer on PATH: installing one into {VENV}.")
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "-r", str(GO_REQUIREMENTS)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ClusterError(_no_go(oldest, f"pip could not install it ({reason})"))


def _no_go(oldest: str, reason: str) -> str:
    return (
        f"building the control plane needs Go {oldest} or newer and {reason}: install Go and put "
        f"it on PATH, or run `make .venv` and then `.venv/bin/pip install --require-hashes "
        f"--no-deps -r requirements/go.txt`"
    )
