"""Kubernetes' end-to-end tests: built once from their pinned source, and run by their names."""

import hashlib
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path

from controlplane import binaries, golang, versions
from controlplane.console import say

HERE = Path(__file__).resolve().parent
PACKAGE = "k8s.io/kubernetes/test/e2e"
_LINK = ("-trimpath", "-ldflags=-s -w")
_SUITE = 3600
"""Seconds that all specs together may take."""


def ensure() -> Path:
    """Return the executable; build it if it is not in the cache."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / name).read_bytes())
    folder = binaries.cache_home().parent / "conformance"
    executable = folder / f"e2e.test-{digest.hexdigest()[:10]}"
    if not os.access(executable, os.X_OK):
        folder.mkdir(parents=True, exist_ok=True)
        _build(executable)
    return executable


def _build(executable: Path) -> None:
    go = golang.find_go(versions.pinned())
    say(f"Building Kubernetes' end-to-end tests with {go}: once, about a quarter of an hour.")
    scratch = executable.with_suffix(f".{os.getpid()}")
    command = [str(go), "test", "-c", *_LINK, "-o", str(scratch), PACKAGE]
    subprocess.run(command, cwd=HERE, env=os.environ | golang.BUILD_SETTINGS, check=True)
    scratch.rename(executable)


def specs(pattern: str = "", *, further: bool = False) -> list[str]:
    """Return the names of the specs that need no node and match a regular expression.

    ``further`` means specs that are not among those of conformance, and pass directly.
    """
    names = (HERE / ("further.txt" if further else "specs.txt")).read_text().splitlines()
    return [name for name in names if re.search(pattern, name)]


def run(executable: Path, kubeconfig: Path, names: Iterable[str], folder: Path) -> dict[str, str]:
    """Run specs as the user of a kubeconfig; return the result of each: empty if it passed.

    The log and the report are left in the folder.
    """
    folder.mkdir(parents=True)
    focus = "|".join(re.escape(name) for name in names)
    command = [
        str(executable),
        f"--kubeconfig={kubeconfig}",
        f"--kubectl-path={binaries.ensure(versions.release()).tools / 'kubectl'}",
        "--provider=skeleton",
        "--num-nodes=0",
        "--minStartupPods=0",
        "--allowed-not-ready-nodes=-1",
        "--dump-logs-on-failure=false",
        f"--report-dir={folder}",
        f"--ginkgo.focus=({focus})",
        f"--ginkgo.timeout={_SUITE}s",
        "--ginkgo.no-color",
        "--ginkgo.v",
    ]
    with (folder / "log").open("w") as log:
        own = os.environ | {"HOME": str(folder)}
        subprocess.run(command, cwd=folder, env=own, stdout=log, stderr=log, check=False)
    return dict(_outcomes(folder / "junit_01.xml"))


def _outcomes(report: Path) -> Iterator[tuple[str, str]]:
    if not report.exists():
        return
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - our own process wrote it
        status = case.get("status", "")
        if status == "skipped" or not case.get("name", "").startswith("[It] "):
            continue
        found = case.find("failure")
        failure = found if found is not None else case.find("error")
        message = "" if failure is None else failure.get("message") or status
        yield _plain(case.get("name", "")), message


def _plain(name: str) -> str:
    """Return a spec's name as it is in the list: without its kind, and its labels at the end."""
    return re.sub(r" \[sig-[a-z-]+,.*$", "", name.removeprefix("[It] "))
