"""Namespaces, RBAC objects and the objects of a profile: the parts of them that we manage.

One type serves both sides: a desired object is built from it, an observed one is decoded into it.
A field that is not here is never read and never overwritten.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lnamespace.kube.resources import RBAC, Resource

MANAGED_BY = "app.kubernetes.io/managed-by"
NAME_LABEL = "kubernetes.io/metadata.name"
"""A label that the API server sets on every Namespace, and restores."""


class OwnerReference(msgspec.Struct, frozen=True, order=True, rename="camel", omit_defaults=True):
    """An owner of an object (meta/v1), by which the garbage collector deletes it."""

    uid: str
    api_version: str
    kind: str
    name: str
    controller: bool = False
    block_owner_deletion: bool = False


class PolicyRule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A rule of a role (rbac/v1)."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """The role that a binding gives; immutable."""

    kind: str
    name: str
    api_group: str = RBAC


class RbacSubject(msgspec.Struct, frozen=True, order=True, rename="camel", omit_defaults=True):
    """A subject of a binding, with every default filled in."""

    kind: str
    name: str
    namespace: str = ""
    api_group: str = ""


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The part of meta/v1 ObjectMeta that is managed or read."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | UnsetType = UNSET
    creation_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class Object(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A Namespace, role, binding or profile object; only the last have a spec that we manage."""

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""
    rules: tuple[PolicyRule, ...] | None = ()
    role_ref: RoleRef | UnsetType = UNSET
    subjects: tuple[RbacSubject, ...] = ()
    aggregation_rule: Raw | UnsetType = UNSET
    spec: Raw | UnsetType = UNSET

    def manifest(self) -> dict[str, Any]:
        """Return the object as a manifest, its fields in the usual order."""
        built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {"apiVersion": self.api_version, "kind": self.kind} | built


Key = tuple[str, str]
"""The key of an object among those of its kind: namespace (empty if cluster-scoped) and name."""

ObjectRef = tuple[Resource, Key]
"""The resource and the key of an object, which need not exist."""
