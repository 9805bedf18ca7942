"""Everything that is on a cluster: each object of each resource that discovery tells of."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.e2e.support.api import Api, ApiError, Object

_AT_A_TIME = 8
_ADDRESSES = "ipaddresses.networking.k8s.io"

LEFT_OUT = {
    "events.events.k8s.io": "events by another name",
    "componentstatuses": "they are no objects: each list is made when it is asked for",
}
"""Resources that are not compared, and why."""

PASSING = {
    "events": "Kubernetes writes them about whatever happens, and ends them after an hour",
    "leases.coordination.k8s.io": "each process of Kubernetes and of ours that starts has its own",
}
"""Resources that are not compared in the platform's own namespaces, and why."""

_PLATFORM = ("default", "kube-system", "kube-public", "kube-node-lease", "lnamespace-system")


@dataclass(frozen=True, order=True)
class Item:
    """An object by where it is; two of one name have different UIDs."""

    resource: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource} {where}{self.name}"


def inventory(api: Api) -> frozenset[Item]:
    """Return every object but what is left out."""
    resources = [each for each in _resources(api) if each[0] not in LEFT_OUT]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        found = pool.map(lambda each: [*_items(api, *each)], resources)
        return frozenset(item for items in found for item in items if not _passes(item))


def _passes(item: Item) -> bool:
    return item.resource in PASSING and item.namespace in _PLATFORM


def _resources(api: Api) -> Iterator[tuple[str, str]]:
    """Yield each resource that can be listed, with the path of its preferred version."""
    yield from _listed("", "/api/v1", api.get("/api/v1"))
    for group in api.get("/apis")["groups"]:
        path = f"/apis/{group['preferredVersion']['groupVersion']}"
        # One that only another version of its group has is listed by that version.
        versions = [path, *(f"/apis/{each['groupVersion']}" for each in group["versions"])]
        seen: set[str] = set()
        for version in dict.fromkeys(versions):
            for name, where in _listed(group["name"], version, api.find(version) or {}):
                if name not in seen:
                    seen.add(name)
                    yield name, where


def _listed(group: str, path: str, served: Object) -> Iterator[tuple[str, str]]:
    for each in served.get("resources", ()):
        if "list" in each["verbs"] and "/" not in each["name"]:
            yield (f"{each['name']}.{group}" if group else each["name"]), f"{path}/{each['name']}"


def _items(api: Api, resource: str, path: str) -> Iterator[Item]:
    for each in _list(api, path):
        metadata = each["metadata"]
        # An IPAddress is cluster-scoped, and comes and goes with the Service that has it.
        parent = each.get("spec", {}).get("parentRef", {}) if resource == _ADDRESSES else {}
        namespace = metadata.get("namespace") or parent.get("namespace", "")
        where = (namespace, metadata["name"], metadata.get("uid", ""))
        yield Item(resource, *where, metadata.get("labels", {}))


def _list(api: Api, path: str) -> list[Object]:
    """Return the items; none where the resource has gone since discovery told of it."""
    try:
        return api.items(path)
    except ApiError as error:
        if error.status != 404:
            raise
        return []
