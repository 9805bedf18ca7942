"""One object is deleted and another made by its name, while the controller works on the first.

A name is no identity. What was meant for the first must reach nothing of the second: neither its
status, by which a Namespace is known to be its own, nor what the ledger is told of it.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.e2e.support.api import (
    JSON_PATCH,
    Api,
    ApiError,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.ledger import BILLINGRECORDS
from tests.e2e.support.people import user
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.tenants import Tenants, condition
from tests.e2e.support.waiting import eventually
from tests.e2e.support.wire import Call, Kind, Plan, Trouble, Wire

PERSON = "tenancy.loblaw.digital/person"
OWNER = "tenancy.loblaw.digital/owner-uid"
NOBODY = "00000000-0000-0000-0000-000000000000"


def held(meant: Callable[[Call], bool]) -> Plan:
    """Requests that arrive only when everything else has happened."""
    return lambda call: Trouble(Kind.HELD) if meant(call) else None


def status_of(name: str) -> Callable[[Call], bool]:
    path = f"{lns_path(name)}/status"
    return lambda call: call.method == "PATCH" and call.path == path


def records(admin: Api, uid: str) -> list[str]:
    """Return the events of one LNamespace that the ledger is told of, but for announcements."""
    names = [item["metadata"]["name"] for item in admin.items(BILLINGRECORDS)]
    return sorted(n for n in names if n.startswith(uid) and n.endswith((".apply", ".delete")))


@pytest.mark.usefixtures("remote")
def test_a_delayed_status_write_gives_a_recreated_lnamespace_no_access(
    line: Wire, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """With Retain the Namespace stays: who takes the name must not come to read its Secrets."""
    ann, eve, name = user("ann"), user("eve"), tenants.name("retained")
    tenants.create(name, users=["ann"], deletionPolicy="Retain")
    old = tenants.ready(name)
    secret = {"metadata": {"name": "of-ann"}, "stringData": {"key": "value"}}
    admin.create(ns_path(name, "secrets"), secret)
    before = admin.get(ns_path(name))
    with line.trouble(held(status_of(name))) as met:
        start = len(met)
        tenants.edit(name, users=["ann", "ben"])
        eventually(lambda: len(met) > start)
        tenants.delete(name)
        eventually(lambda: admin.find(lns_path(name)) is None)
        new = tenants.create(name, users=["eve"], sudoers=["eve"], managers=["eve"])
    told = tenants.unready(name, "Conflict")
    assert told["status"].get("namespaceUID", "") == ""
    assert told["metadata"]["uid"] == new["metadata"]["uid"] != old["metadata"]["uid"]
    eventually(lambda: not rights.works(ann, name))
    assert not rights.works(eve, name)
    for who in (eve, eve.sudo(name)):
        assert not rights.may(who, Deed("get", "secrets", name))
    assert admin.get(ns_path(name)) == before
    assert records(admin, new["metadata"]["uid"]) == []


@pytest.mark.usefixtures("remote")
def test_a_delayed_status_write_does_not_suppress_a_new_billing_record(
    line: Wire, tenants: Tenants, admin: Api
) -> None:
    name = tenants.name("charged")
    with line.trouble(held(status_of(name))) as met:
        start = len(met)
        old = tenants.create(name, billing={"costCenter": "one"})["metadata"]["uid"]
        eventually(lambda: len(met) > start)
        tenants.delete(name)
        eventually(lambda: admin.find(lns_path(name)) is None)
        new = tenants.create(name, billing={"costCenter": "two"})["metadata"]["uid"]
    tenants.ready(name)
    assert records(admin, new) == [f"{new}.1.apply"]
    eventually(lambda: records(admin, old) == [f"{old}.1.apply", f"{old}.delete"])


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize(
    "what",
    [
        "namespaces",
        "rolebindings",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in ("clusterroles", "clusterrolebindings", "billingrecords")
        ),
    ],
)
def test_a_delayed_creation_gives_a_recreated_lnamespace_only_its_own_rights(
    what: str, line: Wire, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """Every object that the controller makes, on its way while the LNamespace is replaced."""
    name = tenants.name("late")

    def meant(call: Call) -> bool:
        return call.method == "POST" and call.path.endswith(f"/{what}") and call.about(name)

    with line.trouble(held(meant)) as met:
        start = len(met)
        old = tenants.create(name, users=["ann"], managers=["ann"], sudoers=["ann"])
        eventually(lambda: len(met) > start)
        tenants.delete(name)
        eventually(lambda: admin.find(lns_path(name)) is None)
        new = tenants.create(name, users=["eve"], managers=["eve"], sudoers=["eve"])
    tenants.ready(name)
    ann, eve, uid = user("ann"), user("eve"), new["metadata"]["uid"]
    eventually(lambda: rights.works(eve, name) and rights.edits(eve, name))
    eventually(lambda: rights.sudoes(eve, name))
    for may in (rights.works, rights.edits, rights.sudoes):
        assert not may(ann, name)
    assert admin.get(ns_path(name))["metadata"]["annotations"][OWNER] == uid
    assert records(admin, uid) == [f"{uid}.1.apply"]
    gone = old["metadata"]["uid"]
    eventually(lambda: records(admin, gone) in ([], [f"{gone}.1.apply", f"{gone}.delete"]))


@pytest.mark.thorough
def test_a_sudoer_of_two_lnamespaces_keeps_sudo_when_the_older_is_deleted(
    tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """The garbage collector takes what sudo needs with the last owner that it knows of."""

    def play(turn: int) -> None:
        who = user(f"of-two-{turn}")
        older = tenants.make("older", sudoers=[who.user])
        newer = tenants.make("newer", sudoers=[who.user])
        own = _own_bindings(admin, who.user)
        tenants.delete(older)
        eventually(partial(_is_gone, admin, older))
        eventually(partial(rights.sudoes, who, newer))
        assert _own_bindings(admin, who.user) == own, "it was taken and made anew"

    # Each waits for seconds until its Namespace is gone.
    with ThreadPoolExecutor(10) as pool:
        assert len(list(pool.map(play, range(10)))) == 10


def _is_gone(admin: Api, name: str) -> bool:
    """With all that the garbage collector takes: the Namespace is the last of it."""
    return admin.find(ns_path(name)) is None


def _own_bindings(admin: Api, person: str) -> list[str]:
    """Return the bindings by UID, so that one that is made anew is another."""
    items = admin.items(rbac_path("clusterrolebindings"))
    return [
        item["metadata"]["uid"]
        for item in items
        if item["metadata"].get("annotations", {}).get(PERSON) == person
    ]


@pytest.mark.usefixtures("remote")
def test_a_binding_is_recreated_after_a_foreign_object_of_its_name_is_removed(
    line: Wire, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    """It has no label of ours, so no watch tells what becomes of it."""
    una, name = user("una"), tenants.make("in-the-way", users=["una"])
    path, bindings = (rbac_path("rolebindings", part, name) for part in ("lnamespace-users", ""))
    refused = ["POST", "PATCH", "DELETE"]
    theirs = {
        "metadata": {"name": "lnamespace-users", "finalizers": ["example.com/held"]},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "theirs"},
    }

    def refuse(call: Call) -> Trouble | None:
        meant = call.method in refused and call.about("lnamespace-users")
        return Trouble(Kind.REFUSED, 403, "Forbidden") if meant else None

    with line.trouble(refuse):
        admin.delete(path)
        admin.create(bindings, theirs)
        refused.remove("POST")
        tenants.edit(name, users=["una", "ben"])
        tenants.unready(name, "Forbidden")
        eventually(lambda: not rights.works(una, name))
        admin.patch(path, {"metadata": {"finalizers": None}})
        admin.delete(path)
        eventually(lambda: rights.works(una, name), 240)
    tenants.ready(name)


@pytest.mark.thorough
def test_repeated_recreation_loses_no_billing_record_and_mixes_no_owners(
    tenants: Tenants, admin: Api
) -> None:
    rounds, hands = 25, 4
    made: list[tuple[str, str]] = []
    lock = threading.Lock()

    def play(number: int) -> str:
        name = tenants.name("storm")
        for turn in range(rounds):
            uid = _made(tenants, name, f"{number}-{turn}")
            with lock:
                made.append((name, uid))
            time.sleep(0.35 * turn / rounds)
            tenants.delete(name)
            eventually(lambda: admin.find(lns_path(name)) is None)
        uid = _made(tenants, name, "last")
        with lock:
            made.append((name, uid))
        return name

    with ThreadPoolExecutor(hands) as pool:
        names = list(pool.map(play, range(hands)))
    tenants.all_ready(names, 240)
    for name in names:
        uid = tenants.get(name)["metadata"]["uid"]
        assert records(admin, uid) == [f"{uid}.1.apply"]
        namespace = admin.get(ns_path(name))["metadata"]
        assert namespace["annotations"][OWNER] == uid
        assert tenants.get(name)["status"]["namespaceUID"] == namespace["uid"]
    living = {tenants.get(name)["metadata"]["uid"] for name in names}
    gone = {uid for _, uid in made} - living
    eventually(lambda: all(len(records(admin, uid)) in (0, 2) for uid in gone), tick=0.5)


def _made(tenants: Tenants, name: str, cost_center: str) -> str:
    uid: str = tenants.create(name, billing={"costCenter": cost_center})["metadata"]["uid"]
    return uid


def _objects(name: str) -> dict[str, str]:
    """One of each kind that the controller changes."""
    return {
        "Namespace": ns_path(name),
        "RoleBinding": rbac_path("rolebindings", "lnamespace-users", name),
        "ClusterRole": rbac_path("clusterroles", f"lnamespace:{name}:editor"),
        "ClusterRoleBinding": rbac_path("clusterrolebindings", f"lnamespace:{name}:editor"),
    }


def test_each_precondition_used_by_the_controller_is_enforced(tenants: Tenants, admin: Api) -> None:
    """By a UID that is not the object's; none of them is taken on trust."""
    name = tenants.make("precondition", users=["ann"])
    for path in _objects(name).values():
        with pytest.raises(ApiError) as caught:
            admin.patch(path, {"metadata": {"uid": NOBODY, "labels": {"x": "y"}}})
        assert caught.value.status in (409, 422)
        assert "x" not in admin.get(path)["metadata"].get("labels", {})
        body = {"preconditions": {"uid": NOBODY}}
        with pytest.raises(ApiError) as caught:
            admin._json("DELETE", path, {}, body)  # noqa: SLF001 - nobody else sends any
        assert caught.value.status == 409
    status = [
        {"op": "test", "path": "/metadata/uid", "value": NOBODY},
        {"op": "add", "path": "/status", "value": {}},
    ]
    refusal(admin.patch, f"{lns_path(name)}/status", status, JSON_PATCH, status=422)
    assert condition(tenants.get(name))["status"] == "True"


def test_a_merge_patch_of_the_status_has_no_precondition(tenants: Tenants, admin: Api) -> None:
    """Why the status is written by a JSON patch: of a merge patch its metadata is ignored."""
    name = tenants.make("ignored")
    path = f"{lns_path(name)}/status"
    answer = admin.patch(path, {"metadata": {"uid": NOBODY}, "status": {}}, dryRun="All")
    assert answer["metadata"]["uid"] != NOBODY
    with pytest.raises(ApiError):
        admin.patch(lns_path(name), {"metadata": {"uid": NOBODY}}, dryRun="All")
