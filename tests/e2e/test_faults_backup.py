"""The cluster is put back to an earlier state while our processes run on."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, ApiError, Unreachable, lns_path, ns_path, rbac_path
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.people import user
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import PATIENCE, Measurements, eventually, measured

DAEMONS = ("kube-controller-manager", "kube-apiserver", "etcd")


@pytest.fixture(scope="module")
def cluster(own_cluster: Cluster) -> Cluster:
    """Return a cluster that is put back."""
    return own_cluster


def while_down(cluster: Cluster, change: Callable[[], object]) -> None:
    """Kill the whole control plane, as a restore asks for, and start it again after the change."""
    for daemon in DAEMONS:
        cluster.kill(daemon)
    change()
    cluster.up()


def answered(request: Callable[[], object]) -> bool:
    """Return whether the API server, which has just started, did it."""
    try:
        request()
    except (Unreachable, ApiError):
        return False
    return True


@pytest.mark.thorough
def test_the_controller_reconciles_a_cluster_restored_from_a_backup(
    cluster: Cluster,
    tenants: Tenants,
    rights: Rights,
    admin: Api,
    tmp_path: Path,
    measurements: Measurements,
) -> None:
    """A watch from the future is let in, and told nothing; what is known is of another history."""
    data, backup = cluster.folder / "etcd", tmp_path / "backup"
    edited = tenants.make("edited", users=["early"], sudoers=["early"])
    deleted = tenants.make("deleted", users=["early"])
    while_down(cluster, lambda: shutil.copytree(data, backup))

    eventually(lambda: answered(lambda: tenants.edit(edited, users=["late"], sudoers=[])), tick=0.1)
    tenants.ready(edited)
    eventually(lambda: rights.works(user("late"), edited))
    tenants.delete(deleted)
    eventually(lambda: admin.find(ns_path(deleted)) is None, 2 * PATIENCE)
    made = tenants.make("made", users=["late"], sudoers=["late"])

    def put_back() -> None:
        shutil.rmtree(data)
        shutil.copytree(backup, data)

    while_down(cluster, put_back)

    def as_it_was() -> bool:
        assert admin.find(lns_path(made)) is None
        assert rights.works(user("early"), edited)
        assert rights.sudoes(user("early"), edited)
        assert rights.works(user("early"), deleted)
        assert not rights.works(user("late"), edited)
        return True

    eventually(lambda: answered(as_it_was), 2 * PATIENCE, tick=0.1)
    edit = partial(tenants.edit, edited, users=["latest"], sudoers=[])
    eventually(lambda: answered(edit), tick=0.1)
    took = measured(lambda: rights.works(user("latest"), edited), what="nobody sees the edit")
    measurements.note("restored from a backup: an edit in force", took)
    eventually(lambda: not rights.works(user("early"), edited))
    eventually(lambda: not rights.sudoes(user("early"), edited))
    eventually(lambda: admin.find(rbac_path("clusterroles", f"lnamespace:{made}:editor")) is None)
    admin.delete(rbac_path("rolebindings", "lnamespace-users", deleted))
    eventually(lambda: rights.works(user("early"), deleted), what="nobody sees the drift")
    assert cluster.controller.running
    assert cluster.webhook.running
