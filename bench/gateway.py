"""What the tenant gateway costs: ``python -m bench.gateway``; see ``--help``.

Each request goes through the gateway, as a person inside an LCluster, and beside it directly to the
API server, for the same object, in turns and on connections that are kept. CPU is that of the
gateway's process alone, beside that of a relay in Python that only terminates both TLS connections.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import cast

from bench.plane import Process
from bench.relay import relay
from bench.report import Row, machine, table, write
from tests.e2e.support.api import GROUP, MERGE, NAMESPACES, Api, ns_path
from tests.e2e.support.cluster import running
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.waiting import eventually

TENANT, PERSON = "acme", "alice"
FIRST = 5
"""The number of LClusters whose first answer is measured, one after the other."""
LISTED = 1000
SPACES = 10
"""Namespaces that a list over all of them reads; each holds a tenth of as many objects."""

Request = Callable[[], object]
PlainRequest = Callable[[Api], object]
"""The same request in upstream spelling, directly or by the relay."""


@dataclass(frozen=True)
class Beside:
    """The same requests to both."""

    gateway: list[float]
    direct: list[float]
    cpu: float
    """The CPU time of the gateway for each request, in milliseconds."""
    relay_cpu: float
    """That of the relay for the same request."""

    @property
    def medians(self) -> tuple[float, float]:
        """Return milliseconds through the gateway, and directly."""
        return median(self.gateway) * 1000, median(self.direct) * 1000


@dataclass(frozen=True)
class NamespaceClients:
    """A namespace of an LCluster, from inside and directly."""

    inside: Api
    direct: Api
    relayed: Api
    process: Process
    relay: Process

    def beside(self, samples: int, through: Request, plain: PlainRequest) -> Beside:
        """Measure both in turns, after some requests that do not count."""
        for _ in range(3):
            through()
            plain(self.direct)
            plain(self.relayed)
        gateway, direct, cpu, relay_cpu = [], [], 0.0, 0.0
        for _ in range(samples):
            before = self.process.cpu
            gateway.append(_seconds(through))
            cpu += self.process.cpu - before
            direct.append(_seconds(partial(plain, self.direct)))
            before = self.relay.cpu
            plain(self.relayed)
            relay_cpu += self.relay.cpu - before
        return Beside(gateway, direct, cpu / samples * 1000, relay_cpu / samples * 1000)


def _seconds(request: Request) -> float:
    began = time.perf_counter()
    request()
    return time.perf_counter() - began


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(machine(), file=sys.stderr)
    with gateway_cluster() as (cluster, made):
        rows = list(_rows(cluster, made, chosen))
    print(table(rows))
    write(chosen.json, rows, {})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument("--samples", type=int, default=300, help="of each request [300]")
    parser.add_argument("--burst", type=int, default=100, help="LClusters made at once [100]")
    default = Path("build/bench/gateway.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


@contextmanager
def gateway_cluster() -> Iterator[tuple[GatewayCluster, LClusters]]:
    """Make a cluster with a gateway, which is deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as folder,
        running(Path(folder), GatewayCluster) as started,
    ):
        cluster = cast(GatewayCluster, started)
        yield cluster, LClusters(cluster, People(cluster))


def _rows(cluster: GatewayCluster, made: LClusters, chosen: argparse.Namespace) -> Iterator[Row]:
    progress("LClusters, and their first requests")
    process = Process(cluster.gateway.pid)
    names = [TENANT, *(f"first{number}" for number in range(1, FIRST))]
    for name in names:
        made.person_without_access(name, PERSON)  # Their certificate is no part of it.
    waited = [_seconds(partial(_first_answer, made, name)) * 1000 for name in names]
    what = "LCluster made, until kubectl answers in it, p50"
    yield Row(what, "ms", median(waited), None, "<= 500 ms")
    resident = made.resident(TENANT, PERSON)
    # First: what they need is not to be seen in a process that has held large lists.
    yield from _burst_rows(cluster, process, chosen.burst)
    port, admin = free_port(), Path(cluster.environment["KUBECONFIG"])
    with relay(port, admin, cluster.certificates) as relaying:
        relayed = Api(cluster.behind("relay", resident.person, port=port).kubeconfig)
        clients = NamespaceClients(resident.api, cluster.admin, relayed, process, relaying)
        yield from _single_rows(clients, chosen.samples)
        yield from _list_rows(clients, chosen.samples // 10)
        yield from _document_rows(clients, resident, chosen.samples // 10)


def _first_answer(made: LClusters, name: str) -> None:
    made.make(name, PERSON)
    made.resident(name, PERSON)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _single_rows(clients: NamespaceClients, samples: int) -> Iterator[Row]:
    progress("single objects")
    body = {"metadata": {"name": "one"}, "data": {"key": "value"}}
    inside, direct = ns_path("default", "configmaps"), ns_path(f"{TENANT}-default", "configmaps")
    clients.inside.create(inside, body)
    patch = {"data": {"key": "other"}}
    generated = {"metadata": {"generateName": "many-"}, "data": {"key": "value"}}
    yield from _compared("GET", 1.5, clients.beside(
        samples,
        lambda: clients.inside.get(f"{inside}/one"),
        lambda api: api.get(f"{direct}/one"),
    ), "<= 0.2 ms")  # fmt: skip
    yield from _compared("create", 1.5, clients.beside(
        samples,
        lambda: clients.inside.create(inside, generated),
        lambda api: api.create(direct, generated),
    ))  # fmt: skip
    yield from _compared("patch", 1.5, clients.beside(
        samples,
        lambda: clients.inside.patch(f"{inside}/one", patch, MERGE),
        lambda api: api.patch(f"{direct}/one", patch, MERGE),
    ))  # fmt: skip


def _list_rows(clients: NamespaceClients, samples: int) -> Iterator[Row]:
    progress("lists")
    for number in range(SPACES):
        clients.inside.create(NAMESPACES, {"metadata": {"name": f"s{number}"}})
    spaces = [f"s{number}" for number in range(SPACES)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: fill(clients.inside, name, LISTED // SPACES), spaces))
    clients.inside.create(NAMESPACES, {"metadata": {"name": "big"}})
    fill(clients.inside, "big", LISTED)
    yield from _compared(f"LIST of {LISTED}", 2, clients.beside(
        samples,
        lambda: clients.inside.get(ns_path("big", "secrets")),
        lambda api: api.get(ns_path(f"{TENANT}-big", "secrets")),
    ), "<= 12 ms")  # fmt: skip
    selector = {"labelSelector": "bench=yes"}
    yield from _compared(f"LIST of {2 * LISTED} in all namespaces", 2, clients.beside(
        samples,
        lambda: clients.inside.get("/api/v1/secrets", **selector),
        lambda api: api.get("/api/v1/secrets", **selector),
    ))  # fmt: skip


def fill(api: Api, namespace: str, count: int) -> None:
    """Make Secrets of a thousand bytes in a namespace."""
    for number in range(count):
        metadata = {"name": f"o{number}", "labels": {"bench": "yes"}}
        body = {"metadata": metadata, "stringData": {"key": "v" * 1000}}
        api.create(ns_path(namespace, "secrets"), body)


def _document_rows(clients: NamespaceClients, resident: Resident, samples: int) -> Iterator[Row]:
    progress("discovery and OpenAPI")
    cold = Resident(resident.person, resident.kubeconfig).api
    yield Row("OpenAPI v2, the first time", "ms", _seconds(lambda: cold.text("/openapi/v2")) * 1000)
    for path in ("/openapi/v2", "/apis"):
        through = partial(clients.inside.text, path)
        asked = clients.beside(samples, through, partial(_text_at, path))
        yield from _compared(f"{path}, asked again", 1.5, asked, "<= 5 ms")


def _text_at(path: str, api: Api) -> str:
    return api.text(path)


def _burst_rows(cluster: GatewayCluster, process: Process, count: int) -> Iterator[Row]:
    progress(f"{count} LClusters at once")
    before = process.memory
    made = LClusters(cluster, People(cluster))
    names = [f"burst{number}" for number in range(count)]
    began = time.perf_counter()
    type_ = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster"}
    for name in names:
        cluster.admin.create(LCLUSTERS, {**type_, "metadata": {"name": name}, "spec": {}})
    eventually(lambda: all(made.is_ready(name) for name in names), what="not all are ready")
    yield Row(f"{count} LClusters, until all are Ready", "s", _since(began) / 1000, None, "<= 10 s")
    grown = (process.memory - before) * 1024 / count
    yield Row("memory for each LCluster that rests", "KiB", grown, None, "<= 100 KiB")
    yield Row("memory of the gateway", "MiB", process.memory, None, "< 150")


def _compared(name: str, goal: float, found: Beside, cpu_goal: str = "") -> Iterator[Row]:
    gateway, direct = found.medians
    yield Row(f"{name}, p50", "ms", gateway, direct, f"<= {goal:g}")
    what = "  CPU of the gateway, and of a relay"
    yield Row(what, "ms", found.cpu, found.relay_cpu, cpu_goal)


def progress(text: str) -> None:
    """Print what is measured now."""
    print(f"... {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
