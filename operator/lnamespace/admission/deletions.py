"""Deletions, written to the outbox before the API server carries them out.

An LNamespace has no finalizer: once it is gone, only a process that watched knows what it was. The
controller and the publisher watch, and both may be down; the webhook is asked about every deletion.
It writes the charges that the ledger does not have yet, and a record that the deletion was
requested; the publisher finds out whether it happened (docs/decisions/0018-departures.md).

The request is not trusted, since any pod may have sent it: the records are made from the LNamespace
as the API server shows it. No deletion is refused or fails because of this module.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lnamespace.admission import caller
from lnamespace.admission.decisions.decision import Clock
from lnamespace.admission.decisions.review import AdmissionRequest, name_of
from lnamespace.errors import ClusterError, ModelError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.outbox.endings import pending_deletion
from lnamespace.ledger.outbox.record import is_billable, pending_records
from lnamespace.model.lnamespace import LNamespace, decode_lnamespace

PATIENCE = 2.0
"""Seconds for which a deletion waits at most; the API server waits three for the whole answer."""

CONCURRENT = 16
"""Deletions that are recorded at a time for one address."""

REPEAT_AFTER = 20.0
"""Seconds for which a record is not written again: it stays for at least 90, and a deletion that
has not happened after 60 has failed."""

_ADDRESSES_MAX, _WRITTEN_MAX = 1_000, 10_000

log = logging.getLogger(__name__)


RecordDeletion = Callable[[AdmissionRequest], Awaitable[None]]
"""A function that records the deletion of an LNamespace if that is possible, and never raises."""


async def record_nothing(_: AdmissionRequest) -> None:
    """Leave the deletion to the processes that watch: the webhook has no client."""


@dataclass(frozen=True)
class OutboxDeletions:
    """A recorder of deletions in the outbox.

    Parameters
    ----------
    missed
        Called for each deletion that could not be recorded in time.
    turns
        By address, the semaphore of deletions that are recorded at a time.
    written
        When a record may be written again, by its name; in seconds of ``time.monotonic``.
    """

    client: Client
    resource: Resource
    outbox: OutboxClient
    clock: Clock
    missed: Callable[[], None]
    turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    written: OrderedDict[str, float] = field(default_factory=OrderedDict)

    async def record(self, request: AdmissionRequest) -> None:
        """Write what the ledger must know, for at most :data:`PATIENCE` seconds."""
        if request.operation != "DELETE" or request.dry_run:
            return
        try:
            async with asyncio.timeout(PATIENCE), self._turn():
                # In a deletion of a collection the request itself has no name.
                if lns := await self._get(request.name or name_of(request.old) or ""):
                    await self._write(lns)
        except (ClusterError, ModelError, TimeoutError) as error:
            self.missed()
            about = {"uid": request.uid, "error": str(error) or type(error).__name__}
            log.warning("a deletion was let through without a record of it", extra=about)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for the address's turn, so that a stranger's requests delay only their own."""
        address = caller.address.get()
        if address not in self.turns and len(self.turns) >= _ADDRESSES_MAX:
            for known in [a for a, turn in self.turns.items() if not turn.locked()]:
                del self.turns[known]
        async with self.turns.setdefault(address, asyncio.Semaphore(CONCURRENT)):
            yield

    async def _get(self, name: str) -> LNamespace | None:
        try:
            return decode_lnamespace(await self.client.get(self.resource.path(name)))
        except NotFound:
            return None  # Another deletion was first.

    async def _write(self, lns: LNamespace) -> None:
        """Write the records in their order: none may exist without those before it."""
        if not is_billable(lns):
            return
        now = self.clock()
        end = pending_deletion(lns, now)
        if self.written.get(end.name, 0.0) > time.monotonic():
            return
        for record in (*pending_records(lns, now), end):
            await self.outbox.add(record)
        self.written[end.name] = time.monotonic() + REPEAT_AFTER
        while len(self.written) > _WRITTEN_MAX:
            self.written.popitem(last=False)
