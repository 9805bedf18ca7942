"""Record the deletions of LNamespaces while the controller is away.

An LNamespace has no finalizer. A deletion that the controller misses is known by the ENDING of the
webhook, if that could write one, and by the publisher's comparison, which learns neither when it
happened nor of a change of the billing just before. So the publisher, another process, watches
LNamespaces too and creates the records that the controller would create. Records are named by
their events: if both create one, there is one.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import NoReturn

import msgspec

from lnamespace.access.conventions import lnamespace_resource
from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.store import Store
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.outbox.endings import pending_deletion
from lnamespace.ledger.outbox.record import BillingRecord, is_billable, pending_records
from lnamespace.ledger.publisher.pending_deletions import PendingDeletions
from lnamespace.model.lnamespace import LNamespace, Metadata, decode_lnamespace, head_decoder
from lnamespace.model.names import Names

log = logging.getLogger(__name__)


class WatchedLNamespace(msgspec.Struct, frozen=True):
    """An LNamespace, as a store keeps it."""

    key: Key
    version: int
    lns: LNamespace


def decode_watched(raw: bytes | msgspec.Raw) -> WatchedLNamespace:
    """Decode an LNamespace; of one that breaks its schema, only the metadata.

    Its deletion is not recorded here, for it seems to have no Namespace.

    Raises
    ------
    Unreadable
        Not even the metadata can be read.
    """
    try:
        lns = decode_lnamespace(raw)
    except ModelError:
        lns = LNamespace(answers.decode(head_decoder, raw).metadata)
    return WatchedLNamespace(("", lns.name), answers.version_of(lns.metadata.resource_version), lns)


class DeletionRecorder:
    """A watch of LNamespaces that creates the records of those that are deleted.

    For each it creates an ENDING, which ``pending`` completes when the Namespace is gone too.
    """

    def __init__(self, client: Client, names: Names, outbox: OutboxClient) -> None:
        self._outbox = outbox
        self._recording: set[asyncio.Task[None]] = set()
        self._store: Store[WatchedLNamespace] = Store(self._changed)
        resource = lnamespace_resource(names)
        self._source = Reflector(client, resource, self._store, decode_watched)
        self.pending = PendingDeletions(client, resource, outbox, self._last_known)

    async def run(self) -> NoReturn:
        """Watch and record until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._source.run())
                tasks.create_task(self.pending.run())
            raise AssertionError("neither of them ends")
        finally:
            for task in list(self._recording):
                task.cancel()

    def _last_known(self, name: str) -> Metadata | None:
        watched = self._store.get(("", name))
        return watched.lns.metadata if watched else None

    def _changed(self, old: WatchedLNamespace | None, new: WatchedLNamespace | None) -> None:
        if old is None or not is_billable(old.lns) or (new and new.lns.uid == old.lns.uid):
            return
        now = datetime.now(UTC)
        # A task each: one that cannot be written must not stop the others.
        task = asyncio.create_task(
            self._record((*pending_records(old.lns, now), pending_deletion(old.lns, now)))
        )
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _record(self, records: tuple[BillingRecord, ...]) -> None:
        for record in records:
            failures, backoff = 0, Backoff()
            while True:
                try:
                    await self._outbox.add(record)
                except ClusterError as error:
                    failures += 1
                    log.warning("an end was not recorded yet", extra={"error": str(error)})
                    await asyncio.sleep(backoff.delay(failures))
                else:
                    break
