"""Find cluster-scoped objects whose names have the prefix of a new LCluster."""

import asyncio
import time
from dataclasses import dataclass, field

from lnamespace.kube.prefixed import ClusterObject, PrefixedObjects

FRESH = 1.0
"""Seconds for which a listing is good for further LClusters that are created in a burst.

Another client may create an object with that prefix right after any listing, however new.
"""


@dataclass
class TakenNames:
    """A search for objects whose names begin with a prefix; one listing serves many prefixes."""

    objects: PrefixedObjects
    _found: tuple[ClusterObject, ...] = ()
    _listed: float = -FRESH
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def with_prefix(self, prefix: str) -> tuple[ClusterObject, ...]:
        """Return the objects whose names begin with a prefix; raises ClusterError.

        An object in an older listing may be deleted, so it is confirmed by a new listing.
        """
        if not await self._list(prefix, FRESH):
            return ()
        return await self._list(prefix, 0)

    async def _list(self, prefix: str, age: float) -> tuple[ClusterObject, ...]:
        async with self._lock:
            now = time.monotonic()
            if now - self._listed >= age:
                self._found, self._listed = await self.objects.everything(), now
            return tuple(each for each in self._found if each.begins_with(prefix))
