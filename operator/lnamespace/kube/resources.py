"""API resources and their URL paths."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Resource:
    """A resource of the API with its kind; ``group`` is empty for the core API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """Return the apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """Return the escaped URL path of the collection, or of one object in it."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        parts = ["namespaces", namespace] if self.namespaced and namespace else []
        parts += [self.plural] + [part for part in (name, subresource) if part]
        return "/".join([root, *(quote(part, safe="") for part in parts)])


def resource_of(path: str) -> str:
    """Return the resource and subresource of a URL path, such as ``lnamespaces/status``.

    Return nothing for the path of a group or a version, which discovery asks for.
    """
    parts = path.split("/")
    rest = parts[4:] if path.startswith("/apis/") else parts[3:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return "/".join(rest[::2])


RBAC = "rbac.authorization.k8s.io"
DEFAULT_NAMESPACE = "default"
"""The namespace that every cluster has; Events about cluster-scoped objects are in it."""

NAMESPACE = Resource("", "v1", "Namespace", "namespaces")
SERVICE_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICE = Resource("", "v1", "Service", "services", namespaced=True)
EVENT = Resource("", "v1", "Event", "events", namespaced=True)
ROLE = Resource(RBAC, "v1", "Role", "roles", namespaced=True)
ROLE_BINDING = Resource(RBAC, "v1", "RoleBinding", "rolebindings", namespaced=True)
CLUSTER_ROLE = Resource(RBAC, "v1", "ClusterRole", "clusterroles")
CLUSTER_ROLE_BINDING = Resource(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings")

PERSISTENT_VOLUME = Resource("", "v1", "PersistentVolume", "persistentvolumes")
STORAGE_CLASS = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses")
VOLUME_ATTRIBUTES_CLASS = Resource(
    "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses"
)
INGRESS_CLASS = Resource("networking.k8s.io", "v1", "IngressClass", "ingressclasses")
PRIORITY_CLASS = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses")
RUNTIME_CLASS = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses")
DEVICE_CLASS = Resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses")
CERTIFICATE_SIGNING_REQUEST = Resource(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"
)

CUSTOM_RESOURCE_DEFINITION = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
)

ADMISSION = "admissionregistration.k8s.io"
MUTATING_WEBHOOK_CONFIGURATION = Resource(
    ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
)
VALIDATING_WEBHOOK_CONFIGURATION = Resource(
    ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
)
ADMISSION_RESOURCES = (
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_WEBHOOK_CONFIGURATION,
    Resource(
        ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
    ),
    Resource(ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    Resource(ADMISSION, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
    Resource(ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
)
"""The resources whose objects can refuse or change requests."""

RESOURCE_QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
LIMIT_RANGE = Resource("", "v1", "LimitRange", "limitranges", namespaced=True)
NETWORK_POLICY = Resource(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True
)
PROFILE_RESOURCES = (RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY)
"""The resources that a profile may put into a Namespace."""
