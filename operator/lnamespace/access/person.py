"""The objects of one person, shared by all LNamespaces that list them as a sudoer.

``--as-group`` needs ``--as``, so a sudoer must be allowed to impersonate somebody, and the only
harmless somebody is themselves. One role and one binding a person, owned by every LNamespace
that needs them; the garbage collector takes them with the last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import (
    DesiredObject,
    Key,
    ObjectMeta,
    OwnerReference,
    RoleRef,
    desired_object,
)
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import subject_digest
from lnamespace.model.subject import Subject, SubjectKind


@dataclass(frozen=True, order=True)
class Person:
    """One person by digest; ``namespace`` is that of a ServiceAccount, else empty."""

    digest: str
    namespace: str = ""

    @classmethod
    def of(cls, subject: Subject) -> Self:
        """The person that a subject is."""
        return cls(subject_digest(subject), subject.namespace)


def self_impersonator(
    subject: Subject, sponsors: Mapping[str, str], conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """What lets a person impersonate just themselves, owned by ``sponsors`` (name to UID).

    The API server authorises impersonation of a ServiceAccount in its own namespace, so theirs
    are a Role and a RoleBinding there: a ClusterRole would reach its namesakes everywhere.
    """
    if not sponsors:
        return ()
    (binding_resource, (namespace, name)), (role_resource, _) = person_refs(
        Person.of(subject), conventions
    )
    meta = ObjectMeta(
        name=name,
        namespace=namespace,
        labels=conventions.labels(),
        annotations={conventions.names.person_annotation: subject.username},
        owner_references=_owners(sponsors, conventions),
    )
    what = "users" if subject.kind is SubjectKind.USER else "serviceaccounts"
    role = rbac.role(meta, role_resource.kind, rbac.impersonate(what, subject.name))
    ref = RoleRef(role_resource.kind, name)
    binding = rbac.binding(meta, binding_resource.kind, ref, (rbac.subject(subject),))
    return (
        desired_object(role_resource, role, conventions.managed_metadata),
        desired_object(binding_resource, binding, conventions.managed_metadata),
    )


def person_refs(
    person: Person, conventions: Conventions
) -> tuple[tuple[Resource, Key], tuple[Resource, Key]]:
    """Where the person's objects are: the binding, then the role."""
    key = (person.namespace, conventions.names.self_impersonator(person.digest))
    if person.namespace:
        return (ROLE_BINDING, key), (ROLE, key)
    return (CLUSTER_ROLE_BINDING, key), (CLUSTER_ROLE, key)


def _owners(sponsors: Mapping[str, str], conventions: Conventions) -> tuple[OwnerReference, ...]:
    """Neither controller nor blocking: no LNamespace may wait for another's."""
    references = (
        OwnerReference(uid, conventions.api_version, KIND, name) for name, uid in sponsors.items()
    )
    return tuple(sorted(references))
