"""What Kubernetes' garbage collector overlooks, for good.

It knows objects by their UID, and client-go those of a kind by their name. What is deleted and
made again by the same name while the collector's watch is down is told to it as an update of the
new one: the old one stays in its graph, and what that owned is never deleted. After a crash of
the API server the watch can be down for a minute (reflectors wait up to that long), and then
has lost its place. Only a start of the collector mends it (docs/runbook.md).
"""

from tests.e2e.support.api import LNAMESPACES, NAMESPACES, Api, Object


def overlooked(admin: Api) -> list[str]:
    """Return the Namespaces of which every owner is gone, and which are not being deleted."""
    there = {item["metadata"]["uid"] for item in admin.items(LNAMESPACES)}
    namespaces = [item["metadata"] for item in admin.items(NAMESPACES)]
    return [metadata["name"] for metadata in namespaces if _left(metadata, there)]


def _left(metadata: Object, there: set[str]) -> bool:
    owners = {owner["uid"] for owner in metadata.get("ownerReferences", ())}
    return bool(owners) and owners.isdisjoint(there) and "deletionTimestamp" not in metadata
