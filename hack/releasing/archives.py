"""Archives of which two makings are the same bytes."""

import gzip
import io
import tarfile
from pathlib import Path


def settle(archive: Path, epoch: int) -> None:
    """Rewrite a .tar.gz so that it is reproducible: order, times, owners and modes of files."""
    files = _files(archive)
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, (mode, content) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), epoch
            entry.mode = 0o755 if mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(content))


def _files(archive: Path) -> dict[str, tuple[int, bytes]]:
    with tarfile.open(archive, "r:gz") as tar:
        entries = [(entry, tar.extractfile(entry)) for entry in tar if not entry.isdir()]
        return {entry.name: (entry.mode, file.read()) for entry, file in entries if file}
