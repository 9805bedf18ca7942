"""Build the objects of one person, shared by all LNamespaces that list them as a sudoer.

``--as-group`` needs ``--as``, so a sudoer must be allowed to impersonate somebody, and the only
harmless choice is themselves. Each person has one role and one binding, owned by every LNamespace
that lists them; the garbage collector deletes them with the last one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import ObjectMeta, ObjectRef, OwnerReference
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject
from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import subject_digest
from lnamespace.model.subject import Subject, SubjectKind


@dataclass(frozen=True, order=True)
class ImpersonatorKey:
    """A person by digest; ``namespace`` is that of a ServiceAccount, else empty."""

    digest: str
    namespace: str = ""

    @classmethod
    def from_subject(cls, subject: Subject) -> Self:
        """Return the person that a subject is."""
        return cls(subject_digest(subject), subject.namespace)


def self_impersonator(
    subject: Subject, sponsors: Mapping[str, str], conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """Return the role and binding that let a person impersonate themselves only.

    ``sponsors`` are the LNamespaces that own them, name to UID; with none there is no object. A
    ServiceAccount gets a Role in its own namespace: a ClusterRole would reach the accounts of the
    same name in all others.
    """
    if not sponsors:
        return ()
    impersonator = ImpersonatorKey.from_subject(subject)
    meta = ObjectMeta(
        name=conventions.names.self_impersonator(impersonator.digest),
        namespace=impersonator.namespace,
        labels=conventions.labels(),
        annotations={conventions.names.person_annotation: subject.username},
        owner_references=_owners(sponsors, conventions),
    )
    what = "users" if subject.kind is SubjectKind.USER else "serviceaccounts"
    rule, bound = rbac.impersonate(what, subject.name), (rbac.subject(subject),)
    return rbac.role_and_binding(meta, rule, bound, conventions.managed_metadata)


def impersonator_refs(
    impersonator: ImpersonatorKey, conventions: Conventions
) -> tuple[ObjectRef, ObjectRef]:
    """Return where the person's objects are: the binding, then the role."""
    key = (impersonator.namespace, conventions.names.self_impersonator(impersonator.digest))
    if impersonator.namespace:
        return (ROLE_BINDING, key), (ROLE, key)
    return (CLUSTER_ROLE_BINDING, key), (CLUSTER_ROLE, key)


def _owners(sponsors: Mapping[str, str], conventions: Conventions) -> tuple[OwnerReference, ...]:
    """Return references that do not block deletion: no LNamespace waits for another."""
    references = (
        OwnerReference(uid, conventions.api_version, KIND, name) for name, uid in sponsors.items()
    )
    return tuple(sorted(references))
