"""Streams of pods through the gateway, by kubectl, to a stand-in of a kubelet."""

import base64
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from tests.e2e.support.api import ns_path
from tests.e2e.support.commands import environment
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.kubelet import node, run_pod
from tests.e2e.support.people import People
from tests.e2e.support.stream_clients import PROTOCOLS, web_socket
from tests.e2e.support.waiting import eventually

POD = {
    "metadata": {"name": "web"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "web", "image": "example.com/web"}],
    },
}


@pytest.fixture(scope="module")
def cluster(
    gateway_cluster: GatewayCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayCluster]:
    """Return the cluster that files about the gateway share, with a node."""
    with node(gateway_cluster.admin, tmp_path_factory.mktemp("streams")):
        yield gateway_cluster


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Resident:
    """Return a sudoer of an LCluster in which a pod runs."""
    made = LClusters(cluster, people)
    made.make("streamed", "alice", "bob", sudoers=("alice",))
    resident = made.resident("streamed", "alice")
    # Kubernetes makes it a moment after the namespace, and no pod is let in before.
    account = ns_path("streamed-default", "serviceaccounts", "default")
    eventually(lambda: cluster.admin.find(account), what="no ServiceAccount to run as")
    resident.api.acting("alice", "system:masters").create(ns_path("default", "pods"), POD)
    run_pod(cluster.admin, "streamed-default", "web")
    return resident


def kubectl(resident: Resident, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """Start kubectl with pipes."""
    sudo = ("--as=alice", "--as-group=system:masters")
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ("kubectl", *sudo, *arguments),
        env=environment(resident.environment | more),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exec_transfers_input_output_and_errors(alice: Resident, protocol: dict[str, str]) -> None:
    with kubectl(alice, "exec", "-i", "web", "--", "cat", "a b", **protocol) as running_:
        out, err = running_.communicate("one\n" * 50_000, timeout=60)
    assert running_.returncode == 0, err
    assert out == "exec cat a b\n" + "one\n" * 50_000
    assert err.endswith("ended\n")


def read_until(terminal: int, words: bytes) -> None:
    """Read what a terminal shows until it has shown some words."""
    shown = b""

    def has_shown() -> bool:
        nonlocal shown
        if select.select([terminal], [], [], 0)[0]:
            shown += os.read(terminal, 4096)
        return words in shown

    eventually(has_shown, what=f"the terminal does not show {words!r}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exec_with_a_terminal_transfers_typed_input(
    alice: Resident, protocol: dict[str, str]
) -> None:
    ours, theirs = os.openpty()
    command = ("kubectl", "--as=alice", "--as-group=system:masters", "exec", "-it", "web", "--")
    env = environment(alice.environment | protocol)
    with subprocess.Popen(
        (*command, "sh"), env=env, stdin=theirs, stdout=theirs, stderr=theirs
    ) as running_:
        os.close(theirs)
        read_until(ours, b"exec sh")
        # The terminal itself repeats nothing from then on.
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        running_.send_signal(signal.SIGWINCH)
        os.write(ours, b"hello")
        read_until(ours, b"hello")
        running_.kill()
    os.close(ours)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exec_returns_the_exit_code_of_the_command(
    alice: Resident, protocol: dict[str, str]
) -> None:
    with kubectl(alice, "exec", "web", "--", "exit", "7", **protocol) as running_:
        _, err = running_.communicate(timeout=60)
    assert running_.returncode == 7, err


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_attach_transfers_typed_input(alice: Resident, protocol: dict[str, str]) -> None:
    with kubectl(alice, "attach", "-i", "web", **protocol) as running_:
        out, err = running_.communicate("hello\n", timeout=60)
    assert "hello\n" in out, err


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_port_forward_transfers_data_in_both_directions(
    alice: Resident, protocol: dict[str, str]
) -> None:
    with kubectl(alice, "port-forward", "pod/web", ":8080", **protocol) as running_:
        assert running_.stdout is not None
        line = running_.stdout.readline()
        assert line.startswith("Forwarding from 127.0.0.1:"), running_.communicate()
        port = int(line.split(" -> ")[0].rsplit(":", 1)[1])
        # What is repeated is the request itself, which is no answer by HTTP.
        with pytest.raises(Exception, match=r"GET /hello HTTP/1\.1"):
            urlopen(f"http://127.0.0.1:{port}/hello", timeout=30)
        running_.kill()


def test_logs_are_shown_and_followed(alice: Resident) -> None:
    with kubectl(alice, "logs", "web") as shown:
        assert shown.communicate(timeout=60)[0] == "line 0\n"
    with kubectl(alice, "logs", "-f", "web") as followed:
        assert followed.stdout is not None
        assert [followed.stdout.readline() for _ in range(3)] == [
            "line 0\n",
            "line 1\n",
            "line 2\n",
        ]
        followed.kill()


def test_logs_can_be_followed_over_a_websocket(alice: Resident) -> None:
    root = alice.api.acting("alice", "system:masters")
    path = ns_path("default", "pods", "web/log?follow=true")
    with web_socket(root, path, "base64.binary.k8s.io") as opened:
        read = b""
        while not read.startswith(b"line 0\nline 1\n"):
            read += base64.b64decode(opened.recv(30))


def test_a_user_without_the_right_to_exec_is_refused(
    alice: Resident, cluster: GatewayCluster
) -> None:
    assert alice
    refused = alice.kubectl("--as=eve", "exec", "web", "--", "ls")
    assert refused.code == 1
    assert "cannot" in refused.err
    assert cluster.gateway.running


def test_suspension_ends_exec_streams_and_closing_ends_log_streams(
    alice: Resident, cluster: GatewayCluster
) -> None:
    """What was open ends too: a shell writes for as long as it is open."""
    path = "/apis/tenancy.loblaw.digital/v1beta1/lclusters/streamed"
    with (
        kubectl(alice, "exec", "-i", "web", "--", "cat") as shell,
        kubectl(alice, "logs", "-f", "web") as followed,
    ):
        assert shell.stdout is not None
        assert followed.stdout is not None
        assert shell.stdout.readline()
        assert followed.stdout.readline()
        try:
            cluster.admin.patch(path, {"spec": {"suspend": "ReadOnly"}})
            eventually(lambda: shell.poll() is not None, what="the shell goes on")
            assert followed.poll() is None
            refused = alice.kubectl("exec", "web", "--", "ls")
            assert "can be read, and not written" in refused.err
            cluster.admin.patch(path, {"spec": {"suspend": "Closed"}})
            eventually(lambda: followed.poll() is not None, what="the log goes on")
        finally:
            cluster.admin.patch(path, {"spec": {"suspend": ""}})
            shell.kill()
            followed.kill()
    eventually(lambda: alice.kubectl("get", "pods").code == 0)


def test_a_stream_ends_when_its_user_is_revoked(alice: Resident, cluster: GatewayCluster) -> None:
    with kubectl(alice, "logs", "-f", "web") as followed:
        assert followed.stdout is not None
        assert followed.stdout.readline()
        path = "/apis/tenancy.loblaw.digital/v1beta1/lclusters/streamed"
        change = {"spec": {"users": [{"name": "bob"}], "sudoers": [], "managers": []}}
        cluster.admin.patch(path, change)
        eventually(lambda: followed.poll() is not None, what="the stream goes on")
