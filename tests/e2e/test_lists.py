"""Lists of any length, emptied, full of one person, and with entries that end by themselves."""

from datetime import UTC, datetime
from functools import partial

import pytest

from tests.e2e.support.api import Api, Object, lns_path, rbac_path
from tests.e2e.support.people import People, user
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import LISTS, Entry, Tenants, ending, soon
from tests.e2e.support.waiting import Measurements, eventually

PERSON = "tenancy.loblaw.digital/person"


def own_objects(admin: Api, person: str) -> list[Object]:
    """Return the ClusterRole and the ClusterRoleBinding by which a person may be themselves."""
    return [
        item
        for kind in ("clusterroles", "clusterrolebindings")
        for item in admin.items(rbac_path(kind))
        if item["metadata"].get("annotations", {}).get(PERSON) == person
    ]


def counts(tenants: Tenants, name: str) -> tuple[int, int, int]:
    """Return how many entries are in force, as the status says."""
    found = tenants.get(name)["status"]["counts"]
    users, managers, sudoers = (found.get(field, 0) for field in LISTS)
    return users, managers, sudoers


@pytest.mark.thorough
def test_one_person_can_be_sudoer_of_fifty_lnamespaces(
    tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    person = people.person("fifty")
    names = [tenants.name("fifty") for _ in range(50)]
    for name in names:
        tenants.create(name, sudoers=["fifty"])
    tenants.all_ready(names)
    owners = {tenants.get(name)["metadata"]["uid"] for name in names}

    def owned_by(expected: set[str]) -> bool:
        objects = own_objects(admin, "fifty")
        assert len(objects) == 2
        for item in objects:
            found = [owner["uid"] for owner in item["metadata"]["ownerReferences"]]
            assert sorted(found) == sorted(expected)
        return True

    eventually(partial(owned_by, owners))
    eventually(lambda: all(rights.sudoes(person.who, name) for name in names))

    def has_no_sudo(name: str) -> bool:
        return not rights.sudoes(person.who, name)

    *others, last = names
    for name in others:
        tenants.edit(name, sudoers=[])
    for name in others:
        eventually(partial(has_no_sudo, name))
    eventually(partial(owned_by, {tenants.get(last)["metadata"]["uid"]}))
    person.kubectl("sudo", "-n", last, "get", "rolebindings").ok()
    assert "not a sudoer" in person.kubectl("sudo", "-n", others[0], "get", "pods").refused()

    tenants.edit(last, sudoers=[])
    eventually(lambda: own_objects(admin, "fifty") == [])
    eventually(lambda: not any(rights.sudoes(person.who, name) for name in names))


def test_a_persons_own_objects_are_deleted_with_the_last_lnamespace(
    tenants: Tenants, admin: Api
) -> None:
    names = [tenants.make("lonely", sudoers=["lonely"]) for _ in range(2)]
    assert len(own_objects(admin, "lonely")) == 2
    for name in names:
        assert own_objects(admin, "lonely")
        tenants.delete(name)
    eventually(lambda: own_objects(admin, "lonely") == [])


def test_emptied_lists_revoke_all_access(tenants: Tenants, rights: Rights) -> None:
    who = user("emptied")
    name = tenants.make("emptied", users=[who.user], managers=[who.user], sudoers=[who.user])
    eventually(lambda: rights.works(who, name) and rights.sudoes(who, name))
    assert counts(tenants, name) == (1, 1, 1)
    tenants.edit(name, users=[], managers=[], sudoers=[])
    tenants.ready(name)
    eventually(lambda: not (rights.works(who, name) or rights.sudoes(who, name)))
    eventually(lambda: not rights.edits(who, name))
    assert counts(tenants, name) == (0, 0, 0)
    tenants.admin.patch(
        lns_path(name),
        {"spec": {"users": None, "managers": None, "sudoers": None}},
    )
    tenants.ready(name)
    assert counts(tenants, name) == (0, 0, 0)


def test_lists_of_maximum_length_grant_and_revoke_access(tenants: Tenants, rights: Rights) -> None:
    sizes = {"users": 250, "managers": 50, "sudoers": 50}
    lists = {field: [f"{field}-{n}" for n in range(most)] for field, most in sizes.items()}
    name = tenants.make("crowd", **lists)
    assert counts(tenants, name) == (250, 50, 50)
    for n in range(0, 50, 10):
        eventually(partial(rights.works, user(f"users-{5 * n}"), name))
        eventually(partial(rights.edits, user(f"managers-{n}"), name))
        eventually(partial(rights.sudoes, user(f"sudoers-{n}"), name))
    half = {field: entries[:20] for field, entries in lists.items()}
    tenants.edit(name, **half)
    tenants.ready(name)
    assert counts(tenants, name) == (20, 20, 20)
    eventually(lambda: not rights.works(user("users-20"), name))
    eventually(lambda: not rights.edits(user("managers-20"), name))
    eventually(lambda: not rights.sudoes(user("sudoers-20"), name))
    assert rights.works(user("users-19"), name)
    assert rights.sudoes(user("sudoers-19"), name)


def test_entries_expire_at_their_time(
    tenants: Tenants, rights: Rights, measurements: Measurements, admin: Api
) -> None:
    brief, stays = user("brief"), user("stays-longer")

    def until(end: datetime) -> dict[str, list[Entry]]:
        return {field: [ending("brief", end), "stays-longer"] for field in LISTS}

    name = tenants.make("expiring", **until(soon(3600)))
    kinds = {"user": rights.works, "manager": rights.edits, "sudoer": rights.sudoes}
    for right in kinds.values():
        eventually(partial(right, brief, name))
    assert counts(tenants, name) == (2, 2, 2)
    end = soon(3)
    tenants.edit(name, **until(end))

    late: dict[str, float] = {}

    def all_ended() -> bool:
        for kind, right in kinds.items():
            if kind not in late and not right(brief, name):
                late[kind] = (datetime.now(UTC) - end).total_seconds()
        return len(late) == len(kinds)

    # In minutes at most: what goes through all again does it every ten.
    eventually(all_ended, tick=0.005)
    for kind, seconds in late.items():
        measurements.note(f"{kind} expired", seconds)
        assert seconds >= 0, kind
    for right in kinds.values():
        assert right(stays, name)
    eventually(lambda: counts(tenants, name) == (1, 1, 1))
    eventually(lambda: own_objects(admin, "brief") == [])


def test_an_expiry_time_can_be_postponed_and_advanced(tenants: Tenants, rights: Rights) -> None:
    ann, ben = user("put-off"), user("brought-forward")
    name = tenants.make("moved", users=[ending("put-off", soon(1.5))])
    tenants.edit(name, users=[ending("put-off", soon(600)), ending("brought-forward", soon(600))])
    tenants.ready(name)
    eventually(lambda: rights.works(ann, name) and rights.works(ben, name))
    end = soon(1.5)
    tenants.edit(name, users=[ending("put-off", soon(600)), ending("brought-forward", end)])
    eventually(lambda: not rights.works(ben, name))
    assert datetime.now(UTC) >= end
    assert rights.works(ann, name)


def test_an_expired_entry_grants_no_access(tenants: Tenants, rights: Rights) -> None:
    late = user("too-late")
    lists = {field: [ending("too-late", soon(-1))] for field in LISTS}
    name = tenants.make("ended", **lists)
    assert counts(tenants, name) == (0, 0, 0)
    for right in (rights.works, rights.edits, rights.sudoes):
        assert not right(late, name)


def test_a_person_listed_twice_has_the_later_expiry_time(tenants: Tenants, rights: Rights) -> None:
    """A ServiceAccount may also be written as a User; both entries are one person."""
    from_user = "system:serviceaccount:default:twice"
    end = soon(1.5)
    account = tenants.account("default", "twice")
    name = tenants.make("twice", sudoers=[ending(from_user, end), account])
    assert counts(tenants, name) == (0, 0, 1)
    tenants.edit(name, sudoers=[from_user, ending(account, end)])
    tenants.ready(name)
    eventually(lambda: datetime.now(UTC) > end)
    who = user(from_user, "system:serviceaccounts", "system:serviceaccounts:default")
    eventually(partial(rights.sudoes, who, name))
