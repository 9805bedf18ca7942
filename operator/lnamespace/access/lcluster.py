"""Decide what an LCluster needs upstream: its namespaces, its account's bindings, its editors.

The tenant acts upstream as one ServiceAccount that does not exist, which is cluster-admin in each
Namespace of the tenant and may do nothing anywhere else. So one tenant cannot reach another even
where the gateway is wrong.

The UID of the LCluster is in an annotation of each of its Namespaces: those of an earlier LCluster
of the same name are not its own.
"""

from collections.abc import Container, Iterable
from enum import Enum

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions
from lnamespace.access.entries import ActiveEntries
from lnamespace.access.rbac import CLUSTER_ADMIN
from lnamespace.kube.objects import Object, ObjectMeta, ObjectRef, PolicyRule, RoleRef
from lnamespace.kube.plan import NamespacePatch
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject, ObservedObject, desired_object
from lnamespace.model.lcluster import PLURAL, LCluster
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING

POD_SECURITY_ENFORCE = "pod-security.kubernetes.io/enforce"
TENANT_POD_SECURITY_LEVELS = ("baseline", "restricted")
"""The levels that a tenant may choose. The level ``privileged`` lets a pod take over its node, and
with it the pods of other tenants
(https://kubernetes.io/docs/concepts/security/pod-security-standards/)."""


class NamespaceOwner(Enum):
    """The owner of a Namespace whose name begins with an LCluster's prefix."""

    OURS = "it is the tenant's"
    PREDECESSOR = "it is that of an earlier LCluster of the same name"
    FOREIGN = "it is somebody else's"


def namespace_owner(
    lcluster: LCluster, found: ObservedObject, conventions: Conventions
) -> NamespaceOwner:
    """Return whose a Namespace is; one that the gateway made has only the label at first."""
    uid = found.annotations.get(conventions.names.lcluster_annotation)
    if uid == lcluster.uid:
        return NamespaceOwner.OURS
    if uid:
        return NamespaceOwner.PREDECESSOR
    labelled = found.labels.get(conventions.names.lcluster_label) == lcluster.name
    return NamespaceOwner.OURS if labelled else NamespaceOwner.FOREIGN


def system_namespaces(
    lcluster: LCluster, conventions: Conventions, there: Container[str]
) -> tuple[DesiredObject, ...]:
    """Return the namespaces that every tenant has, but for those that are there."""
    return tuple(
        _system_namespace(lcluster, name, conventions)
        for name in lcluster.system_namespaces
        if name not in there
    )


def namespace_metadata_patch(
    lcluster: LCluster, found: ObservedObject, conventions: Conventions
) -> NamespacePatch | None:
    """Return the labels and annotations that a tenant's Namespace lacks; None if it has all."""
    labels, annotations = _namespace_metadata(lcluster, conventions)
    if found.labels.get(POD_SECURITY_ENFORCE) in TENANT_POD_SECURITY_LEVELS:
        del labels[POD_SECURITY_ENFORCE]
    changed = {key: value for key, value in labels.items() if found.labels.get(key) != value}
    if changed or found.annotations | annotations != found.annotations:
        return NamespacePatch(found, labels, annotations)
    return None


def emptied_annotation_patch(
    lcluster: LCluster, found: ObservedObject, conventions: Conventions
) -> NamespacePatch | None:
    """Return the patch that lets Kubernetes delete the account's binding; None if it is too early.

    A Namespace that is being deleted has nothing left by then. Before, the tenant works in it by
    that binding, such as an operator that takes its finalizers off. One that was deleted in its
    first second has no UID of the LCluster yet, without which the controller may not write to it.
    """
    names = conventions.names
    if not found.emptied or names.lcluster_emptied_annotation in found.annotations:
        return None
    annotations = {
        names.lcluster_annotation: lcluster.uid,
        names.lcluster_emptied_annotation: "true",
    }
    return NamespacePatch(found, {}, annotations)


def account_binding(lcluster: LCluster, namespace: str, conventions: Conventions) -> DesiredObject:
    """Return the RoleBinding by which the tenant's account is cluster-admin in one namespace."""
    meta = ObjectMeta(
        name=CLUSTER_ACCOUNT_BINDING, namespace=namespace, labels=conventions.labels()
    )
    account = rbac.subject(conventions.names.cluster_account(lcluster.name))
    role = RoleRef(CLUSTER_ROLE.kind, CLUSTER_ADMIN)
    return rbac.binding(meta, ROLE_BINDING, role, (account,), conventions.managed_metadata)


def cluster_editor_objects(
    lcluster: LCluster, entries: ActiveEntries, conventions: Conventions
) -> tuple[DesiredObject, DesiredObject]:
    """Return the role and the binding of those who may edit and delete the LCluster.

    Sudoers may too: inside the tenant's cluster, where they act as cluster-admin, there is no
    LCluster to edit.
    """
    name, managed = conventions.names.cluster_editor(lcluster.name), conventions.managed_metadata
    verbs = ("get", "update", "patch", "delete")
    edit = PolicyRule(verbs, (conventions.names.group,), (PLURAL,), (lcluster.name,))
    meta = ObjectMeta(name=name, labels=conventions.labels())
    editors = rbac.subjects(sorted({*entries.managers, *entries.sudoers}))
    return rbac.role_and_binding(meta, edit, editors, managed)


def custom_resource_objects(
    lcluster: LCluster, groups: Iterable[str], conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """Return the role and the binding by which the tenant's account has its own API groups.

    The bindings in namespaces give no cluster-scoped objects. No RBAC rule says "groups that begin
    with", so each group of the tenant's CustomResourceDefinitions is named. Without groups there
    is neither.
    """
    named = tuple(sorted({each for each in groups if each.startswith(lcluster.prefix)}))
    if not named:
        return ()
    name, managed = conventions.names.cluster_resources(lcluster.name), conventions.managed_metadata
    meta = ObjectMeta(name=name, labels=conventions.labels())
    account = rbac.subject(conventions.names.cluster_account(lcluster.name))
    rule = PolicyRule(("*",), named, ("*",))
    return rbac.role_and_binding(meta, rule, (account,), managed)


def custom_resource_refs(name: str, conventions: Conventions) -> tuple[ObjectRef, ...]:
    """Return where the grant of a tenant's own API groups may be."""
    key = ("", conventions.names.cluster_resources(name))
    return ((CLUSTER_ROLE_BINDING, key), (CLUSTER_ROLE, key))


def editor_refs(name: str, conventions: Conventions) -> tuple[ObjectRef, ...]:
    """Return where the grant may be of those who edit the LCluster."""
    key = ("", conventions.names.cluster_editor(name))
    return ((CLUSTER_ROLE_BINDING, key), (CLUSTER_ROLE, key))


def cluster_grant_refs(
    name: str, namespaces: Iterable[str], conventions: Conventions
) -> tuple[ObjectRef, ...]:
    """Return where grants of an LCluster may be, given its namespaces."""
    return (
        *editor_refs(name, conventions),
        *custom_resource_refs(name, conventions),
        *((ROLE_BINDING, (each, CLUSTER_ACCOUNT_BINDING)) for each in namespaces),
    )


def _system_namespace(lcluster: LCluster, name: str, conventions: Conventions) -> DesiredObject:
    labels, annotations = _namespace_metadata(lcluster, conventions)
    meta = ObjectMeta(name=name, labels=labels, annotations=annotations)
    built = Object(meta, "v1", NAMESPACE.kind)
    return desired_object(NAMESPACE, built, conventions.managed_metadata)


def _namespace_metadata(
    lcluster: LCluster, conventions: Conventions
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels and annotations of a Namespace of the tenant."""
    names = conventions.names
    labels = {
        names.lcluster_label: lcluster.name,
        POD_SECURITY_ENFORCE: TENANT_POD_SECURITY_LEVELS[0],
    }
    return labels, {names.lcluster_annotation: lcluster.uid}
