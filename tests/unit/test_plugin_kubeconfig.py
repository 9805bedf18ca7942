"""A context for an LCluster: `kubectl create lcluster` and `kubectl lns kubeconfig`."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from lnamespace.plugins.commands.create import create_lcluster
from lnamespace.plugins.commands.lns import run_subcommand
from lnamespace.plugins.kubeconfig.gateway import GatewayAddress, by_name, by_path, lcluster_of
from lnamespace.plugins.runtime.errors import KubectlError, PluginError, UsageError

from tests.unit.support.kubectl import asked

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
SERVER = "https://gateway.example.com/clusters/acme"
LCLUSTER: dict[str, Any] = {
    "metadata": {"name": "acme", "generation": 1},
    "spec": {"users": [{"kind": "User", "name": "alice"}]},
    "status": {
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}],
        "address": SERVER,
        "caBundle": base64.b64encode(PEM.encode()).decode(),
    },
}
CONFIG: dict[str, Any] = {
    "current-context": "platform",
    "contexts": [{"name": "platform", "context": {"cluster": "platform", "user": "sso"}}],
    "clusters": [{"name": "platform", "cluster": {"server": "https://platform"}}],
    "users": [{"name": "sso", "user": {}}],
}
KUBECTL = """#!/bin/sh
echo "$*" >> "$0.asked"
for word; do
  case "$word" in
  --certificate-authority=*) cat "${word#*=}" > "$0.ca";;
  esac
done
case "$*" in
*"config view -o json"*) cat "$0.config";;
*"config view --raw"*) echo printed;;
*"config "*) ;;
*"auth whoami"*) echo '{"status": {"userInfo": {"username": "alice"}}}';;
*watch=true*) printf '{"type": "ADDED", "object": %s}' "$(cat "$0.object")";;
*--raw*lclusters/*)
  [ -e "$0.object" ] && exec cat "$0.object"
  echo 'Error from server (NotFound): lclusters.tenancy.loblaw.digital "acme" not found' >&2
  exit 1;;
*--raw*lnamespaces/acme*) echo '{}';;
*--raw*/kube-public/configmaps/lnamespace-gateway*)
  [ -e "$0.mine" ] && exec cat "$0.mine"
  echo 'Error from server (NotFound): configmaps "lnamespace-gateway" not found' >&2
  exit 1;;
*/api/v1/namespaces*) ;;
create*) cat > "$0.sent"; echo created;;
*) exit 9;;
esac
"""


class Recorded:
    """A kubectl that answers as told, and notes what it was asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text(KUBECTL)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.answer(LCLUSTER)
        self.configure(CONFIG)

    def answer(self, lcluster: dict[str, Any]) -> None:
        self._file("object").write_text(json.dumps(lcluster))

    def serve_mine(self, **data: str) -> None:
        self._file("mine").write_text(json.dumps({"data": data}))

    def configure(self, config: dict[str, Any]) -> None:
        self._file("config").write_text(json.dumps(config))

    def _file(self, end: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{end}")

    @property
    def sent(self) -> Any:
        return json.loads(self._file("sent").read_text())

    @property
    def certificates(self) -> str:
        return self._file("ca").read_text() if self._file("ca").exists() else ""

    @property
    def asked(self) -> list[str]:
        return self._file("asked").read_text().splitlines()

    @property
    def written(self) -> list[str]:
        """Return what was changed in the kubeconfig, without the name of a file of the moment."""
        found = [line for line in self.asked if line.startswith("config ") and "view" not in line]
        return [
            " ".join("CA" if "certificate-authority" in word else word for word in line.split())
            for line in found
        ]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))  # nothing is remembered
    recorded = Recorded(tmp_path / "kubectl")
    monkeypatch.setenv("KUBECTL", str(recorded.path))
    return recorded


SET_CLUSTER = f"config set-cluster acme --server={SERVER} CA --embed-certs=true"
SET_CONTEXT = "config set-context acme --cluster=acme --user=sso"


# --- kubectl lns kubeconfig ---


def test_a_context_uses_the_login_of_the_current_context(
    kubectl: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_subcommand(["kubeconfig", "acme"]) == 0
    assert kubectl.written == [SET_CLUSTER, SET_CONTEXT]
    assert kubectl.certificates == PEM
    out, err = capsys.readouterr()
    assert out == f'context "acme" leads to LCluster "acme" ({SERVER}), with the login "sso"\n'
    assert err == "Use it with: kubectl --context acme get ns\n"


MINE = "https://gateway.example.com/mine"


@pytest.mark.parametrize(
    ("flags", "server"),
    [
        ((), f"--server={MINE} CA --embed-certs=true"),
        (
            ("--sni",),
            (
                "--server=https://gateway.example.com"
                " --tls-server-name=mine.gateway.example.com CA --embed-certs=true"
            ),
        ),
        (("--gateway=https://other",), "--server=https://other/mine CA --embed-certs=true"),
    ],
)
def test_a_context_for_the_own_lnamespaces_is_written(
    flags: tuple[str, ...],
    server: str,
    kubectl: Recorded,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubectl.serve_mine(**{"mine": MINE, "ca.crt": PEM})
    assert run_subcommand(["kubeconfig", "--mine", *flags]) == 0
    context = "config set-context mine --cluster=mine --user=sso"
    assert kubectl.written == [f"config set-cluster mine {server}", context]
    assert 'context "mine" leads to your LNamespaces (https://' in capsys.readouterr().out


def test_a_cluster_without_a_gateway_for_own_lnamespaces_is_an_error(kubectl: Recorded) -> None:
    with pytest.raises(PluginError, match="--mine --gateway https://HOST"):
        run_subcommand(["kubeconfig", "--mine"])
    with pytest.raises(UsageError, match="takes no NAME"):
        run_subcommand(["kubeconfig", "--mine", "acme"])
    assert kubectl.written == []


def test_connection_flags_of_the_host_cluster_are_not_written_to_the_context(
    kubectl: Recorded,
) -> None:
    flags = ["--context=platform", "--server=https://x", "--token=t", "--kubeconfig=/f"]
    assert run_subcommand(["kubeconfig", "acme", *flags]) == 0
    assert kubectl.written == [f"{SET_CLUSTER} --kubeconfig=/f", f"{SET_CONTEXT} --kubeconfig=/f"]


def test_an_existing_context_of_the_same_lcluster_is_overwritten(kubectl: Recorded) -> None:
    acme = {"name": "acme", "cluster": {"server": SERVER, "insecure-skip-tls-verify": True}}
    mine = {"name": "acme", "context": {"cluster": "acme", "user": "other"}}
    kubectl.configure(
        CONFIG | {"clusters": [*CONFIG["clusters"], acme], "contexts": [*CONFIG["contexts"], mine]}
    )
    assert run_subcommand(["kubeconfig", "acme"]) == 0
    assert kubectl.written == ["config unset clusters.acme", SET_CLUSTER, SET_CONTEXT]


FOREIGN = {
    "a cluster": {"clusters": [{"name": "acme", "cluster": {"server": "https://other"}}]},
    "the same address by another name": {
        "clusters": [{"name": "acme", "cluster": {"server": SERVER, "tls-server-name": "b.x"}}]
    },
    "a context": {"contexts": [{"name": "acme", "context": {"cluster": "kind", "user": "x"}}]},
}


@pytest.mark.parametrize("case", FOREIGN)
def test_existing_entries_for_other_servers_are_not_overwritten_without_force(
    case: str, kubectl: Recorded
) -> None:
    (kind,) = FOREIGN[case]
    kubectl.configure(CONFIG | {kind: [*CONFIG[kind], *FOREIGN[case][kind]]})
    with pytest.raises(PluginError, match="nothing was changed"):
        run_subcommand(["kubeconfig", "acme"])
    assert kubectl.written == []
    assert run_subcommand(["kubeconfig", "acme", "--name=acme-eu"]) == 0
    assert kubectl.written[-1] == "config set-context acme-eu --cluster=acme-eu --user=sso"
    assert run_subcommand(["kubeconfig", "acme", "--force"]) == 0
    assert kubectl.written[-2:] == [SET_CLUSTER, SET_CONTEXT]


def test_a_printed_context_changes_no_kubeconfig(
    kubectl: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_subcommand(["kubeconfig", "acme", "-o", "yaml"]) == 0
    assert capsys.readouterr().out == "printed\n"
    assert all("--kubeconfig=/" in line for line in kubectl.written)
    folders = [line.rpartition("--kubeconfig=")[2] for line in kubectl.written]
    assert not any(os.path.exists(folder) for folder in folders)  # noqa: PTH110 - a list of texts


def test_a_context_for_an_lnamespace_is_answered_with_its_namespace(kubectl: Recorded) -> None:
    """People who have both kinds mix them up."""
    kubectl.path.with_name("kubectl.object").unlink()
    with pytest.raises(PluginError, match=r'"acme" is an LNamespace.*: kubectl -n acme get all'):
        run_subcommand(["kubeconfig", "acme"])


def test_the_gateway_address_can_be_given_by_flags(kubectl: Recorded, tmp_path: Path) -> None:
    kubectl.answer({**LCLUSTER, "status": {}})
    with pytest.raises(PluginError, match="--gateway https://HOST --gateway-ca FILE"):
        run_subcommand(["kubeconfig", "acme"])
    file = tmp_path / "ca.pem"
    file.write_text(f"some words\n{PEM}")
    given = ["--gateway=https://gateway.example.com/", f"--gateway-ca={file}"]
    assert run_subcommand(["kubeconfig", "acme", *given]) == 0
    assert kubectl.written == [SET_CLUSTER, SET_CONTEXT]
    assert kubectl.certificates == PEM


def test_no_certificates_are_written_for_a_publicly_trusted_gateway(kubectl: Recorded) -> None:
    kubectl.answer({**LCLUSTER, "status": {"address": SERVER}})
    assert run_subcommand(["kubeconfig", "acme"]) == 0
    assert kubectl.written[0] == f"config set-cluster acme --server={SERVER}"


def test_the_proxy_of_the_host_cluster_is_copied(kubectl: Recorded) -> None:
    proxied = {"server": "https://platform", "proxy-url": "http://proxy:3128"}
    kubectl.configure({**CONFIG, "clusters": [{"name": "platform", "cluster": proxied}]})
    assert run_subcommand(["kubeconfig", "acme"]) == 0
    assert "--proxy-url=http://proxy:3128" in kubectl.written[0]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "there is none"),
        ({"current-context": "platform", "contexts": None}, "there is none"),
        (
            {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "x"}}]},
            'context "c" of the kubeconfig has no user',
        ),
    ],
)
def test_a_context_without_a_user_is_an_error(
    config: dict[str, Any], told: str, kubectl: Recorded
) -> None:
    kubectl.configure(config)
    with pytest.raises(PluginError, match=told):
        run_subcommand(["kubeconfig", "acme"])


@pytest.mark.parametrize("words", [[], ["acme", "b"], ["acme", "--user=x"], ["acme", "--for=8h"]])
def test_an_invalid_command_line_sends_no_request(words: list[str], kubectl: Recorded) -> None:
    with pytest.raises(UsageError):
        run_subcommand(["kubeconfig", *words])
    assert not kubectl.path.with_name("kubectl.asked").exists()


@pytest.mark.parametrize("name", ["a.b", "..", "a-b", "A", "a", "1a", "a" * 21, "lc/a-b"])
def test_an_invalid_lcluster_name_sends_no_request(name: str, kubectl: Recorded) -> None:
    with pytest.raises(KubectlError, match="2 to 20 lower case letters and digits"):
        run_subcommand(["kubeconfig", name])
    assert not kubectl.path.with_name("kubectl.asked").exists()


# --- addresses ---


@pytest.mark.parametrize(
    ("choose", "server", "given", "expected"),
    [
        (by_path, SERVER, False, (SERVER, "")),
        (by_path, "https://acme.gw.io:8443", False, ("https://acme.gw.io:8443", "")),
        (by_path, "https://gw.io", True, ("https://gw.io/clusters/acme", "")),
        (by_path, "https://gw.io/a/", True, ("https://gw.io/a/clusters/acme", "")),
        (by_path, SERVER, True, (SERVER, "")),
        (by_path, "https://[::1]:8443", True, ("https://[::1]:8443/clusters/acme", "")),
        (by_name, SERVER, False, ("https://gateway.example.com", "acme.gateway.example.com")),
        (by_name, "https://acme.gw.io:8443", False, ("https://gw.io:8443", "acme.gw.io")),
        (by_name, "https://gw.io:8443", True, ("https://gw.io:8443", "acme.gw.io")),
    ],
)
def test_an_lcluster_is_addressed_by_path_or_by_server_name(
    choose: Any, server: str, given: bool, expected: tuple[str, str]
) -> None:
    found = choose(server, "acme", given)
    assert found == GatewayAddress(*expected)
    assert lcluster_of(found.server, found.tls_server_name) == "acme"


@pytest.mark.parametrize(
    "server",
    [
        "http://gw.io/clusters/acme",
        "gw.io",
        "https://",
        "https://me@gw.io",
        "https://gw.io/?x=y",
        "https://gw.io/#x",
        "https://gw.io/a b",
        "https://gw.io/\n",
        "https://gw.io:x",
        "https://\u200bgw.io",
    ],
)
@pytest.mark.parametrize("choose", [by_path, by_name])
def test_a_server_address_without_https_is_refused(choose: Any, server: str) -> None:
    with pytest.raises(PluginError, match="is not https://HOST"):
        choose(server, "acme")


@pytest.mark.parametrize("server", ["https://10.0.0.1", "https://[::1]:8443"])
def test_an_ip_address_cannot_be_used_as_a_tls_server_name(server: str) -> None:
    with pytest.raises(PluginError, match="needs a gateway with a name"):
        by_name(server, "acme")


@pytest.mark.parametrize("bundle", ["x", "AAAA", "!", "-----"])
def test_an_invalid_ca_bundle_is_not_written(bundle: str, kubectl: Recorded) -> None:
    kubectl.answer({**LCLUSTER, "status": {"address": SERVER, "caBundle": bundle}})
    with pytest.raises(PluginError, match="no certificate in PEM"):
        run_subcommand(["kubeconfig", "acme"])
    assert kubectl.written == []


# --- kubectl create lcluster ---


def test_a_created_lcluster_has_a_usable_context_when_the_command_returns(
    kubectl: Recorded, capfd: pytest.CaptureFixture[str]
) -> None:
    assert create_lcluster(["acme", "--cost-center=R-42", "--sudoer=bob"]) == 0
    assert kubectl.sent == {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": "acme"},
        "spec": {
            "sudoers": [{"kind": "User", "name": "bob"}],
            "billing": {"costCenter": "R-42"},
        },
    }
    assert kubectl.written == [SET_CLUSTER, SET_CONTEXT]
    assert asked(kubectl.asked[-1]) == "get --raw /api/v1/namespaces?limit=1 --context=acme"
    out, err = capfd.readouterr()
    assert out == "created\n"
    assert "Use it with: kubectl --context acme get ns" in err


def test_a_creator_without_access_gets_no_context(
    kubectl: Recorded, capfd: pytest.CaptureFixture[str]
) -> None:
    kubectl.answer({**LCLUSTER, "spec": {"users": [{"kind": "User", "name": "bob"}]}})
    assert create_lcluster(["acme", "--user=bob"]) == 0
    assert kubectl.written == []
    assert "For its users: kubectl lns kubeconfig acme" in capfd.readouterr().err


@pytest.mark.parametrize("flag", ["--dry-run=server", "--dry-run=client", "--wait=false"])
def test_a_dry_run_or_unwaited_creation_writes_no_context(flag: str, kubectl: Recorded) -> None:
    assert create_lcluster(["acme", flag]) == 0
    assert kubectl.written == []
    assert len(kubectl.asked) == 1


@pytest.mark.parametrize("flag", ["--profile=big", "--name=x"])
def test_flags_that_do_not_apply_to_an_lcluster_are_refused(flag: str, kubectl: Recorded) -> None:
    with pytest.raises(UsageError, match="unknown flag"):
        create_lcluster(["acme", flag])
    assert not kubectl.path.with_name("kubectl.asked").exists()


def test_an_lcluster_that_cannot_become_ready_is_reported_immediately(kubectl: Recorded) -> None:
    condition = {"type": "Ready", "status": "False", "reason": "Conflict", "message": "taken"}
    kubectl.answer({**LCLUSTER, "status": {"observedGeneration": 1, "conditions": [condition]}})
    with pytest.raises(PluginError) as caught:
        create_lcluster(["acme"])
    assert str(caught.value) == (
        'LCluster "acme" cannot become ready: Conflict: taken\n'
        "Nothing was taken over. Remove this with `kubectl delete lc.tenancy.loblaw.digital acme` "
        "and choose another name."
    )


def test_the_help_of_both_commands_shows_the_use_of_the_context(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create_lcluster(["--help"]) == 0
    assert run_subcommand(["kubeconfig", "--help"]) == 0
    assert capsys.readouterr().out.count("kubectl --context acme get ns") == 2
