"""What an LCluster with `deletionPolicy: Retain` leaves behind is nobody's through the gateway."""

import pytest

from tests.e2e.support.api import GROUP, Api, Object, ns_path, refusal
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.tenants import condition
from tests.e2e.support.waiting import eventually

PVS = "/api/v1/persistentvolumes"
FINALIZER = f"{GROUP}/lcluster"
SYSTEM = ("default", "kube-node-lease", "kube-public", "kube-system")
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: disks.example.com, volumeHandle: secret}
"""


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    return LClusters(cluster, people)


def path(name: str) -> str:
    return f"{LCLUSTERS}/{name}"


def retained(lclusters: LClusters, name: str) -> Resident:
    """Make an LCluster with a volume that will outlive it; return its sudoer."""
    lclusters.make(name, "alice", sudoers=("alice",))
    alice = lclusters.resident(name, "alice")
    alice.kubectl("sudo", "create", "-f", "-", stdin=VOLUME).ok()
    lclusters.cluster.admin.patch(path(name), {"spec": {"deletionPolicy": "Retain"}})
    return alice


def remove(admin: Api, name: str) -> None:
    """Delete what an LCluster left, but for its volume."""
    left = [ns_path(f"{name}-{each}") for each in SYSTEM]
    for each in left:
        admin.delete(each)
    eventually(lambda: not any(map(admin.find, left)))


def test_an_lcluster_with_a_reused_name_has_no_access_to_retained_objects(
    lclusters: LClusters, people: People, admin: Api
) -> None:
    """Its name was refused, and through the gateway its sudoer read and deleted the volume."""
    retained(lclusters, "heirloom")
    admin.delete(path("heirloom"))
    eventually(lambda: admin.find(path("heirloom")) is None)
    remove(admin, "heirloom")
    bob = people.person("bob")
    head = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster"}
    bob.api.create(LCLUSTERS, head | {"metadata": {"name": "heirloom"}, "spec": {}})
    eventually(lambda: condition(admin.get(path("heirloom"))).get("reason") == "ReservedName")
    taker = lclusters.person_without_access("heirloom", "bob")
    for words in (("get", "pv"), ("create", "ns", "x"), ("sudo", "delete", "pv", "data")):
        assert "Forbidden" in taker.kubectl(*words).err
    claim: Object = {"metadata": {"finalizers": [FINALIZER]}}
    assert "the controller's" in refusal(bob.api.patch, path("heirloom"), claim)
    assert admin.find(f"{PVS}/heirloom-data")
    admin.delete(path("heirloom"))
    admin.delete(f"{PVS}/heirloom-data")


def test_users_of_a_deleted_lcluster_with_a_finalizer_lose_access(
    lclusters: LClusters, admin: Api
) -> None:
    """Its people kept the rights that they had over Namespaces, definitions and volumes."""
    alice = retained(lclusters, "held")
    admin.patch(path("held"), {"metadata": {"finalizers": [FINALIZER, "example.com/mine"]}})
    admin.delete(path("held"), propagationPolicy="Background")
    eventually(lambda: FINALIZER not in admin.get(path("held"))["metadata"]["finalizers"])
    eventually(lambda: "Forbidden" in alice.kubectl("get", "pv").err)
    assert "Forbidden" in alice.kubectl("sudo", "delete", "pv", "data").err
    assert "deletionTimestamp" not in admin.get(f"{PVS}/held-data")["metadata"]
    admin.patch(path("held"), {"metadata": {"finalizers": []}})
    remove(admin, "held")
    admin.delete(f"{PVS}/held-data")
