"""A map for each tenant that has an entry in it."""

from collections.abc import Mapping
from typing import Generic, TypeVar

V = TypeVar("V")
K = TypeVar("K")


class TenantMaps(Generic[K, V]):
    """The maps of all tenants. A map that was given away never changes."""

    def __init__(self) -> None:
        self._maps: dict[str, Mapping[K, V]] = {}

    def of(self, tenant: str) -> Mapping[K, V]:
        """Return the map of a tenant."""
        return self._maps.get(tenant, {})

    def put(self, tenant: str, key: K, value: V | None) -> bool:
        """Keep a value of a tenant, or with None forget it; return whether its map has changed."""
        before = self.of(tenant)
        after = {each: kept for each, kept in before.items() if each != key}
        if value is not None:
            after[key] = value
        if after:
            self._maps[tenant] = after
        else:
            self._maps.pop(tenant, None)
        return after != before
