"""What the hostile do: to what the controller keeps, and to what is not theirs."""

from collections.abc import Iterator
from typing import Literal

from tests.e2e.rights_model.cast import ADMIN, STRANGER, SUBJECTS, WHO
from tests.e2e.rights_model.model import (
    BECOMING,
    Ability,
    Grant,
    Layout,
    Power,
    World,
    sudoers,
    with_sudo,
)
from tests.e2e.rights_model.questions import NOBODY
from tests.e2e.rights_model.steps import Need, Parts, Personal, Step, Worlds, sudo

Target = Literal["users", "sudo", "editor", "sudoer", "self", "decoy"]
How = Literal["unbind", "unrole", "add", "widen", "strip", "swap"]

ABILITIES: dict[Target, Ability] = {
    "users": Ability.WORK,
    "sudo": Ability.RULE,
    "editor": Ability.EDIT,
    "self": Ability.SELF,
    "decoy": Ability.WORK,
}
HOW: dict[Target, tuple[How, ...]] = {
    "users": ("unbind", "add", "strip", "swap"),
    "sudo": ("unbind", "add", "strip"),
    "editor": ("unbind", "unrole", "add", "widen", "strip"),
    "sudoer": ("unbind", "unrole", "add", "widen", "strip"),
    "self": ("unbind", "unrole", "add", "widen", "strip"),
    "decoy": ("add",),
}
"""A decoy has the name of what would be in the Namespace in the other layout of sudo."""


class Tamper(Personal, frozen=True, tag=True, kw_only=True):
    """Changes or deletes what the controller keeps; ``label`` is who should profit or suffer."""

    target: Target
    how: How
    label: str = "eve"

    def needs(self, layout: Layout) -> Iterator[Need]:
        """None but administrators: also what is in the Namespace is not its sudoers' to write."""
        yield from self.takes(layout)

    def power(self, layout: Layout) -> Power:
        """Return what the object gives."""
        place = SUBJECTS[self.label].username if self.target == "self" else self.name
        return Power(ABILITIES.get(self.target, BECOMING[layout]), place)

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        """While the layout changes nobody can tell where these are."""
        del parts
        if self.target == "decoy" and not all(map(self._settled, worlds)):
            return True
        of_sudo = self.target not in ("users", "editor")
        return of_sudo and any(world.moving for world in worlds)

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        """Return whether the object is there."""
        del parts
        if self.target == "decoy":
            return True
        there = {self._there(world, now) for world in worlds}
        return there.pop() if len(there) == 1 else None

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        layout = world.layout
        return (world.tampered(self._gifts(layout), self._lost(layout)), world)

    def _there(self, world: World, now: float) -> bool:
        mine = self.power(world.layout)
        if mine in world.lost or world.everywhere:
            return False
        if self.target in ("self", "sudoer"):
            # Without anybody on the list a binding may be there and empty.
            return any(power == mine for _, power in world.grants(now)) or (
                self.target == "sudoer" and world.owns(self.name) and self._claimed(world)
            )
        return self._claimed(world) and (self.target == "editor" or world.owns(self.name))

    def _settled(self, world: World) -> bool:
        return self._claimed(world) and world.owns(self.name) and not world.everywhere

    def _claimed(self, world: World) -> bool:
        return self.name in world.claims and not world.claims[self.name].going

    def _gifts(self, layout: Layout) -> Iterator[Grant]:
        eve = SUBJECTS["eve"]
        if self.how == "add":
            yield eve, self.power(layout)
        if self.how == "swap":
            yield eve, Power(Ability.RULE, self.name)
        if self.how == "widen":  # to whoever is bound to the role, now or before it is mended
            everybody = (*SUBJECTS.values(), sudoers(self.name, layout))
            yield from ((who, Power(self.power(layout).ability)) for who in everybody)

    def _lost(self, layout: Layout) -> Iterator[Power]:
        if self.how in ("unbind", "unrole", "swap"):
            yield self.power(layout)


Attack = Literal[
    "status", "class", "relabel", "disown", "delete-namespace", "unquota", "masters", "other",
    "reserved", "bind-more", "bind-elsewhere", "token", "nobody's-role",
]  # fmt: skip


AtTheAccounts = Literal[
    "stand", "stand-more", "stand-abroad", "stand-creates", "namesake",
    "make-account", "make-token", "make-secret", "make-pod", "edit-role", "bind-role",
]  # fmt: skip
MADE: tuple[AtTheAccounts, ...] = ("make-account", "make-token", "make-secret", "make-pod")
"""What not even an administrator may, in either layout."""


class Steal(Step, frozen=True, tag=True, kw_only=True):
    """Tries what nobody may, whoever they are; ``label`` is the victim."""

    attack: Attack | AtTheAccounts
    label: str = "ann"

    def needs(self, layout: Layout) -> Iterator[Need]:
        who = WHO.get(self.actor, STRANGER)
        if self.attack == "unquota":  # which sudoers may
            yield from sudo(who, self.name, layout)
            yield with_sudo(who, self.name, layout), _of(Ability.RULE, self.name)
        elif self.attack == "masters":
            yield who, _of(Ability.BECOME)
        elif self.attack == "other":
            yield who, _of(Ability.SELF, SUBJECTS[self.label].username)
        elif self.attack == "stand":  # which sudoers may, in that layout
            yield from sudo(who, self.name, Layout.ACCOUNT)
        elif self.attack == "stand-more":
            yield from sudo(who, self.name, Layout.ACCOUNT)
            yield who, _of(Ability.BECOME)
        else:
            yield who, NOBODY

    def possible(self, worlds: Worlds, parts: Parts, now: float) -> bool | None:
        del worlds, parts, now
        return None

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        """Administrators may do all the rest."""
        del worlds, parts
        return self.actor == ADMIN and self.attack not in MADE


def _of(ability: Ability, place: str = "") -> frozenset[Power]:
    return frozenset({Power(ability, place), Power(ability)})
