"""Sudo inside an LCluster: its sudoers may impersonate themselves in the group system:masters.

The gateway puts its users into a group that no other cluster has. It is in the answer to "who am
I", the first request of every sudo. The checks serve to explain a refusal: the gateway decides.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lnamespace.plugins.kubeconfig.gateway import lcluster_of
from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import (
    LCLUSTER,
    Impersonation,
    Object,
    sudo_identity,
    typed,
)
from lnamespace.plugins.model.roles import granting, refusal
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from lnamespace.plugins.cluster.kubectl import Call, Kubectl
    from lnamespace.plugins.model.subjects import Caller

MASTERS = "system:masters"
ADDRESS = "{.clusters[0].cluster.server} {.clusters[0].cluster.tls-server-name}"


def permitted_within(kubectl: Kubectl, me: Caller, found: Call | None) -> Impersonation:
    """Return whom to impersonate inside an LCluster, or raise the reason for a refusal.

    A command about an LNamespace inside the LCluster may be run by a sudoer of that LNamespace:
    ``found`` is the request for it, None if no namespace is named.
    """
    if found is not None and (lns := _own(found, me)) is not None:
        return sudo_identity(lns)
    if kubectl.may(verb="impersonate", resource="groups", name=MASTERS):
        return Impersonation(MASTERS)
    name = _lcluster(kubectl)
    called = f'LCluster "{name}"' if name else "this LCluster"
    target = typed(name or "NAME", LCLUSTER)
    raise PluginError(
        f"you ({me.username}) are not a sudoer of {called}; ask one of its managers to run, in the "
        f"platform's cluster: {advised(f'kubectl {granting(target, me.identity)}')}"
    )


def _own(found: Call, me: Caller) -> Object | None:
    """Return the LNamespace inside the LCluster if the caller is a sudoer of it."""
    reply = found.reply()
    if reply.code:
        return None
    lns: Object = reply.document()
    return lns if refusal(lns, me, datetime.now(UTC)) is None else None


def _lcluster(kubectl: Kubectl) -> str:
    """Return the name of the LCluster that the context leads to; empty where it does not show."""
    reply = kubectl.configured(ADDRESS)
    server, _, tls_server_name = reply.out.partition(" ")
    return "" if reply.code else lcluster_of(server, tls_server_name.strip())
