"""No version leaves a definition of a tenant while an object is stored in it.

Kubernetes believes ``status.storedVersions``, which a tenant may write. Then nobody could list the
kind, and no Namespace of the cluster could be deleted (decision 0067).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.e2e.support.api import (
    APPLY,
    JSON_PATCH,
    MERGE,
    Api,
    ApiError,
    Object,
    refusal,
    unless,
)
from tests.e2e.support.filling import DEFINITIONS, change
from tests.e2e.support.gateway import GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

TENANT = "avocet"
GROUP = "org.example.com"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
NAMESPACES = "/api/v1/namespaces"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def root(cluster: GatewayCluster, people: People) -> Api:
    """Return the administrator inside an LCluster."""
    lclusters = LClusters(cluster, people)
    lclusters.make(TENANT, "alice", sudoers=("alice",))
    return lclusters.resident(TENANT, "alice").api.acting("alice", "system:masters")


def definition(plural: str, *versions: str, scope: str = "Namespaced") -> Object:
    """Return a kind that is stored in the last of some versions."""
    kind = plural.removesuffix("s").title()
    spec: Object = {
        "group": GROUP,
        "scope": scope,
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
        "versions": [
            {"name": name, "served": True, "storage": name == versions[-1], "schema": SCHEMA}
            for name in versions
        ],
    }
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def path_of(plural: str, version: str, namespace: str = "default") -> str:
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/apis/{GROUP}/{version}/{within}{plural}"


def definition_path(plural: str) -> str:
    return f"{DEFINITIONS}/{plural}.{GROUP}"


def stored_in_the_first(root: Api, plural: str, namespace: str = "default") -> None:
    """Make a kind with an object in v1, which is stored in v2 from now on."""
    scope = "Namespaced" if namespace else "Cluster"
    root.create(DEFINITIONS, definition(plural, "v1", scope=scope))
    kind = plural.removesuffix("s").title()
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}, "size": 3}
    path = path_of(plural, "v1", namespace)
    eventually(lambda: unless("NotFound", root.create, path, body))
    change(root, definition(plural, "v1", "v2", scope=scope))
    eventually(lambda: unless("NotFound", root.get, path_of(plural, "v2", namespace)))
    stored = root.get(definition_path(plural))["status"]["storedVersions"]
    assert stored == ["v1", "v2"]


def take_out(root: Api, plural: str, body: object, kind: str = MERGE, **query: str) -> Object:
    """Write the status of a definition."""
    found: Object = root.patch(f"{definition_path(plural)}/status", body, kind, **query)
    return found


ONLY_V2 = {"status": {"storedVersions": ["v2"]}}


def replaced(root: Api, plural: str) -> Object:
    """Do as cert-manager's cmctl: replace the status that was read before."""
    found = root.get(definition_path(plural))
    found["status"]["storedVersions"] = ["v2"]
    changed: Object = root.replace(f"{definition_path(plural)}/status", found)
    return changed


def applied(root: Api, plural: str) -> Object:
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    named = {"metadata": {"name": f"{plural}.{GROUP}"}}
    return take_out(root, plural, body | named | ONLY_V2, APPLY, fieldManager="a", force="true")


def by_index(root: Api, plural: str) -> Object:
    removed = [{"op": "remove", "path": "/status/storedVersions/0"}]
    return take_out(root, plural, removed, JSON_PATCH)


WAYS: dict[str, Callable[[Api, str], Object]] = {
    "lutes": replaced,
    "harps": applied,
    "gongs": by_index,
    "drums": partial(take_out, body=ONLY_V2),
}


def test_a_version_leaves_when_its_objects_are_stored_in_another(
    cluster: GatewayCluster, root: Api
) -> None:
    """One that left before made the kind unlistable, and all Namespaces of the cluster stayed."""
    for plural in WAYS:
        stored_in_the_first(root, plural)
    stored_in_the_first(root, "fifes", namespace="")
    take_out(root, "lutes", ONLY_V2, dryRun="All")
    ways = WAYS | {"fifes": replaced}
    with ThreadPoolExecutor(len(ways)) as pool:
        made = pool.map(lambda each: each[1](root, each[0]), ways.items())
        assert [each["status"]["storedVersions"] for each in made] == [["v2"]] * len(ways)
    for plural in ways:
        namespace = "" if plural == "fifes" else "default"
        change(root, definition(plural, "v2", scope="Namespaced" if namespace else "Cluster"))
        eventually(partial(unless, "NotFound", root.get, path_of(plural, "v2", namespace)))
        found = root.get(path_of(plural, "v2", namespace))["items"]
        assert [each["size"] for each in found] == [3]
        assert root.get(f"{path_of(plural, 'v2', namespace)}/one")["size"] == 3
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "lapwing"}})
    cluster.admin.delete(f"{NAMESPACES}/lapwing")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/lapwing") is None, 60)


def test_a_version_stays_while_an_object_cannot_be_written(root: Api) -> None:
    stored_in_the_first(root, "oboes")
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["oboes"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule | {"operations": ["UPDATE"]}]},
        "validations": [{"expression": "false", "message": "never"}],
    }
    root.create(POLICIES, {"metadata": {"name": "never"}, "spec": policy})
    bound = {"policyName": "never", "validationActions": ["Deny"]}
    root.create(BINDINGS, {"metadata": {"name": "never"}, "spec": bound})
    one = f"{path_of('oboes', 'v2')}/one"
    eventually(lambda: "never" in refusal(root.patch, one, {"size": 4}, status=422))
    told = refusal(take_out, root, "oboes", ONLY_V2, status=409)
    assert "oboes.org.example.com" in told
    assert "never" in told
    assert f"{TENANT}-" not in told
    assert root.get(definition_path("oboes"))["status"]["storedVersions"] == ["v1", "v2"]
    with pytest.raises(ApiError, match="storedVersions"):
        change(root, definition("oboes", "v2"))
