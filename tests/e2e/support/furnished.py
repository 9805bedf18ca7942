"""An LCluster that has everything that one can have, to be deleted."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import yaml

from tests.e2e.support.api import NAMESPACES, Api, ApiError, Object, ns_path, refusal
from tests.e2e.support.versions import serves
from tests.e2e.support.waiting import eventually

EVERY_KIND: list[Object] = [
    sample
    for sample in yaml.safe_load_all(
        (Path(__file__).parents[1] / "objects/every-kind.yaml").read_text()
    )
    if serves(sample["kind"])
]
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_ANYTHING: Object = {
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "resources": ["*"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
}


def furnish(root: Api) -> int:
    """Create an object of each kind, and last those that refuse deletions; return how many.

    ``root`` is a client with every right in a new LCluster.
    """
    made = 0
    root.create(NAMESPACES, {"metadata": {"name": "prod"}})
    eventually(lambda: root.find(ns_path("prod", "serviceaccounts", "default")))
    for sample in EVERY_KIND:
        eventually(partial(_create, root, sample), what=f"no {sample['kind']}")
        made += 1
    for path, body in (*_cluster_wide(), *_hostile()):
        eventually(partial(_made, root, path, body), what=f"no {path}")
        made += 1
    root.create(ns_path("prod", "serviceaccounts", "sa/token"), {"spec": {}})
    service = {"name": "none", "namespace": "prod"}
    spec: Object = {"group": "none.example.com", "version": "v1", "service": service}
    spec |= {"groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": True}
    body = {"metadata": {"name": "v1.none.example.com"}, "spec": spec}
    assert refusal(root.create, _API_SERVICES, body, status=405)
    return made


def _cluster_wide() -> Iterator[tuple[str, Object]]:
    """Yield a definition of cluster-scoped objects, and one of these."""
    names = {"plural": "planets", "singular": "planet", "kind": "Planet"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    yield definitions, {"metadata": {"name": "planets.example.com"}, "spec": spec}
    planet = {"apiVersion": "example.com/v1", "kind": "Planet", "metadata": {"name": "earth"}}
    yield "/apis/example.com/v1/planets", planet


def _hostile() -> Iterator[tuple[str, Object]]:
    """Yield what would refuse every deletion, where nobody answers and where one says no."""
    deletions = _ANYTHING | {"operations": ["DELETE"]}
    constraints = {"resourceRules": [deletions]}
    policy = {"matchConstraints": constraints, "validations": [{"expression": "false"}]}
    bound = {"policyName": "keep", "validationActions": ["Deny"]}
    policies = f"{_REGISTRATION}/validatingadmissionpolicies"
    yield policies, {"metadata": {"name": "keep"}, "spec": policy}
    yield f"{policies[:-3]}ybindings", {"metadata": {"name": "keep"}, "spec": bound}
    client = {"service": {"namespace": "prod", "name": "nobody", "path": "/"}}
    webhook = {"name": "keep.example.com", "clientConfig": client, "rules": [_ANYTHING]}
    webhook |= {"admissionReviewVersions": ["v1"], "sideEffects": "None"}
    configurations = f"{_REGISTRATION}/validatingwebhookconfigurations"
    yield configurations, {"metadata": {"name": "keep"}, "webhooks": [webhook]}


def _create(root: Api, sample: Object) -> bool:
    """Create a sample; False where its kind is not served yet."""
    version: str = sample["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    served = (root.find(base) or {}).get("resources", ())
    plurals = [each["name"] for each in served if each["kind"] == sample["kind"]]
    if not plurals:
        return False
    namespace = sample["metadata"].get("namespace")
    where = f"namespaces/{namespace}/" if namespace else ""
    return _made(root, f"{base}/{where}{min(plurals, key=len)}", sample)


def _made(root: Api, path: str, body: Object) -> bool:
    """Create an object; False where its kind is not served yet."""
    try:
        root.create(path, body)
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True


PROTECTED = {
    "/api/v1/persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "/api/v1/persistentvolumes": "kubernetes.io/pv-protection",
    "/apis/storage.k8s.io/v1/volumeattributesclasses": "kubernetes.io/vac-protection",
}
"""Finalizers that controllers of Kubernetes take off which `hack/cluster` does not run."""


def release_volumes(admin: Api) -> None:
    """Release volumes that are being deleted and that nothing uses, as their controllers do.

    A failure is ignored, for the next call tries again: an API server that has just restarted may
    still refuse.
    """
    for path, finalizer in PROTECTED.items():
        if "volumeattributesclasses" in path and not serves("VolumeAttributesClass"):
            continue
        for item in admin.items(path):
            metadata = item["metadata"]
            if "deletionTimestamp" in metadata and finalizer in metadata.get("finalizers", ()):
                left = [each for each in metadata["finalizers"] if each != finalizer]
                namespace = metadata.get("namespace")
                base, _, plural = path.rpartition("/")
                where = f"{base}/namespaces/{namespace}/{plural}" if namespace else path
                change = {"metadata": {"finalizers": left or None}}
                with suppress(ApiError):
                    admin.patch(f"{where}/{metadata['name']}", change)
