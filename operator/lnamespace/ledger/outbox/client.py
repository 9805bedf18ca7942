"""Create, list and delete BillingRecords."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from lnamespace.errors import AlreadyExists, Conflict, NotFound
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.objects import Key
from lnamespace.kube.pages import list_objects
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.record import (
    BillingOperation,
    BillingRecord,
    billingrecords,
    manifest,
)
from lnamespace.model.names import Names

CONCURRENCY = 16


class _Object(msgspec.Struct, frozen=True):
    metadata: PartialMetadata
    spec: msgspec.Raw = msgspec.Raw(b"")


class QueuedRecord(msgspec.Struct, frozen=True):
    """A record in the outbox, with what identifies its object.

    ``problem`` says why the object cannot be read; ``record`` then has nothing but an id.
    """

    key: Key
    uid: str
    version: int
    record: BillingRecord
    problem: str = ""

    @property
    def rank(self) -> tuple[float, int, str]:
        """Return the sort key: the oldest record first, then the order within an LNamespace."""
        return self.record.recorded_at.timestamp(), self.record.generation, self.record.event_id


_decoder = msgspec.json.Decoder(_Object)
_record = msgspec.json.Decoder(BillingRecord)


def decode_queued(raw: bytes | msgspec.Raw) -> QueuedRecord:
    """Decode a BillingRecord; one that breaks its schema gets a ``problem``.

    One record must not stop the others: a change of the definition may make some unreadable.

    Raises
    ------
    Unreadable
        Not even the metadata can be read.
    """
    found = answers.decode(_decoder, raw)
    meta = found.metadata
    try:
        record, problem = _record.decode(found.spec), ""
    except msgspec.DecodeError as error:
        record, problem = _unreadable(meta.name), str(error)
    return QueuedRecord(meta.key, meta.uid, meta.version, record, problem)


def _unreadable(name: str) -> BillingRecord:
    now = datetime.now(UTC)
    return BillingRecord(name, BillingOperation.APPLY, "", "", 0, now, now)


class OutboxClient:
    """A client of BillingRecords, with at most :data:`CONCURRENCY` requests at a time."""

    def __init__(self, client: Client, names: Names) -> None:
        self._client = client
        self._names = names
        self.resource: Resource = billingrecords(names)
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def add(self, record: BillingRecord) -> bool:
        """Create the object of a record; return False if it exists already.

        Raises
        ------
        ClusterError
            The object could not be created.
        """
        async with self._slots:
            return await create_record(self._client, self._names, record)

    async def remove(self, item: QueuedRecord) -> None:
        """Delete the object of a record that is in the ledger, if it exists.

        The precondition is the UID and not the resource version: a record cannot be edited, and
        changes of its metadata made each DELETE fail with Conflict. A Conflict of the UID means
        that the record was created again, which the watch reports.

        Raises
        ------
        ClusterError
            The object may still exist.
        """
        with suppress(NotFound, Conflict):
            async with self._slots:
                await self._client.delete(self.resource.path(item.key[1]), item.uid)


async def create_record(client: Client, names: Names, record: BillingRecord) -> bool:
    """Create the object of a record; return False if it exists already. Raises ClusterError."""
    body = msgspec.json.encode(manifest(record, names))
    try:
        await client.create(billingrecords(names).path(), body)
    except AlreadyExists:
        return False
    return True


async def list_records(client: Client, names: Names) -> list[BillingRecord]:
    """Return all records of an instance that can be read; raises ClusterError."""
    queued = [decode_queued(raw) async for raw in list_objects(client, billingrecords(names))]
    return [item.record for item in queued if not item.problem]
