"""What `kubectl sudo` says of a command for which it finds no namespace, and whom it asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lnamespace.plugins.commands.sudo import sudoer_flags
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.sudo.command_line import parse
from lnamespace.plugins.sudo.manifests import Files, contents
from lnamespace.plugins.sudo.unclear import EVERYWHERE

BROKEN = "error: error parsing bad.yaml: error converting YAML to JSON: yaml: line 3: no key"
UNKNOWN = "error: unknown flag: --namespce\nSee 'kubectl get --help' for usage."
# Reads files as kubectl does, and refuses what kubectl does not understand of a line.
KUBECTL = f"""#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
"config view"*) ;;
*"auth whoami"*) cat "$0.who";;
*selfsubjectaccessreviews*) echo '{{"status": {{"allowed": true}}}}';;
*lnamespaces/*) echo 'Error from server (Forbidden): no' >&2; exit 1;;
label*bad.yaml*) echo '{BROKEN}' >&2; exit 1;;
label*=-*) cat > "$0.input"; printf 'Pod\\tx\\tteam-b\\n';;
label*recursive=true*=d/*|label*=k*) printf 'Pod\\tx\\tteam-b\\nLNamespace\\tteam-b\\t\\n';;
label*) printf 'Pod\\tx\\t\\n';;
*help=true*--namespce*) echo "{UNKNOWN}" >&2; exit 1;;
"apply --help=true -f") printf "error: flag needs an argument: 'f' in -f\\nSee" >&2; exit 1;;
frob*) echo 'error: unknown command "frob" for "kubectl"' >&2; exit 1;;
*--help=true*) echo "help";;
*) exit 9;;
esac
"""
FLOW = "kind: Pod\nmetadata: {name: x,\n  namespace: team-b}\n"
NOWHERE = (
    "which namespace? Neither the command nor the current context names one; say it with -n: "
    "kubectl sudo -n NAMESPACE COMMAND"
)

Cluster = Callable[..., Path]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Make a kubectl, and files beside it; return where it notes its questions."""

    def answering(group: str = "devs") -> Path:
        kubectl = tmp_path / "kubectl"
        kubectl.write_text(KUBECTL)
        kubectl.chmod(0o755)
        info = {"username": "alice", "groups": [group]}
        (tmp_path / "kubectl.who").write_text(json.dumps({"status": {"userInfo": info}}))
        for folder in ("d", "k"):
            (tmp_path / folder).mkdir()
        (tmp_path / "bad.yaml").write_text("kind: Pod\nmetadata:\n  name: x\n namespace: y\n")
        (tmp_path / "here.yaml").write_text("kind: Pod\nmetadata:\n  name: x\n")
        monkeypatch.setenv("KUBECTL", str(kubectl))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
        monkeypatch.chdir(tmp_path)
        return tmp_path / "kubectl.asked"

    return answering


def flags(argv: str) -> tuple[str, ...]:
    return sudoer_flags(parse(argv.split(), {"lns", "create-lns", "neat"}.__contains__))


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ("get pods", NOWHERE),
        ("apply -f here.yaml", NOWHERE),
        ("neat --namespce", NOWHERE),
        ("apply -f bad.yaml", BROKEN),
        ("apply", "error: must specify one of -f and -k"),
        ("apply -f", "error: flag needs an argument: 'f' in -f\nSee"),
        (
            "get cm --namespce team-b",
            UNKNOWN.replace("\n", "\nDid you mean this?\n\t--namespace\n"),
        ),
        ("frob x", 'error: unknown command "frob" for "kubectl"'),
        ("version --client", "that needs no sudo; do it without: kubectl version --client"),
        ("options", "that needs no sudo; do it without: kubectl options"),
        ("lns list", "that needs no sudo; do it without: kubectl lns list"),
        ("create lns foo99", "that needs no sudo; do it without: kubectl create lns foo99"),
        ("get pods -A", EVERYWHERE),
        (
            "create ns foo99 --user bob --dry-run=client",
            (
                "that needs no sudo; do it without: "
                "kubectl create lns foo99 --user bob --dry-run=client"
            ),
        ),
        ("create ns foo99", "that needs no sudo; do it without: kubectl create lns foo99"),
        ("lns create foo99", "that needs no sudo; do it without: kubectl lns create foo99"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong_with_it(argv: str, told: str, cluster: Cluster) -> None:
    """All of these were told "which namespace?", or that there is no LNamespace "foo99"."""
    cluster()
    with pytest.raises(PluginError) as refused:
        flags(argv)
    assert str(refused.value) == told


@pytest.mark.parametrize("argv", ["create lns foo99", "version", "apply"])
def test_any_command_is_run_by_sudo_in_an_lcluster(argv: str, cluster: Cluster) -> None:
    cluster("lcluster:users")
    assert flags(argv) == ("--as=alice", "--as-group=system:masters")


@pytest.mark.parametrize("argv", ["apply -R -f d/", "apply -k k", "apply -f here.yaml -k k"])
def test_folders_and_kustomizations_name_the_namespace(argv: str, cluster: Cluster) -> None:
    """Their objects named team-b, and sudo asked "which namespace?"."""
    cluster()
    assert flags(argv) == ("--as=alice", "--as-group=team-b-sudoers")


def test_a_folder_is_not_read_with_its_folders_unless_r_is_given(cluster: Cluster) -> None:
    asked = cluster()
    assert contents(Files(("d/",))) == ((), None)
    assert "--recursive=false --filename=d/ " in asked.read_text()


def test_standard_input_is_left_for_the_command_after_kubectl_has_read_it(
    cluster: Cluster,
) -> None:
    """A flow mapping over two lines is YAML that the plugin does not read by itself."""
    asked = cluster()
    (asked.parent / "flow").write_text(FLOW)
    before = os.dup(0)
    try:
        with (asked.parent / "flow").open() as flow:
            os.dup2(flow.fileno(), 0)
        assert flags("apply -f -") == ("--as=alice", "--as-group=team-b-sudoers")
        assert os.read(0, 1000).decode() == FLOW
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert asked.with_name("kubectl.input").read_text() == FLOW


def test_an_address_is_read_by_the_command_alone(cluster: Cluster) -> None:
    asked = cluster()
    assert contents(Files(("https://example.com/a.yaml",))) == ((), None)
    assert not asked.exists()
