"""The LNamespace operator inside an LCluster: the same product, one floor further up."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import NAMESPACES, Api, lns_path, ns_path, refusal, unless
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, running
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.processes import Controller
from tests.e2e.support.tenants import Tenants, service_account
from tests.e2e.support.waiting import eventually

CHART = Path(__file__).parents[2] / "charts" / "lnamespace"
SUDO = ("--as=alice", "--as-group=system:masters")
OF_ADMISSION = ("Mutating", "Validating")
"""What the names of kinds begin with that would need a webhook of the tenant."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayCluster]:
    """Start a cluster of the file's own, with a gateway."""
    with running(tmp_path_factory.mktemp("gateway"), GatewayCluster) as own:
        assert isinstance(own, GatewayCluster)
        yield own


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Resident:
    """Return the sudoer of an LCluster."""
    made = LClusters(cluster, people)
    made.make("acme", "alice", sudoers=("alice",))
    return made.resident("acme", "alice")


@pytest.fixture(scope="module")
def inside(alice: Resident) -> Api:
    """Return the administrator inside the LCluster."""
    return alice.api.acting("alice", "system:masters")


@pytest.fixture(scope="module")
def operator(
    alice: Resident, inside: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tenants]:
    """Run an operator's controller inside the LCluster, as its ServiceAccount there."""
    alice.kubectl(*SUDO, "create", "namespace", RELEASE_NAMESPACE).ok()
    eventually(lambda: alice.kubectl(*SUDO, "apply", "-f", "-", stdin=manifests(alice)).code == 0)
    folder = tmp_path_factory.mktemp("inside")
    token = alice.kubectl(*SUDO, "-n", RELEASE_NAMESPACE, "create", "token", SERVICE_ACCOUNT)
    kubeconfig = folder / "kubeconfig"
    alice.api.with_token(token.ok().strip(), kubeconfig)
    process = Controller(kubeconfig, folder / "controller.log")
    process.start()
    yield Tenants(inside)
    process.stop()
    assert process.defect not in process.log()


def manifests(alice: Resident) -> str:
    """Return what the chart installs without what needs a webhook, which nobody asks inside."""
    chart = ("helm", "template", "inside", str(CHART), "--namespace", RELEASE_NAMESPACE)
    deploy = [f"--set={each}.deploy=false" for each in ("controller", "webhook", "ledger")]
    found = yaml.safe_load_all(alice.run(*chart, *deploy, "--set=hooks=false").ok())
    kept = [each for each in found if each and not each["kind"].startswith(OF_ADMISSION)]
    for each in kept:
        if each["kind"] == "CustomResourceDefinition":
            each["spec"].pop("conversion", None)
    return yaml.safe_dump_all(kept)


@pytest.fixture(scope="module")
def robot(inside: Api, alice: Resident, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """Return a ServiceAccount inside, which has no rights there."""
    inside.create(ns_path("default", "serviceaccounts"), {"metadata": {"name": "robot"}})
    token = alice.kubectl("create", "token", "robot").ok().strip()
    return alice.api.with_token(token, tmp_path_factory.mktemp("robot") / "kubeconfig")


def writes(api: Api, namespace: str) -> object:
    """Return what comes of writing into a namespace."""
    return api.create(ns_path(namespace, "configmaps"), {"metadata": {"generateName": "a"}})


def test_an_lnamespace_inside_gives_access_to_its_namespace_alone(
    operator: Tenants, robot: Api, alice: Resident
) -> None:
    account = "system:serviceaccount:default:robot"
    create = ("create", "lnamespace", "shop", f"--user={account}", *SUDO)
    alice.kubectl(*create).ok()
    assert operator.ready("shop")["spec"]["users"] == [service_account("default", "robot")]
    eventually(lambda: unless("Forbidden", writes, robot, "shop"))
    refusal(writes, robot, "default", status=403)
    operator.edit("shop", users=[])
    eventually(lambda: forbidden(robot, "shop"), what="the robot still writes")


def forbidden(api: Api, namespace: str) -> bool:
    """Return whether somebody may not write into a namespace."""
    return not unless("Forbidden", writes, api, namespace)


def test_what_it_marks_is_not_marked_for_the_platforms_operator(
    operator: Tenants, cluster: GatewayCluster, inside: Api
) -> None:
    name = operator.make("marked", users=["bob"])
    shown = inside.get(f"{NAMESPACES}/{name}")["metadata"]
    assert shown["labels"]["app.kubernetes.io/managed-by"] == "lnamespace"
    assert shown["annotations"]["tenancy.loblaw.digital/owner-uid"]
    upstream = cluster.admin.get(f"{NAMESPACES}/acme-{name}")["metadata"]
    assert upstream["labels"]["app.kubernetes.io/managed-by"] == "acme.lnamespace"
    ours = {key for key in (*upstream["labels"], *upstream["annotations"]) if key.startswith("ten")}
    assert ours == {"tenancy.loblaw.digital/lcluster"}
    selector = {"labelSelector": "app.kubernetes.io/managed-by=lnamespace"}
    assert "acme-" not in json.dumps(cluster.admin.get(NAMESPACES, **selector))
    found = {each["metadata"]["name"] for each in inside.get(NAMESPACES, **selector)["items"]}
    assert name in found


def test_it_goes_with_its_namespace(
    operator: Tenants, cluster: GatewayCluster, inside: Api
) -> None:
    name = operator.make("gone")
    inside.delete(lns_path(name))
    eventually(lambda: inside.find(f"{NAMESPACES}/{name}") is None)
    assert cluster.admin.find(f"{NAMESPACES}/acme-{name}") is None
