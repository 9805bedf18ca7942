"""The serving policy of every resource and subresource of Kubernetes.

A policy is decided once for each resource, whatever its version. Namespaced resources that stand in
no table are translated: the API server confines a tenant to its namespaces. Cluster-scoped
resources that stand in no table are hidden, because nobody has judged what they do to others.

The reasons are those of the Kubernetes documentation on multi-tenancy and of
``staging/src/k8s.io/api``; a reason stands here where the policy is not the obvious one.
"""

from dataclasses import dataclass

from lnamespace.kube.resources import RBAC
from lnamespace.translate.protocol.resources import GroupResource, ServingPolicy
from lnamespace.translate.protocol.verbs import READ_VERBS

TRANSLATED = ServingPolicy.TRANSLATED
SHARED = ServingPolicy.SHARED
CONFINED = ServingPolicy.CONFINED
INERT = ServingPolicy.INERT
HIDDEN = ServingPolicy.HIDDEN

BUILT_IN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        RBAC,
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""The API groups of kube-apiserver itself; any other group is an extension."""


@dataclass(frozen=True)
class ResourcePolicy:
    """The way in which one resource is served.

    Parameters
    ----------
    publishes
        Whether published objects of the platform are shown beside the tenant's own.
    """

    policy: ServingPolicy
    publishes: bool = False


_CLUSTER_SCOPED: dict[str, dict[str, ResourcePolicy]] = {
    "": {
        "componentstatuses": ResourcePolicy(HIDDEN),  # each read probes the platform's etcd
        "namespaces": ResourcePolicy(TRANSLATED),
        # Served and always empty: controllers keep an informer on nodes and would not start
        # without the resource, while no machine of the platform may be seen.
        "nodes": ResourcePolicy(SHARED),
        "persistentvolumes": ResourcePolicy(CONFINED),
    },
    "admissionregistration.k8s.io": {
        "mutatingadmissionpolicies": ResourcePolicy(CONFINED),
        "mutatingadmissionpolicybindings": ResourcePolicy(CONFINED),
        "mutatingwebhookconfigurations": ResourcePolicy(CONFINED),
        "validatingadmissionpolicies": ResourcePolicy(CONFINED),
        "validatingadmissionpolicybindings": ResourcePolicy(CONFINED),
        "validatingwebhookconfigurations": ResourcePolicy(CONFINED),
    },
    "apiextensions.k8s.io": {"customresourcedefinitions": ResourcePolicy(TRANSLATED)},
    # A real APIService takes over a group of the shared server: the list of what is served is
    # made by the gateway, read-only.
    "apiregistration.k8s.io": {"apiservices": ResourcePolicy(SHARED)},
    "authentication.k8s.io": {
        "selfsubjectreviews": ResourcePolicy(TRANSLATED),
        "tokenreviews": ResourcePolicy(CONFINED),
    },
    "authorization.k8s.io": {
        "selfsubjectaccessreviews": ResourcePolicy(TRANSLATED),
        "selfsubjectrulesreviews": ResourcePolicy(TRANSLATED),
        "subjectaccessreviews": ResourcePolicy(TRANSLATED),
    },
    "certificates.k8s.io": {
        "certificatesigningrequests": ResourcePolicy(CONFINED),
        "clustertrustbundles": ResourcePolicy(HIDDEN),  # linked names begin with the signer's
    },
    "flowcontrol.apiserver.k8s.io": {
        "flowschemas": ResourcePolicy(INERT),
        "prioritylevelconfigurations": ResourcePolicy(INERT),
    },
    "internal.apiserver.k8s.io": {"storageversions": ResourcePolicy(HIDDEN)},
    "networking.k8s.io": {
        "ingressclasses": ResourcePolicy(CONFINED, publishes=True),
        "ipaddresses": ResourcePolicy(SHARED),  # the name is an address: it takes no prefix
        "servicecidrs": ResourcePolicy(INERT),
    },
    "node.k8s.io": {"runtimeclasses": ResourcePolicy(CONFINED, publishes=True)},
    RBAC: {
        "clusterrolebindings": ResourcePolicy(CONFINED),
        "clusterroles": ResourcePolicy(CONFINED, publishes=True),
    },
    "resource.k8s.io": {
        "deviceclasses": ResourcePolicy(CONFINED, publishes=True),
        "devicetaintrules": ResourcePolicy(HIDDEN),
        "resourcepoolstatusrequests": ResourcePolicy(HIDDEN),
        "resourceslices": ResourcePolicy(INERT),  # a live one offers devices to everybody
    },
    "scheduling.k8s.io": {"priorityclasses": ResourcePolicy(CONFINED, publishes=True)},
    "storage.k8s.io": {
        "csidrivers": ResourcePolicy(INERT),
        "csinodes": ResourcePolicy(INERT),  # a live one says what a node of the platform mounts
        "storageclasses": ResourcePolicy(CONFINED, publishes=True),
        "volumeattachments": ResourcePolicy(INERT),
        "volumeattributesclasses": ResourcePolicy(INERT, publishes=True),
    },
    "storagemigration.k8s.io": {"storageversionmigrations": ResourcePolicy(HIDDEN)},
}

_NAMESPACED: dict[str, dict[str, ResourcePolicy]] = {
    "": {"bindings": ResourcePolicy(HIDDEN)},  # past the scheduler, taints and quotas of nodes
    "certificates.k8s.io": {"podcertificaterequests": ResourcePolicy(HIDDEN)},  # for kubelets
    # In alpha: the priority of a group, of any PriorityClass, counts in place of its pods'.
    "scheduling.k8s.io": {"podgroups": ResourcePolicy(HIDDEN), "workloads": ResourcePolicy(HIDDEN)},
    # The scheduler reads capacities of all namespaces.
    "storage.k8s.io": {"csistoragecapacities": ResourcePolicy(INERT)},
}

_SUBRESOURCES: dict[tuple[str, str], dict[str, ServingPolicy]] = {
    ("", "namespaces"): {
        # Both accept changes of labels (kubernetes/pkg/registry/core/namespace/strategy.go), so
        # they are bounded as the namespace itself.
        "finalize": CONFINED,
        "status": CONFINED,
    },
    ("", "nodes"): {"proxy": HIDDEN, "status": HIDDEN},
    ("", "pods"): {
        "binding": HIDDEN,
        "proxy": CONFINED,
        "status": CONFINED,  # addresses in it are dialled by the platform (CVE-2021-25740)
    },
    ("", "services"): {"proxy": CONFINED},
}

PLATFORM_WRITES: dict[tuple[str, str], dict[str, str]] = {
    # An allocation takes any device of any node, with configuration that only a class of the
    # platform may have: drivers do what stands there.
    ("resource.k8s.io", "resourceclaims"): {"status": "the platform allocates devices"}
}
"""Subresources that tenants only read, and why."""


def resource_policy(resource: GroupResource, *, namespaced: bool) -> ResourcePolicy:
    """Return the policy of a built-in resource; an unknown cluster-scoped one is hidden."""
    table = _NAMESPACED if namespaced else _CLUSTER_SCOPED
    unknown = ResourcePolicy(TRANSLATED if namespaced else HIDDEN)
    return table.get(resource.group, {}).get(resource.plural, unknown)


def hidden_in_namespaces() -> frozenset[GroupResource]:
    """Return the namespaced resources of which no LCluster has objects."""
    return frozenset(
        GroupResource(group, plural)
        for group, resources in _NAMESPACED.items()
        for plural, found in resources.items()
        if found.policy is HIDDEN
    )


def subresource_policy(
    resource: GroupResource, subresource: str, parent: ServingPolicy
) -> ServingPolicy:
    """Return the policy of a subresource; it is that of its resource unless the table says else."""
    if parent is HIDDEN:
        return HIDDEN
    return _SUBRESOURCES.get((resource.group, resource.plural), {}).get(subresource, parent)


def allowed_verbs(policy: ServingPolicy, verbs: frozenset[str]) -> frozenset[str]:
    """Return those of some verbs that a policy lets tenants use."""
    if policy is HIDDEN:
        return frozenset()
    return verbs & READ_VERBS if policy is SHARED else verbs


def is_reserved_group(group: str) -> bool:
    """Return whether no tenant may define custom resources in a group, because it is built in.

    Kubernetes accepts such a CustomResourceDefinition with an approval annotation (KEP-1111). A
    tenant cannot: the path of the group would lead to the platform's resources and to the tenant's.
    """
    return group in BUILT_IN_GROUPS
