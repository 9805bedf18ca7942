"""The packages: wheel, source, chart, the bill of what is in them, and their checksums."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from controlplane import binaries
from controlplane.versions import release

from . import archives, plugins, source
from .process import output
from .source import Source

SUMS = "SHA256SUMS"


def make(made_from: Source, dist: Path) -> list[Path]:
    """Make the packages in ``dist``.

    Raises
    ------
    ReleaseError
        One of the programs that make them fails.
    """
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source.copy(made_from, folder)
        return [
            *_python(made_from, folder, dist),
            _chart(made_from, folder, dist),
            *plugins.make(made_from, folder, dist),
            _bill(made_from, folder, dist),
        ]


def write_sums(version: str, dist: Path) -> Path:
    """Write the checksums of all files, as ``sha256sum --check`` reads them."""
    sums = dist / SUMS
    made = sorted(dist.glob(f"lnamespace[-_]*{version}[.-]*"))
    files = [path for path in made if not path.name.endswith((".sigstore.json", ".digest"))]
    lines = [f"{_digest(path)}  {path.name}\n" for path in files]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def chart_of(version: str, dist: Path) -> Path:
    """Return the file of the chart, made or to be made."""
    return dist / f"lnamespace-{version}.tgz"


def bill_of(version: str, dist: Path) -> Path:
    """Return the file of the bill of materials, made or to be made."""
    return dist / f"lnamespace-{version}.cdx.json"


def _python(made_from: Source, folder: Path, dist: Path) -> list[Path]:
    """Build both wheels; ours is built from the source package, so that is complete."""
    uv, python = str(Path(sys.executable).with_name("uv")), sys.executable
    how = ("--quiet", "--no-build-isolation", "--python", python, "--out-dir", str(dist))
    output((uv, "build", *how), folder, _environment(made_from))
    output((uv, "build", *how, "--wheel", "plugins"), folder, _environment(made_from))
    packed = dist / f"lnamespace-{made_from.version}.tar.gz"
    archives.settle(packed, made_from.epoch)
    end = f"{made_from.version}-py3-none-any.whl"
    return [packed, dist / f"lnamespace-{end}", dist / f"lnamespace_plugins-{end}"]


def _chart(made_from: Source, folder: Path, dist: Path) -> Path:
    helm = binaries.ensure(release()).tools / "helm"
    output((str(helm), "package", "charts/lnamespace", "--destination", str(dist)), folder)
    packed = chart_of(made_from.version, dist)
    archives.settle(packed, made_from.epoch)
    return packed


def _bill(made_from: Source, folder: Path, dist: Path) -> Path:
    """Write the installed packages of the image, with hashes, as CycloneDX; check the schema."""
    bill = bill_of(made_from.version, dist)
    tool = (sys.executable, "-m", "cyclonedx_py", "requirements", "requirements/run.txt")
    how = ("--pyproject", "pyproject.toml", "--output-reproducible", "--validate")
    output((*tool, *how, "--output-file", str(bill)), folder, _environment(made_from))
    return bill


def _environment(made_from: Source) -> dict[str, str]:
    return {**os.environ, "SOURCE_DATE_EPOCH": str(made_from.epoch)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
