"""How long the plugins take, beside plain kubectl: ``python -m bench.startup``; see ``--help``."""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.plane import ROOT, Plane, plane
from bench.report import Row, machine, table, write

RUNS = 15
PLAIN = "kubectl get ns"
COMMANDS = {
    PLAIN: ("kubectl", "get", "ns", "default"),
    "kubectl auth whoami": ("kubectl", "auth", "whoami"),
    "kubectl version --client": ("kubectl", "version", "--client"),
    "kubectl get lnamespaces": ("kubectl", "get", "lnamespaces"),
    "kubectl lns list": ("kubectl", "lns", "list"),
    "kubectl create lns --dry-run=client": ("kubectl", "create", "lns", "x", "--dry-run=client"),
    "kubectl sudo get ns": ("kubectl", "sudo", "-n", "startup", "get", "ns", "startup"),
}
GOALS = {
    "kubectl lns list": "<= 3",
    "kubectl create lns --dry-run=client": "<= 2",
    "kubectl sudo get ns": "<= 2",
}


def main() -> int:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=2 * RUNS, help="of each command [30]")
    default = Path("build/bench/startup.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    chosen = parser.parse_args()
    print(f"{machine()}; {chosen.runs} runs each", file=sys.stderr)
    with plane() as fresh, fresh.controller():
        found = startup(fresh, chosen.runs)
    print(table(rows(found)))
    write(chosen.json, rows(found), {"milliseconds": found})
    return 0


def rows(found: dict[str, float]) -> list[Row]:
    """Return the figures, each beside plain kubectl."""
    plain = found[PLAIN]
    return [Row(name, "ms", taken, plain, GOALS.get(name, "")) for name, taken in found.items()]


def startup(plane: Plane, runs: int = RUNS) -> dict[str, float]:
    """Return the median milliseconds of each command, as a sudoer of the namespace.

    The commands take turns, so that a machine that slows down slows them all.
    """
    person = plane.run(str(ROOT / "hack" / "new-user.sh"), "starter").strip()
    environment = plane.environment | {"KUBECONFIG": person}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles what it installs
    subprocess.run(
        ["kubectl", "create", "lns", "startup"], env=environment, check=True, capture_output=True
    )
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            taken[name].append((time.perf_counter() - start) * 1000)
    return {name: median(times) for name, times in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
