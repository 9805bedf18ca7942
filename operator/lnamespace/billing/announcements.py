"""Ends that are announced: the door wrote them down when somebody asked for a deletion.

Something may yet refuse that deletion, so an announcement is no event. It comes true when its
LNamespace is gone, and is withdrawn when that has not happened for longer than a request can take.
The API server is asked before either, for what a watch has told may be old, and the end of one
that is still there would stand in the books for ever.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

import msgspec

from lnamespace.billing.outbox import CONCURRENCY, Outbox, Queued
from lnamespace.billing.record import come_true
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import Resource
from lnamespace.model.lnamespace import Metadata

LOOK = 1.0
"""Seconds between two looks at all that is open; most takes no request."""

PATIENCE = 90.0
"""Seconds; the API server gives up a request after 60, so what stays longer has been refused."""

log = logging.getLogger(__name__)

Known = Callable[[str], Metadata | None]
"""What was last heard of the LNamespace of that name."""


class Fate(Enum):
    """What has become of a deletion that was asked for."""

    OPEN = "open"
    GONE = "gone"
    STAYS = "stays"


def fate(uid: str, there: Metadata | None, waited: float) -> Fate:
    """What has become of an LNamespace, by what has its name ``waited`` seconds later."""
    if there is None or there.uid != uid:
        return Fate.GONE
    going = there.deletion_timestamp is not msgspec.UNSET
    return Fate.STAYS if waited > PATIENCE and not going else Fate.OPEN


@dataclass(frozen=True)
class _Announced:
    """An object of the outbox, and when it was first seen by the monotonic clock.

    Which is later than it was made, whatever the clocks of other machines say.
    """

    item: Queued
    since: float


class _Head(msgspec.Struct, frozen=True):
    metadata: Metadata


_head = msgspec.json.Decoder(_Head)


class Announcements:
    """The announced ends, and what becomes of them."""

    def __init__(self, client: Client, lnamespaces: Resource, outbox: Outbox, known: Known) -> None:
        self._client = client
        self._lnamespaces = lnamespaces
        self._outbox = outbox
        self._known = known
        self._open: dict[Key, _Announced] = {}
        self._told: set[str] = set()
        self._slots = asyncio.Semaphore(CONCURRENCY)

    def __len__(self) -> int:
        return len(self._open)

    def changed(self, old: Queued | None, new: Queued | None) -> None:
        """Take in news of the outbox: a listener of its store, for records of this operation."""
        if new is not None:
            self._open.setdefault(new.key, _Announced(new, time.monotonic()))
        elif old is not None:
            self._open.pop(old.key, None)

    def told(self, uid: str) -> None:
        """The end of an LNamespace is in the outbox: there is nothing to be found out."""
        self._told.add(uid)

    async def run(self) -> NoReturn:
        """Look after what is open, until cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            told, self._told = self._told, set()
            found = [self._settle(uid, all_, told) for uid, all_ in self._by_uid().items()]
            await asyncio.gather(*found)

    def _by_uid(self) -> Mapping[str, list[_Announced]]:
        found: dict[str, list[_Announced]] = defaultdict(list)
        for one in self._open.values():
            found[one.item.record.lnamespace_uid].append(one)
        return found

    async def _settle(self, uid: str, announced: list[_Announced], told: set[str]) -> None:
        async with self._slots:
            try:
                settled = uid in told or await self._settled(uid, announced)
            except ClusterError as error:
                log.warning("an announced end is left for later", extra={"error": str(error)})
                return
        if settled:
            await asyncio.gather(*(self._outbox.remove(one.item) for one in announced))

    async def _settled(self, uid: str, announced: list[_Announced]) -> bool:
        """Whether there is nothing more to wait for; what has come true is in the outbox then."""
        last = max((one.item.record for one in announced), key=lambda record: record.generation)
        waited = time.monotonic() - max(one.since for one in announced)
        if fate(uid, self._known(last.namespace), waited) is Fate.OPEN:
            return False
        found = fate(uid, await self._look(last.namespace), waited)
        if found is Fate.GONE:
            await self._outbox.add(come_true(last))
        elif found is Fate.STAYS:
            log.info("a deletion came to nothing", extra={"lnamespace_uid": uid})
        return found is not Fate.OPEN

    async def _look(self, name: str) -> Metadata | None:
        try:
            return _head.decode(await self._client.get(self._lnamespaces.path(name))).metadata
        except NotFound:
            return None
