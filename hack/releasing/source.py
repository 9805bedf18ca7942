"""What a release is made from: the files of the repository, a version and a time."""

import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .process import ReleaseError, output

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """A repository as it is now."""

    folder: Path
    version: str
    epoch: int
    """When it was last changed, in seconds: the time of all files of a release, so that a second
    build has the same bytes (https://reproducible-builds.org)."""
    changed: bool
    """Whether it differs from its last commit."""


def read(folder: Path = REPOSITORY) -> Source:
    """Read a repository.

    Raises
    ------
    ReleaseError
        The folder is not a repository, or its parts disagree about the version.
    """
    stated = versions(folder)
    if len(set(stated.values())) != 1:
        told = ", ".join(f"{where} {version}" for where, version in stated.items())
        raise ReleaseError(f"all of these must be one version: {told}")
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git(folder, "log", "-1", "--format=%ct")
    changed = bool(_git(folder, "status", "--porcelain"))
    return Source(folder, stated["pyproject.toml"], int(epoch), changed)


def versions(folder: Path) -> dict[str, str]:
    """Return each statement of the version. The image's tag is the chart's appVersion."""
    chart = (folder / "charts" / "lnamespace" / "Chart.yaml").read_text()
    return {
        "pyproject.toml": _project_version(folder),
        "plugins/pyproject.toml": _project_version(folder / "plugins"),
        "Chart.yaml version": _stated("version", chart),
        "Chart.yaml appVersion": _stated("appVersion", chart),
    }


def copy(source: Source, into: Path) -> None:
    """Copy the files of the repository, without those that git ignores."""
    listed = _git(source.folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        path = source.folder / name
        if path.exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, into / name, follow_symlinks=False)


def _project_version(folder: Path) -> str:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def _stated(key: str, chart: str) -> str:
    found = re.search(rf'^{key}: "?([^"\s]+)"?$', chart, re.MULTILINE)
    return found[1] if found else "none"


def _git(folder: Path, *words: str) -> str:
    return output(("git", *words), folder).strip()
