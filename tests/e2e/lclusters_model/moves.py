"""What happens in a play: what somebody does inside an LCluster or to one, and what befalls all."""

import math
from dataclasses import replace
from typing import Literal

import msgspec

from tests.e2e.lclusters_model.authority import TOKENS, Right
from tests.e2e.lclusters_model.things import AnyThing
from tests.e2e.lclusters_model.world import Inside, Login, Place, World
from tests.e2e.rights_model.model import Entry, Lists, Subject

ADMIN = "admin"
"""An administrator of the platform; all others are nobody there."""

Victim = Literal[
    "gateway", "controller", "webhook", "kube-apiserver", "etcd", "kube-controller-manager"
]
Names = tuple[tuple[str, int], ...]
"""People, and for how many seconds each; 0 is for ever."""


class Move(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Something that happens, by somebody, in or to an LCluster."""

    actor: str = ADMIN
    lcluster: str = ""

    def allowed(self, world: World, now: float) -> bool:
        """Return whether it is done, and not refused."""
        del world, now
        return True

    def after(self, world: World, now: float) -> World:
        """Return the world once it is done."""
        del now
        return world

    @property
    def touched(self) -> frozenset[Place]:
        """Return what of it may be fading, when nobody can tell what comes of it."""
        return frozenset({(self.lcluster, "")})


class Indoors(Move, frozen=True, tag=True, kw_only=True):
    """Something inside an LCluster: as oneself, with `kubectl sudo`, or with `--as`."""

    sudo: bool = False
    other: str = ""

    def allowed(self, world: World, now: float) -> bool:
        guise = world.acting(self.lcluster, self.actor, now, sudo=self.sudo, other=self.other)
        inside = world.lclusters.get(self.lcluster)
        if guise is None or inside is None or inside.suspended:
            return False
        right, namespace = self.needed()
        return inside.may(guise, (right,), namespace)

    def needed(self) -> tuple[Right, str]:
        """Return the right that it takes, and where."""
        raise NotImplementedError


class Make(Indoors, frozen=True, tag=True, kw_only=True):
    """Somebody creates something."""

    thing: AnyThing

    def needed(self) -> tuple[Right, str]:
        return Right("create", self.thing.resource), self.thing.namespace

    def allowed(self, world: World, now: float) -> bool:
        if not super().allowed(world, now):
            return False
        inside, thing = world.lclusters[self.lcluster], self.thing
        guise = world.acting(self.lcluster, self.actor, now, sudo=self.sudo, other=self.other)
        granted = guise is not None and thing.granted(inside, guise)
        return granted and thing.possible(inside) and not thing.there(inside)

    def after(self, world: World, now: float) -> World:
        del now
        inside = world.lclusters.get(self.lcluster)
        if inside is None:
            return world
        return world.with_(self.lcluster, self.thing.made(inside, world.serial + 1))

    @property
    def touched(self) -> frozenset[Place]:
        return super().touched | _touched(self.lcluster, self.thing)


class Drop(Indoors, frozen=True, tag=True, kw_only=True):
    """Somebody deletes something."""

    thing: AnyThing

    def needed(self) -> tuple[Right, str]:
        return Right("delete", self.thing.resource, self.thing.name), self.thing.namespace

    def allowed(self, world: World, now: float) -> bool:
        return super().allowed(world, now) and self.thing.there(world.lclusters[self.lcluster])

    def after(self, world: World, now: float) -> World:
        del now
        inside = world.lclusters.get(self.lcluster)
        if inside is None:
            return world
        left = world.with_(self.lcluster, self.thing.gone(inside))
        fades = {(self.lcluster, self.thing.name)} if self.thing.fades else set()
        return replace(left, fading=left.fading | fades)

    @property
    def touched(self) -> frozenset[Place]:
        return super().touched | _touched(self.lcluster, self.thing)


class Issue(Indoors, frozen=True, tag=True, kw_only=True):
    """Somebody asks for a token of a ServiceAccount, and has it from then on as a login."""

    label: str
    namespace: str
    name: str

    def needed(self) -> tuple[Right, str]:
        return Right("create", TOKENS, self.name), self.namespace

    def allowed(self, world: World, now: float) -> bool:
        there = super().allowed(world, now)
        return there and (self.namespace, self.name) in world.lclusters[self.lcluster].accounts

    def after(self, world: World, now: float) -> World:
        del now
        inside = world.lclusters.get(self.lcluster)
        place = (self.namespace, self.name)
        if inside is None or place not in inside.accounts:
            return world
        serial = inside.accounts[place]
        login = Login(self.lcluster, inside.number, place=place, serial=serial)
        return replace(world, logins={**world.logins, self.label: login})


class Certify(Indoors, frozen=True, tag=True, kw_only=True):
    """Somebody asks for a client certificate and approves it, which takes an administrator."""

    label: str
    user: str
    group: str

    def needed(self) -> tuple[Right, str]:
        return Right("*", "*"), ""

    def after(self, world: World, now: float) -> World:
        del now
        inside = world.lclusters.get(self.lcluster)
        if inside is None:
            return world
        login = Login(self.lcluster, inside.number, self.user, (self.group,))
        return replace(world, logins={**world.logins, self.label: login})


class CreateLCluster(Move, frozen=True, tag=True, kw_only=True):
    """Somebody creates an LCluster; anybody may."""

    users: Names = ()
    managers: Names = ()
    sudoers: Names = ()

    def lists(self, now: float) -> Lists:
        """Return the lists as they count."""
        return Lists(*map(_entries, (self.users, self.managers, self.sudoers), (now,) * 3))

    def allowed(self, world: World, now: float) -> bool:
        del now
        return self.lcluster not in world.lclusters

    def after(self, world: World, now: float) -> World:
        return world.with_(self.lcluster, Inside(world.serial + 1, self.lists(now)))


class Amend(Move, frozen=True, tag=True, kw_only=True):
    """Somebody changes an LCluster itself, at the platform's API server."""

    def allowed(self, world: World, now: float) -> bool:
        if self.actor == ADMIN:
            return self.lcluster in world.lclusters
        return world.edits(self.lcluster, self.actor, now)

    def after(self, world: World, now: float) -> World:
        inside = world.lclusters.get(self.lcluster)
        return world if inside is None else world.with_(self.lcluster, self.amended(inside, now))

    def amended(self, inside: Inside, now: float) -> Inside:
        """Return the LCluster after it."""
        raise NotImplementedError


class Relist(Amend, frozen=True, tag=True, kw_only=True):
    """Somebody writes the lists anew: grants, revokes, both."""

    users: Names = ()
    managers: Names = ()
    sudoers: Names = ()

    def amended(self, inside: Inside, now: float) -> Inside:
        lists = map(_entries, (self.users, self.managers, self.sudoers), (now,) * 3)
        return replace(inside, lists=Lists(*lists))


class Suspend(Amend, frozen=True, tag=True, kw_only=True):
    """Somebody suspends an LCluster, or opens it, which only the platform does."""

    how: Literal["", "ReadOnly", "Closed"] = ""

    def allowed(self, world: World, now: float) -> bool:
        inside = world.lclusters.get(self.lcluster)
        levels = ["", "ReadOnly", "Closed"]
        opens = inside is not None and levels.index(self.how) < levels.index(inside.suspended)
        if opens and self.actor != ADMIN:
            return False
        return super().allowed(world, now)

    def amended(self, inside: Inside, now: float) -> Inside:
        del now
        return replace(inside, suspended=self.how)


class Revoke(Amend, frozen=True, tag=True, kw_only=True):
    """Somebody revokes a token or a certificate."""

    label: str

    def allowed(self, world: World, now: float) -> bool:
        return self.label in world.logins and super().allowed(world, now)

    def amended(self, inside: Inside, now: float) -> Inside:
        del now
        return replace(inside, revoked=inside.revoked | {self.label})


class DeleteLCluster(Amend, frozen=True, tag=True, kw_only=True):
    """Somebody deletes an LCluster with all that is in it."""

    def after(self, world: World, now: float) -> World:
        del now
        return world.razed(self.lcluster)


class Crash(Move, frozen=True, tag=True, kw_only=True):
    """A process is killed. All but the controllers are started again at once."""

    process: Victim

    def after(self, world: World, now: float) -> World:
        del now
        return replace(world, away=True) if self.process in ("kube-apiserver", "etcd") else world


class Lapse(Move, frozen=True, tag=True, kw_only=True):
    """The time passes at which the next entry of a list ends."""


class Rest(Move, frozen=True, tag=True, kw_only=True):
    """Everything is started, and must become as the model says."""

    def after(self, world: World, now: float) -> World:
        del now
        return world.at_rest()


AnyMove = (
    Make
    | Drop
    | Issue
    | Certify
    | CreateLCluster
    | Relist
    | Suspend
    | Revoke
    | DeleteLCluster
    | Crash
    | Lapse
    | Rest
)

_decoder = msgspec.json.Decoder(AnyMove)


def to_line(move: AnyMove) -> str:
    """Return a move as a line of a file."""
    return msgspec.json.encode(move).decode()


def from_line(line: str) -> AnyMove:
    """Return a move from a line of a file."""
    move: AnyMove = _decoder.decode(line)
    return move


def described(move: AnyMove) -> str:
    """Return a move as people read it."""
    fields = msgspec.to_builtins(move)
    kind, actor, lcluster = (fields.pop(key, "") for key in ("type", "actor", "lcluster"))
    thing = fields.pop("thing", None)
    told = f"{actor}{' with sudo' if fields.pop('sudo', False) else ''}"
    other = fields.pop("other", "")
    rest = [f"{key}={value}" for key, value in {**fields, **(thing or {})}.items() if value]
    return " ".join(filter(None, (f"{told}:", other and f"as {other}", kind, lcluster, *rest)))


def _touched(lcluster: str, thing: AnyThing) -> frozenset[Place]:
    return frozenset({(lcluster, thing.namespace or thing.name), (lcluster, thing.resource)})


def _entries(names: Names, now: float) -> tuple[Entry, ...]:
    return tuple(
        Entry(Subject("User", name), math.ceil(now) + seconds if seconds else math.inf)
        for name, seconds in names
    )
