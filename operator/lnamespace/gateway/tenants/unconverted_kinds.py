"""The kinds of tenants whose objects nobody converts, by the definitions that watches show."""

from collections.abc import Mapping

from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.gateway.tenants.tenant_maps import TenantMaps
from lnamespace.gateway.tenants.watched_parts import KeptDefinition
from lnamespace.translate.protocol.resources import GroupResource


class UnconvertedKinds:
    """The kinds of each tenant whose conversion webhook is not asked.

    Parameters
    ----------
    label
        The key of the label whose value is the tenant.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._kinds = TenantMaps[GroupResource, str]()

    def kinds_of(self, tenant: str) -> Mapping[GroupResource, str]:
        """Return a tenant's kinds, each with the version in which its objects are stored."""
        return self._kinds.of(tenant)

    def change(self, old: WatchedObject | None, new: WatchedObject | None) -> str:
        """Update a definition as it was and is; return the tenant whose kinds have changed."""
        item = new or old
        tenant = item.labels.get(self._label, "") if item else ""
        plural, _, group = item.name.partition(".") if item else ("", "", "")
        if not tenant or not group.startswith(f"{tenant}-"):
            return ""
        kind = GroupResource(group.removeprefix(f"{tenant}-"), plural)
        version = KeptDefinition.of(new).conversion.unconverted if new else None
        return tenant if self._kinds.put(tenant, kind, version) else ""
