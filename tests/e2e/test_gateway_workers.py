"""A gateway of two worker processes on one port."""

import json
import os
import shutil
import signal
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import NAMESPACES, Api, Unreachable, ns_path
from tests.e2e.support.gateway import (
    LCLUSTERS,
    GatewayCluster,
    GatewayProcess,
    LClusters,
    Resident,
    make_certificates,
)
from tests.e2e.support.people import People
from tests.e2e.support.probes import metric, probe
from tests.e2e.support.processes import free_port
from tests.e2e.support.waiting import eventually

REQUESTS = "lnamespace_gateway_requests_total"
CONFIG_MAPS = ns_path("default", "configmaps")


class Workers(GatewayProcess):
    """`lnamespace gateway` with two workers."""

    def ready(self, log: str) -> bool:
        """Return whether all workers do their work."""
        del log
        return is_ready(self)

    @property
    def pids(self) -> dict[int, int]:
        """Return the processes of the workers by their numbers, as the system has them."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        numbers = ((number_of(int(each)), int(each)) for each in children)
        return {number: pid for number, pid in numbers if number is not None}


def number_of(pid: int) -> int | None:
    """Return the number of a worker; None of one that has just ended, or just begun."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = [each for each in variables if each.startswith(b"LNAMESPACE_GATEWAY_WORKER=")]
    number: int | None = json.loads(found[0].partition(b"=")[2])["number"] if found else None
    return number


def is_ready(process: GatewayProcess) -> bool:
    with suppress(OSError):
        return probe(process, "/readyz")[0] == 200
    return False


@pytest.fixture(scope="module")
def cluster(published_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about what the platform publishes share."""
    return published_cluster


@pytest.fixture(scope="module")
def gateway(cluster: GatewayCluster) -> Iterator[Workers]:
    """Start a further gateway, with two workers and its audit log on standard output."""
    port = free_port()
    plain = cluster.another_gateway("workers", port)
    log = plain.audit_log.with_suffix(".log")
    process = Workers(plain.kubeconfig, log, port, cluster.certificates)
    process.start({"LNAMESPACE_GATEWAY_WORKERS": "2", "LNAMESPACE_GATEWAY_AUDIT_LOG": "-"})
    yield process
    process.stop()


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People, gateway: Workers) -> Resident:
    """Return a person in an LCluster, by the gateway with workers."""
    made = LClusters(cluster, people)
    made.make("worked", "alice")
    resident = made.resident("worked", "alice")
    there = len(cluster.admin.items(LCLUSTERS))
    knows = partial(metric, gateway, "lnamespace_gateway_lclusters")
    eventually(lambda: knows(worker="0") == knows(worker="1") == there, what="not all are known")
    return cluster.behind("worked", resident.person, port=gateway.port)


def requests_of(gateway: Workers) -> tuple[float, float]:
    """Return how many requests each worker answered."""
    return metric(gateway, REQUESTS, worker="0"), metric(gateway, REQUESTS, worker="1")


def new_connection(resident: Resident) -> Api:
    return Resident(resident.person, resident.kubeconfig).api


def ask_both(gateway: Workers, alice: Resident) -> Counter[int]:
    """Ask on new connections until both workers have answered; return how many each answered."""
    before = requests_of(gateway)
    for count in range(1, 51):
        new_connection(alice).get(NAMESPACES)
        now = requests_of(gateway)
        grown = Counter({number: int(now[number] - before[number]) for number in (0, 1)})
        assert grown.total() == count
        if all(grown[number] > 0 for number in (0, 1)):
            return grown
    raise AssertionError(f"one worker answered all: {grown}")


def test_both_workers_serve_requests_and_each_request_is_counted_once(
    gateway: Workers, alice: Resident
) -> None:
    assert len(gateway.pids) == 2
    ask_both(gateway, alice)
    families = [line for line in probe(gateway, "/metrics")[1].splitlines() if "# TYPE" in line]
    assert len(families) == len(set(families))


def test_a_single_worker_runs_without_a_child_process(cluster: GatewayCluster) -> None:
    own = cluster.gateway.pid
    assert Path(f"/proc/{own}/task/{own}/children").read_text().split() == []
    assert 'worker="' not in probe(cluster.gateway, "/metrics")[1]


def test_a_paginated_list_continues_at_another_worker(gateway: Workers, alice: Resident) -> None:
    for number in range(12):
        alice.api.create(CONFIG_MAPS, {"metadata": {"name": f"page-{number:02}"}})
    before, names, token = requests_of(gateway), [], ""
    pages = 0
    # Over all namespaces, so that the token is one that the gateway seals.
    while pages == 0 or token:
        more = {"continue": token} if token else {}
        page = new_connection(alice).get("/api/v1/configmaps", limit="1", **more)
        names += [each["metadata"]["name"] for each in page["items"]]
        token = page["metadata"].get("continue", "")
        pages += 1
    now = requests_of(gateway)
    assert now[0] > before[0]
    assert now[1] > before[1]
    found = [name for name in names if name.startswith("page-")]
    assert found == [f"page-{number:02}" for number in range(12)]


def test_the_audit_log_has_complete_lines_from_all_workers(
    gateway: Workers, alice: Resident
) -> None:
    since = gateway.position
    asked = ask_both(gateway, alice).total()

    def audited() -> list[str]:
        lines = gateway.log(since).rpartition("\n")[0].splitlines()
        return [line for line in lines if line.startswith('{"kind":"Event"')]

    eventually(lambda: len(audited()) >= asked, what="requests are not in the audit log")
    assert {json.loads(line)["user"]["username"] for line in audited()} == {"alice"}


def test_a_killed_worker_is_restarted_while_the_other_serves_requests(
    gateway: Workers, alice: Resident
) -> None:
    before = gateway.pids
    os.kill(before[0], signal.SIGKILL)
    # The system may have given it a connection that it had not accepted: clients try again.
    eventually(lambda: answers(alice), what="no worker answers")
    eventually(lambda: gateway.pids.get(0, before[0]) != before[0], what="it is not started again")
    eventually(lambda: is_ready(gateway), what="it is not ready again")
    after = gateway.pids
    assert after[1] == before[1]
    ask_both(gateway, alice)
    assert "a worker ended" in gateway.log()


@pytest.mark.thorough
def test_a_worker_that_hangs_makes_the_gateway_unready(gateway: Workers, alice: Resident) -> None:
    ask_both(gateway, alice)
    os.kill(gateway.pids[1], signal.SIGSTOP)
    try:
        eventually(lambda: probe(gateway, "/readyz")[0] == 503, what="it is taken for ready")
        assert "worker 1" in probe(gateway, "/readyz")[1]
        assert metric(gateway, REQUESTS, worker="0") > 0
    finally:
        os.kill(gateway.pids[1], signal.SIGCONT)
    eventually(lambda: is_ready(gateway), what="it is not ready again")


def answers(resident: Resident) -> bool:
    with suppress(OSError, Unreachable):
        new_connection(resident).get(NAMESPACES)
        return True
    return False


def test_all_workers_end_when_the_supervisor_is_killed(cluster: GatewayCluster) -> None:
    """So that none goes on to answer at a port where another gateway is started."""
    process = another(cluster, "killed")
    process.start({"LNAMESPACE_GATEWAY_WORKERS": "2"})
    pids = process.pids.values()
    process.kill()
    eventually(lambda: not any(map(is_alive, pids)), what="a worker is left")


def test_sigterm_drains_all_workers_and_exits_with_status_0(cluster: GatewayCluster) -> None:
    process = another(cluster, "stopped")
    process.start({"LNAMESPACE_GATEWAY_WORKERS": "2"})
    pids = process.pids.values()
    process.stop()  # which sees that it ends with 0
    assert not any(map(is_alive, pids))
    assert process.log().count(" stopped") == 2
    with socket.socket() as probing:
        assert probing.connect_ex(("127.0.0.1", process.port)) != 0


@pytest.mark.thorough
def test_each_worker_serves_a_renewed_certificate(cluster: GatewayCluster, tmp_path: Path) -> None:
    process = another(cluster, "renewed")
    served, renewed = tmp_path / "served", tmp_path / "renewed"
    shutil.copytree(cluster.certificates, served)
    make_certificates(renewed)
    variables = {"LNAMESPACE_GATEWAY_CERTIFICATE_DIRECTORY": str(served)}
    process.start({"LNAMESPACE_GATEWAY_WORKERS": "2"} | variables)
    try:
        assert seen(process) == {(served / "tls.crt").read_text()}
        for name in ("tls.key", "tls.crt"):
            shutil.copy(renewed / name, served)
        new = {(renewed / "tls.crt").read_text()}
        eventually(lambda: seen(process) == new, what="a worker serves the old certificate")
    finally:
        process.stop()


def seen(process: Workers) -> set[str]:
    """Return the certificates that so many connections see that both workers are among them."""
    return {ssl.get_server_certificate(("127.0.0.1", process.port)) for _ in range(30)}


@pytest.mark.thorough
def test_workers_that_cannot_start_end_the_gateway(cluster: GatewayCluster) -> None:
    process = another(cluster, "broken")
    process.launch(
        {"LNAMESPACE_GATEWAY_WORKERS": "2", "LNAMESPACE_GATEWAY_CERTIFICATE_DIRECTORY": "/nowhere"}
    )
    assert process.wait() == 1
    assert "--gateway-certificate-directory" in process.log()
    assert "before it was ready" in process.log()


def another(cluster: GatewayCluster, name: str) -> Workers:
    plain, port = cluster.another_gateway(name, 1), free_port()
    log = plain.audit_log.with_suffix(".log")
    return Workers(plain.kubeconfig, log, port, cluster.certificates)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
