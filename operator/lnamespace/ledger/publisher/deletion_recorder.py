"""A second witness of deletions, for an outage of the controller.

An LNamespace has no finalizer, so what the controller does not see go leaves no trace but in what
the door wrote down before, and in the ledger's comparison, which cannot know of a change of the
bill just before the end, nor when that was. The publisher is another process: it watches
LNamespaces too, and makes the records that the controller would make. Their names follow from
what happened, so that both make one.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import NoReturn

import msgspec

from lnamespace.errors import ClusterError, ModelError
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import Resource
from lnamespace.kube.store import Store
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.outbox.record import (
    BillingRecord,
    is_billable,
    pending_deletion,
    pending_records,
)
from lnamespace.ledger.publisher.pending_deletions import PendingDeletions
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION, LNamespace, Metadata, decode
from lnamespace.model.names import Names

log = logging.getLogger(__name__)


class WatchedLNamespace(msgspec.Struct, frozen=True):
    """An LNamespace as it is."""

    key: Key
    version: int
    lns: LNamespace


class _Head(msgspec.Struct, frozen=True):
    metadata: Metadata


_head = msgspec.json.Decoder(_Head)


def decode_watched(raw: bytes | msgspec.Raw) -> WatchedLNamespace:
    """Read an LNamespace; of one that breaks its schema nothing is told when it goes."""
    try:
        lns = decode(raw)
    except ModelError:
        lns = LNamespace(answers.decode(_head, raw).metadata)
    return WatchedLNamespace(("", lns.name), answers.version_of(lns.metadata.resource_version), lns)


class DeletionRecorder:
    """Sees LNamespaces go, and puts what the ledger must know of it into the outbox.

    ``announcements`` are the ends that were told of before they came; it makes one of each that
    it sees, which comes true when the Namespace is gone, too.
    """

    def __init__(self, client: Client, names: Names, outbox: OutboxClient) -> None:
        self._outbox = outbox
        self._telling: set[asyncio.Task[None]] = set()
        self._store: Store[WatchedLNamespace] = Store(self._changed)
        resource = Resource(names.group, VERSION, KIND, PLURAL)
        self._source = Reflector(client, resource, self._store, decode_watched)
        self.announcements = PendingDeletions(client, resource, outbox, self._known)

    async def run(self) -> NoReturn:
        """Watch and tell, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._source.run())
                tasks.create_task(self.announcements.run())
            raise AssertionError("neither of them ends")
        finally:
            for task in list(self._telling):
                task.cancel()

    def _known(self, name: str) -> Metadata | None:
        watched = self._store.get(("", name))
        return watched.lns.metadata if watched else None

    def _changed(self, old: WatchedLNamespace | None, new: WatchedLNamespace | None) -> None:
        if old is None or not is_billable(old.lns) or (new and new.lns.uid == old.lns.uid):
            return
        now = datetime.now(UTC)
        # A task each: one that cannot be written must not stop the others.
        task = asyncio.create_task(
            self._tell((*pending_records(old.lns, now), pending_deletion(old.lns, now)))
        )
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, records: tuple[BillingRecord, ...]) -> None:
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
