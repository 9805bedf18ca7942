"""The version of the plugins, however they were installed."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from lnamespace.plugins.commands import lns, sudo
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.sudo.command_line import parse
from releasing import plugins
from releasing.source import Source

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize("argv", [["--version"], ["version"]])
def test_lns_prints_its_version(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert lns.run_subcommand(argv) == 0
    assert capsys.readouterr().out == f"kubectl-lns {VERSION}\n"


def test_sudo_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert sudo.run_as_sudoer(["--version"]) == 0
    assert capsys.readouterr().out == f"kubectl-sudo {VERSION}\n"


def test_the_version_of_kubectl_is_asked_of_kubectl() -> None:
    command = parse(["-n", "a", "version"], {"lns"}.__contains__)
    assert command.with_flags(("--as=me",)) == ("--as=me", "-n", "a", "version")
    assert parse(["get", "--version"], bool).line.words == ("get",)


def test_a_command_of_lns_has_no_version_of_its_own() -> None:
    with pytest.raises(PluginError, match="unknown flag for kubectl lns list: --version"):
        lns.run_subcommand(["list", "--version"])


@pytest.mark.parametrize("cache", ["cache", "/dev/null"])
def test_the_one_file_knows_the_version_that_it_was_released_as(cache: str, tmp_path: Path) -> None:
    """It has no package metadata of an installation: it runs without site-packages."""
    made, *_ = plugins.make(Source(ROOT, "9.8.7", 0, changed=False), ROOT, tmp_path)
    env = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path / cache)}
    for name, argv in (("kubectl-lns", "version"), ("kubectl-sudo", "--version")):
        (tmp_path / name).symlink_to(made)
        command = [str(tmp_path / name), argv]
        done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == (f"{name} 9.8.7\n", "")
