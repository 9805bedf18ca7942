"""Where the one file lays its modules out, and where it does not."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from releasing import one_file


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubectl-lns"
    with ZipFile(path, "w") as packed:
        packed.writestr("lnamespace/__init__.py", "")
    monkeypatch.setattr(one_file, "__file__", str(path / "__main__.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


def test_the_modules_are_extracted_once_into_a_private_directory(
    archive: Path, tmp_path: Path
) -> None:
    umask = os.umask(0o002)
    try:
        (tmp_path / "cache").mkdir(0o700)
        folders = {one_file.modules() for _ in range(2)}
    finally:
        os.umask(umask)
    (folder,) = folders - {str(archive)}
    assert (Path(folder) / "lnamespace" / "__init__.py").is_file()
    ours = tmp_path / "cache" / "lnamespace"
    assert [oct(path.stat().st_mode)[-3:] for path in (ours, Path(folder))] == ["700", "700"]


@pytest.mark.parametrize("place", ["cache", "cache/lnamespace", "cache/lnamespace/plugins"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_extracted_modules_writable_by_others_are_not_used(
    place: str, mode: int, archive: Path, tmp_path: Path
) -> None:
    laid = Path(one_file.modules())
    assert laid != archive
    (tmp_path / place.replace("plugins", laid.name)).chmod(mode)
    assert one_file.modules() == str(archive)


def test_a_symbolic_link_at_the_cache_directory_is_not_followed(
    archive: Path, tmp_path: Path
) -> None:
    ours = Path(one_file.modules()).parent
    ours.rename(tmp_path / "elsewhere")
    ours.symlink_to(tmp_path / "elsewhere")
    assert one_file.modules() == str(archive)


def test_an_older_python_is_told_what_is_needed(tmp_path: Path) -> None:
    """It was a traceback from within a module; the file itself must be read by any Python 3."""
    old = tmp_path / "old.py"
    text = Path(one_file.__file__).read_text()
    ast.parse(text, feature_version=(3, 6))
    old.write_text(f"import sys\nsys.version_info = (3, 9, 1)\n{text}")
    done = subprocess.run([sys.executable, old], check=False, capture_output=True, text=True)
    told = "error: the kubectl plugins need Python 3.11 or later; python3 is 3.9.1\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_sticky_shared_directory_is_accepted(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o1777)
    assert one_file.modules() != str(archive)
