"""Build RBAC objects: subjects, rules, roles and bindings."""

from collections.abc import Iterable

from lnamespace.kube.objects import Object, ObjectMeta, PolicyRule, RbacSubject, RoleRef
from lnamespace.kube.resources import RBAC
from lnamespace.model.subject import Subject, SubjectKind


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


def role(meta: ObjectMeta, kind: str, *rules: PolicyRule) -> Object:
    """Build a Role or ClusterRole."""
    return Object(meta, f"{RBAC}/v1", kind, rules=rules)


def binding(meta: ObjectMeta, kind: str, role_ref: RoleRef, bound: Iterable[RbacSubject]) -> Object:
    """Build a RoleBinding or ClusterRoleBinding."""
    return Object(meta, f"{RBAC}/v1", kind, role_ref=role_ref, subjects=tuple(dict.fromkeys(bound)))
