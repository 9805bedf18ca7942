"""`kubectl sudo` in a context that leads to an LCluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lnamespace.plugins.commands.sudo import sudoer_flags
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.sudo.command_line import SudoCommand, parse

from tests.unit.support import kubectl

MASTERS = ("--as=alice", "--as-group=system:masters")
GATEWAY = "https://gateway.example.com/clusters/acme"
NO_LNAMESPACES = "Error from server (NotFound): the server could not find the requested resource"
KUBECTL = """#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
*"auth whoami"*) cat "$0.who";;
*"config view"*namespace*) ;;
*"config view"*) echo "{server} ";;
*lnamespaces/*) cat "$0.found" && [ ! -s "$0.refused" ] || {{ cat "$0.refused" >&2; exit 1; }};;
*selfsubjectaccessreviews*) cat > "$0.review"; echo '{{"status": {{"allowed": {allowed}}}}}';;
*) exit 9;;
esac
"""

Cluster = Callable[..., Path]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Make a kubectl that answers as one cluster does; return where it notes its questions."""

    def answering(
        groups: tuple[str, ...] = ("system:authenticated", "lcluster:users"),
        allowed: bool = True,
        found: dict[str, Any] | None = None,
        server: str = GATEWAY,
    ) -> Path:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))  # nothing is remembered
        kubectl = tmp_path / "kubectl"
        kubectl.write_text(KUBECTL.format(server=server, allowed=str(allowed).lower()))
        kubectl.chmod(0o755)
        info = {"username": "alice", "groups": list(groups)}
        (tmp_path / "kubectl.who").write_text(json.dumps({"status": {"userInfo": info}}))
        (tmp_path / "kubectl.found").write_text(json.dumps(found) if found else "")
        (tmp_path / "kubectl.refused").write_text("" if found else NO_LNAMESPACES)
        monkeypatch.setenv("KUBECTL", str(kubectl))
        monkeypatch.chdir(tmp_path)
        return tmp_path / "kubectl.asked"

    return answering


def command(*argv: str) -> SudoCommand:
    return parse(argv, {"lns"}.__contains__)


@pytest.mark.parametrize("argv", ["get nodes", "-n prod get pods", "create ns prod"])
def test_a_sudoer_of_an_lcluster_impersonates_system_masters(argv: str, cluster: Cluster) -> None:
    asked = cluster()
    assert sudoer_flags(command(*argv.split())) == MASTERS
    review = json.loads(asked.with_name("kubectl.review").read_text())
    assert review["spec"]["resourceAttributes"] == {
        "verb": "impersonate",
        "resource": "groups",
        "name": "system:masters",
    }


def test_sudo_in_an_lcluster_accepts_files_for_several_namespaces(
    cluster: Cluster, tmp_path: Path
) -> None:
    files = tmp_path / "both.yaml"
    files.write_text("metadata:\n  namespace: a\n---\nmetadata:\n  namespace: b\n")
    cluster()
    assert sudoer_flags(command("apply", "-f", "both.yaml")) == MASTERS
    cluster(groups=("system:authenticated",))
    with pytest.raises(PluginError, match="the files are for several namespaces"):
        sudoer_flags(command("apply", "-f", "both.yaml"))


def lnamespace(*sudoers: str) -> dict[str, Any]:
    spec = {"sudoers": [{"kind": "User", "name": name} for name in sudoers]}
    return {"metadata": {"name": "prod"}, "spec": spec, "status": {}}


def test_a_sudoer_of_an_lnamespace_in_the_lcluster_uses_its_sudoers_group(
    cluster: Cluster,
) -> None:
    cluster(found=lnamespace("alice"))
    flags = sudoer_flags(command("-n", "prod", "get", "pods"))
    assert flags == ("--as=alice", "--as-group=prod-sudoers")
    cluster(found=lnamespace("bob"))
    assert sudoer_flags(command("-n", "prod", "get", "pods")) == MASTERS


@pytest.mark.parametrize(
    ("server", "called", "name"),
    [
        (GATEWAY, 'LCluster "acme"', "acme"),
        ("https://acme.gateway.example.com", 'LCluster "acme"', "acme"),
        ("https://10.0.0.1", "this LCluster", "NAME"),
    ],
)
def test_a_refusal_names_the_grant_command_for_the_lcluster(
    server: str, called: str, name: str, cluster: Cluster
) -> None:
    cluster(allowed=False, server=server)
    with pytest.raises(PluginError) as caught:
        sudoer_flags(command("get", "nodes"))
    told = str(caught.value)
    assert told.startswith(f"you (alice) are not a sudoer of {called}; ")
    assert told.endswith(f"kubectl lns grant lc/{name} --sudoer alice")


@pytest.mark.parametrize("group", ["lcluster:acme:users", "lcluster:users2", "x-lcluster:users"])
def test_sudo_does_not_impersonate_system_masters_outside_an_lcluster(
    group: str, cluster: Cluster
) -> None:
    """Not even who may: in an ordinary cluster sudo is for one namespace."""
    asked = cluster(groups=("system:authenticated", "system:masters", group))
    with pytest.raises(PluginError):
        sudoer_flags(command("-n", "prod", "get", "pods"))
    assert "selfsubjectaccessreviews" not in asked.read_text()


def test_sudo_of_an_lnamespace_sends_no_additional_requests(cluster: Cluster) -> None:
    asked = cluster(groups=("devs",), found=lnamespace("alice"))
    assert sudoer_flags(command("-n", "prod", "get", "pods"))[1] == "--as-group=prod-sudoers"
    assert sorted(kubectl.asked(line) for line in asked.read_text().splitlines()) == [
        "auth whoami -o json",
        "get --raw /apis/tenancy.loblaw.digital/v1beta1/lnamespaces/prod",
    ]


def test_a_sudoer_of_an_lnamespace_in_conflict_is_told_why_nothing_works(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only `groups "prod-sudoers" is forbidden` was printed, and sudo had said nothing."""
    found = lnamespace("alice")
    ready = {"type": "Ready", "status": "False", "reason": "Conflict", "message": "It is bob's."}
    found["status"] = {"conditions": [ready], "observedGeneration": 1}
    cluster(groups=("devs",), found=found)
    assert sudoer_flags(command("-n", "prod", "get", "pods"))
    note = 'note: LNamespace "prod" gives nobody access: Conflict: It is bob\'s.\n'
    assert capsys.readouterr().err == note
