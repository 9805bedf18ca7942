"""What people do, honest and hostile, as data: a play can be kept, cut and played again.

Of each step it is said here which powers it takes, whether it is possible, and what the world is
after it. That is all the runner goes by: a step that may succeed or not, because the cluster is
on its way, is taken as it turned out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from tests.e2e.rights_model.cast import ADMIN, LISTED, SUBJECTS, WHO
from tests.e2e.rights_model.history import MARGIN
from tests.e2e.rights_model.model import (
    BECOMING,
    LOOK,
    Ability,
    Claim,
    Entry,
    Layout,
    Lists,
    Power,
    World,
    with_sudo,
)
from tests.e2e.rights_model.questions import Powers
from tests.e2e.support.people import Who

Worlds = Sequence[World]
Need = tuple[Who, Powers]


@dataclass
class Parts:
    """Which of our processes and of the cluster's are up; and in which layout people use sudo.

    That is what it was when everything was well: a change takes its time.
    """

    controller: bool = True
    webhook: bool = True
    collector: bool = True
    layout: Layout = Layout.GROUP


class Line(msgspec.Struct, frozen=True):
    """A line of a list: somebody, and for how many seconds; 0: for ever."""

    label: str
    seconds: int = 0

    def entry(self, now: float) -> Entry:
        """Return the entry as it counts; an end is a whole second."""
        ends = math.ceil(now) + self.seconds if self.seconds else math.inf
        return Entry(LISTED[self.label], ends)


class Script(msgspec.Struct, frozen=True):
    """Three lists as somebody writes them."""

    users: tuple[Line, ...] = ()
    managers: tuple[Line, ...] = ()
    sudoers: tuple[Line, ...] = ()

    def lists(self, now: float) -> Lists:
        """Return the lists as they count."""
        lines = (self.users, self.managers, self.sudoers)
        return Lists(*(tuple(line.entry(now) for line in some) for some in lines))


class Step(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Something that somebody does; ``name`` is an LNamespace's."""

    actor: str = ADMIN
    name: str = ""

    def needs(self, layout: Layout) -> Iterator[Need]:
        """Yield who must have one of which powers; of all these."""
        del layout
        yield from ()

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        """Return whether it can be done by whoever has the powers; None where nobody can tell."""
        del worlds, parts, now
        return True

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        """Return whether it has no meaning here, and is left out."""
        del worlds, parts
        return False

    def after(self, world: World, now: float) -> tuple[World, ...]:
        """Return the worlds that come of it, one after another."""
        del world, now
        return ()


class Personal(Step, frozen=True, tag=True, kw_only=True):
    """Something that somebody does as themselves or with sudo."""

    sudo: bool = False

    def takes(self, layout: Layout, *powers: Power) -> Iterator[Need]:
        if self.actor == ADMIN:
            return
        who = WHO[self.actor]
        if self.sudo:
            yield from sudo(who, self.name, layout)
            who = with_sudo(who, self.name, layout)
        yield who, frozenset(powers)


def sudo(who: Who, name: str, layout: Layout) -> Iterator[Need]:
    """Yield what it takes to act as the sudoers of an LNamespace do."""
    become = BECOMING[layout]
    if layout is Layout.GROUP:
        yield who, frozenset({Power(Ability.SELF, who.user), Power(Ability.SELF)})
    yield who, frozenset({Power(become, name), Power(become)})


class Create(Personal, frozen=True, tag=True, kw_only=True):
    """Creates an LNamespace, perhaps in another's name."""

    script: Script = Script()
    retain: bool = False
    forged: str = ""

    def needs(self, layout: Layout) -> Iterator[Need]:
        yield from self.takes(layout, LOOK)

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        del now
        return parts.webhook and self.name not in worlds[-1].claims

    def lists(self, now: float) -> Lists:
        """Return the lists once the webhook has filled in who asked, where nobody can edit."""
        lists = self.script.lists(now)
        if lists.managers or lists.sudoers:
            return lists
        creator = (Entry(LISTED[self.actor]),)
        if lists.users:
            return replace(lists, managers=creator)
        return Lists(creator, creator, creator)

    def after(self, world: World, now: float) -> tuple[World, ...]:
        return (world.created(self.name, self.lists(now), retain=self.retain),)


class Change(Personal, frozen=True, tag=True, kw_only=True):
    """Changes an LNamespace."""

    def needs(self, layout: Layout) -> Iterator[Need]:
        yield from self.takes(layout, Power(Ability.EDIT, self.name), Power(Ability.EDIT))

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        claim = worlds[-1].claims.get(self.name)
        if claim is None or (self.actor != ADMIN and not parts.webhook):
            return False
        lists = self.changed(claim, now).lists
        if self.actor == ADMIN or lists.editable(now + MARGIN):
            return True
        return None if lists.editable(now - MARGIN) else False

    def changed(self, claim: Claim, now: float) -> Claim:
        """Return the claim as it is then."""
        raise NotImplementedError

    def after(self, world: World, now: float) -> tuple[World, ...]:
        return (world.changed(self.name, self.changed(world.claims[self.name], now)),)


class Edit(Change, frozen=True, tag=True, kw_only=True):
    """Writes the lists anew: grants, revokes, both."""

    script: Script

    def changed(self, claim: Claim, now: float) -> Claim:
        return replace(claim, lists=self.script.lists(now))


class Protect(Change, frozen=True, tag=True, kw_only=True):
    """Protects from deletion, or no more."""

    on: bool

    def changed(self, claim: Claim, now: float) -> Claim:
        del now
        return replace(claim, protected=self.on)


class Propagation(StrEnum):
    """What becomes of what an LNamespace owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Delete(Personal, frozen=True, tag=True, kw_only=True):
    """Deletes an LNamespace."""

    propagation: Propagation = Propagation.BACKGROUND

    def needs(self, layout: Layout) -> Iterator[Need]:
        yield from self.takes(layout, Power(Ability.EDIT, self.name), Power(Ability.EDIT))

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        del parts, now
        claim = worlds[-1].claims.get(self.name)
        return claim is not None and not claim.protected

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        """Return whether a step has no effect: what stays must be there, and somebody must wait."""
        claim = worlds[-1].claims.get(self.name)
        if claim is None:
            return False
        stays = claim.retain or self.propagation is not Propagation.BACKGROUND
        fresh = not all(_number(world, self.name) == claim.number for world in worlds)
        return claim.going or (stays and (fresh or not parts.collector))

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        gone = world.deleted(self.name, orphan=self.propagation is Propagation.ORPHAN)
        if self.propagation is Propagation.BACKGROUND:
            return (gone,)
        going = replace(world.claims[self.name], going=True)
        return world.changed(self.name, going), gone


class Hold(Step, frozen=True, tag=True, kw_only=True):
    """An administrator's finalizer keeps an LNamespace that somebody deletes."""

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        del parts
        claim = worlds[-1].claims.get(self.name)
        return claim is None or claim.going or claim.protected

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        return (world.changed(self.name, replace(world.claims[self.name], going=True)),)


class Release(Step, frozen=True, tag=True, kw_only=True):
    """The finalizer is taken off."""

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        claim = worlds[-1].claims.get(self.name)
        unsure = claim is None or (claim.retain and not parts.collector)
        return unsure or claim is None or not claim.going

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        return (world.deleted(self.name),)


class PassOn(Personal, frozen=True, tag=True, kw_only=True):
    """A user of a namespace binds the users' role to somebody by a RoleBinding of their own."""

    label: str

    def needs(self, layout: Layout) -> Iterator[Need]:
        yield from self.takes(layout, Power(Ability.WORK, self.name))

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        del parts, now
        owners = {_owner(world, self.name) for world in worlds}
        return self.name in worlds[-1].places if len(owners) == 1 else None

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        if self.name not in world.places:
            return ()
        return (world.passed_on(self.name, SUBJECTS[self.label]),)


class Squat(Step, frozen=True, tag=True, kw_only=True):
    """An administrator makes a Namespace of that name, before anybody has it."""

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        del parts
        return any(self.name in world.claims or self.name in world.places for world in worlds)

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        return (world.squatted(self.name),)


class Clear(Step, frozen=True, tag=True, kw_only=True):
    """An administrator deletes a Namespace that is no LNamespace's."""

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        nobodys = all(_owner(world, self.name) == "nobody" for world in worlds)
        return not nobodys or not parts.collector

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        return (world.cleared(self.name),)


def _number(world: World, name: str) -> int | None:
    claim = world.claims.get(name)
    return claim.number if claim else None


def _owner(world: World, name: str) -> int | str | None:
    place = world.places.get(name)
    if place is None:
        return None
    return "nobody" if place.owner is None else place.owner
