"""The bindings that give access to a namespace are the controller's alone, and it can mend them."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Self

import pytest

from tests.e2e.support.api import (
    APPLY,
    GROUP,
    JSON_PATCH,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.people import People, Person, user
from tests.e2e.support.rights import Rights, rule
from tests.e2e.support.tenants import Tenants, service_account
from tests.e2e.support.waiting import eventually

RBAC = "rbac.authorization.k8s.io"
FOLLOWS = "follows the lists of the LNamespace"
BOUND = ("lnamespace-users", "lnamespace-sudoers")
GUARDED = (*BOUND, "lnamespace-sudo-account", "lcluster:account", "lnamespace:self-impersonator:x")
SAMPLES = 60


@pytest.fixture(scope="module")
def eve(people: People) -> Person:
    return people.person("eve")


@pytest.fixture(scope="module")
def name(tenants: Tenants, eve: Person, rights: Rights) -> str:
    """Return an LNamespace with Eve on its lists, and others."""
    made = tenants.make("bound", users=["eve", "ulf"], managers=["mona"], sudoers=["eve", "sue"])
    eventually(lambda: rights.works(eve.who, made) and rights.sudoes(eve.who, made))
    return made


@pytest.fixture(scope="module")
def strong(name: str, eve: Person, people: People, rights: Rights) -> Api:
    """Return a ServiceAccount that a sudoer of the namespace has made powerful."""
    robot = people.account(name, "strong")
    own = binding("strong", "cluster-admin", service_account(name, "strong"))
    eve.sudo(name).create(rbac_path("rolebindings", namespace=name), own)
    eventually(lambda: rights.may(robot.who, rule(name)))
    return robot.api


@pytest.fixture(params=["user", "sudo", "account"])
def somebody(
    request: pytest.FixtureRequest, name: str, eve: Person, strong: Api
) -> Callable[[], Api]:
    """Everybody who may write RoleBindings in the namespace."""
    return {"user": lambda: eve.api, "sudo": lambda: eve.sudo(name), "account": lambda: strong}[
        request.param
    ]


def binding(name: str, role: str, *subjects: Object, **metadata: object) -> Object:
    """Return a binding to a ClusterRole."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name} | metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


def person(name: str) -> Object:
    """Return a user as a binding has one."""
    return {"kind": "User", "name": name, "apiGroup": RBAC}


def put(api: Api, path: str) -> object:
    """Replace it by itself, with one more label."""
    whole = api.get(path)
    whole["metadata"]["labels"]["a"] = "b"
    return api.replace(path, whole)


def apply(api: Api, path: str) -> object:
    """One more subject, by a manager of fields that takes what it wants."""
    there = api.get(path)
    made = binding(path.rpartition("/")[2], there["roleRef"]["name"], person("eve"))
    return api.patch(path, made, APPLY, fieldManager="x", force="true")


def metadata(**fields: object) -> Callable[[Api, str], object]:
    """Return a change of nothing but metadata."""
    return lambda api, path: api.patch(path, {"metadata": fields})


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "0-0"}
WRITES: dict[str, Callable[[Api, str], object]] = {
    "delete": lambda api, path: api.delete(path),
    "delete, which waits for its dependents": lambda api, path: api.delete(
        path, propagationPolicy="Foreground"
    ),
    "delete with all others": lambda api, path: api.delete(path.rpartition("/")[0]),
    "delete by label": lambda api, path: api.delete(
        path.rpartition("/")[0], labelSelector=f"{GROUP}/lnamespace"
    ),
    "other subjects": lambda api, path: api.patch(path, {"subjects": []}),
    "one more subject": lambda api, path: api.patch(
        path, [{"op": "add", "path": "/subjects/-", "value": person("eve")}], JSON_PATCH
    ),
    "PUT": put,
    "server-side apply": apply,
    "a finalizer": metadata(finalizers=["example.com/mine"]),
    "an owner": metadata(ownerReferences=[OWNER]),
    "no owner": metadata(ownerReferences=None),
    "no labels": metadata(labels=None),
    "an annotation": metadata(annotations={"a": "b"}),
}


@pytest.mark.parametrize("which", BOUND)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_people_of_the_namespace_cannot_write_managed_bindings(
    write: Callable[[Api, str], object],
    which: str,
    somebody: Callable[[], Api],
    name: str,
    admin: Api,
) -> None:
    path = rbac_path("rolebindings", which, name)
    before = admin.get(path)
    words = refusal(write, somebody(), path)
    # Of users, RBAC itself refuses to give what they do not have.
    assert FOLLOWS in words or "permissions not currently held" in words
    assert admin.get(path) == before  # its version too: nothing had to be repaired


@pytest.mark.parametrize("which", GUARDED)
def test_people_of_the_namespace_cannot_create_a_missing_managed_binding(
    which: str, somebody: Callable[[], Api], name: str
) -> None:
    """The API server asks policies before it looks whether there is one: present is as missing."""
    bindings = rbac_path("rolebindings", namespace=name)
    for held in ({}, {"finalizers": ["example.com/mine"]}):
        made = binding(which, "view", person("eve"), **held)
        assert FOLLOWS in refusal(somebody().create, bindings, made)


def test_a_sudoer_cannot_create_roles_with_reserved_names(name: str, eve: Person) -> None:
    role = {"metadata": {"name": "lnamespace:self-impersonator:x"}, "rules": []}
    roles = rbac_path("roles", namespace=name)
    assert FOLLOWS in refusal(eve.sudo(name).create, roles, role)


def test_a_user_may_create_bindings_with_other_names(name: str, eve: Person) -> None:
    bindings = rbac_path("rolebindings", namespace=name)
    for title in ("mine", "lnamespace", "lnamespace-users-2", "lnamespace.example.com:mine"):
        made = binding(title, "view", person("vera"))
        assert eve.api.create(bindings, made, dryRun="All")


def test_a_namespace_without_an_lnamespace_may_have_bindings_of_reserved_names(
    admin: Api, people: People, rights: Rights
) -> None:
    with suppress(ApiError):
        admin.create("/api/v1/namespaces", {"metadata": {"name": "not-ours"}})
    fred, bindings = people.person("fred"), rbac_path("rolebindings", namespace="not-ours")
    admin.create(bindings, binding("fred", "admin", person("fred")))
    eventually(lambda: rights.works(fred.who, "not-ours"))
    assert fred.api.create(bindings, binding("lnamespace-users", "view", person("vera")))
    assert fred.api.delete(f"{bindings}/lnamespace-users")
    admin.delete(ns_path("not-ours"))


# --- the attack that took a namespace from everybody else


class Attack:
    """Three threads that post a binding of our name, while one deletes ours."""

    def __init__(self, attacker: Person, name: str) -> None:
        self._person = attacker
        self._bindings = rbac_path("rolebindings", namespace=name)
        self._over = threading.Event()
        self.done: list[str] = []

    def __enter__(self) -> Self:
        deeds: list[Callable[[Api], object]] = [partial(self._post, which=which) for which in BOUND]
        deeds += [self._post_held, self._delete]
        self._threads = [threading.Thread(target=self._loop, args=(deed,)) for deed in deeds]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _loop(self, deed: Callable[[Api], object]) -> None:
        api = Api(self._person.kubeconfig)
        while not self._over.is_set():
            with suppress(ApiError):
                self.done.append(str(deed(api)))

    def _post(self, api: Api, which: str, **held: object) -> object:
        return api.create(self._bindings, binding(which, "view", person("eve"), **held))

    def _post_held(self, api: Api) -> object:
        return self._post(api, BOUND[1], finalizers=["example.com/mine"])

    def _delete(self, api: Api) -> object:
        return [api.delete(f"{self._bindings}/{which}") for which in BOUND]


def test_a_user_cannot_replace_managed_bindings_by_deleting_in_a_loop(
    tenants: Tenants, eve: Person, rights: Rights, admin: Api
) -> None:
    """A user deleted `lnamespace-sudoers` in a loop and won the race to make one of that name.

    It had another role and a finalizer; then the same with `lnamespace-users`. They were repaired
    no more, and it outlived the revocation.
    """
    name = tenants.make("taken", users=["eve", "ulf"], sudoers=["sue"])
    sue, ulf = user("sue"), user("ulf")
    eventually(lambda: rights.works(eve.who, name) and rights.sudoes(sue, name))
    before = _bindings(admin, name)
    with Attack(eve, name) as attack:
        for _ in range(SAMPLES):
            assert rights.sudoes(sue, name)
            assert rights.works(ulf, name)
            assert _bindings(admin, name) == before
        tenants.edit(name, users=["ulf"])
        eventually(lambda: not rights.works(eve.who, name))
        for _ in range(SAMPLES):
            assert rights.sudoes(sue, name)
            assert rights.works(ulf, name)
            assert not rights.works(eve.who, name)
    assert attack.done == []
    tenants.ready(name)


def _bindings(admin: Api, name: str) -> list[Object]:
    return [admin.get(rbac_path("rolebindings", which, name)) for which in BOUND]


# --- what an administrator's slip has put there goes


def slip(admin: Api, path: str, **changes: object) -> Object:
    """Put a binding with another role in the place of what is there, held by a finalizer."""
    fake = binding(path.rpartition("/")[2], "view", person("eve")) | changes
    fake["kind"] = "RoleBinding" if "/namespaces/" in path else "ClusterRoleBinding"
    fake["metadata"]["finalizers"] = ["example.com/slip"]

    def made() -> Object | None:
        """Create the binding, unless the controller is the first."""
        admin.remove(path)
        with suppress(ApiError):
            return admin.create(path.rpartition("/")[0], fake)
        return None

    return eventually(made) or {}


def everyone() -> dict[str, object]:
    """Subjects that the controller may give nothing to."""
    masters = {"kind": "Group", "name": "system:authenticated", "apiGroup": RBAC}
    return {"subjects": [masters]}


PARTS = ("editor", "sudoer-impersonator")
PLACES: dict[str, Callable[[str], str]] = {
    "users": lambda name: rbac_path("rolebindings", BOUND[0], name),
    "sudoers": lambda name: rbac_path("rolebindings", BOUND[1], name),
    "editor": lambda name: rbac_path("clusterrolebindings", f"lnamespace:{name}:editor"),
    "impersonator": lambda name: rbac_path(
        "clusterrolebindings", f"lnamespace:{name}:sudoer-impersonator"
    ),
}


@pytest.fixture(scope="module")
def slipped(tenants: Tenants) -> str:
    """Return an LNamespace that an administrator does not mean to break."""
    return tenants.make("slip", users=["ulf"], managers=["mona"], sudoers=["sue"])


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("changes", [{}, everyone()], ids=["somebody", "everybody"])
def test_a_binding_with_another_role_and_a_finalizer_is_replaced(
    changes: dict[str, object],
    place: Callable[[str], str],
    slipped: str,
    admin: Api,
    tenants: Tenants,
) -> None:
    """The controller takes the finalizer off first; its own policies refused that."""
    path = place(slipped)
    before = admin.get(path)
    slip(admin, path, **changes)

    def replaced() -> bool:
        found = admin.find(path) or {}
        parts = [found.get(part) == before[part] for part in ("roleRef", "subjects")]
        return all(parts) and "finalizers" not in found["metadata"]

    eventually(replaced)
    tenants.ready(slipped)


def test_roles_and_bindings_with_finalizers_are_deleted_with_the_lnamespace(
    tenants: Tenants, admin: Api
) -> None:
    """Whatever stands in them by then."""
    name = tenants.make("held", managers=["mona"], sudoers=["sue"])
    paths = [rbac_path("clusterroles", f"lnamespace:{name}:{part}") for part in PARTS]
    paths += [place(name) for place in PLACES.values()]
    for path in paths:
        admin.patch(path, {"metadata": {"finalizers": ["example.com/slip"]}})
    tenants.delete(name)
    for path in paths:
        eventually(lambda where=path: admin.find(where) is None, what=path)  # type: ignore[misc]
    eventually(lambda: admin.find(ns_path(name)) is None, 240)


@pytest.fixture
def thief(cluster: Cluster) -> Api:
    """Return who has the controller's token."""
    return Api(cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT))


def test_a_stolen_token_may_remove_but_not_add_subjects_of_a_foreign_binding(
    thief: Api, admin: Api
) -> None:
    """Of what has another role or rule than ours, a finalizer may go and nobody may come."""
    title = "lnamespace:nobodys:editor"
    bindings, roles = rbac_path("clusterrolebindings"), rbac_path("clusterroles")
    mine = binding(title, "cluster-admin", person("root"), finalizers=["example.com/x"])
    admin.create(bindings, mine | {"kind": "ClusterRoleBinding"})
    wide: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    admin.create(roles, {"metadata": {"name": title}, "rules": [wide]})
    try:
        for subjects in ([person("eve")], [person("root"), person("eve")]):
            assert refusal(thief.patch, f"{bindings}/{title}", {"subjects": subjects})
        free = {"metadata": {"finalizers": None}}
        assert thief.patch(f"{bindings}/{title}", free)
        assert thief.patch(f"{bindings}/{title}", {"subjects": []})
        label = {f"{RBAC}/aggregate-to-view": "true"}
        every = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        for change in (
            {"metadata": {"labels": label}},
            {"aggregationRule": every},
            {"rules": [wide | {"resources": ["pods"]}]},
            {"rules": [wide, wide]},
        ):
            assert refusal(thief.patch, f"{roles}/{title}", change)
    finally:
        admin.remove(f"{bindings}/{title}")
        admin.remove(f"{roles}/{title}")
