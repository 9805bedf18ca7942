"""What the controller costs the API server: nothing for nothing, and no more than it must."""

import time
from collections.abc import Iterator

import pytest

from tests.e2e.support.api import Api, lns_path, refusal
from tests.e2e.support.cluster import RELEASE_NAMESPACE, Cluster
from tests.e2e.support.people import user
from tests.e2e.support.probes import metric
from tests.e2e.support.processes import Controller
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, ending, group, service_account, soon
from tests.e2e.support.waiting import Measurements, eventually, settled
from tests.e2e.support.writes import Writes, quiet_writes, writes

OBJECTS = 7
"""Namespace, two RoleBindings in it, editor and sudoer-impersonator: role and binding each."""

OWN = 2
"""A sudoer's own role and binding, if they have none yet."""

TOLD = 2
"""The status, and that it is billed."""


@pytest.fixture
def quiet(admin: Api) -> Writes:
    """Return the writes up to now, once nobody writes any more."""
    return quiet_writes(admin)


@pytest.fixture
def restored(controller: Controller) -> Iterator[Controller]:
    """Yield the controller, which the test may stop; it runs afterwards."""
    yield controller
    controller.stop()
    controller.start()


FILLED_IN_AGAIN: dict[str, tuple[object, int]] = {
    "the lists": ({"users": [{"name": "eve"}]}, 0),
    "users who leave": ({"users": []}, 0),
    "the older version": ({"users": [{"name": "eve"}]}, 1),
    "who pays": ({"billing": {"costCenter": "other"}}, 1),
    "who is said to have changed it": ({"billing": {"provenance": {"changedBy": "eve"}}}, 1),
    "who is said to have asked": ({"requester": None}, 1),
    "what is not a map of labels": ({"billing": {"labels": "x"}}, 1),
    "what is not a spec": ("x", 1),
}
"""What is edited, and how often the mutating webhook is asked: only where it may have to write."""


@pytest.mark.parametrize("what", FILLED_IN_AGAIN)
def test_the_mutating_webhook_is_called_only_for_edits_it_may_change(
    what: str, cluster: Cluster, tenants: Tenants, admin: Api
) -> None:
    def asked(endpoint: str = "/mutate-administrator") -> float:
        return metric(cluster.webhook, "lnamespace_webhook_requests_total", endpoint=endpoint)

    change, times = FILLED_IN_AGAIN[what]
    path = lns_path(tenants.make("listed", users=["ann"]))
    validated = "/validate-administrator"
    # A request is counted when its answer has been sent.
    before, then = settled(lambda: (asked(), asked(validated)), span=0.3)
    spec = admin.get(path)["spec"]
    if "older" in what:
        path = path.replace("v1beta1", "v1alpha1")
    if "not a" in what:
        assert "must be of type object" in refusal(admin.patch, path, {"spec": change}, status=422)
    else:
        admin.patch(path, {"spec": change})
    if "said" in what:  # and is not: the mutating webhook has restored it, so nothing changes
        assert admin.get(path)["spec"] == spec
    if {"said", "leave", "not"} & set(what.split()):
        assert settled(lambda: asked(validated), span=0.3) == then
    else:
        eventually(lambda: asked(validated) > then)
    eventually(lambda: asked() - before == times)


@pytest.fixture(scope="module")
def every_state(tenants: Tenants) -> Iterator[None]:
    """LNamespaces in every state that lasts."""
    taken, impossible = tenants.name("state"), tenants.name("state")
    tenants.admin.create("/api/v1/namespaces", {"metadata": {"name": taken}})
    tenants.create(taken, users=["ann"], sudoers=["ann"])
    absent = [service_account(tenants.name("nowhere"), f"bot-{n}") for n in range(3)]
    refused = [service_account(RELEASE_NAMESPACE, name) for name in ("default", "x")]
    tenants.create(impossible, sudoers=["ann", *absent, *refused])
    odd = [group("devs"), tenants.account("default", "bot")]
    tenants.make("state", users=["Ünï", *odd], managers=odd, sudoers=["z", "a", odd[1]])
    tenants.make("state", deletionPolicy="Retain", users=[ending("ann", soon(3600))])
    tenants.make("state")
    tenants.unready(taken, "Conflict")
    tenants.unready(impossible, "SudoNotReady")
    yield
    tenants.delete(impossible)  # or it is tried again for ever, which other tests would count


def made_by_controller(before: Writes, after: Writes, created: int = 0) -> Writes:
    """Return the writes in between, but for the LNamespaces that the test created."""
    difference = after.copy()
    difference.subtract(before)
    difference["POST", "lnamespaces"] -= created
    return +difference


def test_each_new_lnamespace_costs_its_objects_and_one_status_write(
    tenants: Tenants, admin: Api, quiet: Writes
) -> None:
    names = [tenants.name("counted") for _ in range(20)]
    for name in names:
        tenants.create(name, users=[name], managers=[name], sudoers=[name])
    tenants.all_ready(names)
    found = made_by_controller(quiet, settled(lambda: writes(admin)), created=20)
    assert found == {
        ("POST", "namespaces"): 20,
        ("POST", "rolebindings"): 40,
        ("POST", "clusterroles"): 60,
        ("POST", "clusterrolebindings"): 60,
        ("POST", "billingrecords"): 20,
        ("PATCH", "lnamespaces/status"): 20,
    }
    assert found.total() == 20 * (OBJECTS + OWN + TOLD)


def test_a_known_sudoer_costs_no_further_impersonation_objects(
    tenants: Tenants, admin: Api, quiet: Writes
) -> None:
    tenants.make("known", sudoers=["known"])
    before = made_by_controller(quiet, settled(lambda: writes(admin)), created=1)
    assert before.total() == OBJECTS + OWN + TOLD
    start, started = writes(admin), time.monotonic()
    names = [tenants.name("known") for _ in range(20)]
    for name in names:
        tenants.create(name, sudoers=["known"])
    tenants.all_ready(names)
    found = made_by_controller(start, settled(lambda: writes(admin)), created=20)
    took = time.monotonic() - started
    # Their list of owners follows in its own time: every half second, not with each LNamespace, but
    # for the first ones, until it has more than one.
    patches = found.pop(("PATCH", "clusterroles")), found.pop(("PATCH", "clusterrolebindings"))
    assert patches[0] == patches[1] <= 4 + took / 0.5
    assert found.total() == 20 * (OBJECTS + TOLD)


@pytest.mark.usefixtures("quiet")
def test_an_edit_writes_only_the_changed_objects(tenants: Tenants, admin: Api) -> None:
    name = tenants.make("edit", users=["ann"], managers=["ann"])
    start = settled(lambda: writes(admin))
    tenants.edit(name, users=["ann", "ben"])
    tenants.ready(name)
    found = made_by_controller(start, settled(lambda: writes(admin)))
    assert found == {
        ("PATCH", "lnamespaces"): 1,  # our own edit
        ("PATCH", "rolebindings"): 1,
        ("PATCH", "lnamespaces/status"): 1,
    }


@pytest.mark.usefixtures("every_state", "quiet")
def test_a_restarted_controller_writes_nothing_and_reconciles_new_lnamespaces(
    tenants: Tenants, admin: Api, restored: Controller, rights: Rights
) -> None:
    start = _settled_and_accepted(admin)
    restored.stop()
    restored.start()
    # What was refused before may be tried again, for the reason may be gone.
    found = made_by_controller(start, _settled_and_accepted(admin))
    assert not found
    name = tenants.make("after-restart", users=["una"], sudoers=["sue"])
    eventually(lambda: rights.works(user("una"), name) and rights.sudoes(user("sue"), name))


@pytest.mark.usefixtures("every_state", "quiet")
def test_a_resync_writes_nothing(admin: Api, restored: Controller) -> None:
    restored.stop()
    restored.start({"LNAMESPACE_RESYNC_SECONDS": "1"})
    start = _settled_and_accepted(admin)
    # Two and a half rounds: nothing but time makes one happen.
    after = settled(lambda: writes(admin, refused=False), span=2.5)
    assert not made_by_controller(start, after)


def test_changes_during_downtime_of_the_controller_are_reconciled(
    tenants: Tenants, admin: Api, restored: Controller, rights: Rights
) -> None:
    who = user("was-away")
    kept, ended, deleted = (
        tenants.make("away", users=[who.user], sudoers=[who.user]),
        tenants.make("away", users=[who.user, ending("brief-away", soon(1))]),
        tenants.make("away", users=[who.user], sudoers=[who.user]),
    )
    eventually(lambda: rights.sudoes(who, kept) and rights.sudoes(who, deleted))
    restored.stop()
    tenants.edit(kept, users=["new-user"], sudoers=[])
    tenants.delete(deleted)
    created = tenants.name("away")
    tenants.create(created, users=[who.user])
    binding = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ended}/rolebindings"
    admin.delete(f"{binding}/lnamespace-sudoers")
    restored.start()
    tenants.ready(created)
    eventually(lambda: rights.works(who, created))
    eventually(lambda: rights.works(user("new-user"), kept) and not rights.works(who, kept))
    eventually(lambda: not rights.sudoes(who, kept) and not rights.sudoes(who, deleted))
    eventually(lambda: admin.find(f"{binding}/lnamespace-sudoers"))
    eventually(lambda: not rights.works(user("brief-away"), ended))


def test_the_controller_stops_at_once_on_sigterm(
    restored: Controller, measurements: Measurements
) -> None:
    restored.stop()
    began = time.monotonic()
    restored.start()
    started = time.monotonic()
    restored.stop()
    ended = time.monotonic()
    measurements.note("controller ends when asked", ended - started)
    # Its watches have just begun: each would last three quarters of a minute or more.
    assert ended - started < 3 * (started - began)
    restored.start()


def _settled_and_accepted(admin: Api) -> Writes:
    return settled(lambda: writes(admin, refused=False))
