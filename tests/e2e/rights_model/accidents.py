"""What happens to the cluster and to our processes, and what time does."""

from dataclasses import replace
from typing import Literal

from tests.e2e.rights_model.model import Layout, World
from tests.e2e.rights_model.steps import Parts, Step, Worlds

Process = Literal[
    "controller", "webhook", "ledger", "kube-apiserver", "etcd", "kube-controller-manager"
]


class Kill(Step, frozen=True, tag=True, kw_only=True):
    """A process crashes. Those of the cluster that answer requests are started again at once."""

    process: Process

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        if self.process in ("kube-apiserver", "etcd"):
            return replace(world, everywhere=True), world
        return ()


class Pause(Step, frozen=True, tag=True, kw_only=True):
    """The controller stands still, as on a machine that is too busy."""


class Lose(Step, frozen=True, tag=True, kw_only=True):
    """The ledger is started where its database is not."""


class Start(Step, frozen=True, tag=True, kw_only=True):
    """What is down or stands still goes on."""


class Upgrade(Step, frozen=True, tag=True, kw_only=True):
    """The release is upgraded to a layout of sudo: first the policies know it.

    The controller goes on with the other one until it is started anew, at the latest when
    everything must settle.
    """

    layout: Layout

    def idle(self, worlds: Worlds, parts: Parts) -> bool:
        del parts
        return worlds[-1].layout is self.layout

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        upgraded = world.upgraded(self.layout)
        return upgraded, upgraded.between()


class Hurry(Step, frozen=True, tag=True, kw_only=True):
    """The controller is started with the other layout of sudo before the policies know it.

    It can make nothing of that; what is there must stay, and follow the lists.
    """

    def after(self, world: World, now: float) -> tuple[World, ...]:
        del now
        return (world.between(),)


class Elapse(Step, frozen=True, tag=True, kw_only=True):
    """The time passes at which the next entry ends."""


class Settle(Step, frozen=True, tag=True, kw_only=True):
    """Everything is started, and must become as the lists say."""
