"""Build what makes sudoers cluster-admin in their Namespace, in one of two layouts.

* ``group``: a sudoer impersonates themselves, in a group that is cluster-admin in the Namespace.
  This takes a ClusterRole and a ClusterRoleBinding for each LNamespace, and two more for each
  person (:mod:`lnamespace.access.impersonator`).
* ``serviceaccount``: a sudoer impersonates a ServiceAccount that stands for the LNamespace, in a
  namespace of the operator's own. All objects are in namespaces, and no person has objects.

The ServiceAccount itself is never created. Impersonation does not need it, and an account that
does not exist has no token and runs no pod. It is not in the LNamespace's own Namespace, because
users of a Namespace may impersonate every account there.
"""

from dataclasses import replace

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import ActiveEntries
from lnamespace.access.rbac import CLUSTER_ADMIN, GrantBuilder
from lnamespace.kube.objects import ObjectRef, RbacSubject
from lnamespace.kube.plan import Getter
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import ACCOUNT_BINDING, SUDOERS_BINDING


def sudo_subject(lnamespace: str, conventions: Conventions) -> RbacSubject:
    """Return the subject that the sudoers of ``lnamespace`` act as."""
    if conventions.sudo is SudoLayout.GROUP:
        return rbac.group(conventions.names.sudoers_group(lnamespace))
    return rbac.subject(conventions.names.sudo_account(lnamespace))


def impersonation_target(lnamespace: str, conventions: Conventions) -> tuple[str, str]:
    """Return the group and the user that sudoers impersonate; one of them is empty."""
    if conventions.sudo is SudoLayout.GROUP:
        return conventions.names.sudoers_group(lnamespace), ""
    return "", conventions.names.sudo_account(lnamespace).username


def sudo_objects(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> tuple[DesiredObject, DesiredObject, DesiredObject]:
    """Return who may impersonate the sudo subject, and what it may do in the Namespace."""
    grants, names = GrantBuilder(lns, conventions), conventions.names
    sudoers = rbac.subjects(entries.sudoers)
    act_as, name = sudo_subject(lns.name, conventions), names.sudoer(lns.name)
    if conventions.sudo is SudoLayout.GROUP:
        rule = rbac.impersonate("groups", act_as.name)
        return (
            *grants.role_and_binding(name, rule, sudoers),
            grants.role_binding(SUDOERS_BINDING, CLUSTER_ADMIN, (act_as,)),
        )
    rule = rbac.impersonate("serviceaccounts", act_as.name)
    return (
        *grants.role_and_binding(name, rule, sudoers, names.sudo_namespace),
        grants.role_binding(ACCOUNT_BINDING, CLUSTER_ADMIN, (act_as,)),
    )


def sudo_refs(lnamespace: str, conventions: Conventions) -> tuple[ObjectRef, ...]:
    """Return where the objects of :func:`sudo_objects` are, bindings first."""
    name = conventions.names.sudoer(lnamespace)
    if conventions.sudo is SudoLayout.GROUP:
        binding, role, inside, at = CLUSTER_ROLE_BINDING, CLUSTER_ROLE, SUDOERS_BINDING, ""
    else:
        binding, role, inside = ROLE_BINDING, ROLE, ACCOUNT_BINDING
        at = conventions.names.sudo_namespace
    return (binding, (at, name)), (ROLE_BINDING, (lnamespace, inside)), (role, (at, name))


# When the layout of a running cluster is changed, the objects of the previous layout stay until
# the new ones work, so that nobody is without sudo meanwhile. Their bindings follow the lists.


def previous_conventions(conventions: Conventions) -> Conventions:
    """Return the conventions with the other sudo layout."""
    both = (SudoLayout.GROUP, SudoLayout.SERVICE_ACCOUNT)
    return replace(conventions, sudo=both[conventions.sudo is SudoLayout.GROUP])


def previous_is_present(lnamespace: str, conventions: Conventions, get: Getter) -> bool:
    """Return whether any object of the previous layout is still there."""
    return any(get(*ref) for ref in sudo_refs(lnamespace, previous_conventions(conventions)))


def previous_is_complete(lnamespace: str, conventions: Conventions, get: Getter) -> bool:
    """Return whether all objects of the previous layout are still there.

    Some of them alone give nobody anything and prove nothing: users of the Namespace can create a
    RoleBinding of any name there, but none of the others.
    """
    return all(get(*ref) for ref in sudo_refs(lnamespace, previous_conventions(conventions)))


def previous_bindings(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions, get: Getter
) -> tuple[DesiredObject, ...]:
    """Return the bindings of the previous layout that still exist, with today's sudoers."""
    objects = sudo_objects(lns, entries, previous_conventions(conventions))
    bindings = (one for one in objects if one.object.role_ref)
    return tuple(one for one in bindings if get(one.resource, one.key))
