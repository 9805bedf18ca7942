"""LClusters as the controller makes them, on a real control plane and with the chart's guards."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import (
    GROUP,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import SERVICE_ACCOUNT, Cluster
from tests.e2e.support.instances import Instance
from tests.e2e.support.ledger import Ledger
from tests.e2e.support.people import People
from tests.e2e.support.processes import Controller
from tests.e2e.support.tenants import condition
from tests.e2e.support.waiting import Measurements, eventually, measured
from tests.e2e.support.writes import KINDS, quiet_writes

LCLUSTERS = f"/apis/{GROUP}/v1beta1/lclusters"
RECORDS = f"/apis/{GROUP}/v1beta1/billingrecords"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LABEL = f"{GROUP}/lcluster"
MANY = 20
SYSTEM = ("default", "kube-node-lease", "kube-public", "kube-system")
UID = f"lcluster.{GROUP}/uid"
ENDPOINT = "192.0.2.7:6443"
ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="module")
def cluster(lcluster_instance: Instance) -> Cluster:
    """Return a cluster where the chart is installed with its gateway's parts."""
    return lcluster_instance.cluster


@pytest.fixture(scope="module", autouse=True)
def controller(lcluster_instance: Instance) -> Iterator[Controller]:
    """Yield the controller that reconciles LClusters."""
    controller = lcluster_instance.another_controller(
        "lclusters", LNAMESPACE_LCLUSTERS="yes", LNAMESPACE_GATEWAY_ENDPOINTS=ENDPOINT
    )
    controller.start()
    try:
        yield controller
    finally:
        controller.stop()
    assert controller.defect not in controller.log()


def path(name: str) -> str:
    return f"{LCLUSTERS}/{name}"


def manifest(name: str, **spec: object) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": name},
        "spec": {"billing": {"costCenter": "77"}} | spec,
    }


def create(api: Api, name: str, **spec: object) -> Object:
    return api.create(LCLUSTERS, manifest(name, **spec))


def refused(api: Api, place: str, body: Object) -> str:
    """Return the words by which a name is refused.

    What the webhook cannot find out in time it leaves to the controller, so a machine that is busy
    may let one pass.
    """

    def words() -> str:
        try:
            api.create(place, body, dryRun="All")
        except ApiError as error:
            return error.message if error.status == 422 else ""
        return ""

    return eventually(words, what="the name is not refused")


def wait(api: Api, name: str, status: str = "True", reason: str = "Ready") -> Object:
    def said() -> Object:
        found = api.get(path(name))
        ready = condition(found)
        assert (ready.get("status"), ready.get("reason")) == (status, reason), str(ready)
        return found

    return eventually(said)


def make(api: Api, name: str, **spec: object) -> Object:
    create(api, name, **spec)
    return wait(api, name)


def end(api: Api, name: str) -> None:
    api.delete(path(name))
    eventually(lambda: api.find(path(name)) is None, what=f"{name} is not gone")


def namespace(api: Api, name: str, **labels: str) -> Object:
    return api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})


def binding(name: str) -> str:
    return rbac_path("rolebindings", "lcluster:account", name)


def records(api: Api, name: str) -> list[tuple[str, str]]:
    found = (item["spec"] for item in api.items(RECORDS) if item["spec"]["namespace"] == name)
    return sorted((item["operation"], item.get("costCenter", "")) for item in found)


def test_an_lcluster_gets_its_namespaces_and_account_and_becomes_ready(
    admin: Api, people: People, measurements: Measurements
) -> None:
    alice = people.person("alice")
    started = time.monotonic()
    created = create(alice.api, "acme")
    assert created["spec"]["requester"] == "alice"
    assert [entry["name"] for entry in created["spec"]["sudoers"]] == ["alice"]
    found = wait(admin, "acme")
    measurements.note("LCluster created to Ready", time.monotonic() - started)
    assert found["status"]["namespaces"] == 4
    for name in SYSTEM:
        labels = admin.get(ns_path(f"acme-{name}"))["metadata"]["labels"]
        assert (labels[LABEL], labels[ENFORCE]) == ("acme", "baseline")
        made = admin.get(binding(f"acme-{name}"))
        assert made["roleRef"]["name"] == "cluster-admin"
        assert made["subjects"] == [
            {"kind": "ServiceAccount", "name": "acme", "namespace": "lnamespace-clusters"}
        ]
        assert records(admin, f"acme-{name}") == [("APPLY", "77")]


def test_the_account_has_all_rights_in_its_namespaces_and_none_elsewhere(
    admin: Api,
) -> None:
    acting = admin.acting("system:serviceaccount:lnamespace-clusters:acme")
    # The API server's authorizer knows of a RoleBinding a moment after it is there.
    eventually(lambda: unless("Forbidden", acting.items, ns_path("acme-default", "secrets")))
    assert acting.items(ns_path("acme-default", "secrets")) == []
    assert "forbidden" in refusal(acting.get, ns_path("default", "secrets"), status=403)
    assert "forbidden" in refusal(acting.get, "/api/v1/secrets", status=403)


def test_the_kubernetes_service_points_to_the_gateway(admin: Api) -> None:
    service = admin.get(ns_path("acme-default", "services", "kubernetes"))
    assert service["spec"]["clusterIP"]
    (subset,) = admin.get(ns_path("acme-default", "endpoints", "kubernetes"))["subsets"]
    assert [address["ip"] for address in subset["addresses"]] == ["192.0.2.7"]
    slices = "/apis/discovery.k8s.io/v1/namespaces/acme-default/endpointslices"
    (found,) = admin.items(slices)
    assert [each["addresses"] for each in found["endpoints"]] == [["192.0.2.7"]]


def test_drift_is_repaired(admin: Api) -> None:
    place = ns_path("acme-default")
    admin.patch(place, {"metadata": {"labels": {ENFORCE: "privileged", LABEL: None}}})

    def restored() -> bool:
        labels = admin.get(place)["metadata"]["labels"]
        return (labels.get(LABEL), labels[ENFORCE]) == ("acme", "baseline")

    eventually(restored)
    admin.delete(binding("acme-default"))
    eventually(lambda: admin.find(binding("acme-default")))
    admin.patch(binding("acme-default"), {"subjects": []})
    eventually(lambda: admin.get(binding("acme-default")).get("subjects"))


def test_a_namespace_of_a_tenant_gets_its_role_binding_and_billing_records(admin: Api) -> None:
    namespace(admin, "acme-prod", **{LABEL: "acme"})
    eventually(lambda: admin.find(binding("acme-prod")))
    eventually(lambda: records(admin, "acme-prod") == [("APPLY", "77")])
    eventually(lambda: admin.get(path("acme"))["status"]["namespaces"] == 5)
    admin.patch(path("acme"), {"spec": {"billing": {"costCenter": "88"}}})
    eventually(lambda: records(admin, "acme-prod") == [("APPLY", "77"), ("APPLY", "88")])
    admin.delete(ns_path("acme-prod"))
    ended = [("APPLY", "77"), ("APPLY", "88"), ("DELETE", "88")]
    eventually(lambda: records(admin, "acme-prod") == ended)
    eventually(lambda: admin.get(path("acme"))["status"]["namespaces"] == 4)


def test_a_removed_manager_can_no_longer_edit_the_lcluster(
    admin: Api, people: People, measurements: Measurements
) -> None:
    ben = people.person("ben")
    admin.patch(path("acme"), {"spec": {"managers": [{"name": "ben"}, {"name": "alice"}]}})
    eventually(lambda: unless("Forbidden", ben.api.patch, path("acme"), {}))
    admin.patch(path("acme"), {"spec": {"managers": [{"name": "alice"}]}})
    took = measured(lambda: not unless("Forbidden", ben.api.patch, path("acme"), {}))
    measurements.note("LCluster manager removed to refused", took)


def test_a_restarted_controller_writes_nothing(
    admin: Api, cluster: Cluster, controller: Controller
) -> None:
    kinds = KINDS | {"lclusters", "services", "endpoints", "endpointslices"}
    before = quiet_writes(admin, kinds=kinds)
    controller.stop()
    controller.start()
    assert quiet_writes(admin, kinds=kinds) == before
    assert cluster.admin.get(path("acme"))["status"]["namespaces"] == 4


def test_a_name_is_refused_while_an_object_has_its_prefix(admin: Api) -> None:
    namespace(admin, "taken-x")
    assert "namespaces taken-x" in refused(admin, LCLUSTERS, manifest("taken"))
    admin.delete(ns_path("taken-x"))
    eventually(lambda: admin.find(ns_path("taken-x")) is None)
    role = {"metadata": {"name": "taken-role"}, "rules": []}
    admin.create(rbac_path("clusterroles"), role)
    create(admin, "taken")
    found = wait(admin, "taken", "False", "ReservedName")
    assert "clusterroles taken-role" in condition(found)["message"]
    assert admin.find(ns_path("taken-default")) is None
    admin.delete(rbac_path("clusterroles", "taken-role"))
    end(admin, "taken")


def test_the_controller_claims_a_name_without_the_webhook(
    lcluster_instance: Instance, controller: Controller, admin: Api
) -> None:
    """Each new LCluster was shown to the webhook once more, for a write that a policy judges."""
    controller.hold()
    try:
        create(admin, "unasked")
        lcluster_instance.webhook.hold()
        controller.release()
        wait(admin, "unasked")
    finally:
        controller.release()
        lcluster_instance.webhook.release()
    end(admin, "unasked")


def test_an_lnamespace_with_the_prefix_of_an_lcluster_is_refused(cluster: Cluster) -> None:
    body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": "acme-team"},
        "spec": {"billing": {"costCenter": "1"}},
    }
    lnamespaces = f"/apis/{GROUP}/v1beta1/lnamespaces"
    assert "LCluster acme" in refused(cluster.admin, lnamespaces, body)


@pytest.mark.parametrize("name", ["ac-me", "kube", "pvc", "a"])
def test_an_lcluster_name_with_a_dash_or_reserved_by_the_platform_is_refused(
    name: str, admin: Api
) -> None:
    assert "metadata.name" in refusal(create, admin, name, status=422)


def test_only_the_controller_can_write_its_finalizer(people: People) -> None:
    alice = people.person("alice")
    body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": "forged", "finalizers": [f"{GROUP}/lcluster"]},
        "spec": {"billing": {"costCenter": "1"}},
    }
    assert "controller's" in refusal(alice.api.create, LCLUSTERS, body, status=403)
    change: Object = {"metadata": {"finalizers": []}}
    assert "controller" in refusal(alice.api.patch, path("acme"), change, status=403)


def test_a_protected_lcluster_cannot_be_deleted(admin: Api) -> None:
    admin.patch(path("acme"), {"spec": {"deletionProtection": True}})
    assert "protected" in refusal(admin.delete, path("acme"), status=403)
    admin.patch(path("acme"), {"spec": {"deletionProtection": False}})


def definition(group: str, **labels: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": f"widgets.{group}", "labels": labels},
        "spec": {
            "group": group,
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_deletion_removes_only_the_tenants_objects_and_all_of_them(admin: Api) -> None:
    make(admin, "gone")
    role = {"metadata": {"name": "gone-role", "labels": {LABEL: "gone"}}, "rules": []}
    admin.create(rbac_path("clusterroles"), role)
    other = {"metadata": {"name": "other-role", "labels": {LABEL: "gone"}}, "rules": []}
    admin.create(rbac_path("clusterroles"), other)
    admin.create(CRDS, definition("gone-example.com", **{LABEL: "gone"}))
    namespace(admin, "gone-prod", **{LABEL: "gone"})
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    admin.create(ns_path("gone-prod", "configmaps"), held)
    eventually(lambda: admin.find(binding("gone-prod")))
    admin.patch(ns_path("gone-prod"), {"metadata": {"annotations": {UID: None}}})
    admin.delete(path("gone"))
    eventually(lambda: admin.find(f"{CRDS}/widgets.gone-example.com") is None)
    eventually(lambda: admin.find(ns_path("gone-default")) is None)
    wait(admin, "gone", "False", "Terminating")
    eventually(lambda: "gone-prod" in condition(admin.get(path("gone"))).get("message", ""))
    again = refusal(admin.create, LCLUSTERS, manifest("gone"), status=409)
    assert "object is being deleted" in again
    admin.patch(ns_path("gone-prod", "configmaps", "held"), {"metadata": {"finalizers": None}})
    eventually(lambda: admin.find(path("gone")) is None)
    for kind in ("clusterroles", "clusterrolebindings"):
        names = [item["metadata"]["name"] for item in admin.items(rbac_path(kind))]
        assert [name for name in names if "gone" in name] == []
    names = [item["metadata"]["name"] for item in admin.items("/api/v1/namespaces")]
    assert [name for name in names if name.startswith("gone-")] == []
    assert admin.find(rbac_path("clusterroles", "other-role"))
    for name in ("gone-prod", "gone-default"):
        assert [operation for operation, _ in records(admin, name)] == ["APPLY", "DELETE"]
    make(admin, "gone")
    end(admin, "gone")


def test_retained_namespaces_keep_their_objects_and_reserve_the_name(admin: Api) -> None:
    make(admin, "kept", deletionPolicy="Retain")
    role = {"metadata": {"name": "kept-role", "labels": {LABEL: "kept"}}, "rules": []}
    admin.create(rbac_path("clusterroles"), role)
    widgets = definition("kept-example.com", **{LABEL: "kept"})
    admin.create(CRDS, widgets)
    namespace(admin, "kept-prod", **{LABEL: "kept"})
    eventually(lambda: admin.find(binding("kept-prod")))
    admin.create(ns_path("kept-prod", "configmaps"), {"metadata": {"name": "data"}})
    eventually(lambda: [operation for operation, _ in records(admin, "kept-prod")] == ["APPLY"])
    end(admin, "kept")
    left = [item["metadata"]["name"] for item in admin.items("/api/v1/namespaces")]
    left = [name for name in left if name.startswith("kept-")]
    assert sorted(left) == sorted([*(f"kept-{name}" for name in SYSTEM), "kept-prod"])
    assert admin.find(ns_path("kept-prod", "configmaps", "data"))
    assert admin.find(f"{CRDS}/{widgets['metadata']['name']}")
    assert not any(admin.find(binding(name)) for name in left)
    for kind in ("clusterroles", "clusterrolebindings"):
        names = [item["metadata"]["name"] for item in admin.items(rbac_path(kind))]
        assert [name for name in names if "kept" in name] == []
    assert [operation for operation, _ in records(admin, "kept-prod")] == ["APPLY", "DELETE"]
    assert "kept-" in refused(admin, LCLUSTERS, manifest("kept"))
    for name in left:
        admin.delete(ns_path(name))
    admin.delete(f"{CRDS}/{widgets['metadata']['name']}")
    eventually(lambda: not any(admin.find(ns_path(name)) for name in left))
    make(admin, "kept")
    end(admin, "kept")


def test_only_administrators_can_set_the_retain_deletion_policy(people: People) -> None:
    """What stays is in use, and no limit counts it and nobody is charged for it."""
    alice = people.person("alice")
    body = manifest("forever", deletionPolicy="Retain")
    assert "administrators" in refusal(alice.api.create, LCLUSTERS, body)
    change: Object = {"spec": {"deletionPolicy": "Retain"}}
    assert "administrators" in refusal(alice.api.patch, path("acme"), change)


def test_an_orphaning_deletion_is_refused_unless_the_policy_is_retain(admin: Api) -> None:
    """No owner reference could be taken off the Namespaces, so they would have gone."""
    make(admin, "orphan")
    ways = (
        partial(admin.delete, propagationPolicy="Orphan"),
        partial(admin.delete, orphanDependents="true"),
    )
    for delete in ways:
        assert "lns set lc/orphan --deletion-policy Retain" in refusal(delete, path("orphan"))
    admin.patch(path("orphan"), {"spec": {"deletionPolicy": "Retain"}})
    admin.delete(path("orphan"), propagationPolicy="Orphan")
    eventually(lambda: admin.find(path("orphan")) is None)
    assert admin.find(ns_path("orphan-default"))
    for name in SYSTEM:
        admin.delete(ns_path(f"orphan-{name}"))


def test_objects_of_a_tenants_own_operator_are_not_changed(admin: Api) -> None:
    marks = {"app.kubernetes.io/managed-by": "lnamespace", f"{GROUP}/lnamespace": "acme-inner"}
    namespace(admin, "acme-inner", **marks, **{LABEL: "acme"})
    eventually(lambda: admin.find(binding("acme-inner")))
    body: Object = {
        "metadata": {"name": "lnamespace-users", "labels": marks},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [],
    }
    place = rbac_path("rolebindings", "lnamespace-users", "acme-inner")
    admin.create(rbac_path("rolebindings", "", "acme-inner"), body)
    make(admin, "later")  # The controller has seen everything that was before it.
    end(admin, "later")
    assert admin.find(place)


@pytest.mark.thorough
def test_many_lclusters_are_ready_in_seconds(admin: Api, measurements: Measurements) -> None:
    names = [f"many{number}" for number in range(MANY)]
    started = time.monotonic()
    for name in names:
        create(admin, name)
    for name in names:
        wait(admin, name)
    measurements.note(f"{MANY} LClusters created to Ready", time.monotonic() - started)
    started = time.monotonic()
    for name in names:
        admin.delete(path(name))
    eventually(lambda: not any(admin.find(path(name)) for name in names))
    measurements.note(f"{MANY} LClusters deleted", time.monotonic() - started)


def test_the_ledger_has_intervals_for_each_namespace_of_an_lcluster(
    admin: Api, cluster: Cluster, tmp_path: Path
) -> None:
    ledger = Ledger(cluster, f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.publish()
    found = [each for each in ledger.intervals() if each["namespace"] == "acme-prod"]
    assert [each["cost_center"] for each in found] == ["77", "88"]
    assert found[0]["valid_to"] == found[1]["valid_from"]
    assert found[1]["valid_to"]
    (default,) = (
        each
        for each in ledger.intervals()
        if each["namespace"] == "acme-kube-public" and each["cost_center"] == "88"
    )
    assert not default["valid_to"]
    assert admin.items(RECORDS) == []


@pytest.fixture(scope="module")
def thief(cluster: Cluster) -> Api:
    """Somebody who has the controller's token."""
    return Api(cluster.token("lnamespace-system", SERVICE_ACCOUNT))


def test_a_stolen_controller_token_cannot_assign_namespaces_to_a_tenant(
    admin: Api, thief: Api
) -> None:
    namespace(admin, "mine-x")
    marks = {"labels": {LABEL: "mine"}, "annotations": {UID: "u-1"}}
    change: Object = {"metadata": marks}
    assert "no LCluster" in refusal(thief.patch, ns_path("mine-x"), change, status=403)
    change = {"metadata": {"labels": {LABEL: "acme"}}}
    assert "forbidden" in refusal(thief.patch, ns_path("kube-system"), change, status=403)
    assert "forbidden" in refusal(thief.delete, ns_path("mine-x"), status=403)
    assert "forbidden" in refusal(thief.delete, ns_path("kube-public"), status=403)
    body: Object = {
        "metadata": {"name": "lcluster:account"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": "acme", "namespace": "lnamespace-clusters"}
        ],
    }
    for place in ("kube-system", "mine-x"):
        created = rbac_path("rolebindings", "", place)
        assert "forbidden" in refusal(thief.create, created, body, status=403)
    body["subjects"] = [{"kind": "ServiceAccount", "name": "eve", "namespace": "mine-x"}]
    change = {"subjects": body["subjects"]}
    assert "account of the LCluster" in refusal(
        thief.patch, binding("acme-default"), change, status=403
    )


def test_a_stolen_controller_token_cannot_redirect_the_kubernetes_service(
    admin: Api, thief: Api
) -> None:
    body: Object = {
        "metadata": {"name": "kubernetes"},
        "subsets": [{"addresses": [{"ip": "192.0.2.66"}], "ports": [{"port": 443}]}],
    }
    for place in ("default", "acme-kube-public"):
        assert "forbidden" in refusal(thief.create, ns_path(place, "endpoints"), body)
    change = {"subsets": body["subsets"]}
    elsewhere = ns_path("acme-default", "endpoints", "kubernetes")
    assert "leads to the gateway only" in refusal(thief.patch, elsewhere, change)
    assert admin.find(elsewhere)


def test_a_stolen_controller_token_cannot_delete_platform_objects(admin: Api, thief: Api) -> None:
    admin.create(CRDS, definition("platform.example.com"))
    platforms = f"{CRDS}/widgets.platform.example.com"
    assert "label of an LCluster" in refusal(thief.delete, platforms, status=403)
    admin.delete(platforms)
    assert "forbidden" in refusal(thief.delete, rbac_path("clusterroles", "edit"), status=403)
    change = {"spec": {"managers": [{"name": "eve"}]}}
    assert "its own finalizer only" in refusal(thief.patch, path("acme"), change, status=403)
    assert admin.find(path("acme"))
