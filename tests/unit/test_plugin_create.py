"""How `kubectl create lns` calls kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest
from lnamespace.plugins.cluster.kubectl import Reply
from lnamespace.plugins.commands.create import create_lcluster, create_lnamespace
from lnamespace.plugins.commands.entry import run
from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE


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


@pytest.mark.parametrize("server", ["localhost:8080", "10.0.0.1:6443"])
def test_every_command_says_what_to_do_about_an_unreachable_cluster(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path))
    told = str(Reply(1, "", NO_ANSWER.format(server)).failure()).splitlines()
    assert told[0] == NO_ANSWER.format(server)
    assert told[1].startswith("The cluster cannot be reached")


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
    'lclusters.tenancy.loblaw.digital is forbidden: User "alice" cannot create resource '
    '"lclusters" in API group "tenancy.loblaw.digital" at the cluster scope'
)


def test_who_may_not_create_lclusters_is_told_what_to_do_and_nothing_of_standard_input(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """So it is for everybody on a cluster on which LClusters are not switched on."""
    words = asked.with_name("words")
    words.write_text(f'Error from server (Forbidden): error when creating "STDIN": {FORBIDDEN}\n')
    kubectl = asked.with_name("kubectl")
    kubectl.write_text(f'#!/bin/sh\ncat > /dev/null\ncat "{words}" >&2\nexit 1\n')
    monkeypatch.setattr("sys.argv", ["kubectl-create-lcluster", "acme"])
    assert run(create_lcluster, "kubectl create lcluster") == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first == f"Error from server (Forbidden): {FORBIDDEN}"
    assert second.startswith("LClusters may not be switched on in this cluster")


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
    assert "is forbidden" in capfd.readouterr().err.splitlines()[-1]
