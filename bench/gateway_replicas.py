"""What further gateways bring: ``python -m bench.gateway_replicas``; see ``--help``.

The same clients are answered by one gateway, by one with two workers, and by two gateways: for some
seconds by GETs of one object, then by lists, and at last by watches. Clients, gateways and control
plane share the processors of this machine, so the CPU of each request says more than the rates.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

from bench.gateway import LISTED, PERSON, TENANT, fill, gateway_cluster, progress
from bench.gateway_watches import changes, fan_out
from bench.plane import Process
from bench.report import Row, machine, table, write
from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.gateway import GatewayCluster, GatewayProcess, Resident
from tests.e2e.support.probes import probe
from tests.e2e.support.processes import free_port
from tests.e2e.support.waiting import eventually

LAYOUTS = {"1 gateway": (1, 1), "1 gateway with 2 workers": (1, 2), "2 gateways": (2, 1)}
"""Gateways, and workers of each."""
CLIENTS, CONNECTIONS = 4, 4
"""Processes that ask at the same time, and connections of each."""
WATCHERS, EVENTS = 20, 300
"""Watches at the same time, and events that each gets."""


@dataclass(frozen=True)
class Served:
    """Gateways, their worker processes, and the kubeconfigs of a person at each."""

    name: str
    processes: tuple[Process, ...]
    kubeconfigs: tuple[Path, ...]

    @property
    def cpu(self) -> float:
        """Return the seconds of CPU of all so far."""
        return sum(each.cpu for each in self.processes)


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(machine(), file=sys.stderr)
    with gateway_cluster() as (cluster, made):
        made.make(TENANT, PERSON)
        resident = made.resident(TENANT, PERSON)
        resident.api.create(NAMESPACES, {"metadata": {"name": "big"}})
        fill(resident.api, "big", LISTED)
        rows = list(_rows(cluster, resident, chosen.seconds))
    print(table(rows))
    write(chosen.json, rows, {})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_replicas", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="of each throughput [8]")
    default = Path("build/bench/gateway_replicas.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


def _rows(cluster: GatewayCluster, resident: Resident, seconds: float) -> Iterator[Row]:
    asked = {
        "GETs": ns_path("default", "configmaps", "kube-root-ca.crt"),
        f"LISTs of {LISTED}": ns_path("big", "secrets"),
    }
    admin = (Path(cluster.environment["KUBECONFIG"]),)
    plain = {
        what: _throughput(admin, path.replace("/namespaces/", f"/namespaces/{TENANT}-"), seconds)
        for what, path in asked.items()
    }
    for name, (gateways, workers) in LAYOUTS.items():
        progress(name)
        with _serving(cluster, resident, name, gateways, workers) as served:
            for what, path in asked.items():
                before = served.cpu
                rate = _throughput(served.kubeconfigs, path, seconds)
                cpu = (served.cpu - before) / (rate * seconds) * 1000
                yield Row(
                    f"{what} of {CLIENTS * CONNECTIONS} connections, {name}",
                    "/s",
                    rate,
                    plain[what],
                )
                yield Row("  CPU of all gateways for each", "ms", cpu)
            yield from _watch_rows(cluster, served)


def _watch_rows(cluster: GatewayCluster, served: Served) -> Iterator[Row]:
    own, up = (ns_path(each, "configmaps") for each in ("default", f"{TENANT}-default"))
    change = changes(
        cluster.admin, f"{TENANT}-default", f"replicas-{served.name.replace(' ', '-')}"
    )
    clients = [Api(each) for each in served.kubeconfigs]
    through = fan_out(served.processes, clients, own, change, WATCHERS, EVENTS)
    plain = fan_out(served.processes, [cluster.admin], up, change, WATCHERS, EVENTS)
    heading = f"write to client of {WATCHERS} watches, p50, {served.name}"
    yield Row(heading, "ms", through.latency, plain.latency)
    yield Row("  CPU of all gateways for each delivery", "ms", through.cpu)


@contextmanager
def _serving(
    cluster: GatewayCluster, resident: Resident, name: str, gateways: int, workers: int
) -> Iterator[Served]:
    """Run gateways of so many workers each."""
    variables = {"LNAMESPACE_GATEWAY_WORKERS": str(workers)}
    stem = name.replace(" ", "-")
    with ExitStack() as stack:
        started = [
            cluster.another_gateway(f"{stem}-{number}", free_port(), **variables)
            for number in range(gateways)
        ]
        for each in started:
            stack.callback(each.stop)
            each.start()
            eventually(partial(_is_ready, each), what="not all workers are ready")
        processes = tuple(process for each in started for process in _with_workers(each.pid))
        inside = [cluster.behind(TENANT, resident.person, port=each.port) for each in started]
        yield Served(name, processes, tuple(each.kubeconfig for each in inside))


def _is_ready(process: GatewayProcess) -> bool:
    try:
        return probe(process, "/readyz")[0] == 200
    except OSError:  # One worker listens already, and the supervisor does not yet.
        return False


def _with_workers(pid: int) -> tuple[Process, ...]:
    """Return a gateway's process, and those of its workers."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return tuple(Process(each) for each in (pid, *map(int, children)))


def _throughput(kubeconfigs: Sequence[Path], path: str, seconds: float) -> float:
    """Return the number of requests a second that several processes had answered."""
    context = multiprocessing.get_context("spawn")
    at = [kubeconfigs[number % len(kubeconfigs)] for number in range(CLIENTS)]
    with ProcessPoolExecutor(CLIENTS, mp_context=context) as pool:
        list(pool.map(partial(_ask, path, 1.0), at))  # They have started.
        return sum(pool.map(partial(_ask, path, seconds), at)) / seconds


def _ask(path: str, seconds: float, kubeconfig: Path) -> int:
    """Return the number of requests that were answered in some seconds, on several connections."""
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        asked = [pool.submit(_ask_one, Api(kubeconfig), path, seconds) for _ in range(CONNECTIONS)]
        return sum(each.result() for each in asked)


def _ask_one(api: Api, path: str, seconds: float) -> int:
    end, count = monotonic() + seconds, 0
    while monotonic() < end:
        api.send("GET", path, b"")
        count += 1
    return count


if __name__ == "__main__":
    sys.exit(main())
