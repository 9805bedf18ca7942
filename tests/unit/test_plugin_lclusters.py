"""LClusters in the commands of `kubectl lns`: written `lc/NAME`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lnamespace.plugins.commands.entry import INTERRUPTED, run
from lnamespace.plugins.commands.lns import run_subcommand
from lnamespace.plugins.edits import writing
from lnamespace.plugins.model.lnamespaces import LCLUSTER, LNAMESPACE, read_target, typed
from lnamespace.plugins.model.subjects import Caller
from lnamespace.plugins.runtime.errors import KubectlError, PluginError, UsageError
from lnamespace.plugins.views.description import lcluster_page

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PATH = "/apis/tenancy.loblaw.digital/v1beta1/lclusters/acme"
ACME: dict[str, Any] = {
    "kind": "LCluster",
    "metadata": {"name": "acme", "generation": 1, "creationTimestamp": "2026-06-01T11:55:00Z"},
    "spec": {
        "requester": "mia",
        "users": [{"kind": "User", "name": "ulla"}],
        "managers": [{"kind": "User", "name": "mia"}],
        "sudoers": [{"kind": "User", "name": "sue", "expiresAt": "2026-06-01T20:00:00Z"}],
        "billing": {"costCenter": "R-42"},
        "deletionProtection": True,
    },
    "status": {
        "observedGeneration": 1,
        "address": "https://gateway.example.com/clusters/acme",
        "namespaces": 4,
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "It can be used."},
            {"type": "AccessReady", "status": "True", "reason": "AsListed", "message": ""},
        ],
    },
}
KUBECTL = """#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
*"auth whoami"*) echo '{"status": {"userInfo": {"username": "mia"}}}';;
get*) cat "$0.object";;
replace*) cat > "$0.sent"; cat "$0.sent";;
*) exit 9;;
esac
"""


FORBIDDEN = 'Error from server (Forbidden): lclusters "acme" is forbidden: User "eve" cannot update'


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))  # nothing is remembered
    path = tmp_path / "kubectl"
    path.write_text(KUBECTL)
    path.chmod(0o755)
    path.with_name("kubectl.object").write_text(json.dumps(ACME))
    monkeypatch.setenv("KUBECTL", str(path))
    return path


def asked(kubectl: Path) -> list[str]:
    return kubectl.with_name("kubectl.asked").read_text().splitlines()


@pytest.mark.parametrize(
    ("word", "kind", "name"),
    [
        ("acme", LNAMESPACE, "acme"),
        ("lns/acme", LNAMESPACE, "acme"),
        ("lc/acme", LCLUSTER, "acme"),
        ("LCluster/acme", LCLUSTER, "acme"),
        ("lclusters.tenancy.loblaw.digital/acme", LCLUSTER, "acme"),
    ],
)
def test_an_object_reference_is_parsed_as_kubectl_writes_it(
    word: str, kind: object, name: str
) -> None:
    assert read_target(word) == (kind, name)


@pytest.mark.parametrize("kind", [LNAMESPACE, LCLUSTER])
def test_a_suggested_object_reference_can_be_parsed(kind: Any) -> None:
    assert read_target(typed("acme", kind)) == (kind, "acme")


@pytest.mark.parametrize(
    "word", ["pod/acme", "lc.example.com/acme", "lc/", "lc/a-b", "lc/a/b", "lc/../x", "/acme"]
)
def test_other_object_references_are_refused(word: str) -> None:
    with pytest.raises((UsageError, KubectlError)):
        read_target(word)


def test_access_to_an_lcluster_is_granted_like_access_to_an_lnamespace(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_subcommand(["grant", "lc/acme", "--user", "bob"]) == 0
    sent = json.loads(kubectl.with_name("kubectl.sent").read_text())
    assert sent["spec"]["users"] == [*ACME["spec"]["users"], {"kind": "User", "name": "bob"}]
    assert capsys.readouterr().out == "acme: bob is now a user\n"
    first, second, third = asked(kubectl)
    assert first.startswith(f"get --raw {PATH} ")
    assert second.startswith(f"replace --raw {PATH}?")
    assert third.startswith(f"get --raw {PATH} ")


def test_a_grant_that_was_not_waited_for_is_not_told_as_in_force(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the operator is uninstalled, nothing will ever make it true."""
    assert run_subcommand(["grant", "lc/acme", "--user", "bob", "--wait=false"]) == 0
    told = capsys.readouterr().out
    assert told == "acme: bob is now a user (stored; not waited for)\n"
    assert len(asked(kubectl)) == 2


def test_an_interrupted_change_is_reported_as_stored(
    kubectl: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C said nothing, and the access was given nevertheless."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    assert kubectl.exists()
    monkeypatch.setattr(writing, "wait_in_force", interrupted)
    monkeypatch.setattr("sys.argv", ["kubectl-lns", "grant", "lc/acme", "--user=bob"])
    assert run(run_subcommand, "kubectl lns") == INTERRUPTED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        'the change of LCluster "acme" is stored and goes on being put into force; '
        "see: kubectl lns describe lc/acme\n"
    )


def test_the_last_manager_of_an_lcluster_cannot_be_revoked(kubectl: Path) -> None:
    with pytest.raises(PluginError, match="nobody could change this LCluster any more"):
        run_subcommand(["revoke", "lc/acme", "mia", "sue"])
    written = [line for line in asked(kubectl) if line.startswith("replace")]
    assert [line for line in written if "dryRun=All" not in line] == []


def test_who_may_change_nothing_is_told_that_and_not_what_would_be_left(kubectl: Path) -> None:
    """Somebody without any right read `that would leave no manager`, and asked nobody."""
    kubectl.write_text(KUBECTL.replace("replace*) ", f"replace*) echo '{FORBIDDEN}' >&2; exit 1;"))
    with pytest.raises(PluginError) as told:
        run_subcommand(["revoke", "lc/acme", "mia", "sue"])
    assert str(told.value).startswith(f"{FORBIDDEN}\n")
    assert "would leave no manager" not in str(told.value)


def test_an_end_is_taken_away_by_grant(kubectl: Path) -> None:
    with pytest.raises(UsageError, match="grant NAME --ROLE SUBJECT --until never"):
        run_subcommand(["extend", "lc/acme", "sue", "--until=never"])
    assert not kubectl.with_name("kubectl.asked").exists()


def test_setting_a_field_that_an_lcluster_lacks_is_refused(kubectl: Path) -> None:
    with pytest.raises(UsageError, match="an LCluster has no --profile"):
        run_subcommand(["set", "lc/acme", "--profile=big"])
    assert not kubectl.with_name("kubectl.asked").exists()


def test_the_name_output_format_follows_kubectl(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl.exists()
    assert run_subcommand(["set", "lc/acme", "--team=a", "-o", "name"]) == 0
    assert capsys.readouterr().out == "lcluster.tenancy.loblaw.digital/acme\n"


def test_describe_shows_the_address_and_the_members_of_an_lcluster(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl.exists()
    assert run_subcommand(["describe", "lc/acme"]) == 0
    page = capsys.readouterr().out
    for line in (
        "Name:        acme",
        "Address:     https://gateway.example.com/clusters/acme",
        "Namespaces:  4",
        "Suspended:   <none>",
        "Revoked:     <none>",
        "Quota:       <none>",
        "Deletion:    Delete, protected",
        "Ready:       True",
    ):
        assert f"{line}\n" in page
    assert "works in the LCluster" in page
    assert "LNamespace" not in page


def test_the_ledger_of_an_lcluster_shows_the_payers_of_its_namespaces(
    kubectl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that lc/acme was no LNamespace."""
    charged = [{"name": "acme-shop", "uid": "u", "created": "2026-06-01T11:56:00Z"}]
    status = ACME["status"] | {"charged": charged, "recorded": {"generation": 1}}
    kubectl.with_name("kubectl.object").write_text(json.dumps(ACME | {"status": status}))
    assert run_subcommand(["ledger", "lc/acme"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.startswith("NAMESPACE   SINCE")
    assert line.startswith("acme-shop")
    assert "R-42" in line
    # Beside the records of the ledger, in no order.
    assert any(each.startswith(f"get --raw {PATH} ") for each in asked(kubectl))


def test_describe_shows_what_restricts_an_lcluster() -> None:
    spec = ACME["spec"] | {
        "suspend": "ReadOnly",
        "revokedCredentials": ["JTI=1", "X509SHA256=2"],
        "quota": {"services": "6", "pods": "10"},
    }
    page = lcluster_page(ACME | {"spec": spec}, Caller("ulla", ()), NOW, colour=False)
    for line in (
        "Suspended:   ReadOnly",
        "Revoked:     2 (spec.revokedCredentials)",
        "Quota:       pods=10, services=6",
    ):
        assert f"{line}\n" in page


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ulla", ["kubeconfig acme"]),
        ("mia", ["grant lc/acme --user NAME"]),
        ("sue", ["kubeconfig acme", "sudo --context acme COMMAND", "grant lc/acme --user NAME"]),
        ("eve", []),
    ],
)
def test_describe_shows_the_commands_available_to_the_caller(name: str, told: list[str]) -> None:
    page = lcluster_page(ACME, Caller(name, ()), NOW, colour=False)
    _, _, advice = page.partition("You:\n")
    assert [line.partition("kubectl ")[2].removeprefix("lns ") for line in advice.splitlines()] == (
        told
    )
