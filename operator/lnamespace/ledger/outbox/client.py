"""The outbox: the records in etcd that the ledger does not have yet."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from heapq import heappop, heappush

import msgspec

from lnamespace.errors import AlreadyExists, Conflict, NotFound
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    billingrecords,
    manifest,
)
from lnamespace.model.names import Names

PAGE = 500
CONCURRENCY = 16

PARKING = Backoff(first=60.0, longest=3600.0)
"""How long a record that the database refuses is out of the way, longer each time."""

log = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw = msgspec.Raw(b"")


class QueuedRecord(msgspec.Struct, frozen=True):
    """A record with what identifies its object.

    ``problem`` says why the object cannot be read; ``record`` then has nothing but an id.
    """

    key: Key
    uid: str
    version: int
    record: BillingRecord
    problem: str = ""

    @property
    def rank(self) -> tuple[float, int, str]:
        """The oldest first, and what happened to one LNamespace in its order."""
        return self.record.recorded_at.timestamp(), self.record.generation, self.record.event_id


class _ListMeta(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(_Page)
_decoder = msgspec.json.Decoder(_Object)
_record = msgspec.json.Decoder(BillingRecord)


def decode_queued(raw: bytes | msgspec.Raw) -> QueuedRecord:
    """Read an object of the outbox; one that breaks its schema must not stop the others."""
    shown = answers.decode(_decoder, raw)
    try:
        record, problem = _record.decode(shown.spec), ""
    except msgspec.DecodeError as error:
        record, problem = _unreadable(shown.metadata.name), str(error)
    meta = shown.metadata
    version = answers.version_of(meta.resource_version)
    return QueuedRecord(("", meta.name), meta.uid, version, record, problem)


def _unreadable(name: str) -> BillingRecord:
    now = datetime.now(UTC)
    return BillingRecord(name, BillingOperation.APPLY, "", "", 0, now, now)


class Backlog:
    """What is yet to be written, oldest first. What is refused is set aside, out of the way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Key, QueuedRecord] = {}
        self._heap: list[tuple[int, tuple[float, int, str], Key]] = []
        """How often each was refused, for what never was must not wait for what always is."""
        self._refusals: dict[Key, list[str]] = {}
        """What was said each time, of those that have not been taken since."""
        self._aside: dict[Key, float] = {}
        """Until when a record is not tried."""
        self.arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def waiting(self) -> int:
        """How many can be taken."""
        return len(self._heap)

    @property
    def parked(self) -> Mapping[str, str]:
        """The records that do not get into the ledger, with what is wrong with each."""
        unreadable = {key[1]: one.problem for key, one in self._known.items() if one.problem}
        return unreadable | {key[1]: said[-1] for key, said in self._refusals.items()}

    def changed(self, old: QueuedRecord | None, new: QueuedRecord | None) -> None:
        """Take in news of the outbox: a listener of its store."""
        if new is not None:
            self._known[new.key] = new
            if new.problem:
                about = {"record": new.key[1], "error": new.problem}
                log.error("a record cannot be read; it is left in the outbox", extra=about)
            elif new.key not in self._aside:
                self._push(new)
        elif old is not None:
            self._known.pop(old.key, None)
            self._refusals.pop(old.key, None)
            self._aside.pop(old.key, None)

    def take(self, most: int) -> list[QueuedRecord]:
        """Return the next to be written, at most so many; each is taken once.

        It stays known until its object is gone: one whose deletion fails counts as waiting.
        """
        taken: dict[Key, QueuedRecord] = {}
        while self._heap and len(taken) < most:
            key = heappop(self._heap)[-1]
            if key in self._known and key not in self._aside:
                taken[key] = self._known[key]
        if not self._heap:
            self.arrived.clear()
        return list(taken.values())

    def give_back(self, items: Iterable[QueuedRecord]) -> None:
        """Queue again what could not be written."""
        for item in items:
            if item.key in self._known:
                self._push(item)

    def park(self, item: QueuedRecord, error: str) -> None:
        """Set a record aside that is refused, for longer each time."""
        if item.key in self._known:
            said = self._refusals.setdefault(item.key, [])
            said.append(error)
            self._aside[item.key] = self._clock() + PARKING.delay(len(said))

    def accepted(self, items: Iterable[QueuedRecord]) -> None:
        """Forget refusals of what was taken; who refused one of them may take the others too."""
        refused = [item.key for item in items if item.key in self._refusals]
        for key in refused:
            del self._refusals[key]
        if refused:
            self.unpark(everything=True)

    def unpark(self, everything: bool = False) -> None:
        """Queue what has been set aside for long enough, or everything."""
        now = self._clock()
        for key in [key for key, until in self._aside.items() if everything or until <= now]:
            del self._aside[key]
            self._push(self._known[key])

    def oldest(self) -> float | None:
        """When the oldest record was made, in seconds since 1970; None where there is none."""
        return min((item.rank[0] for item in self._known.values()), default=None)

    def _push(self, item: QueuedRecord) -> None:
        refused = len(self._refusals.get(item.key, ()))
        heappush(self._heap, (refused, item.rank, item.key))
        self.arrived.set()


class OutboxClient:
    """Makes and removes the objects of the outbox."""

    def __init__(self, client: Client, names: Names) -> None:
        self._client = client
        self._names = names
        self.resource: Resource = billingrecords(names)
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def add(self, record: BillingRecord) -> bool:
        """Make the object of a record; False where it is there already.

        Raises
        ------
        ClusterError
            It could not be made.
        """
        body = msgspec.json.encode(manifest(record, self._names))
        try:
            async with self._slots:
                await self._client.create(self.resource.path(), body)
        except AlreadyExists:
            return False
        return True

    async def remove(self, item: QueuedRecord) -> None:
        """Delete the object of a record that is in the ledger, if it is there.

        Whatever happened to its metadata: a record itself cannot be edited. One that was made anew
        meanwhile is another object, by its UID, of which the watch tells.

        Raises
        ------
        ClusterError
            It may be there still.
        """
        with suppress(NotFound, Conflict):
            async with self._slots:
                await self._client.delete(self.resource.path(item.key[1]), item.uid)


async def list_all(client: Client, resource: Resource) -> AsyncIterator[msgspec.Raw]:
    """All objects of a kind as they are now, page by page; raises ClusterError."""
    params = {"limit": str(PAGE)}
    while True:
        page = answers.decode(_page, await client.get(resource.path(), **params))
        for item in page.items or ():
            yield item
        if not page.metadata.continue_:
            return
        params["continue"] = page.metadata.continue_
