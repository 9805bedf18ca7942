"""What watches cost through the tenant gateway, and lists while the cluster grows.

``python -m bench.gateway_watches``; see ``--help``. CPU and memory are those of the gateway's
process alone; a delivery is one event that reached one client.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import msgspec

from bench.gateway import PERSON, TENANT, fill, gateway_cluster, progress
from bench.plane import Process
from bench.report import Row, machine, table, write
from tests.e2e.support.api import MERGE, NAMESPACES, Api, OpenAnswer, ns_path
from tests.e2e.support.gateway import GatewayCluster, LClusters

OWN = 1100
"""Secrets of the LCluster whose list is measured."""
OTHERS = 10
"""How many times as many there are of another LCluster afterwards."""
_REST_SECONDS = 30
KINDS = (
    *(f"/api/v1/{each}" for each in (
        "configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods",
        "replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts",
        "services",
    )),
    *(f"/apis/apps/v1/{each}" for each in ("deployments", "replicasets", "statefulsets")),
    "/apis/autoscaling/v2/horizontalpodautoscalers",
    "/apis/batch/v1/jobs",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/networking.k8s.io/v1/ingresses",
    "/apis/policy/v1/poddisruptionbudgets",
)  # fmt: skip
"""The kinds that informers of each LCluster watch at rest."""


class _Data(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Data


_event = msgspec.json.Decoder(_Event)


@dataclass(frozen=True)
class FanOut:
    """The times until events were delivered, in milliseconds, and the cost of each delivery."""

    latency: float
    cpu: float


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(machine(), file=sys.stderr)
    with gateway_cluster() as (cluster, made):
        made.make(TENANT, PERSON)
        inside = made.resident(TENANT, PERSON).api
        rows = [
            *_fan_out_rows(cluster, inside, chosen),
            *_rest_rows(cluster, made, chosen.tenants),
            *_growth_rows(made, inside),
        ]
    print(table(rows))
    write(chosen.json, rows, {})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_watches", description=__doc__)
    parser.add_argument("--watchers", type=int, default=20, help="of the same events [20]")
    parser.add_argument("--events", type=int, default=300, help="that each gets [300]")
    parser.add_argument("--tenants", type=int, default=20, help="with informers at rest [20]")
    default = Path("build/bench/gateway_watches.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


def _fan_out_rows(
    cluster: GatewayCluster, inside: Api, chosen: argparse.Namespace
) -> Iterator[Row]:
    process = Process(cluster.gateway.pid)
    for name, of in (("a namespace", "default"), ("all namespaces", "")):
        progress(f"{chosen.watchers} watchers of {name}, {chosen.events} events")
        change = changes(cluster.admin, f"{TENANT}-default", f"fan-out-{of or 'all'}")
        own, whole = ns_path("default", "configmaps"), "/api/v1/configmaps"
        up = ns_path(f"{TENANT}-default", "configmaps")
        sizes = chosen.watchers, chosen.events
        through = fan_out([process], [inside], own if of else whole, change, *sizes)
        plain = fan_out([process], [cluster.admin], up if of else whole, change, *sizes)
        heading = f"watch of {name}, write to client, p50"
        yield Row(heading, "ms", through.latency, plain.latency)
        yield Row("  CPU of the gateway for each delivery", "ms", through.cpu, None, "<= 0.05 ms")


def changes(admin: Api, namespace: str, name: str) -> Callable[[int], float]:
    """Return a function that changes an object and returns when it began."""
    path = ns_path(namespace, "configmaps")
    admin.create(path, {"metadata": {"name": name}, "data": {}})

    def change(number: int) -> float:
        began = time.perf_counter()
        admin.patch(f"{path}/{name}", {"data": {"number": str(number)}}, MERGE)
        return began

    return change


def fan_out(
    processes: Sequence[Process],
    clients: Sequence[Api],
    path: str,
    change: Callable[[int], float],
    watchers: int,
    events: int,
) -> FanOut:
    """Measure events from a write to each of so many watchers, which take turns at the clients."""
    first = time.time_ns()
    numbers = range(first, first + events)
    with ThreadPoolExecutor(watchers) as pool:
        streams = [each.opened(f"{path}?watch=1") for each in islice(cycle(clients), watchers)]
        reading = [pool.submit(_arrivals, each, numbers) for each in streams]
        before = sum(each.cpu for each in processes)
        began = [change(number) for number in numbers]
        arrived = [each.result() for each in reading]
        cpu = sum(each.cpu for each in processes) - before
    for each in streams:
        each.close()
    taken = [
        (then - start) * 1000 for times in arrived for start, then in zip(began, times, strict=True)
    ]
    return FanOut(median(taken), cpu * 1000 / (watchers * events))


def _arrivals(stream: OpenAnswer, numbers: Sequence[int]) -> list[float]:
    """Return when each of the changes arrived; they come in their order."""
    wanted = [str(each) for each in numbers]
    arrived: list[float] = []
    while len(arrived) < len(wanted):
        found = _event.decode(stream.readline())
        if found.object.data.get("number") == wanted[len(arrived)]:
            arrived.append(time.perf_counter())
    return arrived


def _rest_rows(cluster: GatewayCluster, made: LClusters, tenants: int) -> Iterator[Row]:
    progress(f"informers of {len(KINDS)} kinds in {tenants} LClusters")
    process = Process(cluster.gateway.pid)
    streams: list[OpenAnswer] = []
    names = [f"resting{number}" for number in range(tenants)]
    for name in names:
        made.make(name, PERSON)
    people = [made.resident(name, PERSON).api for name in names]
    for api in people:
        api.create(NAMESPACES, {"metadata": {"name": "fifth"}})
    before = process.memory
    for api in people:
        streams += [api.opened(f"{kind}?watch=1&allowWatchBookmarks=1") for kind in KINDS]
    watches = len(streams)
    began, cpu = time.perf_counter(), process.cpu
    time.sleep(_REST_SECONDS)
    spent = (process.cpu - cpu) / (time.perf_counter() - began)
    heading = f"{watches} watches over 5 namespaces each, at rest"
    yield Row(f"{heading}: memory for each", "KiB", (process.memory - before) * 1024 / watches)
    yield Row("  CPU of the gateway", "ms/s", spent * 1000)
    for each in streams:
        each.close()


def _growth_rows(made: LClusters, inside: Api) -> Iterator[Row]:
    progress(f"a list of {OWN} Secrets, before and after there are {OTHERS} times as many")
    spaces = ("default", "kube-public", "kube-system", "kube-node-lease")
    for space in spaces:
        fill(inside, space, OWN // len(spaces))
    before = _listed(inside)
    made.make("neighbour", PERSON)
    other = made.resident("neighbour", PERSON).api
    with ThreadPoolExecutor(8) as pool:
        for number in range(OTHERS):
            other.create(NAMESPACES, {"metadata": {"name": f"s{number}"}})
        list(pool.map(lambda number: fill(other, f"s{number}", OWN), range(OTHERS)))
    name = f"LIST of {OWN} in all namespaces of an LCluster, p50"
    yield Row(name, "ms", before)
    yield Row(f"  with {OWN * OTHERS} of another LCluster", "ms", _listed(inside), before, "<= 1.1")


def _listed(inside: Api) -> float:
    times = []
    for _ in range(30):
        began = time.perf_counter()
        inside.get("/api/v1/secrets", labelSelector="bench=yes")
        times.append((time.perf_counter() - began) * 1000)
    return median(times)


if __name__ == "__main__":
    sys.exit(main())
