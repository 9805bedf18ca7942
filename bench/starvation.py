"""What a tenant notices of another one that does its worst: ``python -m bench.starvation``.

One tenant asks at a fixed rate: first while nothing else happens, then while another one lists in a
loop by many connections, has as many watches as it may, makes definitions and the largest objects,
and asks for thousands of namespaces. An answer that is late is measured from when its question was
due. The attacker's own processes are at the lowest priority, for they share the processors with
what they attack.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.queues import Queue
from pathlib import Path
from statistics import quantiles
from typing import cast

from bench.plane import Process
from bench.report import Row, machine, table, write
from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.cluster import running
from tests.e2e.support.floods import Connection, Memory, Target, raise_files
from tests.e2e.support.gateway import GatewayCluster, LClusters
from tests.e2e.support.people import People

ATTACKER, VICTIM, PERSON = "greedy", "modest", "alice"
LISTERS, WATCHES, WRITERS = 250, 1000, 16
LISTED, DEFINITIONS, ASKED_FOR = 1000, 100, 10_000
_RATE, _CLIENTS = 20, 10
_AGAIN = 0.05
_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READ = 1 << 20


@dataclass
class Asked:
    """Seconds until each answer, and what was no answer."""

    seconds: list[float] = field(default_factory=list)
    failed: Counter[int] = field(default_factory=Counter)

    def percentile(self, which: int) -> float:
        """Return milliseconds."""
        return quantiles(self.seconds, n=100)[which - 1] * 1000


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(machine(), file=sys.stderr)
    raise_files()
    with (
        tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as folder,
        running(Path(folder), GatewayCluster) as started,
    ):
        rows, more = _measure(cast(GatewayCluster, started), chosen.calm, chosen.seconds)
    print(table(rows))
    print(json.dumps(more, indent=2))
    write(chosen.json, rows, more)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.starvation", description=__doc__)
    parser.add_argument("--calm", type=float, default=60, help="seconds before the attack [60]")
    parser.add_argument("--seconds", type=float, default=600, help="of the attack [600]")
    default = Path("build/bench/starvation.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


def _measure(
    cluster: GatewayCluster, calm: float, seconds: float
) -> tuple[list[Row], dict[str, object]]:
    made = LClusters(cluster, People(cluster))
    for name in (ATTACKER, VICTIM):
        made.make(name, PERSON, sudoers=(PERSON,))
    resident = made.resident(ATTACKER, PERSON)
    victim = made.resident(VICTIM, PERSON).api
    path = ns_path("default", "configmaps")
    victim.create(path, {"metadata": {"name": "one"}, "data": {"key": "value"}})
    _fill(resident.api)
    gateway, memory = Process(cluster.gateway.pid), Memory(cluster.gateway.pid)
    _ask(victim, path, 2)
    before = _ask(victim, path, calm)
    memory.forget_peak()
    context = multiprocessing.get_context("spawn")
    told: Queue[dict[str, int]] = context.Queue()
    attack = context.Process(target=_attack, args=(resident.kubeconfig, seconds + 10, told))
    attack.start()
    time.sleep(10)  # until it has connected
    began, flows = gateway.cpu, _dispatched(cluster.admin)
    during = _ask(victim, path, seconds)
    flows = _dispatched(cluster.admin) - flows
    answers = told.get(timeout=120)
    attack.join()
    (p50, p99), (calm50, calm99) = (
        (each.percentile(50), each.percentile(99)) for each in (during, before)
    )
    rows = [
        Row("another tenant's requests, p50", "ms", p50, calm50),
        Row("another tenant's requests, p99", "ms", p99, calm99, "<= 2 times"),
        Row("  not answered by 200", "", sum(during.failed.values()), None, "0"),
        Row("memory of the gateway, at most", "MiB", memory.peak, None, "< 1024"),
        Row("CPU of the gateway", "%", (gateway.cpu - began) / seconds * 100, None),
        Row("  of what it wanted to run", "%", _ran(cluster.gateway.pid), None),
    ]  # fmt: skip
    return rows, {"attacker": answers, "flows": flows, "failed": dict(during.failed)}


def _ran(pid: int) -> float:
    """Return how much of the processors a process got of what it wanted, since it began."""
    ran, waited = map(int, Path(f"/proc/{pid}/schedstat").read_text().split()[:2])
    return ran / (ran + waited) * 100


def _fill(api: Api) -> None:
    root = api.acting(PERSON, "system:masters")
    for number in range(LISTED):
        body = {"metadata": {"name": f"o{number}"}, "data": {"key": "v" * 1000}}
        root.create(ns_path("default", "configmaps"), body)


def _ask(api: Api, path: str, seconds: float) -> Asked:
    """Ask by several clients at a rate together, each on a connection that it keeps."""
    found = Asked()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for each in pool.map(
            lambda number: _ask_alone(api, path, seconds, number), range(_CLIENTS)
        ):
            found.seconds += each.seconds
            found.failed += each.failed
    return found


def _ask_alone(api: Api, path: str, seconds: float, offset: int) -> Asked:
    """Ask in turns for one object, a list of few, and the namespaces."""
    found, begun = Asked(), time.monotonic() + offset / _RATE
    paths = (f"{path}/one", path, NAMESPACES)
    for number in range(int(seconds * _RATE / _CLIENTS)):
        due = begun + number * _CLIENTS / _RATE
        time.sleep(max(due - time.monotonic(), 0))
        status = api.status(paths[number % len(paths)])
        found.seconds.append(time.monotonic() - due)
        if status != 200:
            found.failed[status] += 1
    return found


def _dispatched(admin: Api) -> Counter[str]:
    """Return how many requests the API server has let in, by FlowSchema."""
    found: Counter[str] = Counter()
    for line in admin.text("/metrics").splitlines():
        if line.startswith("apiserver_flowcontrol_dispatched_requests_total"):
            schema = line.split('flow_schema="')[1].split('"')[0]
            found[schema] += int(float(line.rsplit(" ", 1)[1]))
    return found


def _attack(kubeconfig: Path, seconds: float, told: "Queue[dict[str, int]]") -> None:
    os.nice(19)
    raise_files()
    answers: Counter[str] = Counter()
    asyncio.run(_do_the_worst(Target(Api(kubeconfig)), seconds, answers))
    told.put(dict(answers))


async def _do_the_worst(target: Target, seconds: float, answers: Counter[str]) -> None:
    sudo = Target(target.api.acting(PERSON, "system:masters"))
    space = ns_path("default", "configmaps")
    work: list[Awaitable[None]] = [
        *(_again(target, "list", space, answers) for _ in range(LISTERS // 2)),
        *(_again(target, "list all", "/api/v1/configmaps", answers) for _ in range(LISTERS // 2)),
        *(_watch(target, answers) for _ in range(WATCHES // 4)),
        *(_write(sudo, "large", space, answers) for _ in range(WRITERS)),
        *(_write(sudo, "definition", _CRD, answers) for _ in range(WRITERS)),
        *(_write(sudo, "namespace", NAMESPACES, answers) for _ in range(WRITERS)),
    ]
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*work)
    except TimeoutError:
        return


@asynccontextmanager
async def _connection(target: Target) -> AsyncIterator[Connection]:
    reader, writer = await target.connect()
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _ever(what: str, answers: Counter[str], turn: Callable[[], Awaitable[None]]) -> None:
    """Connect again and again."""
    while True:
        try:
            await turn()
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError):
            answers[f"{what} cut"] += 1
            await asyncio.sleep(_AGAIN)


async def _again(target: Target, what: str, path: str, answers: Counter[str]) -> None:
    """List in a loop, whatever is answered."""

    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            while True:
                writer.write(target.head("GET", path))
                answers[f"{what} {await _answer(reader)}"] += 1

    await _ever(what, answers, turn)


async def _watch(target: Target, answers: Counter[str]) -> None:
    """Watch all namespaces, four at first, from what is there."""
    path = "/api/v1/configmaps?watch=true&timeoutSeconds=30"

    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            writer.write(target.head("GET", path))
            answers[f"watch {(await reader.readline()).split()[1].decode()}"] += 1
            while await reader.read(_READ):
                pass
        await asyncio.sleep(_AGAIN)

    await _ever("watch", answers, turn)


_numbers = count()


async def _write(target: Target, what: str, path: str, answers: Counter[str]) -> None:
    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            while True:
                number = next(_numbers)
                body = json.dumps(_body(what, number)).encode()
                said = ("Content-Type: application/json", f"Content-Length: {len(body)}")
                writer.write(target.head("POST", path, *said) + body)
                answers[f"{what} {await _answer(reader)}"] += 1

    await _ever(what, answers, turn)


def _body(what: str, number: int) -> dict[str, object]:
    """Return what is to be made; of large ones and definitions so many, and again."""
    if what == "namespace":
        return {"metadata": {"name": f"n{number % ASKED_FOR}"}}
    if what == "large":
        return {"metadata": {"name": f"l{number % 50}"}, "data": {"a": "x" * 3_000_000}}
    group, plural = "example.com", f"things{number % DEFINITIONS}"
    names = {"plural": plural, "kind": plural.capitalize()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


async def _answer(reader: asyncio.StreamReader) -> int:
    """Read an answer; its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    length = next(line for line in lines if line.lower().startswith(b"content-length:"))
    left = int(length.split(b":")[1])
    while left:
        part = await reader.read(min(left, _READ))
        if not part:
            raise ConnectionResetError
        left -= len(part)
    return int(lines[0].split()[1])


if __name__ == "__main__":
    sys.exit(main())
