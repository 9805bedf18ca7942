"""Whether the prefix of a new LCluster is free among all cluster-scoped objects."""

import asyncio
import time
from dataclasses import dataclass, field

from lnamespace.kube.prefixed import ClusterObject, PrefixedObjects

FRESH = 1.0
"""Seconds for which a listing is good for further LClusters that are created in a burst.

Anybody may create an object of that prefix right after it was looked for, however new the listing.
"""


@dataclass
class TakenNames:
    """Looks for objects whose names begin with a prefix, with one listing for many prefixes."""

    objects: PrefixedObjects
    _found: tuple[ClusterObject, ...] = ()
    _listed: float = -FRESH
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def with_prefix(self, prefix: str) -> tuple[ClusterObject, ...]:
        """Return the objects whose names begin with a prefix; raises ClusterError.

        What was seen in an older listing may be gone, so it is listed anew before it is told.
        """
        if not await self._look(prefix, FRESH):
            return ()
        return await self._look(prefix, 0)

    async def _look(self, prefix: str, age: float) -> tuple[ClusterObject, ...]:
        async with self._lock:
            now = time.monotonic()
            if now - self._listed >= age:
                self._found, self._listed = await self.objects.everything(), now
            return tuple(each for each in self._found if each.begins_with(prefix))
