"""What a tenant notices of another one that does its worst: ``python -m bench.starvation``.

One tenant asks at random times: first while nobody else does more than the cluster's nodes, then
while another one lists in a loop by many connections, has as many watches as it may, makes
definitions and the largest objects, and asks for thousands of namespaces. An answer that is late is
measured from when its question was due. At the same rate its objects are asked for directly at the
API server, which shows what part of the waiting is not the gateway's: with ``--direct`` the attack
is made there too.

The attacker and the clients of the other tenant are processes of their own: a client that shares a
thread with the attack would measure itself. All share the processors with what is attacked. So,
where that is allowed, the attacker runs only when nothing else wants to, and the clients before
others; it is told how late they came to ask all the same.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import cast

from bench.greed import Greed, attack, be_nice
from bench.lease_renewals import renewing_leases
from bench.plane import Process
from bench.report import Row, machine, table, write
from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.cluster import running
from tests.e2e.support.floods import Memory, raise_files
from tests.e2e.support.gateway import GatewayCluster, LClusters
from tests.e2e.support.people import People

OBJECT, LISTS = "another tenant's reads of an object", "another tenant's short lists"
_DIRECTLY = "  at the API server directly: "
ATTACKER, VICTIM, PERSON = "greedy", "modest", "alice"
LISTED = 1000
_RATE, _CLIENTS = 20, 10
_ACCOUNTS = "system:serviceaccount:lnamespace-clusters:"
_SETTLED = 10.0
"""Seconds that the attack is given to connect."""


@dataclass
class AnswerTimes:
    """The seconds until each answer, the failures, and how late the requests were sent."""

    seconds: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    failed: Counter[int] = field(default_factory=Counter)

    def add(self, other: "AnswerTimes") -> None:
        """Add the answers of another client."""
        self.seconds += other.seconds
        self.late += other.late
        self.failed += other.failed


def _percentile(seconds: list[float], which: int) -> float:
    """Return a percentile in milliseconds."""
    return quantiles(seconds, n=100)[which - 1] * 1000


@dataclass(frozen=True)
class Asking:
    """A client and its requests, which it sends in turns.

    Parameters
    ----------
    what
        The requests, for people.
    """

    what: str

    kubeconfig: Path
    headers: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(machine(), file=sys.stderr)
    raise_files()
    with (
        tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as folder,
        running(Path(folder), GatewayCluster) as started,
    ):
        rows, more = _measure(cast(GatewayCluster, started), chosen)
    print(table(rows))
    print(json.dumps(more, indent=2))
    write(chosen.json, rows, more)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.starvation", description=__doc__)
    parser.add_argument("--calm", type=float, default=60, help="seconds before the attack [60]")
    parser.add_argument("--seconds", type=float, default=600, help="of the attack [600]")
    directly = "attack the API server, where one is who the gateway is"
    parser.add_argument("--direct", action="store_true", help=directly)
    default = Path("build/bench/starvation.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


def _measure(
    cluster: GatewayCluster, chosen: argparse.Namespace
) -> tuple[list[Row], dict[str, object]]:
    made = LClusters(cluster, People(cluster))
    for name in (ATTACKER, VICTIM):
        made.make(name, PERSON, sudoers=(PERSON,))
    resident, victim = (made.resident(each, PERSON).api for each in (ATTACKER, VICTIM))
    path = ns_path("default", "configmaps")
    victim.create(path, {"metadata": {"name": "one"}, "data": {"key": "value"}})
    _fill(resident)
    greed = Greed(resident.kubeconfig, PERSON)
    if chosen.direct:
        greed = Greed(cluster.gateway.kubeconfig, _ACCOUNTS + ATTACKER, f"{ATTACKER}-default")
    memory = Memory(cluster.gateway.pid)
    with renewing_leases(cluster.admin), _clients(cluster, victim) as clients:
        _ask(clients, 2)
        calm = _ask(clients, chosen.calm)
        memory.forget_peak()
        with _attacked(greed, chosen.seconds + _SETTLED) as answers:
            time.sleep(_SETTLED)
            cpu, flows = _cpu(cluster), _dispatched(cluster.admin)
            busy = _ask(clients, chosen.seconds)
            cpu = {name: used - cpu[name] for name, used in _cpu(cluster).items()}
            flows = _dispatched(cluster.admin) - flows
    rows = [
        *_rows(OBJECT, busy[OBJECT], calm[OBJECT], "<= 2 times"),
        *_rows("  at the API server directly", busy[_DIRECTLY + OBJECT], calm[_DIRECTLY + OBJECT]),
        *_rows(LISTS, busy[LISTS], calm[LISTS], "<= 2 times"),
        *_rows("  at the API server directly", busy[_DIRECTLY + LISTS], calm[_DIRECTLY + LISTS]),
        Row("  asked too late by its clients, p99", "ms", _percentile(busy[OBJECT].late, 99)),
        Row("memory of the gateway, at most", "MiB", memory.peak, None, "< 1024"),
        *(Row(f"CPU of {each}", "%", used / chosen.seconds * 100) for each, used in cpu.items()),
        Row("  of what the gateway wanted to run", "%", _ran(cluster.gateway.pid)),
    ]
    failed = {what: dict(each.failed) for what, each in busy.items()}
    return rows, {"attacker": answers, "flows": flows, "failed": failed}


def _rows(what: str, busy: AnswerTimes, calm: AnswerTimes, goal: str = "") -> Iterator[Row]:
    for which in (50, 99):
        found, before = (_percentile(each.seconds, which) for each in (busy, calm))
        yield Row(f"{what}, p{which}", "ms", found, before, goal if which == 99 else "")
    yield Row("  not answered by 200", "", sum(busy.failed.values()), None, "0")


def _cpu(cluster: GatewayCluster) -> dict[str, float]:
    """Return the seconds of CPU of each process so far."""
    pids = {"the gateway": cluster.gateway.pid, "the controller": cluster.controller.pid}
    for name in ("kube-apiserver", "etcd", "kube-controller-manager"):
        pids[name] = int((cluster.folder / f"{name}.pid").read_text())
    return {name: Process(pid).cpu for name, pid in pids.items()}


def _ran(pid: int) -> float:
    """Return the percentage that a process got of the processor time it wanted, since it began."""
    ran, waited = map(int, Path(f"/proc/{pid}/schedstat").read_text().split()[:2])
    return ran / (ran + waited) * 100


def _fill(api: Api) -> None:
    root = api.acting(PERSON, "system:masters")
    for number in range(LISTED):
        body = {"metadata": {"name": f"o{number}"}, "data": {"key": "v" * 1000}}
        root.create(ns_path("default", "configmaps"), body)


def _dispatched(admin: Api) -> Counter[str]:
    """Return the number of requests that the API server has begun, by FlowSchema."""
    found: Counter[str] = Counter()
    for line in admin.text("/metrics").splitlines():
        if line.startswith("apiserver_flowcontrol_dispatched_requests_total"):
            schema = line.split('flow_schema="')[1].split('"')[0]
            found[schema] += int(float(line.rsplit(" ", 1)[1]))
    return found


@contextmanager
def _attacked(greed: Greed, seconds: float) -> Iterator[dict[str, int]]:
    """Attack for so many seconds; the answers are known afterwards."""
    context, answers = multiprocessing.get_context("spawn"), dict[str, int]()
    told: Queue[dict[str, int]] = context.Queue()
    process = context.Process(target=attack, args=(greed, seconds, told))
    process.start()
    yield answers
    answers |= told.get(timeout=120)
    process.join()


# The other tenant's clients.


@contextmanager
def _clients(cluster: GatewayCluster, victim: Api) -> Iterator[Connection]:
    """Start a process that sends requests through the gateway, and directly."""
    inside, above = ns_path("default", "configmaps"), ns_path(f"{VICTIM}-default", "configmaps")
    # Upstream the tenant is an account that the gateway impersonates, and whose flow it has.
    direct = Api(cluster.gateway.kubeconfig).acting(_ACCOUNTS + VICTIM)
    accounts = ns_path(f"{VICTIM}-default", "serviceaccounts")
    through, beside = (victim.kubeconfig, victim.headers), (direct.kubeconfig, direct.headers[1:])
    asking = (
        Asking(OBJECT, *through, (f"{inside}/one",)),
        Asking(LISTS, *through, (inside, NAMESPACES)),
        Asking(_DIRECTLY + OBJECT, *beside, (f"{above}/one",)),
        Asking(_DIRECTLY + LISTS, *beside, (above, accounts)),
    )
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, asking))
    process.start()
    yield here
    here.send(0.0)
    process.join()


def _ask(clients: Connection, seconds: float) -> dict[str, AnswerTimes]:
    clients.send(seconds)
    found: dict[str, AnswerTimes] = clients.recv()
    return found


def _serve(orders: Connection, asking: tuple[Asking, ...]) -> None:
    """Send requests until told to stop, each time on the connections of before."""
    with suppress(PermissionError):
        be_nice(-10)  # The clients of other tenants are on other machines.
    with ThreadPoolExecutor(_CLIENTS * len(asking)) as pool:
        clients = [(each, Api(each.kubeconfig, each.headers)) for each in asking]
        while seconds := orders.recv():
            found = {each.what: AnswerTimes() for each in asking}
            begun = time.monotonic() + 0.1
            asked = [
                (found[each.what], pool.submit(_ask_alone, api, each.paths, begun, seconds, number))
                for each, api in clients
                for number in range(_CLIENTS)
            ]
            for sum_, future in asked:
                sum_.add(future.result())
            orders.send(found)


def _ask_alone(
    api: Api, paths: tuple[str, ...], begun: float, seconds: float, offset: int
) -> AnswerTimes:
    """Request the paths in turns, at times that are as random as those of people."""
    found, due, chance = AnswerTimes(), begun, Random(f"{paths}{offset}")
    for path in cycle(paths):
        due += chance.expovariate(_RATE / _CLIENTS)
        if due > begun + seconds:
            return found
        free = time.monotonic()
        time.sleep(max(due - free, 0))
        found.late.append(time.monotonic() - max(due, free))
        status = api.status(path)
        found.seconds.append(time.monotonic() - due)
        if status != 200:
            found.failed[status] += 1
    return found


if __name__ == "__main__":
    sys.exit(main())
