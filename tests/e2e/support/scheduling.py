"""Which files run in one process of several (pytest-xdist), and in which order."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

LONGEST = (
    "lclusters_model",
    "rights_model",
    "gateway_informers",
    "limits",
    "sudo_layout",
    "install_order",
    "profiles",
    "cluster_tool",
    "leadership",
    "faults",
    "helm",
    "instances",
    "ledger",
    "faults_api",
    "commands",
    "faults_ledger",
    "publisher",
    "classes",
)
"""The files that take the longest, the longest first."""

_RANKS = {f"test_{stem}": rank for rank, stem in enumerate(LONGEST, 1)}


class SharedGatewayScheduling(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """A file runs in one process, and so do all that share the cluster with a gateway.

    A second one would be 30 s of set-up, and as busy as the first when nothing happens on it.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "gateway" if _shares_gateway(self.config.rootpath / file) else file


def rank(file: Path) -> int:
    """Return the place of a file: together those that share a gateway are the longest."""
    return 0 if _shares_gateway(file) else _RANKS.get(file.stem, len(_RANKS) + 1)


@cache
def _shares_gateway(file: Path) -> bool:
    return "gateway_cluster: GatewayCluster" in file.read_text()
