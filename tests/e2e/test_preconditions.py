"""Each precondition that our writes rely on refuses: asked of the real API server, by our client.

A merge patch on ``/status`` was once sent with the UID of the LNamespace that it was for, and the
API server ignored the UID: a precondition that was never seen to refuse may be none.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lnamespace import errors
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect

from tests.e2e.support.api import Api, Object, lns_path, ns_path, rbac_path
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.tenants import Tenants

ANOTHER_UID = "00000000-0000-4000-8000-000000000000"
OLD_VERSION = 1
RBAC = "rbac.authorization.k8s.io/v1"
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
SELECTOR: Object = {"podSelector": {}, "policyTypes": ["Ingress"]}
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"

MADE: dict[str, tuple[str, Object]] = {
    "Role": (rbac_path("roles", "", "default"), {"rules": RULES}),
    "RoleBinding": (rbac_path("rolebindings", "", "default"), {"roleRef": ROLE_REF}),
    "ClusterRole": (rbac_path("clusterroles"), {"rules": RULES}),
    "ClusterRoleBinding": (rbac_path("clusterrolebindings"), {"roleRef": ROLE_REF}),
    "ResourceQuota": (ns_path("default", "resourcequotas"), {"spec": {"hard": {"pods": "9"}}}),
    "LimitRange": (ns_path("default", "limitranges"), {"spec": {"limits": []}}),
    "NetworkPolicy": (POLICIES, {"spec": SELECTOR}),
    "Secret": (ns_path("default", "secrets"), {}),
    "Lease": (LEASES, {"spec": {"holderIdentity": "a"}}),
    "ValidatingWebhookConfiguration": (HOOKS, {"webhooks": []}),
}
KINDS = (*MADE, "Namespace", "LNamespace")


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with connect(Access(cluster.environment["KUBECONFIG"])) as client:
        yield client


@pytest.fixture(params=KINDS)
def there(request: pytest.FixtureRequest, admin: Api, tenants: Tenants) -> tuple[str, Object]:
    """Return an object of a kind that we write, and its path."""
    if request.param == "LNamespace":
        path = lns_path(tenants.make("precondition"))
        return path, admin.get(path)
    if request.param == "Namespace":
        path = ns_path(tenants.make("precondition"))
        return path, admin.get(path)
    collection, parts = MADE[request.param]
    path = f"{collection}/precondition"
    admin.remove(path)
    return path, admin.create(collection, {"metadata": {"name": "precondition"}, **parts})


def encoded(**metadata: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"labels": {"changed": "yes"}, **metadata}})


def unchanged(admin: Api, there: tuple[str, Object]) -> bool:
    """Return whether it is there, the same one, and not changed by the test."""
    path, made = there
    meta = admin.get(path)["metadata"]
    labelled = "changed" in meta.get("labels", {})
    same = meta["uid"] == made["metadata"]["uid"]
    return same and not labelled and "deletionTimestamp" not in meta


async def test_a_merge_patch_is_refused_for_another_uid(
    admin: Api, client: Client, there: tuple[str, Object]
) -> None:
    with pytest.raises(errors.Conflict):
        await client.patch(there[0], encoded(uid=ANOTHER_UID))
    assert unchanged(admin, there)


async def test_a_merge_patch_is_refused_for_an_old_version(
    admin: Api, client: Client, there: tuple[str, Object]
) -> None:
    with pytest.raises(errors.Conflict):
        await client.patch(there[0], encoded(resourceVersion=str(OLD_VERSION)))
    assert unchanged(admin, there)


async def test_a_json_patch_is_refused_when_its_test_fails(
    admin: Api, client: Client, there: tuple[str, Object]
) -> None:
    operations: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": ANOTHER_UID},
        {"op": "add", "path": "/metadata/labels", "value": {"changed": "yes"}},
    ]
    with pytest.raises(errors.Conflict):
        await client.patch_json(there[0], operations)
    assert unchanged(admin, there)


async def test_a_deletion_is_refused_for_another_uid_and_for_an_old_version(
    admin: Api, client: Client, there: tuple[str, Object]
) -> None:
    path, made = there
    meta = made["metadata"]
    with pytest.raises(errors.Conflict):
        await client.delete(path, ANOTHER_UID, int(admin.get(path)["metadata"]["resourceVersion"]))
    with pytest.raises(errors.Conflict):
        await client.delete(path, meta["uid"], OLD_VERSION)
    assert unchanged(admin, there)


async def test_creating_an_existing_object_is_refused(
    client: Client, there: tuple[str, Object]
) -> None:
    path, made = there
    body = {key: made[key] for key in ("apiVersion", "kind")}
    rest = {key: made[key] for key in ("spec", "rules", "roleRef", "webhooks") if key in made}
    meta = {"metadata": {"name": made["metadata"]["name"]}}
    with pytest.raises(errors.AlreadyExists):
        await client.create(path.rpartition("/")[0], msgspec.json.encode(body | meta | rest))


async def test_a_json_patch_of_a_status_is_refused_for_another_uid(
    admin: Api, client: Client, tenants: Tenants
) -> None:
    """Of a merge patch the API server takes the status alone: its UID refuses nothing there."""
    path = lns_path(tenants.make("precondition-status"))
    before = admin.get(path)
    status = before["status"] | {"namespaceUID": "another"}
    theirs: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": ANOTHER_UID},
        {"op": "add", "path": "/status", "value": status},
    ]
    with pytest.raises(errors.Conflict):
        await client.patch_json(f"{path}/status", theirs)
    found = admin.get(path)
    assert found["status"]["namespaceUID"] == before["status"]["namespaceUID"]
    ours: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": before["metadata"]["uid"]},
        {"op": "add", "path": "/status", "value": found["status"]},
    ]
    await client.patch_json(f"{path}/status", ours)


async def test_a_status_patch_of_a_deleted_object_is_not_found(client: Client) -> None:
    operations: list[Object] = [{"op": "test", "path": "/metadata/uid", "value": ANOTHER_UID}]
    with pytest.raises(errors.NotFound):
        await client.patch_json(f"{lns_path('precondition-none')}/status", operations)


async def test_an_invalid_status_is_reported_as_invalid_and_not_as_a_conflict(
    admin: Api, client: Client, tenants: Tenants
) -> None:
    """Tried again at once, as a conflict is, it would be refused for ever."""
    path = lns_path(tenants.make("precondition-invalid"))
    operations: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": admin.get(path)["metadata"]["uid"]},
        {"op": "add", "path": "/status", "value": {"counts": "many"}},
    ]
    with pytest.raises(errors.Invalid):
        await client.patch_json(f"{path}/status", operations)
