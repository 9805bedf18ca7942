"""kubectl inside an LCluster, command by command, and requests that clients seldom make.

What is compared with a plain cluster is asked of the platform's API server as its administrator, in
a namespace of the same name.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen
from uuid import uuid4

import pytest

from tests.e2e.support.api import NAMESPACES, Api, Object, ns_path, refusal
from tests.e2e.support.commands import Result, environment, run
from tests.e2e.support.controllers import controllers
from tests.e2e.support.gateway import (
    GatewayCluster,
    LClusters,
    Resident,
    gone,
    publish_pod,
)
from tests.e2e.support.kubelet import node, run_pod
from tests.e2e.support.people import People
from tests.e2e.support.versions import MARKED_VOLUMES, RESIZE
from tests.e2e.support.waiting import eventually

HERE = "shelf"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{HERE}/deployments"
VOLUMES = "/api/v1/persistentvolumes"
STRATEGIC = "application/strategic-merge-patch+json"
CONTROLLERS = (
    "deployment-controller",
    "disruption-controller",
    "endpointslice-mirroring-controller",
    "persistentvolume-binder-controller",
    "replicaset-controller",
)
"""Those that do what people wait for here."""


@pytest.fixture(scope="module")
def cluster(
    gateway_cluster: GatewayCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayCluster]:
    """Return the cluster that files about the gateway share, with a node and controllers."""
    folder = tmp_path_factory.mktemp("clients")
    with node(gateway_cluster.admin, folder), controllers(gateway_cluster, *CONTROLLERS):
        yield gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    return LClusters(cluster, people)


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return a sudoer of an LCluster with a namespace for these tests."""
    lclusters.make("library", "alice", sudoers=("alice",))
    resident = lclusters.resident("library", "alice")
    resident.kubectl("create", "namespace", HERE).ok()
    # Kubernetes makes it a moment after the namespace, and no pod is let in before.
    account = ns_path(f"library-{HERE}", "serviceaccounts", "default")
    eventually(lambda: lclusters.cluster.admin.find(account), what="no ServiceAccount to run as")
    return resident


@pytest.fixture(scope="module")
def root(alice: Resident) -> Api:
    return alice.api.acting("alice", "system:masters")


@pytest.fixture(scope="module")
def pod(alice: Resident, cluster: GatewayCluster) -> str:
    """Return the name of a pod that runs."""
    resources = {"requests": {"cpu": "100m"}}
    container = {"name": "main", "image": "example.com/main", "resources": resources}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    alice.api.create(ns_path(HERE, "pods"), {"metadata": {"name": "runs"}, "spec": spec})
    run_pod(cluster.admin, f"library-{HERE}", "runs")
    return "runs"


def here(resident: Resident, *arguments: str, stdin: str | None = None) -> Result:
    return resident.kubectl("-n", HERE, *arguments, stdin=stdin)


def deployment(name: str, image: str = "example.com/web:1") -> Object:
    labels = {"app": name}
    pod = {"containers": [{"name": "web", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@pytest.mark.parametrize(
    "words",
    [
        ("pods",),
        ("deployments.spec.strategy", "--recursive"),
        ("persistentvolumes", "--recursive"),
        ("pods.spec.nothing",),
    ],
)
def test_explain_prints_the_same_as_in_a_plain_cluster(
    alice: Resident, cluster: GatewayCluster, words: tuple[str, ...]
) -> None:
    inside = alice.kubectl("explain", *words)
    plain = cluster.run("kubectl", "explain", *words)
    assert (inside.code, inside.out, inside.err) == (plain.code, plain.out, plain.err)


def test_explain_describes_the_tenants_custom_resources(root: Api, alice: Resident) -> None:
    teeth = {"type": "integer", "description": "How many it has."}
    spec = {"type": "object", "description": "What it is to be.", "properties": {"teeth": teeth}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gears", "singular": "gear", "kind": "Gear", "shortNames": ["gr"]}
    body = {
        "metadata": {"name": "gears.machines.example.com"},
        "spec": {
            "group": "machines.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }
    root.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)

    def explained() -> str:
        result = alice.kubectl("explain", "gr.spec", "--recursive")
        return result.out if result.code == 0 else ""

    # The API server tells of the schema of a kind a moment after it serves it.
    told = eventually(explained, what="the kind is not explained")
    assert told.splitlines()[:3] == [
        "GROUP:      machines.example.com",
        "KIND:       Gear",
        "VERSION:    v1",
    ]
    assert "What it is to be." in told
    assert "teeth\t<integer>" in told
    assert "library" not in told


def test_explain_describes_the_fields_of_an_lcluster(cluster: GatewayCluster) -> None:
    told = cluster.run("kubectl", "explain", "lcluster.spec").ok()
    for field in ("users", "managers", "sudoers", "suspend", "revokedCredentials"):
        assert f"\n  {field}\t" in told


def test_diff_shows_the_changes_an_apply_would_make(alice: Resident) -> None:
    new = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "differs"},
        "data": {"a": "one"},
    }
    changed = new | {"data": {"a": "two"}}
    assert "+  a: one" in here(alice, "diff", "-f", "-", stdin=json.dumps(new)).out
    here(alice, "apply", "-f", "-", stdin=json.dumps(new)).ok()
    here(alice, "diff", "-f", "-", stdin=json.dumps(new)).ok()
    told = here(alice, "diff", "-f", "-", stdin=json.dumps(changed))
    assert told.code == 1
    assert "-  a: one\n+  a: two" in told.out
    assert "library" not in told.out


def test_server_side_apply_after_client_side_apply_prints_no_warning(
    alice: Resident,
) -> None:
    """kubectl was in conflict with itself about the annotation with what was applied last."""

    def applied(value: str, *flags: str) -> Result:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": value}}
        body |= {"metadata": {"name": "migrates", "namespace": HERE}}
        return alice.kubectl("apply", "-f", "-", *flags, stdin=json.dumps(body))

    applied("0").ok()
    for value in ("1", "2", "3"):
        result = applied(value, "--server-side", "--force-conflicts")
        result.ok()
        assert result.err == ""
    found = alice.api.get(ns_path(HERE, "configmaps/migrates"))
    kept = found["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(kept)["metadata"]["namespace"] == HERE


def test_server_side_apply_of_a_role_binding_prints_no_warning(
    alice: Resident,
) -> None:
    """The check of escalation tried kubectl's second write first, and met that conflict."""
    group = "rbac.authorization.k8s.io"
    body = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "readers", "namespace": HERE},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "dave", "apiGroup": group}],
    }
    alice.kubectl("apply", "-f", "-", stdin=json.dumps(body)).ok()
    for _ in range(2):
        result = alice.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(body))
        result.ok()
        assert result.err == ""


def test_kubectl_without_a_cache_refers_a_person_not_listed_to_the_managers(
    lclusters: LClusters, alice: Resident, tmp_path: Path
) -> None:
    """A kubectl without a cache asks for discovery first; it said "unknown" of the refusal."""
    del alice  # Her LCluster is there.
    stranger = lclusters.person_without_access("library", "stranger")
    command = ("kubectl", "--cache-dir", str(tmp_path), "get", "namespaces")
    result = run(*command, env=stranger.environment)
    assert result.code == 1
    assert 'User "stranger" is not listed in the users of LCluster "library"' in result.err
    assert "ask one of its managers" in result.err
    assert "unknown" not in result.err


def test_a_rollout_has_a_history_and_can_be_paused_resumed_and_undone(alice: Resident) -> None:
    one, two = "example.com/web:1", "example.com/web:2"
    here(alice, "apply", "-f", "-", stdin=json.dumps(deployment("rolled", one))).ok()

    def image(revision: str) -> str:
        result = here(alice, "rollout", "history", "deploy/rolled", f"--revision={revision}")
        return result.out if result.code == 0 else ""

    eventually(lambda: one in image("1"), what="there is no first revision")
    here(alice, "set", "image", "deploy/rolled", f"web={two}").ok()
    eventually(lambda: two in image("2"), what="there is no second revision")
    assert "paused" in here(alice, "rollout", "pause", "deploy/rolled").ok()
    assert "already paused" in here(alice, "rollout", "pause", "deploy/rolled").refused()
    assert "resumed" in here(alice, "rollout", "resume", "deploy/rolled").ok()
    assert "restarted" in here(alice, "rollout", "restart", "deploy/rolled").ok()
    assert "rolled back" in here(alice, "rollout", "undo", "deploy/rolled", "--to-revision=1").ok()
    shown = "jsonpath={.spec.template.spec.containers[0].image}"
    assert here(alice, "get", "deploy", "rolled", "-o", shown).ok() == one
    here(alice, "scale", "deploy/rolled", "--replicas=0").ok()
    status = here(alice, "rollout", "status", "deploy/rolled", "--timeout=30s").ok()
    assert 'deployment "rolled" successfully rolled out' in status


def test_scale_checks_the_current_number_of_replicas(alice: Resident) -> None:
    alice.api.create(DEPLOYMENTS, deployment("scaled"))
    here(alice, "scale", "deploy/scaled", "--replicas=2", "--current-replicas=1").ok()
    words = here(alice, "scale", "deploy/scaled", "--replicas=3", "--current-replicas=1").refused()
    assert "Expected replicas to be 1, was 2" in words
    assert alice.api.get(f"{DEPLOYMENTS}/scaled")["spec"]["replicas"] == 2
    shown = here(alice, "get", "deploy", "scaled", "--subresource=scale", "-o", "json").ok()
    assert json.loads(shown)["metadata"]["namespace"] == HERE


def test_edit_saves_the_text_left_by_the_editor(alice: Resident, tmp_path: Path) -> None:
    alice.api.create(ns_path(HERE, "configmaps"), {"metadata": {"name": "e"}, "data": {"a": "old"}})
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nexec sed -i "s/old/new/" "$1"\n')
    editor.chmod(0o700)
    edit = ("kubectl", "-n", HERE, "edit", "configmap/e")
    edited = run(*edit, env=alice.environment | {"KUBE_EDITOR": str(editor)})
    assert edited.ok() == "configmap/e edited\n"
    assert alice.api.get(ns_path(HERE, "configmaps", "e"))["data"] == {"a": "new"}
    assert "no changes made" in run(*edit, env=alice.environment | {"KUBE_EDITOR": "true"}).err


def test_wait_returns_on_creation_conditions_fields_and_deletion(alice: Resident) -> None:
    body = {"metadata": {"name": "awaited"}, "spec": deployment("awaited")["spec"]}
    waits = ("kubectl", "-n", HERE, "wait", "deploy/awaited", "--timeout=60s")

    def wait(what: str) -> subprocess.Popen[str]:
        env = environment(alice.environment)
        return subprocess.Popen(
            (*waits, f"--for={what}"), env=env, stdout=subprocess.PIPE, text=True
        )

    with wait("create") as created:
        alice.api.create(DEPLOYMENTS, body)
        assert created.communicate()[0] == "deployment.apps/awaited condition met\n"
    with wait("condition=Progressing") as progressing:
        assert "condition met" in progressing.communicate()[0]
    with wait("jsonpath={.spec.replicas}=0") as scaled, wait("delete") as deleted:
        here(alice, "scale", "deploy/awaited", "--replicas=0").ok()
        assert "condition met" in scaled.communicate()[0]
        alice.api.delete(f"{DEPLOYMENTS}/awaited")
        deleted.communicate()
        assert deleted.returncode == 0
    late = here(alice, "wait", "--for=delete", "configmap/kube-root-ca.crt", "--timeout=1s")
    assert "timed out waiting for the condition on configmaps/kube-root-ca.crt" in late.refused()


def test_kubectl_cp_copies_files_to_and_from_a_pod(
    alice: Resident, pod: str, tmp_path: Path
) -> None:
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(os.urandom(300_000))
    here(alice, "cp", str(sent), f"{pod}:copied").ok()
    here(alice, "cp", f"{pod}:copied", str(back)).ok()
    assert back.read_bytes() == sent.read_bytes()


@contextmanager
def proxied(resident: Resident) -> Iterator[str]:
    """Run kubectl proxy, and return its address."""
    with resident.reading("proxy", "--port=0") as lines:
        yield "http://" + next(lines).rstrip().rpartition(" ")[2]


def test_kubectl_proxy_serves_the_lcluster(alice: Resident) -> None:
    url = f"{NAMESPACES}/{HERE}"
    with proxied(alice) as address, urlopen(f"{address}{url}") as answer:  # noqa: S310 - it is http
        found = json.load(answer)
    assert found["metadata"]["name"] == HERE


class _Echo(BaseHTTPRequestHandler):
    """Answer by what was asked."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {
            "method": self.command,
            "path": self.path,
            "body": body.decode(),
            "headers": {name.lower(): value for name, value in self.headers.items()},
        }
        answer = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = _answer  # noqa: N815 - so they are called

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - so it is called
        """Say nothing."""


@pytest.fixture(scope="module")
def echo(alice: Resident, cluster: GatewayCluster) -> Iterator[int]:
    """Return the port of a server that answers as pod and Service `echo` of the tenant."""
    with ThreadingHTTPServer(("0.0.0.0", 0), _Echo) as server:  # noqa: S104 - the API server asks it
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        ports = [{"name": "http", "port": 80, "targetPort": port}]
        body = {"metadata": {"name": "echo"}, "spec": {"ports": ports}}
        alice.api.create(ns_path(HERE, "services"), body)
        publish_pod(cluster.admin, f"library-{HERE}", "echo", "http", port)
        yield port
        server.shutdown()


@pytest.mark.parametrize("of", ["pods/echo:PORT", "services/echo:http", "services/http:echo:80"])
def test_the_proxy_subresource_forwards_requests_to_pods_and_services(
    root: Api, echo: int, of: str
) -> None:
    path = ns_path(HERE, of.replace("PORT", str(echo)), "proxy/a/namespaces/x?b=c%2Fd&b=e")
    told = root.create(path, {"says": HERE})
    assert told["method"] == "POST"
    assert told["path"] == "/a/namespaces/x?b=c%2Fd&b=e"
    assert json.loads(told["body"]) == {"says": HERE}
    assert not {"authorization", "impersonate-user"} & set(told["headers"])
    # The API server says the path that it was asked by, in its own spelling.
    assert HERE in told["headers"].pop("x-forwarded-uri")
    assert "library" not in json.dumps(told)


@pytest.mark.usefixtures("echo")
def test_the_view_role_does_not_allow_the_proxy_subresource(
    alice: Resident, tmp_path: Path
) -> None:
    path = ns_path(HERE, "services", "echo:http/proxy/")
    assert alice.api.get(path)["path"] == "/"
    account = f"--serviceaccount={HERE}:default"
    here(alice, "create", "rolebinding", "viewers", "--clusterrole=view", account).ok()
    token = here(alice, "create", "token", "default").ok().strip()
    viewer = alice.api.with_token(token, tmp_path / "viewer.kubeconfig")
    assert 'cannot get resource "services/proxy"' in refusal(viewer.get, path)


def test_an_eviction_respects_the_disruption_budget_and_deletes_the_pod(
    alice: Resident, cluster: GatewayCluster
) -> None:
    container = {"name": "main", "image": "example.com/main"}
    body = {
        "metadata": {"name": "evicted", "labels": {"app": "evicted"}},
        "spec": {"automountServiceAccountToken": False, "containers": [container]},
    }
    alice.api.create(ns_path(HERE, "pods"), body)
    one = ns_path(HERE, "pods", "evicted")
    selector = {"matchLabels": {"app": "evicted"}}
    budgets = f"/apis/policy/v1/namespaces/{HERE}/poddisruptionbudgets"
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    alice.api.create(budgets, budget)
    run_pod(cluster.admin, f"library-{HERE}", "evicted")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "evicted", "namespace": HERE},
    }
    # Not by `create`, which waits as long as it is told to and asks again.
    json_ = (("Content-Type", "application/json"),)
    refused = alice.api.answer("POST", f"{one}/eviction", json.dumps(eviction).encode(), json_)
    assert refused.status == 429
    words = "Cannot evict pod as it would violate the pod's disruption budget."
    assert json.loads(refused.body)["message"] == words
    alice.api.delete(f"{budgets}/b")
    wrong = eviction | {"deleteOptions": {"preconditions": {"uid": str(uuid4())}}}
    assert "UID in the precondition" in refusal(
        alice.api.create, f"{one}/eviction", wrong, status=409
    )
    now = eviction | {"deleteOptions": {"gracePeriodSeconds": 0}}
    answer = alice.api.create(f"{one}/eviction", now)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert gone(alice.api, one)


@RESIZE
def test_a_sudoer_can_resize_a_pod(alice: Resident, root: Api, pod: str) -> None:
    one = ns_path(HERE, "pods", pod)

    def asking(cpu: str) -> Object:
        resources = {"requests": {"cpu": cpu}}
        return {"spec": {"containers": [{"name": "main", "resources": resources}]}}

    # Kubernetes' own role `admin` does not have it.
    assert 'cannot patch resource "pods/resize"' in refusal(
        alice.api.patch, f"{one}/resize", asking("200m"), STRATEGIC
    )
    root.patch(f"{one}/resize", asking("200m"), STRATEGIC)
    found = root.get(one)["spec"]["containers"][0]["resources"]
    assert found["requests"] == {"cpu": "200m"}
    words = refusal(root.patch, one, asking("300m"), STRATEGIC, status=422)
    assert "pod updates may not change fields other than" in words


def test_the_log_of_a_pod_that_has_not_started_is_empty(alice: Resident) -> None:
    """The answer 204 had chunks, which clients took for the next answer on the connection."""
    container = {"name": "main", "image": "example.com/main"}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    alice.api.create(ns_path(HERE, "pods"), {"metadata": {"name": "waits"}, "spec": spec})
    answer = alice.api.answer("GET", ns_path(HERE, "pods", "waits/log"))
    assert answer.status == 204
    assert "transfer-encoding" not in answer.headers.lower()
    assert "content-type" not in answer.headers.lower()
    assert here(alice, "logs", "waits").err == ""


def delete(api: Api, path: str, options: Object) -> Object:
    answer: Object = json.loads(api.send("DELETE", path, json.dumps(options).encode()))
    return answer


def test_a_deletion_checks_its_preconditions(alice: Resident) -> None:
    path = ns_path(HERE, "configmaps")
    made = alice.api.create(path, {"metadata": {"name": "kept"}})["metadata"]
    space = alice.api.create(NAMESPACES, {"metadata": {"name": "kept"}})["metadata"]
    one, other = f"{path}/kept", {"preconditions": {"uid": str(uuid4())}}
    assert made["uid"] in refusal(delete, alice.api, one, other, status=409)
    older = {"preconditions": {"resourceVersion": "1"}}
    assert made["resourceVersion"] in refusal(delete, alice.api, one, older, status=409)
    words = refusal(delete, alice.api, f"{NAMESPACES}/kept", other, status=409)
    assert space["uid"] in words
    assert "library" not in words
    right = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
    assert delete(alice.api, one, {"preconditions": right})["status"] == "Success"


@pytest.mark.parametrize("policy", ["Orphan", "Foreground"])
def test_a_deletion_treats_dependents_by_its_propagation_policy(
    alice: Resident, policy: str
) -> None:
    name = policy.lower()
    alice.api.create(DEPLOYMENTS, deployment(name))
    sets = f"/apis/apps/v1/namespaces/{HERE}/replicasets"

    def dependents() -> list[Object]:
        return alice.api.items(sets, labelSelector=f"app={name}")

    eventually(dependents, what="there is no ReplicaSet")
    answer = delete(alice.api, f"{DEPLOYMENTS}/{name}", {"propagationPolicy": policy})
    wanted = "orphan" if policy == "Orphan" else "foregroundDeletion"
    if answer["kind"] == "Deployment":
        assert wanted in answer["metadata"]["finalizers"]
    eventually(lambda: gone(alice.api, f"{DEPLOYMENTS}/{name}"), what="it is still there")
    if policy == "Orphan":
        assert [each["metadata"].get("ownerReferences") for each in dependents()] == [None]
    else:
        eventually(lambda: not dependents(), what="the dependents are still there")


def test_namespaces_of_the_kubezoo_example_are_stored_with_the_tenants_prefix(
    lclusters: LClusters, cluster: GatewayCluster
) -> None:
    """The example of the article on KubeZoo: `default` and `prod` of tenant `tenant2`."""
    lclusters.make("tenant2", "alice", sudoers=("alice",))
    alice = lclusters.resident("tenant2", "alice")
    alice.kubectl("create", "namespace", "prod").ok()
    upstream = {each["metadata"]["name"] for each in cluster.admin.items(NAMESPACES)}
    assert {"tenant2-default", "tenant2-prod"} <= upstream
    maps = ns_path("prod", "configmaps")
    alice.api.create(maps, {"metadata": {"name": "m", "namespace": "prod"}})
    direct = cluster.admin.get(ns_path("tenant2-prod", "configmaps", "m"))
    inside = alice.api.get(f"{maps}/m")
    assert direct["metadata"]["namespace"] == "tenant2-prod"
    assert inside["metadata"]["namespace"] == "prod"
    assert direct["metadata"]["uid"] == inside["metadata"]["uid"]
    everywhere = alice.api.items("/api/v1/configmaps", fieldSelector="metadata.name=m")
    assert [each["metadata"]["namespace"] for each in everywhere] == ["prod"]


def test_a_volume_claim_of_the_kubezoo_example_binds_the_tenants_volume(
    lclusters: LClusters, cluster: GatewayCluster
) -> None:
    """The example of the article on KubeZoo: claim `mypvc` of tenant `foofoo`, and its volume."""
    root = lclusters.make_administered("foofoo")
    volume = "pv-cb23c200-f249-11ea-9039-3497f65a8415"
    capacity = {"storage": "1Gi"}
    disk = {
        "metadata": {"name": volume},
        "spec": {
            "capacity": capacity,
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "claimRef": {"namespace": "default", "name": "mypvc"},
            "csi": {"driver": "foofoo.example.com", "volumeHandle": "h"},
        },
    }
    claim = {
        "metadata": {"name": "mypvc", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": capacity},
            "volumeName": volume,
        },
    }
    root.create(VOLUMES, disk)
    claims = ns_path("default", "persistentvolumeclaims")
    root.create(claims, claim)
    direct = cluster.admin.get(ns_path("foofoo-default", "persistentvolumeclaims", "mypvc"))
    assert direct["spec"]["volumeName"] == f"foofoo-{volume}"
    stored = cluster.admin.get(f"{VOLUMES}/foofoo-{volume}")
    assert stored["spec"]["claimRef"]["namespace"] == "foofoo-default"

    def bound() -> bool:
        return bool(root.get(f"{claims}/mypvc").get("status", {}).get("phase") == "Bound")

    eventually(bound, what="the claim is not bound to its volume")
    assert root.get(f"{claims}/mypvc")["spec"]["volumeName"] == volume
    assert root.get(f"{VOLUMES}/{volume}")["spec"]["claimRef"]["namespace"] == "default"


def test_owners_and_groups_of_the_kubezoo_example_have_the_tenants_prefix(
    cluster: GatewayCluster, root: Api
) -> None:
    """Owner references to cluster-scoped owners, and the group of a CustomResourceDefinition."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {
        "group": "zoo.example.com",
        "scope": "Cluster",
        "names": {"plural": "cages", "kind": "Cage"},
        "versions": [version],
    }
    definition = {"metadata": {"name": "cages.zoo.example.com"}, "spec": spec}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    root.create(definitions, definition)
    direct = cluster.admin.get(f"{definitions}/cages.library-zoo.example.com")
    assert direct["spec"]["group"] == "library-zoo.example.com"
    cages = "/apis/zoo.example.com/v1/cages"
    eventually(lambda: not gone(root, cages), what="the kind is not served")
    cage = root.create(
        cages, {"apiVersion": "zoo.example.com/v1", "kind": "Cage", "metadata": {"name": "lion"}}
    )
    owner = {
        "apiVersion": cage["apiVersion"],
        "kind": "Cage",
        "name": "lion",
        "uid": cage["metadata"]["uid"],
    }
    maps = ns_path(HERE, "configmaps")
    root.create(maps, {"metadata": {"name": "owned", "ownerReferences": [owner]}})
    assert root.get(f"{maps}/owned")["metadata"]["ownerReferences"] == [owner]
    stored = cluster.admin.get(ns_path(f"library-{HERE}", "configmaps", "owned"))
    assert stored["metadata"]["ownerReferences"] == [
        owner | {"apiVersion": "library-zoo.example.com/v1", "name": "library-lion"}
    ]
    upstream = "/apis/library-zoo.example.com/v1/cages/library-lion"
    assert cluster.admin.get(upstream)["metadata"]["uid"] == owner["uid"]


@MARKED_VOLUMES
def test_a_claimed_volume_is_labelled_for_its_tenant_only(
    cluster: GatewayCluster, alice: Resident, root: Api
) -> None:
    """A list of volumes read those of the whole cluster, and a watch all their events."""
    mark = "lcluster.tenancy.loblaw.digital/claimed-by"

    def provision(namespace: str) -> Object:
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": namespace, "name": "data"},
            "csi": {"driver": "platform.example.com", "volumeHandle": "h"},
        }
        body = {"metadata": {"name": f"pvc-{uuid4()}", "labels": {"a": "b"}}, "spec": spec}
        return cluster.admin.create(VOLUMES, body)

    here_, others = provision(f"library-{HERE}"), provision("kube-system")
    assert here_["metadata"]["labels"] == {"a": "b", mark: "library"}
    assert others["metadata"]["labels"] == {"a": "b"}
    name = here_["metadata"]["name"]
    listed = {each["metadata"]["name"]: each for each in root.items(VOLUMES)}
    assert name in listed
    assert others["metadata"]["name"] not in listed
    assert listed[name]["metadata"]["labels"] == {"a": "b"}
    assert listed[name]["spec"]["claimRef"]["namespace"] == HERE
    path = f"{VOLUMES}/{name}"
    for changed in (None, {mark: None}, {mark: "globex"}):
        cluster.admin.patch(path, {"metadata": {"labels": changed}})
        assert cluster.admin.get(path)["metadata"]["labels"][mark] == "library"
    claim = {"spec": {"claimRef": {"namespace": "kube-system"}}}
    cluster.admin.patch(path, claim)
    assert mark not in cluster.admin.get(path)["metadata"].get("labels", {})
    assert name not in alice.kubectl("get", "pv", "-o", "name").ok()
