"""LClusters by the commands that people type: created, reached, shared, and used by sudo."""

import pytest

from tests.e2e.support.gateway import GatewayCluster
from tests.e2e.support.people import People, Person
from tests.e2e.support.waiting import eventually


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def gwen(people: People) -> Person:
    """Return somebody who has created an LCluster."""
    person = people.person("gwen")
    told = person.kubectl("create", "lcluster", "gamma")
    assert told.ok() == "lcluster.tenancy.loblaw.digital/gamma created\n"
    return person


@pytest.fixture
def hal(people: People) -> Person:
    return people.person("hal")


def test_the_created_context_works_when_the_command_returns(gwen: Person) -> None:
    namespaces = gwen.kubectl("--context=gamma", "get", "ns", "-o", "name").ok()
    assert namespaces.split()[0] == "namespace/default"
    contexts = gwen.kubectl("config", "view", "-o", "jsonpath={.contexts[*].context.user}").ok()
    assert len(set(contexts.split())) == 1, "with the login that was there"


def test_sudo_applies_to_the_whole_lcluster(gwen: Person) -> None:
    role = ("create", "clusterrole", "deployer", "--verb=get", "--resource=pods")
    assert "Forbidden" in gwen.kubectl("--context=gamma", *role).err
    told = gwen.kubectl("sudo", "--context=gamma", *role).ok()
    assert told == "clusterrole.rbac.authorization.k8s.io/deployer created\n"
    files = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: {namespace}}}\n"
        for namespace in ("default", "kube-public")
    )
    applied = gwen.kubectl("sudo", "--context=gamma", "apply", "-f", "-", stdin=files).ok()
    assert applied.count("created") == 2


def test_a_tenant_can_define_cluster_scoped_custom_resources(gwen: Person) -> None:
    definition = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
    gwen.kubectl("--context=gamma", "create", "-f", "-", stdin=definition).ok()
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"

    def created() -> bool:
        return gwen.kubectl("--context=gamma", "apply", "-f", "-", stdin=widget).code == 0

    eventually(created, what="a cluster-scoped custom resource cannot be created")
    assert gwen.kubectl("--context=gamma", "get", "widgets", "-o", "name").ok() == (
        "widget.example.com/w\n"
    )


@pytest.mark.usefixtures("gwen")
def test_a_person_not_listed_is_shown_the_grant_command(hal: Person) -> None:
    hal.kubectl("lns", "kubeconfig", "gamma").ok()
    refused = hal.kubectl("--context=gamma", "get", "ns")
    assert "kubectl lns grant lc/gamma --user hal" in refused.err
    refused = hal.kubectl("sudo", "--context=gamma", "get", "ns")
    assert "kubectl lns grant lc/gamma --user hal" in refused.err


def test_a_manager_can_grant_access_to_others(gwen: Person, hal: Person) -> None:
    assert gwen.kubectl("lns", "grant", "lc/gamma", "--user=hal").ok() == (
        "gamma: hal is now a user\n"
    )
    hal.kubectl("lns", "kubeconfig", "gamma", "--name=again").ok()

    def admitted() -> bool:
        return hal.kubectl("--context=again", "get", "ns").code == 0

    eventually(admitted, what="hal is not let in")
    refused = hal.kubectl("sudo", "--context=again", "get", "secrets", "-A")
    assert refused.err.startswith('error: you (hal) are not a sudoer of LCluster "gamma"; ')
    page = hal.kubectl("lns", "describe", "lc/gamma").ok()
    assert "works in the LCluster" in page
