"""Tells the ledger of billing: as objects in etcd, which a publisher carries on.

The database is never in the way: a record is one small write to the API server that everything
else depends on too (docs/decisions/0013-outbox.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from lnamespace.billing.record import BillingRecord, billingrecords, closing, due, manifest
from lnamespace.errors import AlreadyExists, ClusterError
from lnamespace.kube.client import Client
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import Names


@dataclass(frozen=True)
class Departed:
    """The key of an LNamespace that is gone: by UID, for another may have its name already."""

    uid: str


class Departure(msgspec.Struct, frozen=True):
    """An LNamespace as it was last seen, and when it was seen to be gone."""

    lns: LNamespace
    at: datetime


@dataclass(frozen=True)
class Outbox:
    """Makes records; whoever makes one twice has made one.

    ``told`` are the UIDs of the LNamespaces of which something was recorded, whether or not their
    status came to say so.
    """

    client: Client
    names: Names
    told: set[str] = field(default_factory=set)

    async def record(self, lns: LNamespace, now: datetime) -> list[ClusterError]:
        """Record what the ledger does not know yet of who pays."""
        return await self._make(lns.uid, due(lns, now))

    async def close(self, departure: Departure) -> list[ClusterError]:
        """Record that an LNamespace is gone, and before that what had not been recorded."""
        lns, at = departure.lns, departure.at
        failures = await self._make(lns.uid, (*due(lns, at), closing(lns, at)))
        if not failures:
            self.told.discard(lns.uid)
        return failures

    async def _make(self, uid: str, records: Iterable[BillingRecord]) -> list[ClusterError]:
        """One after the other: what came first must not be missing where what followed is there."""
        path = billingrecords(self.names).path()
        for record in records:
            body = msgspec.json.encode(manifest(record, self.names))
            try:
                await self.client.create(path, body)
            except AlreadyExists:
                pass
            except ClusterError as error:
                return [error]
            self.told.add(uid)
        return []
