"""Find the instances of LNamespaces in a cluster, and choose one."""

from __future__ import annotations

from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.model.api_group import GROUP_PREFIX, SUFFIX_VARIABLE, VERSION, group
from lnamespace.plugins.runtime.errors import OtherApiGroup, PluginError
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def find(error: OtherApiGroup) -> tuple[str, bool]:
    """Return the suffix of the API group that was meant, and whether it is the only one."""
    present = api_groups(Kubectl(error.connection))
    found = _chosen(error, present)
    return found.removeprefix(GROUP_PREFIX), present == [found]


def api_groups(kubectl: Kubectl) -> list[str]:
    """Return the API groups that have LNamespaces, of all that the cluster has."""
    reply = kubectl.start_get("/apis").reply()
    if reply.code:
        return []
    return [name for name in _candidates(reply.document()) if _has_lnamespaces(kubectl, name)]


def _candidates(listing: Any) -> list[str]:
    """Return the groups that may be ours; other projects have similar ones (tenancy.kiosk.sh)."""
    return [
        item["name"]
        for item in listing.get("groups") or ()
        if item["name"].startswith(GROUP_PREFIX)
        and VERSION in [version["version"] for version in item["versions"]]
    ]


def _has_lnamespaces(kubectl: Kubectl, name: str) -> bool:
    reply = kubectl.start_get(f"/apis/{name}/{VERSION}").reply()
    resources = [] if reply.code else reply.document().get("resources") or ()
    return any(resource["name"] == "lnamespaces" for resource in resources)


def _chosen(error: OtherApiGroup, present: list[str]) -> str:
    """Return the one group that was meant.

    If the group that was asked exists, only one with an LNamespace of that very name counts: a
    namespace belongs to one instance.
    """
    others = [name for name in present if name != group()]
    if group() in present:
        kubectl = Kubectl(error.connection)
        others = [one for one in others if error.name and _has(kubectl, one, error.name)]
    if not others:
        raise error.cause
    if len(others) > 1:
        suffixes = ", ".join(one.removeprefix(GROUP_PREFIX) for one in sorted(others))
        raise PluginError(
            f"which LNamespaces? This cluster has several instances; set {SUFFIX_VARIABLE} to one "
            f"of: {suffixes}"
        )
    return others[0]


def _has(kubectl: Kubectl, name: str, lns: str) -> bool:
    return kubectl.start_get(f"/apis/{name}/{VERSION}/lnamespaces/{lns}").reply().code == 0
