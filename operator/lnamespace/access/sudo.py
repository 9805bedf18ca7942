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
from lnamespace.access.entries import Entries
from lnamespace.access.grants import Grants
from lnamespace.access.layout import Layout, SudoLayout
from lnamespace.kube.objects import Key, RbacSubject, Wanted
from lnamespace.kube.plan import Look
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


def identity(tenant: str, layout: Layout) -> RbacSubject:
    """As whom the sudoers of ``tenant`` act."""
    if layout.sudo is SudoLayout.GROUP:
        return rbac.group(layout.names.sudoers_group(tenant))
    return rbac.subject(layout.names.sudo_account(tenant))


def impersonated(tenant: str, layout: Layout) -> tuple[str, str]:
    """The group that sudoers impersonate as themselves, or the user; the other is empty."""
    if layout.sudo is SudoLayout.GROUP:
        return layout.names.sudoers_group(tenant), ""
    return "", layout.names.sudo_account(tenant).username


def sudo(lns: LNamespace, entries: Entries, layout: Layout) -> tuple[Wanted, Wanted, Wanted]:
    """Who may act as whom, and that whoever does is cluster-admin inside the Namespace."""
    grants, names, sudoers = Grants(lns, layout), layout.names, rbac.subjects(entries.sudoers)
    act_as, name = identity(lns.name, layout), names.sudoer(lns.name)
    if layout.sudo is SudoLayout.GROUP:
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


def places(tenant: str, layout: Layout) -> tuple[tuple[Resource, Key], ...]:
    """Where the objects of :func:`sudo` are, bindings first."""
    name = layout.names.sudoer(tenant)
    if layout.sudo is SudoLayout.GROUP:
        binding, role, inside, at = CLUSTER_ROLE_BINDING, CLUSTER_ROLE, SUDOERS_BINDING, ""
    else:
        binding, role, inside = ROLE_BINDING, ROLE, ACCOUNT_BINDING
        at = layout.names.sudo_namespace
    return (binding, (at, name)), (ROLE_BINDING, (tenant, inside)), (role, (at, name))


# When the layout of a running cluster is changed, what the former one made stays until the new
# one works, so that nobody is without sudo meanwhile; and goes on saying who is a sudoer.


def former(layout: Layout) -> Layout:
    """The other layout."""
    both = (SudoLayout.GROUP, SudoLayout.SERVICE_ACCOUNT)
    return replace(layout, sudo=both[layout.sudo is SudoLayout.GROUP])


def lingers(tenant: str, layout: Layout, look: Look) -> bool:
    """Whether anything of the former layout is still there."""
    return any(look(*place) for place in places(tenant, former(layout)))


def serves(tenant: str, layout: Layout, look: Look) -> bool:
    """Whether the former layout is still there as a whole: a part of it gives nobody anything.

    Nor does it prove that it ever was chosen. Users can make a binding of any name in the
    Namespace, and nothing of the rest.
    """
    return all(look(*place) for place in places(tenant, former(layout)))


def lingering(lns: LNamespace, entries: Entries, layout: Layout, look: Look) -> tuple[Wanted, ...]:
    """The bindings of the former layout that are still there, as the lists are now."""
    objects = sudo(lns, entries, former(layout))
    bindings = (w for w in objects if w.object.role_ref)
    return tuple(w for w in bindings if look(w.resource, w.key))
