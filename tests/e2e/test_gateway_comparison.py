"""Requests through the gateway have the answers of a plain cluster."""

import base64
import gzip
import json
import time
from functools import partial

import pytest
import yaml

from tests.e2e.support.api import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    NAMESPACES,
    RBAC,
    Answer,
    Api,
    ApiError,
    Object,
    refusal,
)
from tests.e2e.support.comparison import Comparison
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.versions import NEW_WORDS, WATCH_LIST, is_since, serves
from tests.e2e.support.waiting import eventually

STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
HERE = f"{NAMESPACES}/same"
MAPS = f"{HERE}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/same/deployments"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/same/networkpolicies"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/same.example.com/v1/namespaces/same/widgets"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Api:
    """Return a user and sudoer of an LCluster."""
    lclusters = LClusters(cluster, people)
    lclusters.make("compared", "alice", sudoers=("alice",))
    return lclusters.resident("compared", "alice").api


@pytest.fixture
def clusters(cluster: GatewayCluster, alice: Api) -> Comparison:
    """Return the platform's own cluster beside the LCluster on it."""
    # Who writes names a manager; else it is what sent the request upstream.
    agent = ("User-Agent", "comparison/1")
    inside = alice.with_headers(
        agent, ("Impersonate-User", "alice"), ("Impersonate-Group", "system:masters")
    )
    return Comparison(cluster.admin.with_headers(agent), inside)


def ask_about_namespaces(clusters: Comparison) -> None:
    ask = clusters.ask
    ask("POST", NAMESPACES, {"metadata": {"name": "same", "labels": {"a": "b"}}})
    ask("GET", HERE)
    ask("GET", f"{NAMESPACES}?fieldSelector=metadata.name=same")
    ask("GET", f"{NAMESPACES}?labelSelector=kubernetes.io/metadata.name+in+(same,other)")
    ask("PATCH", HERE, {"metadata": {"labels": {"c": "d"}}}, MERGE)
    ask("PATCH", HERE, {"metadata": {"labels": {"c": None}}}, STRATEGIC)
    ask("PATCH", HERE, [{"op": "add", "path": "/metadata/labels/e", "value": "f"}], JSON_PATCH)
    ask("PATCH", HERE, [{"op": "test", "path": "/metadata/name", "value": "x"}], JSON_PATCH)
    applied = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "same"}}
    labelled = {**applied, "metadata": {"name": "same", "labels": {"q": "r"}}}
    ask("PATCH", f"{HERE}?fieldManager=m", labelled, APPLY)
    ask("PATCH", f"{HERE}?fieldManager=m", applied, APPLY)
    ask("PATCH", HERE, applied, APPLY)
    ask("PUT", f"{HERE}/finalize", {**applied, "spec": {"finalizers": ["kubernetes"]}})
    ask("POST", NAMESPACES, {"metadata": {"name": "same"}})
    ask("POST", NAMESPACES, {"metadata": {"name": "Bad_x"}})
    ask("POST", f"{NAMESPACES}?dryRun=All", {"metadata": {"name": "same-dry"}})
    ask("GET", f"{NAMESPACES}/same-dry")
    ask("DELETE", NAMESPACES)


def ask_about_config_maps(clusters: Comparison, cluster: GatewayCluster) -> None:
    ask, one = clusters.ask, f"{MAPS}/c"
    for namespace in ("same", "compared-same"):
        # Kubernetes makes it a moment after the namespace, and it is in lists.
        root = f"{NAMESPACES}/{namespace}/configmaps/kube-root-ca.crt"
        eventually(partial(cluster.admin.find, root), what=f"{root} is not there")
    ask("POST", MAPS, {"metadata": {"name": "c"}, "data": {"a": "compared-x"}})
    ask("POST", MAPS, {"metadata": {"name": "c"}})
    ask("POST", MAPS, {"metadata": {"name": "C_"}})
    ask("POST", MAPS, {"metadata": {"name": "d", "namespace": "other"}})
    for query in (
        "limit=1",
        "fieldSelector=metadata.name=c",
        "fieldSelector=metadata.name!=c",
        "fieldSelector=metadata.namespace=same",
        "fieldSelector=spec.x=c",
        "fieldSelector=a",
        "labelSelector=a=b=c",
        "labelSelector=a,,b",
        "labelSelector=a+in+(b",
        "labelSelector=@",
        "labelSelector=a>b",
        "labelSelector=a+in+()",
        "resourceVersion=abc",
        "timeoutSeconds=x",
        "limit=x",
        "limit=99999999999999999999",
        "watch=1&timeoutSeconds=99999999999999999999",
    ):
        ask("GET", f"{MAPS}?{query}")
    ask("PATCH", one, {"data": {"b": "c"}}, MERGE)
    ask("PATCH", one, {"data": {"$patch": "replace", "k": "v"}}, STRATEGIC)
    ask("PATCH", f"{MAPS}/nope", {"data": None}, MERGE)
    ask("PATCH", one, [{"op": "copy", "from": "/data/k", "path": "/data/z"}], JSON_PATCH)
    ask("PATCH", one, [{"op": "remove", "path": "/data/nope"}], JSON_PATCH)
    ask("PATCH", one, {"metadata": {"finalizers": ["a/b"]}}, STRATEGIC)
    ask("PATCH", one, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}, STRATEGIC)
    ask("PATCH", one, {}, "application/apply-patch+cbor")
    elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "other"}}
    ask("PATCH", f"{one}?fieldManager=m", {**elsewhere, "spec": 5}, APPLY)
    ask("POST", MAPS, {"metadata": {"name": "large"}, "data": {"a": "b" * 4 * 1024 * 1024}})
    for path in (one, f"{MAPS}/nope", f"{MAPS}/a%25b", f"{MAPS}/a%2Fb", f"{one}/status"):
        ask("GET", path)
    ask("DELETE", f"{MAPS}/nope")
    ask("DELETE", "/api/v1/configmaps")
    ask("GET", "/api/v1/nonsense")


def ask_about_list_options(clusters: Comparison) -> None:
    """Ask what is several requests upstream here, or none: it is refused alike."""
    initial = "sendInitialEvents=true&resourceVersionMatch"
    for path in ("/api/v1/configmaps", "/api/v1/nodes", f"{NAMESPACES}/nope/configmaps"):
        for query in (
            "watch=1&sendInitialEvents=true",
            f"watch=1&{initial}=Exact",
            "watch=1&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch=Exact",
            "sendInitialEvents=true",
        ):
            # Without such watches all these parameters are refused, with one more cause.
            if is_since("1.34") or "sendInitialEvents" not in query:
                clusters.ask("GET", f"{path}?{query}")
    clusters.ask("GET", "/api/v1/configmaps?watch=1&fieldSelector=z=y")
    clusters.ask("GET", "/api/v1/configmaps?watch=1&resourceVersion=abc")
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    for path in ("/api/v1/nodes", services, "/apis/networking.k8s.io/v1/ipaddresses"):
        for query in ("fieldSelector=z=y", "watch=1&fieldSelector=z=y", "limit=x"):
            clusters.ask("GET", f"{path}?{query}")
    clusters.ask("GET", "/api/v1/nodes?fieldSelector=metadata.namespace=x")


def ask_about_no_namespace(clusters: Comparison) -> None:
    """Ask for what is in a namespace that does not exist."""
    ask, nowhere = clusters.ask, f"{NAMESPACES}/nope"
    one, deployment = f"{nowhere}/configmaps/c", "/apis/apps/v1/namespaces/nope/deployments/d"
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    ask("POST", f"{nowhere}/configmaps", named)
    ask("PUT", one, named)
    ask("PATCH", f"{one}?fieldManager=m", named, APPLY)
    for kind in (MERGE, STRATEGIC):
        ask("PATCH", one, {"data": {"a": "b"}}, kind)
    ask("PATCH", one, [{"op": "add", "path": "/data", "value": {}}], JSON_PATCH)
    for path in (one, deployment, f"{deployment}/scale", f"{deployment}/status"):
        ask("GET", path)
    ask("DELETE", one)
    for query in ("", "?labelSelector=a=b", "?fieldSelector=metadata.name=c", "?labelSelector=@"):
        ask("DELETE", f"{nowhere}/configmaps{query}")
    ask("GET", f"{nowhere}/configmaps")
    ask("PUT", f"{deployment}/status", {"metadata": {"name": "d"}})
    ask("PATCH", f"{deployment}/scale", {"spec": {"replicas": 0}}, MERGE)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    ask("POST", f"{nowhere}/pods/p/eviction", eviction)
    ask("POST", f"{nowhere}/serviceaccounts/default/token", {"spec": {}})
    ask("GET", f"{nowhere}/pods/p/log")


def ask_about_warnings(clusters: Comparison) -> None:
    """Ask for what is deprecated: lists and watches lost what the API server warns of."""
    for path in ("/api/v1/endpoints", f"{HERE}/endpoints", f"{NAMESPACES}/nope/endpoints"):
        for query in ("", "?limit=1", "?watch=1&timeoutSeconds=1"):
            for accept in (JSON, TABLE):
                clusters.ask_for_headers(f"{path}{query}", accept)
    for path in ("/api/v1/nodes", "/api/v1/nodes?watch=1&timeoutSeconds=1", "/apis", "/version"):
        clusters.ask_for_headers(path)


def ask_about_reviews(clusters: Comparison) -> None:
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    attributes = {"verb": "get", "resource": "pods", "namspace": "same"}
    body = {"spec": {"user": "u", "resourceAttributes": attributes}, "bogus": 1}
    clusters.ask("POST", f"{reviews}?fieldValidation=Strict", body)
    long = f"fieldManager={'m' * 129}"
    for query in ("fieldValidation=x", "dryRun=x", "dryRun=x&dryRun=All", long):
        clusters.ask("POST", f"{reviews}?{query}", {"spec": {"user": "u"}})
    clusters.ask("POST", f"{reviews}?fieldManager=%07&fieldValidation=strict", body)


def ask_about_events(clusters: Comparison) -> None:
    ask, events = clusters.ask, f"{HERE}/events"
    about = {"kind": "Pod", "namespace": "same", "name": "p", "apiVersion": "v1"}
    ask("POST", events, {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R"})
    for selector in (
        "involvedObject.name=p",
        "involvedObject.name!=p",
        "involvedObject.kind=Pod,involvedObject.name=p,involvedObject.namespace=same",
        "involvedObject.namespace!=same",
        "reason=R",
        "involvedObject.x=y",
    ):
        ask("GET", f"{events}?fieldSelector={selector}")
    ask("PATCH", f"{events}/e", {"count": 2}, STRATEGIC)


def ask_about_workloads(clusters: Comparison) -> None:
    ask, one = clusters.ask, f"{DEPLOYMENTS}/d"
    term = {"topologyKey": "k", "namespaces": ["same"], "namespaceSelector": {}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod = {"containers": [{"name": "c", "image": "i"}], "affinity": affinity}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    ask("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    ask("POST", f"{HERE}/pods", {"metadata": {"name": "without-containers"}})
    ask("PATCH", f"{one}/scale", {"spec": {"replicas": 0}}, MERGE)
    order = {"$setElementOrder/containers": [{"name": "c2"}, {"name": "c"}]}
    changed = {**order, "containers": [{"name": "c2", "image": "j"}]}
    ask("PATCH", one, {"spec": {"template": {"spec": changed}}}, STRATEGIC)
    where = "/spec/template/spec/affinity/podAntiAffinity"
    where += "/requiredDuringSchedulingIgnoredDuringExecution/0/namespaces"
    ask("PATCH", one, [{"op": "add", "path": f"{where}/-", "value": "other"}], JSON_PATCH)
    ask("PATCH", one, [{"op": "replace", "path": f"{where}/0", "value": "third"}], JSON_PATCH)


def ask_about_policies(clusters: Comparison) -> None:
    ask, one = clusters.ask, f"{POLICIES}/n"
    named = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "same"}}}
    peers = [named, {"namespaceSelector": {}}]
    spec = {"podSelector": {}, "ingress": [{"from": peers}]}
    ask("POST", POLICIES, {"metadata": {"name": "n"}, "spec": spec})
    peer = "/spec/ingress/0/from"
    ask("PATCH", one, [{"op": "add", "path": f"{peer}/-", "value": named}], JSON_PATCH)
    labels = f"{peer}/0/namespaceSelector/matchLabels"
    ask("PATCH", one, [{"op": "remove", "path": labels}], JSON_PATCH)
    empty = [{"from": [{"namespaceSelector": {"matchLabels": None}}]}]
    ask("PATCH", one, {"spec": {"ingress": empty}}, STRATEGIC)


def ask_about_cluster_scoped_objects(clusters: Comparison) -> None:
    ask, role, class_ = clusters.ask, f"{RBAC}/clusterroles/same", f"{CLASSES}/same"
    key = "rbac.authorization.k8s.io/aggregate-to-same"
    # As long as a label may be.
    kubeflows = "rbac.authorization.kubeflow.org/aggregate-to-kubeflow-pipelines-edit"
    labels = {key: "true", "l": "m", kubeflows: "true"}
    ask("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "same", "labels": labels}})
    ask("PATCH", role, {"metadata": {"labels": {key: None}}}, MERGE)
    ask("PATCH", role, [{"op": "remove", "path": "/metadata/labels"}], JSON_PATCH)
    applied = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    rules = [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]}]
    named = {**applied, "metadata": {"name": "same"}, "rules": rules}
    ask("PATCH", f"{role}?fieldManager=m", named, APPLY)
    ask("GET", f"{RBAC}/clusterroles?fieldSelector=metadata.name=same")
    ask("GET", f"{RBAC}/clusterroles?labelSelector={kubeflows}")
    ask("POST", CLASSES, {"metadata": {"name": "same"}, "value": 5})
    ask("PATCH", class_, {"description": "x"}, STRATEGIC)
    ask("PATCH", class_, {"value": 7}, MERGE)
    ask("POST", CLASSES, {"metadata": {"name": "system-same"}, "value": 5})
    ask("DELETE", class_)
    ask("GET", class_)


def ask_about_refused_values(clusters: Comparison) -> None:
    """Ask for what is refused with the value, or the whole object, in the text.

    A role that a binding should have instead was ``inert:compared-other``.
    """
    ask = clusters.ask
    for collection, body, change in (
        ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}, {"handler": "other"}),
        (
            f"{HERE}/persistentvolumeclaims",
            {
                "spec": {
                    "storageClassName": "same",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            },
            {"spec": {"storageClassName": "other", "volumeName": "pv"}},
        ),
    ):
        ask("POST", collection, {"metadata": {"name": "refused"}, **body})
        ask("PATCH", f"{collection}/refused", change, MERGE)
        ask("DELETE", f"{collection}/refused")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    bindings, named = f"{RBAC}/clusterrolebindings", {"metadata": {"name": "same"}}
    ask("POST", bindings, {**named, "roleRef": {**role, "name": "same"}})
    ask("PUT", f"{bindings}/same", {**named, "roleRef": {**role, "name": "other"}})
    ask("POST", bindings, {**named, "roleRef": {**role, "name": "a/b"}})
    ask("DELETE", f"{bindings}/same")
    ask("PATCH", HERE, {"metadata": {"name": "zz"}}, MERGE)


def ask_about_own_names(clusters: Comparison) -> None:
    """Ask about objects in a namespace that are named as the LCluster is, as teams name theirs."""
    ask, own = clusters.ask, {"metadata": {"name": "compared-x"}}
    for kind in ("configmaps", "secrets"):
        ask("GET", f"{HERE}/{kind}/compared-x")
        ask("POST", f"{HERE}/{kind}", {"metadata": {"name": "compared-X_"}})
    for _ in range(2):
        ask("POST", MAPS, own)
    bindings = f"{RBAC}/namespaces/same/rolebindings"
    api = {"apiGroup": "rbac.authorization.k8s.io"}
    bound = {**own, "subjects": [{**api, "kind": "User", "name": "compared-bob"}]}
    for kind in ("Role", "ClusterRole"):
        role = {**api, "kind": kind, "name": "compared-reader"}
        ask("POST", bindings, {**bound, "roleRef": role})
        ask("PUT", f"{bindings}/compared-x", {**bound, "roleRef": {**role, "name": "compared-w"}})
        ask("DELETE", f"{bindings}/compared-x")
    spec = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": "compared-high"}
    ask("POST", f"{HERE}/pods", {**own, "spec": spec})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    named = {**rule, "resources": ["namespaces"], "resourceNames": ["other", "same"]}
    judged = {
        "matchConstraints": {"resourceRules": [named]},
        "validations": [{"expression": "true"}],
    }
    policy = {"metadata": {"name": "same"}, "spec": judged}
    ask("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)


def ask_about_managers(clusters: Comparison) -> None:
    """Ask for applies of several managers to kinds to which the gateway adds fields."""
    ask, enforce = clusters.ask, "pod-security.kubernetes.io/enforce"
    for name, made in (("managed", False), ("made", True)):
        one = f"{NAMESPACES}/{name}"
        if made:
            ask("POST", NAMESPACES, {"metadata": {"name": name}})
        applied = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        levels = applied | {"metadata": {"name": name, "labels": {enforce: "restricted"}}}
        other = applied | {"metadata": {"name": name, "labels": {"a": "b"}}}
        ask("PATCH", f"{one}?fieldManager=first", levels, APPLY)
        ask("PATCH", f"{one}?fieldManager=second", other, APPLY)
        ask("PATCH", f"{one}?fieldManager=second&force=true", other, APPLY)
        weaker = {"name": name, "labels": {enforce: "baseline"}}
        ask("PATCH", f"{one}?fieldManager=second", applied | {"metadata": weaker}, APPLY)
        ask("GET", one)
    class_ = f"{CLASSES}/managed"
    value = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    named = value | {"metadata": {"name": "managed"}, "preemptionPolicy": "Never"}
    ask("POST", CLASSES, named)
    del value["value"]
    labelled = value | {"metadata": {"name": "managed", "labels": {"a": "b"}}}
    ask("PATCH", f"{class_}?fieldManager=second", labelled, APPLY)
    ask("PATCH", f"{class_}?fieldManager=second&force=true", labelled, APPLY)


def ask_about_webhooks(clusters: Comparison) -> None:
    ask, one = clusters.ask, f"{WEBHOOKS}/same"
    rule = {"apiGroups": ["zz"], "apiVersions": ["v1"], "operations": ["CREATE"]}
    webhook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "same", "name": "s", "path": "/a"}},
        "rules": [{**rule, "resources": ["zz"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
    }
    ask("POST", WEBHOOKS, {"metadata": {"name": "same"}, "webhooks": [webhook]})
    for selector in ({"matchLabels": {"a": "b"}}, {"matchLabels": None}, None):
        part = {"webhooks": [{"name": "a.b.c", "namespaceSelector": selector}]}
        ask("PATCH", one, part, STRATEGIC)
    timeout = [{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 3}]
    ask("PATCH", one, timeout, JSON_PATCH)
    ask("PATCH", one, {"webhooks": [{"$patch": "delete", "name": "a.b.c"}]}, STRATEGIC)


def is_empty(api: Api, path: str) -> bool:
    try:
        return api.items(path) == []
    except ApiError:
        return False


def is_deprecated(api: Api, path: str) -> bool:
    return "is deprecated" in api.answer("GET", path).headers


def definition(group: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {
        "group": group,
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [version],
    }
    return {"metadata": {"name": f"widgets.{group}"}, "spec": spec}


def ask_about_custom_resources(clusters: Comparison, plain: Api, inside: Api) -> None:
    ask, one = clusters.ask, f"{WIDGETS}/w"
    ask("POST", DEFINITIONS, definition("same.example.com"))
    eventually(partial(is_empty, plain, WIDGETS), what=f"{WIDGETS} is not served")
    # Discovery, by which the gateway knows a kind, is later than the kind itself.
    eventually(partial(is_empty, inside, WIDGETS), what=f"{WIDGETS} is not served inside")
    widget = {"apiVersion": "same.example.com/v1", "kind": "Widget", "spec": {"x": "compared-z"}}
    named = {**widget, "metadata": {"name": "w"}}
    ask("POST", WIDGETS, named)
    ask("PATCH", one, {"spec": {"x": 2}}, MERGE)
    ask("PATCH", one, {"spec": {"x": 2}}, STRATEGIC)
    ask("PATCH", one, [{"op": "replace", "path": "/spec/x", "value": "y"}], JSON_PATCH)
    ask("PATCH", f"{one}?fieldManager=m", named, APPLY)
    ask("PATCH", f"{one}?fieldManager=m&force=true", named, APPLY)
    ask("GET", WIDGETS)
    ask("GET", f"{WIDGETS}?fieldSelector=spec.x=1")
    deprecated = [{"op": "add", "path": "/spec/versions/0/deprecated", "value": True}]
    ask("PATCH", f"{DEFINITIONS}/widgets.same.example.com", deprecated, JSON_PATCH)
    for api in (plain, inside):
        eventually(partial(is_deprecated, api, one), what="nobody is warned of the version")
    everywhere = WIDGETS.replace("/namespaces/same", "")
    for path in (WIDGETS, everywhere, f"{everywhere}?watch=1&timeoutSeconds=1"):
        clusters.ask_for_headers(path)
    ask("DELETE", one)


@NEW_WORDS
def test_requests_get_the_same_responses_as_in_a_plain_cluster(
    clusters: Comparison, cluster: GatewayCluster, alice: Api
) -> None:
    ask_about_namespaces(clusters)
    ask_about_config_maps(clusters, cluster)
    ask_about_list_options(clusters)
    ask_about_warnings(clusters)
    ask_about_no_namespace(clusters)
    ask_about_reviews(clusters)
    ask_about_events(clusters)
    ask_about_workloads(clusters)
    ask_about_policies(clusters)
    ask_about_cluster_scoped_objects(clusters)
    ask_about_refused_values(clusters)
    ask_about_own_names(clusters)
    ask_about_managers(clusters)
    ask_about_webhooks(clusters)
    inside = alice.acting("alice", "system:masters")
    ask_about_custom_resources(clusters, cluster.admin, inside)
    assert "\n".join(clusters.differences[:30]) == ""


def test_a_long_list_is_gzipped_if_the_client_accepts_gzip(
    cluster: GatewayCluster, alice: Api
) -> None:
    """It came as it is; a short one does so everywhere."""
    inside, asked = alice.acting("alice", "system:masters"), (("Accept-Encoding", "gzip"),)
    for number in range(3):
        body = {"metadata": {"name": f"long-{number}"}, "data": {"a": "b" * 60_000}}
        inside.create(f"{NAMESPACES}/kube-public/configmaps", body)
    for api, space in ((cluster.admin, "compared-kube-public"), (inside, "kube-public")):
        path = f"{NAMESPACES}/{space}/configmaps"
        answer = api.answer("GET", path, b"", asked)
        assert "content-encoding: gzip" in answer.headers.lower()
        assert "vary: accept-encoding" in answer.headers.lower()
        assert len(json.loads(gzip.decompress(answer.body))["items"]) >= 3
        short = api.answer("GET", f"{path}/long-0", b"", asked)
        assert "content-encoding" not in short.headers.lower()
        assert "content-encoding" not in api.answer("GET", path).headers.lower()


def test_a_dry_run_of_a_namespace_does_not_wait_for_rights_in_it(alice: Api) -> None:
    """The gateway waited 10 s to be let in where nothing had been made.

    A dry run of another kind waits for nothing, on whatever machine.
    """
    inside = alice.acting("alice", "system:masters")

    def seconds(path: str) -> float:
        began = time.monotonic()
        made = inside.create(path, {"metadata": {"name": "dry"}}, dryRun="All")
        took = time.monotonic() - began
        assert made["metadata"]["name"] == "dry"
        return took

    paths = NAMESPACES, f"{NAMESPACES}/default/configmaps"
    namespace, other = zip(*(map(seconds, paths) for _ in range(3)), strict=True)
    assert min(namespace) < 50 * min(other)
    assert inside.find(f"{NAMESPACES}/dry") is None


def test_paginated_lists_over_all_namespaces_have_each_object_once(alice: Api) -> None:
    everywhere = "/api/v1/configmaps"
    for namespace in ("default", "kube-system"):
        for name in ("a", "b", "c"):
            body = {"metadata": {"name": name, "labels": {"paged": "yes"}}}
            alice.create(f"{NAMESPACES}/{namespace}/configmaps", body)
    query, found = {"labelSelector": "paged=yes", "limit": "2"}, []
    page = alice.get(everywhere, **query)
    tokens = []
    while token := page["metadata"].get("continue"):
        found += page["items"]
        tokens.append(token)
        page = alice.get(everywhere, **query, **{"continue": token})
    found += page["items"]
    names = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found]
    assert names == [(space, name) for space in ("default", "kube-system") for name in "abc"]
    assert tokens
    rest = alice.get(everywhere, labelSelector="paged=yes", **{"continue": tokens[0]})["items"]
    assert len(rest) == 4, "a list that goes on without a limit has all the rest"
    for token in tokens:
        assert b"default" not in base64.urlsafe_b64decode(token + "===")
    changed = tokens[0][:40] + ("A" if tokens[0][40] != "A" else "B") + tokens[0][41:]
    assert refusal(alice.get, everywhere, status=400, **query, **{"continue": changed})
    secrets = everywhere.replace("configmaps", "secrets")
    assert refusal(alice.get, secrets, status=400, **query, **{"continue": tokens[0]})


def test_a_request_refused_by_the_listener_gets_a_status_object(alice: Api) -> None:
    """A body over 8 MiB was answered by a text without a type, and the connection reset."""
    answer = alice.answer("POST", MAPS, b"a" * 12 * 1024 * 1024, (("Content-Type", JSON),))
    assert answer.status == 413
    assert json.loads(answer.body)["reason"] == "RequestEntityTooLarge"


@WATCH_LIST
@pytest.mark.parametrize("accept", ["application/json", TABLE])
@pytest.mark.parametrize("path", ["/api/v1/configmaps", f"{NAMESPACES}/nope/configmaps"])
def test_a_watch_list_marks_the_end_of_its_initial_events(
    alice: Api, path: str, accept: str
) -> None:
    query = "watch=1&timeoutSeconds=2&allowWatchBookmarks=1"
    query += "&sendInitialEvents=1&resourceVersionMatch=NotOlderThan"
    answer = alice.answer("GET", f"{path}?{query}", b"", (("Accept", accept),))
    assert answer.text.count('"k8s.io/initial-events-end":"true"') == 1


def test_an_lcluster_without_namespaces_serves_empty_lists_and_watches(
    cluster: GatewayCluster, people: People
) -> None:
    """Operators inside, who have to let go of what is left, could not sync: it was a 500."""
    lclusters = LClusters(cluster, people)
    alice = lclusters.make_administered("emptied")
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    alice.create(f"{RBAC}/clusterroles", held)
    cluster.admin.delete(f"{LCLUSTERS}/emptied")
    eventually(lambda: is_empty(alice, NAMESPACES), what="namespaces are left")
    for path in ("/api/v1/configmaps", "/api/v1/configmaps?limit=5", MAPS):
        assert alice.get(path)["items"] == []
    query = "watch=1&timeoutSeconds=2&allowWatchBookmarks=1"
    query += "&sendInitialEvents=1&resourceVersionMatch=NotOlderThan"
    for path in ("/api/v1/configmaps", MAPS):
        told = alice.answer("GET", f"{path}?{query}").text
        assert told.count('"k8s.io/initial-events-end":"true"') == 1
    alice.patch(f"{RBAC}/clusterroles/held", {"metadata": {"finalizers": None}})
    eventually(
        lambda: cluster.admin.find(f"{LCLUSTERS}/emptied") is None, what="the LCluster is left"
    )


@WATCH_LIST
def test_a_watch_without_initial_events_sends_no_existing_objects(alice: Api) -> None:
    query = "watch=1&timeoutSeconds=2&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    answer = alice.answer("GET", f"/api/v1/serviceaccounts?{query}", b"", ())
    assert (answer.status, answer.body) == (200, b"")
    told = alice.answer("GET", "/api/v1/serviceaccounts?watch=1&timeoutSeconds=2", b"", ())
    assert b'"ADDED"' in told.body, "there is something that a watch may tell"


@pytest.mark.parametrize("accept", ["application/yaml", "application/vnd.kubernetes.protobuf"])
@pytest.mark.parametrize("aggregated", ["", ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"])
def test_discovery_is_served_in_the_accepted_content_type(
    cluster: GatewayCluster, alice: Api, accept: str, aggregated: str
) -> None:
    paths = ("/api", "/apis") if aggregated else ("/api", "/apis", "/apis/apps", "/apis/apps/v1")
    for path in paths:
        asked = (("Accept", accept + aggregated),)
        plain = cluster.admin.answer("GET", path, b"", asked)
        inside = alice.answer("GET", path, b"", asked)
        assert inside.status == plain.status == 200
        assert content_type(inside) == content_type(plain) == accept + aggregated
        if path == "/apis/apps/v1":
            assert of_one_form(accept, inside.body) == of_one_form(accept, plain.body)


def content_type(answer: Answer) -> str:
    headers = dict(each.lower().split(": ", 1) for each in answer.headers.splitlines())
    return headers["content-type"].replace("apigroupdiscoverylist", "APIGroupDiscoveryList")


def of_one_form(accept: str, body: bytes) -> object:
    """Return what YAML says; protobuf says it in one way only."""
    return yaml.safe_load(body) if accept.endswith("yaml") else body


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes",
        *(["/apis/networking.k8s.io/v1/ipaddresses"] if serves("IPAddress") else []),
        "/apis/apiregistration.k8s.io/v1/apiservices",
    ],
)
def test_tables_built_by_the_gateway_have_the_columns_of_a_plain_cluster(
    cluster: GatewayCluster, alice: Api, path: str
) -> None:
    shown = [
        [
            {key: each[key] for key in ("name", "type", "format", "priority")}
            for each in json.loads(api.answer("GET", path, b"", (("Accept", TABLE),)).body)[
                "columnDefinitions"
            ]
        ]
        for api in (cluster.admin, alice)
    ]
    assert shown[1] == shown[0]


def test_a_watch_of_api_services_ends_when_an_api_service_is_added(alice: Api) -> None:
    """Nobody who watches APIServices was told of a new group."""
    inside, path = alice.acting("alice", "system:masters"), "/apis/apiregistration.k8s.io/v1"
    version = inside.get(f"{path}/apiservices")["metadata"]["resourceVersion"]
    watch = inside.opened(f"{path}/apiservices?watch=1&resourceVersion={version}")
    inside.create(DEFINITIONS, definition("told.example.com"))
    assert watch.readline() == b"", "the watch has ended"
    again = f"{path}/apiservices?watch=1&resourceVersion={version}"
    assert refusal(inside.get, again, status=410)
    assert inside.get(f"{path}/apiservices/v1.told.example.com")


@pytest.mark.parametrize("path", [f"{NAMESPACES}/default", "/api/v1/configmaps", "/api/v1/nodes"])
def test_the_pretty_parameter_indents_json(alice: Api, path: str) -> None:
    whole = alice.answer("GET", path, b"", ())
    indented = alice.answer("GET", f"{path}?pretty=true", b"", ())
    read, shown = (json.loads(each.body) for each in (whole, indented))
    for each in (read, shown):  # that of a list changes with whatever is written in the cluster
        each["metadata"].pop("resourceVersion")
    assert shown == read
    assert indented.body.startswith(b'{\n  "kind"')
    assert not whole.body.startswith(b"{\n")


@pytest.mark.parametrize("path", [MAPS, f"{NAMESPACES}/default", f"{RBAC}/clusterroles/view"])
def test_yaml_and_json_responses_have_the_same_content(alice: Api, path: str) -> None:
    answer = alice.answer("GET", path, b"", (("Accept", "application/yaml"),))
    assert "content-type: application/yaml" in answer.headers.lower()
    assert yaml.safe_load(answer.body)["kind"] == alice.get(path)["kind"]
    assert len(yaml.safe_load(answer.body)) == len(alice.get(path))
