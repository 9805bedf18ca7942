"""Several controllers share one API group by `spec.className`, and never meet.

The shared cluster's controller is for LNamespaces of no class; here runs one of class `gold`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.e2e.support.api import (
    Api,
    Object,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.people import People
from tests.e2e.support.processes import Controller
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, ending, soon
from tests.e2e.support.waiting import eventually, settled
from tests.e2e.support.writes import quiet_writes, writes

LABEL = "tenancy.loblaw.digital/class"
pytestmark = pytest.mark.usefixtures("gold")

KINDS = ("clusterroles", "clusterrolebindings")


@pytest.fixture(scope="module")
def gold(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """Yield a controller for class gold."""
    token = cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    log = tmp_path_factory.mktemp("gold") / "controller.log"
    controller = Controller(token, log, LNAMESPACE_CLASS_NAME="gold")
    controller.start()
    try:
        yield controller
    finally:
        controller.stop()
    assert controller.defect not in controller.log()


def grants(name: str) -> list[str]:
    """Return where the grants of an LNamespace are."""
    parts = ("editor", "sudoer-impersonator")
    wide = [rbac_path(kind, f"lnamespace:{name}:{part}") for kind in KINDS for part in parts]
    inside = [rbac_path("rolebindings", f"lnamespace-{p}", name) for p in ("users", "sudoers")]
    return [*wide, *inside]


def classes(admin: Api, name: str) -> set[str]:
    """Return of which class the Namespace and the grants are."""
    found = (admin.get(path) for path in (ns_path(name), *grants(name)))
    return {item["metadata"]["labels"].get(LABEL, "") for item in found}


def own_roles(admin: Api, person: str) -> set[str]:
    """Return what the roles are called by which somebody may become themselves."""
    return {
        item["metadata"]["name"].split(":")[1]
        for item in admin.items(rbac_path("clusterroles"))
        if item["metadata"].get("annotations", {}).get("tenancy.loblaw.digital/person") == person
    }


def versions(admin: Api, name: str) -> dict[str, str]:
    """Return the resource versions of all there is of an LNamespace."""
    paths = (lns_path(name), ns_path(name), *grants(name))
    return {path: admin.get(path)["metadata"]["resourceVersion"] for path in paths}


def test_each_class_is_reconciled_by_its_own_controller(
    controller: Controller, tenants: Tenants, admin: Api
) -> None:
    controller.hold()
    try:
        ours = tenants.make("class", className="gold", managers=["g"], sudoers=["g"])
        theirs = tenants.name("class")
        tenants.create(theirs, managers=["g"], sudoers=["g"])
        assert settled(lambda: admin.find(ns_path(theirs))) is None
    finally:
        controller.release()
    tenants.ready(theirs)
    assert classes(admin, ours) == {"gold"}
    assert classes(admin, theirs) == {""}


def test_an_lnamespace_of_an_unknown_class_is_not_reconciled(tenants: Tenants, admin: Api) -> None:
    name = tenants.name("class")
    tenants.create(name, className="platinum", managers=["g"])
    assert settled(lambda: admin.find(ns_path(name))) is None
    assert "status" not in tenants.get(name)
    tenants.delete(name)


def test_a_person_of_two_classes_has_a_role_from_each_controller(
    tenants: Tenants, admin: Api, rights: Rights, people: People
) -> None:
    person = people.person("both-classes")
    lists = {"managers": [person.name], "sudoers": [person.name]}
    one, other = tenants.make("class", **lists), tenants.make("class", className="gold", **lists)
    eventually(lambda: rights.sudoes(person.who, one) and rights.sudoes(person.who, other))
    assert own_roles(admin, person.name) == {"self-impersonator", "self-impersonator.gold"}
    before = quiet_writes(admin)
    tenants.edit(other, sudoers=[])
    tenants.ready(other)
    eventually(lambda: own_roles(admin, person.name) == {"self-impersonator"})
    person.kubectl("sudo", "-n", one, "get", "secrets").ok()
    # What the one does is no work for the other: what a revocation costs with one controller.
    cost = {
        ("PATCH", "lnamespaces"): 1,
        ("PATCH", "lnamespaces/status"): 1,
        ("PATCH", "clusterrolebindings"): 1,
        ("DELETE", "clusterrolebindings"): 1,
        ("DELETE", "clusterroles"): 1,
    }
    eventually(lambda: sum((writes(admin) - before).values()) >= sum(cost.values()))
    assert settled(lambda: writes(admin)) - before == cost
    tenants.delete(one)
    eventually(lambda: own_roles(admin, person.name) == set())


def test_drift_is_repaired_by_the_controller_of_the_class(
    controller: Controller, tenants: Tenants, admin: Api
) -> None:
    name = tenants.make("class", className="gold", users=["u"], managers=["g"], sudoers=["g"])
    controller.hold()
    try:
        for path in grants(name):
            admin.delete(path)
        for path in grants(name):
            eventually(partial(admin.find, path))
    finally:
        controller.release()
    before = settled(lambda: versions(admin, name))
    # A label that says otherwise makes nobody else its writer.
    for path in (ns_path(name), *grants(name)):
        admin.patch(path, {"metadata": {"labels": {LABEL: None}}})
    eventually(lambda: classes(admin, name) == {"gold"})
    assert settled(lambda: versions(admin, name)).keys() == before.keys()
    assert classes(admin, name) == {"gold"}


def test_access_is_revoked_at_expiry_by_the_controller_of_the_class(
    tenants: Tenants, rights: Rights, people: People
) -> None:
    person = people.person("until-gold")
    until = ending(person.name, soon(3600))
    name = tenants.make("class", className="gold", users=[until], managers=["g"])
    eventually(lambda: rights.works(person.who, name))
    end = soon(3)
    tenants.edit(name, users=[ending(person.name, end)])
    eventually(lambda: not rights.works(person.who, name))
    assert datetime.now(UTC) >= end


def test_only_an_administrator_changes_the_class(
    tenants: Tenants, people: People, rights: Rights
) -> None:
    manager = people.person("class-manager")
    name = tenants.make("class", className="gold", managers=[manager.name])
    eventually(lambda: rights.edits(manager.who, name))
    for value in ("", "silver", None):
        body = {"spec": {"className": value}}
        told = refusal(manager.api.patch, lns_path(name), body)
        assert "only administrators of LNamespaces may change it" in told
    manager.api.patch(lns_path(name), {"spec": {"users": []}})
    tenants.edit(name, className="")


@pytest.mark.parametrize(("old", "new"), [("", "gold"), ("gold", "")])
def test_changing_the_class_interrupts_no_access(
    old: str,
    new: str,
    tenants: Tenants,
    admin: Api,
    rights: Rights,
    people: People,
) -> None:
    person = people.person(f"handed-to-{new or 'none'}")
    everything = {"users": [person.name], "managers": [person.name], "sudoers": [person.name]}
    name = tenants.make("class", className=old, **everything)
    namespace = admin.get(ns_path(name))["metadata"]["uid"]
    uids = {path: admin.get(path)["metadata"]["uid"] for path in grants(name)}
    eventually(lambda: rights.works(person.who, name) and rights.edits(person.who, name))
    tenants.edit(name, className=new)
    seen = []

    def handed_over() -> bool:
        seen.append((rights.works(person.who, name), rights.edits(person.who, name)))
        return classes(admin, name) == {new}

    eventually(handed_over)
    assert set(seen) == {(True, True)}
    tenants.ready(name)
    eventually(lambda: rights.sudoes(person.who, name))
    assert admin.get(ns_path(name))["metadata"]["uid"] == namespace
    assert {path: admin.get(path)["metadata"]["uid"] for path in grants(name)} == uids
    assert ends(admin, name) == []
    settled(lambda: versions(admin, name))
    # The new one is obeyed.
    tenants.edit(name, users=[])
    eventually(lambda: not rights.works(person.who, name))
    tenants.delete(name)
    eventually(lambda: admin.find(ns_path(name)) is None, 240)
    eventually(lambda: len(ends(admin, name)) == 1)


def ends(admin: Api, name: str) -> list[Object]:
    """Return the records that an LNamespace has ended."""
    records = admin.items("/apis/tenancy.loblaw.digital/v1beta1/billingrecords")
    return [
        item
        for item in records
        if item["spec"]["namespace"] == name and item["spec"]["operation"] == "DELETE"
    ]


def test_a_restarted_controller_writes_nothing(
    gold: Controller, tenants: Tenants, admin: Api
) -> None:
    tenants.make("class", className="gold", managers=["g"], sudoers=["g"])
    before = quiet_writes(admin)
    gold.stop()
    gold.start()
    assert settled(lambda: writes(admin)) - before == {}
