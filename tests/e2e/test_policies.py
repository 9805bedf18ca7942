"""The admission policies, each by trying to get around it."""

import base64
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from lnamespace.model.names import LCLUSTER_KEYS

from tests.e2e.support.api import (
    APPLY,
    CONFIGURATIONS,
    CRD,
    GROUP,
    JSON_PATCH,
    LNAMESPACES,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import (
    LEDGER_ACCOUNT,
    RELEASE_NAMESPACE,
    SERVICE_ACCOUNT,
    WEBHOOK_ACCOUNT,
    Cluster,
)
from tests.e2e.support.people import People, Person
from tests.e2e.support.rights import Deed, Rights, rule
from tests.e2e.support.tenants import Tenants, manifest, service_account
from tests.e2e.support.waiting import eventually

OLDER = f"/apis/{GROUP}/v1alpha1/lnamespaces"
RECORDS = f"/apis/{GROUP}/v1beta1/billingrecords"
SECRETS = ns_path(RELEASE_NAMESPACE, "secrets")
CERTIFICATE = "lnamespace-webhook-certificate"
NOTHING_ELSE = "the webhook may change nothing but caBundle"
OWN_ONLY = "the webhook may write its own certificate only"
NOT_YOURS = "only a cluster administrator may change"
ALLOCATED_BY_THE_PLATFORM = r"the platform allocates devices|resourceclaims/binding"
THEIRS = "billing records are made by the controller"


@pytest.fixture(scope="module")
def name(tenants: Tenants, alice: Person, rights: Rights) -> str:
    """Return an LNamespace of which Alice is everything."""
    everything = {field: ["alice"] for field in ("users", "managers", "sudoers")}
    made = tenants.make("policy", **everything)
    eventually(lambda: rights.works(alice.who, made) and rights.sudoes(alice.who, made))
    return made


@pytest.fixture(scope="module")
def sudo(name: str, alice: Person) -> Api:
    """Alice with sudo in it."""
    return alice.sudo(name)


# --- the webhook's own token, stolen


@pytest.fixture(scope="module")
def thief(cluster: Cluster) -> Api:
    """Return a client with the stolen token."""
    return Api(cluster.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT))


def first(path: str, value: Any, operation: str = "replace") -> Object:
    """Return a change to the first webhook of a configuration."""
    return {"op": operation, "path": f"/webhooks/0{path}", "value": value}


OF_CONFIGURATIONS: dict[str, Object] = {
    "where to": first("/clientConfig/url", "https://127.0.0.1:1/mutate"),
    "to a service": first("/clientConfig", {"service": {"name": "x", "namespace": "default"}}),
    "of what kinds": first("/rules/0/resources", ["*"]),
    "of which groups": first("/rules/0/apiGroups", ["*"]),
    "of which operations": first("/rules/0/operations", ["*"]),
    "of which requests": first("/matchConditions", [{"name": "none", "expression": "false"}]),
    "of all requests": first("/matchConditions", None, "remove"),
    "of marked objects": first("/objectSelector", {"matchLabels": {"a": "b"}}),
    "of marked namespaces": first("/namespaceSelector", {"matchLabels": {"a": "b"}}),
    "who fails": first("/failurePolicy", "Ignore"),
    "how long": first("/timeoutSeconds", 30),
    "how versions match": first("/matchPolicy", "Exact"),
    "what it says of itself": first("/sideEffects", "NoneOnDryRun"),
    "its name": first("/name", "other.example.com"),
    "one less": first("", None, "remove"),
    "none": {"op": "replace", "path": "/webhooks", "value": []},
    "a label": {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    "an annotation": {"op": "add", "path": "/metadata/annotations/a", "value": "b"},
    "a finalizer": {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]},
    "an owner": {
        "op": "add",
        "path": "/metadata/ownerReferences",
        "value": [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "0-0"}],
    },
}


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=["mutating", "validating"])
@pytest.mark.parametrize("change", OF_CONFIGURATIONS.values(), ids=OF_CONFIGURATIONS)
def test_a_stolen_webhook_token_cannot_change_webhook_configurations(
    change: Object, path: str, thief: Api, admin: Api
) -> None:
    before = admin.get(path)
    assert NOTHING_ELSE in refusal(thief.patch, path, [change], JSON_PATCH)
    assert admin.get(path) == before


def test_a_stolen_webhook_token_cannot_add_a_webhook(thief: Api, admin: Api) -> None:
    for path in CONFIGURATIONS:
        another = admin.get(path)["webhooks"][0] | {"name": "more.example.com"}
        change = [{"op": "add", "path": "/webhooks/-", "value": another}]
        assert NOTHING_ELSE in refusal(thief.patch, path, change, JSON_PATCH)
        twice = [{"op": "copy", "from": "/webhooks/0", "path": "/webhooks/1"}]
        assert refusal(thief.patch, path, twice, JSON_PATCH, status=422)


OF_THE_CRD: dict[str, Object] = {
    "where to": {"spec": {"conversion": {"webhook": {"clientConfig": {"url": "https://e.com/x"}}}}},
    "no conversion": {"spec": {"conversion": {"strategy": "None", "webhook": None}}},
    "other reviews": {
        "spec": {"conversion": {"webhook": {"conversionReviewVersions": ["v1beta1"]}}}
    },
    "other names": {"spec": {"names": {"shortNames": ["ns"]}}},
    "its guard": {"metadata": {"annotations": {f"{GROUP}/allow-deletion": "true"}}},
    "a label": {"metadata": {"labels": {"a": "b"}}},
    "a finalizer": {"metadata": {"finalizers": ["example.com/x"]}},
}


@pytest.mark.parametrize("change", OF_THE_CRD.values(), ids=OF_THE_CRD)
def test_a_stolen_webhook_token_cannot_change_the_crd(
    change: Object, thief: Api, admin: Api
) -> None:
    before = admin.get(CRD)
    assert NOTHING_ELSE in refusal(thief.patch, CRD, change)
    assert refusal(thief.patch, f"{CRD}/status", {"status": {"storedVersions": ["v1alpha1"]}})
    assert admin.get(CRD) == before


def test_a_stolen_webhook_token_cannot_weaken_the_crd_schema(thief: Api, admin: Api) -> None:
    for path in ("description", "properties/spec/x-kubernetes-validations"):
        change = {"op": "add", "path": f"/spec/versions/0/schema/openAPIV3Schema/{path}"}
        value: Any = "x" if path == "description" else []
        words = refusal(thief.patch, CRD, [change | {"value": value}], JSON_PATCH)
        assert NOTHING_ELSE in words
    assert admin.get(CRD)["spec"]["conversion"]["strategy"] == "Webhook"


def test_the_webhook_can_update_its_ca_bundles(thief: Api, admin: Api) -> None:
    """Else the tests above would hold for a policy that forbids everything."""
    for path in (*CONFIGURATIONS, CRD):
        whole = admin.get(path)
        place = "/spec/conversion/webhook" if path == CRD else "/webhooks/0"
        client = whole["spec"]["conversion"]["webhook"] if path == CRD else whole["webhooks"][0]
        bundle = client["clientConfig"]["caBundle"]
        twice = base64.b64encode(base64.b64decode(bundle) * 2).decode()
        other = [{"op": "replace", "path": f"{place}/clientConfig/caBundle", "value": twice}]
        assert thief.patch(path, other, JSON_PATCH, dryRun="All")
        gone = [{"op": "remove", "path": f"{place}/clientConfig/caBundle"}]
        assert thief.patch(path, gone, JSON_PATCH, dryRun="All")
    assert thief.get(f"{SECRETS}/{CERTIFICATE}")


def test_a_stolen_webhook_token_cannot_create_tokens_of_other_accounts(thief: Api) -> None:
    token: Object = {
        "metadata": {"annotations": {"kubernetes.io/service-account.name": SERVICE_ACCOUNT}},
        "type": "kubernetes.io/service-account-token",
    }
    for title in ("mine", CERTIFICATE):
        named = copy.deepcopy(token)
        named["metadata"]["name"] = title
        assert OWN_ONLY in refusal(thief.create, SECRETS, named)
    assert OWN_ONLY in refusal(thief.create, SECRETS, {"metadata": {"name": "mine"}})
    assert OWN_ONLY in refusal(thief.create, SECRETS, {"metadata": {"generateName": CERTIFICATE}})
    mark = {"metadata": token["metadata"]}
    assert OWN_ONLY in refusal(thief.patch, f"{SECRETS}/{CERTIFICATE}", mark)
    account = ns_path(RELEASE_NAMESPACE, "serviceaccounts", f"{SERVICE_ACCOUNT}/token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    assert refusal(thief.create, account, request)


def test_a_stolen_webhook_token_cannot_read_or_write_other_objects(thief: Api, name: str) -> None:
    assert refusal(thief.items, SECRETS)
    assert refusal(thief.delete, f"{SECRETS}/{CERTIFICATE}")
    assert refusal(thief.items, ns_path("kube-system", "secrets"))
    assert refusal(thief.patch, lns_path(name), {"spec": {"users": []}})
    assert refusal(thief.items, RECORDS)
    assert refusal(thief.delete, lns_path(name))
    for path in (*CONFIGURATIONS, CRD):
        assert refusal(thief.delete, path)
        assert refusal(thief.replace, path, thief.get(path))
        assert refusal(thief.get, path.rpartition("/")[0])


def test_a_chart_upgrade_keeps_the_ca_bundles(cluster: Cluster, admin: Api) -> None:
    before = {path: _clients(admin, path) for path in (*CONFIGURATIONS, CRD)}
    assert all("caBundle" in client for clients in before.values() for client in clients)
    cluster.helm("upgrade", "--set=payers.default.costCenter=other")
    assert {path: _clients(admin, path) for path in before} == before
    cluster.helm("upgrade")


def _clients(admin: Api, path: str) -> list[Object]:
    whole = admin.get(path)
    if path == CRD:
        return [whole["spec"]["conversion"]["webhook"]["clientConfig"]]
    return [entry["clientConfig"] for entry in whole["webhooks"]]


# --- billing records


@pytest.fixture(scope="module")
def greedy(people: People, cluster: Cluster, rights: Rights) -> Iterator[Api]:
    """Yield who has all ordinary verbs on everything of our group, by somebody's wildcard."""
    gina, admin = people.person("gina"), cluster.admin
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
    rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": verbs}]
    admin.create(rbac_path("clusterroles"), {"metadata": {"name": "greedy"}, "rules": rules})
    binding = {
        "metadata": {"name": "greedy"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "greedy",
        },
        "subjects": [{"kind": "User", "name": gina.name, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    admin.create(rbac_path("clusterrolebindings"), binding)
    create = Deed("create", "billingrecords", group=GROUP)
    eventually(lambda: rights.may(gina.who, create))
    yield gina.api
    admin.remove(rbac_path("clusterrolebindings", "greedy"))
    admin.remove(rbac_path("clusterroles", "greedy"))


def record(title: str) -> Object:
    uid = f"00000000-0000-0000-0000-{title:0>12}"
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "BillingRecord",
        "metadata": {"name": f"{uid}.1.apply"},
        "spec": {
            "eventId": f"{uid}/1/APPLY",
            "operation": "APPLY",
            "namespace": "somebody",
            "lnamespaceUID": uid,
            "generation": 1,
            "validFrom": "2026-01-01T00:00:00Z",
            "recordedAt": "2026-01-01T00:00:00Z",
            "costCenter": "theirs",
        },
    }


def test_billing_records_are_immutable_and_protected_from_tenants(
    greedy: Api, admin: Api, cluster: Cluster
) -> None:
    controller = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    ledger = Api(cluster.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT))
    webhook = Api(cluster.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT))
    made = controller.create(RECORDS, record("1"))
    path = f"{RECORDS}/{made['metadata']['name']}"
    assert THEIRS in refusal(greedy.create, RECORDS, record("2"))
    assert THEIRS in refusal(greedy.patch, path, {"metadata": {"labels": {"a": "b"}}})
    assert THEIRS in refusal(greedy.delete, path)
    assert THEIRS in refusal(greedy.delete, RECORDS)
    assert refusal(webhook.delete, path)
    assert refusal(controller.delete, path)
    assert refusal(controller.patch, path, {"spec": {"costCenter": "mine"}})
    assert refusal(ledger.patch, path, {"spec": {"costCenter": "mine"}})
    assert refusal(ledger.delete, RECORDS)
    changed = {"spec": {"costCenter": "mine"}}
    assert "cannot be edited" in refusal(admin.patch, path, changed, status=422)
    assert ledger.delete(path)
    mended = ledger.create(RECORDS, record("3"))["metadata"]["name"]
    assert admin.delete(f"{RECORDS}/{mended}")


@pytest.mark.parametrize("operation", ["APPLY", "ENDING"])
def test_the_ledger_alone_says_what_follows_an_event(cluster: Cluster, operation: str) -> None:
    """After a restore of etcd, or where a finalizer holds a deletion for long."""
    controller = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    ledger = Api(cluster.token(RELEASE_NAMESPACE, LEDGER_ACCOUNT))
    following = record("5")
    uid = following["spec"]["lnamespaceUID"]
    following["metadata"]["name"] = f"{uid}.1.{operation}.{operation}".lower()
    following["spec"] |= {"eventId": f"{uid}/1/{operation}/{operation}", "operation": operation}
    told = refusal(controller.create, RECORDS, following, status=422)
    assert "eventId is UID/GENERATION/APPLY" in told
    assert ledger.create(RECORDS, following, dryRun="All")
    for wrong in (f"x{uid}/1/{operation}/{operation}", f"{uid}/1/{operation}/DELETE"):
        following["metadata"]["name"] = wrong.replace("/", ".").lower()
        following["spec"]["eventId"] = wrong
        assert refusal(ledger.create, RECORDS, following, status=422)


def test_tenants_cannot_list_or_create_billing_records(alice: Person, sudo: Api) -> None:
    for api in (alice.api, sudo):
        assert refusal(api.items, RECORDS)
        assert refusal(api.create, RECORDS, record("4"))


# --- LNamespaces


def test_deletion_protection_holds_in_both_versions_and_for_administrators(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    name = tenants.make("kept", managers=["mona"], sudoers=["mona"], deletionProtection=True)
    mona = people.person("mona")
    eventually(lambda: rights.edits(mona.who, name) and rights.sudoes(mona.who, name))
    for api in (admin, mona.api, mona.sudo(name)):
        for path in (lns_path(name), f"{OLDER}/{name}"):
            for how in ("Background", "Foreground", "Orphan"):
                told = refusal(api.delete, path, propagationPolicy=how)
                assert "protected from deletion" in told
    marked = {"metadata": {"labels": {"which": name}}}
    admin.patch(lns_path(name), marked)
    for path in (LNAMESPACES, OLDER):
        words = refusal(admin.delete, path, labelSelector=f"which={name}")
        assert "protected from deletion" in words
    assert "deletionTimestamp" not in tenants.get(name)["metadata"]


def test_the_status_can_be_written_only_by_the_controller(
    name: str, greedy: Api, sudo: Api, thief: Api
) -> None:
    """By RBAC; who gives others a wildcard gives them this as well."""
    status = {"status": {"recorded": {"generation": 9}}}
    assert refusal(sudo.patch, f"{lns_path(name)}/status", status)
    assert refusal(thief.patch, f"{lns_path(name)}/status", status)
    assert greedy.get(lns_path(name))


# --- the Namespace


LABELS = (f"{GROUP}/cost-center", f"{GROUP}/team", f"{GROUP}/anything", f"{GROUP}/lnamespace")


def _attempts(label: str) -> dict[str, Callable[[Api, str], object]]:
    """Return the ways to write a label of a Namespace."""
    metadata = {"labels": {label: "mine"}}
    whole = {"apiVersion": "v1", "kind": "Namespace"}

    def put(api: Api, path: str, subresource: str) -> object:
        before = api.get(path)
        before["metadata"]["labels"][label] = "mine"
        return api.replace(f"{path}{subresource}", before)

    def apply(api: Api, path: str) -> object:
        body = whole | {"metadata": metadata | {"name": path.rpartition("/")[2]}}
        return api.patch(path, body, APPLY, fieldManager="lnamespace", force="true")

    def json_patch(api: Api, path: str) -> object:
        pointer = label.replace("/", "~1")
        change = {"op": "add", "path": f"/metadata/labels/{pointer}", "value": "mine"}
        return api.patch(path, [change], JSON_PATCH)

    return {
        "merge patch": lambda api, path: api.patch(path, {"metadata": metadata}),
        "JSON patch": json_patch,
        "server-side apply": apply,
        "PUT": partial(put, subresource=""),
        "PUT of the status": partial(put, subresource="/status"),
        "PUT to finalize": partial(put, subresource="/finalize"),
        "patch of the status": lambda api, path: api.patch(
            f"{path}/status", {"metadata": metadata}
        ),
    }


HOW = tuple(_attempts(""))


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("how", HOW)
def test_a_sudoer_cannot_change_managed_labels_of_a_namespace(
    how: str, label: str, name: str, sudo: Api, admin: Api
) -> None:
    before = admin.get(ns_path(name))["metadata"]["labels"]
    assert NOT_YOURS in refusal(_attempts(label)[how], sudo, ns_path(name))
    assert admin.get(ns_path(name))["metadata"]["labels"] == before


OBEYED = (
    "scheduler.alpha.kubernetes.io/node-selector",
    "scheduler.alpha.kubernetes.io/defaultTolerations",
    "openshift.io/sa.scc.uid-range",
    "field.cattle.io/projectId",
    "iam.amazonaws.com/permitted",
    "cnrm.cloud.google.com/project-id",
)
"""Annotations of a Namespace that plugins obey."""


@pytest.mark.parametrize("key", OBEYED)
def test_a_sudoer_cannot_set_annotations_that_admission_plugins_obey(
    key: str, name: str, sudo: Api, admin: Api
) -> None:
    """They put themselves on other nodes, or into another project of the cloud."""
    path = ns_path(name)
    pointer = f"/metadata/annotations/{key.replace('/', '~1')}"
    metadata = {"name": name, "annotations": {key: "mine"}}
    whole = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def ways(value: str | None) -> Iterator[Callable[[], object]]:
        change = {"metadata": {"annotations": {key: value}}}
        yield partial(sudo.patch, path, change)
        yield partial(sudo.patch, f"{path}/status", change)
        if value:
            yield partial(sudo.patch, path, whole, APPLY, fieldManager="x", force="true")
            add = {"op": "add", "path": pointer, "value": value}
            yield partial(sudo.patch, path, [add], JSON_PATCH)

    for way in ways("mine"):
        assert NOT_YOURS in refusal(way)
    assert key not in admin.get(path)["metadata"]["annotations"]
    admin.patch(path, {"metadata": {"annotations": {key: "theirs"}}})
    for way in (*ways("mine"), *ways(None)):
        assert NOT_YOURS in refusal(way)
    assert sudo.patch(path, {"metadata": {"annotations": {"example.com/note": "mine"}}})
    assert admin.get(path)["metadata"]["annotations"][key] == "theirs"


def test_the_controller_removes_the_mark_of_an_lcluster(name: str, admin: Api) -> None:
    """Its own policy refused that, and with it every later change of the Namespace."""
    key = f"{LCLUSTER_KEYS}emptied"
    admin.patch(ns_path(name), {"metadata": {"annotations": {key: "x"}}})
    eventually(lambda: key not in admin.get(ns_path(name))["metadata"]["annotations"])


def test_a_sudoer_cannot_give_a_namespace_more_than_256_labels(
    name: str, sudo: Api, admin: Api
) -> None:
    """11,000 of them, as a sudoer could put there, took 3 MB of its memory for each Namespace."""

    def labels(**changed: str | None) -> Object:
        return {"metadata": {"labels": {f"example.com/{key}": v for key, v in changed.items()}}}

    path, many = ns_path(name), labels(**{f"l{number}": "" for number in range(257)})
    assert "at most 256 labels" in refusal(partial(sudo.patch, path, many))
    admin.patch(path, many)
    assert sudo.patch(path, labels(l0="changed"))
    assert sudo.patch(path, labels(l1=None))
    assert "at most 256 labels" in refusal(partial(sudo.patch, path, labels(one="more")))


def test_a_sudoer_cannot_fill_the_annotations_of_a_namespace(
    tenants: Tenants, alice: Person, rights: Rights, admin: Api
) -> None:
    """Where they were full, no label of a profile came any more, nor one that is required."""
    name = tenants.make("filled", managers=["alice"], sudoers=["alice"])
    eventually(lambda: rights.sudoes(alice.who, name))
    sudo, path = alice.sudo(name), ns_path(name)

    def filler(size: int, **more: str | None) -> Object:
        return {"metadata": {"annotations": {"filler": "x" * size} | more}}

    assert sudo.patch(path, filler(190 * 1024))
    characters = {"metadata": {"annotations": {"filler": "\U0001f600" * (48 * 1024)}}}
    for full in (filler(192 * 1024), filler(190 * 1024, other="x" * 2048), characters):
        assert "at most 192 KiB" in refusal(partial(sudo.patch, path, full))
    admin.patch(path, filler(220 * 1024))
    assert "at most 192 KiB" in refusal(partial(sudo.patch, path, filler(221 * 1024)))
    assert sudo.patch(path, {"metadata": {"labels": {"example.com/other": "x"}}})
    assert sudo.patch(path, filler(210 * 1024))


@pytest.mark.parametrize("part", ["names of fields", "entries", "deep fields", "conditions"])
def test_a_sudoer_cannot_fill_the_records_of_a_namespace(
    tenants: Tenants, alice: Person, rights: Rights, admin: Api, part: str
) -> None:
    """Of a Namespace that is as large as it may be, the controller could not say who pays."""
    name = tenants.make("recorded", managers=["alice"], sudoers=["alice"])
    eventually(lambda: rights.sudoes(alice.who, name))
    sudo, path = alice.sudo(name), ns_path(name)
    known = admin.get(path)["metadata"]["managedFields"]

    def managed(*fields: Object) -> Object:
        entry = {"apiVersion": "v1", "operation": "Apply", "fieldsType": "FieldsV1"}
        added = [
            entry | {"manager": f"m{number}", "fieldsV1": each}
            for number, each in enumerate(fields)
        ]
        return {"metadata": {"managedFields": [*known, *added]}}

    def names(count: int) -> Object:
        return {f"f:{number:04}{'x' * 1000}": {} for number in range(count)}

    def conditions(size: int) -> Object:
        moment = {"lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "status": "True"}
        return {"status": {"conditions": [moment | {"type": "Full", "message": "x" * size}]}}

    path += "/status" if part == "conditions" else ""
    few, full = {
        "names of fields": (
            managed({"f:metadata": {"f:labels": names(200)}}),
            managed({"f:metadata": {"f:labels": names(300)}}),
        ),
        "entries": (managed(*[names(1)] * 100), managed(*[names(1)] * 300)),
        "deep fields": (
            managed({"f:status": {"f:conditions": {'k:{"type":"A"}': {"f:message": {}}}}}),
            managed({"f:status": {"f:conditions": {'k:{"type":"A"}': {"f:message": {"f:a": {}}}}}}),
        ),
        "conditions": (conditions(200 * 1024), conditions(300 * 1024)),
    }[part]
    assert "at most 256 KiB" in refusal(partial(sudo.patch, path, full))
    assert sudo.patch(path, few)
    # What an administrator has filled can be emptied.
    admin.patch(path, full)
    assert sudo.patch(path, few)


# --- what reaches beyond a namespace


def test_cve_2020_8554_a_sudoer_cannot_give_a_service_the_address_of_a_load_balancer(
    name: str, sudo: Api, admin: Api
) -> None:
    """Nodes lead to the Service what others send to that address."""
    service = {"type": "LoadBalancer", "ports": [{"port": 443}]}
    sudo.create(ns_path(name, "services"), {"metadata": {"name": "web"}, "spec": service})
    path = f"{ns_path(name, 'services', 'web')}/status"

    def addresses(*ips: str) -> Object:
        return {"status": {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]}}}

    assert "given by the platform" in refusal(partial(sudo.patch, path, addresses("192.0.2.1")))
    admin.patch(path, addresses("192.0.2.1", "192.0.2.2"))
    stolen = addresses("192.0.2.1", "192.0.2.3")
    assert "given by the platform" in refusal(partial(sudo.patch, path, stolen))
    ready = {"type": "Ready", "status": "True", "reason": "Mine", "message": ""}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    assert sudo.patch(path, {"status": {"conditions": [ready]}})
    assert sudo.patch(path, addresses("192.0.2.2"))


def test_a_sudoer_cannot_allocate_devices(name: str, sudo: Api, admin: Api) -> None:
    """An allocation takes any device of any node, also one that another team has.

    From 1.36 on Kubernetes asks whether somebody may do so in the whole cluster.
    """
    group = "/apis/resource.k8s.io/v1"
    if admin.find(group) is None:
        pytest.skip("this Kubernetes has no ResourceClaims")
    claims = f"{group}/namespaces/{name}/resourceclaims"
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    sudo.create(
        claims, {"metadata": {"name": "mine"}, "spec": {"devices": {"requests": [request]}}}
    )
    device = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    allocation = {"status": {"allocation": {"devices": {"results": [device]}}}}
    path = f"{claims}/mine/status"
    with pytest.raises(ApiError, match=ALLOCATED_BY_THE_PLATFORM):
        sudo.patch(path, allocation)
    assert admin.patch(path, allocation)["status"]["allocation"]
    reserved = [{"resource": "pods", "name": "mine", "uid": "u"}]
    with pytest.raises(ApiError, match=ALLOCATED_BY_THE_PLATFORM):
        sudo.patch(path, {"status": {"reservedFor": reserved}})
    label = {"metadata": {"labels": {"example.com/note": "x"}}}
    assert "the platform allocates devices" in refusal(partial(sudo.patch, path, label))


def test_a_service_account_of_a_sudoer_cannot_change_protected_metadata(
    name: str, sudo: Api, people: People, admin: Api, rights: Rights
) -> None:
    strong = people.account(name, "stronger")
    binding = {
        "metadata": {"name": "stronger"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [service_account(name, "stronger")],
    }
    sudo.create(rbac_path("rolebindings", namespace=name), binding)
    eventually(lambda: rights.may(strong.who, rule(name)))
    before = admin.get(ns_path(name))["metadata"]["labels"]
    change = {"metadata": {"labels": {f"{GROUP}/cost-center": "mine"}}}
    for api in (strong.api, people.person("alice").api.acting(strong.who.user)):
        assert NOT_YOURS in refusal(api.patch, ns_path(name), change)
        assert NOT_YOURS in refusal(api.patch, f"{ns_path(name)}/status", change)
        assert "delete the LNamespace" in refusal(api.delete, ns_path(name))
        assert refusal(api.delete, NAMESPACES, labelSelector=f"{GROUP}/lnamespace={name}")
    assert admin.get(ns_path(name))["metadata"]["labels"] == before


def test_the_controller_can_label_only_namespaces_of_lnamespaces(
    cluster: Cluster, name: str, admin: Api
) -> None:
    controller = Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))
    change = {"metadata": {"labels": {f"{GROUP}/cost-center": "4711"}}}
    assert controller.patch(ns_path(name), change, dryRun="All")
    for other in ("default", "kube-system", RELEASE_NAMESPACE):
        assert refusal(controller.patch, ns_path(other), change)
    foreign = {"metadata": {"labels": {"cost-center": "4711"}}}
    assert "only its own labels" in refusal(controller.patch, ns_path(name), foreign)
    assert f"{GROUP}/cost-center" not in admin.get(ns_path("default"))["metadata"].get("labels", {})


# --- the definitions


def test_the_crds_cannot_be_deleted_by_mistake(admin: Api) -> None:
    records = CRD.replace("lnamespaces.", "billingrecords.")
    assert "it would delete every LNamespace" in refusal(admin.delete, CRD)
    assert "not in the ledger yet" in refusal(admin.delete, records)
    collection = CRD.rpartition("/")[0]
    assert refusal(admin.delete, collection, labelSelector="app!=x")
    refused = manifest("x")["apiVersion"]
    assert admin.get(CRD)["spec"]["group"] in refused
