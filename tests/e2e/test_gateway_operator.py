"""The LNamespace operator inside an LCluster: the same product, one floor further up."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.support.api import (
    GROUP,
    NAMESPACES,
    Api,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, WEBHOOK_ACCOUNT
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident, publish_pod
from tests.e2e.support.people import People
from tests.e2e.support.processes import Controller, Webhook, free_port
from tests.e2e.support.tenants import Tenants, service_account
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

CHART = Path(__file__).parents[2] / "charts" / "lnamespace"
REQUESTER = '{"spec":{"requester":"bob"}}'
SUDO = ("--as=alice", "--as-group=system:masters")
AS_ADMINISTRATOR = ("--kube-as-user=alice", "--kube-as-group=system:masters")
ELSEWHERE = (
    f"--namespace={RELEASE_NAMESPACE}",
    "--create-namespace",
    "--wait",
    "--set=controller.deploy=false,webhook.deploy=false,ledger.deploy=false",
)
"""Where there are no nodes, nothing can run in pods."""


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Resident:
    """Return the sudoer of an LCluster."""
    made = LClusters(cluster, people)
    made.make("nested", "alice", sudoers=("alice",))
    return made.resident("nested", "alice")


@pytest.fixture(scope="module")
def inside(alice: Resident) -> Api:
    """Return the administrator inside the LCluster."""
    return alice.api.acting("alice", "system:masters")


@pytest.fixture(scope="module")
def operator(
    cluster: GatewayCluster,
    alice: Resident,
    inside: Api,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Tenants]:
    """Install the chart inside the LCluster, and run what it would run in pods."""
    alice.run("helm", "install", "inside", str(CHART), *AS_ADMINISTRATOR, *ELSEWHERE).ok()
    folder, port = tmp_path_factory.mktemp("inside"), free_port()
    publish_pod(cluster.admin, f"nested-{RELEASE_NAMESPACE}", "lnamespace-webhook", "https", port)
    tokens = {each: token_of(alice, each, folder) for each in (SERVICE_ACCOUNT, WEBHOOK_ACCOUNT)}
    webhook = Webhook(
        tokens[WEBHOOK_ACCOUNT],
        folder / "webhook.log",
        inside,
        port,
        LNAMESPACE_LISTEN=f"0.0.0.0:{port}",
        LNAMESPACE_SERVING_NAMES=f"lnamespace-webhook.{RELEASE_NAMESPACE}.svc",
    )
    controller = Controller(tokens[SERVICE_ACCOUNT], folder / "controller.log")
    with ExitStack() as stack:
        for process in (webhook, controller):
            stack.callback(process.stop)
            process.start()
        yield Tenants(inside)
        assert not any(each.defect in each.log() for each in (webhook, controller))


def token_of(alice: Resident, account: str, folder: Path) -> Path:
    """Return the kubeconfig of a ServiceAccount of the chart inside."""
    token = alice.kubectl(*SUDO, "-n", RELEASE_NAMESPACE, "create", "token", account)
    file = folder / account
    alice.api.with_token(token.ok().strip(), file)
    return file


@pytest.fixture(scope="module")
def robot(inside: Api, alice: Resident, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """Return a ServiceAccount inside, which has no rights there."""
    inside.create(ns_path("default", "serviceaccounts"), {"metadata": {"name": "robot"}})
    token = alice.kubectl("create", "token", "robot").ok().strip()
    return alice.api.with_token(token, tmp_path_factory.mktemp("robot") / "kubeconfig")


def writes(api: Api, namespace: str) -> object:
    """Return what comes of writing into a namespace."""
    return api.create(ns_path(namespace, "configmaps"), {"metadata": {"generateName": "a"}})


def test_the_creator_inside_the_lcluster_is_the_requester(
    operator: Tenants, alice: Resident
) -> None:
    """The webhook inside is told who acts there, not as whom the gateway acts upstream."""
    alice.kubectl("create", "lnamespace", "counter").ok()
    spec = operator.ready("counter")["spec"]
    assert spec["requester"] == "alice"
    assert spec["billing"]["provenance"]["changedBy"] == "alice"
    assert [each["name"] for each in spec["sudoers"]] == ["alice"]


def test_the_webhooks_refusal_contains_no_upstream_names(
    operator: Tenants, alice: Resident
) -> None:
    name = operator.make("taken")
    refused = alice.kubectl(*SUDO, "patch", "lnamespace", name, "--type=merge", "-p", REQUESTER)
    assert refused.code != 0
    assert "requester" in refused.err
    assert "nested-" not in refused.err


def test_lnamespaces_are_converted_between_versions_inside_an_lcluster(
    operator: Tenants, inside: Api
) -> None:
    """The API server asks about objects of the group that it knows; the webhook knows its own."""
    name = operator.make("older", users=["bob"])
    path = f"/apis/{GROUP}/v1alpha1/lnamespaces/{name}"
    older = inside.get(path)
    assert older["apiVersion"] == f"{GROUP}/v1alpha1"
    assert older["metadata"]["name"] == name
    older["metadata"]["labels"] = {"a": "b"}
    inside.replace(path, older)
    newer = inside.get(lns_path(name))
    assert newer["metadata"]["labels"] == {"a": "b"}
    assert [each["name"] for each in newer["spec"]["users"]] == ["bob"]


def test_an_lnamespace_inside_grants_access_to_its_namespace_only(
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


def test_a_service_account_inside_the_lcluster_can_be_a_sudoer(
    operator: Tenants, cluster: GatewayCluster, inside: Api, robot: Api
) -> None:
    """The platform's operator took the Role for one of its own, for nobody that it knew."""
    roles = rbac_path("roles", namespace="default")

    def impersonators() -> dict[str, str]:
        made = (each["metadata"] for each in inside.items(roles))
        return {each["name"]: each["uid"] for each in made if "self-imp" in each["name"]}

    name = operator.make("robots", sudoers=[service_account("default", "robot")])
    before = impersonators()
    assert len(before) == 1
    sudo = robot.acting("system:serviceaccount:default:robot", f"{name}-sudoers")
    eventually(partial(unless, "Forbidden", writes, sudo, name))
    platforms = Tenants(cluster.admin)
    platforms.make("robots", sudoers=[platforms.account("default", "robot")])
    assert impersonators() == before


def forbidden(api: Api, namespace: str) -> bool:
    """Return whether somebody may not write into a namespace."""
    return not unless("Forbidden", writes, api, namespace)


def test_labels_of_the_inner_operator_are_not_labels_of_the_platforms_operator(
    operator: Tenants, cluster: GatewayCluster, inside: Api
) -> None:
    name = operator.make("marked", users=["bob"])
    shown = inside.get(f"{NAMESPACES}/{name}")["metadata"]
    assert shown["labels"]["app.kubernetes.io/managed-by"] == "lnamespace"
    assert shown["annotations"]["tenancy.loblaw.digital/owner-uid"]
    upstream = cluster.admin.get(f"{NAMESPACES}/nested-{name}")["metadata"]
    assert upstream["labels"]["app.kubernetes.io/managed-by"] == "nested.lnamespace"
    ours = {
        key
        for key in (*upstream["labels"], *upstream["annotations"])
        if key.startswith("tenancy.loblaw.digital/")
    }
    assert ours == {"tenancy.loblaw.digital/lcluster"}
    selector = {"labelSelector": "app.kubernetes.io/managed-by=lnamespace"}
    assert "nested-" not in json.dumps(cluster.admin.get(NAMESPACES, **selector))
    found = {each["metadata"]["name"] for each in inside.get(NAMESPACES, **selector)["items"]}
    assert name in found


def test_deleting_an_lnamespace_inside_deletes_its_namespace(
    operator: Tenants, cluster: GatewayCluster, inside: Api
) -> None:
    name = operator.make("gone")
    inside.delete(lns_path(name))
    eventually(lambda: inside.find(f"{NAMESPACES}/{name}") is None)
    assert cluster.admin.find(f"{NAMESPACES}/nested-{name}") is None
