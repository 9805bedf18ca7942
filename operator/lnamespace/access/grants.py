"""Build roles and bindings that one LNamespace owns."""

from dataclasses import dataclass

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import ObjectMeta, OwnerReference, PolicyRule, RbacSubject, RoleRef
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject, desired_object
from lnamespace.model.lnamespace import KIND, LNamespace

Subjects = tuple[RbacSubject, ...]


@dataclass(frozen=True)
class GrantBuilder:
    """A builder of an LNamespace's roles and bindings, with its labels and owner reference."""

    lns: LNamespace
    conventions: Conventions

    def cluster_role_and_binding(
        self, name: str, rule: PolicyRule, bound: Subjects
    ) -> tuple[DesiredObject, DesiredObject]:
        """Build a ClusterRole of one rule and the ClusterRoleBinding that binds it."""
        meta, managed = self._meta(name), self.conventions.managed_metadata
        ref = RoleRef(CLUSTER_ROLE.kind, name)
        role = rbac.role(meta, CLUSTER_ROLE.kind, rule)
        binding = rbac.binding(meta, CLUSTER_ROLE_BINDING.kind, ref, bound)
        return (
            desired_object(CLUSTER_ROLE, role, managed),
            desired_object(CLUSTER_ROLE_BINDING, binding, managed),
        )

    def role_and_binding(
        self, namespace: str, name: str, rule: PolicyRule, bound: Subjects
    ) -> tuple[DesiredObject, DesiredObject]:
        """Build a Role of one rule and its RoleBinding, in any namespace."""
        meta, managed = self._meta(name, namespace), self.conventions.managed_metadata
        role = rbac.role(meta, ROLE.kind, rule)
        binding = rbac.binding(meta, ROLE_BINDING.kind, RoleRef(ROLE.kind, name), bound)
        return (
            desired_object(ROLE, role, managed),
            desired_object(ROLE_BINDING, binding, managed),
        )

    def role_binding(self, name: str, role: str, bound: Subjects) -> DesiredObject:
        """Build a RoleBinding in the LNamespace's Namespace to an existing ClusterRole."""
        meta, ref = self._meta(name, self.lns.name), RoleRef(CLUSTER_ROLE.kind, role)
        built = rbac.binding(meta, ROLE_BINDING.kind, ref, bound)
        return desired_object(ROLE_BINDING, built, self.conventions.managed_metadata)

    def _meta(self, name: str, namespace: str = "") -> ObjectMeta:
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
