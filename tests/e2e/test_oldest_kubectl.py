"""The commands with the oldest kubectl; on the oldest Kubernetes, which is built with it."""

import json
import os
from pathlib import Path

import pytest
from controlplane.versions import OLDEST, pinned

from tests.e2e.support.api import GROUP
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import Result
from tests.e2e.support.people import People, Person
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

VERSIONS = pinned(OLDEST)
QUALIFIED = f"lnamespace.{GROUP}"

pytestmark = pytest.mark.skipif(
    os.environ.get("LNAMESPACE_KUBERNETES") != VERSIONS.minor,
    reason=f"only with K8S={VERSIONS.minor}, which builds it",
)


@pytest.fixture(scope="module")
def path(cluster: Cluster) -> str:
    """Return a PATH with the oldest kubectl, for people and for their plugins."""
    servers = Path(json.loads((cluster.folder / "cluster.json").read_text())["server_folder"])
    return f"{servers}:{cluster.environment['PATH']}"


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    return people.person("alice")


def kubectl(person: Person, path: str, *words: str) -> Result:
    return person.run("kubectl", *words, PATH=path)


def test_client_and_server_are_the_oldest_supported_version(alice: Person, path: str) -> None:
    told = json.loads(kubectl(alice, path, "version", "-o", "json").ok())
    for which in ("clientVersion", "serverVersion"):
        assert told[which]["gitVersion"] == f"v{VERSIONS.kubernetes}"


def test_kubectl_lns_create_creates_an_lnamespace(
    alice: Person, path: str, tenants: Tenants
) -> None:
    name = tenants.name("old")
    made = kubectl(alice, path, "lns", "create", name, "--cost-center", "R-1")
    assert made.ok() == f"{QUALIFIED}/{name} created\n"
    kubectl(alice, path, "create", "configmap", "one", "-n", name).ok()


def test_kubectl_lns_create_takes_an_lcluster(alice: Person, path: str) -> None:
    made = kubectl(alice, path, "lns", "create", "lc/older", "--dry-run=client")
    assert made.ok() == f"lcluster.{GROUP}/older created (dry run)\n"


def test_kubectl_create_lns_requires_flags_before_the_name(
    alice: Person, path: str, tenants: Tenants
) -> None:
    """kubectl before 1.31 takes all the words for the plugin's name, as docs/commands.md says."""
    name = tenants.name("old")
    assert kubectl(alice, path, "create", "lns", name).code != 0
    assert kubectl(alice, path, "create", "lns", "--cost-center=R-1", name).ok() == (
        f"{QUALIFIED}/{name} created\n"
    )


def test_other_commands_work_with_the_oldest_kubectl(
    alice: Person, people: People, path: str, tenants: Tenants, rights: Rights
) -> None:
    name, bob = tenants.name("old"), people.person("bob")
    kubectl(alice, path, "lns", "create", name).ok()
    eventually(lambda: rights.edits(alice.who, name) and rights.sudoes(alice.who, name))
    granted = kubectl(alice, path, "lns", "grant", name, "--user", "bob,for=2h").ok()
    assert granted.startswith(f"{name}: bob is now a user until ")
    eventually(lambda: kubectl(bob, path, "get", "pods", "-n", name).code == 0)
    assert name in kubectl(bob, path, "lns", "list").ok()
    assert "bob" in kubectl(alice, path, "lns", "describe", name).ok()
    quota = ("create", "quota", "small", "--hard=pods=3", "-n", name)
    assert kubectl(alice, path, "sudo", *quota).ok() == "resourcequota/small created\n"
    assert "not a sudoer" in kubectl(bob, path, "sudo", *quota).refused()
    told = kubectl(alice, path, "lns", "revoke", name, "bob").ok()
    assert told == f"{name}: bob is no longer a user\n"
    assert kubectl(bob, path, "lns", "whoami").ok().strip()
    assert "deleted" in kubectl(alice, path, "delete", "lns", name).ok()
