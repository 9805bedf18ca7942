"""The default classes of tenants, by the classes that watches show."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.gateway.tenants.tenant_maps import TenantMaps
from lnamespace.translate.objects.default_classes import (
    INGRESS_CLASSES,
    STORAGE_CLASSES,
    default_since,
)
from lnamespace.translate.protocol.resources import GroupResource


@dataclass
class MarkedClasses:
    """The classes of one kind that a tenant has marked as default.

    They stay sorted: a tenant may have ten thousand, and each list of all classes adds them one by
    one.
    """

    _created: dict[str, str] = field(default_factory=dict)
    _sorted: list[tuple[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._sorted)

    def put(self, name: str, created: str) -> None:
        """Add a class, or update when it was created."""
        if self._created.get(name) != created:
            self.remove(name)
            self._created[name] = created
            insort(self._sorted, (created, name))

    def remove(self, name: str) -> None:
        """Forget a class."""
        created = self._created.pop(name, None)
        if created is not None:
            del self._sorted[bisect_left(self._sorted, (created, name))]

    @property
    def default(self) -> str:
        """Return the name of the default class; empty if none is marked.

        It is the newest one, and of several the one whose name comes first, as on any cluster.
        """
        if not self._sorted:
            return ""
        newest = self._sorted[-1][0]
        return self._sorted[bisect_left(self._sorted, (newest, ""))][1]


class DefaultClasses:
    """The default class of each tenant, for objects that name none.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._marked: dict[tuple[str, GroupResource], MarkedClasses] = defaultdict(MarkedClasses)
        self._defaults = TenantMaps[GroupResource, str]()

    def defaults_for(self, tenant: str) -> Mapping[GroupResource, str]:
        """Return the names upstream of a tenant's default classes."""
        return self._defaults.of(tenant)

    def change(
        self, classes: GroupResource, old: WatchedObject | None, new: WatchedObject | None
    ) -> str:
        """Update a class as it was and is; return the tenant whose defaults have changed."""
        item = new or old
        if item is None or classes not in {INGRESS_CLASSES, STORAGE_CLASSES}:
            return ""
        tenant = item.labels.get(self._label, "")
        if not item.name.startswith(f"{tenant}-"):
            return ""
        marked = self._marked[tenant, classes]
        if since := default_since(classes, new.raw) if new else "":
            marked.put(item.name, since)
        else:
            marked.remove(item.name)
        if not marked:
            del self._marked[tenant, classes]
        return tenant if self._defaults.put(tenant, classes, marked.default or None) else ""
