"""Compare desired with observed objects and return the actions and patches that make them equal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lnamespace.kube.objects import MANAGED_BY, Key, ObjectRef
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    PROFILE_RESOURCES,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import DesiredObject, ManagedMetadata, ObservedObject, spec_fields

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


def build_patch(
    desired: DesiredObject, observed: ObservedObject, managed: ManagedMetadata
) -> dict[str, Any]:
    """Return the patch that makes the parts of an object that we manage as desired.

    Every list is given whole, so an added entry is removed and an emptied list becomes empty. The
    UID is a precondition: the API server refuses the patch for a later object of the same name.
    """
    meta = desired.object.metadata
    labels = {key: meta.labels.get(key) for key in (MANAGED_BY, *managed.labels)}
    patch: dict[str, Any] = {
        "metadata": {
            "uid": observed.uid,
            "labels": labels | desired.labels,
            "annotations": {key: meta.annotations.get(key) for key in managed.annotations},
            "ownerReferences": msgspec.to_builtins(meta.owner_references),
        }
    }
    if desired.resource is not NAMESPACE:
        patch["metadata"]["finalizers"] = None
    if desired.resource in (ROLE, CLUSTER_ROLE):
        patch["rules"] = msgspec.to_builtins(desired.object.rules)
        patch["aggregationRule"] = None
    if desired.resource in (ROLE_BINDING, CLUSTER_ROLE_BINDING):
        patch["subjects"] = msgspec.to_builtins(desired.object.subjects)
    if desired.resource in PROFILE_RESOURCES:
        patch["spec"] = merge_patch(spec_fields(observed.spec), spec_fields(desired.spec))
    return patch


def build_finalizer_removal(uid: str) -> dict[str, Any]:
    """Return the patch that removes all finalizers of an object, so that it can be deleted."""
    return {"metadata": {"uid": uid, "finalizers": None}}


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the patch that makes ``old`` into ``new``; neither may contain null."""
    removed: dict[str, Any] = {key: None for key in old if key not in new}
    return removed | {key: _value(old, key, new[key]) for key in new if old.get(key) != new[key]}


def _value(old: dict[str, Any], key: str, new: Any) -> Any:
    before = old.get(key)
    return merge_patch(before, new) if isinstance(before, dict) and isinstance(new, dict) else new
