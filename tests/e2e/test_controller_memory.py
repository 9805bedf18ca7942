"""What users of a namespace write does not stay in the memory of the controller."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, Object, rbac_path
from tests.e2e.support.cluster import running
from tests.e2e.support.people import Person
from tests.e2e.support.profiles import ProfilesCluster, profile_object_path
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

COUNT = 20
MIB = 2**20
OURS = {"app.kubernetes.io/managed-by": "lnamespace"}
NETWORK = "networkpolicies"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfilesCluster]:
    with running(tmp_path_factory.mktemp("memory"), ProfilesCluster) as own:
        assert isinstance(own, ProfilesCluster)
        yield own


@pytest.fixture(scope="module")
def name(tenants: Tenants, rights: Rights, alice: Person) -> str:
    """Return an LNamespace of which Alice is a user."""
    made = tenants.make("memory", users=["alice"])
    eventually(lambda: rights.works(alice.who, made))
    return made


def memory(cluster: ProfilesCluster) -> int:
    """Return the resident memory of the controller in bytes."""
    status = Path(f"/proc/{cluster.controller.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def policy(number: int) -> Object:
    """Return a NetworkPolicy of more than a megabyte with the labels of ours."""
    cidrs = [f"10.{n >> 8}.{n & 255}.{number}/32" for n in range(30_000)]
    ingress = [{"from": [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]}]
    return {
        "metadata": {"name": f"theirs-{number}", "labels": OURS},
        "spec": {"podSelector": {}, "ingress": ingress},
    }


def binding(number: int) -> Object:
    """Return a RoleBinding with the labels of ours and 8,000 owners, of a kind that nobody has."""
    owner = {"apiVersion": "example.com/v1", "kind": "Nothing", "name": "x"}
    owners = [owner | {"uid": f"{number}-{n}"} for n in range(8_000)]
    return {
        "metadata": {"name": f"theirs-{number}", "labels": OURS, "ownerReferences": owners},
        "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
    }


def repairs(admin: Api, namespace: str) -> None:
    """Wait until the controller has made again what is deleted, so that it is up to date."""
    users = rbac_path("rolebindings", "lnamespace-users", namespace)
    for path in (users, profile_object_path(NETWORK, namespace)):
        uid = admin.get(path)["metadata"]["uid"]
        admin.delete(path)

        def is_new(path: str = path, uid: str = uid) -> bool:
            found = admin.find(path)
            return found is not None and found["metadata"]["uid"] != uid

        eventually(is_new)


def test_large_objects_of_other_names_with_our_labels_are_not_kept(
    cluster: ProfilesCluster, name: str, alice: Person, admin: Api
) -> None:
    """They were, so that a user could end the controller, again after each restart."""
    repairs(admin, name)
    before = memory(cluster)
    for number in range(COUNT):
        alice.api.create(profile_object_path(NETWORK, name, ""), policy(number))
        alice.api.create(rbac_path("rolebindings", namespace=name), binding(number))
    repairs(admin, name)
    grown = memory(cluster) - before
    cluster.controller.stop()
    cluster.controller.start()
    repairs(admin, name)
    after_restart = memory(cluster) - before
    for number in range(COUNT):
        alice.api.delete(profile_object_path(NETWORK, name, f"theirs-{number}"))
        alice.api.delete(rbac_path("rolebindings", f"theirs-{number}", name))
    assert max(grown, after_restart) < 20 * MIB, (grown / MIB, after_restart / MIB)
