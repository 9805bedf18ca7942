"""The default classes of tenants, by the classes that watches show."""

from collections import defaultdict
from collections.abc import Mapping

from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.translate.objects.default_classes import (
    INGRESS_CLASSES,
    STORAGE_CLASSES,
    default_class,
    default_since,
)
from lnamespace.translate.protocol.resources import GroupResource


class DefaultClasses:
    """The default class of each tenant, for objects that name none.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._marked: dict[tuple[str, GroupResource], dict[str, str]] = defaultdict(dict)
        self._defaults: dict[str, dict[GroupResource, str]] = {}

    def of(self, tenant: str) -> Mapping[GroupResource, str]:
        """Return the names upstream of a tenant's default classes."""
        return self._defaults.get(tenant, {})

    def change(
        self, classes: GroupResource, old: WatchedObject | None, new: WatchedObject | None
    ) -> str:
        """Update a class as it was and is; return the tenant whose defaults have changed."""
        item = new or old
        tenant = item.labels.get(self._label, "") if item else ""
        if item is None or not item.name.startswith(f"{tenant}-"):
            return ""
        if classes not in {INGRESS_CLASSES, STORAGE_CLASSES}:
            return ""
        marked = self._marked[tenant, classes]
        if since := default_since(classes, new.raw) if new else "":
            marked[item.name] = since
        else:
            marked.pop(item.name, None)
        if not marked:
            del self._marked[tenant, classes]
        return tenant if self._decide(tenant, classes, default_class(marked)) else ""

    def _decide(self, tenant: str, classes: GroupResource, name: str) -> bool:
        """Keep a tenant's default class; return whether it is another one."""
        before = self._defaults.get(tenant, {})
        after = {key: each for key, each in before.items() if key != classes}
        if name:
            after[classes] = name
        if after:
            self._defaults[tenant] = after
        else:
            self._defaults.pop(tenant, None)
        return after != before
