"""`kubectl sudo`: the namespace it finds, the arguments it hands on, the words it refuses with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.model.names import Names
from lnamespace.plugins.commands.sudo import run_as_sudoer, sudoer_flags
from lnamespace.plugins.model.api_group import DEFAULT_SUFFIX, SUFFIX_VARIABLE
from lnamespace.plugins.model.lnamespaces import sudo_identity, sudo_namespace
from lnamespace.plugins.model.roles import refusal
from lnamespace.plugins.model.subjects import Caller
from lnamespace.plugins.model.times import format_instant
from lnamespace.plugins.runtime.errors import KubectlError, PluginError, UsageError
from lnamespace.plugins.sudo.command_line import REPEATED, SudoCommand, parse
from lnamespace.plugins.sudo.manifests import Files, contents

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FLAGS = ("--as=me", "--as-group=g")
PLUGINS = frozenset(("lns", "create-lns", "get", "neat", "neat-get"))


def command(*argv: str) -> SudoCommand:
    return parse(argv, PLUGINS.__contains__)


@pytest.mark.parametrize(
    ("argv", "namespace"),
    [
        ("get pods -n a", "a"),
        ("-n a edit lns b", "a"),
        ("edit lns b", "b"),
        ("edit lnamespace b", "b"),
        ("delete lnamespaces.tenancy.loblaw.digital b", "b"),
        ("edit lnamespaces.tenancy.loblaw.digital/b -o yaml", "b"),
        ("edit -o yaml lns b", "b"),
        ("patch lns --type merge -p {} b", "b"),
        ("auth can-i update lns/b", "b"),
        ("get ns b", "b"),
        ("lns grant b --user x", "b"),
        ("lns revoke --sudoer lns b", "b"),
        ("lns describe b", "b"),
        ("lns list", None),
        ("get lns", None),
        ("get pods", None),
        ("get pods lns x", None),
        ("cp lns/x pod:/y", None),
        ("cp team-a/pod:/x y", "team-a"),
        ("cp ./y team-a/pod:/x", "team-a"),
        ("exec pod -- get lns b", None),
        ("-- get lns b", "b"),
    ],
)
def test_the_namespace_of_a_command_is_found(argv: str, namespace: str | None) -> None:
    assert command(*argv.split()).namespace == namespace


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("get pods", "--as=me --as-group=g get pods"),
        ("exec p -- sh -c x", "--as=me --as-group=g exec p -- sh -c x"),
        ("kubectl get pods", "--as=me --as-group=g get pods"),
        ("kubectl sudo get pods", "--as=me --as-group=g get pods"),
        ("/usr/bin/kubectl get pods", "--as=me --as-group=g get pods"),
        ("-n a -- get pods", "--as=me --as-group=g -n a get pods"),
        # kubectl refuses flags before a plugin's name
        ("lns grant a --user u", "lns --as=me --as-group=g grant a --user u"),
        ("-n a lns grant a", "lns --as=me --as-group=g -n a grant a"),
        ("create lns a", "create lns --as=me --as-group=g a"),
        ("neat get pods", "neat get --as=me --as-group=g pods"),
        ("neat -o x get", "neat --as=me --as-group=g -o x get"),
        # kubectl's own commands go before plugins of the same name
        ("create configmap x", "--as=me --as-group=g create configmap x"),
        # what nobody knows is for kubectl to complain about, not our flags in front of it
        ("gett x", "gett --as=me --as-group=g x"),
        ("-n a gett x", "gett --as=me --as-group=g -n a x"),
        ("create nothing x", "--as=me --as-group=g create nothing x"),
    ],
)
def test_the_impersonation_flags_are_inserted_at_the_right_position(
    argv: str, expected: str
) -> None:
    assert command(*argv.split()).with_flags(FLAGS) == tuple(expected.split())


@given(st.sampled_from(["get", "exec", "apply"]), st.lists(st.text(max_size=8), max_size=8))
def test_any_other_command_passes_unchanged(verb: str, rest: list[str]) -> None:
    try:
        assert command(verb, *rest).with_flags(FLAGS) == (*FLAGS, verb, *rest)
    except UsageError as error:
        assert "--as" in str(error)  # noqa: PT017 - the one thing that is refused


@given(st.lists(st.text(max_size=8), max_size=8))
def test_arguments_after_the_double_dash_are_passed_on_unchanged(rest: list[str]) -> None:
    argv = ("exec", "pod", "-n", "a", "--", *rest)
    assert command(*argv).with_flags(FLAGS) == (*FLAGS, *argv)
    assert command(*argv).namespace == "a"
    assert command(*argv).connection == ()


@given(st.lists(st.sampled_from([*sorted(REPEATED), "/opt/kubectl"]), max_size=4))
def test_a_repeated_kubectl_or_sudo_prefix_is_removed(front: list[str]) -> None:
    assert command(*front, "get", "pods").line.argv == ("get", "pods")


@pytest.mark.parametrize("front", ["kubectl", "k", "kubectl sudo", "/opt/kubectl"])
def test_a_repeated_prefix_is_removed_behind_a_namespace_too(front: str) -> None:
    """`kubectl sudo -n team-a !!` is what the refusal for want of a namespace leads to."""
    repeated = command("-n", "team-a", *front.split(), "get", "pods")
    assert repeated.line.argv == ("-n", "team-a", "get", "pods")


def test_a_namespace_without_a_command_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="which command"):
        run_as_sudoer(["-n", "team-a"])


@pytest.mark.parametrize("flags", ["--frob -n y3", "--frob", "-A", "-n y3 -A", "-A -v 6 -ny3"])
def test_a_flag_that_kubectl_misreads_before_the_command_is_named_as_typed(flags: str) -> None:
    """It was `flags cannot be placed before plugin name: --as=alice`, which nobody had typed."""
    with pytest.raises(UsageError, match=r"^(--frob|-A) cannot stand before the command"):
        command(*flags.split(), "get", "pods")


@pytest.mark.parametrize(
    "flags",
    [
        "--match-server-version -n y3",
        "-A --namespace=y3",
        "-w -ny3",
        "-Aw -n y3",
        "-oyaml",
        "--v=6",
    ],
)
def test_flags_that_kubectl_takes_before_a_command_are_passed_on(flags: str) -> None:
    passed = command(*flags.split(), "get", "pods").with_flags(FLAGS)
    assert passed == (*FLAGS, *flags.split(), "get", "pods")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ("--hlp", "unknown flag: --hlp\nDid you mean this?\n\t--help"),
        ("--frob=x", "unknown flag: --frob"),
        ("--namespce team-b get cm", "unknown flag: --namespce\nDid you mean this?\n\t--namespace"),
        ("-n team-b", "which command? Write kubectl sudo -n NAMESPACE COMMAND"),
        ("-A", "which command? Write kubectl sudo -n NAMESPACE COMMAND"),
        ("--server-side apply", "--server-side cannot stand before the command; write it behind"),
    ],
)
def test_an_unknown_flag_before_the_command_is_named(argv: str, told: str) -> None:
    """`--hlp` was told "which command?", and `--namespce` that it cannot stand there."""
    with pytest.raises(UsageError) as refused:
        run_as_sudoer(argv.split())
    assert str(refused.value) == told


def test_connection_flags_are_used_for_the_requests_of_sudo() -> None:
    given_flags = "--context c -s https://x --token=t --insecure-skip-tls-verify get po -o json"
    assert command(*given_flags.split()).connection == (
        "--context=c",
        "--server=https://x",
        "--token=t",
        "--insecure-skip-tls-verify",
    )


def test_the_user_flag_belongs_to_kubectl_except_in_own_plugins() -> None:
    assert command("get", "pods", "--user", "u").connection == ("--user=u",)
    assert command("lns", "grant", "a", "--user", "u").connection == ()
    with pytest.raises(UsageError):
        command("--user", "u", "lns", "list")


@pytest.mark.parametrize(
    "words", ["create rolebinding r", "create clusterrolebinding r", "set subject rolebinding r"]
)
def test_the_user_flag_of_a_binding_command_is_no_connection_flag(words: str) -> None:
    """`--user=carol` was once looked up in the kubeconfig, and nobody could be bound by sudo."""
    bound = command(*words.split(), "--user=carol", "--context", "c")
    assert bound.connection == ("--context=c",)
    assert bound.with_flags(FLAGS)[-3:] == ("--user=carol", "--context", "c")


def test_changing_an_lcluster_with_sudo_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="without it: kubectl lns grant lc/acme"):
        command("lns", "grant", "lc/acme", "--user", "bob")
    assert command("get", "pods", "lc/acme").line.words == ("get", "pods", "lc/acme")


def test_manifest_files_are_found_as_kubectl_reads_them() -> None:
    applied = command("apply", "-f", "a.yaml,b.yaml", "-f", "-")
    assert applied.given("filename") == ("a.yaml", "b.yaml", "-")
    assert not command("logs", "-f", "pod").is_given_files
    assert command("apply", "-k", "d").given("kustomize") == ("d",)


@pytest.mark.parametrize("flag", ["--as=x", "--as-group=x", "--as-uid", "--as_group=x"])
def test_impersonation_flags_are_refused(flag: str) -> None:
    with pytest.raises(UsageError, match="cannot be combined"):
        command("get", "pods", flag)


def lns(**lists: list[dict[str, str]]) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": lists}


ALICE = {"kind": "User", "name": "alice", "namespace": ""}
BOB = Caller("bob", ("devs",))


def test_a_sudoer_is_not_refused() -> None:
    assert refusal(lns(sudoers=[ALICE, {"kind": "User", "name": "bob"}]), BOB, NOW) is None


def test_a_service_account_is_recognized_by_its_username() -> None:
    account = {"kind": "ServiceAccount", "name": "x", "namespace": "ci"}
    caller = Caller("system:serviceaccount:ci:x", ())
    assert refusal(lns(sudoers=[account]), caller, NOW) is None
    assert refusal(lns(sudoers=[account | {"namespace": "other"}]), caller, NOW)


def test_a_refusal_of_an_unlisted_user_names_a_manager_to_ask() -> None:
    assert refusal(lns(managers=[ALICE]), BOB, NOW) == (
        'you (bob) are not a sudoer of "a"; ask a manager (alice) to run: '
        "kubectl lns grant a --sudoer bob"
    )


def test_a_refusal_of_a_manager_names_the_grant_command() -> None:
    told = refusal(lns(managers=[{"kind": "Group", "name": "devs"}]), BOB, NOW)
    assert told is not None
    assert "you are a manager of it, so run: kubectl lns grant a --sudoer bob" in told


def test_a_refusal_names_an_expired_sudoer_entry() -> None:
    ended = {"kind": "User", "name": "bob", "expiresAt": format_instant(NOW - timedelta(hours=3))}
    told = refusal(lns(sudoers=[ended]), BOB, NOW)
    assert told is not None
    assert told.startswith('your (bob) sudo in "a" ended at 2026-06-01T09:00:00Z, 3h ago; ')


def test_a_suggested_command_is_quoted_for_the_shell() -> None:
    told = refusal(lns(), Caller("o'neil; rm -rf ~", ()), NOW)
    assert told is not None
    assert told.endswith("""--sudoer 'user:o'"'"'neil; rm -rf ~'""")


# As whom


@pytest.mark.parametrize(
    ("status", "flags", "shown"),
    [
        ({}, ("--as=me", "--as-group=a-sudoers"), "a-sudoers"),
        ({"sudoersGroup": "", "sudoUser": ""}, ("--as=me", "--as-group=a-sudoers"), "a-sudoers"),
        ({"sudoersGroup": "k8s:a"}, ("--as=me", "--as-group=k8s:a"), "k8s:a"),
        ({"sudoersGroup": "", "sudoUser": "s:a"}, ("--as=s:a",), "s:a"),
    ],
)
def test_the_impersonated_identity_is_read_from_the_status(
    status: dict[str, str], flags: tuple[str, ...], shown: str
) -> None:
    identity = sudo_identity({"metadata": {"name": "a"}, "status": status})
    assert identity.flags("me") == flags
    assert identity.shown == shown


@pytest.mark.parametrize("suffix", [DEFAULT_SUFFIX, "team1.example.com", "a.b"])
def test_plugins_and_operator_use_the_same_namespace_for_sudo_accounts(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUFFIX_VARIABLE, suffix)
    assert sudo_namespace() == Names(suffix).sudo_namespace


# Files


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return what kubectl was started with, a line each."""
    kubectl, log = tmp_path / "kubectl", tmp_path / "asked"
    kubectl.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexit 1\n')
    kubectl.chmod(0o755)
    log.touch()
    monkeypatch.setenv("KUBECTL", str(kubectl))
    monkeypatch.chdir(tmp_path)
    return log


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ("apply -f missing.yaml", 'error: the path "missing.yaml" does not exist'),
        ("apply -f here.yaml -f missing.yaml", 'error: the path "missing.yaml" does not exist'),
        ("delete -f here.yaml,no*.yaml", 'error: the path "no*.yaml" does not exist'),
        (
            "apply -f here.yaml/x",
            'error: the path "here.yaml/x" cannot be accessed: stat here.yaml/x: not a directory',
        ),
    ],
)
def test_a_missing_file_is_reported_as_by_kubectl(argv: str, told: str, asked: Path) -> None:
    """It was told "which namespace?", for the namespace would be in the file."""
    asked.with_name("here.yaml").write_text("metadata:\n  namespace: a\n")
    with pytest.raises(KubectlError) as caught:
        sudoer_flags(command(*argv.split()))
    assert (str(caught.value), caught.value.exit_code) == (told, 1)
    assert not asked.read_text(), "nothing was begun"


def test_manifest_files_are_found_by_glob_pattern(asked: Path) -> None:
    asked.with_name("one.yaml").write_text("metadata:\n  namespace: a\n")
    asked.with_name("two.yaml").write_text("metadata:\n  namespace: a\n")
    assert contents(Files(("*.yaml",))).namespaces == ("a",)


def test_the_file_argument_of_another_plugin_is_not_read(asked: Path) -> None:
    with pytest.raises(PluginError, match="kubectl failed"):
        sudoer_flags(command("neat", "-f", "missing.yaml"))
    assert "config view" in asked.read_text()
