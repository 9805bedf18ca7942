"""A gateway of an instance with another suffix: it acts as accounts of its own, and shows no mark.

The gateway acted as accounts of the default instance, to which this one had given no rights, and
its tenants saw the controller's annotations.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ns_path, unless
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    PODS,
    WEBHOOKS,
    GatewayCluster,
    GatewayProcess,
    gone,
)
from tests.e2e.support.instances import Instance
from tests.e2e.support.people import People
from tests.e2e.support.tenants import condition
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

SUFFIX, PLACE, TENANT = "team1.example.com", "team1", "acme"
LCLUSTERS = f"/apis/tenancy.{SUFFIX}/v1beta1/lclusters"
_FLAGS = ("enabled=true", "deploy=false", "mine=true", "host=gateway.test")


@dataclass
class Served:
    """The instance, and alice in an LCluster of it."""

    cluster: GatewayCluster
    alice: Api

    @property
    def admin(self) -> Api:
        """Return the administrator of the platform."""
        return self.cluster.admin


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Install the instance alone, and make an LCluster."""
    cluster = GatewayCluster(tmp_path_factory.mktemp("suffixed"))
    variables = {
        "LNAMESPACE_LCLUSTERS": "yes",
        "LNAMESPACE_GATEWAY_URL": cluster.url,
        "LNAMESPACE_GATEWAY_AUTHORITIES": (cluster.certificates / "ca.crt").read_text(),
    }
    try:
        cluster.up()
        instance = Instance(cluster, SUFFIX, PLACE, "team1", variables=variables)
        instance.install(*(f"--set=gateway.{each}" for each in _FLAGS))
        gateway = _gateway(cluster)
        try:
            instance.start()
            gateway.start()
            _make(instance)
            resident = cluster.behind(TENANT, People(cluster).person("alice"))
            eventually(lambda: resident.kubectl("get", "namespaces").code == 0)
            yield Served(cluster, resident.api.acting("alice", "system:masters"))
        finally:
            gateway.stop()
            instance.stop()
        instance.no_defect()
        assert gateway.defect not in gateway.log()
    finally:
        cluster.down()


def _gateway(cluster: GatewayCluster) -> GatewayProcess:
    variables = {
        "LNAMESPACE_API_GROUP_SUFFIX": SUFFIX,
        "LNAMESPACE_GATEWAY_SIGNER_SECRET": f"{PLACE}/{GATEWAY_ACCOUNT}-signer",
        "LNAMESPACE_GATEWAY_WEBHOOK_SERVICE": f"{PLACE}/{WEBHOOKS}:443",
        "LNAMESPACE_GATEWAY_POD_SERVICE": f"{PLACE}/{PODS}",
    }
    token = cluster.token(PLACE, GATEWAY_ACCOUNT)
    log = cluster.folder.parent / "team1-gateway.log"
    return GatewayProcess(token, log, cluster.port, cluster.certificates, **variables)


def _make(instance: Instance) -> None:
    """Create the LCluster, and wait until it is ready."""
    lists = {each: [{"name": "alice"}] for each in ("users", "sudoers", "managers")}
    body = {
        "apiVersion": f"{instance.group}/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": TENANT},
        "spec": lists,
    }
    admin = instance.cluster.admin
    admin.create(LCLUSTERS, body)
    eventually(lambda: condition(admin.get(f"{LCLUSTERS}/{TENANT}")).get("status") == "True")


def test_a_tenant_can_use_its_namespaces_and_its_custom_resources(served: Served) -> None:
    served.alice.create(NAMESPACES, {"metadata": {"name": "made"}})
    for namespace in ("default", "made"):
        path = ns_path(namespace, "configmaps")
        served.alice.create(path, {"metadata": {"name": "one"}})
        assert served.admin.get(ns_path(f"{TENANT}-{namespace}", "configmaps") + "/one")
    names = {each["metadata"]["namespace"] for each in served.alice.items("/api/v1/configmaps")}
    assert {"default", "made"} <= names
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    served.alice.create(definitions, _definition())
    widgets = "/apis/example.com/v1/namespaces/made/widgets"
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    eventually(lambda: unless("NotFound", served.alice.create, widgets, widget))


def _definition() -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }


def test_a_tenant_sees_no_labels_or_annotations_of_the_instance(served: Served) -> None:
    """Neither of the controller's annotations nor of the label, in any instance."""
    for each in served.alice.items(NAMESPACES):
        assert "lcluster" not in str(each)
        assert "team1" not in str(each)
        upstream = served.admin.get(f"{NAMESPACES}/{TENANT}-{each['metadata']['name']}")
        assert upstream["metadata"]["labels"][f"tenancy.{SUFFIX}/lcluster"] == TENANT


def test_a_deleted_lcluster_leaves_no_namespace(served: Served) -> None:
    served.admin.delete(f"{LCLUSTERS}/{TENANT}")
    eventually(lambda: gone(served.admin, f"{LCLUSTERS}/{TENANT}"))
    names = [each["metadata"]["name"] for each in served.admin.items(NAMESPACES)]
    assert not [each for each in names if each.startswith(f"{TENANT}-")]
