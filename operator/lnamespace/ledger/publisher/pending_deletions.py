"""Ends that are announced: somebody asked for a deletion, or an LNamespace was seen to be gone.

Something may yet refuse that deletion, so an announcement is no event. It comes true when the
LNamespace and its Namespace are gone: a Namespace that a finalizer holds costs what it did before.
It is withdrawn when the LNamespace stays for longer than a request can take. The API server is
asked before either, for what a watch has told may be old, and the end of one that is still there
would stand in the books for ever.
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
from lnamespace.ledger.outbox.record import BillingRecord, as_deleted
from lnamespace.model.lnamespace import Metadata

POLL_SECONDS = 1.0
"""Seconds between two looks at all that is open; most takes no request."""

REFUSED_AFTER_SECONDS = 90.0
"""Seconds; the API server gives up a request after 60, so what stays longer has been refused."""

_BACKOFF = Backoff(first=1.0, longest=15.0)
"""Between two looks at one that is leaving, or at which something failed."""

log = logging.getLogger(__name__)

LastKnown = Callable[[str], Metadata | None]
"""What was last heard of the LNamespace of that name."""


class DeletionOutcome(Enum):
    """What has become of a deletion that was asked for."""

    OPEN = "open"
    LEAVING = "it is being deleted, or its Namespace is"
    GONE = "gone"
    STAYS = "stays"


def outcome_of(uid: str, there: Metadata | None, waited: float) -> DeletionOutcome:
    """What has become of an LNamespace, by what has its name ``waited`` seconds later."""
    if there is None or there.uid != uid:
        return DeletionOutcome.GONE
    if there.deletion_timestamp is not msgspec.UNSET:
        return DeletionOutcome.LEAVING
    return DeletionOutcome.STAYS if waited > REFUSED_AFTER_SECONDS else DeletionOutcome.OPEN


@dataclass
class _PendingDeletion:
    """The announcements of one LNamespace, and when the first was seen by the monotonic clock.

    Which is later than it was made, whatever the clocks of other machines say. ``leaving``: it, or
    its Namespace, was seen to be there after its deletion had begun. ``due`` is when to look again.

    What was reached stays reached, so that each try needs one request less: where every second one
    fails, a row of four that begins anew each time may never end. ``gone``: the LNamespace was seen
    to be gone, which lasts, for no UID is used twice. ``ended``: so was its Namespace, and when.
    ``told``: the end is in the outbox.
    """

    since: float
    items: dict[Key, QueuedRecord] = field(default_factory=dict)
    leaving: bool = False
    gone: bool = False
    ended: datetime | None = None
    told: bool = False
    due: float = 0.0
    looks: int = 0

    @property
    def last(self) -> BillingRecord:
        """The newest announcement."""
        records = (item.record for item in self.items.values())
        return max(records, key=lambda record: (record.generation, record.valid_from))


class _Owner(msgspec.Struct, frozen=True):
    uid: str


class _NamespaceMetadata(msgspec.Struct, frozen=True, rename="camel"):
    owner_references: tuple[_Owner, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    metadata: Metadata


class _NamespaceHead(msgspec.Struct, frozen=True):
    metadata: _NamespaceMetadata


_head = msgspec.json.Decoder(_Head)
_namespace = msgspec.json.Decoder(_NamespaceHead)


async def namespace_remains(client: Client, name: str, uid: str) -> bool:
    """Whether the Namespace of an LNamespace that is gone is there still, by its owner reference.

    One that is to stay (deletionPolicy Retain, or an orphaning deletion) has none: it is nobody's
    since the LNamespace is gone. Raises ClusterError.
    """
    try:
        found = answers.decode(_namespace, await client.get(NAMESPACE.path(name)))
    except NotFound:
        return False
    return uid in (owner.uid for owner in found.metadata.owner_references)


class PendingDeletions:
    """The announced ends by LNamespace, and what becomes of them."""

    def __init__(
        self, client: Client, lnamespaces: Resource, outbox: OutboxClient, known: LastKnown
    ) -> None:
        self._client = client
        self._lnamespaces = lnamespaces
        self._outbox = outbox
        self._known = known
        self._open: dict[str, _PendingDeletion] = {}
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._busy: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def changed(self, old: QueuedRecord | None, new: QueuedRecord | None) -> None:
        """Take in news of the outbox: a listener of its store, for records of this operation."""
        if new is not None:
            made = _PendingDeletion(time.monotonic())
            self._open.setdefault(new.record.lnamespace_uid, made).items[new.key] = new
        elif old is not None:
            uid = old.record.lnamespace_uid
            if one := self._open.get(uid):
                one.items.pop(old.key, None)
                if not one.items:
                    del self._open[uid]

    async def run(self) -> NoReturn:
        """Look after what is open, until cancelled; none of them waits for another."""
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                now = time.monotonic()
                for uid, one in list(self._open.items()):
                    if uid not in self._busy and one.due <= now:
                        self._begin(uid, one)
        finally:
            for task in list(self._busy.values()):
                task.cancel()

    def _begin(self, uid: str, one: _PendingDeletion) -> None:
        task = self._busy[uid] = asyncio.create_task(self._settle(uid, one))
        task.add_done_callback(lambda _: self._busy.pop(uid, None))

    async def _settle(self, uid: str, one: _PendingDeletion) -> None:
        items = list(one.items.values())
        try:
            async with self._slots:
                settled = bool(items) and await self._settled(uid, one)
            if settled:
                await asyncio.gather(*map(self._outbox.remove, items))
        except ClusterError as error:
            log.warning("an announced end is left for later", extra={"error": str(error)})
            settled = True  # Something is the matter with it: not at every look.
        if settled or one.leaving:
            one.looks += 1
            one.due = time.monotonic() + _BACKOFF.delay(one.looks)

    async def _settled(self, uid: str, one: _PendingDeletion) -> bool:
        """Whether there is nothing more to wait for; what has come true is in the outbox then."""
        found = DeletionOutcome.GONE if one.gone else await self._fate(uid, one)
        one.gone |= found is DeletionOutcome.GONE
        if one.gone and not one.ended:
            if await namespace_remains(self._client, one.last.namespace, uid):
                found = DeletionOutcome.LEAVING
            else:
                one.ended = datetime.now(UTC)
        if one.ended and not one.told:
            await self._outbox.add(as_deleted(one.last, one.ended if one.leaving else None))
            one.told = True
        if found is DeletionOutcome.STAYS:
            log.info("a deletion came to nothing", extra={"lnamespace_uid": uid})
        one.leaving |= found is DeletionOutcome.LEAVING
        return found in (DeletionOutcome.GONE, DeletionOutcome.STAYS)

    async def _fate(self, uid: str, one: _PendingDeletion) -> DeletionOutcome:
        name, waited = one.last.namespace, time.monotonic() - one.since
        found = outcome_of(uid, self._known(name), waited)
        if found in (DeletionOutcome.GONE, DeletionOutcome.STAYS):
            found = outcome_of(uid, await self._look(name), waited)
        return found

    async def _look(self, name: str) -> Metadata | None:
        try:
            answer = await self._client.get(self._lnamespaces.path(name))
        except NotFound:
            return None
        return answers.decode(_head, answer).metadata
