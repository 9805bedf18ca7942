"""The parts of Namespaces, RBAC objects and limits that we manage, as values.

One type serves both sides: what should be is built from it, what is is decoded into it. What is
not named here is not ours, is never read and never overwritten.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lnamespace.kube import merge
from lnamespace.kube.answers import decode, version_of
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    PROFILE_RESOURCES,
    RBAC,
    ROLE,
    ROLE_BINDING,
    Resource,
)

MANAGED_BY = "app.kubernetes.io/managed-by"
NAME_LABEL = "kubernetes.io/metadata.name"
"""The API server puts it on every Namespace, and back."""


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
    """A Namespace, a role, a binding or a limit. Only limits have a spec that is ours."""

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""
    rules: tuple[PolicyRule, ...] | None = ()
    role_ref: RoleRef | UnsetType = UNSET
    subjects: tuple[RbacSubject, ...] = ()
    aggregation_rule: Raw | UnsetType = UNSET
    spec: Raw | UnsetType = UNSET

    def manifest(self) -> dict[str, Any]:
        """As the API takes it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        order = ("apiVersion", "kind", "metadata", "rules", "roleRef", "subjects")
        return {key: built[key] for key in order if key in built}


Key = tuple[str, str]
"""Namespace (empty for an object of the cluster) and name: an object among those of its kind."""

ObjectRef = tuple[Resource, Key]
"""An object by resource and key, whether it exists or not."""


class ManagedMetadata(msgspec.Struct, frozen=True):
    """The labels and annotations that are ours to say; all others belong to other people.

    ``match_labels`` are labels, and their values, that tell what is ours from what others of
    the same manager have; empty: it must not be there.
    """

    manager: str
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    match_labels: dict[str, str] = {}

    @property
    def selector(self) -> str:
        """Selects on the server what we manage."""
        parts = (
            f"{key}={value}" if value else f"!{key}" for key, value in self.match_labels.items()
        )
        return ",".join((f"{MANAGED_BY}={self.manager}", *parts))


class DesiredObject(msgspec.Struct, frozen=True):
    """An object that should be.

    ``labels`` are further ones that should be as they are here; None: that should not be there.
    """

    resource: Resource
    object: Object
    fingerprint: bytes
    labels: dict[str, str | None] = {}

    @property
    def key(self) -> Key:
        """Where it should be."""
        return self.object.metadata.namespace, self.object.metadata.name


class ObservedObject(msgspec.Struct, frozen=True):
    """What we keep of an object that is: enough to tell whether it is as it should be.

    ``labels`` are those that are not ours; they and ``annotations`` are kept of Namespaces only.
    ``spec`` is a limit's, one copy for all that are equal.
    """

    key: Key
    uid: str
    version: int
    terminating: bool
    managed: bool
    owners: tuple[str, ...]
    annotations: dict[str, str]
    role_ref: RoleRef | None
    fingerprint: bytes
    has_finalizers: bool = False
    """By a finalizer, somebody's: deleting it would not end it."""
    watched: bool = True
    """Whether our watch tells of it: not of what has not the labels of what is ours."""
    labels: dict[str, str] = {}
    spec: bytes = b""

    def matches(self, want: DesiredObject) -> bool:
        """Whether it is as it should be."""
        labels = want.labels.items()
        return self.fingerprint == want.fingerprint and all(
            self.labels.get(key) == value for key, value in labels
        )

    def can_be_patched_to(self, want: DesiredObject) -> bool:
        """Whether it can become as it should be: the API lets no one change some fields."""
        same_role = self.role_ref == (want.object.role_ref or None)
        return same_role and _scope(self.spec) == _scope(_spec(want.object))


_decoder = msgspec.json.Decoder(Object)
_anything = msgspec.json.Decoder()


def desired_object(
    resource: Resource,
    built: Object,
    managed_metadata: ManagedMetadata,
    labels: dict[str, str | None] | None = None,
) -> DesiredObject:
    """Make a built object comparable with what is seen."""
    return DesiredObject(resource, built, _fingerprint(built, managed_metadata), labels or {})


def read_observed(raw: bytes | Raw, managed_metadata: ManagedMetadata) -> ObservedObject:
    """Keep of an object what the plan needs; raises Unreadable."""
    found = decode(_decoder, raw)
    meta = found.metadata
    managed = meta.labels.get(MANAGED_BY) == managed_metadata.manager
    match_labels = all(
        meta.labels.get(key, "") == value for key, value in managed_metadata.match_labels.items()
    )
    ours = (MANAGED_BY, NAME_LABEL, *managed_metadata.labels)
    # What is written on it is asked of Namespaces only; of all others the fingerprint says whether
    # they are as they should be, however much people write there.
    whole = not (meta.namespace or found.role_ref or found.rules)
    return ObservedObject(
        key=(meta.namespace, meta.name),
        uid=meta.uid,
        version=version_of(meta.resource_version),
        terminating=meta.deletion_timestamp is not UNSET,
        managed=managed,
        owners=tuple(reference.uid for reference in meta.owner_references),
        annotations=_kept(
            meta.annotations, lambda key: whole and key in managed_metadata.annotations
        ),
        role_ref=found.role_ref or None,
        fingerprint=_fingerprint(found, managed_metadata),
        has_finalizers=bool(meta.finalizers),
        watched=managed and match_labels,
        labels=_kept(meta.labels, lambda key: whole and key not in ours),
        spec=_spec(found),
    )


_NOTHING: dict[str, str] = {}


def _kept(pairs: dict[str, str], wanted_key: Callable[[str], bool]) -> dict[str, str]:
    """Keep some of the pairs; none at all cost no memory."""
    return {key: value for key, value in pairs.items() if wanted_key(key)} or _NOTHING


def build_patch(
    want: DesiredObject, seen: ObservedObject, managed_metadata: ManagedMetadata
) -> dict[str, Any]:
    """The JSON merge patch that makes our parts of the object as wanted.

    Every list is given whole, so an added entry goes and an emptied list empties. The UID makes
    the server refuse when the object is not the one we mean but a later one of its name.
    """
    meta = want.object.metadata
    labels = {key: meta.labels.get(key) for key in (MANAGED_BY, *managed_metadata.labels)}
    change: dict[str, Any] = {
        "metadata": {
            "uid": seen.uid,
            "labels": labels | want.labels,
            "annotations": {key: meta.annotations.get(key) for key in managed_metadata.annotations},
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
    if want.resource in PROFILE_RESOURCES:
        change["spec"] = merge.change(_fields(seen.spec), _fields(_spec(want.object)))
    return change


def build_finalizer_removal(uid: str) -> dict[str, Any]:
    """The JSON merge patch that takes all finalizers off an object that is to go at once."""
    return {"metadata": {"uid": uid, "finalizers": None}}


def _fingerprint(obj: Object, managed_metadata: ManagedMetadata) -> bytes:
    """Sixteen bytes that differ when any part that we manage does.

    Kept in place of the parts themselves: a binding of 500 people costs no more than one of two.
    """
    meta = obj.metadata
    parts = (
        [meta.labels.get(key) for key in (MANAGED_BY, *managed_metadata.labels)],
        [meta.annotations.get(key) for key in managed_metadata.annotations],
        sorted(meta.owner_references),
        obj.rules or (),
        obj.role_ref or None,
        obj.subjects,
        obj.aggregation_rule or None,
        # Of a grant: a finalizer would keep it in force after it was deleted.
        meta.finalizers if obj.role_ref or obj.rules else (),
        *([_spec(obj)] if meta.namespace and obj.spec else ()),
    )
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()


def _spec(obj: Object) -> bytes:
    """The spec of what is in a namespace, in one form; that of a Namespace is the server's."""
    return canonical_json(bytes(obj.spec)) if obj.spec and obj.metadata.namespace else b""


@lru_cache(maxsize=1024)
def canonical_json(spec: bytes) -> bytes:
    """The same JSON with its keys in order, as one object in memory however many have it."""
    return msgspec.json.encode(decode(_anything, spec), order="sorted")


def _fields(spec: bytes) -> dict[str, Any]:
    return msgspec.json.decode(spec, type=dict[str, Any]) if spec else {}


def _scope(spec: bytes) -> tuple[Any, ...]:
    """What a ResourceQuota is about, which cannot be changed (core/v1 validation)."""
    fields = _fields(spec)
    return fields.get("scopes"), fields.get("scopeSelector")
