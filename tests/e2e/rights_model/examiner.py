"""Asks the cluster who may do what, and what is there; and says where the model differs."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

from tests.e2e.rights_model.cast import ROBOT_NAMESPACE
from tests.e2e.rights_model.model import ACCOUNTS, Claim, Layout, Subject, World, sudoers
from tests.e2e.rights_model.questions import Question
from tests.e2e.rights_model.tampering import bound
from tests.e2e.support.api import GROUP, LNAMESPACES, NAMESPACES, Api, Object, ns_path, rbac_path
from tests.e2e.support.people import user
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.tenants import condition
from tests.e2e.support.waiting import eventually

_PERSON = f"{GROUP}/person"
_MARKED = {"labelSelector": "app.kubernetes.io/managed-by=lnamespace"}
_UNMARKED = {"labelSelector": "app.kubernetes.io/managed-by!=lnamespace"}
_NAMESPACED = ("rolebindings", "roles")
_CLUSTER_WIDE = ("clusterrolebindings", "clusterroles")


def wrong_answers(
    rights: Rights, asked: Iterable[Question], world: World, now: float
) -> list[Question]:
    """Return the questions that the API server answers otherwise than the model."""

    def agrees(question: Question) -> bool:
        expected = world.may(question.who, question.powers, now)
        return rights.may(question.who, question.deed) == expected

    asked = tuple(asked)
    with ThreadPoolExecutor(4) as pool:
        return [q for q, right in zip(asked, pool.map(agrees, asked), strict=True) if not right]


def hear(admin: Api, rights: Rights) -> None:
    """Wait until the authorizer has heard of all that was written until now.

    It hears of each kind in the order in which it was written: when it knows the newest of all
    four kinds, it knows what was before.
    """
    name = f"model-canary-{uuid4().hex[:8]}"
    for role, namespace in (("ClusterRole", ""), ("Role", ROBOT_NAMESPACE)):
        rule = {"apiGroups": [GROUP], "resources": ["canaries"], "verbs": ["see"]}
        roles = rbac_path(f"{role.lower()}s", namespace=namespace)
        bindings = rbac_path(f"{role.lower()}bindings", namespace=namespace)
        admin.create(roles, {"metadata": {"name": name}, "rules": [rule]})
        admin.create(bindings, bound(name, role, name, Subject("User", name)))
        see = Deed("see", "canaries", namespace, group=GROUP)
        eventually(partial(rights.may, user(name), see), 120, "the authorizer is behind")
        for path in (roles, bindings):
            admin.delete(f"{path}/{name}")


def wrong_statuses(lnamespaces: list[Object], world: World) -> list[str]:
    """LNamespaces that should not be, or are not, or do not say how it is with them."""
    found = {item["metadata"]["name"]: item for item in lnamespaces}
    wrong = [f"LNamespace {name} is there or not" for name in found.keys() ^ world.claims.keys()]
    for name, claim in world.claims.items():
        if claim.going or name not in found:
            continue
        expected = "True" if world.owns(name) else "False"
        if condition(found[name]).get("status") != expected:
            told = found[name].get("status", {})
            wrong.append(f"LNamespace {name} should be Ready={expected}: {told}")
        elif _acting(found[name]) != sudoers(name, world.layout).username:
            wrong.append(f"LNamespace {name} says that sudo is by {_acting(found[name])}")
    return wrong


def _acting(lnamespace: Object) -> str:
    """Return as whom sudoers act, by the status: a group, or a user."""
    status = lnamespace["status"]
    return " and ".join(status[key] for key in ("sudoersGroup", "sudoUser") if status.get(key))


def wrong_objects(admin: Api, lnamespaces: list[Object], world: World, now: float) -> list[str]:
    """Return objects that are there and should not be, or are missing, or have a wrong owner."""
    names = {item["metadata"]["uid"]: item["metadata"]["name"] for item in lnamespaces}
    there = {_told(kind, item, names) for kind, item in marked(admin)}
    should = {*_namespaces(world), *_grants(world), *_selves(world, now)}
    # A Namespace that was left behind may be there, and is nobody's.
    left = {f"namespaces {n} of " for n, place in world.places.items() if place.owner is None}
    return [
        *(f"is left over: {what}" for what in sorted(there - should - left)),
        *(f"is missing: {what}" for what in sorted(should - there)),
        *(f"is at the accounts: {what}" for what in sorted(_at_the_accounts(admin))),
    ]


def _at_the_accounts(admin: Api) -> Iterator[str]:
    """Yield what is where no account must be, and nobody's but ours."""
    for kind in ("serviceaccounts", "secrets", "pods"):
        for item in admin.items(ns_path(ACCOUNTS, kind)):
            if item["metadata"]["name"] != "default":
                yield f"{kind} {item['metadata']['name']}"
    for kind in _NAMESPACED:
        for item in admin.items(rbac_path(kind, namespace=ACCOUNTS), **_UNMARKED):
            yield f"{kind} {item['metadata']['name']}"


def marked(admin: Api) -> Iterator[tuple[str, Object]]:
    """Yield all that is labelled as the controller's, with its kind."""
    yield from (("namespaces", item) for item in admin.items(NAMESPACES, **_MARKED))
    for kind in (*_NAMESPACED, *_CLUSTER_WIDE):
        yield from ((kind, item) for item in admin.items(rbac_path(kind), **_MARKED))


def _told(kind: str, item: Object, names: dict[str, str]) -> str:
    """Return an object in words; a self-impersonator by its person."""
    metadata = item["metadata"]
    uids = [owner["uid"] for owner in metadata.get("ownerReferences", ())]
    person = metadata.get("annotations", {}).get(_PERSON)
    what = f"self {person}" if person else metadata["name"]
    where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return _line(kind, f"{where}{what}", [names.get(uid, uid) for uid in uids])


def _line(kind: str, what: str, owners: Iterable[str]) -> str:
    return f"{kind} {what} of {' '.join(sorted(owners))}"


def _namespaces(world: World) -> Iterator[str]:
    for name, claim in world.claims.items():
        if world.owns(name):
            yield _line("namespaces", name, () if claim.retain else (name,))


def _grants(world: World) -> Iterator[str]:
    for name, claim in world.claims.items():
        for kind, what in _of(name, claim, world.layout, owns=world.owns(name)):
            yield _line(kind, what, (name,))


def _of(name: str, claim: Claim, layout: Layout, *, owns: bool) -> Iterator[tuple[str, str]]:
    if claim.going:
        return
    yield from ((kind, f"lnamespace:{name}:editor") for kind in _CLUSTER_WIDE)
    if not owns:
        return
    yield "rolebindings", f"{name}/lnamespace-users"
    impersonator = f"lnamespace:{name}:sudoer-impersonator"
    if layout is Layout.GROUP:
        yield "rolebindings", f"{name}/lnamespace-sudoers"
        yield from ((kind, impersonator) for kind in _CLUSTER_WIDE)
    else:
        yield "rolebindings", f"{name}/lnamespace-sudo-account"
        yield from ((kind, f"{ACCOUNTS}/{impersonator}") for kind in _NAMESPACED)


def _selves(world: World, now: float) -> Iterator[str]:
    if world.layout is not Layout.GROUP:
        return
    sponsors: dict[Subject, list[str]] = {}
    for name, claim in world.claims.items():
        for subject in claim.lists.current("sudoers", now):
            sponsors.setdefault(subject, []).append(name)
    for subject, names in sponsors.items():
        where = f"{subject.namespace}/" if subject.namespace else ""
        for kind in _NAMESPACED if subject.namespace else _CLUSTER_WIDE:
            yield _line(kind, f"{where}self {subject.username}", names)


def lnamespaces(admin: Api) -> list[Object]:
    """Return all LNamespaces that there are."""
    return admin.items(LNAMESPACES)
