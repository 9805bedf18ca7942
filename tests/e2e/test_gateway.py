"""Tenants' clusters as people have them: the gateway, by kubectl and plain requests."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ApiError, ns_path, refusal
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.versions import WATCH_LIST
from tests.e2e.support.waiting import eventually


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return two LClusters with the same people."""
    made = LClusters(cluster, people)
    for name in ("initech", "globex"):
        made.make(name, "alice", "bob", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return a user and sudoer in initech."""
    return lclusters.resident("initech", "alice")


@pytest.fixture(scope="module")
def globex(lclusters: LClusters) -> Resident:
    """Return the same person in globex."""
    return lclusters.resident("globex", "alice")


@pytest.fixture(scope="module")
def root(alice: Resident) -> Api:
    """Return a sudoer of initech with sudo."""
    return alice.api.acting("alice", "system:masters")


def names_of(items: list[dict[str, dict[str, str]]]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_a_new_lcluster_has_the_default_and_system_namespaces(alice: Resident) -> None:
    names = names_of(alice.api.items(NAMESPACES))
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= set(names)
    assert not [name for name in names if "initech" in name or "globex" in name]


def test_two_tenants_can_use_the_same_namespace_and_deployment_names(
    alice: Resident, globex: Resident, cluster: GatewayCluster
) -> None:
    for resident, image in ((alice, "nginx:1"), (globex, "nginx:2")):
        resident.kubectl("create", "namespace", "prod").ok()
        resident.kubectl("-n", "prod", "create", "deployment", "web", f"--image={image}").ok()
    for resident, image in ((alice, "nginx:1"), (globex, "nginx:2")):
        path = "{.items[*].spec.template.spec.containers[0].image}"
        out = resident.kubectl("get", "deployments", "-A", "-o", f"jsonpath={path}").ok()
        assert out == image
        assert resident.kubectl("-n", "prod", "get", "deploy", "web", "-o", "name").ok()
    upstream = names_of(cluster.admin.items(NAMESPACES))
    assert {"initech-prod", "globex-prod"} <= set(upstream)


def test_path_and_host_addresses_reach_the_same_lcluster(
    lclusters: LClusters, alice: Resident
) -> None:
    by_path = lclusters.resident("initech", "alice", by_path=True)
    by_host = alice.kubectl("get", "ns", "-o", "name").ok()
    assert by_path.kubectl("get", "ns", "-o", "name").ok() == by_host


def test_a_person_not_listed_is_referred_to_the_managers(lclusters: LClusters) -> None:
    stranger = lclusters.person_without_access("initech", "mallory")
    words = refusal(stranger.api.get, NAMESPACES)
    assert "ask one of its managers" in words
    missing = lclusters.person_without_access("nosuch", "mallory")
    assert refusal(missing.api.get, NAMESPACES) == words.replace("initech", "nosuch")


def test_an_object_of_another_tenant_is_not_found(alice: Resident, globex: Resident) -> None:
    globex.kubectl("create", "ns", "only-here").ok()
    assert "not found" in refusal(alice.api.get, ns_path("only-here"), status=404)
    assert "not found" in refusal(
        alice.api.create,
        ns_path("only-here", "configmaps"),
        {"metadata": {"name": "x"}},
        status=404,
    )
    assert alice.api.items(ns_path("only-here", "configmaps")) == []


def test_a_namespace_is_usable_as_soon_as_it_is_created(alice: Resident) -> None:
    for number in range(10):
        alice.api.create(NAMESPACES, {"metadata": {"name": f"quick-{number}"}})
        body = {"metadata": {"name": "x"}, "data": {"a": "initech-prod"}}
        made = alice.api.create(ns_path(f"quick-{number}", "configmaps"), body)
        assert made["data"] == {"a": "initech-prod"}
        assert made["metadata"]["namespace"] == f"quick-{number}"


def test_users_need_sudo_for_cluster_roles(alice: Resident, root: Api) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    body = {"metadata": {"name": "deployer"}, "rules": []}
    assert "cannot create resource" in refusal(alice.api.create, path, body)
    assert root.create(path, body)["metadata"]["name"] == "deployer"


def may(root: Api, user: str, verb: str, resource: str, namespace: str) -> bool:
    """Return whether somebody may do something inside, as an access review says."""
    attributes = {"verb": verb, "resource": resource, "namespace": namespace}
    spec = {"user": user, "resourceAttributes": attributes}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = root.create(path, {"spec": spec})
    return bool(answer["status"]["allowed"])


def test_rights_in_an_lcluster_are_granted_by_its_own_bindings(alice: Resident, root: Api) -> None:
    alice.kubectl("create", "namespace", "team").ok()
    assert not may(root, "carol", "list", "configmaps", "team")
    alice.kubectl(
        "-n", "team", "create", "rolebinding", "carol", "--clusterrole=view", "--user=carol"
    ).ok()
    eventually(
        lambda: may(root, "carol", "list", "configmaps", "team"), what="the binding is ignored"
    )
    assert not may(root, "carol", "list", "secrets", "team")
    assert not may(root, "carol", "list", "configmaps", "default")


def test_a_user_cannot_grant_rights_that_the_user_does_not_have(alice: Resident) -> None:
    alice.kubectl("create", "namespace", "grants").ok()
    words = alice.kubectl(
        "-n", "grants", "create", "role", "rooted", "--verb=*", "--resource=nodes"
    ).refused()
    assert "attempting to grant RBAC permissions not currently held" in words
    alice.kubectl("-n", "grants", "create", "role", "reader", "--verb=get", "--resource=pods").ok()
    patch = '{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
    assert (
        "not currently held"
        in alice.kubectl(
            "-n", "grants", "patch", "role", "reader", "--type=merge", "-p", patch
        ).refused()
    )


def definition(version: str) -> dict[str, Any]:
    """Return the CustomResourceDefinition of widgets in one version."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [served],
        },
    }


def applied(resident: Resident, body: dict[str, Any]) -> str:
    return resident.kubectl("apply", "-f", "-", stdin=json.dumps(body)).ok()


def test_two_tenants_can_define_the_same_kind_in_different_versions(
    alice: Resident, globex: Resident
) -> None:
    for resident, version in ((alice, "v1"), (globex, "v2")):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        resident.api.create(path, definition(version))
        resident.kubectl(
            "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s"
        ).ok()
        body = {
            "apiVersion": f"example.com/{version}",
            "kind": "Widget",
            "metadata": {"name": "one"},
        }
        # What is established may be missing for a moment in what kubectl is told of.
        eventually(partial(applied, resident, body))
        shown = "jsonpath={.apiVersion} {.metadata.name}"
        assert (
            resident.kubectl("get", "widget", "one", "-o", shown).ok()
            == f"{body['apiVersion']} one"
        )
    groups = alice.kubectl("api-versions").ok()
    assert "example.com/v1" in groups
    assert "example.com/v2" not in groups


def test_each_tenant_can_install_the_same_helm_chart(
    alice: Resident, globex: Resident, tmp_path: Path
) -> None:
    for resident in (alice, globex):
        resident.run("helm", "create", str(tmp_path / "shop")).ok()
        install = ("helm", "install", "shop", str(tmp_path / "shop"), "-n", "shop")
        resident.run(*install, "--create-namespace").ok()
        assert "deployed" in resident.run("helm", "list", "-n", "shop").ok()


def test_a_watch_over_all_namespaces_reports_only_the_tenants_own_objects(
    alice: Resident, globex: Resident
) -> None:
    before = set(names_of(alice.api.items(NAMESPACES)))
    eventually(lambda: alice.api.items("/api/v1/configmaps"))
    with alice.reading("get", "configmaps", "-A", "--watch", "--no-headers") as lines:
        # It lists, and watches from there on: once it has told anything, it misses nothing.
        assert next(lines)
        globex.kubectl("create", "ns", "seen").ok()
        globex.kubectl("-n", "seen", "create", "configmap", "foreign").ok()
        alice.kubectl("create", "ns", "seen").ok()
        alice.kubectl("-n", "seen", "create", "configmap", "ours").ok()
        new = (words for words in map(str.split, lines) if words[0] not in before)
        told = [next(new)[:2] for _ in range(2)]
        alice.kubectl("-n", "seen", "delete", "configmap", "ours").ok()
    assert sorted(told) == [["seen", "kube-root-ca.crt"], ["seen", "ours"]]


def test_a_tenant_pods_token_reads_nothing_at_the_platforms_api_server(
    alice: Resident, cluster: GatewayCluster, tmp_path: Path
) -> None:
    token = alice.kubectl("create", "token", "default").ok().strip()
    stolen = cluster.admin.with_token(token, tmp_path / "stolen.kubeconfig")
    for path in (NAMESPACES, "/api/v1/configmaps", ns_path("globex-default", "configmaps")):
        assert "is forbidden" in refusal(stolen.get, path)
    inside = Resident(alice.person, alice.kubeconfig).api.with_token(token, tmp_path / "inside")
    assert "is forbidden" in refusal(inside.get, ns_path("default", "configmaps"))


def test_revocation_ends_access_to_the_lcluster(lclusters: LClusters) -> None:
    lclusters.make("fleeting", "dave")
    dave = lclusters.resident("fleeting", "dave")
    admin = lclusters.cluster.admin
    admin.patch("/apis/tenancy.loblaw.digital/v1beta1/lclusters/fleeting", {"spec": {"users": []}})

    def refused() -> bool:
        try:
            dave.api.get(NAMESPACES)
        except ApiError as error:
            return error.status == 403
        return False

    eventually(refused, what="a former user is let in")


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("PartialObjectMetadataList", ""),
        pytest.param(
            "PartialObjectMetadata",
            (
                "?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true"
                "&resourceVersionMatch=NotOlderThan"
            ),
            marks=WATCH_LIST,
        ),
    ],
)
def test_partial_object_metadata_is_served_in_protobuf(
    alice: Resident, cluster: GatewayCluster, kind: str, query: str
) -> None:
    """Kubernetes' own spec of metadata informers failed: in JSON objects of lists have a kind."""
    form = f"as={kind};g=meta.k8s.io;v=v1"
    types = (f"application/{each};{form}" for each in ("vnd.kubernetes.protobuf", "json"))
    accept = (("Accept", ",".join(types)),)
    for api, namespace in ((alice.api, "default"), (cluster.admin, "initech-default")):
        answer = api.answer("GET", ns_path(namespace, "secrets") + query, headers=accept)
        assert "content-type: application/vnd.kubernetes.protobuf" in answer.headers.lower()
        # A watch may tell a bookmark more before its time is over.
        objects = answer.body.count(b"BOOKMARK") if query else 1
        assert answer.body.count(b"PartialObjectMetadata") == objects > 0
