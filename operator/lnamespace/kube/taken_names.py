"""Find objects whose names begin with the prefix of something new, such as an LCluster."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lnamespace.kube.prefixed import ALL_KINDS, ClusterObject, PrefixedObjects
from lnamespace.kube.resources import Resource

FRESH = 1.0
"""The most seconds between the beginning of a listing and a question that it answers.

Another client may create an object with that prefix right after any listing, however new.
"""


@dataclass
class TakenNames:
    """A search for objects whose names begin with a prefix; one listing serves many prefixes.

    Otherwise each creation of a burst would list all objects, those of the burst included.
    """

    objects: PrefixedObjects
    kinds: Iterable[Resource] = ALL_KINDS
    clock: Callable[[], float] = time.monotonic
    _found: tuple[ClusterObject, ...] = ()
    _listed: float = float("-inf")
    """When the listing began."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def with_prefix(self, prefix: str) -> tuple[ClusterObject, ...]:
        """Return the objects whose names begin with a prefix; raises ClusterError.

        An object in an older listing may be deleted, so it is confirmed by a new listing.
        """
        if not await self._list(prefix, FRESH):
            return ()
        return await self._list(prefix, 0)

    async def _list(self, prefix: str, age: float) -> tuple[ClusterObject, ...]:
        asked = self.clock()
        async with self._lock:
            # Before the lock: where a listing takes longer than a second, each that had waited for
            # it listed again, one after the other.
            if self._listed <= asked - age:
                began = self.clock()
                self._found, self._listed = await self.objects.everything(self.kinds), began
            return tuple(each for each in self._found if each.begins_with(prefix))
