"""Compare desired with observed objects and return the actions that make them equal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lnamespace.kube.objects import Key, ObjectRef
from lnamespace.kube.resources import Resource
from lnamespace.kube.state import DesiredObject, ObservedObject

Getter = Callable[[Resource, Key], ObservedObject | None]
"""Returns an object as last observed, None if there is none."""


@dataclass(frozen=True)
class Create:
    """The creation of an object that does not exist."""

    desired: DesiredObject


@dataclass(frozen=True)
class Patch:
    """A patch of an object that differs."""

    desired: DesiredObject
    observed: ObservedObject


@dataclass(frozen=True)
class Recreate:
    """A deletion and a creation: the role of a binding is immutable, and a quota's scope."""

    desired: DesiredObject
    observed: ObservedObject


@dataclass(frozen=True)
class Delete:
    """The deletion of an object that should not exist."""

    resource: Resource
    observed: ObservedObject


Action = Create | Patch | Recreate | Delete


@dataclass(frozen=True)
class NamespacePatch:
    """A patch of labels and annotations of a Namespace that is otherwise somebody else's."""

    observed: ObservedObject
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


Write = Action | NamespacePatch


def resource_changed(action: Action) -> Resource:
    """Return the resource that an action writes."""
    return action.resource if isinstance(action, Delete) else action.desired.resource


def plan_actions(
    desired: Iterable[DesiredObject], get: Getter, prunable: Iterable[ObjectRef] = ()
) -> tuple[Action, ...]:
    """Return the actions that make the cluster as desired; empty if it is so already.

    Parameters
    ----------
    desired
        The objects that should exist.
    get
        Returns an object as last observed.
    prunable
        The keys of all objects that may be ours. Those that exist and are not desired are deleted
        last, so that a user who keeps their access does not lose it for a moment.
    """
    desired = tuple(desired)
    changes = [action for one in desired if (action := _change(one, get))]
    kept = {(one.resource, one.key) for one in desired}
    unwanted = [ref for ref in prunable if ref not in kept]
    deletions = [Delete(ref[0], observed) for ref in unwanted if (observed := get(*ref))]
    return (*changes, *deletions)


def _change(desired: DesiredObject, get: Getter) -> Action | None:
    observed = get(desired.resource, desired.key)
    if observed is None:
        return Create(desired)
    if observed.matches(desired):
        return None
    if observed.can_be_patched_to(desired):
        return Patch(desired, observed)
    return Recreate(desired, observed)
