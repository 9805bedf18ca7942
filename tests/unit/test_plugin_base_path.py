"""Requests to one path, where the API server is at a path of its address itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lnamespace.gateway import refusals
from lnamespace.plugins.cluster.kubectl import UNNAMED, Kubectl

from tests.unit.support.kubectl import asked

GATEWAY = "https://gateway.example.com/clusters/acme"
UNNAMED_ERROR = f"Error from server (NotFound): the server could not find it: {UNNAMED}; use"
KUBECTL = """#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
*"config view"*) printf '%s' '{server}';;
*"--raw /clusters/acme/"*) cat; echo answered;;
*) echo '{refusal}' >&2; exit 1;;
esac
"""


class Server:
    """A kubectl whose server serves one LCluster at a path, and nothing else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.serve()

    def serve(self, server: str = GATEWAY, refusal: str = UNNAMED_ERROR) -> None:
        self.path.write_text(KUBECTL.format(server=server, refusal=refusal))
        self.path.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        lines = self.path.with_name("kubectl.asked").read_text().splitlines()
        return [asked(line) for line in lines]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("one")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBECTL", str(tmp_path / "kubectl"))
    return Server(tmp_path / "kubectl")


def test_the_base_path_of_a_server_is_detected_and_remembered(server: Server) -> None:
    assert Kubectl().start_get("/apis").reply().out == "answered\n"
    assert server.asked == [
        "get --raw /apis",
        "config view --minify -o jsonpath={.clusters[0].cluster.server}",
        "get --raw /clusters/acme/apis",
    ]
    assert Kubectl().start_get("/api").reply().out == "answered\n"
    assert server.asked[3:] == ["get --raw /clusters/acme/api"]


def test_a_request_body_is_sent_again_with_the_base_path(server: Server) -> None:
    reply = Kubectl(("--context=acme",)).start_raw("create", "/x", {"a": 1}).reply()
    assert reply.out == '{"a":1}answered\n'
    assert server.asked[-1] == "create --raw /clusters/acme/x -f - --context=acme"


def test_the_base_path_is_detected_again_for_another_context_or_kubeconfig(
    server: Server, tmp_path: Path
) -> None:
    Kubectl().start_get("/apis").reply()
    Kubectl(("--context=other",)).start_get("/apis").reply()
    assert server.asked[3] == "get --raw /apis --context=other"
    (tmp_path / "kubeconfig").write_text("another")
    Kubectl().start_get("/apis").reply()
    assert server.asked[6] == "get --raw /apis"


def test_the_base_path_is_taken_from_the_server_flag(server: Server) -> None:
    flags = (f"--server={GATEWAY}/",)
    assert Kubectl(flags).start_get("/apis").reply().out == "answered\n"
    assert not any("config view" in line for line in server.asked)


@pytest.mark.parametrize(
    ("address", "refusal", "questions"),
    [
        ("https://acme.gateway.example.com", UNNAMED_ERROR, 2),
        ("", UNNAMED_ERROR, 2),
        (GATEWAY, "Error from server (NotFound): the server could not find it", 1),
        (GATEWAY, "Error from server (Forbidden): no", 1),
    ],
)
def test_other_errors_are_reported_unchanged(
    address: str, refusal: str, questions: int, server: Server
) -> None:
    server.serve(address, refusal)
    reply = Kubectl().start_get("/apis").reply()
    assert (reply.code, reply.err.strip()) == (1, refusal)
    assert len(server.asked) == questions


@pytest.mark.parametrize(
    "told",
    [
        'Error from server (Forbidden): forbidden: User "a" cannot get path "/clusters/acme/apis"',
        "Error from server (NotFound): the server could not find the requested resource",
    ],
)
def test_a_kubectl_version_that_adds_the_base_path_itself_is_detected(
    told: str, server: Server
) -> None:
    assert Kubectl().start_get("/apis").reply().out == "answered\n"
    newer = f"""#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
*"--raw /clusters/"*) echo '{told}' >&2; exit 1;;
*) echo newer;;
esac
"""
    server.path.write_text(newer)
    assert Kubectl().start_get("/apis").reply().out == "newer\n"
    assert server.asked[-2:] == ["get --raw /clusters/acme/apis", "get --raw /apis"]
    assert Kubectl().start_get("/api").reply().out == "newer\n"
    assert server.asked[-1] == "get --raw /api", "it is forgotten"


def test_the_gateway_refuses_with_the_message_that_the_plugin_expects() -> None:
    refused = refusals.no_tenant("gateway.example.com")
    assert UNNAMED in str(refused)
