"""RBAC inside a tenant, through the gateway, beside the same objects on the platform's cluster."""

import json
from random import Random
from uuid import uuid4

import pytest
from lnamespace.rbac.attributes import Attributes, User

from tests.e2e.support.api import (
    APPLY,
    NAMESPACES,
    Api,
    Object,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.rbac_world import GROUP, World, reviews
from tests.e2e.support.waiting import eventually

SSR = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Resident:
    """Return a user and sudoer of an LCluster."""
    made = LClusters(cluster, people)
    made.make("granted", "alice", "bob", sudoers=("alice",))
    return made.resident("granted", "alice")


@pytest.fixture(scope="module")
def bob(alice: Resident, cluster: GatewayCluster, people: People) -> Resident:
    """Return a user who is no sudoer."""
    assert alice
    return LClusters(cluster, people).resident("granted", "bob")


@pytest.fixture(scope="module")
def root(alice: Resident) -> Api:
    """Return the sudoer with sudo, who lets herself act as some."""
    api = alice.api.acting("alice", "system:masters")
    users = {**core("impersonate", "users"), "resourceNames": ["patcher", "reader", "joe"]}
    grant(api, "alice", users, {**core("impersonate", "groups"), "resourceNames": ["devs"]})
    eventually(lambda: unless("Forbidden", alice.api.acting("joe").create, SSR, {}))
    return api


def grant(root: Api, user: str, *rules: Object) -> None:
    """Give somebody rules everywhere inside."""
    role = {"metadata": {"name": user}, "rules": list(rules)}
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}],
    }
    root.create(rbac_path("clusterroles"), role)
    root.create(rbac_path("clusterrolebindings"), binding)


def core(verbs: str, resources: str) -> Object:
    return {"verbs": verbs.split(), "apiGroups": [""], "resources": resources.split()}


def test_rbac_objects_give_the_same_rights_as_in_a_plain_cluster(
    cluster: GatewayCluster, root: Api
) -> None:
    world = World(f"rbac-{uuid4().hex[:8]}", Random(uuid4().int))
    world.generate()
    world.create(cluster.admin)
    world.create(root)
    left: list[tuple[User, Attributes]] = list(world.questions(200))
    allowed: set[bool] = set()

    def same() -> bool:
        nonlocal left
        both = zip(left, reviews(cluster.admin, left), reviews(root, left), strict=True)
        answers = [(each, bare["allowed"], inside["allowed"]) for each, bare, inside in both]
        allowed.update(bare for _, bare, _ in answers)
        left = [each for each, bare, inside in answers if bare is not inside]
        assert left == []
        return True

    eventually(same, tick=0.5)
    assert allowed == {True, False}


def test_server_side_apply_of_a_new_object_requires_create(alice: Resident, root: Api) -> None:
    grant(root, "patcher", core("patch", "configmaps"))
    patcher = alice.api.acting("patcher")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
    at = ns_path("default", "configmaps", "new")

    def refused() -> bool:
        words = refusal(patcher.patch, at, applied, APPLY, fieldManager="test")
        return 'User "patcher" cannot create resource "configmaps"' in words

    eventually(refused)
    root.create(ns_path("default", "configmaps"), {"metadata": {"name": "new"}})
    patcher.patch(at, applied | {"data": {"a": "b"}}, APPLY, fieldManager="test")


def test_a_right_to_get_pods_exec_does_not_allow_exec_requests(alice: Resident, root: Api) -> None:
    grant(root, "reader", core("get", "pods pods/exec"))
    path = ns_path("default", "pods", "x/exec")
    reader = alice.api.acting("reader")
    eventually(lambda: refusal(reader.get, path) == 'pods "x" is forbidden: ')


def test_a_patch_that_escalates_rights_is_refused_in_every_media_type(
    alice: Resident, root: Api
) -> None:
    alice.api.create(NAMESPACES, {"metadata": {"name": "grants"}})
    roles = rbac_path("roles", namespace="grants")
    alice.api.create(roles, {"metadata": {"name": "r"}, "rules": [core("get", "pods")]})
    at, everything = f"{roles}/r", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    for kind, patch in (
        ("application/merge-patch+json; charset=utf-8", {"rules": [everything]}),
        ("application/json-patch+json", [{"op": "add", "path": "/rules/0", "value": everything}]),
        ("application/strategic-merge-patch+json", {"rules": [everything]}),
    ):
        assert "not currently held" in refusal(alice.api.patch, at, patch, kind)
        assert root.get(at)["rules"] == [core("get", "pods")]
    allowed = {"rules": [core("list", "pods")]}
    alice.api.patch(at, allowed, "application/merge-patch+json; charset=utf-8")
    assert root.get(at)["rules"][0]["verbs"] == ["list"]


def test_impersonation_requires_the_impersonate_verb(
    alice: Resident, bob: Resident, root: Api
) -> None:
    assert root
    for api in (
        alice.api.acting("joe", "system:masters"),
        alice.api.acting("bob"),
        alice.api.acting("bob", "system:masters"),
        bob.api.acting("bob", "system:masters"),
        bob.api.acting("joe"),
    ):
        assert "cannot impersonate" in refusal(api.get, NAMESPACES)
    as_joe = alice.api.acting("joe", "devs").create(SSR, {})["status"]["userInfo"]
    assert as_joe == {"username": "joe", "groups": ["devs", "system:authenticated"]}


def test_a_user_can_query_own_identity_and_rights(bob: Resident) -> None:
    me = json.loads(bob.kubectl("auth", "whoami", "-o", "json").ok())["status"]["userInfo"]
    assert me == {"username": "bob", "groups": ["lcluster:users", "system:authenticated"]}
    assert bob.kubectl("auth", "can-i", "create", "deployments", "-n", "default").ok() == "yes\n"
    assert "no" in bob.kubectl("auth", "can-i", "create", "clusterroles").out
    listed = bob.kubectl("auth", "can-i", "--list", "-n", "default").ok()
    assert "deployments.apps" in listed
    assert "loblaw" not in listed
