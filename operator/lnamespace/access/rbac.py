"""Build RBAC objects: subjects, rules, roles and bindings."""

from collections.abc import Iterable
from dataclasses import dataclass

from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import (
    Object,
    ObjectMeta,
    OwnerReference,
    PolicyRule,
    RbacSubject,
    RoleRef,
)
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    RBAC,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.kube.state import DesiredObject, ManagedMetadata, desired_object
from lnamespace.model.lnamespace import KIND, LNamespace
from lnamespace.model.subject import Subject, SubjectKind

CLUSTER_ADMIN = "cluster-admin"
"""The ClusterRole of Kubernetes that may do everything."""


def subject(of: Subject) -> RbacSubject:
    """Return a subject of a binding, with the defaults that the API server would fill in."""
    if of.kind is SubjectKind.SERVICE_ACCOUNT:
        return RbacSubject(of.kind.value, of.name, of.namespace)
    return RbacSubject(of.kind.value, of.name, api_group=RBAC)


def group(name: str) -> RbacSubject:
    """Return a group as the subject of a binding."""
    return RbacSubject(SubjectKind.GROUP.value, name, api_group=RBAC)


def subjects(of: Iterable[Subject]) -> tuple[RbacSubject, ...]:
    """Return the subjects of a binding."""
    return tuple(subject(one) for one in of)


def impersonate(resource: str, name: str) -> PolicyRule:
    """Return a rule that allows impersonating one user, group or ServiceAccount.

    It always has a name: without one it would allow impersonating everybody.
    """
    return PolicyRule(("impersonate",), ("",), (resource,), (name,))


def role_and_binding(
    meta: ObjectMeta, rule: PolicyRule, bound: Iterable[RbacSubject], managed: ManagedMetadata
) -> tuple[DesiredObject, DesiredObject]:
    """Build a role of one rule and its binding: of the cluster, if they have no namespace."""
    kind, binding_kind = (
        (ROLE, ROLE_BINDING) if meta.namespace else (CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
    )
    role = Object(meta, kind.api_version, kind.kind, rules=(rule,))
    return (
        desired_object(kind, role, managed),
        binding(meta, binding_kind, RoleRef(kind.kind, meta.name), bound, managed),
    )


def binding(
    meta: ObjectMeta,
    kind: Resource,
    role_ref: RoleRef,
    bound: Iterable[RbacSubject],
    managed: ManagedMetadata,
) -> DesiredObject:
    """Build a RoleBinding or ClusterRoleBinding."""
    subjects = tuple(dict.fromkeys(bound))
    built = Object(meta, kind.api_version, kind.kind, role_ref=role_ref, subjects=subjects)
    return desired_object(kind, built, managed)


Subjects = tuple[RbacSubject, ...]


@dataclass(frozen=True)
class GrantBuilder:
    """A builder of an LNamespace's roles and bindings, with its labels and owner reference."""

    lns: LNamespace
    conventions: Conventions

    def role_and_binding(
        self, name: str, rule: PolicyRule, bound: Subjects, namespace: str = ""
    ) -> tuple[DesiredObject, DesiredObject]:
        """Build a role of one rule and its binding: in any namespace, or of the cluster."""
        meta = self._meta(name, namespace)
        return role_and_binding(meta, rule, bound, self.conventions.managed_metadata)

    def role_binding(self, name: str, role: str, bound: Subjects) -> DesiredObject:
        """Build a RoleBinding in the LNamespace's Namespace to an existing ClusterRole."""
        meta, ref = self._meta(name, self.lns.name), RoleRef(CLUSTER_ROLE.kind, role)
        return binding(meta, ROLE_BINDING, ref, bound, self.conventions.managed_metadata)

    def _meta(self, name: str, namespace: str) -> ObjectMeta:
        return ObjectMeta(
            name=name,
            namespace=namespace,
            labels=self.conventions.labels(self.lns.name),
            owner_references=(owner_reference(self.lns, self.conventions),),
        )


def owner_reference(lns: LNamespace, conventions: Conventions) -> OwnerReference:
    """Return the reference by which the garbage collector deletes what an LNamespace owns."""
    return OwnerReference(
        lns.uid, conventions.api_version, KIND, lns.name, controller=True, block_owner_deletion=True
    )
