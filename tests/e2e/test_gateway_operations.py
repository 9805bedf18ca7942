"""What platform engineers do with a gateway: check the cluster, audit, suspend, revoke."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.support.api import NAMESPACES, Object
from tests.e2e.support.cluster import running
from tests.e2e.support.commands import Result
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayCluster]:
    """Start a cluster of the file's own, with a gateway."""
    with running(tmp_path_factory.mktemp("gateway"), GatewayCluster) as own:
        assert isinstance(own, GatewayCluster)
        yield own


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return an LCluster with two people."""
    made = LClusters(cluster, people)
    made.make("acme", "alice", "bob", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return a user and sudoer in acme."""
    return lclusters.resident("acme", "alice")


def checked(cluster: GatewayCluster) -> Result:
    """Run `lnamespace gateway check` as an administrator."""
    return cluster.run("lnamespace", "gateway", "check", "-o", "json")


def told(result: Result) -> list[str]:
    found = json.loads(result.out)["findings"]
    return [f"{each['severity']}: {each['about']}" for each in found if each["severity"] != "note"]


def test_a_cluster_with_the_chart_passes_the_check(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """So that what it tells is of the platform, and not of LNamespace itself."""
    alice.kubectl("create", "namespace", "checked").ok()
    result = checked(cluster)
    assert (result.code, told(result)) == (0, [])


def test_the_check_tells_what_would_leak_or_collide(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """As the API server has it: names, another server for a group of Kubernetes, rights of all."""
    del alice
    admin = cluster.admin
    everybody = {"kind": "Group", "name": "system:serviceaccounts"}
    gateway = {
        "kind": "ServiceAccount",
        "name": "lnamespace-gateway",
        "namespace": "lnamespace-system",
    }
    roots = [binding("everybody", "view", everybody), binding("root", "cluster-admin", gateway)]
    made = [
        admin.create(NAMESPACES, {"metadata": {"name": "acme-legacy"}}),
        *(admin.create(BINDINGS, each) for each in roots),
        admin.create(API_SERVICES, aggregated()),
    ]
    try:
        result = checked(cluster)
        assert result.code == 1
        assert set(told(result)) == {
            "problem: namespaces acme-legacy",
            "problem: apiservices of storage.k8s.io",
            "problem: lnamespace-system/lnamespace-gateway",
            "warning: clusterrolebindings everybody",
        }
    finally:
        for path, item in zip((NAMESPACES, BINDINGS, BINDINGS, API_SERVICES), made, strict=True):
            admin.delete(f"{path}/{item['metadata']['name']}")


def binding(name: str, role: str, subject: Object) -> Object:
    """Return a ClusterRoleBinding."""
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}


def aggregated() -> Object:
    """Return an APIService by which another server answers a group of Kubernetes itself."""
    spec = {
        "group": "storage.k8s.io",
        "version": "v7",
        "groupPriorityMinimum": 100,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "nowhere"},
    }
    return {"metadata": {"name": "v7.storage.k8s.io"}, "spec": spec}
