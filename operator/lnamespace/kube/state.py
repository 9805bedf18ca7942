"""Desired and observed objects, and whether they are equal."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from lnamespace.kube.answers import decode, version_of
from lnamespace.kube.objects import MANAGED_BY, NAME_LABEL, Key, Object, OwnerReference, RoleRef
from lnamespace.kube.resources import Resource


class ManagedMetadata(msgspec.Struct, frozen=True):
    """The labels and annotations that we manage; all others belong to somebody else.

    Parameters
    ----------
    manager
        The value of the label ``app.kubernetes.io/managed-by``.
    labels, annotations
        The keys that we write.
    match_labels
        Labels and values that tell our objects from those of others with the same manager; an
        empty value means that the label must not be there.
    """

    manager: str
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    match_labels: dict[str, str] = {}

    @property
    def selector(self) -> str:
        """Return the label selector of the objects that we manage."""
        labels = self.match_labels.items()
        parts = (f"{key}={value}" if value else f"!{key}" for key, value in labels)
        return ",".join((f"{MANAGED_BY}={self.manager}", *parts))


class DesiredObject(msgspec.Struct, frozen=True):
    """An object that should exist.

    ``labels`` are desired labels beside the managed ones; None as a value means no such label.
    """

    resource: Resource
    object: Object
    fingerprint: bytes
    labels: dict[str, str | None] = {}

    @property
    def key(self) -> Key:
        """Return the namespace and name."""
        return self.object.metadata.namespace, self.object.metadata.name

    @property
    def spec(self) -> bytes:
        """Return the spec as canonical JSON; empty where we manage none."""
        return _spec(self.object)


class ObservedObject(msgspec.Struct, frozen=True):
    """An object of the cluster, reduced to what is compared with a desired one.

    ``annotations``, ``labels`` (those that we do not manage) and ``created`` are kept of Namespaces
    only.
    ``spec`` is that of a profile object, one copy in memory for all that are equal.
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
    """Whether it has finalizers, so that a deletion does not end it at once."""
    watched: bool = True
    """Whether it has the labels that our watch selects."""
    labels: dict[str, str] = {}
    spec: bytes = b""
    created: str = ""
    """When it was created, as the API server wrote it."""
    emptied: bool = False
    """Whether it is a Namespace that is being deleted, in which only objects of one kind are left
    that may not be deleted."""
    undeletable: bool = False
    """Whether it is a Namespace that Kubernetes fails to delete; its conditions say why."""

    def matches(self, desired: DesiredObject) -> bool:
        """Return whether the object is as desired."""
        labels = desired.labels.items()
        return self.fingerprint == desired.fingerprint and all(
            self.labels.get(key) == value for key, value in labels
        )

    def can_be_patched_to(self, desired: DesiredObject) -> bool:
        """Return whether no immutable field differs."""
        same_role = self.role_ref == (desired.object.role_ref or None)
        return same_role and _scope(self.spec) == _scope(desired.spec)


_LONGEST_UID = 64
"""UIDs have 36 characters. Users may write a megabyte as that of an owner."""
_LONGEST_ROLE = 1024
"""No role of ours has such a name, however the rest of it goes on."""
_MOST_OWNERS = 10_000
"""An object has room for about as many owners with UIDs; with shorter texts, for ten times more."""

_object = msgspec.json.Decoder(Object)
_anything = msgspec.json.Decoder()
_NO_PAIRS: dict[str, str] = {}


def desired_object(
    resource: Resource,
    built: Object,
    managed: ManagedMetadata,
    labels: dict[str, str | None] | None = None,
) -> DesiredObject:
    """Return an object that was built as a desired one, with its fingerprint."""
    return DesiredObject(resource, built, _fingerprint(built, managed), labels or {})


def read_observed(raw: bytes | Raw, managed: ManagedMetadata) -> ObservedObject:
    """Read an object from JSON.

    Raises
    ------
    Unreadable
        The object is not JSON, or not of that form.
    """
    read = decode(_object, raw)
    meta = read.metadata
    is_managed = meta.labels.get(MANAGED_BY) == managed.manager
    is_matched = all(meta.labels.get(k, "") == v for k, v in managed.match_labels.items())
    ours = (MANAGED_BY, NAME_LABEL, *managed.labels)
    # Labels and annotations are needed of Namespaces only. For all other objects the fingerprint
    # shows whether they match, and users may write any number of them.
    is_namespace = not (meta.namespace or read.role_ref or read.rules)
    is_ending = is_namespace and meta.deletion_timestamp is not UNSET
    deletion = _read_deletion(raw) if is_ending else _NOT_DELETED
    return ObservedObject(
        key=(meta.namespace, meta.name),
        uid=meta.uid,
        version=version_of(meta.resource_version),
        terminating=meta.deletion_timestamp is not UNSET,
        managed=is_managed,
        owners=_owners(meta.owner_references),
        annotations=_select(
            meta.annotations, lambda key: is_namespace and key in managed.annotations
        ),
        role_ref=_role_ref(read.role_ref) if read.role_ref else None,
        fingerprint=_fingerprint(read, managed),
        has_finalizers=bool(meta.finalizers),
        watched=is_managed and is_matched,
        labels=_select(meta.labels, lambda key: is_namespace and key not in ours),
        spec=_spec(read),
        created=(meta.creation_timestamp or "") if is_namespace else "",
        emptied=deletion.emptied,
        undeletable=deletion.failed,
    )


def _owners(references: Sequence[OwnerReference]) -> tuple[str, ...]:
    uids = (each.uid for each in references if len(each.uid) <= _LONGEST_UID)
    return tuple(islice(uids, _MOST_OWNERS))


def _role_ref(role_ref: RoleRef) -> RoleRef:
    name = role_ref.name
    return role_ref if len(name) <= _LONGEST_ROLE else replace(role_ref, name=name[:_LONGEST_ROLE])


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    message: str = ""


class _NamespaceStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _DeletedNamespace(msgspec.Struct, frozen=True):
    status: _NamespaceStatus = _NamespaceStatus()


_deleted_namespace = msgspec.json.Decoder(_DeletedNamespace)
_FAILED_KINDS = re.compile("Failed to delete all resource types, ([0-9]+) remaining")


class _Deletion(NamedTuple):
    """What the namespace controller says of a Namespace that it deletes.

    Parameters
    ----------
    emptied
        Whether only objects of one kind are left, which may not be deleted yet.
    failed
        Whether anything else failed.
    """

    emptied: bool
    failed: bool


_NOT_DELETED = _Deletion(emptied=False, failed=False)


def _read_deletion(raw: bytes | Raw) -> _Deletion:
    """Read the conditions of a Namespace that is being deleted.

    They are those of k8s.io/kubernetes/pkg/controller/namespace/deletion.
    """
    conditions = {each.type: each for each in decode(_deleted_namespace, raw).status.conditions}
    nothing = _Condition()
    remaining = conditions.get("NamespaceContentRemaining", nothing)
    failure = conditions.get("NamespaceDeletionContentFailure", nothing)
    kinds = _FAILED_KINDS.match(failure.message)
    only = kinds is None or kinds[1] == "1"
    emptied = only and (remaining.status, failure.status) == ("False", "True")
    discovery = conditions.get("NamespaceDeletionDiscoveryFailure", nothing)
    return _Deletion(emptied, "True" in (discovery.status, "" if emptied else failure.status))


def _select(pairs: dict[str, str], is_kept: Callable[[str], bool]) -> dict[str, str]:
    """Return some of the pairs; where there are none, one object for all."""
    return {key: value for key, value in pairs.items() if is_kept(key)} or _NO_PAIRS


def _fingerprint(obj: Object, managed: ManagedMetadata) -> bytes:
    """Return sixteen bytes that differ when any part that we manage does.

    They are kept instead of the parts: a binding of 500 users takes no more memory than one of two.
    """
    meta = obj.metadata
    parts = (
        [meta.labels.get(key) for key in (MANAGED_BY, *managed.labels)],
        [meta.annotations.get(key) for key in managed.annotations],
        sorted(meta.owner_references),
        obj.rules or (),
        obj.role_ref or None,
        obj.subjects,
        obj.aggregation_rule or None,
        # A finalizer of a role or binding would keep it in force after its deletion.
        meta.finalizers if obj.role_ref or obj.rules else (),
        *([_spec(obj)] if meta.namespace and obj.spec else ()),
    )
    return blake2b(msgspec.json.encode(parts), digest_size=16).digest()


def _spec(obj: Object) -> bytes:
    """Return the spec of an object in a namespace; that of a Namespace is the API server's."""
    return canonical_json(bytes(obj.spec)) if obj.spec and obj.metadata.namespace else b""


def canonical_json(spec: bytes) -> bytes:
    """Return the same JSON with sorted keys, as one object in memory for all that are equal.

    A spec that no profile has is not remembered: a thousand of a megabyte, of objects that their
    namespace's users had created and deleted, took all memory.
    """
    return _remembered_json(spec) if len(spec) <= _LONGEST_SPEC else _sorted_json(spec)


def _sorted_json(spec: bytes) -> bytes:
    return msgspec.json.encode(decode(_anything, spec), order="sorted")


_LONGEST_SPEC = 16 * 1024
_remembered_json = lru_cache(maxsize=1024)(_sorted_json)


def spec_fields(spec: bytes) -> dict[str, Any]:
    """Return the fields of a spec; an empty mapping if it is empty."""
    return msgspec.json.decode(spec, type=dict[str, Any]) if spec else {}


def _scope(spec: bytes) -> tuple[Any, ...]:
    """Return the immutable fields of a ResourceQuota (core/v1 validation)."""
    fields = spec_fields(spec)
    return fields.get("scopes"), fields.get("scopeSelector")
