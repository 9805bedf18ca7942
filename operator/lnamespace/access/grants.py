"""What one LNamespace gives: a role of its own to somebody, or a ClusterRole in its Namespace."""

from dataclasses import dataclass

from lnamespace.access import rbac
from lnamespace.access.layout import Layout
from lnamespace.kube.objects import (
    ObjectMeta,
    OwnerReference,
    PolicyRule,
    RbacSubject,
    RoleRef,
    Wanted,
    wanted,
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
class Grants:
    """Makes the grants of one LNamespace: labelled as its own, and gone with it."""

    lns: LNamespace
    layout: Layout

    def everywhere(self, name: str, rule: PolicyRule, bound: Subjects) -> tuple[Wanted, Wanted]:
        """A ClusterRole of one rule, bound in the whole cluster."""
        meta, marks = self._meta(name), self.layout.marks
        ref = RoleRef(CLUSTER_ROLE.kind, name)
        role = rbac.role(meta, CLUSTER_ROLE.kind, rule)
        binding = rbac.binding(meta, CLUSTER_ROLE_BINDING.kind, ref, bound)
        return wanted(CLUSTER_ROLE, role, marks), wanted(CLUSTER_ROLE_BINDING, binding, marks)

    def at(
        self, namespace: str, name: str, rule: PolicyRule, bound: Subjects
    ) -> tuple[Wanted, Wanted]:
        """A Role of one rule, bound in the namespace that it is in, whosever that is."""
        meta, marks = self._meta(name, namespace), self.layout.marks
        role = rbac.role(meta, ROLE.kind, rule)
        binding = rbac.binding(meta, ROLE_BINDING.kind, RoleRef(ROLE.kind, name), bound)
        return wanted(ROLE, role, marks), wanted(ROLE_BINDING, binding, marks)

    def inside(self, name: str, role: str, bound: Subjects) -> Wanted:
        """A ClusterRole that others made, bound in the LNamespace's own Namespace."""
        meta, ref = self._meta(name, self.lns.name), RoleRef(CLUSTER_ROLE.kind, role)
        built = rbac.binding(meta, ROLE_BINDING.kind, ref, bound)
        return wanted(ROLE_BINDING, built, self.layout.marks)

    def _meta(self, name: str, namespace: str = "") -> ObjectMeta:
        return ObjectMeta(
            name=name,
            namespace=namespace,
            labels=self.layout.labels(self.lns.name),
            owner_references=(owner(self.lns, self.layout),),
        )


def owner(lns: LNamespace, layout: Layout) -> OwnerReference:
    """What has an object go when its LNamespace goes."""
    return OwnerReference(
        lns.uid, layout.api_version, KIND, lns.name, controller=True, block_owner_deletion=True
    )
