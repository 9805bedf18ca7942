"""What the door puts into the outbox before it lets an LNamespace go.

An LNamespace has no finalizer: once it is gone, only who watched knows what it was. The controller
and the publisher watch, and both may be down; the door is asked about every deletion. It writes
down what the ledger does not know yet, and that the end was asked for; whether it came is for the
publisher to find out (docs/decisions/0018-departures.md).

It never believes who asks it, who may be anybody in the cluster: what it writes is what the API
server says of the LNamespace. And no deletion fails by it.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from lnamespace.admission import caller
from lnamespace.admission.decisions.policy import Clock
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.errors import ClusterError, ModelError, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import Resource
from lnamespace.ledger.outbox.client import OutboxClient
from lnamespace.ledger.outbox.record import is_billable, pending_deletion, pending_records
from lnamespace.model.lnamespace import LNamespace, decode

PATIENCE = 2.0
"""Seconds that a deletion waits at most; the API server waits three for the whole answer."""

AT_ONCE = 16
"""So many deletions are looked at together for one address."""

AGAIN = 20.0
"""Seconds for which what was written is not written again: it is there for 90 at least, and the
deletion has failed after 60."""

_ADDRESSES_MAX, _WRITTEN_MAX = 1_000, 10_000

log = logging.getLogger(__name__)


class Departures(Protocol):
    """Who is told that an LNamespace is about to go."""

    async def tell(self, request: AdmissionRequest) -> None:
        """Have it written down, if it can be."""


class NoDepartures:
    """For a webhook that has no connection to the API server."""

    async def tell(self, request: AdmissionRequest) -> None:
        """Nothing: it is left to those who watch."""


@dataclass(frozen=True)
class IntoOutbox:
    """Writes it into the outbox; ``missed`` is called when that could not be done in time."""

    client: Client
    resource: Resource
    outbox: OutboxClient
    clock: Clock
    missed: Callable[[], None]
    turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    written: OrderedDict[str, float] = field(default_factory=OrderedDict)

    async def tell(self, request: AdmissionRequest) -> None:
        """Write down what the ledger must know, for at most :data:`PATIENCE` seconds."""
        if request.operation != "DELETE" or request.dry_run:
            return
        try:
            async with asyncio.timeout(PATIENCE), self._turn():
                if lns := await self._look(request.name or _old_name(request)):
                    await self._write(lns)
        except (ClusterError, ModelError, TimeoutError) as error:
            self.missed()
            about = {"uid": request.uid, "error": str(error) or type(error).__name__}
            log.warning("a deletion was let through without a record of it", extra=about)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Let each address have so many under way: a stranger holds up nobody but themselves."""
        address = caller.address.get()
        if address not in self.turns and len(self.turns) >= _ADDRESSES_MAX:
            for known in [a for a, turn in self.turns.items() if not turn.locked()]:
                del self.turns[known]
        async with self.turns.setdefault(address, asyncio.Semaphore(AT_ONCE)):
            yield

    async def _look(self, name: str) -> LNamespace | None:
        try:
            return decode(await self.client.get(self.resource.path(name)))
        except NotFound:
            return None  # Somebody else's deletion was first.

    async def _write(self, lns: LNamespace) -> None:
        """One after the other: what came first must not be missing where what followed is there."""
        if not is_billable(lns):
            return
        now = self.clock()
        end = pending_deletion(lns, now)
        if self.written.get(end.name, 0.0) > time.monotonic():
            return
        for record in (*pending_records(lns, now), end):
            await self.outbox.add(record)
        self.written[end.name] = time.monotonic() + AGAIN
        while len(self.written) > _WRITTEN_MAX:
            self.written.popitem(last=False)


def _old_name(request: AdmissionRequest) -> str:
    """Where a whole collection is deleted, each of it is shown without a name of the request."""
    metadata = request.old.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
