"""The objects of one LNamespace: its Namespace and who may do what."""

from lnamespace.access import rbac
from lnamespace.access.entries import Entries
from lnamespace.access.layout import Layout
from lnamespace.access.ownership import Ownership
from lnamespace.kube.objects import (
    Key,
    Object,
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
    NAMESPACE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.model.lnamespace import KIND, PLURAL, DeletionPolicy, LNamespace
from lnamespace.model.names import SUDOERS_BINDING, USERS_BINDING


def tenant_objects(
    lns: LNamespace, entries: Entries, ownership: Ownership, layout: Layout
) -> tuple[Wanted, ...]:
    """All that should be for the LNamespace, given whose its Namespace is.

    Nothing reaches into a Namespace before it is known to be the LNamespace's own: a group's
    power over the predecessor's secrets must not be handed to the successor's sudoers.
    """
    always = editors(lns, entries, layout)
    match ownership:
        case Ownership.ABSENT:
            return namespace(lns, layout), *always
        case Ownership.OURS | Ownership.LEAVING:
            granted = (*sudo(lns, entries, layout), users(lns, entries, layout))
            return namespace(lns, layout), *always, *granted
        case Ownership.PREDECESSOR | Ownership.FOREIGN:
            return always


def namespace(lns: LNamespace, layout: Layout) -> Wanted:
    """The Namespace itself.

    With the policy Retain it has no owner, so the garbage collector leaves it; the annotation
    says whose it is either way.
    """
    retain = lns.spec.deletion_policy is DeletionPolicy.RETAIN
    meta = ObjectMeta(
        name=lns.name,
        labels=layout.labels(lns.name),
        annotations={layout.names.owner_annotation: lns.uid},
        owner_references=() if retain else (_owner(lns, layout),),
    )
    return wanted(NAMESPACE, Object(meta, "v1", "Namespace"), layout.marks)


def editors(lns: LNamespace, entries: Entries, layout: Layout) -> tuple[Wanted, ...]:
    """Who may edit the LNamespace itself: managers always, sudoers as the group."""
    name = layout.names.editor(lns.name)
    edit = PolicyRule(
        ("get", "update", "patch", "delete"), (layout.names.group,), (PLURAL,), (lns.name,)
    )
    sudoers = rbac.group(layout.names.sudoers_group(lns.name))
    bound = (*rbac.subjects(entries.managers), sudoers)
    return _cluster_grant(lns, layout, name, edit, bound)


def sudo(lns: LNamespace, entries: Entries, layout: Layout) -> tuple[Wanted, ...]:
    """Who may become the sudoers group, which is cluster-admin inside the namespace."""
    group = layout.names.sudoers_group(lns.name)
    impersonate = rbac.impersonate("groups", group)
    name = layout.names.sudoer(lns.name)
    return (
        *_cluster_grant(lns, layout, name, impersonate, rbac.subjects(entries.sudoers)),
        _in_namespace(lns, layout, SUDOERS_BINDING, "cluster-admin", (rbac.group(group),)),
    )


def users(lns: LNamespace, entries: Entries, layout: Layout) -> Wanted:
    """Who may work in the namespace all the time."""
    bound = rbac.subjects(entries.users)
    return _in_namespace(lns, layout, USERS_BINDING, layout.users_role, bound)


def places(tenant: str, layout: Layout) -> tuple[tuple[Resource, Key], ...]:
    """Where grants of this LNamespace may be; never the Namespace, which only ownership ends."""
    editor, sudoer = layout.names.editor(tenant), layout.names.sudoer(tenant)
    return (
        (CLUSTER_ROLE_BINDING, ("", sudoer)),
        (CLUSTER_ROLE_BINDING, ("", editor)),
        (ROLE_BINDING, (tenant, SUDOERS_BINDING)),
        (ROLE_BINDING, (tenant, USERS_BINDING)),
        (CLUSTER_ROLE, ("", sudoer)),
        (CLUSTER_ROLE, ("", editor)),
    )


def _cluster_grant(
    lns: LNamespace,
    layout: Layout,
    name: str,
    rule: PolicyRule,
    bound: tuple[RbacSubject, ...],
) -> tuple[Wanted, Wanted]:
    meta = _meta(lns, layout, name)
    ref = RoleRef("ClusterRole", name)
    role = rbac.role(meta, "ClusterRole", rule)
    binding = rbac.binding(meta, "ClusterRoleBinding", ref, bound)
    return (
        wanted(CLUSTER_ROLE, role, layout.marks),
        wanted(CLUSTER_ROLE_BINDING, binding, layout.marks),
    )


def _in_namespace(
    lns: LNamespace,
    layout: Layout,
    name: str,
    role: str,
    bound: tuple[RbacSubject, ...],
) -> Wanted:
    meta = _meta(lns, layout, name, namespace=lns.name)
    ref = RoleRef("ClusterRole", role)
    return wanted(ROLE_BINDING, rbac.binding(meta, "RoleBinding", ref, bound), layout.marks)


def _meta(lns: LNamespace, layout: Layout, name: str, namespace: str = "") -> ObjectMeta:
    return ObjectMeta(
        name=name,
        namespace=namespace,
        labels=layout.labels(lns.name),
        owner_references=(_owner(lns, layout),),
    )


def _owner(lns: LNamespace, layout: Layout) -> OwnerReference:
    return OwnerReference(
        lns.uid, layout.api_version, KIND, lns.name, controller=True, block_owner_deletion=True
    )
