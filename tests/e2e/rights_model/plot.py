"""Makes plays of seeds: the same seed, the same play. Pure.

It is made along the model, as if every step were done and settled at once: so most steps have
some sense. Kinds are dealt from a deck, so that each comes soon.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import get_args

from tests.e2e.rights_model.accidents import (
    Elapse,
    Hurry,
    Kill,
    Lose,
    Pause,
    Process,
    Settle,
    Start,
    Upgrade,
)
from tests.e2e.rights_model.cast import ADMIN, LISTED, SUBJECTS, SUDOERS, WHO
from tests.e2e.rights_model.lines import AnyStep
from tests.e2e.rights_model.misdeeds import (
    HOW,
    MADE,
    Attack,
    AtTheAccounts,
    How,
    Steal,
    Tamper,
    Target,
)
from tests.e2e.rights_model.model import BECOMING, Ability, Layout, Lists, Power, World
from tests.e2e.rights_model.steps import (
    Clear,
    Create,
    Delete,
    Edit,
    Hold,
    Line,
    Parts,
    PassOn,
    Propagation,
    Protect,
    Release,
    Script,
    Squat,
)

NAMES = ("one", "two", "three")
_GROUP, _ACCOUNT = Layout.GROUP, Layout.ACCOUNT

KINDS: Mapping[str, tuple[Layout, ...]] = {
    "changing": (_GROUP, _ACCOUNT, _GROUP, _ACCOUNT, _GROUP),
    "group": (_GROUP,),
    "serviceaccount": (_ACCOUNT,),
}
"""The layouts of sudo in which a play is played, one after another; all end where they began."""

_BURST = 4
"""At most so many steps before everything must settle."""

_HONEST = 0.75
"""How often a step is done by somebody who may."""

_HASTY = 0.5
"""How often the controller is ahead of the release when the layout of sudo changes."""

_LABELS: dict[str, str] = {subject.username: label for label, subject in LISTED.items()}


def plot(seed: int, length: int, kind: str = "group") -> list[AnyStep]:
    """Return a play of so many steps, at whose end everything is deleted."""
    author = _Author(random.Random(seed))
    steps: list[AnyStep] = []
    for number, layout in enumerate(KINDS[kind], 1):
        steps += author.upgrade(layout)
        while len(steps) < length * number / len(KINDS[kind]):
            steps += [author.step() for _ in range(author.dice.randint(1, _BURST))]
            steps.append(Settle())
    return [*steps, *author.upgrade(_GROUP), *ending()]


def ending() -> Iterator[AnyStep]:
    """Yield the steps by which an administrator takes everything away."""
    yield Settle()
    for name in NAMES:
        yield Release(name=name)
        yield Protect(name=name, on=False)
        yield Delete(name=name)
    yield Settle()
    yield from (Clear(name=name) for name in NAMES)
    yield Settle()


class _Author:
    """Thinks of steps, one after another."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self._world = World()
        self._deck: list[Callable[[str], AnyStep]] = []
        self._attacks: list[Attack | AtTheAccounts] = []
        self._tampers: list[tuple[Target, How]] = []

    def upgrade(self, layout: Layout) -> Iterator[AnyStep]:
        """Yield what has sudo in that layout, if it is not."""
        if layout is not self._world.layout:
            if self.dice.random() < _HASTY:
                yield Hurry()
                yield self.step()
            self._world = self._world.upgraded(layout)
            yield Upgrade(layout=layout)

    def step(self) -> AnyStep:
        """Return the next one, as if it were done."""
        if not self._deck:
            self._deck = [*self._kinds()]
            self.dice.shuffle(self._deck)
        few = len(self._world.claims) < self.dice.randint(0, len(NAMES))
        kind = self._create if few else self._deck.pop()
        step = kind(self._name())
        worlds, parts = [self._world], Parts()
        if not step.idle(worlds, parts) and self._allowed(step):
            for world in step.after(self._world, 0.0):
                self._world = world.at_rest()
        return step

    def _allowed(self, step: AnyStep) -> bool:
        possible = step.possible([self._world], Parts(), 0.0)
        needed = step.needs(self._world.layout)
        needs = all(self._world.may(who, powers, 0.0) for who, powers in needed)
        return possible is not False and needs

    def _kinds(self) -> Iterator[Callable[[str], AnyStep]]:
        """Yield a deck: how often each kind is in it."""
        yield from [self._create] * 4
        yield from [self._edit] * 8
        yield from [self._delete] * 3
        yield from [self._tamper] * 5
        yield from [self._steal] * 4
        yield from [self._pass_on] * 2
        yield from (self._protect, lambda n: Hold(name=n), lambda n: Release(name=n))
        yield from (lambda n: Squat(name=n), lambda n: Clear(name=n), lambda _: Elapse())
        yield from (lambda _: Pause(), lambda _: Start(), lambda _: Lose())
        yield from (partial(self._kill, process) for process in get_args(Process))
        yield partial(self._kill, "controller")

    def _kill(self, process: Process, _: str) -> AnyStep:
        return Kill(process=process)

    def _create(self, name: str) -> AnyStep:
        free = [one for one in NAMES if one not in self._world.claims]
        return Create(
            actor=self.dice.choice((*WHO, ADMIN)),
            name=self.dice.choice(free) if free else name,
            script=self._script() if self.dice.random() < 0.7 else Script(),
            retain=self.dice.random() < 0.2,
            forged=self.dice.choice(("", "", "eve")),
        )

    def _edit(self, name: str) -> AnyStep:
        actor, sudo, name = self._editor(name)
        claim = self._world.claims.get(name)
        script = _as_written(claim.lists) if claim else Script()
        for _ in range(self.dice.randint(1, 3)):
            script = self._changed(script)
        if not (script.managers or script.sudoers):
            script = replace_lines(script, managers=(Line("ann"),))
        return Edit(actor=actor, sudo=sudo, name=name, script=script)

    def _protect(self, name: str) -> AnyStep:
        actor, sudo, name = self._editor(name)
        return Protect(actor=actor, sudo=sudo, name=name, on=self.dice.random() < 0.3)

    def _delete(self, name: str) -> AnyStep:
        actor, sudo, name = self._editor(name)
        usual = [Propagation.BACKGROUND] * 3
        how = self.dice.choice((*usual, Propagation.FOREGROUND, Propagation.ORPHAN))
        return Delete(actor=actor, sudo=sudo, name=name, propagation=how)

    def _pass_on(self, name: str) -> AnyStep:
        actor = self._holder(Power(Ability.WORK, name))
        return PassOn(actor=actor or "eve", name=name, label=self._label())

    def _tamper(self, name: str) -> AnyStep:
        if not self._tampers:
            self._tampers = [(target, how) for target, ways in HOW.items() for how in ways]
            self.dice.shuffle(self._tampers)
        target, how = self._tampers.pop()
        ruler = self._holder(self._become(name))
        actor = self.dice.choice([ADMIN, ruler or ADMIN, "eve"])
        label = self._sudoer() if target == "self" else "eve"
        sudo = actor == ruler
        return Tamper(actor=actor, sudo=sudo, name=name, target=target, how=how, label=label)

    def _steal(self, name: str) -> AnyStep:
        if not self._attacks:
            self._attacks = [*get_args(Attack)]
            if self._world.layout is Layout.ACCOUNT:
                self._attacks += [*get_args(AtTheAccounts), *MADE]
            self.dice.shuffle(self._attacks)
        insider = self._holder(self._become(name))
        thief = insider if insider and self.dice.random() < _HONEST else "eve"
        attack = self._attacks.pop()
        if attack in MADE and self.dice.random() < _HONEST:
            thief = ADMIN
        return Steal(actor=thief, name=name, attack=attack, label=self._sudoer())

    # --- who and what

    def _name(self) -> str:
        there = [*self._world.claims]
        return self.dice.choice(there if there and self.dice.random() < _HONEST else NAMES)

    def _label(self) -> str:
        return self.dice.choice([*SUBJECTS])

    def _sudoer(self) -> str:
        return self.dice.choice(SUDOERS)

    def _editor(self, name: str) -> tuple[str, bool, str]:
        """Somebody, whether with sudo, and the name: mostly one that is there, by one who may."""
        if self._world.claims and name not in self._world.claims:
            name = self.dice.choice([*self._world.claims])
        if self.dice.random() > _HONEST:
            return self.dice.choice((*WHO, ADMIN)), self.dice.random() < 0.3, name
        sudo = self.dice.random() < 0.4
        holder = self._holder(self._become(name) if sudo else Power(Ability.EDIT, name))
        return (holder, sudo, name) if holder else (ADMIN, False, name)

    def _become(self, name: str) -> Power:
        return Power(BECOMING[self._world.layout], name)

    def _holder(self, power: Power) -> str:
        """Somebody who has it; empty if nobody does."""
        powers = frozenset({power})
        may = [label for label, who in WHO.items() if self._world.may(who, powers, 0.0)]
        return self.dice.choice(may) if may else ""

    def _script(self) -> Script:
        script = Script()
        for _ in range(self.dice.randint(1, 5)):
            script = self._changed(script)
        return script

    def _changed(self, script: Script) -> Script:
        """Somebody more on a list, or less."""
        field = self.dice.choice(("users", "managers", "sudoers"))
        label = self._sudoer() if field == "sudoers" else self._label()
        lines: tuple[Line, ...] = getattr(script, field)
        others = tuple(line for line in lines if line.label != label)
        if others == lines:
            seconds = self.dice.choice((0, 0, 0, 0, 2, 4))
            others += (Line(label, seconds),)
        return replace_lines(script, **{field: others})


def replace_lines(script: Script, **lines: Sequence[Line]) -> Script:
    """Return the script with other lines in some lists."""
    kept = {name: getattr(script, name) for name in ("users", "managers", "sudoers")}
    return Script(**{name: tuple(value) for name, value in (kept | lines).items()})


def _as_written(lists: Lists) -> Script:
    """Return the lists without what ends: at some time it has ended."""
    fields = {
        name: tuple(Line(_LABELS[e.subject.username]) for e in entries if e.ends == float("inf"))
        for name, entries in vars(lists).items()
    }
    return Script(**fields)
