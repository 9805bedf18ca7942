"""Run the benchmark: ``python -m bench [--count N]``; see ``--help``."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from bench import convergence, latency
from bench.client import connect
from bench.convergence import Convergence, names
from bench.failover import failover
from bench.latency import Latency
from bench.plane import Plane, plane
from bench.report import Row, machine, table, write
from bench.restart import OWN_WRITES, Restart, restart
from bench.startup import startup
from bench.tenants import OBJECTS

Latencies = dict[str, Latency]


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.count} LNamespaces, {chosen.runs} runs", file=sys.stderr)
    plain, ours = [], []
    floors: Latencies = {}
    for run in range(chosen.runs):
        last = run == chosen.runs - 1
        _progress(f"run {run + 1}: a bare client creates them")
        with plane() as fresh:
            plain.append(uvloop.run(convergence.bare(fresh, chosen.count)))
            if last:
                floors = uvloop.run(_floors(fresh, chosen))
        _progress(f"run {run + 1}: the controller creates them")
        with plane() as fresh:
            with fresh.controller() as controller:
                idle = controller.memory
                ours.append(uvloop.run(convergence.controlled(fresh, chosen.count, controller)))
                loaded = controller.memory
                if last:
                    measured = uvloop.run(_latencies(fresh, chosen))
                    starts = startup(fresh)
            if last:
                _progress("restarting the controller")
                again = uvloop.run(restart(fresh, names(chosen.count)[-1]))
                _progress("killing the controller that leads")
                outages = uvloop.run(failover(fresh, names(chosen.count)[-1]))
    rows = [
        *_convergence_rows(plain, ours, chosen.count),
        *_latency_rows(measured, floors),
        *_restart_rows(again, chosen.count, idle, loaded),
        *_failover_rows(outages),
        *_startup_rows(starts),
    ]
    print(table(rows))
    write(chosen.json, rows, _details(plain, ours, again))
    print(f"\nalso as JSON: {chosen.json}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="LNamespaces at once [1000]")
    parser.add_argument("--runs", type=int, default=3, help="runs; the median counts [3]")
    parser.add_argument("--samples", type=int, default=100, help="samples of a latency [100]")
    default = Path("build/bench.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


async def _floors(on: Plane, chosen: argparse.Namespace) -> Latencies:
    tenants, samples = names(chosen.count), min(chosen.samples, chosen.count)
    async with connect(on.admin_kubeconfig) as admin, connect(on.controller_kubeconfig) as us:
        _progress("floors: the same changes by hand")
        return {
            "create": await latency.measure(samples, latency.creation_floor(admin, us)),
            "revoke": await latency.measure(samples, latency.revocation_floor(admin, tenants)),
        }


async def _latencies(on: Plane, chosen: argparse.Namespace) -> Latencies:
    tenants, samples = names(chosen.count), min(chosen.samples, chosen.count // 4)
    idle, busy, broken, churned = (tenants[i * samples : (i + 1) * samples] for i in range(4))
    async with connect(on.admin_kubeconfig) as admin:
        _progress("latencies: create, revoke, repair")
        found = {
            "create": await latency.measure(samples, latency.creation(admin)),
            "revoke": await latency.measure(samples, latency.revocation(admin, idle)),
            "repair": await latency.measure(samples, latency.repair(admin, broken)),
        }
        _progress("latencies: revoke while others are edited")
        async with latency.churn(admin, churned):
            sample = latency.revocation(admin, busy)
            found["revoke under churn"] = await latency.measure(samples, sample)
        return found


def _convergence_rows(plain: list[Convergence], ours: list[Convergence], count: int) -> list[Row]:
    seconds = median(run.seconds for run in ours), median(run.seconds for run in plain)
    written = sum(ours[-1].writes.values()), sum(plain[-1].writes.values())
    return [
        Row(f"{count} at once, all Ready", "s", *seconds, "<= 1", "4.4 to 5.4"),
        Row("writes for each, its own creation included", "", written[0] / count,
            written[1] / count, f"{OBJECTS} objects + 3", "14.1 for 6 objects"),
        Row("controller CPU for each", "ms", ours[-1].cpu / count * 1000),
    ]  # fmt: skip


def _latency_rows(measured: Latencies, floors: Latencies) -> list[Row]:
    create, create_floor = measured["create"], floors["create"]
    revoke, busy, floor = measured["revoke"], measured["revoke under churn"], floors["revoke"]
    repair = measured["repair"]
    return [
        Row("create to Ready, p50", "ms", create.p50, create_floor.p50, "<= 1.5", "3.3"),
        Row("create to Ready, p99", "ms", create.p99, create_floor.p99, "", "0.9"),
        Row("edit to revoked, p50", "ms", revoke.p50, floor.p50, "<= 3", "9.1"),
        Row("edit to revoked, p99", "ms", revoke.p99, floor.p99, "", "4.5"),
        Row("  with 5 edits/s elsewhere, p50", "ms", busy.p50, floor.p50, "", "27"),
        Row("  with 5 edits/s elsewhere, p99", "ms", busy.p99, floor.p99, "< 100 ms", "203 ms"),
        Row("binding deleted to back, p50", "ms", repair.p50, floor.p50, "", "6.8"),
        Row("binding deleted to back, p99", "ms", repair.p99, floor.p99, "< 1 s", "6.9"),
    ]


def _restart_rows(found: Restart, count: int, idle: float, loaded: float) -> list[Row]:
    written = sum(found.writes.values()) - OWN_WRITES
    return [
        Row("restart: caught up after", "s", found.caught_up, found.listed, "<= 2"),
        Row("restart: an edit in force after", "s", found.edit_in_force, None, "", "11.5 to 14.7"),
        Row("restart: reads", "", sum(found.reads.values()), None, "", "16,060"),
        Row("restart: writes", "", written, None, "0", "2,009"),
        Row("memory, none", "MiB", idle, None, "", "84"),
        Row("memory, all", "MiB", loaded, None, "< 200", "140"),
        Row("memory for each", "KiB", (loaded - idle) * 1024 / count, None, "", "57"),
    ]


def _failover_rows(found: dict[str, float]) -> list[Row]:
    return [
        Row(f"leader {how}: an edit in force after", "s", seconds, None, "< 20 s")
        for how, seconds in found.items()
    ]


def _startup_rows(found: dict[str, float]) -> list[Row]:
    plain = found["kubectl get ns"]
    return [Row(name, "ms", taken, plain) for name, taken in found.items()]


def _details(plain: list[Convergence], ours: list[Convergence], again: Restart) -> dict[str, Any]:
    def readable(counted: Counter[tuple[str, str]]) -> dict[str, int]:
        return {" ".join(key): value for key, value in sorted(counted.items())}

    return {
        "bare client, seconds of each run": [run.seconds for run in plain],
        "controller, seconds of each run": [run.seconds for run in ours],
        "bare client, writes": readable(plain[-1].writes),
        "controller, writes": readable(ours[-1].writes),
        "bare client, reads": readable(plain[-1].reads),
        "controller, reads": readable(ours[-1].reads),
        "restart, writes, the edits of the measurement included": readable(again.writes),
        "restart, reads": readable(again.reads),
        "restart, requests by verb": dict(again.verbs),
    }


def _progress(text: str) -> None:
    print(f"... {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
