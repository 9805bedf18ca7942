"""What is asked of the API server: deeds, each with the powers of which one is enough for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.e2e.rights_model.model import ACCOUNTS, LOOK, Ability, Power
from tests.e2e.support.api import GROUP
from tests.e2e.support.people import Who, account
from tests.e2e.support.rights import Deed

_RBAC = "rbac.authorization.k8s.io"

Powers = frozenset[Power]
NOBODY: Powers = frozenset()
EVERYBODY: Powers = frozenset({LOOK})

_GRAVE = {
    ("get", "secrets"),
    ("bind", "roles"),
    ("update", "lnamespaces"),
    ("impersonate", "groups"),
    ("impersonate", "users"),
    ("impersonate", "serviceaccounts"),
}


@dataclass(frozen=True)
class Question:
    """May somebody do that? Whoever has one of ``powers`` may."""

    who: Who
    deed: Deed
    powers: Powers

    @property
    def grave(self) -> bool:
        """Return whether it is one of the few that tell most, which are asked more often."""
        if self.deed.resource == "serviceaccounts" and self.deed.namespace != ACCOUNTS:
            return False
        return (self.deed.verb, self.deed.resource) in _GRAVE and self.powers != EVERYBODY

    def __str__(self) -> str:
        groups = [g for g in self.who.groups if not g.startswith("system:")]
        return f"{self.who.user}{groups or ''}: {_deed(self.deed)}"


def questions(people: Iterable[Who], names: Iterable[str]) -> Iterator[Question]:
    """Everybody about everything, as themselves and as they would be with sudo in both layouts."""
    people, names = tuple(people), tuple(names)
    everywhere = [row for name in names for row in _about(name)]
    everywhere += [*_of_the_cluster(), *_people(people)]
    for who in people:
        yield from (Question(who, deed, powers) for deed, powers in everywhere)
        for name in names:
            yield from (
                Question(who.sudo(name), deed, powers) for deed, powers in _sudo(name, names)
            )
    for name in names:
        stands = account(ACCOUNTS, name)
        yield from (Question(stands, deed, powers) for deed, powers in everywhere)


def _sudo(name: str, names: Iterable[str]) -> Iterator[tuple[Deed, Powers]]:
    """Everything in the own namespace, and of the rest what would be worst."""
    yield from _about(name)
    for other in names:
        if other != name:
            yield from _worst(other)
    yield Deed("impersonate", "groups", name="system:masters"), frozenset({Power(Ability.BECOME)})
    yield Deed("update", "lnamespaces", group=GROUP), frozenset({Power(Ability.EDIT)})
    yield Deed("create", "pods", "kube-system"), NOBODY
    yield Deed("*", "*", group="*"), NOBODY


def _about(name: str) -> Iterator[tuple[Deed, Powers]]:
    yield from _inside(name)
    yield from _the_lnamespace(name)
    yield Deed("impersonate", "groups", name=f"{name}-sudoers"), _powers(name, Ability.BECOME)
    yield Deed("impersonate", "serviceaccounts", ACCOUNTS, name), _powers(name, Ability.STAND)


def _inside(name: str) -> Iterator[tuple[Deed, Powers]]:
    users, sudoers = _powers(name, Ability.WORK, Ability.RULE), _powers(name, Ability.RULE)
    yield Deed("get", "pods", name), EVERYBODY
    yield Deed("list", "resourcequotas", name), EVERYBODY
    yield Deed("create", "pods", name), users
    yield Deed("delete", "configmaps", name), users
    yield Deed("get", "secrets", name), users
    yield Deed("create", "pods", name, subresource="exec"), users
    yield Deed("update", "rolebindings", name, group=_RBAC), users
    yield Deed("impersonate", "serviceaccounts", name, "default"), users
    yield Deed("create", "resourcequotas", name), sudoers
    yield Deed("bind", "roles", name, group=_RBAC), sudoers
    yield Deed("escalate", "roles", name, group=_RBAC), sudoers
    yield Deed("delete", "namespaces", name, name), sudoers  # a policy takes it from them again


def _the_lnamespace(name: str) -> Iterator[tuple[Deed, Powers]]:
    editors = _powers(name, Ability.EDIT)
    yield Deed("get", "lnamespaces", name=name, group=GROUP), EVERYBODY
    yield Deed("update", "lnamespaces", name=name, group=GROUP), editors
    yield Deed("delete", "lnamespaces", name=name, group=GROUP), editors
    yield Deed("update", "lnamespaces", name=name, group=GROUP, subresource="status"), NOBODY


def _worst(name: str) -> Iterator[tuple[Deed, Powers]]:
    yield Deed("get", "secrets", name), _powers(name, Ability.WORK, Ability.RULE)
    yield Deed("bind", "roles", name, group=_RBAC), _powers(name, Ability.RULE)
    yield Deed("update", "lnamespaces", name=name, group=GROUP), _powers(name, Ability.EDIT)


def _of_the_cluster() -> Iterator[tuple[Deed, Powers]]:
    become, anybody = frozenset({Power(Ability.BECOME)}), frozenset({Power(Ability.SELF)})
    yield Deed("create", "lnamespaces", group=GROUP), EVERYBODY
    yield Deed("update", "lnamespaces", group=GROUP), frozenset({Power(Ability.EDIT)})
    yield from _at_the_accounts()
    yield Deed("impersonate", "groups", name="system:masters"), become
    yield Deed("impersonate", "users", name="system:kube-controller-manager"), anybody
    yield Deed("impersonate", "serviceaccounts", "lnamespace-system", "lnamespace-webhook"), NOBODY
    yield Deed("get", "secrets", "lnamespace-system"), NOBODY
    yield Deed("create", "pods", "kube-system"), NOBODY
    yield Deed("create", "serviceaccounts", "default", subresource="token"), NOBODY
    yield Deed("create", "namespaces"), NOBODY
    yield Deed("create", "clusterrolebindings", group=_RBAC), NOBODY
    yield Deed("escalate", "clusterroles", group=_RBAC), NOBODY
    yield Deed("*", "*", group="*"), NOBODY


def _at_the_accounts() -> Iterator[tuple[Deed, Powers]]:
    anybodys = frozenset({Power(Ability.STAND)})
    yield Deed("impersonate", "serviceaccounts", ACCOUNTS), anybodys
    yield Deed("create", "serviceaccounts", ACCOUNTS), NOBODY
    yield Deed("create", "serviceaccounts", ACCOUNTS, "default", subresource="token"), NOBODY
    yield Deed("create", "pods", ACCOUNTS), NOBODY
    yield Deed("get", "secrets", ACCOUNTS), NOBODY
    yield Deed("update", "roles", ACCOUNTS, group=_RBAC), NOBODY
    yield Deed("create", "rolebindings", ACCOUNTS, group=_RBAC), NOBODY


def _people(people: Iterable[Who]) -> Iterator[tuple[Deed, Powers]]:
    for who in people:
        powers = {Power(Ability.SELF, who.user)}
        _, _, account = who.user.partition("system:serviceaccount:")
        if account:
            namespace, _, name = account.partition(":")
            yield Deed("impersonate", "serviceaccounts", namespace, name), frozenset(powers)
        else:
            powers.add(Power(Ability.SELF))
            yield Deed("impersonate", "users", name=who.user), frozenset(powers)


def _powers(name: str, *abilities: Ability) -> Powers:
    """Any of the abilities there; to edit or to become, everywhere would do as well."""
    wide = (a for a in abilities if a in (Ability.EDIT, Ability.BECOME, Ability.STAND))
    return frozenset({*(Power(a, name) for a in abilities), *map(Power, wide)})


def _deed(deed: Deed) -> str:
    what = "/".join(filter(None, (deed.resource, deed.subresource)))
    named = f" {deed.name}" if deed.name else ""
    return f"{deed.verb} {what}{named}" + (f" in {deed.namespace}" if deed.namespace else "")
