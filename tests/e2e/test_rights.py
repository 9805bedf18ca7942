"""Rights are what the lists say: for everybody, everything that matters, at every moment."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from tests.e2e.support.api import GROUP, ns_path, refusal
from tests.e2e.support.people import People, Who, account, user
from tests.e2e.support.rights import Deed, Rights, become, bind, rule, work
from tests.e2e.support.tenants import Tenants, group, service_account
from tests.e2e.support.waiting import Measurements, eventually, measured

RBAC = "rbac.authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"

PEOPLE: Mapping[str, Who] = {
    "ann": user("rights-ann"),
    "ben": user("rights-ben"),
    "cat": user("rights-cat"),
    "dan": user("rights-dan"),
    "account one": account("default", "rights-one"),
    "account two": account("default", "rights-two"),
    "member of devs": user("rights-eve", "rights-devs"),
    "member of leads": user("rights-fay", "rights-leads"),
    "stranger": user("rights-gil"),
    "member of others": user("rights-hal", "rights-others"),
    "namesake of account one": account("kube-system", "rights-one"),
}
ENTRIES = {
    "ann": "rights-ann",
    "ben": "rights-ben",
    "cat": "rights-cat",
    "dan": "rights-dan",
    "account one": service_account("default", "rights-one"),
    "account two": service_account("default", "rights-two"),
    "member of devs": group("rights-devs"),
    "member of leads": group("rights-leads"),
}


@dataclass(frozen=True)
class Lists:
    """Who is on which list; nobody on any is also how it is where there is no LNamespace."""

    users: frozenset[str] = frozenset()
    managers: frozenset[str] = frozenset()
    sudoers: frozenset[str] = frozenset()
    nobody: frozenset[str] = field(default=frozenset(), init=False)
    everybody: frozenset[str] = field(default=frozenset(PEOPLE), init=False)

    def spec(self) -> dict[str, list[object]]:
        """Return the lists as an LNamespace has them."""
        return {
            name: [ENTRIES[label] for label in sorted(getattr(self, name))]
            for name in ("users", "managers", "sudoers")
        }


@dataclass(frozen=True)
class Row:
    """A deed, who may do it as themselves, and whether the sudoers' group may."""

    deed: Deed
    who: str
    group_may: bool = False


def table(name: str, other: str) -> Iterator[Row]:
    """Yield all that matters about one LNamespace, with another one beside it."""
    yield from _inside(name)
    yield from _the_lnamespace(name)
    yield from _outside(other)
    yield from _impersonation(name, other)


def _inside(name: str) -> Iterator[Row]:
    for verb in ("create", "update", "delete"):
        yield Row(Deed(verb, "pods", name), "users", True)
        yield Row(Deed(verb, "secrets", name), "users", True)
        yield Row(Deed(verb, "resourcequotas", name), "nobody", True)
    for verb in ("get", "list"):
        yield Row(Deed(verb, "pods", name), "everybody", True)
        yield Row(Deed(verb, "resourcequotas", name), "everybody", True)
        yield Row(Deed(verb, "secrets", name), "users", True)
    yield Row(Deed("create", "pods", name, subresource="exec"), "users", True)
    yield Row(Deed("create", "deployments", name, group="apps"), "users", True)
    yield Row(bind(name), "users", True)  # of no more than they have: RBAC sees to that
    yield Row(Deed("create", "limitranges", name), "nobody", True)
    yield Row(Deed("create", "certificates", name, group="cert-manager.io"), "nobody", True)
    for verb in ("bind", "escalate"):
        yield Row(Deed(verb, "roles", name, group=RBAC), "nobody", True)
    for verb in ("update", "delete"):  # a policy takes most of it from the group again
        yield Row(Deed(verb, "namespaces", name, name), "nobody", True)


def _the_lnamespace(name: str) -> Iterator[Row]:
    for verb in ("get", "list", "watch"):
        yield Row(Deed(verb, "lnamespaces", name=name, group=GROUP), "everybody", True)
    for verb in ("update", "patch", "delete"):
        yield Row(Deed(verb, "lnamespaces", name=name, group=GROUP), "managers", True)
        status = Deed(verb, "lnamespaces", name=name, group=GROUP, subresource="status")
        yield Row(status, "nobody")
    yield Row(Deed("create", "lnamespaces", group=GROUP), "everybody", True)
    yield Row(Deed("deletecollection", "lnamespaces", group=GROUP), "nobody")


def _outside(other: str) -> Iterator[Row]:
    for namespace in (other, "default", "kube-system", "lnamespace-system"):
        yield Row(Deed("get", "pods", namespace), "everybody", True)
        yield Row(work(namespace), "nobody")
        yield Row(rule(namespace), "nobody")
        yield Row(bind(namespace), "nobody")
        yield Row(Deed("get", "secrets", namespace), "nobody")
        yield Row(Deed("create", "serviceaccounts", namespace, subresource="token"), "nobody")
        yield Row(Deed("delete", "namespaces", namespace, namespace), "nobody")
    for verb in ("update", "delete"):
        yield Row(Deed(verb, "lnamespaces", name=other, group=GROUP), "nobody")
        yield Row(Deed(verb, "lnamespaces", group=GROUP), "nobody")
    for verb in ("create", "update", "delete", "bind", "escalate"):
        yield Row(Deed(verb, "clusterroles", group=RBAC), "nobody")
    yield Row(Deed("create", "clusterrolebindings", group=RBAC), "nobody")
    yield Row(Deed("create", "namespaces"), "nobody")
    yield Row(Deed("list", "secrets"), "nobody")
    yield Row(Deed("list", "nodes"), "nobody")
    yield Row(Deed("create", "tokenreviews", group=AUTHENTICATION), "nobody")
    yield Row(Deed("*", "*", group="*"), "nobody")


def _impersonation(name: str, other: str) -> Iterator[Row]:
    """Yield the one row that is sudo itself, and all that must not come with it."""
    yield Row(Deed("impersonate", "groups", name=f"{name}-sudoers"), "sudoers")
    for forbidden in (f"{other}-sudoers", "system:masters", "rights-devs", ""):
        yield Row(Deed("impersonate", "groups", name=forbidden), "nobody")
    for forbidden in ("rights-gil", "lnamespace-admin", "system:kube-controller-manager", ""):
        yield Row(Deed("impersonate", "users", name=forbidden), "nobody")
    for namespace, forbidden in (
        ("default", "default"),
        ("kube-system", "rights-one"),
        ("lnamespace-system", "lnamespace-controller"),
    ):
        yield Row(Deed("impersonate", "serviceaccounts", namespace, forbidden), "nobody")
    # Whoever may work in a namespace may act as its service accounts: so Kubernetes has it.
    yield Row(Deed("impersonate", "serviceaccounts", name, "default"), "users", True)
    yield Row(Deed("impersonate", "uids", group=AUTHENTICATION), "nobody")
    extra = Deed("impersonate", "userextras", group=AUTHENTICATION, subresource="scopes")
    yield Row(extra, "nobody")
    for verb in ("impersonate:user-info", "impersonate-on:user-info:get"):  # KEP-5284
        yield Row(Deed(verb, "users", group=AUTHENTICATION), "nobody")
        yield Row(Deed(verb, "groups", group=AUTHENTICATION), "nobody")


Question = tuple[str, Who, Deed, bool]


def disagreements(rights: Rights, name: str, other: str, lists: Lists | None) -> list[str]:
    """Return where the API server and the lists differ; with no lists, no LNamespace is there."""

    def answer(question: Question) -> str:
        label, who, deed, expected = question
        agrees = rights.may(who, deed) == expected
        return "" if agrees else f"{label} may{' not' if expected else ''}: {deed}"

    with ThreadPoolExecutor(4) as pool:
        return [*filter(None, pool.map(answer, questions(name, other, lists)))]


def questions(name: str, other: str, lists: Lists | None) -> Iterator[Question]:
    """Yield what to ask about whom, and what the lists say."""
    listed = lists or Lists()
    for row in table(name, other):
        allowed: frozenset[str] = getattr(listed, row.who)
        for label, who in PEOPLE.items():
            yield label, who, row.deed, label in allowed
        group_may = (row.group_may and lists is not None) or row.who == "everybody"
        yield "the sudoers' group", PEOPLE["stranger"].sudo(name), row.deed, group_may
        for label in listed.sudoers:
            expected = group_may or label in allowed
            yield f"{label} with sudo", PEOPLE[label].sudo(name), row.deed, expected
    for label, who in PEOPLE.items():
        yield label, who, become(who), label in listed.sudoers


def test_every_right_matches_the_lists_before_during_and_after_each_edit(
    tenants: Tenants, rights: Rights
) -> None:
    other = tenants.make("rights-beside", users=["elsewhere"], sudoers=["elsewhere"])
    name = tenants.name("rights")
    phases = (
        Lists(
            users=frozenset({"ann", "dan", "account one", "member of devs"}),
            managers=frozenset({"ben", "dan", "account two", "member of leads"}),
            sudoers=frozenset({"cat", "dan", "account one"}),
        ),
        Lists(
            users=frozenset({"ben", "cat", "account two", "member of leads"}),
            managers=frozenset({"cat", "ann", "member of devs"}),
            sudoers=frozenset({"ann", "account two"}),
        ),
        Lists(),
    )

    def agrees(lists: Lists | None) -> bool:
        assert disagreements(rights, name, other, lists) == []
        return True

    for one in ("rights-one", "rights-two"):
        tenants.account("default", one)
    assert agrees(None)
    for number, lists in enumerate(phases):
        (tenants.edit if number else tenants.create)(name, **lists.spec())
        tenants.ready(name)
        _heard_by_the_authorizer(rights, name, lists)
        eventually(partial(agrees, lists), what=f"phase {number}")
    tenants.delete(name)
    _heard_by_the_authorizer(rights, name, None)
    eventually(partial(agrees, None), what="gone")


def _heard_by_the_authorizer(rights: Rights, name: str, lists: Lists | None) -> None:
    """Wait for its cache, by what is made last: a person's own role or the group's binding.

    Of each kind of object it hears by itself.
    """

    def heard() -> bool:
        listed = lists.sudoers if lists else frozenset()
        selves = all(rights.may(who, become(who)) == (p in listed) for p, who in PEOPLE.items())
        group = rights.may(PEOPLE["stranger"].sudo(name), rule(name))
        return selves and group == (lists is not None)

    eventually(heard)


def test_edits_interrupt_no_listed_persons_rights_and_grant_none_to_others(
    tenants: Tenants, rights: Rights
) -> None:
    stays, stranger = user("stays"), user("never")
    name = tenants.make("edited", users=["stays"], managers=["stays"], sudoers=["stays"])
    eventually(lambda: all(may(stays, name) for may in (rights.works, rights.edits, rights.sudoes)))
    wrong: list[str] = []
    over = threading.Event()

    def sample() -> None:
        while not over.is_set():
            if not (rights.works(stays, name) and rights.edits(stays, name)):
                wrong.append("lost the rights of a user or manager")
            if not rights.sudoes(stays, name):
                wrong.append("lost sudo")
            if rights.works(stranger, name) or rights.edits(stranger, name):
                wrong.append("won something")

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        for number in range(25):
            come = [f"comes-{number}-{n}" for n in range(number % 5)]
            # Those who stay change their place in the lists as well.
            lists = {"users": ["stays", *come], "managers": [*come, "stays"]}
            tenants.edit(name, **lists, sudoers=[*come[:2], "stays", *come[2:]])
            tenants.ready(name)
    finally:
        over.set()
        sampler.join()
    assert wrong == []


def test_rights_are_granted_and_revoked_at_once(
    tenants: Tenants, rights: Rights, measurements: Measurements
) -> None:
    name = tenants.make("quick", managers=["somebody"])
    kinds = {"user": rights.works, "manager": rights.edits, "sudoer": rights.sudoes}

    def has(right: Callable[[Who, str], bool], who: Who, expected: bool) -> bool:
        return right(who, name) == expected

    for number in range(10):
        who = user(f"quick-{number}")
        tenants.edit(name, users=[who.user], managers=["somebody", who.user], sudoers=[who.user])
        for kind, right in kinds.items():
            took = measured(partial(has, right, who, True), tick=0.001)
            measurements.note(f"granted {kind}, in force", took)
        tenants.edit(name, users=[], managers=["somebody"], sudoers=[])
        for kind, right in kinds.items():
            took = measured(partial(has, right, who, False), tick=0.001)
            measurements.note(f"revoked {kind}, in force", took)


def test_sudoers_can_impersonate_the_sudoers_group_and_others_cannot(
    tenants: Tenants, people: People, rights: Rights
) -> None:
    alice, bob = people.person("alice"), people.person("bob")
    robot = people.account("default", "robot")
    name = tenants.make(
        "real", users=["bob"], sudoers=["alice", service_account("default", "robot")]
    )
    eventually(lambda: rights.sudoes(alice.who, name) and rights.sudoes(robot.who, name))
    eventually(lambda: rights.works(bob.who, name))
    secrets = ns_path(name, "secrets")
    for person in (alice, robot):
        assert person.sudo(name).items(secrets) == []
        assert refusal(person.api.items, secrets)
    assert bob.api.items(secrets) == []
    assert refusal(bob.sudo(name).items, secrets)
    assert refusal(alice.api.acting("bob", f"{name}-sudoers").items, secrets)

    tenants.edit(name, sudoers=["bob"])
    tenants.ready(name)
    eventually(lambda: rights.sudoes(bob.who, name))
    eventually(lambda: not (rights.sudoes(alice.who, name) or rights.sudoes(robot.who, name)))
    assert bob.sudo(name).items(secrets) == []
    for person in (alice, robot):
        assert refusal(person.sudo(name).items, secrets)


def test_kubectl_auth_can_i_matches_the_lists(
    tenants: Tenants, people: People, rights: Rights
) -> None:
    """The same through the command that people use, with real impersonation."""
    name = tenants.make("can-i", users=["ulla"], managers=["mark"], sudoers=["susi"])
    eventually(lambda: rights.sudoes(user("susi"), name))
    eventually(lambda: rights.works(user("ulla"), name) and rights.edits(user("mark"), name))
    admin = people.person("alice").cluster

    def can_i(deed: str, *flags: str) -> str:
        return admin.run("kubectl", "auth", "can-i", *deed.split(), *flags).out.strip()

    lns = f"lnamespaces.{GROUP}/{name}"
    sudo = ("--as=susi", f"--as-group={name}-sudoers")
    assert can_i(f"create pods -n {name}", "--as=ulla") == "yes"
    assert can_i(f"create resourcequotas -n {name}", "--as=ulla") == "no"
    assert can_i(f"update {lns}", "--as=mark") == "yes"
    assert can_i(f"create pods -n {name}", "--as=mark") == "no"
    assert can_i(f"create pods -n {name}", "--as=susi") == "no"
    assert can_i(f"impersonate groups/{name}-sudoers", "--as=susi") == "yes"
    assert can_i("impersonate users/susi", "--as=susi") == "yes"
    assert can_i("impersonate users/ulla", "--as=susi") == "no"
    assert can_i(f"create resourcequotas -n {name}", *sudo) == "yes"
    assert can_i("create resourcequotas -n default", *sudo) == "no"
    assert can_i(f"update {lns}", *sudo) == "yes"
