"""Which files run in one process of several (pytest-xdist), and in which order."""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

LONGEST = (
    "lclusters_model",
    "gateway_informers",
    "rights_model",
    "faults",
    "leadership",
    "limits",
    "install_order",
    "sudo_layout",
    "profiles",
    "cluster_tool",
    "helm",
    "instances",
    "ledger",
    "faults_api",
    "commands",
    "faults_ledger",
    "publisher",
    "classes",
)
"""The files that take the longest, the longest first.

Files that share a cluster whose processes they kill run in this order: `faults` must count its own
requests only.
"""

SHARED = (
    "gateway_cluster",
    "published_cluster",
    "crashing_cluster",
    "crashing_gateway_cluster",
    "lcluster_instance",
)
"""The fixtures that are one cluster for several files, those with the most work first."""

_RANKS = {f"test_{stem}": rank for rank, stem in enumerate(LONGEST, len(SHARED))}


class SharedClusterScheduling(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """A scheduler that runs a file in one process, and so all files that share a cluster.

    A second cluster would take 30 s of set-up, and as much CPU as the first when it is idle.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return shared_cluster(self.config.rootpath / file) or file


def rank(file: Path) -> tuple[int, int]:
    """Return the place of a file: those that share a cluster are together, and first."""
    own = _RANKS.get(file.stem, len(SHARED) + len(_RANKS))
    shared = shared_cluster(file)
    return (SHARED.index(shared) if shared else own), own


@cache
def shared_cluster(file: Path) -> str:
    """Return the fixture of the cluster that a file shares with others, if it does."""
    asked = re.findall(r"\b(\w+): (?:\w*Cluster|Instance)\b", file.read_text())
    return next((name for name in SHARED if name in asked), "")
