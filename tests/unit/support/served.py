"""Resources that the tests of the translation are served."""

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
)

from tests.unit.support.webhook_routes import ROUTE

RBAC = "rbac.authorization.k8s.io"
NAMESPACES = ResourceType("", "namespaces", "Namespace", namespaced=False)
PODS = ResourceType("", "pods", "Pod", namespaced=True)
EVENTS = ResourceType("", "events", "Event", namespaced=True)
DEPLOYMENTS = ResourceType("apps", "deployments", "Deployment", namespaced=True)
VOLUMES = ResourceType("", "persistentvolumes", "PersistentVolume", namespaced=False)
CLUSTER_ROLES = ResourceType(RBAC, "clusterroles", "ClusterRole", namespaced=False)
CRDS = ResourceType(
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
WIDGETS = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
GLOBES = ResourceType("example.com", "globes", "Globe", namespaced=False, custom=True)
NODES = ResourceType("", "nodes", "Node", namespaced=False, policy=ServingPolicy.HIDDEN)
API_SERVICES = ResourceType(
    "apiregistration.k8s.io",
    "apiservices",
    "APIService",
    namespaced=False,
    policy=ServingPolicy.SHARED,
)
SERVED = ResourceTable.from_types(
    [
        NAMESPACES,
        PODS,
        ResourceType("", "services", "Service", namespaced=True),
        EVENTS,
        ResourceType("events.k8s.io", "events", "Event", namespaced=True),
        DEPLOYMENTS,
        VOLUMES,
        CLUSTER_ROLES,
        ResourceType(RBAC, "roles", "Role", namespaced=True),
        CRDS,
        WIDGETS,
        GLOBES,
        NODES,
        API_SERVICES,
    ]
)
ACME = TenantView(
    "acme",
    SERVED,
    {
        GroupResource(RBAC, "clusterroles"): frozenset({"admin", "system:node"}),
        API_SERVICES.group_resource: frozenset({"v1.apps"}),
    },
    webhook_route=ROUTE,
)
