"""What whoever has the token of one of our processes tries beyond what the process does."""

from functools import partial
from typing import Any

import pytest

from tests.e2e.support.api import (
    APPLY,
    GROUP,
    NAMESPACES,
    Api,
    Object,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import (
    RELEASE_NAMESPACE,
    SERVICE_ACCOUNT,
    WEBHOOK_ACCOUNT,
    Cluster,
)
from tests.e2e.support.tenants import Tenants

UID = "12345678-1234-1234-1234-123456789abc"
MANAGED_BY, TENANT = "app.kubernetes.io/managed-by", f"{GROUP}/lnamespace"
OWNER = f"{GROUP}/owner-uid"
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def thief(cluster: Cluster) -> Api:
    """Return who has the controller's token."""
    return Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))


# --- Namespaces that the controller would not make


def namespace(
    name: str = "stolen",
    labels: Object | None = None,
    annotations: Object | None = None,
    **metadata: Any,
) -> Object:
    """Return a Namespace as the controller makes them, with something more."""
    marks = {MANAGED_BY: "lnamespace", TENANT: name} | (labels or {})
    own: Object = {"labels": marks, "annotations": {OWNER: UID} | (annotations or {})} | metadata
    if "generateName" not in own:
        own["name"] = name
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": own}


def owner(**more: str) -> list[Object]:
    """Return an LNamespace of its name, or something else."""
    ours = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LNamespace", "name": "stolen", "uid": UID}
    return [ours | more]


def test_the_controller_can_create_its_own_namespaces(thief: Api) -> None:
    """Else the tests below would hold for a policy that forbids everything."""
    charged = {f"{GROUP}/cost-center": "4711", f"{GROUP}/class": "gold"}
    asked = {f"{GROUP}/requester": "alice"}
    for made in (
        namespace(),
        namespace(labels=charged, annotations=asked, ownerReferences=owner()),
        namespace(labels={"kubernetes.io/metadata.name": "stolen"}),
    ):
        assert thief.create(NAMESPACES, made, dryRun="All")


UNLIKE_OURS: dict[str, Object] = {
    "a label that a mesh obeys": namespace(labels={"istio-injection": "disabled"}),
    "a label of nobody's": namespace(labels={"team": "red"}),
    "less Pod Security": namespace(labels={"pod-security.kubernetes.io/enforce": "baseline"}),
    "none at all": namespace(labels={"pod-security.kubernetes.io/enforce": "privileged"}),
    "another manager": namespace(labels={MANAGED_BY: "lnamespace.example.com"}),
    "no manager": namespace(labels={MANAGED_BY: None}),
    "another LNamespace": namespace(labels={TENANT: "other"}),
    "an annotation that a scheduler obeys": namespace(
        annotations={"scheduler.alpha.kubernetes.io/node-selector": "a=b"}
    ),
    "an annotation that a cloud obeys": namespace(
        annotations={"iam.amazonaws.com/permitted": ".*"}
    ),
    "an annotation of our group": namespace(annotations={f"{GROUP}/other": "x"}),
    "labels that no profile gives": namespace(annotations={f"{GROUP}/labels": "istio-injection"}),
    "nobody's": namespace(annotations={OWNER: None}),
    "somebody's without a UID": namespace(annotations={OWNER: "mine"}),
    "a finalizer": namespace(finalizers=["example.com/x"]),
    "a finalizer of its spec": namespace() | {"spec": {"finalizers": ["example.com/x"]}},
    "another kind of owner": namespace(ownerReferences=owner(kind="ConfigMap")),
    "another API's owner": namespace(ownerReferences=owner(apiVersion="v1")),
    "another owner's name": namespace(ownerReferences=owner(name="other")),
    "another owner's UID": namespace(ownerReferences=owner(uid="0-0")),
    "a reserved name": namespace("kube-x"),
    "our own name": namespace("lnamespace-x"),
    "a reserved name that the server makes up": namespace(generateName="kube-"),
}


@pytest.mark.parametrize("body", UNLIKE_OURS.values(), ids=UNLIKE_OURS)
def test_a_stolen_controller_token_cannot_create_other_namespaces(body: Object, thief: Api) -> None:
    """Updates were bounded and creations were not."""
    assert refusal(thief.create, NAMESPACES, body, dryRun="All")
    if name := body["metadata"].get("name"):
        apply = partial(thief.patch, fieldManager="lnamespace", force="true", dryRun="All")
        assert refusal(apply, ns_path(name), body, APPLY)


# --- grants that hold, or are held


IMPERSONATE = {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"]}


@pytest.mark.parametrize("part", ["", "A B", "x.y", "UPPER", "-x", "a" * 64])
def test_a_stolen_controller_token_cannot_create_roles_for_invalid_names(
    part: str, thief: Api
) -> None:
    """Group `Domain Admins-sudoers` could have been somebody's."""
    rule = IMPERSONATE | {"resourceNames": [f"{part}-sudoers"]}
    role = {"metadata": {"name": f"lnamespace:{part}:sudoer-impersonator"}, "rules": [rule]}
    words = refusal(thief.create, rbac_path("clusterroles"), role, dryRun="All")
    assert "only ClusterRoles that it names itself" in words


HOLDS: dict[str, Object] = {
    "a finalizer": {"finalizers": ["example.com/x"]},
    "an owner of another kind": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "0-0"}]
    },
}


@pytest.mark.parametrize("metadata", HOLDS.values(), ids=HOLDS)
def test_a_stolen_controller_token_cannot_set_finalizers_or_foreign_owners(
    metadata: Object, thief: Api, tenants: Tenants
) -> None:
    name = tenants.make("stuck", users=["ulf"], managers=["mona"], sudoers=["sue"])
    change = {"metadata": metadata}
    for path in (
        rbac_path("clusterroles", f"lnamespace:{name}:editor"),
        rbac_path("clusterrolebindings", f"lnamespace:{name}:editor"),
        rbac_path("rolebindings", "lnamespace-users", name),
    ):
        assert "owned by LNamespaces only" in refusal(thief.patch, path, change)
    title = f"lnamespace:self-impersonator:{'a' * 52}"
    rule = IMPERSONATE | {"resources": ["serviceaccounts"], "resourceNames": ["x"]}
    role = {"metadata": {"name": title} | metadata, "rules": [rule]}
    roles = rbac_path("roles", namespace="default")
    assert "owned by LNamespaces only" in refusal(thief.create, roles, role, dryRun="All")


def test_a_stolen_webhook_token_cannot_make_the_certificate_immutable(cluster: Cluster) -> None:
    """Nobody could have renewed a Secret that cannot be changed."""
    webhook = Api(cluster.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT))
    path = ns_path(RELEASE_NAMESPACE, "secrets", "lnamespace-webhook-certificate")
    assert "its own certificate only" in refusal(
        webhook.patch, path, {"immutable": True}, dryRun="All"
    )
