"""Run the benchmark: ``python -m bench [--count N]``; see ``--help``."""

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bench import latency, startup
from bench.client import connect
from bench.convergence import Race, names, race, turns
from bench.failover import failover
from bench.latency import Latency, Sample, measure
from bench.plane import Plane, plane
from bench.report import Row, machine, table, write
from bench.restart import OWN_WRITES, Restart, restart
from bench.tenants import OBJECTS

RESTARTS = 3

Beside = tuple[Latency, ...]
"""Ours, and the baseline's."""


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.count} LNamespaces, {chosen.turns} turns", file=sys.stderr)
    last = names(chosen.count)[-1]
    with plane() as baseline, plane() as ours:
        with ours.controller() as controller:
            idle = controller.memory
            _progress("a bare client and the controller make them in turns")
            found = asyncio.run(race(baseline, ours, controller, turns(chosen.count, chosen.turns)))
            loaded = controller.memory
            measured = asyncio.run(_latencies(baseline, ours, chosen))
            starts = startup.startup(ours)
        _progress("restarting the controller")
        again = [asyncio.run(restart(ours, last)) for _ in range(RESTARTS)]
        _progress("killing the controller that leads")
        outages = asyncio.run(failover(ours, last))
    rows = [
        *_convergence_rows(found, chosen.count),
        *_latency_rows(measured),
        *_restart_rows(again, chosen.count, idle, loaded),
        *_failover_rows(outages),
        *startup.rows(starts),
    ]
    print(table(rows))
    write(chosen.json, rows, _details(found, again))
    print(f"\nalso as JSON: {chosen.json}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="LNamespaces in all [1000]")
    parser.add_argument("--turns", type=int, default=10, help="turns to make them in [10]")
    parser.add_argument("--samples", type=int, default=200, help="samples of a latency [200]")
    default = Path("build/bench.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


async def _latencies(baseline: Plane, ours: Plane, chosen: argparse.Namespace) -> dict[str, Beside]:
    tenants, samples = names(chosen.count), min(chosen.samples, chosen.count // 4)
    idle, busy, broken, churned = (tenants[i * samples : (i + 1) * samples] for i in range(4))
    async with (
        connect(baseline.admin_kubeconfig) as baseline_admin,
        connect(baseline.controller_kubeconfig) as baseline_client,
        connect(ours.admin_kubeconfig) as admin,
    ):

        async def beside(sample: Sample, baseline: Sample) -> Beside:
            return await measure(samples, sample, baseline)

        def revocation_baseline(tenants: list[str]) -> Sample:
            return latency.revocation_floor(baseline_admin, baseline_client, tenants)

        _progress("latencies: create, revoke, repair, each beside the same by hand")
        creation_floor = latency.creation_floor(baseline_admin, baseline_client)
        found = {
            "create": await beside(latency.creation(admin), creation_floor),
            "revoke": await beside(latency.revocation(admin, idle), revocation_baseline(idle)),
            "repair": await beside(latency.repair(admin, broken), revocation_baseline(broken)),
        }
        _progress("latencies: revoke and create while others are edited")
        async with latency.churn(admin, churned):
            revocation = latency.revocation(admin, busy)
            creation = latency.creation(admin, "among-edits")
            found["under churn"] = await measure(samples, revocation, creation)
        return found


def _convergence_rows(found: Race, count: int) -> list[Row]:
    plain, ours = found.totals
    baseline_turn, our_turn = found.median
    written, baseline = sum(ours.writes.values()), sum(plain.writes.values())
    return [
        Row(f"{count}, all Ready", "s", ours.seconds, plain.seconds, "<= 1", "4.4 to 5.4"),
        Row("  of the turns, the median", "s", our_turn.seconds, baseline_turn.seconds, "<= 1"),
        Row("writes for each, its own creation included", "", written / count, baseline / count,
            f"{OBJECTS} objects + 3", "14.1 for 6 objects"),
        Row("controller CPU for each", "ms", ours.cpu / count * 1000),
    ]  # fmt: skip


def _latency_rows(measured: dict[str, Beside]) -> list[Row]:
    (create, create_baseline), (revoke, baseline) = measured["create"], measured["revoke"]
    repair, repair_baseline = measured["repair"]
    busy, create_busy = measured["under churn"]
    return [
        Row("create to Ready, p50", "ms", create.p50, create_baseline.p50, "<= 1.5", "3.3"),
        Row("create to Ready, p99", "ms", create.p99, create_baseline.p99, "", "0.9"),
        Row("create among 5 edits/s, p50", "ms", create_busy.p50, create_baseline.p50),
        Row("create among 5 edits/s, p99", "ms", create_busy.p99, create_baseline.p99),
        Row("edit to revoked, p50", "ms", revoke.p50, baseline.p50, "<= 3", "9.1"),
        Row("edit to revoked, p99", "ms", revoke.p99, baseline.p99, "", "4.5"),
        Row("  with 5 edits/s elsewhere, p50", "ms", busy.p50, baseline.p50, "", "27"),
        Row("  with 5 edits/s elsewhere, p99", "ms", busy.p99, baseline.p99, "< 100 ms", "203 ms"),
        Row("binding deleted to back, p50", "ms", repair.p50, repair_baseline.p50, "", "6.8"),
        Row("binding deleted to back, p99", "ms", repair.p99, repair_baseline.p99, "< 1 s", "6.9"),
    ]


def _restart_rows(runs: list[Restart], count: int, idle: float, loaded: float) -> list[Row]:
    found = sorted(runs, key=lambda run: run.caught_up / run.listed)[len(runs) // 2]
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


def _details(found: Race, again: list[Restart]) -> dict[str, Any]:
    def readable(counted: Counter[tuple[str, str]]) -> dict[str, int]:
        return {" ".join(key): value for key, value in sorted(counted.items())}

    plain, ours = found.totals
    return {
        "bare client, seconds of each turn": [turn.seconds for turn in found.plain],
        "controller, seconds of each turn": [turn.seconds for turn in found.ours],
        "bare client, writes": readable(plain.writes),
        "controller, writes": readable(ours.writes),
        "bare client, reads": readable(plain.reads),
        "controller, reads": readable(ours.reads),
        "restart, seconds until caught up, of each": [run.caught_up for run in again],
        "bare LIST, seconds, of each": [run.listed for run in again],
        "restart, writes, the edits of the measurement included": readable(again[-1].writes),
        "restart, reads": readable(again[-1].reads),
        "restart, requests by verb": dict(again[-1].verbs),
    }


def _progress(text: str) -> None:
    print(f"... {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
