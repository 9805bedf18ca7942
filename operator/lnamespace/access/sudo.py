"""How sudoers come by their power, in two layouts. Pure.

* ``group``: they impersonate themselves, in a group that is cluster-admin in the Namespace. A
  ClusterRole and a binding for each LNamespace, and for each person
  (:mod:`lnamespace.access.person`).
* ``serviceaccount``: they impersonate an account that stands for the LNamespace, in a namespace
  of the operator's own. All its objects are in namespaces, and none is a person's.

No ServiceAccount of that name is ever made. Impersonation needs none, and what is not there has
no token, runs no pod and leaves nothing to an LNamespace that comes later by the same name. The
account is never in the Namespace itself: its users may impersonate every account there.
"""

from dataclasses import replace

from lnamespace.access import rbac
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import ActiveEntries
from lnamespace.access.grants import GrantBuilder
from lnamespace.kube.objects import DesiredObject, Key, RbacSubject
from lnamespace.kube.plan import Getter
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import ACCOUNT_BINDING, SUDOERS_BINDING

POWER = "cluster-admin"
"""The ClusterRole that sudoers have in the Namespace, for the length of a command."""


def sudo_subject(tenant: str, conventions: Conventions) -> RbacSubject:
    """As whom the sudoers of ``tenant`` act."""
    if conventions.sudo is SudoLayout.GROUP:
        return rbac.group(conventions.names.sudoers_group(tenant))
    return rbac.subject(conventions.names.sudo_account(tenant))


def impersonation_target(tenant: str, conventions: Conventions) -> tuple[str, str]:
    """The group that sudoers impersonate as themselves, or the user; the other is empty."""
    if conventions.sudo is SudoLayout.GROUP:
        return conventions.names.sudoers_group(tenant), ""
    return "", conventions.names.sudo_account(tenant).username


def sudo_objects(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> tuple[DesiredObject, DesiredObject, DesiredObject]:
    """Who may act as whom, and that whoever does is cluster-admin inside the Namespace."""
    grants, names, sudoers = (
        GrantBuilder(lns, conventions),
        conventions.names,
        rbac.subjects(entries.sudoers),
    )
    act_as, name = sudo_subject(lns.name, conventions), names.sudoer(lns.name)
    if conventions.sudo is SudoLayout.GROUP:
        rule = rbac.impersonate("groups", act_as.name)
        return (
            *grants.everywhere(name, rule, sudoers),
            grants.inside(SUDOERS_BINDING, POWER, (act_as,)),
        )
    rule = rbac.impersonate("serviceaccounts", act_as.name)
    return (
        *grants.at(names.sudo_namespace, name, rule, sudoers),
        grants.inside(ACCOUNT_BINDING, POWER, (act_as,)),
    )


def sudo_refs(tenant: str, conventions: Conventions) -> tuple[tuple[Resource, Key], ...]:
    """Where the objects of :func:`sudo` are, bindings first."""
    name = conventions.names.sudoer(tenant)
    if conventions.sudo is SudoLayout.GROUP:
        binding, role, inside, at = CLUSTER_ROLE_BINDING, CLUSTER_ROLE, SUDOERS_BINDING, ""
    else:
        binding, role, inside = ROLE_BINDING, ROLE, ACCOUNT_BINDING
        at = conventions.names.sudo_namespace
    return (binding, (at, name)), (ROLE_BINDING, (tenant, inside)), (role, (at, name))


# When the layout of a running cluster is changed, what the former one made stays until the new
# one works, so that nobody is without sudo meanwhile; and goes on saying who is a sudoer.


def previous_conventions(conventions: Conventions) -> Conventions:
    """The other layout."""
    both = (SudoLayout.GROUP, SudoLayout.SERVICE_ACCOUNT)
    return replace(conventions, sudo=both[conventions.sudo is SudoLayout.GROUP])


def previous_is_present(tenant: str, conventions: Conventions, look: Getter) -> bool:
    """Whether anything of the former layout is still there."""
    return any(look(*place) for place in sudo_refs(tenant, previous_conventions(conventions)))


def previous_is_complete(tenant: str, conventions: Conventions, look: Getter) -> bool:
    """Whether the former layout is still there as a whole: a part of it gives nobody anything.

    Nor does it prove that it ever was chosen. Users can make a binding of any name in the
    Namespace, and nothing of the rest.
    """
    return all(look(*place) for place in sudo_refs(tenant, previous_conventions(conventions)))


def previous_bindings(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions, look: Getter
) -> tuple[DesiredObject, ...]:
    """The bindings of the former layout that are still there, as the lists are now."""
    objects = sudo_objects(lns, entries, previous_conventions(conventions))
    bindings = (w for w in objects if w.object.role_ref)
    return tuple(w for w in bindings if look(w.resource, w.key))
