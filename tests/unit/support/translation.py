"""A tenant, what it is served, and short ways to translate objects for it."""

from typing import Any

import msgspec
from lnamespace.translate.bodies.encoded import answer_down, events_down, request_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol import protobuf
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
)

from tests.unit.support.webhook_routes import ROUTE

JSON = "application/json"
RBAC = "rbac.authorization.k8s.io"


def _type(group: str, plural: str, kind: str, *, namespaced: bool = True) -> ResourceType:
    return ResourceType(group, plural, kind, namespaced=namespaced)


def _cluster(group: str, plural: str, kind: str) -> ResourceType:
    return _type(group, plural, kind, namespaced=False)


WIDGETS = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
GADGETS = ResourceType("example.com", "gadgets", "Gadget", namespaced=False, custom=True)
TYPES = {
    each.plural if each.group != "events.k8s.io" else "events.events.k8s.io": each
    for each in (
        _type("", "configmaps", "ConfigMap"),
        _type("", "endpoints", "Endpoints"),
        _type("", "events", "Event"),
        _type("", "limitranges", "LimitRange"),
        _type("", "persistentvolumeclaims", "PersistentVolumeClaim"),
        _type("", "pods", "Pod"),
        _type("", "resourcequotas", "ResourceQuota"),
        _type("", "secrets", "Secret"),
        _type("", "serviceaccounts", "ServiceAccount"),
        _type("", "services", "Service"),
        _type("apps", "controllerrevisions", "ControllerRevision"),
        _type("apps", "deployments", "Deployment"),
        _type("apps", "statefulsets", "StatefulSet"),
        _type("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
        _type("batch", "cronjobs", "CronJob"),
        _type("discovery.k8s.io", "endpointslices", "EndpointSlice"),
        _type("events.k8s.io", "events", "Event"),
        _type("networking.k8s.io", "ingresses", "Ingress"),
        _type("networking.k8s.io", "networkpolicies", "NetworkPolicy"),
        _type(RBAC, "roles", "Role"),
        _type(RBAC, "rolebindings", "RoleBinding"),
        _type("resource.k8s.io", "resourceclaims", "ResourceClaim"),
        _type("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity"),
        _cluster("", "namespaces", "Namespace"),
        ResourceType("", "nodes", "Node", False, ServingPolicy.SHARED),
        _cluster("", "persistentvolumes", "PersistentVolume"),
        _cluster(RBAC, "clusterroles", "ClusterRole"),
        _cluster(RBAC, "clusterrolebindings", "ClusterRoleBinding"),
        _cluster("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
        _cluster("scheduling.k8s.io", "priorityclasses", "PriorityClass"),
        _cluster("storage.k8s.io", "storageclasses", "StorageClass"),
        _cluster("networking.k8s.io", "ingressclasses", "IngressClass"),
        _cluster(
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
        ),
        _cluster(
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
        ),
        _cluster(
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
        ),
        _cluster("resource.k8s.io", "resourceslices", "ResourceSlice"),
        _cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest"),
        _cluster("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema"),
        ResourceType("networking.k8s.io", "ipaddresses", "IPAddress", False, ServingPolicy.SHARED),
        WIDGETS,
        GADGETS,
    )
}
ACME = TenantView(
    "acme",
    ResourceTable.from_types(TYPES.values()),
    {
        GroupResource(RBAC, "clusterroles"): frozenset({"cluster-admin", "admin", "system:basic"}),
        GroupResource("storage.k8s.io", "storageclasses"): frozenset({"standard"}),
    },
    webhook_route=ROUTE,
    namespaces=frozenset({"acme-default", "acme-prod"}),
)
LABEL = ACME.tenant_label


def asked(plural: str, verb: str = "get", **more: Any) -> ResourceRequest:
    """Return a request for objects of a type; one in namespace ``prod`` if it is namespaced."""
    resource = TYPES[plural]
    namespace = more.pop("namespace", "prod" if resource.namespaced else "")
    return ResourceRequest(verb, resource, "v1", namespace, more.pop("name", ""), **more)


def up(plural: str, body: Any, verb: str = "update", **more: Any) -> Any:
    """Return what the API server is sent for an object."""
    _, sent = request_up(asked(plural, verb, **more), JSON, msgspec.json.encode(body), ACME)
    return msgspec.json.decode(sent)


def down(plural: str, body: Any, verb: str = "get", **more: Any) -> Any:
    """Return what the tenant is answered for an answer of the API server."""
    answer = answer_down(asked(plural, verb, **more), msgspec.json.encode(body), ACME)
    return msgspec.json.decode(answer)


def event(plural: str, what: str, body: Any) -> Any:
    """Return the event of a watch that the tenant is sent, or None."""
    frame = msgspec.json.encode({"type": what, "object": body})
    sent = events_down(asked(plural, "watch"), ACME)(frame)
    return None if sent is None else msgspec.json.decode(sent)


def in_protobuf(body: bytes) -> bytes:
    steps = protobuf.from_json_in_steps(body)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bytes(end.value)
