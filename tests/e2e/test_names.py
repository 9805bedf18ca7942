"""Odd names work like plain ones, from the certificate to the last right."""

from functools import partial

import pytest

from tests.e2e.support.api import Api, rbac_path
from tests.e2e.support.people import People, Person, account, user
from tests.e2e.support.rights import Rights, become
from tests.e2e.support.tenants import Tenants, member, service_account
from tests.e2e.support.waiting import eventually

ODD = {
    "mail": "first.last@loblaw.ca",
    "issuer": "https://issuer.example.com#sub",
    "long": "n" * 250,
    "unicode": "Ünïcødé 名前",
    "quotes": 'o\'neil "x" \\ `$(id)`',
    "flag": "-rf",
    "like-ours": "lnamespace:team:editor",
    "comma": "alice,for=8h",
    "path": "../../alice",
}
USUAL = ("issuer", "unicode", "quotes")
"""What has most of the odd characters; all of them with `make thorough`."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, id=odd, marks=() if odd in USUAL else pytest.mark.thorough)
        for odd, name in ODD.items()
    ],
)
def test_a_user_with_an_unusual_name_can_use_every_feature(
    name: str, people: People, tenants: Tenants, admin: Api, rights: Rights
) -> None:
    person = people.person(name)
    lns = tenants.name("odd")
    person.kubectl("create", "lns", lns).ok()
    spec = tenants.get(lns)["spec"]
    for field in ("users", "managers", "sudoers"):
        assert spec[field] == [member(name) | {"namespace": ""}]
    assert spec["requester"] == name
    person.kubectl("create", "configmap", "one", "-n", lns).ok()
    quota = ("create", "quota", "q", "--hard=pods=1", "-n", lns)
    assert "forbidden" in person.kubectl(*quota).refused()
    eventually(lambda: rights.sudoes(person.who, lns))
    person.kubectl("sudo", *quota).ok()
    assert lns in person.kubectl("lns", "list", "-o", "name").ok()
    own = [
        item
        for item in admin.items(rbac_path("clusterroles"))
        if item["metadata"].get("annotations", {}).get("tenancy.loblaw.digital/person") == name
    ]
    assert [item["rules"][0]["resourceNames"] for item in own] == [[name]]


def test_similar_user_names_are_different_people(tenants: Tenants, rights: Rights) -> None:
    name = tenants.make("alike", users=["bob"], managers=["bob"], sudoers=["bob"])
    eventually(lambda: rights.sudoes(user("bob"), name))
    for other in ("Bob", "BOB", "bob@example.com", "b0b", "b\u043eb", "bob:", "default:bob"):
        who = user(other)
        assert not rights.works(who, name)
        assert not rights.edits(who, name)
        assert not rights.may(who, become(who))


def test_an_lnamespace_name_may_have_63_characters_and_no_more(
    people: People, tenants: Tenants, rights: Rights
) -> None:
    alice, longest = people.person("alice"), "x" * 62 + "z"
    alice.kubectl("create", "lns", longest).ok()
    assert rights.works(alice.who, longest)
    eventually(lambda: rights.sudoes(alice.who, longest))
    alice.kubectl("sudo", "-n", longest, "get", "secrets").ok()
    refused = alice.kubectl("create", "lns", longest + "y").refused()
    assert "metadata.name" in refused
    assert "must be no more than 63 bytes" in refused
    assert tenants.get(longest)["status"]["sudoersGroup"] == f"{longest}-sudoers"


@pytest.mark.parametrize("spelling", ["as a ServiceAccount", "as a User"])
def test_a_service_account_can_be_on_every_list(
    spelling: str, people: People, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    as_user = spelling == "as a User"
    robot = people.account("default", "odd.robot")
    entry = robot.name if as_user else service_account("default", "odd.robot")
    name = tenants.make("robot", users=[entry], managers=[entry], sudoers=[entry])
    eventually(lambda: rights.sudoes(robot.who, name) and rights.works(robot.who, name))
    eventually(lambda: rights.edits(robot.who, name))
    _uses_it(robot, name)
    # A Role in its own namespace: a ClusterRole would let it be its namesakes everywhere.
    assert not rights.may(robot.who, become(account("kube-system", "odd.robot")))
    everywhere = admin.items(rbac_path("clusterrolebindings"))
    bound = [s for item in everywhere for s in item.get("subjects", ()) if s["name"] == robot.name]
    assert bound == []


def _uses_it(robot: Person, name: str) -> None:
    robot.kubectl("create", "configmap", "one", "-n", name).ok()
    robot.kubectl("sudo", "create", "quota", "q", "--hard=pods=1", "-n", name).ok()
    robot.kubectl("lns", "grant", name, "--user", "somebody").ok()


def test_a_service_account_of_the_namespace_itself_is_a_sudoer_at_once(
    people: People, tenants: Tenants, rights: Rights
) -> None:
    names = [tenants.name("own-robot") for _ in range(20)]
    for name in names:
        tenants.create(name, sudoers=[service_account(name, "deployer")])
    tenants.all_ready(names)
    for name in names:
        assert eventually(partial(rights.sudoes, account(name, "deployer"), name))
    robot = people.account(names[0], "deployer")
    robot.kubectl("sudo", "-n", names[0], "get", "rolebindings").ok()


def test_a_service_account_of_a_later_namespace_becomes_a_sudoer(
    tenants: Tenants, rights: Rights, admin: Api
) -> None:
    later = tenants.name("comes-later")
    name = tenants.name("waits")
    tenants.create(name, users=["una"], sudoers=["sue", service_account(later, "bot")])
    lns = tenants.unready(name, "SudoNotReady")
    assert later in lns["status"]["conditions"][0]["message"]
    # Nobody else is held up by it.
    eventually(lambda: rights.works(user("una"), name) and rights.sudoes(user("sue"), name))
    admin.create("/api/v1/namespaces", {"metadata": {"name": later}})
    tenants.account(later, "bot")
    tenants.ready(name)
    eventually(lambda: rights.sudoes(account(later, "bot"), name))


def test_lnamespaces_named_like_parts_of_managed_names_work(
    tenants: Tenants, rights: Rights
) -> None:
    names = ("self-impersonator", "editor", "sudoer-impersonator", "system", "x-sudoers")
    for name in names:
        tenants.create(name, users=[f"u-{name}"], managers=[f"m-{name}"], sudoers=[f"s-{name}"])
    tenants.all_ready(names)
    for name in names:
        eventually(partial(rights.sudoes, user(f"s-{name}"), name))
        eventually(partial(rights.works, user(f"u-{name}"), name))
        eventually(partial(rights.edits, user(f"m-{name}"), name))
