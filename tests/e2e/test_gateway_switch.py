"""The gateway is switched on, off and on again in a running release, with LClusters in it.

The tests run in order, as one life of a release. While the gateway is switched on, thieves of the
tokens that get rights by it ask all the time for what the policies refuse.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.support.api import Api, ns_path, rbac_path, refusal, unless
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    LCLUSTERS,
    GatewayCluster,
    LClusters,
    gone,
)
from tests.e2e.support.instances import Instance
from tests.e2e.support.people import People, Person, Who
from tests.e2e.support.processes import Process
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.thieves import Asked, asking, gateway_thieves
from tests.e2e.support.waiting import eventually

ASKED = ("role of no LCluster", "namespace of no LCluster", "service of no LCluster")
PARTS = ("controller-lclusters", "gateway")
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DRY = {"dryRun": "All"}
SIGNER = ns_path(RELEASE_NAMESPACE, "secrets", f"{GATEWAY_ACCOUNT}-signer")
OFF = "--set=gateway.enabled=false"
WITHOUT_LCLUSTERS = {"LNAMESPACE_LCLUSTERS": "no"}


class SwitchedCluster(GatewayCluster):
    """A cluster on which the chart is installed without the gateway."""

    def install(self) -> None:
        """Install the chart, with the gateway off."""
        self.helm("install", "--create-namespace", "--wait", "--timeout", "280s", OFF)
        self.learn_kinds()

    @property
    def ours(self) -> tuple[Process, ...]:
        """Return no process: there is no account for the gateway's yet."""
        return ()

    def switch_on(self) -> None:
        """Upgrade the release, with the gateway."""
        self.helm("upgrade", "--wait", "--timeout=280s")

    def switch_off(self) -> None:
        """Upgrade the release, without the gateway."""
        self.helm("upgrade", "--wait", "--timeout=280s", OFF)

    def roll_back(self, revision: int, *flags: str) -> None:
        """Roll the release back to a revision."""
        words = ("helm", "rollback", "lnamespace", str(revision), "-n", RELEASE_NAMESPACE, "--wait")
        self.run(*words, *flags).ok()

    @property
    def all_processes(self) -> tuple[Process, ...]:
        """Return webhook, controller and gateway."""
        return super().ours

    def start_all(self) -> None:
        """Start all processes, with tokens of the present accounts."""
        for name in ("webhook", "controller", "gateway"):
            self.__dict__.pop(name, None)
        for process in self.all_processes:
            process.start()

    def start_without_lclusters(self) -> None:
        """Start webhook and controller as the chart does when the gateway is off."""
        self.webhook.start(WITHOUT_LCLUSTERS)
        self.controller.start(WITHOUT_LCLUSTERS)

    def stop_all(self) -> None:
        """Stop all processes."""
        for process in self.all_processes:
            process.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwitchedCluster]:
    """Start a cluster of the file's own."""
    made = SwitchedCluster(tmp_path_factory.mktemp("switched"))
    try:
        made.up()
        made.install()
        yield made
        made.stop_all()
        for process in made.all_processes:
            assert process.defect not in process.log()
    finally:
        made.down()


@pytest.fixture(scope="module")
def mallory(people: People) -> Person:
    """Return somebody who can log in, and is on no list."""
    return people.person("mallory")


@pytest.fixture(scope="module")
def lclusters(cluster: SwitchedCluster, people: People) -> LClusters:
    """Return the LClusters."""
    return LClusters(cluster, people)


def guarded(admin: Api) -> set[str]:
    """Return which roles of the gateway there are that wait for its guards."""
    names = {item["metadata"]["name"] for item in admin.items(rbac_path("clusterroles"))}
    return {part for part in PARTS if f"lnamespace:guarded:{part}" in names}


def policies(admin: Api) -> list[str]:
    """Return the names of all ValidatingAdmissionPolicies."""
    return [item["metadata"]["name"] for item in admin.items(POLICIES)]


def may_write(rights: Rights) -> bool:
    """Return whether the gateway and the controller have what they get by the roles."""
    account = f"system:serviceaccount:{RELEASE_NAMESPACE}:"
    role = Deed("create", "clusterroles", group="rbac.authorization.k8s.io")
    service = Deed("create", "services", "default")
    deeds = ((GATEWAY_ACCOUNT, role), (SERVICE_ACCOUNT, service))
    return all(rights.may(Who(f"{account}{name}"), deed) for name, deed in deeds)


def asked_more(asked: Asked) -> None:
    """Go on until everything was asked three times more."""
    before = {what: asked.of(what) for what in ASKED}
    assert all(before.values())
    eventually(lambda: all(asked.of(what) >= n + 3 for what, n in before.items()))


def switched_on_safely(cluster: SwitchedCluster, mallory: Person, rights: Rights) -> None:
    """Switch the gateway on; no request got by that its policies refuse."""
    with asking(Instance(cluster), mallory, gateway_thieves()) as asked:
        cluster.switch_on()
        eventually(lambda: may_write(rights), what="the gateway has no rights")
        asked_more(asked)
    assert asked.accepted == []
    assert guarded(cluster.admin) == set(PARTS)


def test_switching_it_on_grants_no_right_before_its_policy(
    cluster: SwitchedCluster, mallory: Person, rights: Rights
) -> None:
    switched_on_safely(cluster, mallory, rights)


def test_lclusters_outlive_a_gateway_that_is_switched_off(
    cluster: SwitchedCluster, lclusters: LClusters, people: People, rights: Rights
) -> None:
    cluster.start_all()
    lclusters.make("acme", "alice", sudoers=("alice",))
    lclusters.make("canary", "carol")
    alice = lclusters.resident("acme", "alice")
    for command in (
        ("namespace", "prod"),
        ("configmap", "notes", "-n", "prod", "--from-literal=a=b"),
    ):
        alice.kubectl("create", *command).ok()
    bound = ("--clusterrole=cluster-admin", "--serviceaccount=prod:default", "-n", "prod")
    sudo = ("--as=alice", "--as-group=system:masters")
    alice.kubectl(*sudo, "create", "rolebinding", "all", *bound).ok()
    program = cluster.admin.acting("system:serviceaccount:acme-prod:default")
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    assert "forbidden" in refusal(program.patch, ns_path("acme-prod"), label, dryRun="All")
    root = cluster.admin.get(SIGNER)["data"]
    admin, everybody = cluster.admin, people.person("mallory").who
    look = Deed("get", "configmaps", "acme-prod", "notes")
    assert not rights.may(everybody, look)
    cluster.stop_all()
    cluster.switch_off()
    cluster.start_without_lclusters()
    assert guarded(admin) == set()
    assert not [name for name in policies(admin) if "gateway" in name or "lcluster" in name]
    assert admin.get(ns_path("acme-prod", "configmaps", "notes"))["data"] == {"a": "b"}
    assert admin.get(SIGNER)["data"] == root
    assert lclusters.is_ready("acme")
    assert not rights.may(alice.person.who, Deed("create", "configmaps", "acme-prod"))
    # As docs/production-readiness.md warns: two things that nobody keeps people from now.
    eventually(lambda: unless("Forbidden", program.patch, ns_path("acme-prod"), label, **DRY))
    eventually(lambda: rights.may(everybody, look))
    assert not rights.may(everybody, Deed("get", "secrets", "acme-prod"))
    manager = people.person("manager")
    manager.api.delete(f"{LCLUSTERS}/canary")
    assert "forbidden" in refusal(manager.api.get, LCLUSTERS)


def test_switched_on_again_lclusters_are_as_they_were_and_deletions_go_on(
    cluster: SwitchedCluster, mallory: Person, lclusters: LClusters, rights: Rights
) -> None:
    waiting = cluster.admin.get(f"{LCLUSTERS}/canary")["metadata"]
    assert waiting["deletionTimestamp"]
    assert cluster.admin.get(ns_path("canary-default"))["status"]["phase"] == "Active"
    cluster.stop_all()
    switched_on_safely(cluster, mallory, rights)
    cluster.start_all()
    alice = lclusters.resident("acme", "alice")
    assert alice.api.get(ns_path("prod", "configmaps", "notes"))["data"] == {"a": "b"}
    assert not rights.may(mallory.who, Deed("get", "configmaps", "acme-prod", "notes"))
    eventually(lambda: gone(cluster.admin, f"{LCLUSTERS}/canary"))
    eventually(lambda: gone(cluster.admin, ns_path("canary-default")))
    cluster.stop_all()


def test_a_roll_back_to_before_it_removes_its_roles(cluster: SwitchedCluster) -> None:
    cluster.roll_back(1)
    assert guarded(cluster.admin) == set()


def test_switching_it_on_after_a_roll_back_grants_no_right_before_its_policy(
    cluster: SwitchedCluster, mallory: Person, rights: Rights
) -> None:
    switched_on_safely(cluster, mallory, rights)


@pytest.mark.thorough
def test_roles_that_a_roll_back_without_hooks_left_grant_no_right_early(
    cluster: SwitchedCluster, mallory: Person, rights: Rights
) -> None:
    cluster.roll_back(1, "--no-hooks")
    assert guarded(cluster.admin) == set(PARTS)
    switched_on_safely(cluster, mallory, rights)


@pytest.mark.thorough
def test_a_roll_back_to_a_revision_with_it_gives_no_right_before_an_upgrade(
    cluster: SwitchedCluster, mallory: Person, rights: Rights
) -> None:
    """Helm rolls back by hooks that were rendered when the roles were there."""
    cluster.switch_off()
    cluster.roll_back(2)
    assert guarded(cluster.admin) == set()
    assert not may_write(rights)
    switched_on_safely(cluster, mallory, rights)


@pytest.mark.thorough
def test_an_installation_after_a_removal_takes_over_lclusters(
    cluster: SwitchedCluster, mallory: Person, lclusters: LClusters, rights: Rights
) -> None:
    uid = cluster.admin.get(f"{LCLUSTERS}/acme")["metadata"]["uid"]
    cluster.run("helm", "uninstall", "lnamespace", "-n", RELEASE_NAMESPACE, "--wait").ok()
    assert guarded(cluster.admin) == set()
    assert not may_write(rights)
    assert cluster.admin.get(f"{LCLUSTERS}/acme")["metadata"]["uid"] == uid
    with asking(Instance(cluster), mallory, gateway_thieves()) as asked:
        cluster.helm("install", "--wait", "--timeout=280s")
        eventually(lambda: may_write(rights), what="the gateway has no rights")
        asked_more(asked)
    assert asked.accepted == []
    cluster.start_all()
    alice = lclusters.resident("acme", "alice")
    assert alice.api.get(ns_path("prod", "configmaps", "notes"))["data"] == {"a": "b"}
