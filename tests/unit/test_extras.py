"""What an installation without the databases' drivers does: it says which extra to install."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXTRAS: dict[str, list[str]] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())[
    "project"
]["optional-dependencies"]
OPTIONAL = re.compile(r"(psycopg|_?duckdb|google($|[-_]|\.)(?!re2)|sqlalchemy_bigquery|pytz)")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which all is installed but the drivers."""
    folder = tmp_path_factory.mktemp("site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not OPTIONAL.match(path.name):
            (folder / path.name).symlink_to(path)
    return {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'operator'}:{folder}"}


def run(bare: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    code = "from lnamespace.cli import main; raise SystemExit(main())"
    command = (sys.executable, "-S", "-P", "-c", code, *words)
    return subprocess.run(command, env=bare, check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("postgresql+psycopg://u:hunter2@db/x", "postgresql"),
        ("postgresql://u:hunter2@db/x", "postgresql"),
        ("duckdb:////tmp/ledger.duckdb", "duckdb"),
        ("bigquery://fin-ops/billing", "bigquery"),
    ],
)
def test_the_error_for_a_missing_driver_names_the_extra_to_install(
    url: str, extra: str, bare: dict[str, str]
) -> None:
    done = run(bare, "ledger", "create-table", f"--ledger-url={url}")
    assert done.returncode == 1
    assert f"pip install 'lnamespace[{extra}]'" in done.stderr
    assert extra in EXTRAS
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


def test_the_error_for_a_missing_custom_driver_names_no_extra(bare: dict[str, str]) -> None:
    done = run(bare, "ledger", "intervals", "--ledger-url=postgresql+psycopg2://db/x")
    assert done.returncode == 1
    assert "psycopg2" in done.stderr
    assert "lnamespace[" not in done.stderr


def test_sqlite_works_without_any_installed_driver(bare: dict[str, str], tmp_path: Path) -> None:
    url = f"--ledger-url=sqlite:///{tmp_path}/ledger.db"
    assert run(bare, "ledger", "create-table", url).returncode == 0
    done = run(bare, "ledger", "intervals", url)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [("--help",), ("controller", "--help"), ("render", "crd")])
def test_commands_without_a_database_need_no_driver(
    words: tuple[str, ...], bare: dict[str, str]
) -> None:
    assert run(bare, *words).returncode == 0


def test_the_controller_and_the_webhook_start_without_a_driver(bare: dict[str, str]) -> None:
    code = "import lnamespace.controller.process, lnamespace.admission.webhook"
    command = (sys.executable, "-S", "-P", "-c", code)
    done = subprocess.run(command, env=bare, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_error_for_a_missing_directory_library_names_the_extra(bare: dict[str, str]) -> None:
    code = (
        "from lnamespace.payers.directory import _CloudIdentityDirectory\n"
        "from lnamespace.errors import PayersError\n"
        "try: _CloudIdentityDirectory().groups_of('alice@example.com')\n"
        "except PayersError as error: print(error)"
    )
    command = (sys.executable, "-S", "-P", "-c", code)
    done = subprocess.run(command, env=bare, check=False, capture_output=True, text=True)
    assert "pip install 'lnamespace[cloud-identity]'" in done.stdout
    assert "cloud-identity" in EXTRAS


def test_the_extra_all_contains_the_requirements_of_the_image() -> None:
    """The image installs requirements/run.txt."""
    whole = re.search(r"\[(.*)\]", EXTRAS["all"][0])
    assert whole
    names = whole[1].split(",")
    assert {"postgresql", "duckdb", "bigquery", "cloud-identity"} <= set(names)
    locked = (REPOSITORY / "requirements" / "run.txt").read_text()
    needed = {re.split(r"[\[<>=]", line)[0] for name in names for line in EXTRAS[name]}
    assert all(f"\n{name}==" in f"\n{locked}" for name in needed - {"lnamespace"})
