"""The parts of Namespaces and RBAC objects that we manage, as values.

One type serves both sides: what should be is built from it, what is is decoded into it. What is
not named here is not ours, is never read and never overwritten.
"""

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    RBAC,
    ROLE,
    ROLE_BINDING,
    Resource,
)

MANAGED_BY = "app.kubernetes.io/managed-by"


class OwnerReference(msgspec.Struct, frozen=True, order=True, rename="camel", omit_defaults=True):
    """Whose an object is (meta/v1); the garbage collector acts on it."""

    uid: str
    api_version: str
    kind: str
    name: str
    controller: bool = False
    block_owner_deletion: bool = False


class PolicyRule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A rule of a role (rbac/v1). All its lists count when it is compared."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """The role that a binding gives; immutable in the API."""

    kind: str
    name: str
    api_group: str = RBAC


class RbacSubject(msgspec.Struct, frozen=True, order=True, rename="camel", omit_defaults=True):
    """To whom a binding gives its role, with every default filled in."""

    kind: str
    name: str
    namespace: str = ""
    api_group: str = ""


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The part of meta/v1 ObjectMeta that we manage or need."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | UnsetType = UNSET
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class Object(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A Namespace, a role or a binding."""

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""
    rules: tuple[PolicyRule, ...] | None = ()
    role_ref: RoleRef | UnsetType = UNSET
    subjects: tuple[RbacSubject, ...] = ()
    aggregation_rule: Raw | UnsetType = UNSET

    def manifest(self) -> dict[str, Any]:
        """As the API takes it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        order = ("apiVersion", "kind", "metadata", "rules", "roleRef", "subjects")
        return {key: built[key] for key in order if key in built}


Key = tuple[str, str]
"""Namespace (empty where there is none) and name: what tells objects of a kind apart."""


class Marks(msgspec.Struct, frozen=True):
    """The labels and annotations that are ours to say; all others belong to other people."""

    manager: str
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()

    @property
    def selector(self) -> str:
        """Selects on the server what we manage."""
        return f"{MANAGED_BY}={self.manager}"


class Wanted(msgspec.Struct, frozen=True):
    """An object that should be."""

    resource: Resource
    object: Object
    fingerprint: bytes

    @property
    def key(self) -> Key:
        """Where it should be."""
        return self.object.metadata.namespace, self.object.metadata.name


class Seen(msgspec.Struct, frozen=True):
    """What we keep of an object that is: enough to tell whether it is as it should be."""

    key: Key
    uid: str
    version: int
    terminating: bool
    managed: bool
    owners: tuple[str, ...]
    annotations: dict[str, str]
    role_ref: RoleRef | None
    fingerprint: bytes
    held: bool = False
    """By a finalizer, somebody's: deleting it would not end it."""


_decoder = msgspec.json.Decoder(Object)


def wanted(resource: Resource, built: Object, marks: Marks) -> Wanted:
    """Make a built object comparable with what is seen."""
    return Wanted(resource, built, _fingerprint(built, marks))


def read(raw: bytes | Raw, marks: Marks) -> Seen:
    """Keep of an object what the plan needs."""
    found = _decoder.decode(raw)
    meta = found.metadata
    return Seen(
        key=(meta.namespace, meta.name),
        uid=meta.uid,
        version=int(meta.resource_version),
        terminating=meta.deletion_timestamp is not UNSET,
        managed=meta.labels.get(MANAGED_BY) == marks.manager,
        owners=tuple(reference.uid for reference in meta.owner_references),
        annotations={k: v for k, v in meta.annotations.items() if k in marks.annotations},
        role_ref=found.role_ref or None,
        fingerprint=_fingerprint(found, marks),
        held=bool(meta.finalizers),
    )


def patch(want: Wanted, uid: str, marks: Marks) -> dict[str, Any]:
    """The JSON merge patch that makes our parts of the object as wanted.

    Every list is given whole, so an added entry goes and an emptied list empties. The UID makes
    the server refuse when the object is not the one we mean but a later one of its name.
    """
    meta = want.object.metadata
    change: dict[str, Any] = {
        "metadata": {
            "uid": uid,
            "labels": {key: meta.labels.get(key) for key in (MANAGED_BY, *marks.labels)},
            "annotations": {key: meta.annotations.get(key) for key in marks.annotations},
            "ownerReferences": msgspec.to_builtins(meta.owner_references),
        }
    }
    if want.resource is not NAMESPACE:
        change["metadata"]["finalizers"] = None
    if want.resource in (ROLE, CLUSTER_ROLE):
        change["rules"] = msgspec.to_builtins(want.object.rules)
        change["aggregationRule"] = None
    if want.resource in (ROLE_BINDING, CLUSTER_ROLE_BINDING):
        change["subjects"] = msgspec.to_builtins(want.object.subjects)
    return change


def release(uid: str) -> dict[str, Any]:
    """The JSON merge patch that takes all finalizers off an object that is to go at once."""
    return {"metadata": {"uid": uid, "finalizers": None}}


def _fingerprint(obj: Object, marks: Marks) -> bytes:
    """Sixteen bytes that differ when any part that we manage does.

    Kept in place of the parts themselves: a binding of 500 people costs no more than one of two.
    """
    meta = obj.metadata
    parts = (
        [meta.labels.get(key) for key in (MANAGED_BY, *marks.labels)],
        [meta.annotations.get(key) for key in marks.annotations],
        sorted(meta.owner_references),
        obj.rules or (),
        obj.role_ref or None,
        obj.subjects,
        obj.aggregation_rule or None,
        # Of a grant: a finalizer would keep it in force after it was deleted.
        meta.finalizers if obj.role_ref or obj.rules else (),
    )
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()
