"""One of two controllers leads: killed, told to end, held up, robbed, cut off.

On a cluster that is killed here. What a process wrote is told by the API server, and by the process
itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, rbac_path
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.probes import probe
from tests.e2e.support.processes import Controller
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import Measurements, eventually, measured, settled
from tests.e2e.support.writes import writes

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{RELEASE_NAMESPACE}/leases/lnamespace-controller"
STATUS = ("PATCH", "lnamespaces/status")
FAILOVER = 120.0
"""Seconds within which another one leads, whatever happened to the first: a lease lasts for 15, and
is looked at every two. What it took is measured.
"""

_WRITE = re.compile(
    r'^lnamespace_controller_api_requests_total\{code="\d+",resource="([^"]+)",'
    r'verb="(?:create|patch|delete)"\} (\S+)$',
    re.MULTILINE,
)


class Replica(Controller):
    """One of several controllers."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        lease = f"{RELEASE_NAMESPACE}/lnamespace-controller"
        super().__init__(kubeconfig, log, LNAMESPACE_LEASE=lease)

    def ready(self, log: str) -> bool:
        """Return whether it leads, or would at once."""
        return "waiting to lead" in log and probe(self, "/readyz") == (200, "ok\n")

    @property
    def leads(self) -> bool:
        """Return whether it says so."""
        return "\nlnamespace_controller_leader 1.0\n" in probe(self, "/metrics")[1]

    @property
    def wrote(self) -> set[str]:
        """Return the resources to which it has sent any write."""
        return {resource for resource, _ in _WRITE.findall(probe(self, "/metrics")[1])}


@dataclass(frozen=True)
class Pair:
    """The one that leads, and the one that waits."""

    leader: Replica
    standby: Replica


@pytest.fixture(scope="module")
def cluster(crashing_cluster: Cluster) -> Cluster:
    """Return a cluster with a webhook; its controllers are ours."""
    crashing_cluster.controller.stop()
    return crashing_cluster


@pytest.fixture(scope="module")
def replicas(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replica, Replica]]:
    token = cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    folder = tmp_path_factory.mktemp("replicas")
    both = Replica(token, folder / "a.log"), Replica(token, folder / "b.log")
    yield both
    for replica in both:
        replica.stop()
        assert replica.defect not in replica.log()


@pytest.fixture
def pair(replicas: tuple[Replica, Replica]) -> Pair:
    """Both at work, whichever of them leads."""
    for replica in replicas:
        if not replica.running:
            replica.start()
    eventually(lambda: any(r.leads for r in replicas), FAILOVER, "nobody leads")
    leader, standby = sorted(replicas, key=lambda r: not r.leads)
    return Pair(leader, standby)


def test_only_the_leader_writes_and_the_standby_is_ready(pair: Pair, tenants: Tenants) -> None:
    tenants.make("led", users=["una"], sudoers=["sue"])
    # A write is counted once it is answered; that it is Ready may be known before.
    expected = {"namespaces", "rolebindings", "leases", "lnamespaces/status"}
    eventually(lambda: expected <= pair.leader.wrote)
    assert not pair.standby.leads
    assert pair.standby.wrote == set()
    assert probe(pair.standby, "/readyz")[0] == 200
    assert probe(pair.standby, "/livez")[0] == 200


def test_a_stopped_leader_releases_its_lease_at_once(
    pair: Pair, tenants: Tenants, admin: Api, measurements: Measurements
) -> None:
    before = admin.get(LEASE)["spec"]["holderIdentity"]
    pair.leader.stop()
    # It has given the lease up: nobody waits until that ends by itself.
    assert admin.get(LEASE)["spec"].get("holderIdentity") != before
    took = measured(lambda: pair.standby.leads, FAILOVER)
    measurements.note("leader told to end, the next one leads", took)
    tenants.make("handed-over", users=["una"])


def test_the_standby_takes_over_from_a_killed_leader(
    pair: Pair, tenants: Tenants, measurements: Measurements
) -> None:
    pair.leader.kill()
    name = tenants.name("followed")
    tenants.create(name, users=["una"], sudoers=["sue"])
    took = measured(lambda: tenants.ready(name, 0), FAILOVER, tick=0.1)
    measurements.note("leader killed, created meanwhile and Ready", took)


def test_a_suspended_leader_writes_nothing_after_its_lease_expires(
    pair: Pair, tenants: Tenants, admin: Api, measurements: Measurements
) -> None:
    """Held up in the middle of its work, for longer than its lease lasts.

    A write that was on its way by then may still arrive, and is refused where the next leader has
    done it. A status is not refused: its write names the UID, and the next leader writes it again.
    """
    taken = partial(writes, admin, refused=False)
    names = [tenants.name("held") for _ in range(40)]
    for name in names:
        tenants.create(name, users=["una"], managers=["una"], sudoers=["sue"])
    pair.leader.hold()
    took = measured(lambda: pair.standby.leads, FAILOVER)
    measurements.note("leader held up, the next one leads", took)
    tenants.all_ready(names)
    bindings = [rbac_path("rolebindings", "lnamespace-users", name) for name in names]
    for binding in bindings:
        admin.delete(binding)
    eventually(lambda: all(admin.find(binding) for binding in bindings))
    before = settled(taken, span=2.0)
    pair.leader.release()
    assert pair.leader.wait() != 0
    late = settled(taken, span=2.0) - before
    assert late.keys() <= {STATUS}
    assert pair.standby.leads
    tenants.all_ready(names)


@pytest.mark.thorough
def test_a_leader_ends_when_its_lease_is_taken(
    pair: Pair, tenants: Tenants, admin: Api, measurements: Measurements
) -> None:
    name = tenants.make("robbed", users=["una"])
    # With the leader held up, so that it has not looked when it goes on.
    pair.leader.hold()
    admin.patch(LEASE, {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 15}})
    tenants.edit(name, users=["ben"])
    pair.leader.release()
    assert pair.leader.wait() != 0
    took = measured(lambda: pair.standby.leads, FAILOVER)
    measurements.note("lease taken by somebody who does nothing, the next leads", took)
    tenants.ready(name)


@pytest.mark.thorough
def test_a_leader_ends_when_the_api_server_is_unreachable(
    pair: Pair, cluster: Cluster, tenants: Tenants
) -> None:
    cluster.kill("kube-apiserver")
    try:
        assert pair.leader.wait(FAILOVER) != 0
        assert pair.standby.running
        assert probe(pair.standby, "/livez")[0] == 200
        assert not pair.standby.leads
    finally:
        cluster.up()
    eventually(lambda: pair.standby.leads, FAILOVER)
    tenants.make("cut-off", users=["una"])
