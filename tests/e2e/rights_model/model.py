"""Who may do what, said once more and otherwise: from the documentation, not from the code.

A world is what all lists say at one moment, and whose the namespaces are. From it follow *powers*:
what somebody can do somewhere. Everything here is a value; nothing here imports the product.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tests.e2e.support.people import Who, account


class Layout(StrEnum):
    """How sudoers come by their power: the chart's ``sudoLayout``."""

    GROUP = "group"
    ACCOUNT = "serviceaccount"


class Ability(StrEnum):
    """What a grant of an LNamespace comes to."""

    LOOK = "look at everything that is no secret"
    WORK = "work in the namespace, as its users do"
    RULE = "do everything in the namespace"
    EDIT = "edit the LNamespace"
    BECOME = "become the sudoers group"
    STAND = "become the account that stands for the LNamespace"
    SELF = "impersonate this person"


@dataclass(frozen=True)
class Power:
    """An ability and where; no place means everywhere, which nobody has by a list."""

    ability: Ability
    place: str = ""

    def __str__(self) -> str:
        return f"{self.ability.name}({self.place or '*'})"


LOOK = Power(Ability.LOOK)

ACCOUNTS = "lnamespace-sudo"
"""Where the accounts would be that stand for LNamespaces; none is ever there."""

BECOMING = {Layout.GROUP: Ability.BECOME, Layout.ACCOUNT: Ability.STAND}
"""What a sudoer can in each layout."""


@dataclass(frozen=True, order=True)
class Subject:
    """Who an entry or a binding names."""

    kind: str
    name: str
    namespace: str = ""

    def is_(self, who: Who) -> bool:
        """Return whether somebody is meant by it."""
        if self.kind == "Group":
            return self.name in who.groups
        return who.user == self.username

    @property
    def username(self) -> str:
        """Under which name the API server knows a user or a ServiceAccount."""
        if self.kind == "ServiceAccount":
            return f"system:serviceaccount:{self.namespace}:{self.name}"
        return self.name


@dataclass(frozen=True, order=True)
class Entry:
    """A line of a list; it ends at a second since the epoch, or never."""

    subject: Subject
    ends: float = float("inf")


@dataclass(frozen=True)
class Lists:
    """The three lists."""

    users: tuple[Entry, ...] = ()
    managers: tuple[Entry, ...] = ()
    sudoers: tuple[Entry, ...] = ()

    def current(self, name: str, now: float) -> set[Subject]:
        """Return who is on a list at a moment."""
        entries: tuple[Entry, ...] = getattr(self, name)
        return {entry.subject for entry in entries if entry.ends > now}

    def editable(self, now: float) -> bool:
        """Return whether anybody is left who can edit them."""
        return bool(self.current("managers", now) or self.current("sudoers", now))


@dataclass(frozen=True)
class Claim:
    """An LNamespace; no two have the same number. One that is ``going`` waits for a finalizer."""

    number: int
    lists: Lists
    retain: bool = False
    protected: bool = False
    going: bool = False


@dataclass(frozen=True)
class Place:
    """A Namespace, whose it is (None: no LNamespace's), and whom its users passed their role on."""

    owner: int | None = None
    passed_on: frozenset[Subject] = frozenset()


Grant = tuple[Subject, Power]


@dataclass(frozen=True)
class World:
    """All LNamespaces and their Namespaces by name, and the layout of sudo.

    ``gifts`` and ``lost`` are what somebody's tampering gave and took, until it is mended; what is
    lost ``everywhere`` is lost because a part of the cluster itself is away. While it is ``moving``
    from a layout to another, sudo may be by either.
    """

    claims: Mapping[str, Claim] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    gifts: frozenset[Grant] = frozenset()
    lost: frozenset[Power] = frozenset()
    everywhere: bool = False
    serial: int = 0
    layout: Layout = Layout.GROUP
    moving: bool = False

    def may(self, who: Who, powers: frozenset[Power], now: float) -> bool:
        """Return whether somebody has one of the powers."""
        if self.everywhere:
            return False
        if LOOK in powers:
            return True
        return any(power in powers and subject.is_(who) for subject, power in self.grants(now))

    def grants(self, now: float) -> Iterator[Grant]:
        """Yield all that anybody has."""
        yield from self.gifts
        for grant in self._by_lists(now):
            if grant[1] not in self.lost:
                yield grant

    def owns(self, name: str) -> bool:
        """Return whether the LNamespace of that name has its Namespace."""
        claim, place = self.claims.get(name), self.places.get(name)
        return claim is not None and place is not None and place.owner == claim.number

    def _by_lists(self, now: float) -> Iterator[Grant]:
        for name, claim in self.claims.items():
            if Layout.GROUP in self._layouts():
                # A person may impersonate themselves for as long as any list has them.
                for subject in claim.lists.current("sudoers", now):
                    yield subject, Power(Ability.SELF, subject.username)
            if not claim.going:
                yield from self._of(name, claim.lists, now)
        for name, place in self.places.items():
            for subject in place.passed_on:
                yield subject, Power(Ability.WORK, name)

    def _of(self, name: str, lists: Lists, now: float) -> Iterator[Grant]:
        for subject in lists.current("managers", now):
            yield subject, Power(Ability.EDIT, name)
        if self.owns(name):
            for subject in lists.current("users", now):
                yield subject, Power(Ability.WORK, name)
        for layout in self._layouts():
            yield from self._by_sudo(name, lists.current("sudoers", now), layout)

    def _by_sudo(self, name: str, those: set[Subject], layout: Layout) -> Iterator[Grant]:
        acting = sudoers(name, layout)
        yield acting, Power(Ability.EDIT, name)
        if self.owns(name):
            yield acting, Power(Ability.RULE, name)
            yield from ((subject, Power(BECOMING[layout], name)) for subject in those)

    def _layouts(self) -> tuple[Layout, ...]:
        return tuple(Layout) if self.moving else (self.layout,)

    # --- what can happen; each returns the world after it

    def created(self, name: str, lists: Lists, *, retain: bool = False) -> "World":
        """Somebody creates an LNamespace; a Namespace that is there is not taken."""
        number = self.serial + 1
        claims = {**self.claims, name: Claim(number, lists, retain)}
        return replace(self, claims=claims, serial=number).housed()

    def changed(self, name: str, claim: Claim) -> "World":
        """Somebody changes one."""
        return replace(self, claims={**self.claims, name: claim})

    def deleted(self, name: str, *, orphan: bool = False) -> "World":
        """Somebody deletes one: its Namespace goes with it, or stays and is nobody's."""
        claim, places = self.claims[name], dict(self.places)
        if self.owns(name):
            place = places.pop(name)
            if orphan or claim.retain:
                places[name] = replace(place, owner=None)
        claims = {key: value for key, value in self.claims.items() if key != name}
        return replace(self, claims=claims, places=places)

    def passed_on(self, name: str, subject: Subject) -> "World":
        """Somebody binds their role to another in their namespace; that outlives them there."""
        place = self.places[name]
        passed = replace(place, passed_on=place.passed_on | {subject})
        return replace(self, places={**self.places, name: passed})

    def squatted(self, name: str) -> "World":
        """Return the world after an administrator made a Namespace of that name by hand."""
        return replace(self, places={**self.places, name: Place()})

    def cleared(self, name: str) -> "World":
        """Return the world after an administrator deleted a Namespace that is no LNamespace's."""
        places = {key: value for key, value in self.places.items() if key != name}
        return replace(self, places=places).housed()

    def tampered(self, gifts: Iterable[Grant], lost: Iterable[Power]) -> "World":
        """Somebody changed what the controller keeps; until it is mended."""
        return replace(self, gifts=self.gifts | set(gifts), lost=self.lost | set(lost))

    def upgraded(self, layout: Layout) -> "World":
        """Sudo comes to be otherwise for everybody."""
        return replace(self, layout=layout, moving=False)

    def between(self) -> "World":
        """Somebody is about to change that: sudo may be either way, for whom the lists have."""
        return replace(self, moving=True)

    def at_rest(self) -> "World":
        """Everything mended, and every LNamespace with the Namespace that it can have."""
        mended = replace(self, gifts=frozenset(), lost=frozenset(), everywhere=False, moving=False)
        return mended.housed()

    def housed(self) -> "World":
        """Return every LNamespace with the Namespace that it can have, at rest or not."""
        made = {
            name: Place(claim.number)
            for name, claim in self.claims.items()
            if name not in self.places and not claim.going
        }
        return replace(self, places={**self.places, **made})


def sudoers(name: str, layout: Layout) -> Subject:
    """Return the group, or the account, that stands for the sudoers of an LNamespace."""
    if layout is Layout.GROUP:
        return Subject("Group", f"{name}-sudoers")
    return Subject("ServiceAccount", name, ACCOUNTS)


def with_sudo(who: Who, name: str, layout: Layout) -> Who:
    """Return as whom somebody acts with sudo: themselves in the group, or the account."""
    return who.sudo(name) if layout is Layout.GROUP else account(ACCOUNTS, name)
