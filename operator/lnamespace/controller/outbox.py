"""Create BillingRecords: objects in etcd that the publisher carries into the ledger.

The database is never in the way: a record is one small write to the API server that everything
else depends on too (docs/decisions/0013-outbox.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from lnamespace.controller.status import may_have_waited, namespace_ready_since
from lnamespace.errors import AlreadyExists, ClusterError
from lnamespace.kube.client import Client
from lnamespace.kube.state import ObservedObject
from lnamespace.ledger.outbox.endings import deletion, pending_deletion
from lnamespace.ledger.outbox.record import BillingRecord, billingrecords, manifest, pending_records
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import Names

_SECOND = timedelta(seconds=1)
"""A creationTimestamp is cut to seconds: the Namespace before it was gone within this one."""


@dataclass(frozen=True)
class DeletedLNamespaceKey:
    """The key of a deleted LNamespace: its UID, because another may have its name already."""

    uid: str


class DeletedLNamespace(msgspec.Struct, frozen=True):
    """An LNamespace as it was last seen, and when it, or its Namespace, was seen to be gone.

    ``pending_recorded``: the outbox has a pending deletion, in case this process does not see the
    end of it.
    """

    lns: LNamespace
    at: datetime
    pending_recorded: bool = False

    def namespace_still_billed(self, namespace: ObservedObject | None) -> bool:
        """Return whether its Namespace is still there and costs what it did before.

        A Namespace that stays (deletionPolicy Retain, or an orphaning deletion) has no owner and is
        not being deleted: nobody pays for it after the LNamespace is gone.
        """
        if namespace is None:
            return False
        own = namespace.uid == self.lns.status.namespace_uid
        return self.lns.uid in namespace.owners or (own and namespace.terminating)


@dataclass(frozen=True)
class BillingRecorder:
    """A recorder that creates BillingRecords idempotently: each is named by the id of its event.

    Parameters
    ----------
    recorded
        The UIDs of LNamespaces with a record, even if their status lacks it.
    waited
        The UIDs of LNamespaces that waited for another Namespace of their name to be gone; after a
        restart the status shows it.
    started_at
        By UID, when such an LNamespace got its Namespace.
    """

    client: Client
    names: Names
    recorded: set[str] = field(default_factory=set)
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
        failures = await self.create(lns.uid, self._due(lns, now, namespace_created))
        if not failures:
            self.forget(lns.uid)
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
            self.recorded.discard(lns.uid)
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
        path = billingrecords(self.names).path()
        for record in records:
            body = msgspec.json.encode(manifest(record, self.names))
            try:
                await self.client.create(path, body)
            except AlreadyExists:
                pass
            except ClusterError as error:
                return [error]
            self.recorded.add(uid)
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
