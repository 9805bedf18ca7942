"""What one LNamespace gives: a role of its own to somebody, or a ClusterRole in its Namespace."""

from dataclasses import dataclass

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import (
    DesiredObject,
    ObjectMeta,
    OwnerReference,
    PolicyRule,
    RbacSubject,
    RoleRef,
    desired_object,
)
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
)
from lnamespace.model.lnamespace import KIND, LNamespace

Subjects = tuple[RbacSubject, ...]


@dataclass(frozen=True)
class GrantBuilder:
    """Makes the grants of one LNamespace: labelled as its own, and gone with it."""

    lns: LNamespace
    conventions: Conventions

    def everywhere(
        self, name: str, rule: PolicyRule, bound: Subjects
    ) -> tuple[DesiredObject, DesiredObject]:
        """A ClusterRole of one rule, bound in the whole cluster."""
        meta, managed_metadata = self._meta(name), self.conventions.managed_metadata
        ref = RoleRef(CLUSTER_ROLE.kind, name)
        role = rbac.role(meta, CLUSTER_ROLE.kind, rule)
        binding = rbac.binding(meta, CLUSTER_ROLE_BINDING.kind, ref, bound)
        return desired_object(CLUSTER_ROLE, role, managed_metadata), desired_object(
            CLUSTER_ROLE_BINDING, binding, managed_metadata
        )

    def at(
        self, namespace: str, name: str, rule: PolicyRule, bound: Subjects
    ) -> tuple[DesiredObject, DesiredObject]:
        """A Role of one rule, bound in the namespace that it is in, whosever that is."""
        meta, managed_metadata = self._meta(name, namespace), self.conventions.managed_metadata
        role = rbac.role(meta, ROLE.kind, rule)
        binding = rbac.binding(meta, ROLE_BINDING.kind, RoleRef(ROLE.kind, name), bound)
        return desired_object(ROLE, role, managed_metadata), desired_object(
            ROLE_BINDING, binding, managed_metadata
        )

    def inside(self, name: str, role: str, bound: Subjects) -> DesiredObject:
        """A ClusterRole that others made, bound in the LNamespace's own Namespace."""
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
    """What has an object go when its LNamespace goes."""
    return OwnerReference(
        lns.uid, conventions.api_version, KIND, lns.name, controller=True, block_owner_deletion=True
    )
