"""LClusters by the commands that people type: created, reached, shared, and used by sudo."""

from collections.abc import Iterator

import pytest

from tests.e2e.support.cluster import running
from tests.e2e.support.gateway import GatewayCluster
from tests.e2e.support.people import People, Person
from tests.e2e.support.waiting import eventually


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayCluster]:
    """Start a cluster of the file's own, with a gateway."""
    with running(tmp_path_factory.mktemp("lcluster-commands"), GatewayCluster) as own:
        assert isinstance(own, GatewayCluster)
        yield own


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    """Return somebody who has created an LCluster."""
    person = people.person("alice")
    told = person.kubectl("create", "lcluster", "gamma")
    assert told.ok() == "lcluster.tenancy.loblaw.digital/gamma created\n"
    return person


@pytest.fixture
def bob(people: People) -> Person:
    return people.person("bob")


def test_the_context_works_when_the_command_returns(alice: Person) -> None:
    namespaces = alice.kubectl("--context=gamma", "get", "ns", "-o", "name").ok()
    assert namespaces.split()[0] == "namespace/default"
    contexts = alice.kubectl("config", "view", "-o", "jsonpath={.contexts[*].context.user}").ok()
    assert len(set(contexts.split())) == 1, "with the login that was there"


def test_sudo_is_for_the_whole_lcluster(alice: Person) -> None:
    role = ("create", "clusterrole", "deployer", "--verb=get", "--resource=pods")
    assert "Forbidden" in alice.kubectl("--context=gamma", *role).err
    told = alice.kubectl("sudo", "--context=gamma", *role).ok()
    assert told == "clusterrole.rbac.authorization.k8s.io/deployer created\n"
    files = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: {namespace}}}\n"
        for namespace in ("default", "kube-public")
    )
    applied = alice.kubectl("sudo", "--context=gamma", "apply", "-f", "-", stdin=files).ok()
    assert applied.count("created") == 2


def test_the_custom_resources_of_the_whole_lcluster_are_the_tenants(alice: Person) -> None:
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
    alice.kubectl("--context=gamma", "create", "-f", "-", stdin=definition).ok()
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"

    def created() -> bool:
        return alice.kubectl("--context=gamma", "apply", "-f", "-", stdin=widget).code == 0

    eventually(created, what="a cluster-scoped custom resource cannot be created")
    assert alice.kubectl("--context=gamma", "get", "widgets", "-o", "name").ok() == (
        "widget.example.com/w\n"
    )


@pytest.mark.usefixtures("alice")
def test_who_is_not_listed_learns_what_to_ask_for(bob: Person) -> None:
    bob.kubectl("lns", "kubeconfig", "gamma").ok()
    refused = bob.kubectl("--context=gamma", "get", "ns")
    assert "kubectl lns grant lc/gamma" in refused.err


def test_a_manager_lets_others_in(alice: Person, bob: Person) -> None:
    assert alice.kubectl("lns", "grant", "lc/gamma", "--user=bob").ok() == (
        "gamma: bob is now a user\n"
    )
    bob.kubectl("lns", "kubeconfig", "gamma", "--name=again").ok()

    def admitted() -> bool:
        return bob.kubectl("--context=again", "get", "ns").code == 0

    eventually(admitted, what="bob is not let in")
    refused = bob.kubectl("sudo", "--context=again", "get", "secrets", "-A")
    assert refused.err.startswith('error: you (bob) are not a sudoer of LCluster "gamma"; ')
    page = bob.kubectl("lns", "describe", "lc/gamma").ok()
    assert "works in the LCluster" in page
