"""The kubectl plugins without pip: one file that is all of them, and what krew installs."""

import hashlib
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from . import archives
from .source import Source

SHEBANG = b"#!/usr/bin/env -S python3 -IS\n"
"""Python is isolated and without site-packages: other installed packages cost no time."""
MAIN = Path(__file__).with_name("one_file.py")
KREW = ("lns", "sudo")
"""The plugins with a manifest for krew, in the folder ``plugins``."""
DOWNLOADS = "https://YOUR_DOWNLOADS"
"""A placeholder: krew takes the archive from a file, too."""


def make(made_from: Source, folder: Path, dist: Path) -> list[Path]:
    """Make the plugins from the files in ``folder``."""
    program = _program(_modules(folder) | _metadata(made_from.version), made_from.epoch)
    single = dist / f"lnamespace-{made_from.version}-plugins.pyz"
    single.write_bytes(program)
    single.chmod(0o755)
    archive = dist / f"lnamespace-{made_from.version}-plugins.tar.gz"
    licence = (folder / "LICENSE").read_bytes()
    with tarfile.open(archive, "w:gz") as tar:
        for name in KREW:
            _add(tar, f"kubectl-{name}", program, 0o755)
        _add(tar, "LICENSE", licence, 0o644)
    archives.settle(archive, made_from.epoch)
    return [single, archive, *(_manifest(name, made_from, archive, folder) for name in KREW)]


def _modules(folder: Path) -> dict[str, bytes]:
    """Return the files of the plugins: the package's own docstring, and their folder."""
    root = folder / "operator"
    package = root / "lnamespace"
    paths = [package / "__init__.py", *sorted((package / "plugins").rglob("*.py"))]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def _metadata(version: str) -> dict[str, bytes]:
    """Return what a wheel has, from which a plugin knows its version."""
    text = f"Metadata-Version: 2.1\nName: lnamespace-plugins\nVersion: {version}\n"
    return {f"lnamespace_plugins-{version}.dist-info/METADATA": text.encode()}


def _program(modules: Mapping[str, bytes], epoch: int) -> bytes:
    """Return a zip that Python runs; the same modules give the same bytes on every machine."""
    digest = hashlib.sha256(repr(sorted(modules.items())).encode()).hexdigest()[:16]
    main = MAIN.read_bytes().replace(b"DIGEST_OF_THE_MODULES", digest.encode())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**modules, "__main__.py": main}.items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(epoch, 315532800))[:6])  # zip has 1980 on
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return SHEBANG + packed.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _manifest(name: str, made_from: Source, archive: Path, folder: Path) -> Path:
    text = (folder / "plugins" / f"{name}.yaml").read_text(encoding="utf-8")
    for placeholder, value in {
        "<VERSION>": made_from.version,
        "<ARCHIVE>": f"{DOWNLOADS}/{archive.name}",
        "<SHA256>": hashlib.sha256(archive.read_bytes()).hexdigest(),
    }.items():
        text = text.replace(placeholder, value)
    manifest = archive.parent / f"lnamespace-{made_from.version}-krew-{name}.yaml"
    manifest.write_text(text, encoding="utf-8")
    return manifest
