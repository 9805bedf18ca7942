"""How `kubectl create lns` calls kubectl."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lnamespace.plugins.cluster import waiting
from lnamespace.plugins.cluster.kubectl import Reply
from lnamespace.plugins.commands.create import create_lcluster, create_lnamespace
from lnamespace.plugins.commands.entry import run
from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE
from lnamespace.plugins.runtime.errors import PluginError


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kubectl, log = tmp_path / "kubectl", tmp_path / "asked"
    kubectl.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\ncat >> "{log}"\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(kubectl))
    return log


def test_a_client_side_dry_run_sends_no_request_to_the_cluster(asked: Path) -> None:
    """Validation asked it twice whether it could check the object, and then did not."""
    assert create_lnamespace(["x", "--dry-run=client"]) == 0
    assert "--validate=false" in asked.read_text().splitlines()[0]


@pytest.mark.parametrize("flags", [["--dry-run=server"], ["--wait=false"]])
def test_server_side_requests_keep_the_validation_of_unknown_fields(
    flags: list[str], asked: Path
) -> None:
    assert create_lnamespace(["x", *flags]) == 0
    assert "--validate" not in asked.read_text()


SAYS = '#!/bin/sh\ncat > /dev/null\ncat "${0%kubectl}words" >&2\nexit 1\n'
NO_CLUSTER = (
    """E1123 02:37:33.580803 28256 memcache.go:265] "Unhandled Error" err="couldn't get list"
error: unable to recognize "STDIN": Get "http://x/api": dial tcp: connect: connection refused
""",
    """error: error validating data: failed to download openapi: Get "http://x/openapi/v2": \
dial tcp: lookup x: no such host
""".replace("\\\n", ""),
)


@pytest.mark.parametrize("said", NO_CLUSTER)
def test_an_unreachable_cluster_is_reported_with_a_remedy(
    said: str, asked: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = asked.with_name("words")
    words.write_text(said)
    kubectl = asked.with_name("kubectl")
    kubectl.write_text(f'#!/bin/sh\ncat > /dev/null\ncat "{words}" >&2\nexit 1\n')
    assert create_lnamespace(["x"]) == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first.startswith('error: Get "http://x/')
    assert second.startswith("The cluster cannot be reached")


NO_ANSWER = "The connection to the server {} was refused - did you specify the right host or port?"


REMEDIES = [
    (NO_ANSWER.format("localhost:8080"), "Does the kubeconfig name a current context?"),
    (NO_ANSWER.format("10.0.0.1:6443"), "The cluster cannot be reached"),
    ("Unable to connect to the server: net/http: TLS handshake timeout", "The cluster cannot be"),
    ("error: You must be logged in to the server (Unauthorized)", "Your login is not valid there"),
    ("error: the server has asked for the client to provide credentials", "Your login is not val"),
    ("Error from server (ServiceUnavailable): etcd down", "Try again in a minute"),
    ("error: the server is currently unable to handle the request", "Try again in a minute"),
    ("error: serializer for text/html doesn't exist", "That is no Kubernetes API server"),
    ("error: proto: cannot parse invalid wire-format data", "That is no Kubernetes API server"),
]


@pytest.mark.parametrize(("said", "advice"), REMEDIES)
def test_every_command_says_what_to_do_about_a_cluster_that_does_not_answer_as_one(
    said: str,
    advice: str,
    asked: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(asked.parent))
    told = str(Reply(1, "", said).failure()).splitlines()
    asked.with_name("words").write_text(f"{said}\n")
    asked.with_name("kubectl").write_text(SAYS)
    assert create_lnamespace(["x"]) == 1
    assert capfd.readouterr().err.splitlines() == told
    assert (told[0], told[1][: len(advice)]) == (said, advice)


def test_a_kubectl_that_fails_without_a_word_is_said_to_fail(asked: Path) -> None:
    asked.with_name("words").touch()
    asked.with_name("kubectl").write_text(SAYS)
    with pytest.raises(PluginError, match="kubectl failed with exit code 1"):
        create_lnamespace(["x"])


def test_a_missing_kubeconfig_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one kubectl asks localhost, and says no word of the file."""
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    told = str(Reply(1, "", NO_ANSWER.format("localhost:8080")).failure()).splitlines()
    assert told[1].startswith(f"There is no kubeconfig: no file {tmp_path}/a or {tmp_path}/b;")


def test_a_cluster_that_could_not_reach_something_else_is_not_called_unreachable(
    asked: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = 'Error from server (InternalError): failed calling webhook "x": dial: connection refused'
    assert str(Reply(1, "", said).failure()) == said
    asked.with_name("words").write_text(said)
    asked.with_name("kubectl").write_text(SAYS)
    assert create_lnamespace(["x"]) == 1
    assert capfd.readouterr().err == said


@pytest.mark.parametrize("kind", ["LNamespaces", "LClusters"])
def test_an_unreachable_webhook_is_told_in_words_that_are_true_for_both_kinds(kind: str) -> None:
    """Who created an LCluster read about LNamespaces only."""
    name = "lclusters-people.lnamespace-webhook.tenancy.loblaw.digital"
    said = f'Error from server (InternalError): failed calling webhook "{name}": refused'
    assert kind in str(Reply(1, "", said).failure()).splitlines()[1]


DENIED = (
    "ValidatingAdmissionPolicy '{0}-lnamespaces' with binding '{0}-lnamespaces' denied request: "
)
REFUSED = 'Error from server (Forbidden): lnamespaces.{1} "x" is forbidden: {0}not in the list'
INVALID = 'The lnamespaces "x" is invalid: : {0}spec.profile: there is no profile "nope"'


@pytest.mark.parametrize("suffix", ["", "team1.example.com"])
@pytest.mark.parametrize("said", [REFUSED, INVALID])
def test_a_refusal_of_our_own_policies_does_not_name_the_policy(
    said: str,
    suffix: str,
    asked: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(SUFFIX_VARIABLE, suffix)
    denied = DENIED.format(f"lnamespace.{suffix}" if suffix else "lnamespace")
    asked.with_name("words").write_text(said.format(denied, "example.com"))
    asked.with_name("kubectl").write_text(SAYS)
    assert create_lnamespace(["x"]) == 1
    plain = said.format("", "example.com").replace(": : ", ": ")
    assert capfd.readouterr().err == plain
    reply = Reply(1, "", said.format(denied, "example.com"))
    assert str(reply.failure()) == plain


def test_a_refusal_of_another_policy_names_the_policy() -> None:
    """By its name the platform team finds it."""
    said = REFUSED.format(DENIED.format("platform"), "example.com")
    assert str(Reply(1, "", said).failure()) == said
    ours = ": ValidatingAdmissionPolicy 'lnamespace-x' with binding 'lnamespace-x' failed"
    assert str(Reply(1, "", f"{ours}, {said}").failure()) == f"{ours}, {said}"


FORBIDDEN = (
    '{0}.tenancy.loblaw.digital is forbidden: User "alice" cannot create resource '
    '"{0}" in API group "tenancy.loblaw.digital" at the cluster scope'
)
NO_RIGHT = [
    (create_lnamespace, "lnamespaces", "LNamespaces are perhaps no longer installed in this"),
    (create_lcluster, "lclusters", "LClusters may not be switched on in this cluster"),
]


@pytest.mark.parametrize(("command", "plural", "advice"), NO_RIGHT)
def test_who_may_not_create_the_kind_is_told_what_to_do_and_nothing_of_standard_input(
    command: Callable[[list[str]], int],
    plural: str,
    advice: str,
    asked: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """So it is for everybody where LClusters are not switched on, and after an uninstall."""
    told = FORBIDDEN.format(plural)
    asked.with_name("words").write_text(
        f'Error from server (Forbidden): error when creating "STDIN": {told}\n'
    )
    asked.with_name("kubectl").write_text(SAYS)
    monkeypatch.setattr("sys.argv", ["kubectl-create", "acme"])
    assert run(command, "kubectl create") == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first == f"Error from server (Forbidden): {told}"
    assert second.startswith(advice)


def test_a_cluster_without_the_kind_is_named_as_such_and_not_by_the_words_of_our_call(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """So it is in every context that leads to an LCluster."""
    words = asked.with_name("words")
    words.write_text(
        'error: resource mapping not found for name: "x" namespace: "" from "STDIN": no matches '
        'for kind "LNamespace" in version "tenancy.loblaw.digital/v1beta1"\n'
        "ensure CRDs are installed first\n"
    )
    kubectl = asked.with_name("kubectl")
    kubectl.write_text(f'#!/bin/sh\ncat > /dev/null\ncat "{words}" >&2\nexit 1\n')
    monkeypatch.setattr("sys.argv", ["kubectl-create-lns", "x"])
    assert run(create_lnamespace, "kubectl create lns") == 1
    told = capfd.readouterr().err
    assert told.startswith("error: this cluster has no LNamespaces (API group tenancy.loblaw")
    assert "STDIN" not in told


UNKNOWN = """\
case $1 in
  create)
    cat > /dev/null
    echo 'error: error validating "STDIN": error validating data: failed to download openapi: \
unknown; if you choose to ignore these errors, turn validation off with --validate=false' >&2 ;;
  *) echo 'Error from server (Forbidden): users "carol" is forbidden' >&2 ;;
esac
exit 1
"""


def test_who_may_not_act_as_somebody_is_told_so_though_kubectl_only_says_unknown(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked.with_name("kubectl").write_text(f"#!/bin/sh\n{UNKNOWN}")
    monkeypatch.setattr("sys.argv", ["kubectl-create-lns", "x", "--as=carol"])
    assert run(create_lnamespace, "kubectl create lns") == 1
    (told,) = capfd.readouterr().err.splitlines()
    assert "is forbidden" in told, "and no line `error: unknown` before it"


ABSENT = 'kubectl sudo: system:serviceaccount:a:b: there is no namespace "a"'
WATCHED = """#!/bin/sh
case "$*" in
  *watch=true*) cat "${0%kubectl}words"; exec sleep 60 ;;
  create*) cat > /dev/null ;;
  *) echo '{"status": {"userInfo": {"username": "alice"}}}' ;;
esac
"""


def seen(asked: Path, *statuses: str) -> None:
    """Let a watch show an LNamespace whose readiness is one after the other of these."""
    events = []
    for status in statuses:
        reason = {"reason": "SudoNotReady", "message": ABSENT} if status == "False" else {}
        told = {
            "observedGeneration": 1,
            "conditions": [{"type": "Ready", "status": status} | reason],
        }
        lns = {"metadata": {"name": "x", "generation": 1}, "spec": {}, "status": told}
        events.append(json.dumps({"type": "MODIFIED", "object": lns}))
    asked.with_name("words").write_text("\n".join(events))
    asked.with_name("kubectl").write_text(WATCHED)


def test_a_sudoer_that_does_not_exist_is_reported_long_before_the_timeout(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else is in force then; the command waited a minute for an account that nobody made."""
    monkeypatch.setattr(waiting, "ENTRIES_SETTLED", 0.5)
    seen(asked, "False")
    started = time.monotonic()
    with pytest.raises(PluginError) as told:
        create_lnamespace(["x", "--sudoer", "serviceaccount:a:b"])
    assert time.monotonic() - started < 30
    first, second = str(told.value).splitlines()
    assert first == f'LNamespace "x" is there, but not all of its lists: SudoNotReady: {ABSENT}'
    assert second.endswith("to take it off the list: kubectl lns revoke x SUBJECT")


def test_a_sudoer_that_is_late_by_a_moment_is_waited_for(asked: Path) -> None:
    """A ServiceAccount of the new namespace has to wait for the access there."""
    seen(asked, "False", "True")
    assert create_lnamespace(["x", "--sudoer", "serviceaccount:x:b"]) == 0
