"""Shell completion: whatever has been typed so far, nothing but choices reaches the prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTHING = ":4\n"  # cobra's directive: no choices, and no files either
ANSWERS = {
    "nothing": "exit 0",
    "no JSON": "echo '<html>'",
    "another document": "echo '[]'",
    "items without names": """echo '{"items": [{}], "spec": {"users": [{}]}}'""",
    "a failure": "echo 'Error from server (Forbidden): no' >&2; exit 1",
}


def complete(function: str, kubectl: Path, *argv: str) -> tuple[int, str, str]:
    program = f"from lnamespace.plugins.commands.complete import {function}; {function}()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, *argv],
        env={"PYTHONPATH": str(ROOT / "operator"), "KUBECTL": str(kubectl), "PATH": os.defpath},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    path = tmp_path / "kubectl"
    path.write_text(f"#!/bin/sh\n{ANSWERS['a failure']}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "argv",
    [
        ("revoke", "BAD_NAME", ""),
        ("extend", "pod/team-a", ""),
        ("revoke", "a" * 64, ""),
        ("describe", "--nosuch", ""),
        ("revoke", "--nosuch=x", "team-a", ""),
        ("describe", "--context", ""),
        ("list", "--nosuch="),
        ("grant", "team-a", "--nosuch", "x"),
        ("nosuch", ""),
        ("revoke", "team-a", "\udcff"),
    ],
)
def test_an_invalid_name_or_flag_has_no_completions(argv: tuple[str, ...], kubectl: Path) -> None:
    assert complete("lns", kubectl, *argv) == (0, NOTHING, "")


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("argv", [("describe", ""), ("revoke", "team-a", "")])
def test_a_malformed_response_of_the_cluster_gives_no_completions(
    answer: str, argv: tuple[str, ...], kubectl: Path
) -> None:
    kubectl.write_text(f"#!/bin/sh\n{ANSWERS[answer]}\n")
    assert complete("lns", kubectl, *argv) == (0, NOTHING, "")


@pytest.mark.parametrize("function", ["lns", "sudo"])
def test_a_missing_kubectl_gives_no_completions(function: str, tmp_path: Path) -> None:
    assert complete(function, tmp_path / "none", "describe", "") == (0, NOTHING, "")


LISTED = """#!/bin/sh
case "$*" in
"config get-contexts"*|"__complete get --kubeconfig=k --context "*) printf 'dev\\nprod\\n:4\\n';;
"__complete get --context d") printf 'dev\\n:4\\n';;
"__complete exec p -- x -n p") printf 'within\\n:4\\n';;
"__complete get pods") printf 'kubectl\\n:4\\n';;
*lnamespaces/team-a*) echo '{"spec": {"users": [{"name": "bob"}], "sudoers": [{"name": "al"}]}}';;
*lnamespaces*) echo '{"items": [{"metadata": {"name": "team-a"}}, {"metadata": {"name": "b"}}]}';;
*) exit 1;;
esac
"""


@pytest.mark.parametrize(
    ("function", "line", "choices"),
    [
        ("lns", "--context d", "dev"),
        ("lns", "--kubeconfig k --context ", "dev prod"),
        ("lns", "describe --context d", "dev"),
        ("lns", "create x --context d", "dev"),
        ("create", "x --context d", "dev"),
        ("lns", "-n x describe t", "team-a"),
        ("sudo", "-n ", "b team-a"),
        ("sudo", "get pods --namespace t", "team-a"),
        ("sudo", "get pods", "kubectl"),
        ("sudo", "exec p -- x -n p", "within"),
        ("lns", "revoke team-a --user ", "bob"),
        ("lns", "extend team-a --sudoer a", "al"),
        ("lns", "revoke team-a ", "al bob"),
        ("lns", "revoke --user ", ""),
        ("lns", "grant team-a --user ", ""),
    ],
)
def test_the_value_of_a_flag_is_completed(
    function: str, line: str, choices: str, kubectl: Path
) -> None:
    """`--context` offered subcommands or LNamespaces, and the others nothing."""
    kubectl.write_text(LISTED)
    code, told, err = complete(function, kubectl, *line.split(" "))
    assert (code, told.split(), err) == (0, [*choices.split(), ":4"], "")


def test_sudo_completes_a_namespace_as_kubectl_does_without_lnamespaces(kubectl: Path) -> None:
    kubectl.write_text('#!/bin/sh\n[ "$1" = __complete ] && echo ":4 $*" || exit 1\n')
    assert complete("sudo", kubectl, "-n", "p")[1] == ":4 __complete -n p\n"
