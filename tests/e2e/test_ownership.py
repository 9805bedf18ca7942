"""Whose a namespace is: never seized, never left to the wrong people, never lost by surprise."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests.e2e.support.api import (
    GROUP,
    JSON_PATCH,
    LNAMESPACES,
    NAMESPACES,
    Api,
    Object,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.collector import wait_for_collector
from tests.e2e.support.people import People, Who, user
from tests.e2e.support.rights import Deed, Rights, rule, work
from tests.e2e.support.tenants import Tenants, condition
from tests.e2e.support.waiting import eventually

OWNER = "tenancy.loblaw.digital/owner-uid"


def foreign(admin: Api, name: str) -> Object:
    """Return a namespace that was there before, with something in it."""
    admin.create(NAMESPACES, {"metadata": {"name": name, "labels": {"team": "before"}}})
    # Kubernetes itself puts its labels and accounts there; then it is at rest.
    eventually(lambda: admin.find(ns_path(name, "serviceaccounts", "default")))
    return admin.get(ns_path(name))


def has_nothing(rights: Rights, name: str, *everybody: Who) -> bool:
    """Return whether nobody of these has any right in a namespace, with or without sudo."""
    group = Deed("impersonate", "groups", name=f"{name}-sudoers")
    return not any(
        rights.may(who, deed)
        for someone in everybody
        for who, deed in (
            (someone, work(name)),
            (someone, Deed("get", "secrets", name)),
            (someone, group),
            (someone.sudo(name), work(name)),
            (someone.sudo(name), Deed("get", "secrets", name)),
            (someone.sudo(name), rule(name)),
        )
    )


def test_an_existing_namespace_is_not_changed(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    alice, name = people.person("alice"), tenants.name("exists")
    before = foreign(admin, name)
    refused = alice.kubectl("create", "lns", name).refused()
    assert f'LNamespace "{name}" cannot become ready: Conflict' in refused
    assert "already exists and is not this LNamespace's" in refused
    assert f"kubectl delete lns.{GROUP} {name}" in refused
    assert admin.get(ns_path(name)) == before
    assert admin.items(rbac_path("rolebindings", namespace=name)) == []
    assert has_nothing(rights, name, alice.who)
    # To delete it, or give it up to somebody.
    eventually(lambda: rights.edits(alice.who, name))
    status = tenants.get(name)["status"]
    assert status.get("namespaceUID", "") == ""
    assert condition(tenants.get(name), "NamespaceReady")["reason"] == "Conflict"
    assert "Conflict" in alice.kubectl("lns", "describe", name).ok()

    admin.delete(ns_path(name))
    lns = tenants.ready(name)
    assert lns["status"]["namespaceUID"] not in ("", before["metadata"]["uid"])
    eventually(lambda: rights.works(alice.who, name) and rights.sudoes(alice.who, name))


def test_deleting_an_lnamespace_in_conflict_keeps_the_namespace(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    alice, name = people.person("alice"), tenants.name("given-up")
    before = foreign(admin, name)
    alice.kubectl("create", "lns", name, "--wait=false").ok()
    tenants.unready(name, "Conflict")
    eventually(lambda: rights.edits(alice.who, name))
    alice.kubectl("delete", "lns", name).ok()
    path = rbac_path("clusterrolebindings", f"lnamespace:{name}:editor")
    eventually(lambda: admin.find(path) is None)
    assert admin.get(ns_path(name)) == before


def test_only_an_administrator_can_adopt_a_namespace(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    alice, name = people.person("alice"), tenants.name("adopted")
    before = foreign(admin, name)
    admin.create(ns_path(name, "configmaps"), {"metadata": {"name": "data"}})
    tenants.create(name, users=["alice"], sudoers=["alice"], managers=["alice"])
    uid = tenants.unready(name, "Conflict")["metadata"]["uid"]

    cluster = alice.cluster
    cluster.run(
        "kubectl", "annotate", "ns", name, f"{OWNER}=00000000-0000-0000-0000-000000000000"
    ).ok()
    tenants.edit(name, billing={"costCenter": "looked at again"})
    tenants.unready(name, "Conflict")

    cluster.run("kubectl", "annotate", "--overwrite", "ns", name, f"{OWNER}={uid}").ok()
    lns = tenants.ready(name)
    after = admin.get(ns_path(name))["metadata"]
    assert lns["status"]["namespaceUID"] == after["uid"] == before["metadata"]["uid"]
    assert after["labels"]["team"] == "before"
    assert [owner["uid"] for owner in after["ownerReferences"]] == [uid]
    assert admin.find(ns_path(name, "configmaps", "data"))
    eventually(lambda: rights.works(alice.who, name) and rights.sudoes(alice.who, name))


@contextmanager
def held(admin: Api, name: str) -> Iterator[None]:
    """Something in the namespace that keeps it terminating until this ends."""
    body = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    admin.create(ns_path(name, "configmaps"), body)
    path = ns_path(name, "configmaps", "held")
    try:
        yield
    finally:
        admin.patch(path, {"metadata": {"finalizers": None}})


def test_an_lnamespace_recreated_by_another_person_waits_for_the_old_namespace(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    alice, bob, name = people.person("alice"), people.person("bob"), tenants.name("anew")
    alice.kubectl("create", "lns", name).ok()
    old = tenants.get(name)["status"]["namespaceUID"]
    secret = {"metadata": {"name": "of-alice"}, "stringData": {"key": "value"}}
    alice.api.create(ns_path(name, "secrets"), secret)
    eventually(lambda: rights.edits(alice.who, name))
    with held(admin, name):
        alice.kubectl("delete", "lns", name).ok()
        bob.kubectl("create", "lns", name, "--wait=false").ok()
        tenants.unready(name, "NamespaceTerminating")
        eventually(lambda: has_nothing(rights, name, alice.who, bob.who))
        eventually(lambda: rights.edits(bob.who, name) and not rights.edits(alice.who, name))
        assert refusal(bob.sudo(name).get, ns_path(name, "secrets", "of-alice"))
        eventually(lambda: "deletionTimestamp" in admin.get(ns_path(name))["metadata"])
        # Not at any later moment of its end either.
        eventually(lambda: admin.items(ns_path(name, "secrets")) == [])
        assert has_nothing(rights, name, alice.who, bob.who)
        assert condition(tenants.get(name))["reason"] == "NamespaceTerminating"
    lns = tenants.ready(name)
    assert lns["status"]["namespaceUID"] == admin.get(ns_path(name))["metadata"]["uid"] != old
    eventually(lambda: rights.works(bob.who, name) and rights.sudoes(bob.who, name))
    assert not rights.works(alice.who, name)
    assert not rights.sudoes(alice.who, name)
    assert admin.items(ns_path(name, "configmaps"), fieldSelector="metadata.name=held") == []


def test_rights_are_revoked_when_deletion_begins_despite_a_finalizer(
    tenants: Tenants, rights: Rights, admin: Api
) -> None:
    who = user("finalist")
    name = tenants.make("held-up", users=[who.user], managers=[who.user], sudoers=[who.user])
    eventually(lambda: rights.sudoes(who, name))
    admin.patch(lns_path(name), {"metadata": {"finalizers": ["example.com/held"]}})
    tenants.delete(name)
    eventually(lambda: has_nothing(rights, name, who) and not rights.edits(who, name))
    assert admin.find(ns_path(name))
    eventually(lambda: condition(tenants.get(name)).get("reason") == "Terminating")
    told = {c["type"]: c["status"] for c in tenants.get(name)["status"]["conditions"]}
    assert told.pop("BillingRecorded") == "True"
    assert set(told.values()) == {"False"}
    assert "example.com/held" in condition(tenants.get(name))["message"]
    admin.patch(lns_path(name), {"metadata": {"finalizers": None}})
    eventually(lambda: admin.find(ns_path(name)) is None)


def test_a_foreground_deletion_blocked_by_a_foreign_dependent_revokes_access(
    tenants: Tenants, rights: Rights, admin: Api
) -> None:
    """Kubernetes lets anybody call anything an owner that is to wait, in whatever namespace."""
    who, maps = user("held"), ns_path("default", "configmaps")
    name = tenants.make("held-up", users=[who.user], managers=[who.user], sudoers=[who.user])
    lns = tenants.get(name)
    owner = {"apiVersion": lns["apiVersion"], "kind": "LNamespace", "name": name}
    owner |= {"uid": lns["metadata"]["uid"], "blockOwnerDeletion": True}
    meta = {"name": name, "ownerReferences": [owner], "finalizers": ["example.com/held"]}
    admin.create(maps, {"metadata": meta})
    eventually(lambda: rights.sudoes(who, name))
    wait_for_collector(admin)  # It waits for no dependent that it does not know yet.
    admin.delete(lns_path(name), propagationPolicy="Foreground")
    eventually(lambda: has_nothing(rights, name, who) and not rights.edits(who, name))
    eventually(lambda: admin.find(ns_path(name)) is None)
    eventually(lambda: "(foregroundDeletion)" in condition(tenants.get(name)).get("message", ""))
    first = "/metadata/finalizers/0"
    taken = [
        {"op": "test", "path": first, "value": "foregroundDeletion"},
        {"op": "remove", "path": first},
    ]
    admin.patch(lns_path(name), taken, JSON_PATCH)
    eventually(lambda: admin.find(lns_path(name)) is None)
    admin.patch(f"{maps}/{name}", {"metadata": {"finalizers": None}})


def test_retain_keeps_the_namespace_and_revokes_all_access(
    tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    alice, bob, name = people.person("alice"), people.person("bob"), tenants.name("retained")
    alice.kubectl("create", "lns", name, "--deletion-policy=Retain").ok()
    alice.api.create(ns_path(name, "configmaps"), {"metadata": {"name": "data"}})
    uid = tenants.get(name)["status"]["namespaceUID"]
    eventually(lambda: rights.edits(alice.who, name))
    alice.kubectl("delete", "lns", name).ok()
    eventually(lambda: has_nothing(rights, name, alice.who))
    _collected(admin, name)

    # The next one of that name, even the same person's, gets nothing of it.
    for person in (bob, alice):
        refused = person.kubectl("create", "lns", name).refused()
        assert "Conflict" in refused
        assert has_nothing(rights, name, alice.who, bob.who)
        eventually(partial(rights.edits, person.who, name))
        person.kubectl("delete", "lns", name).ok()
    _collected(admin, name)
    assert admin.get(ns_path(name))["metadata"]["uid"] == uid
    assert admin.find(ns_path(name, "configmaps", "data"))

    tenants.create(name, users=["bob"])
    owner = tenants.unready(name, "Conflict")["metadata"]["uid"]
    admin.patch(ns_path(name), {"metadata": {"annotations": {OWNER: owner}}})
    tenants.ready(name)
    eventually(lambda: rights.works(bob.who, name))
    assert admin.get(ns_path(name))["metadata"]["uid"] == uid


def _collected(admin: Api, name: str) -> None:
    """Wait until the garbage collector has been there: what it takes is gone."""
    path = rbac_path("clusterroles")
    label = f"tenancy.loblaw.digital/lnamespace={name}"
    eventually(lambda: admin.items(path, labelSelector=label) == [])
    assert "deletionTimestamp" not in admin.get(ns_path(name))["metadata"]


def test_the_deletion_policy_can_be_changed_later(tenants: Tenants, admin: Api) -> None:
    name = tenants.make("changes-its-mind")

    def owners() -> list[str]:
        metadata = admin.get(ns_path(name))["metadata"]
        return [owner["uid"] for owner in metadata.get("ownerReferences", ())]

    assert owners() == [tenants.get(name)["metadata"]["uid"]]
    tenants.edit(name, deletionPolicy="Retain")
    eventually(lambda: owners() == [])
    tenants.edit(name, deletionPolicy="Delete")
    eventually(lambda: owners() == [tenants.get(name)["metadata"]["uid"]])
    tenants.delete(name)
    eventually(lambda: admin.find(ns_path(name)) is None)


def test_deletion_protection_refuses_every_deletion_until_it_is_lifted(
    tenants: Tenants, people: People, admin: Api, rights: Rights
) -> None:
    alice, name = people.person("alice"), tenants.name("protected")
    alice.kubectl("create", "lns", name, "--deletion-protection").ok()
    eventually(lambda: rights.edits(alice.who, name))
    words = "it is protected from deletion"
    assert words in alice.kubectl("delete", "lns", name).refused()
    assert words in refusal(tenants.delete, name)
    assert words in refusal(admin.delete, LNAMESPACES, fieldSelector=f"metadata.name={name}")
    unprotect = ("patch", "lns", name, "--type=merge", "-p")
    alice.kubectl(*unprotect, '{"spec":{"deletionProtection":false}}').ok()
    alice.kubectl("delete", "lns", name).ok()
    eventually(lambda: admin.find(ns_path(name)) is None)


def test_an_orphaning_deletion_keeps_the_namespace_and_revokes_all_access(
    tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    """A manager may ask for that; it is Retain by another name, and nobody keeps any right."""
    alice, name = people.person("alice"), tenants.name("orphaned")
    alice.kubectl("create", "lns", name).ok()
    eventually(lambda: rights.edits(alice.who, name))
    wait_for_collector(admin)
    alice.kubectl("delete", "lns", name, "--cascade=orphan").ok()
    eventually(lambda: has_nothing(rights, name, alice.who))
    eventually(lambda: not rights.edits(alice.who, name))
    _collected(admin, name)
    assert "Conflict" in alice.kubectl("create", "lns", name).refused()
    assert has_nothing(rights, name, alice.who)


def test_a_foreground_deletion_waits_for_the_namespace(
    tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    alice, name = people.person("alice"), tenants.name("foreground")
    alice.kubectl("create", "lns", name).ok()
    eventually(lambda: rights.edits(alice.who, name))
    wait_for_collector(admin)  # It waits for no dependent that it does not know yet.
    alice.kubectl("delete", "lns", name, "--cascade=foreground", "--timeout=280s").ok()
    assert admin.find(ns_path(name)) is None
    eventually(lambda: has_nothing(rights, name, alice.who))
