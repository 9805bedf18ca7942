"""What the platform tells LClusters, and what it lets them see: their bill, and shared objects."""

import json
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ns_path, refusal
from tests.e2e.support.cluster import SERVICE_ACCOUNT
from tests.e2e.support.gateway import (
    LCLUSTERS,
    GatewayCluster,
    LClusters,
    Resident,
)
from tests.e2e.support.ledger import Ledger
from tests.e2e.support.people import People
from tests.e2e.support.probes import metric
from tests.e2e.support.processes import free_port
from tests.e2e.support.published import CERTS, PUBLISHED
from tests.e2e.support.waiting import eventually

INFO = "lcluster-info"
CHECK = ("lnamespace", "gateway", "check", "-o", "json")


@pytest.fixture(scope="module")
def cluster(published_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about what the platform publishes share."""
    return published_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return an LCluster with a user and a sudoer, and another."""
    made = LClusters(cluster, people)
    made.make("billed", "alice", "bob", sudoers=("alice",))
    made.make("charged", "carol")
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return a user and sudoer in billed."""
    return lclusters.resident("billed", "alice")


def bill(resident: Resident) -> dict[str, str]:
    """Return what somebody in an LCluster reads in its bill."""
    result = resident.kubectl("get", "configmap", INFO, "-n", "kube-public", "-o", "json")
    data: dict[str, str] = json.loads(result.ok())["data"]
    return data


def charge(cluster: GatewayCluster, name: str, cost_center: str) -> None:
    change = {"spec": {"billing": {"costCenter": cost_center, "team": f"team {cost_center}"}}}
    cluster.admin.patch(f"{LCLUSTERS}/{name}", change)


def test_users_of_an_lcluster_can_read_its_billing_data(
    cluster: GatewayCluster, lclusters: LClusters, alice: Resident
) -> None:
    assert bill(alice)["costCenter"] == "unallocated"
    charge(cluster, "billed", "4711")
    charge(cluster, "charged", "0815")
    eventually(lambda: bill(alice)["costCenter"] == "4711", what="the bill is the former one")
    assert bill(alice)["team"] == "team 4711"
    provenance = cluster.admin.get(f"{LCLUSTERS}/billed")["spec"]["billing"]["provenance"]
    assert bill(alice)["since"][:19] == provenance["effectiveAt"][:19]
    assert {key: value for key, value in bill(alice).items() if key.startswith("limits.")} == {
        "limits.namespaces": "200",
        "limits.customResourceDefinitions": "200",
        "limits.admission": "200",
        "limits.clusterRoleBindings": "1000",
    }
    assert {each for each in bill(alice) if "." not in each} == {"costCenter", "team", "since"}
    carol = lclusters.resident("charged", "carol")
    eventually(lambda: bill(carol)["costCenter"] == "0815", what="the bill is the former one")


@pytest.mark.parametrize(
    "command",
    [
        ("delete", "configmap", INFO),
        ("patch", "configmap", INFO, "--type=merge", "-p", '{"data": {"costCenter": "1"}}'),
        ("delete", "configmaps", "--all"),
    ],
)
def test_users_of_an_lcluster_cannot_change_its_billing_configmap(
    alice: Resident, command: tuple[str, ...]
) -> None:
    before = bill(alice)
    sudo = ("--as", "alice", "--as-group", "system:masters")
    result = alice.kubectl(*command, "-n", "kube-public", *sudo)
    assert result.code
    assert "the platform says in it who pays" in result.err
    assert bill(alice) == before


def test_configmaps_named_like_the_bill_in_other_namespaces_are_the_tenants(
    alice: Resident,
) -> None:
    alice.kubectl("create", "namespace", "my-kube-public").ok()
    for namespace in ("default", "my-kube-public"):
        alice.kubectl("create", "configmap", INFO, "-n", namespace).ok()
        alice.kubectl("delete", "configmap", INFO, "-n", namespace).ok()


def test_the_billing_configmap_is_recreated_after_its_namespace_is_deleted(
    cluster: GatewayCluster, alice: Resident
) -> None:
    def uid() -> str:
        path = ("get", "configmap", INFO, "-n", "kube-public", "-o", "jsonpath={.metadata.uid}")
        return alice.kubectl(*path).out

    before = uid()
    cluster.admin.delete(f"{NAMESPACES}/billed-kube-public")
    eventually(lambda: uid() not in ("", before), what="there is no new bill")


def test_a_stolen_controller_token_cannot_write_other_configmaps(
    cluster: GatewayCluster, alice: Resident
) -> None:
    bill(alice)
    thief = Api(cluster.token("lnamespace-system", SERVICE_ACCOUNT))
    places = (("billed-default", INFO), ("billed-kube-public", "other"), ("kube-public", INFO))
    for namespace, name in places:
        body = {"metadata": {"name": name}, "data": {"a": "b"}}
        where = ns_path(namespace, "configmaps")
        assert "lcluster-info in an LCluster's" in refusal(thief.create, where, body, status=403)
    place = ns_path("billed-kube-public", f"configmaps/{INFO}")
    assert "forbidden" in refusal(thief.delete, place, status=403)
    change = {"metadata": {"finalizers": ["example.com/hold"]}}
    assert "lcluster-info in an LCluster's" in refusal(thief.patch, place, change, status=403)


def test_the_ledger_with_a_bill_matches_the_cost_shown_to_the_tenant(
    cluster: GatewayCluster, lclusters: LClusters, alice: Resident, tmp_path: Path
) -> None:
    """The analyst's view has the namespaces of LClusters as they are; nothing is added to it."""
    alice.kubectl("create", "namespace", "prod").ok()
    ledger = Ledger(cluster, f"sqlite:///{tmp_path / 'ledger.db'}")

    def begins() -> str:
        ledger.publish()
        found = [each for each in ledger.intervals() if each["namespace"] == "billed-prod"]
        assert found, "the ledger does not know the namespace yet"
        (interval,) = found
        assert interval["cost_center"] == "4711"
        begin: str = interval["valid_from"]
        return begin

    begin = eventually(begins, what="the ledger has no interval")
    head = "namespace,usage_start_time,usage_end_time,cost,currency"
    window = f"{begin[:19]}Z,{begin[:4]}-12-31T23:00:00Z"
    lines = [
        f"billed-prod,{window},12.40,CAD",
        f"charged-default,{window},99.90,CAD",
        f"kube-system,{window},5.00,CAD",
    ]
    file = tmp_path / "bill.csv"
    file.write_text("\n".join([head, *lines]) + "\n")
    report = ledger.command("costs", str(file), "--by", "lcluster", "-o", "json").ok()
    rows: list[dict[str, Any]] = json.loads(report)
    assert {(row["lcluster"], row["cost"]) for row in rows} == {
        ("billed", 12.4),
        ("charged", 99.9),
        ("", 5.0),
    }
    cluster.costs.mkdir(exist_ok=True)
    (cluster.costs / "2026-11.json").write_text(report)
    eventually(lambda: "costs.json" in bill(alice), what="the tenant does not read its cost")
    cost = {"month": "2026-11", "costCenter": "4711", "currency": "CAD", "cost": 12.4}
    assert json.loads(bill(alice)["costs.json"]) == [cost]
    carol = lclusters.resident("charged", "carol")
    eventually(lambda: "costs.json" in bill(carol), what="the other does not read its cost")
    assert "99.90" in bill(carol)["costs.json"]
    assert "12.40" not in bill(carol)["costs.json"]


def test_an_unchanged_bill_is_not_written(cluster: GatewayCluster, alice: Resident) -> None:
    place = ns_path("billed-kube-public", f"configmaps/{INFO}")
    before = cluster.admin.get(place)["metadata"]["resourceVersion"]
    cluster.controller.stop()
    cluster.controller.start()
    cluster.admin.patch(f"{LCLUSTERS}/billed", {"spec": {"users": [{"name": "alice"}]}})
    eventually(lambda: lists_one_user(cluster), what="the controller has not reconciled")
    assert cluster.admin.get(place)["metadata"]["resourceVersion"] == before
    assert bill(alice)["costCenter"] == "4711"


def lists_one_user(cluster: GatewayCluster) -> bool:
    status = cluster.admin.get(f"{LCLUSTERS}/billed")["status"]
    found: int = status["counts"]["users"]
    return found == 1


@pytest.fixture(scope="module")
def shared(cluster: GatewayCluster, alice: Resident) -> Resident:
    """Make what the platform shares and what it does not; return who sees it."""
    make = cluster.admin.create
    for name in ("fast", "slow"):
        body = {"metadata": {"name": name}, "provisioner": "platform.example.com"}
        make("/apis/storage.k8s.io/v1/storageclasses", body)
    for name in ("gvisor-1", "kata"):
        make("/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": name}, "handler": "runc"})
    for name in ("platform-reader", "platform-writer"):
        rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        make(roles, {"metadata": {"name": name}, "rules": rules})
    for plural, kind, scope in (
        ("issuers", "Issuer", "Cluster"),
        ("certificates", "Certificate", "Namespaced"),
        ("orders", "Order", "Namespaced"),
    ):
        make(DEFINITIONS, definition(plural, kind, scope))
    issuers = f"/apis/{CERTS}/v1/issuers"
    eventually(lambda: cluster.admin.find(issuers), what="the kind is not served")
    # One that begins as names of the LCluster do is the platform's all the same.
    for name in ("main", "internal", "billed-other"):
        metadata = {"name": name, "labels": {"owner": "the-platform"}}
        make(
            issuers,
            {
                "apiVersion": f"{CERTS}/v1",
                "kind": "Issuer",
                "metadata": metadata,
                "spec": {"server": "https://ca.example.com"},
            },
        )
    eventually(lambda: alice.kubectl("get", "issuers").ok(), what="the kind is not shared")
    return alice


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SUDO = ("--as", "alice", "--as-group", "system:masters")


def definition(plural: str, kind: str, scope: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{CERTS}"},
        "spec": {
            "group": CERTS,
            "scope": scope,
            "versions": [version],
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
        },
    }


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("storageclasses", {"fast"}),
        ("runtimeclasses", {"gvisor-1"}),
        ("issuers", {"main"}),
    ],
)
def test_tenants_see_only_published_objects_of_each_kind(
    shared: Resident, kind: str, names: set[str]
) -> None:
    def seen() -> set[str]:
        found = shared.kubectl("get", kind, "-o", "jsonpath={.items[*].metadata.name}").ok()
        return set(found.split())

    eventually(lambda: seen() == names, what=f"{kind} are not those that are published")
    for name in ("slow", "kata", "internal", "other", "billed-other"):
        assert "NotFound" in shared.kubectl("get", kind, name).err


def test_a_published_cluster_role_can_be_bound_and_others_are_hidden(shared: Resident) -> None:
    found = shared.kubectl("get", "clusterroles", "-o", "name").ok()
    assert "platform-reader" in found
    assert "platform-writer" not in found
    bind = ("create", "rolebinding", "readers", "--clusterrole=platform-reader", "--user=bob")
    shared.kubectl(*bind, *SUDO).ok()


def test_a_published_object_can_be_read_but_not_written(shared: Resident) -> None:
    whole = json.loads(shared.kubectl("get", "issuer", "main", "-o", "json").ok())
    assert whole["spec"] == {"server": "https://ca.example.com"}
    assert not {"labels", "managedFields"} & set(whole["metadata"])
    with shared.reading("get", "issuers", "-w", "-o", "name") as lines:
        assert next(lines).strip() == "issuer.certs.example.com/main"
    for command in (
        ("delete", "issuer", "main"),
        ("label", "issuer", "main", "a=b"),
        ("delete", "issuers", "--all"),
    ):
        result = shared.kubectl(*command, *SUDO)
        assert result.code
        assert "the server does not allow this method" in result.err or "read-only" in result.err
    assert shared.kubectl("get", "issuer", "main").ok()


def test_a_usable_published_kind_holds_the_tenants_own_objects(
    shared: Resident, lclusters: LClusters, cluster: GatewayCluster
) -> None:
    body = {
        "apiVersion": f"{CERTS}/v1",
        "kind": "Certificate",
        "metadata": {"name": "web"},
        "spec": {"issuerRef": {"name": "main"}},
    }
    shared.kubectl("apply", "-n", "default", *SUDO, "-f", "-", stdin=json.dumps(body)).ok()
    found = cluster.admin.get(f"/apis/{CERTS}/v1/namespaces/billed-default/certificates/web")
    assert found["spec"] == body["spec"]
    carol = lclusters.resident("charged", "carol")
    cluster.admin.create(
        f"/apis/{CERTS}/v1/namespaces/charged-default/certificates",
        {"apiVersion": f"{CERTS}/v1", "kind": "Certificate", "metadata": {"name": "theirs"}},
    )
    listed = shared.kubectl("get", "certificates", "-A", "-o", "name", *SUDO).ok()
    assert listed.split() == ["certificate.certs.example.com/web"]
    assert carol.kubectl("api-resources", "--api-group", CERTS, "-o", "name").ok().split() == [
        "certificates.certs.example.com",
        "issuers.certs.example.com",
    ]


@pytest.mark.parametrize(
    ("plural", "why"), [("certificates", "AlreadyExists"), ("orders", "is the platform's")]
)
def test_a_tenant_cannot_define_kinds_in_a_published_group(
    shared: Resident, plural: str, why: str
) -> None:
    body = definition(plural, plural.title().rstrip("s"), "Namespaced")
    result = shared.kubectl("create", "-f", "-", stdin=json.dumps(body))
    assert why in result.err


def test_creating_an_object_with_a_published_name_gets_already_exists(shared: Resident) -> None:
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "kubernetes.io/no-provisioner",
    }
    text = json.dumps(body)
    assert "AlreadyExists" in shared.kubectl("create", *SUDO, "-f", "-", stdin=text).err


@pytest.mark.usefixtures("shared")
def test_the_check_reports_published_objects(cluster: GatewayCluster) -> None:
    text = json.dumps(PUBLISHED | {"deviceClasses": ["gpu"]})
    found = json.loads(cluster.run(*CHECK, "--gateway-published", text).out)["findings"]
    told = {(each["severity"], each["about"], each["found"]) for each in found}
    assert ("note", "storageclasses", "every LCluster sees fast") in told
    assert ("note", "runtimeclasses", "every LCluster sees gvisor-1") in told
    assert ("note", "issuers.certs.example.com", "every LCluster sees main") in told
    missing = "it is to be published, and there is none"
    assert [each for each in told if each[2] == missing] == [
        ("warning", "deviceclasses gpu", missing)
    ]
    assert not [each for each in told if "may not" in each[2]]


@pytest.mark.usefixtures("shared")
def test_the_check_reports_free_volumes_that_claims_of_lclusters_wait_for(
    cluster: GatewayCluster,
) -> None:
    path = "/api/v1/persistentvolumes"
    disk = {"driver": "platform.example.com", "volumeHandle": "h"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": disk}
    kept = {"claimRef": {"namespace": "default", "name": "data"}}
    for name, more in (("free", {}), ("kept", kept)):
        body = {"metadata": {"name": name}, "spec": spec | {"storageClassName": "fast"} | more}
        cluster.admin.create(path, body)
    everything = ("--gateway-published", '{"storageClasses": ["*"]}')
    try:
        found = json.loads(cluster.run(*CHECK, *everything).out)["findings"]
    finally:
        for name in ("free", "kept"):
            cluster.admin.remove(f"{path}/{name}")
    waiting = [each["about"] for each in found if "it is free and not for" in each["found"]]
    assert waiting == ["persistentvolumes free"]


def test_the_storage_metric_sums_the_volumes_bound_to_the_lclusters_claims(
    cluster: GatewayCluster, lclusters: LClusters
) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data"}
    for namespace, size in (
        ("billed-default", "2Gi"),
        ("billed-kube-public", "1Gi"),
        ("default", "9Gi"),
    ):
        body = {
            "metadata": {"name": f"pvc-{uuid4()}"},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "claimRef": claim | {"namespace": namespace},
                "csi": {"driver": "platform.example.com", "volumeHandle": namespace},
            },
        }
        cluster.admin.create("/api/v1/persistentvolumes", body)
    storage = partial(metric, cluster.gateway, "lnamespace_gateway_lcluster_storage_bytes")
    eventually(
        lambda: storage(lcluster="billed") == 3 * 1024**3, what="the volumes are not counted"
    )
    assert storage(lcluster="charged") == 0
    assert lclusters.is_ready("billed")


@pytest.mark.thorough
def test_the_object_metric_is_counted_without_listing_objects(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """By a gateway that has just begun: one that runs counts an LCluster every ten minutes."""
    items = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"many-{number}"}}
        for number in range(40)
    ]
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    alice.kubectl("create", "-n", "default", "-f", "-", stdin=body).ok()
    another = cluster.another_gateway("counting", free_port())
    objects = partial(metric, another, "lnamespace_gateway_lcluster_objects", lcluster="billed")
    another.start()
    try:
        eventually(lambda: objects() > 0, 120, "the objects are not counted")
        found = objects()
        assert found >= directly(cluster) > 40
    finally:
        another.stop()


def directly(cluster: GatewayCluster) -> int:
    """Count the lasting objects of billed by listing them: kinds that nothing makes meanwhile."""
    kinds = "configmaps,secrets,serviceaccounts,roles,rolebindings,services"
    names = [f"billed-{each}" for each in ("default", "kube-system", "kube-public", "prod")]
    count = 0
    for namespace in names:
        found = cluster.run("kubectl", "get", kinds, "-n", namespace, "-o", "name").ok()
        count += len(found.split())
    return count


INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {generateName: web-, namespace: default}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {generateName: data-, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""
DEFAULTS = """\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: own
  annotations: {ingressclass.kubernetes.io/is-default-class: "true"}
spec: {controller: example.com/ingress}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: own
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: example.com/disk
"""
CLASSES = "jsonpath={.spec.ingressClassName}{.spec.storageClassName}"


def test_ingresses_and_claims_without_a_class_get_the_lclusters_own_default(
    cluster: GatewayCluster, lclusters: LClusters, alice: Resident
) -> None:
    """Kubernetes' own spec for default IngressClasses found that a tenant had none."""
    sudo = ("--as=alice", "--as-group=system:masters")

    def given(resident: Resident, manifest: str) -> str:
        return resident.kubectl("create", "-f", "-", "-o", CLASSES, stdin=manifest).ok()

    carol = lclusters.resident("charged", "carol")
    before = given(carol, INGRESS), given(carol, CLAIM)
    alice.kubectl(*sudo, "create", "-f", "-", stdin=DEFAULTS).ok()
    for manifest in (INGRESS, CLAIM):
        eventually(lambda manifest=manifest: given(alice, manifest) == "own")  # type: ignore[misc]
    assert (given(carol, INGRESS), given(carol, CLAIM)) == before
    claims = cluster.admin.items(ns_path("billed-default", "persistentvolumeclaims"))
    assert "billed-own" in {claim["spec"].get("storageClassName") for claim in claims}
    off = "is-default-class=false"
    alice.kubectl(
        *sudo, "annotate", "--overwrite", "ingressclass/own", f"ingressclass.kubernetes.io/{off}"
    ).ok()
    eventually(lambda: given(alice, INGRESS) == before[0])
    alice.kubectl(*sudo, "delete", "ingressclass/own", "storageclass/own").ok()
    eventually(lambda: given(alice, CLAIM) == before[1])


def test_an_ingress_of_the_platforms_default_class_has_the_address_that_its_tenant_wrote(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """As Kubernetes' conformance asks for it: the Ingress of its spec names no class."""
    root = alice.api.acting("alice", "system:masters")
    classes = "/apis/networking.k8s.io/v1/ingressclasses"
    upstream = "/apis/networking.k8s.io/v1/namespaces/billed-default/ingresses"
    ingresses = upstream.replace("billed-default", "default")
    marks = {"ingressclass.kubernetes.io/is-default-class": "true"}
    spec = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    default = {"metadata": {"name": "edge", "annotations": marks}}
    cluster.admin.create(classes, default | {"spec": {"controller": "example.com/edge"}})

    def given() -> str:
        made = root.create(ingresses, {"metadata": {"generateName": "web-"}, "spec": spec})
        named: str = made["metadata"]["name"]
        return named if made["spec"].get("ingressClassName") == "edge" else ""

    try:
        name = eventually(given, what="an Ingress gets no default class")
        path = f"{ingresses}/{name}"
        for ip in ("169.1.1.1", "169.1.1.2"):
            status = {"loadBalancer": {"ingress": [{"ip": ip}]}}
            if ip == "169.1.1.1":
                found = root.patch(f"{path}/status", {"status": status})
            else:
                found = root.replace(f"{path}/status", root.get(path) | {"status": status})
            assert found["status"] == status
            assert ip not in repr(cluster.admin.get(f"{upstream}/{name}")["status"])
    finally:
        cluster.admin.remove(f"{classes}/edge")


@pytest.mark.parametrize(
    ("field", "hidden"), [("priorityClassName", "urgent"), ("runtimeClassName", "kata")]
)
def test_a_refusal_does_not_tell_whether_a_class_exists_that_is_not_published(
    cluster: GatewayCluster, shared: Resident, field: str, hidden: str
) -> None:
    """The API server looks for the class before it asks policies; the gateway names another."""
    root, pods = shared.api.acting("alice", "system:masters"), ns_path("default", "pods")
    container = {"name": "c", "image": "i"}

    def told(name: str) -> str:
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [container], field: name}}
        return refusal(root.create, pods, pod).replace(name, "NAME")

    priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
    if field == "priorityClassName":
        cluster.admin.create(priorities, {"metadata": {"name": hidden}, "value": 7})
    try:
        assert "found" in told(hidden)
        assert told(hidden) == told("absent")
    finally:
        cluster.admin.remove(f"{priorities}/{hidden}")
