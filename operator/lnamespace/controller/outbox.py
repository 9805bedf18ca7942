"""Create BillingRecords: objects in etcd that the publisher carries into the ledger.

The database is never in the way: a record is one small write to the API server that everything
else depends on too (docs/decisions/0013-outbox.md).
"""

from collections import UserDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec

from lnamespace.controller.resource import CachedLNamespace
from lnamespace.controller.status import may_have_waited, namespace_ready_since
from lnamespace.errors import AlreadyExists, ClusterError
from lnamespace.kube.client import Client
from lnamespace.kube.state import ObservedObject
from lnamespace.ledger.outbox.endings import deletion, pending_deletion
from lnamespace.ledger.outbox.record import (
    BillingRecord,
    billingrecords,
    manifest,
    newest_generation,
    pending_records,
)
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
        path = billingrecords(self.names).path()
        for record in records:
            body = msgspec.json.encode(manifest(record, self.names))
            try:
                await self.client.create(path, body)
            except AlreadyExists:
                pass
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


STANDBY_MEMORY = timedelta(hours=1)
"""How long a standby remembers that an LNamespace is gone.

The leader records a deletion within seconds, and a failover takes less than a minute. If there was
no leader for longer, the webhook's pending deletions and the publisher's comparison record it.
"""


class DeletedLNamespaces(UserDict[str, DeletedLNamespace]):
    """The deleted LNamespaces by UID, in the order of deletion, and by name.

    Each deletion of a Namespace makes five events. When 10,000 LNamespaces were deleted at once,
    each event searched all of them: 19 ms, in which no revocation went on.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, set[str]] = {}

    def __setitem__(self, uid: str, deleted: DeletedLNamespace) -> None:
        super().__setitem__(uid, deleted)
        self._names.setdefault(deleted.lns.name, set()).add(uid)

    def __delitem__(self, uid: str) -> None:
        name = self[uid].lns.name
        super().__delitem__(uid)
        self._names[name].discard(uid)
        if not self._names[name]:
            del self._names[name]

    def by_name(self, name: str) -> list[tuple[str, DeletedLNamespace]]:
        """Return the deleted LNamespaces of that name, with their UIDs."""
        return [(uid, self[uid]) for uid in sorted(self._names.get(name, ()))]

    def note(self, old: CachedLNamespace | None, read: LNamespace) -> None:
        """Note that an LNamespace is deleted; ``read`` is as it was when it could last be read."""
        self[read.uid] = DeletedLNamespace(_as_billed(old, read), datetime.now(UTC))

    def note_pending_recorded(self, uid: str) -> None:
        """Note that the outbox has the pending deletion of an LNamespace."""
        if deleted := self.get(uid):
            self[uid] = msgspec.structs.replace(deleted, pending_recorded=True)

    def note_namespace(self, old: ObservedObject, new: ObservedObject | None) -> list[str]:
        """Record the end of a Namespace as that of its LNamespace, which is deleted already.

        Return the UIDs of the deleted LNamespaces of that name.
        """
        now, found = datetime.now(UTC), self.by_name(old.key[1])
        for uid, deleted in found:
            if deleted.namespace_still_billed(old) and (new is None or new.uid != old.uid):
                self[uid] = msgspec.structs.replace(deleted, at=now)
        return [uid for uid, _ in found]

    def forget_recorded(self) -> None:
        """Drop on a standby the deletions that the leader has long recorded."""
        before = datetime.now(UTC) - STANDBY_MEMORY
        while self:
            oldest = next(iter(self))
            if self[oldest].at >= before:
                break
            del self[oldest]


def _as_billed(old: CachedLNamespace | None, read: LNamespace) -> LNamespace:
    """Return a deleted LNamespace as it was when it could last be read.

    An LNamespace that could never be read seems to have a payer without a name. Only its deletion
    may be recorded.
    """
    if old is None or not old.problem or read is not old.lns:
        return read
    recorded = msgspec.structs.replace(read.status.recorded, generation=newest_generation(read))
    return msgspec.structs.replace(
        read, status=msgspec.structs.replace(read.status, recorded=recorded)
    )
