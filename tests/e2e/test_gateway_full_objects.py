"""What a tenant filled up to what etcd takes can be deleted, by the tenant and by the platform."""

from functools import partial

import pytest
from lnamespace.translate.objects.definition_reserve import RESERVE

from tests.e2e.support.api import (
    JSON_PATCH,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    unless,
)
from tests.e2e.support.filling import DEFINITIONS, fill, fill_definition
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

GROUP = "org.example.com"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters, of which there are none yet."""
    return LClusters(cluster, people)


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Api:
    """Return the administrator of an LCluster."""
    return lclusters.make_administered("walrus")


def definition(plural: str, scope: str = "Namespaced") -> Object:
    """Return a definition of a kind of one's own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    kind = plural.removesuffix("s").title()
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    spec = {"group": GROUP, "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_a_tenant_can_delete_a_definition_without_room(
    cluster: GatewayCluster, alice: Api, scope: str
) -> None:
    """The API server writes a time, a finalizer and a condition to what it deletes."""
    plural = f"{scope.lower()}s"
    path = f"{DEFINITIONS}/{plural}.{GROUP}"
    alice.create(DEFINITIONS, definition(plural, scope))
    kept = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
    objects = kept if scope == "Namespaced" else f"/apis/{GROUP}/v1/{plural}"
    eventually(lambda: alice.find(objects) is not None, what="the kind is not served")
    kind = plural.removesuffix("s").title()
    alice.create(objects, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}})
    fill_definition(alice, definition(plural, scope))
    # Where the API server cannot list the objects at once, it tries again after five minutes: its
    # second try meets a conflict with the condition by which it noted the first one.
    eventually(lambda: unless("TooManyRequests", alice.get, objects), what="it cannot be listed")
    alice.delete(DEFINITIONS if scope == "Namespaced" else path)
    eventually(lambda: alice.find(path) is None, 120, "it is not deleted")
    assert cluster.admin.find(f"{DEFINITIONS}/{plural}.walrus-{GROUP}") is None


def test_an_lcluster_with_definitions_without_room_is_deleted(
    cluster: GatewayCluster, lclusters: LClusters
) -> None:
    """Its name was never free again."""
    api = lclusters.make_administered("narwhal")
    for plural in ("barrels", "casks"):
        api.create(DEFINITIONS, definition(plural))
        fill_definition(api, definition(plural))
    # The room of the second went to a mark, and its tenant filled it then.
    upstream = f"{DEFINITIONS}/casks.narwhal-{GROUP}"
    mark = {"type": "Terminating", "status": "True", "reason": "ConversionFails", "message": "m"}
    marked = [
        {"op": "add", "path": "/status/conditions/-", "value": mark},
        {"op": "remove", "path": f"/metadata/annotations/{RESERVE.replace('/', '~1')}"},
    ]
    cluster.admin.patch(f"{upstream}/status", marked, JSON_PATCH)
    version = cluster.admin.get(upstream)["spec"]["versions"][0]
    filled = version["schema"]["openAPIV3Schema"]

    def further(length: int) -> None:
        schema = filled | {"description": filled["description"] + "x" * length}
        changed = version | {"schema": {"openAPIV3Schema": schema}}
        cluster.admin.patch(upstream, {"spec": {"versions": [changed]}})

    fill(further, 0, 5_000)
    cluster.admin.delete(f"{LCLUSTERS}/narwhal")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/narwhal") is None, 180, "it stays")
    left = [each["metadata"]["name"] for each in cluster.admin.items(DEFINITIONS)]
    assert not [each for each in left if "narwhal" in each]


def waiting_definitions(api: Api, *plurals: str) -> None:
    """Make kinds with an object each that has a finalizer."""
    for plural in plurals:
        api.create(DEFINITIONS, definition(plural))
    for plural in plurals:
        kind = plural.removesuffix("s").title()
        metadata = {"name": "one", "finalizers": ["example.com/stays"]}
        body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        eventually(partial(unless, "NotFound", api.create, path, body))


def test_definitions_that_wait_for_their_objects_hold_up_none_of_others(
    cluster: GatewayCluster, lclusters: LClusters, alice: Api
) -> None:
    """Ten kept all workers of the API server: the definition of another took two minutes."""
    api = lclusters.make_administered("sealion")
    plurals = ("amphoras", "baskets", "cradles", "drawers", "envelopes", "folders")
    waiting_definitions(api, *plurals)
    alice.create(DEFINITIONS, definition("others"))
    refused = []
    for plural in plurals[:3]:
        try:
            api.delete(f"{DEFINITIONS}/{plural}.{GROUP}")
        except ApiError as error:
            refused.append(error)
    assert [(each.status, each.reason) for each in refused] == [(429, "TooManyRequests")]
    assert f"amphoras.{GROUP} and baskets.{GROUP} are being deleted" in refused[0].message
    cluster.admin.delete(f"{LCLUSTERS}/sealion")
    eventually(lambda: "deletionTimestamp" in api.get(f"{NAMESPACES}/default")["metadata"])
    alice.delete(f"{DEFINITIONS}/others.{GROUP}")
    eventually(lambda: alice.find(f"{DEFINITIONS}/others.{GROUP}") is None, 20, "it waits")
    own = [each for each in cluster.admin.items(DEFINITIONS) if "sealion" in str(each["metadata"])]
    assert len([each for each in own if "deletionTimestamp" in each["metadata"]]) <= 2
    for plural in plurals:
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}/one"
        api.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/sealion") is None, 180, "it stays")


@pytest.mark.parametrize("kind", ["clusterroles", "namespaces"])
def test_a_tenant_can_delete_any_other_object_without_room(alice: Api, kind: str) -> None:
    where = NAMESPACES if kind == "namespaces" else rbac_path("clusterroles")
    path = f"{where}/full"
    alice.create(where, {"metadata": {"name": "full"}})
    if kind == "clusterroles":
        rules = {"apiGroups": [""], "verbs": ["get"]}

        def write(length: int) -> None:
            alice.patch(path, {"rules": [rules | {"resources": ["x" * length]}]})

        fill(write)
    alice.delete(path)
    eventually(lambda: alice.find(path) is None, 60, f"{kind} stay")


def test_the_last_annotation_of_a_definition_can_be_removed(
    lclusters: LClusters, alice: Api
) -> None:
    """`kubectl annotate crd NAME KEY-` was refused: the gateway's annotation is there too."""
    resident = lclusters.resident("walrus", "alice").kubectl
    alice.create(DEFINITIONS, definition("tubs"))
    alice.create(rbac_path("clusterroles"), {"metadata": {"name": "tubs"}})
    alice.create(NAMESPACES, {"metadata": {"name": "tubs"}})
    sudo = ("--as=alice", "--as-group=system:masters")
    for what in (f"crd/tubs.{GROUP}", "clusterrole/tubs", "ns/tubs"):
        for verb in ("annotate", "label"):
            resident(verb, what, "mine=yes", *sudo).ok()
            resident(verb, what, "mine-", *sudo).ok()
            assert "mine" not in resident("get", what, "-o", "yaml", *sudo).ok()
    alice.delete(f"{DEFINITIONS}/tubs.{GROUP}")
    alice.delete(f"{rbac_path('clusterroles')}/tubs")
    alice.delete(ns_path("tubs"))
