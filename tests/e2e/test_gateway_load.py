"""Clients of a gateway that mean harm: its memory is bounded, and others are answered meanwhile.

Most are tried in small by every run, and all by `make thorough` in the numbers of an attacker.
"""

import asyncio
import json
import re
import socket
import struct
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from tests.e2e.support.api import Api, ns_path
from tests.e2e.support.floods import (
    Connection,
    Memory,
    Target,
    Witness,
    client_hello,
    raise_files,
    send,
    status_of,
)
from tests.e2e.support.gateway import GatewayCluster, GatewayProcess, LClusters
from tests.e2e.support.kubelet import node, run_pod
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.versions import REPLAY
from tests.e2e.support.waiting import eventually

ATTACKER, VICTIM = "flooder", "floodee"
MOST = 1024
"""MiB that the chart gives to a gateway."""
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def cluster(
    gateway_cluster: GatewayCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayCluster]:
    """Return the cluster that files about the gateway share, with a node."""
    with node(gateway_cluster.admin, tmp_path_factory.mktemp("load")):
        yield gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters of who attacks and of who is to be served."""
    raise_files()
    made = LClusters(cluster, people)
    for name in (ATTACKER, VICTIM):
        made.make(name, "alice", sudoers=("alice",))
        made.resident(name, "alice")
    return made


@pytest.fixture(scope="module")
def gateway(
    cluster: GatewayCluster, lclusters: LClusters, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """Start a gateway of the file's own, whose memory is that of these tests."""
    del lclusters
    port = free_port()
    made = GatewayProcess(
        cluster.gateway.kubeconfig, tmp_path_factory.mktemp("load") / "log", port,
        cluster.certificates,
    )  # fmt: skip
    made.start()
    yield made
    made.stop()
    assert made.defect not in made.log()


def _inside(cluster: GatewayCluster, people: People, name: str, port: int) -> Api:
    resident = cluster.behind(name, people.person("alice"), port=port)
    return resident.api.acting("alice", "system:masters")


@pytest.fixture(scope="module")
def attacker(cluster: GatewayCluster, people: People, gateway: GatewayProcess) -> Api:
    """Return a sudoer of the attacker's with sudo, at this gateway."""
    return _inside(cluster, people, ATTACKER, gateway.port)


@pytest.fixture
def witness(cluster: GatewayCluster, people: People, gateway: GatewayProcess) -> Iterator[Witness]:
    """Somebody else asks all the time, is answered, and the memory stays within its bound."""
    memory = Memory(gateway.pid)
    memory.forget_peak()
    with Witness(_inside(cluster, people, VICTIM, gateway.port)).asking() as asking:
        yield asking
    assert memory.peak < MOST
    assert gateway.running


def numbers(few: int, many: int) -> pytest.MarkDecorator:
    """Return how many in a run of all tests, and in one of `make thorough`."""
    marked = pytest.param(many, marks=pytest.mark.thorough)
    return pytest.mark.parametrize("count", [few, marked])


@pytest.mark.thorough
@pytest.mark.parametrize("count", [9_500])
async def test_idle_connections_use_little_memory_and_stay_usable(
    count: int, attacker: Api, gateway: GatewayProcess, witness: Witness
) -> None:
    del witness
    before = Memory(gateway.pid).now
    async with Target(attacker).connected(count) as opened:
        assert len(opened) == count
        ask = Target(attacker).head("GET", "/version")
        for reader, writer in opened[:: count // 20]:
            await send(writer, ask)
            assert await status_of(reader) == 200
        each = (Memory(gateway.pid).now - before) / count * 1024
        print(f"{count} idle connections: {each:.0f} KiB each")  # noqa: T201


@numbers(1_000, 12_000)
async def test_silent_connections_do_not_block_other_clients(
    count: int, attacker: Api, witness: Witness
) -> None:
    """They take the place of each other, and no file of anybody else's."""
    del witness
    async with Target(attacker).connected(count, tls=False) as opened:
        assert len(opened) == count
        async with Target(attacker).connected(20) as honest:
            assert len(honest) == 20


@numbers(1_000, 20_000)
async def test_reset_tls_handshakes_do_not_harm_the_gateway(
    count: int, attacker: Api, witness: Witness
) -> None:
    del witness
    hello = client_hello(attacker.tls, attacker.server_name)
    reset = struct.pack("ii", 1, 0)
    for start in range(0, count, 100):
        async with Target(attacker).connected(100, tls=False) as opened:
            for number, (_, writer) in enumerate(opened, start):
                # Before the handshake, in the midst of its first message, and after it.
                writer.write(hello[: (0, len(hello) // 2, len(hello))[number % 3]])
                linger: socket.socket = writer.get_extra_info("socket")
                linger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            await asyncio.sleep(0)


@numbers(100, 2_000)
async def test_endless_headers_are_refused(count: int, attacker: Api, witness: Witness) -> None:
    del witness
    beginning = Target(attacker).head("GET", "/api/v1/pods").removesuffix(b"\r\n")

    async def flood(connection: Connection, header: bytes) -> int:
        reader, writer = connection
        await send(writer, beginning)
        await send(writer, header, 300)
        return await status_of(reader)

    async with Target(attacker).connected(count) as opened:
        headers = (b"x: " + b"y" * 1000 + b"\r\n", b"a:\r\n" * 200, b"z" * 1000)
        answers = await asyncio.gather(
            *(flood(each, headers[number % 3]) for number, each in enumerate(opened))
        )
    # Who goes on sending after the refusal may be cut off before it is read.
    assert set(answers) <= {431, 0}


@pytest.mark.thorough
@pytest.mark.parametrize("count", [2_000])
async def test_half_sent_requests_do_not_harm_the_gateway(
    count: int, attacker: Api, witness: Witness
) -> None:
    del witness
    path = ns_path("default", "configmaps")
    said = ("Content-Type: application/json", f"Content-Length: {4 * MIB}")
    half = Target(attacker).head("POST", path, *said) + b" " * (2 * MIB)
    async with Target(attacker).connected(count) as opened:
        await asyncio.gather(*(send(writer, half) for _, writer in opened))


@pytest.fixture(scope="module")
def large(attacker: Api) -> int:
    """Fill a namespace with as large objects as there may be; how many bytes of them are listed."""
    count, size = 20, MIB
    for number in range(count):
        body = {"metadata": {"name": f"large-{number}"}, "data": {"a": "x" * size}}
        attacker.create(ns_path("kube-public", "configmaps"), body)
    return count * size


@pytest.mark.thorough
@pytest.mark.parametrize("count", [400])
async def test_unread_large_lists_use_bounded_memory(
    count: int, attacker: Api, large: int, gateway: GatewayProcess, witness: Witness
) -> None:
    del witness
    target, path = Target(attacker), ns_path("kube-public", "configmaps")
    async with target.connected(count) as opened:
        await asyncio.gather(*(send(each, target.head("GET", path)) for _, each in opened))
        codes = await asyncio.gather(*(status_of(each) for each, _ in opened))
        assert set(codes) <= {200, 429, 0}
        assert 200 in codes
    # Each is three times 20 MiB for a moment: without a bound, 2.4 GiB.
    print(f"{count} lists of {large // MIB} MiB: {Memory(gateway.pid).peak:.0f} MiB")  # noqa: T201
    again = await asyncio.to_thread(attacker.get, path)
    assert len(again["items"]) >= large // MIB


@pytest.mark.thorough
@pytest.mark.parametrize("count", [400])
async def test_unread_watches_use_bounded_memory(
    count: int, attacker: Api, large: int, gateway: GatewayProcess, witness: Witness
) -> None:
    del witness
    assert large
    target = Target(attacker)
    paths = ("/api/v1/configmaps", ns_path("kube-public", "configmaps"))
    asked = [target.head("GET", f"{path}?{REPLAY}") for path in paths]
    async with target.connected(count) as opened:
        await asyncio.gather(
            *(send(each, asked[number % 2]) for number, (_, each) in enumerate(opened))
        )
        # Eight are begun at once, and the others when these are cut off.
        begun = [asyncio.ensure_future(status_of(each)) for each, _ in opened]
        done, waiting = await asyncio.wait(begun, timeout=5)
        assert {each.result() for each in done} <= {200, 429, 0}
        for each in waiting:
            each.cancel()
    print(f"{count} watches of large objects: {Memory(gateway.pid).peak:.0f} MiB")  # noqa: T201


@numbers(260, 2_000)
async def test_lists_in_a_loop_get_429_only_for_the_client_that_sends_them(
    count: int, attacker: Api, witness: Witness
) -> None:
    """More than 200 under way at once; `python -m bench.starvation` measures what others notice."""
    target, path = Target(attacker), "/api/v1/secrets"
    async with target.connected(count) as opened:
        assert len(opened) == count
        codes: set[int] = set()
        for _ in range(2):
            await asyncio.gather(*(send(each, target.head("GET", path)) for _, each in opened))
            codes |= set(await asyncio.gather(*(status_of(each) for each, _ in opened)))
            if 429 in codes:
                break
    assert 429 in codes
    assert witness.answers[200]


def test_the_api_server_queues_requests_of_tenants_separately(cluster: GatewayCluster) -> None:
    """Each has queues of its own on the level that all have together."""
    flows = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/lnamespace-lclusters"
    schema = cluster.admin.get(flows)
    assert schema["spec"]["distinguisherMethod"] == {"type": "ByUser"}
    gateway = Api(cluster.gateway.kubeconfig)
    for name in (ATTACKER, VICTIM):
        account = f"system:serviceaccount:lnamespace-clusters:{name}"
        acting = gateway.acting(account)
        answer = acting.answer("GET", ns_path(f"{name}-default", "secrets"))
        told = dict(line.split(": ", 1) for line in answer.headers.lower().splitlines())
        assert told["x-kubernetes-pf-flowschema-uid"] == schema["metadata"]["uid"]


@numbers(64, 1024)
async def test_a_request_body_of_a_gigabyte_is_refused_with_bounded_memory(
    count: int, attacker: Api, gateway: GatewayProcess, witness: Witness
) -> None:
    """It is refused after 8 MiB, whatever length it says; in so many MiB here.

    After a flood the heap is in pieces, and the first body of whatever length took up to 65 MiB.
    """
    del witness
    memory = Memory(gateway.pid)
    memory.settled()
    await _send_long_bodies(attacker, 16)
    before = memory.forget_peak()
    await _send_long_bodies(attacker, count)
    assert memory.peak < before + 64


async def _send_long_bodies(attacker: Api, count: int) -> None:
    """Send bodies of so many MiB, which are refused."""
    target, path = Target(attacker), ns_path("default", "configmaps")
    said = "Content-Type: application/json"
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    for length, part in (
        (f"Content-Length: {count * MIB}", b" " * MIB),
        ("Transfer-Encoding: chunked", chunk),
    ):
        reader, writer = await target.connect()
        await send(writer, target.head("POST", path, said, length))
        await send(writer, part, count)
        assert await status_of(reader) in (413, 0)
        writer.transport.abort()


@pytest.fixture(scope="module")
def pod(cluster: GatewayCluster, attacker: Api) -> str:
    """Run a pod, and return its path."""
    account = ns_path(f"{ATTACKER}-default", "serviceaccounts", "default")
    eventually(lambda: cluster.admin.find(account), what="no ServiceAccount to run as")
    container = {"name": "web", "image": "example.com/web"}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    attacker.create(ns_path("default", "pods"), {"metadata": {"name": "web"}, "spec": spec})
    run_pod(cluster.admin, f"{ATTACKER}-default", "web")
    return ns_path("default", "pods", "web")


@numbers(64, 1024)
async def test_a_log_of_a_gigabyte_is_streamed_with_bounded_memory(
    count: int, attacker: Api, pod: str, gateway: GatewayProcess, witness: Witness
) -> None:
    """It passes through as it is read; in so many MiB here."""
    del witness
    target, before = Target(attacker), Memory(gateway.pid).settled()
    reader, writer = await target.connect()
    await send(writer, target.head("GET", f"{pod}/log?limitBytes={count * MIB}"))
    assert await status_of(reader) == 200
    read = 0
    while read < count * MIB:
        part = await reader.read(MIB)
        assert part, "the log ends too soon"
        read += len(part)
    writer.transport.abort()
    assert Memory(gateway.pid).peak < before + 64


@numbers(20, 190)
async def test_unread_logs_use_bounded_memory(
    count: int, attacker: Api, pod: str, gateway: GatewayProcess, witness: Witness
) -> None:
    del witness
    target, before = Target(attacker), Memory(gateway.pid).settled()
    async with target.connected(count) as opened:
        ask = target.head("GET", f"{pod}/log?limitBytes={64 * MIB}")
        await asyncio.gather(*(send(each, ask) for _, each in opened))
        codes = await asyncio.gather(*(status_of(each) for each, _ in opened))
        assert set(codes) == {200}
        await asyncio.sleep(1)
    assert Memory(gateway.pid).peak < before + 64 + 3 * count


def test_connections_and_memory_are_released_after_a_flood(
    attacker: Api, gateway: GatewayProcess
) -> None:
    """The last of the file: what was opened is closed, and everybody is answered."""
    eventually(lambda: _connections(gateway) < 20)
    eventually(lambda: Memory(gateway.pid).now < 300, what="the memory is not given back")
    answer = attacker.answer("GET", "/version")
    assert json.loads(answer.body)["major"]


def _connections(gateway: GatewayProcess) -> int:
    """Return how many clients there are, as the gateway says."""
    with urlopen(f"http://127.0.0.1:{gateway.health}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.search(r"^lnamespace_gateway_connections (\S+)$", text, re.MULTILINE)
    assert found, text
    return int(float(found[1]))
