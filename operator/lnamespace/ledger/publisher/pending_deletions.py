"""Pending deletions: somebody asked to delete an LNamespace, or it was seen to be gone.

The outbox has an ENDING for each. It is replaced by a DELETE when the LNamespace and its Namespace
are gone: a Namespace that a finalizer holds still costs. It is removed when the LNamespace exists
for longer than a request can take, for then something refused the deletion. The API server is asked
before either: a watch may be behind, and the ledger would have a wrong deletion for ever.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import NoReturn

import msgspec

from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube import answers
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Key
from lnamespace.kube.resources import NAMESPACE, Resource
from lnamespace.ledger.outbox.client import CONCURRENCY, OutboxClient, QueuedRecord
from lnamespace.ledger.outbox.endings import as_deleted, as_held, is_held
from lnamespace.ledger.outbox.record import BillingRecord
from lnamespace.model.lnamespace import Metadata, head_decoder

POLL_SECONDS = 1.0
"""Seconds between two checks of all pending deletions; most checks take no request."""

REFUSED_AFTER_SECONDS = 90.0
"""Seconds after which an LNamespace that exists was not deleted: requests end after 60."""

_BACKOFF = Backoff(first=1.0, longest=15.0)
"""The delay between checks of an LNamespace that is terminating, or whose check failed."""

HELD_AFTER_CHECKS = 5
"""Checks of a terminating LNamespace after which the outbox records that something holds it.

They take half a minute; most Namespaces are gone sooner, and cost no further write. Without the
record, the next publisher took the time of the request for that of the deletion, days too early
where a finalizer had held the Namespace.
"""

log = logging.getLogger(__name__)

LastKnown = Callable[[str], Metadata | None]
"""A function that returns the metadata of an LNamespace by name, as the watch last had it."""


class DeletionOutcome(Enum):
    """The outcome of a request to delete an LNamespace."""

    UNDECIDED = "it exists, and the request may still succeed"
    TERMINATING = "it or its Namespace is being deleted"
    GONE = "it is deleted"
    REFUSED = "it still exists"


def outcome_of(uid: str, there: Metadata | None, waited: float) -> DeletionOutcome:
    """Return the outcome, by what has the name ``waited`` seconds after the request was seen."""
    if there is None or there.uid != uid:
        return DeletionOutcome.GONE
    if there.deletion_timestamp is not msgspec.UNSET:
        return DeletionOutcome.TERMINATING
    return DeletionOutcome.REFUSED if waited > REFUSED_AFTER_SECONDS else DeletionOutcome.UNDECIDED


@dataclass
class _PendingDeletion:
    """The ENDINGs of one LNamespace, and how far its deletion has come.

    The steps that are done are remembered, so that the next try needs fewer requests: where every
    second request fails, four in a row may never succeed.

    Attributes
    ----------
    since
        When its first ENDING was seen, by the monotonic clock. The clocks of other machines differ.
    terminating
        Whether it, or its Namespace, was seen to exist after its deletion had begun; by the
        publisher before this one, too.
    gone
        Whether it was seen to be deleted. That is final, for no UID is used twice.
    ended
        When its Namespace was seen to be gone too.
    recorded
        Whether the DELETE is in the outbox.
    due, checks
        When to check again, by the monotonic clock, and how often that was done.
    """

    since: float
    items: dict[Key, QueuedRecord] = field(default_factory=dict)
    terminating: bool = False
    gone: bool = False
    ended: datetime | None = None
    recorded: bool = False
    due: float = 0.0
    checks: int = 0

    def add(self, item: QueuedRecord) -> None:
        """Add an ENDING."""
        self.items[item.key] = item
        self.terminating |= is_held(item.record)

    @property
    def needs_held_record(self) -> bool:
        """Return whether the outbox lacks the record that something holds the deletion."""
        late = self.terminating and self.checks >= HELD_AFTER_CHECKS
        return late and not any(is_held(item.record) for item in self.items.values())

    @property
    def last(self) -> BillingRecord:
        """Return the newest ENDING."""
        records = (item.record for item in self.items.values())
        return max(records, key=lambda record: (record.generation, record.valid_from))


class _Owner(msgspec.Struct, frozen=True):
    uid: str


class _NamespaceMetadata(msgspec.Struct, frozen=True, rename="camel"):
    owner_references: tuple[_Owner, ...] = ()


class _NamespaceHead(msgspec.Struct, frozen=True):
    metadata: _NamespaceMetadata


_namespace = msgspec.json.Decoder(_NamespaceHead)


async def namespace_exists(client: Client, name: str, uid: str) -> bool:
    """Return whether a Namespace of that name has that UID. Raises ClusterError."""
    try:
        answer = await client.get(NAMESPACE.path(name))
    except NotFound:
        return False
    return answers.decode(head_decoder, answer).metadata.uid == uid


async def namespace_remains(client: Client, name: str, uid: str) -> bool:
    """Return whether the Namespace of an LNamespace that is gone still exists and is to go.

    A Namespace that is to stay (deletionPolicy Retain, or an orphaning deletion) has no owner
    reference to the LNamespace: nobody pays for it after the deletion of the LNamespace. Raises
    ClusterError.
    """
    try:
        found = answers.decode(_namespace, await client.get(NAMESPACE.path(name)))
    except NotFound:
        return False
    return uid in (owner.uid for owner in found.metadata.owner_references)


class PendingDeletions:
    """The pending deletions by LNamespace; completes or removes each."""

    def __init__(
        self, client: Client, lnamespaces: Resource, outbox: OutboxClient, known: LastKnown
    ) -> None:
        self._client = client
        self._lnamespaces = lnamespaces
        self._outbox = outbox
        self._known = known
        self._open: dict[str, _PendingDeletion] = {}
        self._limit = asyncio.Semaphore(CONCURRENCY)
        self._busy: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def changed(self, old: QueuedRecord | None, new: QueuedRecord | None) -> None:
        """Handle a change of the outbox; a listener of its store, for ENDINGs alone."""
        if new is not None:
            first = _PendingDeletion(time.monotonic())
            self._open.setdefault(new.record.lnamespace_uid, first).add(new)
        elif old is not None:
            uid = old.record.lnamespace_uid
            if deletion := self._open.get(uid):
                deletion.items.pop(old.key, None)
                if not deletion.items:
                    del self._open[uid]

    async def run(self) -> NoReturn:
        """Check the pending deletions until cancelled, each without waiting for the others."""
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                now = time.monotonic()
                for uid, deletion in list(self._open.items()):
                    if uid not in self._busy and deletion.due <= now:
                        self._begin(uid, deletion)
        finally:
            for task in list(self._busy.values()):
                task.cancel()

    def _begin(self, uid: str, deletion: _PendingDeletion) -> None:
        task = self._busy[uid] = asyncio.create_task(self._check(uid, deletion))
        task.add_done_callback(lambda _: self._busy.pop(uid, None))

    async def _check(self, uid: str, deletion: _PendingDeletion) -> None:
        items = list(deletion.items.values())
        try:
            async with self._limit:
                decided = bool(items) and await self._is_decided(uid, deletion)
            if decided:
                await asyncio.gather(*map(self._outbox.remove, items))
            elif deletion.needs_held_record:
                await self._outbox.add(as_held(deletion.last, datetime.now(UTC)))
        except ClusterError as error:
            log.warning("an announced end is left for later", extra={"error": str(error)})
            decided = True  # Back off: the next check would fail too.
        if decided or deletion.terminating:
            deletion.checks += 1
            deletion.due = time.monotonic() + _BACKOFF.delay(deletion.checks)

    async def _is_decided(self, uid: str, deletion: _PendingDeletion) -> bool:
        """Return whether the outcome is final; a complete deletion has its DELETE then."""
        found = DeletionOutcome.GONE if deletion.gone else await self._outcome(uid, deletion)
        deletion.gone |= found is DeletionOutcome.GONE
        if deletion.gone and not deletion.ended:
            if await namespace_remains(self._client, deletion.last.namespace, uid):
                found = DeletionOutcome.TERMINATING
            else:
                deletion.ended = datetime.now(UTC)
        if deletion.ended and not deletion.recorded:
            await self._outbox.add(
                as_deleted(deletion.last, deletion.ended if deletion.terminating else None)
            )
            deletion.recorded = True
        if found is DeletionOutcome.REFUSED:
            log.info("a deletion came to nothing", extra={"lnamespace_uid": uid})
        deletion.terminating |= found is DeletionOutcome.TERMINATING
        return found in (DeletionOutcome.GONE, DeletionOutcome.REFUSED)

    async def _outcome(self, uid: str, deletion: _PendingDeletion) -> DeletionOutcome:
        name, waited = deletion.last.namespace, time.monotonic() - deletion.since
        found = outcome_of(uid, self._known(name), waited)
        if found in (DeletionOutcome.GONE, DeletionOutcome.REFUSED):
            found = outcome_of(uid, await self._get(name), waited)
        return found

    async def _get(self, name: str) -> Metadata | None:
        try:
            answer = await self._client.get(self._lnamespaces.path(name))
        except NotFound:
            return None
        return answers.decode(head_decoder, answer).metadata
