"""All LClusters as they should be at one moment, and who is whom in each.

Nothing here imports the product.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.e2e.lclusters_model.authority import (
    BUILT_IN,
    INTO,
    MASTERS,
    RESIDENTS,
    Binding,
    Guise,
    Right,
    Role,
    by_itself,
    have,
    resident,
)
from tests.e2e.rights_model.model import Lists
from tests.e2e.support.people import AUTHENTICATED, Who, account

SYSTEM = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
T = TypeVar("T")
Place = tuple[str, str]
"""A namespace, or none, and a name."""


@dataclass(frozen=True)
class Inside:
    """An LCluster; no two have the same number. Accounts have numbers of their own."""

    number: int
    lists: Lists
    suspended: str = ""
    revoked: frozenset[str] = frozenset()
    namespaces: frozenset[str] = SYSTEM
    accounts: Mapping[Place, int] = field(default_factory=dict)
    roles: Mapping[Place, Role] = field(default_factory=dict)
    bindings: Mapping[Place, Binding] = field(default_factory=dict)
    papers: frozenset[Place] = frozenset()
    widgets: frozenset[Place] = frozenset()
    version: str = ""
    barred: frozenset[str] = frozenset()

    def may(self, guise: Guise, wanted: Iterable[Right], namespace: str = "") -> bool:
        """Return whether somebody has all of these rights in a namespace, or everywhere."""
        return have(self.rights(guise, namespace), wanted)

    def rights(self, guise: Guise, namespace: str) -> Iterator[Right]:
        """Yield all that somebody has in a namespace, or everywhere."""
        yield from by_itself(guise, defined=bool(self.version))
        if RESIDENTS in guise.who.groups:
            yield from self.rules("ClusterRole", "admin", "")
        for (where, _), binding in self.bindings.items():
            bound = any(subject.is_(guise.who) for subject in binding.subjects)
            if bound and where in ("", namespace):
                yield from self.rules(binding.kind, binding.role, where)

    def rules(self, kind: str, name: str, namespace: str) -> Iterator[Right]:
        """Yield what a role gives; one that is not there gives nothing."""
        if kind == "ClusterRole" and name in BUILT_IN:
            yield from BUILT_IN[name]
            chosen = tuple(f"aggregate-to-{each}" for each in INTO.get(name, ()))
        else:
            role = self.roles.get(("" if kind == "ClusterRole" else namespace, name), Role())
            # What an aggregating role says of itself is overwritten by Kubernetes.
            yield from () if role.sums else role.rights
            chosen = (role.sums,) if role.sums else ()
        for (where, _), each in self.roles.items():
            if not where and each.label and each.label in chosen:
                yield from each.rights

    def upstream(self, guise: Guise, wanted: Right, namespace: str) -> bool:
        """Return whether a ServiceAccount may do something at the platform's API server.

        There a RoleBinding counts in its namespace if it names the account, and an aggregating
        role is empty.
        """
        there: list[Right] = []
        for (where, _), binding in self.bindings.items():
            accounts = (each for each in binding.subjects if each.kind == "ServiceAccount")
            if where == namespace and any(each.is_(guise.who) for each in accounts):
                own = ("" if binding.kind == "ClusterRole" else where, binding.role)
                role = self.roles.get(own, Role())
                there += BUILT_IN.get(binding.role, ()) if binding.kind == "ClusterRole" else ()
                there += () if role.sums else role.rights
        return bool(namespace) and have(there, (wanted,))

    def without(self, namespace: str) -> "Inside":
        """Return the same without a namespace and all that is in it."""
        return replace(
            self,
            namespaces=self.namespaces - {namespace},
            accounts=_outside(self.accounts, namespace),
            roles=_outside(self.roles, namespace),
            bindings=_outside(self.bindings, namespace),
            papers=frozenset(each for each in self.papers if each[0] != namespace),
            widgets=frozenset(each for each in self.widgets if each[0] != namespace),
        )


@dataclass(frozen=True)
class Login:
    """A token of a ServiceAccount or a certificate of an LCluster; ``serial`` is the account's."""

    lcluster: str
    number: int
    user: str = ""
    groups: tuple[str, ...] = ()
    place: Place = ("", "")
    serial: int = 0

    @property
    def who(self) -> Who:
        """Return as whom it lets in."""
        return (
            account(*self.place) if self.serial else Who(self.user, (*self.groups, AUTHENTICATED))
        )


@dataclass(frozen=True)
class World:
    """All LClusters, and the logins that they gave.

    What is ``fading`` is being deleted, which takes its time. ``away``: the platform's API server
    may not answer as it will.
    """

    lclusters: Mapping[str, Inside] = field(default_factory=dict)
    logins: Mapping[str, Login] = field(default_factory=dict)
    fading: frozenset[Place] = frozenset()
    away: bool = False
    serial: int = 0

    def guise(self, lcluster: str, actor: str, now: float) -> Guise | None:
        """Return who a person or the holder of a login is in an LCluster; None if nobody."""
        inside = self.lclusters.get(lcluster)
        if inside is None:
            return None
        login = self.logins.get(actor)
        if login is None:
            return _listed(inside.lists, actor, now)
        mine = login.lcluster == lcluster and login.number == inside.number
        there = not login.serial or inside.accounts.get(login.place) == login.serial
        return Guise(login.who) if mine and there and actor not in inside.revoked else None

    def acting(
        self, lcluster: str, actor: str, now: float, *, sudo: bool, other: str
    ) -> Guise | None:
        """Return as whom somebody asks, with `kubectl sudo` or `--as`; None if they may not."""
        guise = self.guise(lcluster, actor, now)
        if guise is None or not (sudo or other):
            return guise
        inside, name = self.lclusters[lcluster], other or guise.who.user
        if sudo and not inside.may(guise, [Right("impersonate", "groups", MASTERS)]):
            return None
        own, namespace = Right("impersonate", "users", name), ""
        who = Who(name, (AUTHENTICATED,))
        if name.startswith("system:serviceaccount:"):
            namespace, short = name.split(":")[2:]
            own, who = Right("impersonate", "serviceaccounts", short), account(namespace, short)
        # Who names a group has that one instead of those that an account has by itself.
        who = Who(name, (MASTERS, AUTHENTICATED)) if sudo else who
        return Guise(who) if inside.may(guise, [own], namespace) else None

    def edits(self, lcluster: str, actor: str, now: float) -> bool:
        """Return whether somebody may change the LCluster itself."""
        inside = self.lclusters.get(lcluster)
        if inside is None:
            return False
        those = inside.lists.current("managers", now) | inside.lists.current("sudoers", now)
        return actor in {each.name for each in those}

    def with_(self, lcluster: str, inside: Inside) -> "World":
        """Return the same with another LCluster in its place."""
        serial = self.serial + 1
        return replace(self, lclusters={**self.lclusters, lcluster: inside}, serial=serial)

    def razed(self, lcluster: str) -> "World":
        """Return the same without one."""
        left = {name: each for name, each in self.lclusters.items() if name != lcluster}
        return replace(self, lclusters=left, fading=self.fading | {(lcluster, "")})

    def at_rest(self) -> "World":
        """Everything that was on its way has come to its end."""
        return replace(self, fading=frozenset(), away=False)


def _listed(lists: Lists, name: str, now: float) -> Guise | None:
    sudoers = {each.name for each in lists.current("sudoers", now)}
    users = {each.name for each in lists.current("users", now)}
    return resident(name, sudoer=name in sudoers) if name in sudoers | users else None


def _outside(some: Mapping[Place, T], namespace: str) -> dict[Place, T]:
    return {place: each for place, each in some.items() if place[0] != namespace}
