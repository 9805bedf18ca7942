"""No policy or webhook of a tenant changes or holds up what Kubernetes and the platform write.

Their writes are trusted: the platform's policies bound what tenants write, and not what a tenant
makes of these. Each policy here changes what the tenant itself writes, so that it is in force.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import (
    JSON_PATCH,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.controllers import controllers
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, publish_hook
from tests.e2e.support.hooks import listening
from tests.e2e.support.people import People
from tests.e2e.support.processes import free_port
from tests.e2e.support.versions import since
from tests.e2e.support.waiting import eventually

TENANT, NEIGHBOUR = "quail", "bittern"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
VOLUMES = "/api/v1/persistentvolumes"
SECRETS = 10
MUTATING_POLICIES = since("1.36", "MutatingAdmissionPolicies")
OF_ALL = {"apiVersions": ["*"], "operations": ["CREATE", "UPDATE"]}
_numbers = itertools.count()
PROBES = OF_ALL | {"apiGroups": [""], "resources": ["configmaps"]}


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters of whoever attacks, and of a neighbour."""
    made = LClusters(cluster, people)
    for name in (TENANT, NEIGHBOUR):
        made.make(name, "alice", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def root(lclusters: LClusters) -> Api:
    """Return the administrator inside the first."""
    return lclusters.administrator(TENANT)


@pytest.fixture(scope="module")
def neighbour(lclusters: LClusters) -> Api:
    """Return the administrator inside the second."""
    return lclusters.administrator(NEIGHBOUR)


@contextmanager
def mutating(root: Api, group: str, resources: list[str], patch: str) -> Iterator[None]:
    """Have a MutatingAdmissionPolicy of the tenant in force."""
    name = f"attack-{next(_numbers)}"  # One that was removed may still be in force.
    label = f"[JSONPatch{{op: 'add', path: '/metadata/labels', value: {{'{name}': 'yes'}}}}]"
    probe = "has(object.metadata.name) && object.metadata.name == 'probe'"
    spec = {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [PROBES, OF_ALL | {"apiGroups": [group], "resources": resources}]
        },
        "mutations": [
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": f"{probe} ? {label} : {patch}"},
            }
        ],
    }
    kind = "mutatingadmissionpolic"
    with there(root, f"{kind}ies", f"{kind}ybindings", name, spec):
        eventually(lambda: is_mutated(root, name), what="the policy is not in force")
        yield


def is_mutated(root: Api, label: str) -> bool:
    body = {"metadata": {"name": "probe"}}
    made = root.create(ns_path("default", "configmaps"), body, dryRun="All")
    return label in made["metadata"].get("labels", {})


@contextmanager
def there(
    root: Api, policies: str, bindings: str, name: str, spec: Object, **bound: object
) -> Iterator[None]:
    """Have a policy of the tenant, and its binding."""
    named = {"metadata": {"name": name}}
    root.create(f"{REGISTRATION}/{policies}", named | {"spec": spec})
    root.create(f"{REGISTRATION}/{bindings}", named | {"spec": {"policyName": name} | bound})
    try:
        yield
    finally:
        root.remove(f"{REGISTRATION}/{bindings}/{name}")
        root.remove(f"{REGISTRATION}/{policies}/{name}")


def claim(root: Api, name: str, class_name: str) -> str:
    """Make a claim; return its name upstream."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": class_name,
    }
    root.create(
        ns_path("default", "persistentvolumeclaims"), {"metadata": {"name": name}, "spec": spec}
    )
    return name


@MUTATING_POLICIES
def test_a_tenants_policy_cannot_bind_its_volume_to_the_claim_of_another(
    cluster: GatewayCluster, root: Api, neighbour: Api
) -> None:
    admin = cluster.admin
    data, bait = claim(neighbour, "data", ""), claim(root, "bait", "own")
    wanted = (
        "{'kind': 'PersistentVolumeClaim', 'apiVersion': 'v1', "
        f"'namespace': '{NEIGHBOUR}-default', 'name': '{data}'}}"
    )
    patch = (
        "request.operation == 'UPDATE' && has(object.spec.claimRef) "
        f"&& object.spec.claimRef.namespace != '{NEIGHBOUR}-default' "
        f"? [JSONPatch{{op: 'replace', path: '/spec/claimRef', value: {wanted}}}] : []"
    )
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "csi.example.com", "volumeHandle": "mine"},
        "storageClassName": "own",
        "persistentVolumeReclaimPolicy": "Retain",
    }
    with (
        mutating(root, "", ["persistentvolumes"], patch),
        controllers(cluster, "persistentvolume-binder-controller"),
    ):
        root.create(VOLUMES, {"metadata": {"name": "trap"}, "spec": spec})
        volume = f"{VOLUMES}/{TENANT}-trap"
        eventually(lambda: "claimRef" in admin.get(volume)["spec"], 60, "no claim is bound")
        bound = admin.get(volume)["spec"]["claimRef"]
        assert (bound["namespace"], bound["name"]) == (f"{TENANT}-default", bait)
        claims = ns_path(f"{TENANT}-default", "persistentvolumeclaims", bait)
        eventually(lambda: admin.get(claims)["status"].get("phase") == "Bound", 60)
    theirs = admin.get(ns_path(f"{NEIGHBOUR}-default", "persistentvolumeclaims", data))
    assert "volumeName" not in theirs["spec"]


@MUTATING_POLICIES
def test_a_tenants_policy_cannot_change_the_allocation_of_devices(
    cluster: GatewayCluster, root: Api
) -> None:
    claims = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    spec = {"devices": {"requests": [request]}}
    root.create(claims.format("default"), {"metadata": {"name": "gpu"}, "spec": spec})
    at = "/status/allocation/devices/results/0"
    patch = (
        f"[JSONPatch{{op: 'replace', path: '{at}/device', value: 'gpu-of-another'}}, "
        f"JSONPatch{{op: 'replace', path: '{at}/pool', value: 'node-of-another'}}]"
    )
    scheduler = cluster.admin.acting("system:kube-scheduler", "system:masters")
    result = {"request": "r", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    with mutating(root, "resource.k8s.io", ["resourceclaims", "resourceclaims/status"], patch):
        status = {"allocation": {"devices": {"results": [result]}}}
        path = claims.format(f"{TENANT}-default") + "/gpu/status"
        stored = scheduler.patch(path, {"status": status})["status"]["allocation"]
    assert result.items() <= stored["devices"]["results"][0].items()


@MUTATING_POLICIES
def test_a_tenants_policy_cannot_change_a_role_binding_after_its_dry_run(
    lclusters: LClusters, root: Api
) -> None:
    """Who may write a binding is judged by a dry run, which the policy left as it was."""
    alice = lclusters.resident(TENANT, "alice").api
    patch = "request.dryRun ? [] : [JSONPatch{op: 'replace', path: '/roleRef/name', value: 'edit'}]"
    bindings = rbac_path("rolebindings", namespace="default")
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": "lookers"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": group}],
    }
    with mutating(root, group, ["rolebindings"], patch):
        alice.create(bindings, body)
    assert alice.get(f"{bindings}/lookers")["roleRef"]["name"] == "view"


@MUTATING_POLICIES
@pytest.mark.parametrize(
    ("resource", "path", "value"),
    [
        ("resourcequotas", "/spec/hard/count~1secrets", "1000"),
        ("resourcequotas/status", "/status/used/count~1secrets", "0"),
    ],
)
def test_a_tenants_policy_cannot_raise_its_total_quota(
    cluster: GatewayCluster, root: Api, resource: str, path: str, value: str
) -> None:
    """The controller writes a share, and the API server and Kubernetes' controller its status."""
    cluster.admin.patch(f"{LCLUSTERS}/{TENANT}", {"spec": {"quota": {"count/secrets": "10"}}})
    space = f"more-{resource[-6:]}"
    of = path.split("/")[1:3]
    there_is = f"has(object.{of[0]}) && has(object.{'.'.join(of)})"
    patch = (
        f"{there_is} && 'count/secrets' in object.{'.'.join(of)} "
        f"? [JSONPatch{{op: 'replace', path: '{path}', value: '{value}'}}] : []"
    )
    secrets = ns_path(space, "secrets")
    with mutating(root, "", [resource], patch):
        root.create(NAMESPACES, {"metadata": {"name": space}})
        share = ns_path(f"{TENANT}-{space}", "resourcequotas", "lcluster")
        eventually(lambda: (cluster.admin.find(share) or {}).get("status", {}).get("used"))
        for number in range(SECRETS):
            root.create(secrets, {"metadata": {"name": f"s{number}"}})
        one_more = {"metadata": {"name": "one-more"}}
        assert "exceeded quota" in refusal(root.create, secrets, one_more)
    root.delete(secrets)


@MUTATING_POLICIES
def test_a_tenants_policy_cannot_change_the_published_bill(
    cluster: GatewayCluster, root: Api
) -> None:
    info = ns_path(f"{TENANT}-kube-public", "configmaps", "lcluster-info")
    before = cluster.admin.get(info)["data"]
    patch = (
        "object.metadata.name == 'lcluster-info' "
        "? [JSONPatch{op: 'add', path: '/data/forged', value: 'yes'}] : []"
    )
    with mutating(root, "", ["configmaps"], patch):
        cluster.admin.patch(f"{LCLUSTERS}/{TENANT}", {"spec": {"limits": {"namespaces": 77}}})
        eventually(lambda: cluster.admin.get(info)["data"] != before)
        assert "forged" not in cluster.admin.get(info)["data"]


def test_a_tenants_policy_cannot_refuse_a_node_with_its_prefix(
    cluster: GatewayCluster, root: Api
) -> None:
    rules = [
        {
            "apiGroups": [""],
            "apiVersions": ["*"],
            "operations": ["*"],
            "resources": ["nodes", "nodes/*", "configmaps"],
        }
    ]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "false", "message": "nothing here"}],
    }
    kind = "validatingadmissionpolic"
    probe, path = {"metadata": {"name": "probe"}}, ns_path("default", "configmaps")
    denies = {"validationActions": ["Deny"]}
    with there(root, f"{kind}ies", f"{kind}ybindings", "nodes", spec, **denies):
        eventually(lambda: is_refused(root, path, probe), what="the policy is not in force")
        node = f"{TENANT}-pool-1"
        cluster.admin.create("/api/v1/nodes", {"metadata": {"name": node}})
        cluster.admin.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"a": "b"}}})
        cluster.admin.delete(f"/api/v1/nodes/{node}")
        assert "nothing here" in refusal(root.create, path, probe, status=422)
    eventually(lambda: not is_refused(root, path, probe), what="the policy is still in force")


def is_refused(root: Api, path: str, body: Object) -> bool:
    try:
        root.create(path, body, dryRun="All")
    except ApiError:
        return True
    return False


def deploy(api: Api, name: str, replicas: int = 0, kind: str = "deployments") -> None:
    labels = {"app": name}
    containers = [{"name": "main", "image": "none"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    api.create(path, {"metadata": {"name": name}, "spec": spec})


def seconds_of(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


@MUTATING_POLICIES
def test_a_tenants_policy_changes_objects_created_from_its_templates(
    cluster: GatewayCluster, root: Api
) -> None:
    """As sidecars are put into pods; a policy of the platform judges what becomes of each pod."""
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels/seen', value: 'yes'}]"
    pods = ns_path(f"{TENANT}-default", "pods")
    with (
        mutating(root, "", ["pods"], patch),
        controllers(cluster, "deployment-controller", "replicaset-controller"),
    ):
        deploy(root, "sidecars", replicas=2)
        eventually(lambda: len(cluster.admin.items(pods)) == 2, 60)
        labels = [each["metadata"]["labels"] for each in cluster.admin.items(pods)]
    assert [each.get("seen") for each in labels] == ["yes", "yes"]
    root.delete("/apis/apps/v1/namespaces/default/deployments/sidecars")


def test_a_hanging_webhook_delays_no_other_tenant(
    cluster: GatewayCluster, root: Api, neighbour: Api, tmp_path: Path
) -> None:
    """Kubernetes' controllers have a few workers each, and each waited for half a minute."""

    def hang(_: Object) -> Object:
        time.sleep(28)
        return {"allowed": True}

    def appears() -> bool:
        return bool(cluster.admin.items(replica_sets))

    replica_sets = f"/apis/apps/v1/namespaces/{NEIGHBOUR}-default/replicasets"
    with listening(tmp_path / "tls", {"/hang": hang}) as hook:
        root.create(NAMESPACES, {"metadata": {"name": "hooks"}})
        publish_hook(cluster.admin, root, TENANT, "hooks", hook.port)
        rule = {"apiGroups": ["apps"], "apiVersions": ["*"], "resources": ["replicasets"]}
        webhook = {
            "name": "hook.example.com",
            "clientConfig": hook.client("hooks", "hook", "/hang"),
            "timeoutSeconds": 30,
            "failurePolicy": "Ignore",
            "rules": [rule | {"operations": ["CREATE"]}],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        path = f"{REGISTRATION}/validatingwebhookconfigurations"
        shown = root.create(path, {"metadata": {"name": "hang"}, "webhooks": [webhook]})
        assert shown["webhooks"][0]["timeoutSeconds"] == 30
        try:
            with controllers(cluster, "deployment-controller"):
                deploy(root, "first")
                eventually(lambda: hook.asked, 60, "the webhook is not asked")
                for number in range(20):
                    deploy(root, f"d{number}")
                with ThreadPoolExecutor() as pool:
                    by_people = partial(deploy, root, "own", kind="replicasets")
                    waited = pool.submit(seconds_of, by_people)
                    deploy(neighbour, "after")
                    took = seconds_of(lambda: eventually(appears, 120))
                # Five workers, twenty before it: four times what its webhook lets a tenant wait.
                assert took < 2 * waited.result()
                own = f"/apis/apps/v1/namespaces/{TENANT}-default/replicasets"
                eventually(lambda: len(cluster.admin.items(own)) == 22, 60)
        finally:
            root.remove(f"{path}/hang")


def test_the_condition_of_an_earlier_version_is_renewed(cluster: GatewayCluster, root: Api) -> None:
    """It is stored with each policy, and policies are written when their tenants like."""
    rule = OF_ALL | {"apiGroups": [""], "resources": ["secrets"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    webhook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "nobody"}},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
    }
    named = {"metadata": {"name": "stored"}}
    policies = f"{REGISTRATION}/validatingadmissionpolicies"
    webhooks = f"{REGISTRATION}/validatingwebhookconfigurations"
    root.create(policies, named | {"spec": policy})
    root.create(webhooks, named | {"webhooks": [webhook]})

    def stored() -> list[Object]:
        paths = [f"{each}/{TENANT}-stored" for each in (policies, webhooks)]
        of_policy, of_webhook = (cluster.admin.get(each) for each in paths)
        return [of_policy["spec"]["matchConditions"], of_webhook["webhooks"][0]["matchConditions"]]

    present = stored()
    try:
        for path, at in ((policies, "/spec"), (webhooks, "/webhooks/0")):
            old = {"op": "replace", "path": f"{at}/matchConditions/0/expression", "value": "true"}
            cluster.admin.patch(f"{path}/{TENANT}-stored", [old], JSON_PATCH)
        assert stored() != present
        replica = cluster.another_gateway("upgraded", free_port())
        replica.start()
        try:
            eventually(lambda: stored() == present, what="a stored condition is the old one")
        finally:
            replica.stop()
    finally:
        root.remove(f"{policies}/stored")
        root.remove(f"{webhooks}/stored")
