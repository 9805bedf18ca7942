"""How long the plugins take to start, beside plain kubectl."""

import subprocess
import time
from statistics import median

from bench.plane import ROOT, Plane

RUNS = 15
COMMANDS = {
    "kubectl get ns": ("kubectl", "get", "ns", "default"),
    "kubectl auth whoami": ("kubectl", "auth", "whoami"),
    "kubectl lns list": ("kubectl", "lns", "list"),
    "kubectl create lns --dry-run=client": ("kubectl", "create", "lns", "x", "--dry-run=client"),
    "kubectl sudo get ns": ("kubectl", "sudo", "-n", "startup", "get", "ns", "startup"),
}


def startup(plane: Plane) -> dict[str, float]:
    """Median milliseconds of each command, as a person who is a sudoer of their namespace.

    The commands take turns, so that a machine that slows down slows them all.
    """
    person = plane.run(str(ROOT / "hack" / "new-user.sh"), "starter").strip()
    environment = plane.environment | {"KUBECONFIG": person}
    subprocess.run(
        ["kubectl", "create", "lns", "startup"], env=environment, check=True, capture_output=True
    )
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            taken[name].append((time.perf_counter() - start) * 1000)
    return {name: median(times) for name, times in taken.items()}
