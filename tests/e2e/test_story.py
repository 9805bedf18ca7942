"""The main story, told only with the commands that people type."""

from tests.e2e.support.api import Api, lns_path, ns_path, rbac_path
from tests.e2e.support.people import People
from tests.e2e.support.rights import Rights
from tests.e2e.support.waiting import Measurements, eventually, measured


def test_the_commands_cover_the_whole_lifecycle_of_an_lnamespace(
    people: People, admin: Api, rights: Rights, measurements: Measurements
) -> None:
    alice, bob, carol = (people.person(name) for name in ("alice", "bob", "carol"))

    created = alice.kubectl("create", "lns", "story")
    assert created.ok() == "lnamespace.tenancy.loblaw.digital/story created\n"
    assert created.err == ""

    # It works at once: no second try is allowed here.
    alice.kubectl("create", "configmap", "one", "-n", "story").ok()
    assert "one" in alice.kubectl("get", "configmaps", "-n", "story").ok()

    quota = ("create", "quota", "small", "--hard=pods=3", "-n", "story")
    assert 'User "alice" cannot create resource "resourcequotas"' in alice.kubectl(*quota).refused()
    eventually(lambda: rights.sudoes(alice.who, "story"))
    sudo = alice.kubectl("sudo", "kubectl", *quota)
    assert sudo.ok() == "resourcequota/small created\n"

    refused = bob.kubectl("create", "configmap", "two", "-n", "story").refused()
    assert 'User "bob" cannot create resource "configmaps"' in refused
    granted = alice.kubectl("lns", "grant", "story", "--user", "bob", "--sudoer", "bob").ok()
    assert granted == "story: bob is now a user\nstory: bob is now a sudoer\n"
    eventually(lambda: bob.kubectl("create", "configmap", "two", "-n", "story").code == 0)
    roles = ("get", "rolebindings", "-n", "story")
    eventually(lambda: "lnamespace-users" in bob.kubectl("sudo", *roles).out)

    assert 'User "carol" cannot create' in carol.kubectl(*quota).refused()
    assert 'you (carol) are not a sudoer of "story"' in carol.kubectl("sudo", *quota).refused()

    revoked = alice.kubectl("lns", "revoke", "story", "bob").ok()
    assert revoked == "story: bob is no longer a user\nstory: bob is no longer a sudoer\n"
    took = measured(lambda: _is_refused(bob.api))
    measurements.note("revoked by command, until refused", took)
    assert 'User "bob" cannot' in bob.kubectl("create", "configmap", "3", "-n", "story").refused()
    by_hand = ("--as=bob", "--as-group=story-sudoers", *roles)
    cannot = 'User "bob" cannot impersonate'
    eventually(lambda: cannot in bob.kubectl(*by_hand).err)
    # As it did a moment ago, it tries at once: only what is refused makes it look at the list.
    assert "you (bob) are not a sudoer" in bob.kubectl("sudo", *roles).refused()

    assert "deleted" in alice.kubectl("delete", "lns", "story").ok()
    eventually(lambda: _nothing_left(admin, "story"), 240)
    eventually(lambda: not rights.sudoes(alice.who, "story"))
    assert 'no LNamespace "story"' in alice.kubectl("sudo", *roles).refused()


def _is_refused(api: Api) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "story"}
        },
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return not api.create(path, review)["status"]["allowed"]


def _nothing_left(admin: Api, name: str) -> bool:
    assert admin.find(lns_path(name)) is None
    assert admin.find(ns_path(name)) is None
    for kind in ("clusterroles", "clusterrolebindings"):
        marked = admin.items(
            rbac_path(kind), labelSelector=f"tenancy.loblaw.digital/lnamespace={name}"
        )
        assert marked == []
    return True
