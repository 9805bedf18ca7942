"""The chart's life: installed from nothing, upgraded while people work, rolled back, uninstalled.

The tests run in order, as one life. The processes run outside of the cluster, for there are no
nodes; what they need of the chart is all there.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.e2e.support.api import Api, ApiError, ns_path, refusal, unless
from tests.e2e.support.instances import CHART, Instance
from tests.e2e.support.people import People, Person
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import manifest
from tests.e2e.support.waiting import Measurements, eventually, settled

RESERVED = "--set=reservedNames={vault}"
_PAUSE = 0.05
"""Seconds between two of them, for each is a Namespace with all that belongs to it."""


@pytest.fixture(scope="module")
def admin(release: Instance) -> Api:
    """Return the administrator."""
    return release.cluster.admin


@pytest.fixture(scope="module")
def people(release: Instance) -> People:
    """Everybody who can log in."""
    return People(release.cluster)


@pytest.fixture(scope="module")
def alice(people: People) -> Person:
    """Return a tenant through all of it."""
    return people.person("alice")


@pytest.fixture(scope="module")
def rights(admin: Api) -> Rights:
    """Return what anybody may do."""
    return Rights(admin)


@dataclass
class Load:
    """Somebody who creates LNamespaces all the time, and when they were refused."""

    made: list[str] = field(default_factory=list)
    slowest: float = 0.0
    refused: list[str] = field(default_factory=list)


@contextmanager
def load(release: Instance, who: Person, stem: str) -> Iterator[Load]:
    """Create one after the other while the block runs."""
    told, done = Load(), threading.Event()

    def work() -> None:
        while not done.wait(_PAUSE):
            name, started = f"{stem}-{len(told.made) + len(told.refused)}", time.monotonic()
            try:
                who.api.create(release.path(), manifest(name))
                told.made.append(name)
            except ApiError as error:
                # Of a kind that is just served anew: every client comes again after the pause
                # that it is told (a Retry-After).
                if "apiserver is shutting down" not in error.message:
                    told.refused.append(error.message)
            told.slowest = max(told.slowest, time.monotonic() - started)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        eventually(lambda: len(told.made) > 2)
        yield told
        count = len(told.made)
        eventually(lambda: len(told.made) > count + 2)
    finally:
        done.set()
        thread.join()


def unharmed(release: Instance, rights: Rights, alice: Person) -> None:
    """Check that Alice has what she had."""
    assert rights.works(alice.who, "team-a")
    assert rights.edits(alice.who, "team-a")
    assert rights.sudoes(alice.who, "team-a")
    found = release.cluster.admin.get(ns_path("team-a", "configmaps", "notes"))
    assert found["data"] == {"a": "b"}


def bundles(release: Instance) -> list[str]:
    """Whom the API server trusts to be the webhook, in all places."""
    at = "/apis/admissionregistration.k8s.io/v1"
    admin = release.cluster.admin
    kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    paths = [f"{at}/{kind}/{release.prefix}-webhook" for kind in kinds]
    entries = [entry for path in paths for entry in admin.get(path)["webhooks"]]
    clients = [entry["clientConfig"] for entry in entries]
    clients.append(admin.get(release.crd)["spec"]["conversion"]["webhook"]["clientConfig"])
    return [client["caBundle"] for client in clients]


def test_the_chart_passes_lint_and_renders(release: Instance) -> None:
    told = release.cluster.run("helm", "lint", "--strict", str(CHART)).ok()
    assert "0 chart(s) failed" in told
    assert "kind: Deployment" in release.cluster.run("helm", "template", "x", str(CHART)).ok()


def test_the_chart_can_be_installed_into_an_empty_cluster(
    release: Instance, admin: Api, alice: Person, rights: Rights, measurements: Measurements
) -> None:
    started = time.monotonic()
    release.install()
    measurements.note("helm install", time.monotonic() - started)
    release.cluster.learn_kinds()
    eventually(release.guarded, what="the policies are not in force")
    release.start()
    alice.kubectl("create", "lns", "team-a").ok()
    alice.kubectl("create", "configmap", "notes", "-n", "team-a", "--from-literal=a=b").ok()
    alice.kubectl("sudo", "-n", "team-a", "create", "quota", "q", "--hard=pods=9").ok()
    eventually(lambda: rights.edits(alice.who, "team-a"))
    release.create("team-b", managers=["bob"], deletionProtection=True)
    release.wait("team-b")
    unharmed(release, rights, alice)
    assert admin.get(release.crd)["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@pytest.mark.thorough
def test_an_upgrade_under_load_refuses_no_request(
    release: Instance, admin: Api, alice: Person, rights: Rights, measurements: Measurements
) -> None:
    trusted = bundles(release)
    # What an older release would have left behind.
    column = {"name": "Old", "type": "string", "jsonPath": ".spec.requester"}
    older = {"op": "add", "path": "/spec/versions/0/additionalPrinterColumns/-", "value": column}
    admin.patch(release.crd, [older], "application/json-patch+json")
    before = {name: release.get(name)["metadata"]["uid"] for name in ("team-a", "team-b")}
    with load(release, alice, "upgraded") as told:
        started = time.monotonic()
        release.upgrade(RESERVED)
        measurements.note("helm upgrade", time.monotonic() - started)
        eventually(lambda: release.refuses("vault"), what="the new value is not in force")
    measurements.note("helm upgrade: the slowest create meanwhile", told.slowest)
    assert told.refused == []
    for name in told.made:
        release.wait(name)
    assert bundles(release) == trusted
    columns = admin.get(release.crd)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert column not in columns
    assert {name: release.get(name)["metadata"]["uid"] for name in before} == before
    unharmed(release, rights, alice)


@pytest.mark.thorough
def test_a_rollback_under_load_refuses_no_request(
    release: Instance, alice: Person, rights: Rights, measurements: Measurements
) -> None:
    trusted = bundles(release)
    with load(release, alice, "rolled-back") as told:
        started = time.monotonic()
        release.cluster.run("helm", "rollback", release.release, "-n", release.namespace).ok()
        measurements.note("helm rollback", time.monotonic() - started)
        eventually(lambda: not release.refuses("vault"), what="the old value is not back")
    assert told.refused == []
    assert bundles(release) == trusted
    unharmed(release, rights, alice)
    alice.kubectl("create", "lns", "vault").ok()


def test_uninstalling_keeps_lnamespaces_namespaces_and_access(
    release: Instance, admin: Api, alice: Person, rights: Rights
) -> None:
    names = {item["metadata"]["name"] for item in admin.items(release.path())}
    release.stop()
    release.uninstall()
    assert {item["metadata"]["name"] for item in admin.items(release.path())} == names
    for name in names:
        assert admin.get(ns_path(name))["status"]["phase"] == "Active"
    unharmed(release, rights, alice)
    alice.kubectl("-n", "team-a", "get", "configmap", "notes").ok()
    # Not even now are all LNamespaces one command away from being gone.
    assert "it would delete every LNamespace" in refusal(admin.delete, release.crd)
    # What was a right of the chart's is gone, and says so.
    late = ("create", "lns", "late", "--dry-run=server")
    eventually(lambda: "forbidden" in alice.kubectl(*late).err)
    assert "forbidden" in alice.kubectl("create", "lns", "late").refused()


@pytest.mark.thorough
def test_a_reinstalled_release_takes_over_existing_lnamespaces(
    release: Instance, admin: Api, alice: Person, rights: Rights
) -> None:
    names = sorted(item["metadata"]["name"] for item in admin.items(release.path()))
    admin.patch(release.path("team-b"), {"spec": {"users": [{"kind": "User", "name": "carol"}]}})
    before = {name: admin.get(ns_path(name))["metadata"]["uid"] for name in names}
    release.install()
    eventually(release.guarded, what="the policies are not in force")
    # The accounts are new, and so are their tokens.
    release.forget()
    release.start()
    release.wait("team-b")
    for name in names:
        release.wait(name)
    eventually(lambda: rights.works(alice.who, "team-a"))
    assert {name: admin.get(ns_path(name))["metadata"]["uid"] for name in names} == before
    unharmed(release, rights, alice)
    alice.kubectl("create", "lns", "again").ok()
    alice.kubectl("delete", "lns", "again").ok()
    # Each policy is in force in its own time; before, it would be gone.
    protected = release.path("team-b")
    eventually(lambda: not unless("Forbidden", admin.delete, protected, dryRun="All"))
    told = refusal(admin.delete, protected)
    assert "protected from deletion" in told
    state = [admin.get(ns_path(name))["metadata"]["resourceVersion"] for name in names]
    assert (
        settled(lambda: [admin.get(ns_path(name))["metadata"]["resourceVersion"] for name in names])
        == state
    )
