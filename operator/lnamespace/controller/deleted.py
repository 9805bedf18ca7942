"""Deleted LNamespaces, until their deletion is recorded for the ledger."""

from collections import UserDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from lnamespace.controller.resource import CachedLNamespace
from lnamespace.kube.state import ObservedObject
from lnamespace.ledger.outbox.record import newest_generation
from lnamespace.model.lnamespace import LNamespace

STANDBY_MEMORY = timedelta(hours=1)
"""How long a standby remembers that an LNamespace is gone.

The leader records a deletion within seconds, and a failover takes less than a minute. If there was
no leader for longer, the webhook's pending deletions and the publisher's comparison record it.
"""


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
