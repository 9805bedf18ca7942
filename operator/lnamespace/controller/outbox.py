"""Create BillingRecords: objects in etcd that the publisher carries into the ledger.

A record is one small write to the API server, on which everything else depends too: nothing waits
for the database (docs/decisions/0013-outbox.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from lnamespace.controller.deleted import DeletedLNamespace
from lnamespace.controller.status import may_have_waited, namespace_ready_since
from lnamespace.errors import ClusterError
from lnamespace.kube.client import Client
from lnamespace.ledger.outbox.client import create_record
from lnamespace.ledger.outbox.endings import deletion, pending_deletion
from lnamespace.ledger.outbox.record import BillingRecord, pending_records
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import Names

_SECOND = timedelta(seconds=1)
"""A creationTimestamp is cut to seconds: the Namespace before it was gone within this one."""


@dataclass(frozen=True)
class BillingRecorder:
    """A recorder that creates BillingRecords idempotently: each is named by the id of its event.

    Parameters
    ----------
    recorded
        The LNamespaces with a record, even if their status lacks it: by UID, the resourceVersion of
        the LNamespace whose records are all created, or empty.
    waited
        The UIDs of LNamespaces that waited for another Namespace of their name to be gone; after a
        restart the status shows it.
    started_at
        By UID, when such an LNamespace got its Namespace.
    """

    client: Client
    names: Names
    recorded: dict[str, str] = field(default_factory=dict)
    waited: set[str] = field(default_factory=set)
    started_at: dict[str, datetime] = field(default_factory=dict)

    def note_waiting(self, uid: str) -> None:
        """Note that an LNamespace waits for another Namespace of its name to go."""
        self.waited.add(uid)
        self.started_at.pop(uid, None)

    async def record(
        self, lns: LNamespace, now: datetime, namespace_created: str = ""
    ) -> list[ClusterError]:
        """Record who pays, as far as the ledger does not know it yet; return the failures.

        An LNamespace that waited for another Namespace of its name pays from the moment when it has
        its own: the owner of the other one paid until then.

        Parameters
        ----------
        namespace_created
            When its Namespace was created for it; empty if it was adopted, or that is not known.
        """
        # The status may wait for a sudoer whose objects are slow, and each further reconcile until
        # then would create the record anew: a refused request, or the publisher's work once more.
        version = lns.metadata.resource_version
        done = self.recorded.get(lns.uid) == version
        due = () if done else self._due(lns, now, namespace_created)
        failures = await self.create(lns.uid, due)
        if not failures:
            self.forget(lns.uid)
            if due:
                self.recorded[lns.uid] = version
        return failures

    async def record_pending_deletion(self, deleted: DeletedLNamespace) -> list[ClusterError]:
        """Record that an LNamespace is gone and its Namespace is not yet; return the failures.

        If this process ends meanwhile, the publisher waits for the Namespace.
        """
        lns, at = deleted.lns, deleted.at
        return await self.create(lns.uid, (*self._due(lns, at), pending_deletion(lns, at)))

    async def record_deletion(self, deleted: DeletedLNamespace) -> list[ClusterError]:
        """Record that an LNamespace is gone, and first its charges that are not recorded yet."""
        lns, at = deleted.lns, deleted.at
        failures = await self.create(lns.uid, (*self._due(lns, at), deletion(lns, at)))
        if not failures:
            self.recorded.pop(lns.uid, None)
            self.forget(lns.uid)
        return failures

    def forget(self, uid: str) -> None:
        """Forget that an LNamespace has waited."""
        self.waited.discard(uid)
        self.started_at.pop(uid, None)

    def _due(
        self, lns: LNamespace, now: datetime, namespace_created: str = ""
    ) -> tuple[BillingRecord, ...]:
        records = pending_records(lns, now)
        if lns.uid not in self.waited and not may_have_waited(lns.status):
            return records
        start = self.started_at.get(lns.uid) or _start(lns, now, namespace_created)
        if start is None:
            return records
        self.started_at[lns.uid] = start
        return tuple(_not_before(record, start) for record in records)

    async def create(self, uid: str, records: Iterable[BillingRecord]) -> list[ClusterError]:
        """Create records one after the other: no later one may exist without an earlier one."""
        for record in records:
            try:
                await create_record(self.client, self.names, record)
            except ClusterError as error:
                return [error]
            self.recorded.setdefault(uid, "")
        return []


def _start(lns: LNamespace, now: datetime, namespace_created: str) -> datetime | None:
    """Return since when an LNamespace has had its own Namespace; None if nobody knows.

    A process that has made the Namespace may have ended before it could record who pays, and its
    memory with it.
    """
    if namespace_created:
        return min(datetime.fromisoformat(namespace_created) + _SECOND, now)
    return namespace_ready_since(lns.status) if lns.status.namespace_uid else now


def _not_before(record: BillingRecord, moment: datetime) -> BillingRecord:
    return msgspec.structs.replace(record, valid_from=max(record.valid_from, moment))
