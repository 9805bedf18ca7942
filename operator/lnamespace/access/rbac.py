"""The shapes of RBAC objects: roles that name what they are about, and bindings to them."""

from collections.abc import Iterable

from lnamespace.kube.objects import (
    Object,
    ObjectMeta,
    PolicyRule,
    RbacSubject,
    RoleRef,
)
from lnamespace.kube.resources import RBAC
from lnamespace.model.subject import Subject, SubjectKind


def subject(of: Subject) -> RbacSubject:
    """A person as a binding names them, with the defaults that the server would fill in."""
    if of.kind is SubjectKind.SERVICE_ACCOUNT:
        return RbacSubject(of.kind.value, of.name, of.namespace)
    return RbacSubject(of.kind.value, of.name, api_group=RBAC)


def group(name: str) -> RbacSubject:
    """A group as a binding names it."""
    return RbacSubject(SubjectKind.GROUP.value, name, api_group=RBAC)


def subjects(of: Iterable[Subject]) -> tuple[RbacSubject, ...]:
    """People as a binding names them."""
    return tuple(subject(one) for one in of)


def impersonate(resource: str, name: str) -> PolicyRule:
    """May impersonate this one user, group or service account, and nobody else.

    One resource a rule and always a name: without it the rule would let impersonate anybody.
    """
    return PolicyRule(("impersonate",), ("",), (resource,), (name,))


def role(meta: ObjectMeta, kind: str, *rules: PolicyRule) -> Object:
    """A Role or ClusterRole."""
    return Object(meta, f"{RBAC}/v1", kind, rules=rules)


def binding(meta: ObjectMeta, kind: str, role_ref: RoleRef, bound: Iterable[RbacSubject]) -> Object:
    """A RoleBinding or ClusterRoleBinding."""
    return Object(meta, f"{RBAC}/v1", kind, role_ref=role_ref, subjects=tuple(dict.fromkeys(bound)))
