"""From what is and what should be to what is to be done. Pure; nothing to do costs nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lnamespace.kube.objects import DesiredObject, Key, ObservedObject
from lnamespace.kube.resources import Resource

Getter = Callable[[Resource, Key], ObservedObject | None]
"""Tells what is known of an object."""


@dataclass(frozen=True)
class Create:
    """Make what is not there."""

    desired: DesiredObject


@dataclass(frozen=True)
class Patch:
    """Make what differs as it should be."""

    desired: DesiredObject
    observed: ObservedObject


@dataclass(frozen=True)
class Recreate:
    """Delete and make anew: a binding's role cannot be changed, nor a quota's scope."""

    desired: DesiredObject
    observed: ObservedObject


@dataclass(frozen=True)
class Delete:
    """Remove what should not be."""

    resource: Resource
    observed: ObservedObject


Action = Create | Patch | Recreate | Delete


def plan_actions(
    wanted: Iterable[DesiredObject], look: Getter, possible: Iterable[tuple[Resource, Key]] = ()
) -> tuple[Action, ...]:
    """What makes the cluster as wanted.

    ``possible`` are the places where something of ours may be: what is there and not wanted is
    deleted, last, so that nobody who keeps their access is without it for a moment.
    """
    wanted = tuple(wanted)
    changes = [action for want in wanted if (action := _change(want, look))]
    kept = {(want.resource, want.key) for want in wanted}
    left_over = [place for place in possible if place not in kept]
    deletions = [Delete(place[0], seen) for place in left_over if (seen := look(*place))]
    return (*changes, *deletions)


def _change(want: DesiredObject, look: Getter) -> Action | None:
    seen = look(want.resource, want.key)
    if seen is None:
        return Create(want)
    if seen.matches(want):
        return None
    return Patch(want, seen) if seen.can_be_patched_to(want) else Recreate(want, seen)
