"""The limit of LNamespaces per requester: which of them have a slot.

A Namespace takes a slot of the account that asked for it for as long as it exists, also after its
LNamespace is gone. An LNamespace without a slot is over the limit; it is reconciled again whenever
a slot of its account becomes free. The caches have all that counts, and one event loop decides:
nothing can come between counting and reserving (docs/decisions/0019-limit.md).
"""

from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from lnamespace.access.conventions import Conventions
from lnamespace.access.limit import RequesterLimits
from lnamespace.access.ownership import Ownership, determine_ownership
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.rules import name_problem


class QuotaEntry(NamedTuple):
    """The name of a namespace, as it counts for an account.

    ``uid`` is the LNamespace's; empty if the LNamespace is gone and its Namespace is not.
    ``leaving`` means that this Namespace is being deleted.
    """

    account: str
    has_slot: bool
    uid: str = ""
    leaving: bool = False


class LimitState(Enum):
    """The state of an LNamespace at the limit of its account."""

    WITHIN = "it has a slot"
    TERMINATING = "a slot becomes free when a Namespace of the account is deleted"
    EXCEEDED = "the account has no slot left"


class Quota:
    """All entries, by name. ``wake`` is called with each name whose state may have changed."""

    def __init__(
        self,
        conventions: Conventions,
        limits: RequesterLimits,
        reserved: tuple[str, ...] = (),
        wake: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.limits = limits
        self._conventions = conventions
        self._annotation = conventions.names.requester_annotation
        self._reserved = reserved
        self._wake = wake
        self._entries: dict[str, QuotaEntry] = {}
        self._used: Counter[str] = Counter()
        self._leaving: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, None]] = {}
        """The names of an account's LNamespaces without a slot, in the order in which they came."""
        self._orphaned: dict[str, set[str]] = {}
        """The Namespaces of an account whose LNamespaces are gone, and that are to stay."""

    def is_waiting(self, name: str) -> bool:
        """Return whether the LNamespace waits for a slot."""
        entry = self._entries.get(name)
        return entry is not None and not entry.has_slot

    def holder_uid(self, name: str) -> str:
        """Return the UID of the LNamespace that has a slot under that name, or nothing."""
        entry = self._entries.get(name)
        return entry.uid if entry and entry.has_slot else ""

    def used(self, name: str) -> int:
        """Return the number of slots that the account of a waiting LNamespace has taken."""
        return self._used[self._entries[name].account]

    def orphaned_namespaces(self, name: str) -> list[str]:
        """Return the Namespaces that take slots of that account and have no LNamespace."""
        return sorted(self._orphaned.get(self._entries[name].account, ()))

    def update(self, name: str, lns: LNamespace | None, namespace: ObservedObject | None) -> None:
        """Update the entry of a name after a change of the LNamespace or its Namespace.

        An LNamespace keeps its slot: a worker may be creating its Namespace at this moment.
        :meth:`release_unused` releases the slot.
        """
        new, old = self._entry(lns, namespace), self._entries.get(name)
        same = new is not None and old is not None and new.has_slot and new.uid == old.uid
        if old and old.uid and old.has_slot and not same:
            return
        self._replace(name, new)

    def release_unused(
        self, name: str, lns: LNamespace | None, namespace: ObservedObject | None
    ) -> None:
        """Update the entry of a name on which no worker but the caller works."""
        new, old = self._entry(lns, namespace), self._entries.get(name)
        if new and old and old.has_slot and old.uid == new.uid:
            new = new._replace(has_slot=True)
        self._replace(name, new)

    def reserve(self, name: str) -> LimitState:
        """Reserve a slot for the LNamespace if one is free; return its state then."""
        entry = self._entries.get(name)
        if entry is None or entry.has_slot:
            return LimitState.WITHIN
        free = (self.limits.limit_for(entry.account) or 0) - self._used[entry.account]
        if free > 0:
            self._replace(name, entry._replace(has_slot=True))
            return LimitState.WITHIN
        soon = free + self._leaving[entry.account] > 0
        return LimitState.TERMINATING if soon else LimitState.EXCEEDED

    def _entry(self, lns: LNamespace | None, namespace: ObservedObject | None) -> QuotaEntry | None:
        if not self.limits.any_limited:
            return None
        ownership = determine_ownership(lns, namespace, self._conventions) if lns else None
        if lns and ownership in (Ownership.OURS, Ownership.TERMINATING):
            return self._counted(_entry_of(lns, has_slot=True))
        if lns and ownership is Ownership.ABSENT:
            # An LNamespace that had a Namespace keeps its slot while that is created again.
            entry = _entry_of(lns, has_slot=bool(lns.status.namespace_uid))
            return None if name_problem(lns.name, self._reserved) else self._counted(entry)
        requester = namespace.annotations.get(self._annotation, "") if namespace else ""
        if not namespace or not requester:
            return None
        # With a deleted owner, the garbage collector deletes the Namespace in a moment.
        leaving = namespace.terminating or bool(namespace.owners)
        return self._counted(QuotaEntry(requester, has_slot=True, leaving=leaving))

    def _counted(self, entry: QuotaEntry) -> QuotaEntry | None:
        account = self.limits.account(entry.account)
        return (
            entry._replace(account=account) if self.limits.limit_for(account) is not None else None
        )

    def _replace(self, name: str, new: QuotaEntry | None) -> None:
        old = self._entries.pop(name, None)
        if old:
            self._leave(name, old)
        if new:
            self._enter(name, new)
        if old and old.has_slot and old != new:
            for waiting in self._waiting.get(old.account, ()):
                self._wake(waiting)

    def _enter(self, name: str, entry: QuotaEntry) -> None:
        self._entries[name] = entry
        if entry.has_slot:
            self._used[entry.account] += 1
            self._leaving[entry.account] += entry.leaving
            if not entry.uid and not entry.leaving:
                self._orphaned.setdefault(entry.account, set()).add(name)
        else:
            self._waiting.setdefault(entry.account, {})[name] = None

    def _leave(self, name: str, entry: QuotaEntry) -> None:
        if entry.has_slot:
            self._used[entry.account] -= 1
            self._leaving[entry.account] -= entry.leaving
            if (orphaned := self._orphaned.get(entry.account)) is not None:
                orphaned.discard(name)
                if not orphaned:
                    del self._orphaned[entry.account]
        else:
            waiting = self._waiting[entry.account]
            del waiting[name]
            if not waiting:
                del self._waiting[entry.account]


def _entry_of(lns: LNamespace, *, has_slot: bool) -> QuotaEntry:
    return QuotaEntry(lns.spec.account, has_slot, lns.uid)
