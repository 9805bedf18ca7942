"""Build JSON merge patches (RFC 7386) that make an observed object as desired."""

from typing import Any

import msgspec

from lnamespace.kube.objects import MANAGED_BY
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    PROFILE_RESOURCES,
    ROLE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject, ManagedMetadata, ObservedObject, spec_fields


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
