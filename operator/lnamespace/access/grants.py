"""Build roles and bindings that one LNamespace owns."""

from dataclasses import dataclass

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import ObjectMeta, OwnerReference, PolicyRule, RbacSubject, RoleRef
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject
from lnamespace.model.lnamespace import KIND, LNamespace

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
        return rbac.role_and_binding(meta, rule, bound, self.conventions.managed_metadata)

    def role_binding(self, name: str, role: str, bound: Subjects) -> DesiredObject:
        """Build a RoleBinding in the LNamespace's Namespace to an existing ClusterRole."""
        meta, ref = self._meta(name, self.lns.name), RoleRef(CLUSTER_ROLE.kind, role)
        return rbac.binding(meta, ROLE_BINDING, ref, bound, self.conventions.managed_metadata)

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
