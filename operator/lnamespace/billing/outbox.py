"""The outbox: the records in etcd that the ledger does not have yet."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from heapq import heappop, heappush

import msgspec

from lnamespace.billing.record import BillingRecord, Operation, billingrecords, manifest
from lnamespace.errors import AlreadyExists, ClusterError, Conflict, NotFound
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import Resource
from lnamespace.model.names import Names

PAGE = 500
CONCURRENCY = 16

log = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw = msgspec.Raw(b"")


class Queued(msgspec.Struct, frozen=True):
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


_BACKOFF = Backoff()
_page = msgspec.json.Decoder(_Page)
_decoder = msgspec.json.Decoder(_Object)
_record = msgspec.json.Decoder(BillingRecord)


def read_queued(raw: bytes | msgspec.Raw) -> Queued:
    """Read an object of the outbox; one that breaks its schema must not stop the others."""
    shown = _decoder.decode(raw)
    try:
        record, problem = _record.decode(shown.spec), ""
    except msgspec.DecodeError as error:
        record, problem = _unreadable(shown.metadata.name), str(error)
    meta = shown.metadata
    return Queued(("", meta.name), meta.uid, int(meta.resource_version), record, problem)


def _unreadable(name: str) -> BillingRecord:
    now = datetime.now(UTC)
    return BillingRecord(name, Operation.APPLY, "", "", 0, now, now)


class Backlog:
    """What is yet to be written, oldest first. What is refused is parked, out of the way."""

    def __init__(self) -> None:
        self._known: dict[Key, Queued] = {}
        self._heap: list[tuple[tuple[float, int, str], Key]] = []
        self._parked: set[Key] = set()
        self.arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def waiting(self) -> int:
        """How many can be taken."""
        return len(self._heap)

    @property
    def parked(self) -> int:
        """How many are out of the way."""
        return len(self._parked)

    def changed(self, old: Queued | None, new: Queued | None) -> None:
        """Take in news of the outbox: a listener of its store."""
        if new is not None:
            self._known[new.key] = new
            if new.problem:
                self._parked.add(new.key)
                about = {"record": new.key[1], "error": new.problem}
                log.error("a record cannot be read; it is left in the outbox", extra=about)
            else:
                self._push(new)
        elif old is not None:
            self.done(old)

    def take(self, most: int) -> list[Queued]:
        """The next to be written, at most so many; give them back, park them or say done."""
        taken: dict[Key, Queued] = {}
        while self._heap and len(taken) < most:
            key = heappop(self._heap)[1]
            if key in self._known and key not in self._parked:
                taken[key] = self._known[key]
        if not self._heap:
            self.arrived.clear()
        return list(taken.values())

    def give_back(self, items: list[Queued]) -> None:
        """They could not be written."""
        for item in items:
            if item.key in self._known:
                self._push(item)

    def done(self, item: Queued) -> None:
        """It is in the ledger, or gone."""
        self._known.pop(item.key, None)
        self._parked.discard(item.key)

    def park(self, item: Queued) -> None:
        """It is refused, so that the others need not wait for it."""
        self._parked.add(item.key)

    def unpark(self) -> None:
        """Try again what was refused."""
        keys = {key for key in self._parked if not self._known[key].problem}
        self._parked -= keys
        for key in keys:
            self._push(self._known[key])

    def oldest(self) -> float | None:
        """When the oldest record was made, in seconds since 1970; None where there is none."""
        return min((item.rank[0] for item in self._known.values()), default=None)

    def _push(self, item: Queued) -> None:
        heappush(self._heap, (item.rank, item.key))
        self.arrived.set()


class Outbox:
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

    async def remove(self, item: Queued) -> None:
        """Delete the object of a record that is in the ledger, for as long as it takes.

        One that is made anew meanwhile is another object, and is written again to no effect.
        """
        failures = 0
        while True:
            try:
                async with self._slots:
                    await self._client.delete(
                        self.resource.path(item.key[1]), item.uid, item.version
                    )
            except (NotFound, Conflict):
                return
            except ClusterError as error:
                failures += 1
                log.warning("record not removed", extra={"error": str(error)})
                await asyncio.sleep(_BACKOFF.delay(failures))
            else:
                return


async def pages(client: Client, resource: Resource) -> AsyncIterator[msgspec.Raw]:
    """All objects of a kind as they are now, page by page; raises ClusterError."""
    params = {"limit": str(PAGE)}
    while True:
        page = _page.decode(await client.get(resource.path(), **params))
        for item in page.items or ():
            yield item
        if not page.metadata.continue_:
            return
        params["continue"] = page.metadata.continue_
