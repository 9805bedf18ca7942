"""A control plane with all controllers, the chart and our processes; a tenant's cluster in it."""

import json
from pathlib import Path

import yaml

from tests.e2e.support.api import NAMESPACES, Api
from tests.e2e.support.gateway import GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.walks import planted

TENANT, PERSON = "qoph", "alice"
OTHER, CANARY = "zyzzyvas", "zyzzyva"
"""Another LCluster, and a word in all that it has."""
WORDS = (CANARY, f"{TENANT}-", "lnamespace-clusters")
"""Words that no answer to the tenant may contain."""


class ConformanceCluster(GatewayCluster):
    """A cluster whose controllers all run, those that make pods too."""

    def learn_kinds(self) -> None:
        """Restart all controllers, once the kinds of the chart exist."""
        (self.folder / "controllers").write_text("*\n")
        super().learn_kinds()


def tenant_kubeconfig(cluster: ConformanceCluster) -> Path:
    """Make an LCluster, and return a kubeconfig of its administrator."""
    made = LClusters(cluster, People(cluster))
    for name in (TENANT, OTHER):
        made.make(name, PERSON, sudoers=(PERSON,))
    _plant(made.resident(OTHER, PERSON).api.acting(PERSON, "system:masters"))
    resident = made.resident(TENANT, PERSON)
    document = yaml.safe_load(resident.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": PERSON, "as-groups": ["system:masters"]}
    file = resident.kubeconfig.with_name("conformance.kubeconfig")
    file.write_text(json.dumps(document))
    return file


def _plant(other: Api) -> None:
    other.create(NAMESPACES, {"metadata": {"name": CANARY}})
    for path, body in planted(CANARY):
        other.create(path, body)
