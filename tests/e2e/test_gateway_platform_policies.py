"""Policies of the platform that refuse, fail, or do not answer, as a tenant meets them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ApiError, Object, ns_path, rbac_path, unless
from tests.e2e.support.gateway import GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
TENANT, WORD = "judged", "quetzal"
CONFIG_MAPS = ("", "configmaps", ns_path("default", "configmaps"))
ROLES = ("rbac.authorization.k8s.io", "clusterroles", rbac_path("clusterroles"))
DEFINITIONS = (
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def root(cluster: GatewayCluster, people: People) -> Api:
    """Return a sudoer of an LCluster with sudo."""
    made = LClusters(cluster, people)
    return made.make_administered(TENANT)


@contextmanager
def there(admin: Api, *objects: tuple[str, Object]) -> Iterator[None]:
    """Have some objects for a while."""
    with ExitStack() as stack:
        for path, body in objects:
            stack.callback(admin.remove, f"{path}/{body['metadata']['name']}")
            admin.create(path, body)
        yield


def policy(group: str, resource: str, expression: str, message: str) -> list[tuple[str, Object]]:
    """Return a policy that refuses, or fails, for objects of one tenant that say so by a label."""
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [resource],
        "operations": ["CREATE", "UPDATE"],
    }
    validation = {"expression": expression, "message": message}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [rule],
            "objectSelector": {"matchLabels": {"judge": "me"}},
        },
        "validations": [validation],
    }
    bound = {"policyName": f"{WORD}-policy", "validationActions": ["Deny"]}
    policies = f"{REGISTRATION}/validatingadmissionpolicies"
    return [
        (policies, {"metadata": {"name": f"{WORD}-policy"}, "spec": spec}),
        (f"{policies[:-3]}ybindings", {"metadata": {"name": f"{WORD}-binding"}, "spec": bound}),
    ]


def webhook(group: str, resource: str) -> tuple[str, Object]:
    """Return a webhook whose service is not there."""
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [resource],
        "operations": ["CREATE"],
    }
    hook = {
        "name": "judge.example.com",
        "clientConfig": {"service": {"namespace": f"{WORD}-system", "name": WORD}},
        "rules": [rule],
        "objectSelector": {"matchLabels": {"judge": "me"}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = f"{REGISTRATION}/validatingwebhookconfigurations"
    return path, {"metadata": {"name": f"{WORD}-webhook"}, "webhooks": [hook]}


def body(plural: str, name: str, *, judged: bool = True) -> Object:
    meta: Object = {"name": name, "labels": {"judge": "me"} if judged else {}}
    if plural == "configmaps":
        return {"metadata": meta}
    if plural == "clusterroles":
        return {"metadata": meta, "rules": []}
    meta["name"] = f"{name}s.example.com"
    names = {"plural": f"{name}s", "kind": name.capitalize()}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {
        "group": "example.com",
        "names": names,
        "scope": "Cluster",
        "versions": [version],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": spec,
    }


def refused(root: Api, path: str, made: Object) -> str:
    """Return the words in which a tenant's object is refused, once it is."""
    words = ""

    def attempt() -> bool:
        nonlocal words
        try:
            root.create(path, made, dryRun="All")
        except ApiError as error:
            words = str(error)
            return error.status in (403, 422, 500)
        return False

    eventually(attempt, what=f"{path} is not refused")
    return words


@pytest.mark.parametrize(("group", "resource", "path"), [CONFIG_MAPS, ROLES, DEFINITIONS])
@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param("false", "say whose it is", id="refuses"),
        pytest.param(f"object.{WORD} == 'x'", "an expression failed", id="fails"),
        pytest.param(
            f"namespaceObject.metadata.name == '{WORD}'",
            "an expression failed",
            id="asks for a namespace",
        ),
    ],
)
def test_a_platform_policys_refusal_does_not_reveal_the_policy(
    group: str,
    resource: str,
    path: str,
    expression: str,
    said: str,
    cluster: GatewayCluster,
    root: Api,
) -> None:
    """One request is refused, also where an expression fails, and nothing else is."""
    message = "say whose it is" if expression == "false" else ""
    with there(cluster.admin, *policy(group, resource, expression, message)):
        words = refused(root, path, body(resource, "judged"))
        assert said in words
        assert WORD not in words
        assert TENANT + "-" not in words
        root.create(path, body(resource, "free", judged=False), dryRun="All")
        assert root.items(path) is not None
    eventually(lambda: unless("Invalid", root.create, path, body(resource, "judged"), dryRun="All"))


def test_an_unavailable_platform_webhook_is_not_named(cluster: GatewayCluster, root: Api) -> None:
    group, resource, path = CONFIG_MAPS
    with there(cluster.admin, webhook(group, resource)):
        words = refused(root, path, body(resource, "judged"))
        assert "a webhook of the platform does not answer" in words
        assert WORD not in words
        root.create(path, body(resource, "free", judged=False), dryRun="All")


@pytest.mark.thorough
def test_a_policy_engine_can_be_installed_and_restarted_beside_our_policies(
    cluster: GatewayCluster,
) -> None:
    """The fences judge tenants and the gateway, and not what the platform's own tools make."""
    admin, space = cluster.admin, f"{WORD}-system"
    role = {"metadata": {"name": WORD}, "rules": []}
    reference = {"apiGroup": ROLES[0], "kind": "ClusterRole", "name": WORD}
    subject = {"kind": "ServiceAccount", "namespace": space, "name": WORD}
    binding = {"metadata": {"name": WORD}, "roleRef": reference, "subjects": [subject]}
    objects: list[tuple[str, Object]] = [
        (NAMESPACES, {"metadata": {"name": space}}),
        (rbac_path("clusterroles"), role),
        (rbac_path("clusterrolebindings"), binding),
        (DEFINITIONS[2], body("customresourcedefinitions", WORD, judged=False)),
        webhook("apps", "deployments"),
        *policy("apps", "deployments", "true", "never"),
    ]
    for _ in range(2):
        with there(admin, *objects):
            account = {"metadata": {"name": WORD}}
            admin.create(ns_path(space, "serviceaccounts"), account)
            admin.patch(rbac_path("clusterroles", WORD), {"metadata": {"labels": {"a": "b"}}})
        for path, made in objects:
            gone = f"{path}/{made['metadata']['name']}"
            eventually(lambda gone=gone: admin.find(gone) is None)  # type: ignore[misc]
