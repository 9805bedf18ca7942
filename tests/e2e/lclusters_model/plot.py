"""Makes plays of seeds: the same seed, the same play. Pure.

It is made along the model, as if every move were done and settled at once, so that most moves have
some sense. Kinds are dealt from a deck, so that each comes soon.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args

from tests.e2e.lclusters_model.authority import BINDINGS, CLUSTER_ROLES, ROLES, Right
from tests.e2e.lclusters_model.moves import (
    ADMIN,
    AnyMove,
    Certify,
    Crash,
    CreateLCluster,
    DeleteLCluster,
    Drop,
    Issue,
    Lapse,
    Make,
    Names,
    Relist,
    Rest,
    Revoke,
    Suspend,
    Victim,
)
from tests.e2e.lclusters_model.stage import PEOPLE
from tests.e2e.lclusters_model.things import (
    AnyThing,
    Bar,
    Gift,
    Paper,
    Robot,
    Rules,
    Space,
    Widget,
    WidgetDefinition,
)
from tests.e2e.lclusters_model.world import SYSTEM, World
from tests.e2e.rights_model.model import Entry, Lists, Subject

LCLUSTERS = ("red", "blue")

_BURST = 5
"""At most so many moves before everything must settle."""
_HONEST = 0.75
"""How often something is tried that should be done."""
_TRIES = 25
"""So often something else is thought of until it should be done."""

_CLOSED = 0.3
"""How often what is suspended is closed."""

_SPACES = ("default", "work", "lab")
_RIGHTS = {
    "reader": (Right("list", "configmaps"), Right("get", "pods")),
    "keys": (Right("get", "secrets"),),
    "quotas": (Right("create", "resourcequotas"),),
    "mask": (Right("impersonate", "users", "boss"),),
    "binder": (Right("bind", CLUSTER_ROLES, "cluster-admin"), Right("create", BINDINGS)),
    "climber": (Right("escalate", ROLES), Right("create", ROLES)),
    "census": (Right("list", "namespaces"),),
    "root": (Right("*", "*"),),
}
_LABELS = ("", "", "play", "aggregate-to-view", "aggregate-to-admin")
_SUBJECTS = (
    *(Subject("User", each) for each in ("ann", "eve", "boss", "carl")),
    *(Subject("Group", each) for each in ("devs", "system:authenticated")),
    Subject("Group", "system:serviceaccounts"),
    Subject("ServiceAccount", "robot", "default"),
    Subject("ServiceAccount", "robot", "work"),
)
_MASKS = ("", "", "", "boss", "system:serviceaccount:default:robot")


def plot(seed: int, length: int) -> list[AnyMove]:
    """Return a play of so many moves, at whose end everything is deleted."""
    author = _Author(random.Random(seed))
    moves: list[AnyMove] = [author.next(author.founding) for _ in LCLUSTERS]
    moves.append(Rest())
    while len(moves) < length:
        moves += [author.move() for _ in range(author.dice.randint(2, _BURST))]
        moves.append(Rest())
    return [*moves, *ending()]


def ending() -> Iterator[AnyMove]:
    """Yield the moves by which an administrator takes everything away."""
    yield Rest()
    for name in LCLUSTERS:
        yield DeleteLCluster(lcluster=name)
    yield Rest()


class _Author:
    """Thinks of moves, one after another."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self._world = World()
        self._deck: list[Callable[[], AnyMove]] = []
        self._labels = 0

    def move(self) -> AnyMove:
        """Return the next one, as if it were done."""
        missing = [each for each in LCLUSTERS if each not in self._world.lclusters]
        if missing and self.dice.random() < 0.5:
            return self.next(self.founding)
        if not self._deck:
            self._deck = [*self._kinds()]
            self.dice.shuffle(self._deck)
        return self.next(self._deck.pop())

    def next(self, kind: Callable[[], AnyMove]) -> AnyMove:
        """Return a move of a kind, mostly one that should be done."""
        move, honest = kind(), self.dice.random() < _HONEST
        for _ in range(_TRIES if honest else 0):
            if move.allowed(self._world, 0.0):
                break
            move = kind()
        if isinstance(move, Lapse):
            self._world = _lapsed(self._world)
        elif move.allowed(self._world, 0.0):
            self._world = move.after(self._world, 0.0).at_rest()
        return move

    def founding(self) -> AnyMove:
        """Somebody creates an LCluster that is not there."""
        missing = [each for each in LCLUSTERS if each not in self._world.lclusters]
        name = self.dice.choice(missing or LCLUSTERS)
        users, managers, sudoers = self._names()
        return CreateLCluster(
            actor=self.dice.choice(PEOPLE),
            lcluster=name,
            users=users,
            managers=managers,
            sudoers=sudoers,
        )

    def _kinds(self) -> Iterator[Callable[[], AnyMove]]:
        """Yield a deck: how often each kind is in it."""
        yield from [self._make] * 20
        yield from [self._drop] * 5
        yield from [self._issue] * 4
        yield from [self._certify] * 2
        yield from [self._relist] * 4
        yield from [self._suspend] * 2
        yield from (self._open, self._revoke, self._delete, Lapse)
        yield from (lambda each=each: Crash(process=each) for each in get_args(Victim))

    def _make(self) -> AnyMove:
        actor, lcluster, sudo, other = self._insider()
        thing = self._thing(lcluster)
        return Make(actor=actor, lcluster=lcluster, sudo=sudo, other=other, thing=thing)

    def _drop(self) -> AnyMove:
        actor, lcluster, sudo, other = self._insider()
        there = [*self._there(lcluster)]
        thing = self.dice.choice(there) if there else self._thing(lcluster)
        return Drop(actor=actor, lcluster=lcluster, sudo=sudo, other=other, thing=thing)

    def _issue(self) -> AnyMove:
        actor, lcluster, sudo, other = self._insider()
        inside = self._world.lclusters.get(lcluster)
        place = self.dice.choice([*(inside.accounts if inside else ()), ("default", "robot")])
        return Issue(
            actor=actor,
            lcluster=lcluster,
            sudo=sudo,
            other=other,
            label=self._label("token"),
            namespace=place[0],
            name=place[1],
        )

    def _certify(self) -> AnyMove:
        user = self.dice.choice(("carl", "ann"))
        group = self.dice.choice(("devs", "nobody"))
        return Certify(
            actor=self.dice.choice(PEOPLE),
            lcluster=self.dice.choice(LCLUSTERS),
            sudo=True,
            label=self._label("certificate"),
            user=user,
            group=group,
        )

    def _relist(self) -> AnyMove:
        users, managers, sudoers = self._names()
        actor, lcluster = self._editor()
        lists = {"users": users, "managers": managers, "sudoers": sudoers}
        return Relist(actor=actor, lcluster=lcluster, **lists)

    def _suspend(self) -> AnyMove:
        actor, lcluster = self._editor()
        closed = self.dice.random() < _CLOSED
        return Suspend(actor=actor, lcluster=lcluster, how="Closed" if closed else "ReadOnly")

    def _open(self) -> AnyMove:
        return Suspend(actor=ADMIN, lcluster=self.dice.choice(LCLUSTERS))

    def _revoke(self) -> AnyMove:
        labels = [*self._world.logins]
        actor, lcluster = self._editor()
        if not labels:
            return self._relist()
        return Revoke(actor=actor, lcluster=lcluster, label=self.dice.choice(labels))

    def _delete(self) -> AnyMove:
        actor, lcluster = self._editor()
        return DeleteLCluster(actor=actor, lcluster=lcluster)

    # --- who and what

    def _names(self) -> tuple[Names, Names, Names]:
        """Three lists, of which the managers' is never empty and has no end."""
        users, managers, sudoers = (
            tuple(
                (each, self.dice.choice((0, 0, 0, 3)))
                for each in self.dice.sample(PEOPLE[:3], self.dice.randint(1, 3))
            )
            for _ in range(3)
        )
        return users, tuple((each, 0) for each, _ in managers), sudoers

    def _insider(self) -> tuple[str, str, bool, str]:
        actor = self.dice.choice((*PEOPLE, *PEOPLE, *self._world.logins))
        sudo = actor in PEOPLE and self.dice.random() < 0.5
        other = "" if sudo else self.dice.choice(_MASKS)
        return actor, self.dice.choice(LCLUSTERS), sudo, other

    def _editor(self) -> tuple[str, str]:
        return self.dice.choice((*PEOPLE, *PEOPLE, ADMIN)), self.dice.choice(LCLUSTERS)

    def _label(self, kind: str) -> str:
        self._labels += 1
        return f"{kind}-{self._labels}"

    def _thing(self, lcluster: str) -> AnyThing:
        inside = self._world.lclusters.get(lcluster)
        # In a namespace that is there, mostly.
        spaces = [each for each in _SPACES if inside is None or each in inside.namespaces]
        space = self.dice.choice((*spaces, *_SPACES))
        version = (inside.version if inside else "") or self.dice.choice(("v1", "v2"))
        kinds: tuple[Callable[[], AnyThing], ...] = (
            lambda: Space(name=self.dice.choice(_SPACES[1:])),
            lambda: Paper(namespace=space, name=f"paper-{self.dice.randint(1, 3)}"),
            lambda: Robot(namespace=space, name="robot"),
            lambda: Widget(namespace=space, name="widget", version=version),
            lambda: WidgetDefinition(version=self.dice.choice(("v1", "v2"))),
            lambda: Bar(name=self.dice.choice(("configmaps", "secrets"))),
            *[lambda: self._role(space)] * 3,
            *[lambda: self._gift(space)] * 4,
        )
        return self.dice.choice(kinds)()

    def _role(self, space: str) -> Rules:
        name = self.dice.choice([*_RIGHTS])
        if self.dice.random() < 0.4:
            return Rules(namespace=space, name=name, rights=_RIGHTS[name])
        if self.dice.random() < 0.2:
            return Rules(name="sum", sums="play")
        return Rules(name=name, rights=_RIGHTS[name], label=self.dice.choice(_LABELS))

    def _gift(self, space: str) -> Gift:
        subject = self.dice.choice(_SUBJECTS)
        name = f"gift-{self.dice.randint(1, 9)}"
        own = self.dice.choice([*_RIGHTS, "sum"])
        if self.dice.random() < 0.3:
            return Gift(namespace=space, name=name, kind="Role", role=own, subject=subject)
        role = self.dice.choice((own, own, "admin", "edit", "view", "cluster-admin"))
        everywhere = self.dice.random() < 0.4
        return Gift(namespace="" if everywhere else space, name=name, role=role, subject=subject)

    def _there(self, lcluster: str) -> Iterator[AnyThing]:
        """Yield what is in an LCluster, and can be deleted."""
        inside = self._world.lclusters.get(lcluster)
        if inside is None:
            return
        yield from (Space(name=each) for each in sorted(inside.namespaces - SYSTEM))
        yield from (Paper(namespace=ns, name=each) for ns, each in sorted(inside.papers))
        yield from (Robot(namespace=ns, name=each) for ns, each in sorted(inside.accounts))
        yield from (Rules(namespace=ns, name=each) for ns, each in sorted(inside.roles))
        for (space, name), binding in sorted(inside.bindings.items(), key=lambda each: each[0]):
            (subject,) = binding.subjects
            yield Gift(namespace=space, name=name, role=binding.role, subject=subject)
        for space, name in sorted(inside.widgets):
            yield Widget(namespace=space, name=name, version=inside.version)
        if inside.version:
            yield WidgetDefinition(version=inside.version)
        for barred in sorted(inside.barred):
            yield Bar(name="secrets" if barred == "secrets" else "configmaps")


def _lapsed(world: World) -> World:
    """Return the world when all that ends has ended."""

    def lasting(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(each for each in entries if each.ends == math.inf)

    for name, inside in world.lclusters.items():
        lists = inside.lists
        left = Lists(lasting(lists.users), lasting(lists.managers), lasting(lists.sudoers))
        world = world.with_(name, replace(inside, lists=left))
    return world
