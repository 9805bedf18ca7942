"""Streams of pods through the gateway: much data, many at once, broken ends, wrong requests.

In a gateway of the file's own, whose memory and open files are those of these tests.
"""

import asyncio
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.support.api import Api, ns_path
from tests.e2e.support.commands import environment
from tests.e2e.support.floods import Memory, Target, Witness, raise_files, send, status_of
from tests.e2e.support.gateway import GatewayCluster, GatewayProcess, LClusters, Resident
from tests.e2e.support.kubelet import node, run_pod
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.stream_clients import (
    PROTOCOLS,
    STDIN,
    STDOUT,
    exec_path,
    forwarded_port,
    frame,
    open_exec,
    open_sockets,
    read_frame,
    reset,
    upgrade_headers,
)
from tests.e2e.support.waiting import PATIENCE, eventually

STREAMER, OTHER = "streamer", "streamee"
MIB = 1024 * 1024
POD = ns_path("default", "pods", "web")
SUDO = ("--as=alice", "--as-group=system:masters")
LAST = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""A request after which the connection ends."""


@pytest.fixture(scope="module")
def cluster(
    gateway_cluster: GatewayCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayCluster]:
    """Return the cluster that files about the gateway share, with a node."""
    raise_files()
    with node(gateway_cluster.admin, tmp_path_factory.mktemp("streams")):
        yield gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return an LCluster with a pod, and another one."""
    made = LClusters(cluster, people)
    for name in (STREAMER, OTHER):
        made.make(name, "alice", sudoers=("alice",))
        made.resident(name, "alice")
    account = ns_path(f"{STREAMER}-default", "serviceaccounts", "default")
    eventually(lambda: cluster.admin.find(account), what="no ServiceAccount to run as")
    container = {"name": "web", "image": "example.com/web"}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    alice = made.administrator(STREAMER)
    alice.create(ns_path("default", "pods"), {"metadata": {"name": "web"}, "spec": spec})
    run_pod(cluster.admin, f"{STREAMER}-default", "web")
    return made


@pytest.fixture(scope="module")
def gateway(
    cluster: GatewayCluster, lclusters: LClusters, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """Start a gateway of the file's own."""
    del lclusters
    port, log = free_port(), tmp_path_factory.mktemp("streams") / "log"
    made = GatewayProcess(cluster.gateway.kubeconfig, log, port, cluster.certificates)
    made.start()
    yield made
    made.stop()
    assert made.defect not in made.log()


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People, gateway: GatewayProcess) -> Resident:
    """Return a sudoer at this gateway."""
    return cluster.behind(STREAMER, people.person("alice"), port=gateway.port)


@pytest.fixture(scope="module")
def target(alice: Resident) -> Target:
    """Return where the sudoer connects to, with sudo."""
    return Target(alice.api.acting("alice", "system:masters"))


@pytest.fixture
def other(cluster: GatewayCluster, people: People, gateway: GatewayProcess) -> Api:
    """Return somebody of another LCluster at this gateway."""
    resident = cluster.behind(OTHER, people.person("alice"), port=gateway.port)
    return resident.api.acting("alice", "system:masters")


def kubectl(resident: Resident, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    """Start kubectl with sudo and pipes."""
    pipe = subprocess.PIPE
    env = environment(resident.environment | more)
    words = ("kubectl", *SUDO, *arguments)
    return subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exec_streams_output_after_the_end_of_input_with_bounded_memory(
    alice: Resident, gateway: GatewayProcess, protocol: dict[str, str]
) -> None:
    """32 MiB up, whose size is told after their end; and 32 MiB down."""
    before = Memory(gateway.pid).settled()
    with kubectl(alice, "exec", "-i", "web", "--", "count", **protocol) as counting:
        out, err = counting.communicate(bytes(32 * MIB), timeout=120)
    assert out == b"exec count\n%d\n" % (32 * MIB), err
    with kubectl(alice, "exec", "web", "--", "flood", str(32 * MIB), **protocol) as flooding:
        out, err = flooding.communicate(timeout=120)
    assert len(out) == len("exec flood 33554432\n") + 32 * MIB
    assert (flooding.returncode, err) == (0, b"ended\n")
    print(f"grew by {Memory(gateway.pid).peak - before:.0f} MiB")  # noqa: T201
    assert Memory(gateway.pid).peak < before + 32


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exec_forwards_terminal_resizes(alice: Resident, protocol: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    command = ("kubectl", *SUDO, "exec", "-it", "web", "--", "size")
    env = environment(alice.environment | protocol)
    with subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = b""

        def has_shown_a_size() -> bool:
            nonlocal shown
            if select.select([ours], [], [], 0)[0]:
                shown += os.read(ours, 4096)
            return b'"Width":' in shown

        eventually(has_shown_a_size, what="no size arrived")
        running.kill()
    os.close(ours)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_port_forward_transfers_large_data_in_both_directions(
    alice: Resident, protocol: dict[str, str]
) -> None:
    with kubectl(alice, "port-forward", "pod/web", ":8080", **protocol) as forwarding:
        assert forwarding.stdout is not None
        port = forwarded_port(forwarding.stdout.readline().decode())
        sent = os.urandom(MIB)
        for _ in range(4):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as near:
                near.sendall(sent[: 64 * 1024])
                near.shutdown(socket.SHUT_WR)
                got = b""
                while part := near.recv(MIB):
                    got += part
                assert got == sent[: 64 * 1024]
        forwarding.kill()


def test_the_python_client_gets_output_and_the_exit_code(alice: Resident) -> None:
    script = """
from kubernetes import client, config, stream
config.load_kube_config()
api = client.CoreV1Api()
for name, value in (("Impersonate-User", "alice"), ("Impersonate-Group", "system:masters")):
    api.api_client.set_default_header(name, value)
opened = stream.stream(api.connect_get_namespaced_pod_exec, "web", "default",
    command=["exit", "7"], stdout=True, stderr=True, _preload_content=False)
opened.run_forever(timeout=60)
print(opened.read_stdout().strip(), opened.read_stderr().strip(), opened.returncode)
"""
    found = alice.run(sys.executable, "-c", script)
    assert found.ok() == "exec exit 7 ended 7\n"


async def test_exec_streams_without_readers_use_bounded_memory(
    target: Target, gateway: GatewayProcess
) -> None:
    memory = Memory(gateway.pid)
    before = memory.settled()
    opened = [await open_exec(target, POD, "flood", str(64 * MIB)) for _ in range(20)]
    # The first is read in whole meanwhile: by then the others have sent what they can.
    reader, _ = opened[0]
    read = 0
    while read < 64 * MIB:
        data = await read_frame(reader)
        read += len(data) - 1 if data[0] == STDOUT else 0
    print(f"20 readers, 1.25 GiB: {memory.peak - before:.0f} MiB more")  # noqa: T201
    for _, writer in opened:
        writer.transport.abort()
    assert memory.peak < before + 20 * 3


async def test_a_hundred_exec_streams_do_not_delay_other_clients(
    target: Target, other: Api, gateway: GatewayProcess
) -> None:
    before = open_sockets(gateway.pid)
    with Witness(other).asking():
        opened = await asyncio.gather(*(open_exec(target, POD, "cat") for _ in range(100)))
        for number, (_, writer) in enumerate(opened):
            writer.write(frame(STDIN, b"%d\n" % number))
        for number, (reader, _) in enumerate(opened):
            got = b""
            while not got.endswith(b"\n%d\n" % number):
                data = await asyncio.wait_for(read_frame(reader), 60)
                got += data[1:] if data[0] == STDOUT else b""
        for _, writer in opened:
            reset(writer)
    await asyncio.to_thread(
        eventually, lambda: open_sockets(gateway.pid) <= before + 20, 30, "connections stay open"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param((), id="no upgrade"),
        pytest.param(upgrade_headers("v9.unknown"), id="unknown protocol"),
        pytest.param(("Connection: Upgrade", "Upgrade: h2c"), id="another upgrade"),
        pytest.param(
            ("Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v9.unknown"),
            id="SPDY of an unknown protocol",
        ),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["sent ahead", "in a body"])
async def test_data_after_a_refused_upgrade_is_not_smuggled_upstream_as_a_request(
    target: Target, wrong: tuple[str, ...], chunked: bool
) -> None:
    """It is the body, or a request of its own by who sends it; upstream it never arrives as one."""
    smuggled = b"GET /api/v1/namespaces/lnamespace-system HTTP/1.1\r\nHost: x\r\n\r\n"
    headers = (*wrong, "Transfer-Encoding: chunked") if chunked else wrong
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(smuggled), smuggled) if chunked else smuggled
    reader, writer = await target.connect()
    await send(writer, target.head("POST", exec_path(POD, "cat"), *headers) + sent + LAST)
    status = await status_of(reader)
    assert 400 <= status < 500
    async with asyncio.timeout(30):
        got = await reader.read()
    writer.transport.abort()
    # The platform has this namespace, and the gateway could read it; the tenant has none.
    # With a body the connection may end before the last request, which alone is answered well.
    assert got.count(b"HTTP/1.1 200") <= 1
    assert b'lnamespace-system","uid' not in got
    assert target.api.answer("GET", "/api/v1/namespaces").status == 200


@pytest.mark.usefixtures("lclusters")
def test_streams_end_with_an_error_when_the_gateway_stops(
    cluster: GatewayCluster, people: People, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After the drain time and ten seconds more, with an error and not in silence."""
    port, log = free_port(), tmp_path_factory.mktemp("stopped") / "log"
    stopped = GatewayProcess(cluster.gateway.kubeconfig, log, port, cluster.certificates)
    stopped.start()
    resident = cluster.behind(STREAMER, people.person("alice"), port=port)
    with kubectl(resident, "exec", "-i", "web", "--", "cat") as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"exec cat\n"
        stopped.stop()
        assert shell.wait(PATIENCE) == 1
        assert shell.stderr is not None
        assert b"error" in shell.stderr.read()
