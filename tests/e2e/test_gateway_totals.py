"""Totals over all namespaces of an LCluster: never more, however many write at once."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.e2e.support.api import GROUP, Api, ApiError, Object, ns_path, rbac_path, refusal, unless
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually
from tests.e2e.support.writes import KINDS, quiet_writes

TENANT = "totals"
SECRETS, SERVICES = 30, 8
QUOTA = {"count/secrets": str(SECRETS), "services": str(SERVICES + 1), "requests.cpu": "2500m"}
"""One Service is that of the API server, in namespace default."""
SPACES = ("one", "two", "three")
LCLUSTER = f"{LCLUSTERS}/{TENANT}"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the shared cluster with a gateway."""
    return gateway_cluster


@pytest.fixture(scope="module")
def root(cluster: GatewayCluster, people: People) -> Iterator[Api]:
    """Return a sudoer of an LCluster with totals, acting as its cluster-admin."""
    made = LClusters(cluster, people)
    made.make(TENANT, "tilda", sudoers=("tilda",))
    cluster.admin.patch(LCLUSTER, {"spec": {"quota": QUOTA}})
    resident: Resident = made.resident(TENANT, "tilda")
    api = resident.api.acting("tilda", "system:masters")
    for name in SPACES:
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield api
    cluster.admin.remove(LCLUSTER)
    eventually(lambda: cluster.admin.find(LCLUSTER) is None)


def upstream(cluster: GatewayCluster, space: str) -> Object:
    found = cluster.admin.find(ns_path(f"{TENANT}-{space}", "resourcequotas", "lcluster"))
    return found or {}


def secret(name: str) -> Object:
    return {"metadata": {"name": name}, "stringData": {"a": "b"}}


def service(name: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}


def count(root: Api, plural: str) -> int:
    return sum(len(root.items(ns_path(space, plural))) for space in SPACES)


def test_concurrent_writers_create_exactly_the_total(cluster: GatewayCluster, root: Api) -> None:
    def write(writer: int) -> str:
        path, number = ns_path(SPACES[writer % len(SPACES)], "secrets"), 0
        while number <= SECRETS:
            try:
                root.create(path, secret(f"s{writer}-{number}"))
                number += 1
            except ApiError as error:
                # A busy machine takes longer than a request waits for what is moved to it.
                if "try again" not in error.message:
                    return error.message
        return "never refused"

    def most() -> int:
        return sum(len(cluster.admin.items(ns_path(f"{TENANT}-{s}", "secrets"))) for s in SPACES)

    with ThreadPoolExecutor(6) as pool:
        writers = [pool.submit(write, number) for number in range(6)]
        while not all(each.done() for each in writers):
            assert most() <= SECRETS
        refused = [each.result() for each in writers]
    assert most() == SECRETS
    end = f"used: count/secrets={SECRETS}, limited: count/secrets={SECRETS}"
    assert all(each.endswith(end) for each in refused), refused


def test_concurrent_requests_get_the_unused_share_of_another_namespace(
    cluster: GatewayCluster, root: Api
) -> None:
    """They waited for five seconds and were refused.

    Each asked once, for one more than was used, and others used what was moved. And for half a
    minute a share was kept for requests that had ended.
    """
    for space in SPACES:
        root.delete(ns_path(space, "secrets"))
    eventually(partial(is_unused, cluster, "two"))
    for number in range(15):
        root.create(ns_path("two", "secrets"), secret(f"t{number}"))
    root.delete(ns_path("two", "secrets"))
    eventually(partial(is_unused, cluster, "two"))
    with ThreadPoolExecutor(12) as pool:
        made = [
            pool.submit(root.create, ns_path("one", "secrets"), secret(f"o{number}"))
            for number in range(12)
        ]
    assert all(each.result() for each in made)


def is_unused(cluster: GatewayCluster, space: str) -> bool:
    used = upstream(cluster, space)["status"]["used"]
    return bool(used["count/secrets"] == "0")


def test_a_namespace_can_use_the_whole_total_and_release_it_to_another(
    cluster: GatewayCluster, people: People, root: Api
) -> None:
    for number in range(SERVICES):
        root.create(ns_path("one", "services"), service(f"s{number}"))
    told = refusal(root.create, ns_path("two", "services"), service("more"), status=403)
    assert told.endswith(
        f'services "more" is forbidden: exceeded quota: lcluster, requested: services=1, '
        f"used: services={SERVICES + 1}, limited: services={SERVICES + 1}"
    ), told
    shell = LClusters(cluster, people).resident(TENANT, "tilda")
    said = shell.kubectl("create", "service", "clusterip", "more", "--tcp=80", "-n", "two").err
    assert said == f"error: failed to create ClusterIP service: {told}\n"
    # Each of its namespaces shows the totals, and what all of them use.
    shown = root.get(ns_path("two", "resourcequotas", "lcluster"))
    assert shown["spec"]["hard"] == shown["status"]["hard"] == QUOTA
    assert shown["status"]["used"]["services"] == str(SERVICES + 1)
    printed = shell.kubectl("get", "quota", "-A").ok()
    assert printed.count(f"services: {SERVICES + 1}/{SERVICES + 1}") == len(SPACES) + 4, printed
    described = shell.kubectl("describe", "namespace", "three").ok()
    assert f"services {SERVICES + 1} {SERVICES + 1}" in " ".join(described.split()), described
    for number in range(SERVICES):
        root.delete(ns_path("one", "services", f"s{number}"))
    for number in range(SERVICES):
        eventually(partial(created, root, "two", f"t{number}"))
    assert count(root, "services") == SERVICES


def created(root: Api, space: str, name: str) -> bool:
    """Return whether a Service could be made: deletions may be counted later."""
    return unless("Forbidden", root.create, ns_path(space, "services"), service(name))


def test_a_quota_event_of_a_kubernetes_controller_moves_shares(
    cluster: GatewayCluster, root: Api
) -> None:
    """It writes an Event, and tries again by itself.

    The watch of Events ended at a tenant's of the year 0, for all tenants, and again and again.
    """
    assert upstream(cluster, "three")["spec"]["hard"]["requests.cpu"] == "250m"
    told = (
        'Error creating: pods "big" is forbidden: exceeded quota: lcluster, '
        "requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=250m"
    )
    home = f"{TENANT}-three"
    about = {"kind": "ReplicaSet", "namespace": home, "name": "big", "apiVersion": "apps/v1"}
    event = {
        "metadata": {"name": "big.1"},
        "involvedObject": about,
        "reason": "FailedCreate",
        "message": told,
        "type": "Warning",
    }
    odd = event | {
        "metadata": {"name": "a-odd.1"},
        "involvedObject": about | {"namespace": "three"},
        "lastTimestamp": "0000-01-01T00:00:00Z",
    }
    root.create(ns_path("three", "events"), odd)
    cluster.admin.create(ns_path(home, "events"), event)
    eventually(lambda: upstream(cluster, "three")["status"]["hard"]["requests.cpu"] == "2")
    shares = [upstream(cluster, name) for name in (*SPACES, "default", "kube-system")]
    assert sum(milli(each["spec"]["hard"]["requests.cpu"]) for each in shares) <= 2500
    pod = {
        "metadata": {"name": "big"},
        "spec": {
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": "2"}}}
            ]
        },
    }
    root.create(ns_path("three", "pods"), pod)


def milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)


def test_a_restarted_controller_writes_no_shares(cluster: GatewayCluster, root: Api) -> None:
    del root
    kinds = KINDS | {"lclusters", "resourcequotas", "resourcequotas/status"}
    before = quiet_writes(cluster.admin, kinds=kinds)
    cluster.controller.stop()
    cluster.controller.start()
    assert quiet_writes(cluster.admin, kinds=kinds) == before


def test_a_tenant_cannot_change_shares(cluster: GatewayCluster, root: Api, people: People) -> None:
    del people
    share = ns_path("one", "resourcequotas", "lcluster")
    more = {"spec": {"hard": {"count/secrets": "1000"}}}
    root.create(ns_path("one", "serviceaccounts"), {"metadata": {"name": "robot"}})
    everything = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    body = {
        "metadata": {"name": "robot"},
        "roleRef": everything | {"name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "one"}],
    }
    root.create(rbac_path("rolebindings", namespace="one"), body)
    token = root.create(ns_path("one", "serviceaccounts", "robot/token"), {"spec": {}})
    robot = cluster.admin.with_token(
        token["status"]["token"], cluster.certificates / "totals-robot.kubeconfig"
    )
    home = f"{TENANT}-one"
    direct = ns_path(home, "resourcequotas", "lcluster")
    eventually(lambda: robot.answer("GET", direct).status == 200)
    # Directly upstream, where it is cluster-admin in its namespace, and through the gateway.
    for api, path in ((robot, direct), (root, share)):
        ours = "is the platform's"
        assert ours in refusal(api.patch, path, more, status=403)
        assert ours in refusal(api.patch, f"{path}/status", {"status": more["spec"]}, status=403)
        assert ours in refusal(api.delete, path, status=403)
    own: Object = {"metadata": {"name": "lcluster"}, "spec": {"hard": {"pods": "1"}}}
    shared = ns_path(f"{TENANT}-default", "resourcequotas")
    assert refusal(root.create, ns_path("one", "resourcequotas"), own, status=403)
    assert refusal(robot.create, shared, own, status=403)
    # All quotas but this one can go at once.
    own["metadata"]["name"] = "mine"
    root.create(ns_path("one", "resourcequotas"), own)
    root.delete(ns_path("one", "resourcequotas"))
    eventually(lambda: root.find(ns_path("one", "resourcequotas", "mine")) is None)
    assert upstream(cluster, "one")["spec"]["hard"]["count/secrets"] != "1000"


def test_only_administrators_can_change_totals(
    cluster: GatewayCluster, root: Api, people: People
) -> None:
    del root
    manager = people.person("manager").api
    words = "spec.quota: only administrators of LClusters may change it"
    more = {"spec": {"quota": {"pods": "1000"}}}
    assert words in refusal(manager.patch, LCLUSTER, more, status=403)
    made = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": "totalsmine"},
        "spec": more["spec"],
    }
    assert words in refusal(manager.create, LCLUSTERS, made, status=403)
    wrong = {"spec": {"quota": {"pods": "-1"}}}
    assert "spec.quota" in refusal(cluster.admin.patch, LCLUSTER, wrong, status=422)


def test_removing_the_totals_removes_all_shares(cluster: GatewayCluster, root: Api) -> None:
    cluster.admin.patch(LCLUSTER, {"spec": {"quota": None}})
    eventually(lambda: not any(upstream(cluster, name) for name in (*SPACES, "default")))
    eventually(lambda: not cluster.admin.get(LCLUSTER)["status"]["shares"])
    root.create(ns_path("one", "secrets"), secret("more"))
    assert base64.b64decode(root.get(ns_path("one", "secrets", "more"))["data"]["a"]) == b"b"
