"""Further controllers of Kubernetes, beside those few that a local control plane runs."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.support.cluster import Cluster
from tests.e2e.support.processes import free_port

_PROGRAM = "/kube-controller-manager "


@contextmanager
def controllers(cluster: Cluster, *names: str) -> Iterator[None]:
    """Run controllers by a process of their own, with the flags of the one that is there."""
    running = next(line for line in cluster.processes() if _PROGRAM in line)
    changed = {
        "--controllers": ",".join(names),
        "--secure-port": str(free_port()),
    }
    command = [
        f"{flag}={changed.get(flag, value)}" if equals else flag
        for flag, equals, value in (word.partition("=") for word in running.split())
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()
