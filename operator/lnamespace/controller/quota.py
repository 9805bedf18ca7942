"""The quota of LNamespaces per requester: who has a slot, and who is next in the queue.

A Namespace takes a slot of whoever asked for it for as long as it is there, also when its
LNamespace has gone and left it. Who waits is in line, the oldest first. All of it is known from
the caches, and decided in one event loop, in which nothing can come between a look and a grant:
there is no race to win (docs/decisions/0019-limit.md).
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from lnamespace.access.conventions import Conventions
from lnamespace.access.limit import RequesterLimits
from lnamespace.access.ownership import Ownership, determine_ownership
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.rules import RESERVED_NAMES, name_problem

SHOWN = 10
"""So many of a line may be edited and deleted by their managers.

Each costs a ClusterRoleBinding, and those are looked through at every request of everybody. Who
makes a thousand and deletes ten comes to the next ten.
"""


class QuotaEntry(NamedTuple):
    """The name of a namespace, as it counts for an account.

    ``uid`` is the LNamespace's; empty where a Namespace is left whose LNamespace is gone.
    ``leaving``: that Namespace is being deleted.
    """

    account: str
    holds: bool
    uid: str = ""
    since: str = ""
    leaving: bool = False


class QueuePosition(Enum):
    """The position of an LNamespace in its account's quota."""

    HOLDS = "it has a slot"
    NEXT = "it gets that of a Namespace that is being deleted"
    WAITS = "it is in line"
    FAR = "it is further back in line than anybody needs to see"


class Quota:
    """All entries, by name. ``wake`` is called with each name whose position may have changed."""

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
        self._reserved = RESERVED_NAMES + reserved
        self._wake = wake
        self._claims: dict[str, QuotaEntry] = {}
        self._held: Counter[str] = Counter()
        self._leaving: Counter[str] = Counter()
        self._lines: dict[str, list[tuple[str, str]]] = {}
        self._left: dict[str, set[str]] = {}
        """The Namespaces of an account whose LNamespaces are gone, and that are to stay."""

    def waits(self, name: str) -> bool:
        """Return whether the LNamespace waits for a slot."""
        claim = self._claims.get(name)
        return claim is not None and not claim.holds

    def given_to(self, name: str) -> str:
        """Return the UID of the LNamespace that has a slot under that name, or nothing."""
        claim = self._claims.get(name)
        return claim.uid if claim and claim.holds else ""

    def used(self, name: str) -> int:
        """Return how many slots are taken of the account of an LNamespace that waits."""
        return self._held[self._claims[name].account]

    def left(self, name: str) -> list[str]:
        """Return the Namespaces that take slots of that account and have no LNamespace."""
        return sorted(self._left.get(self._claims[name].account, ()))

    def note(self, name: str, lns: LNamespace | None, namespace: ObservedObject | None) -> None:
        """Update the entry of a name after a change of the LNamespace or its Namespace.

        A slot that an LNamespace has is kept: a worker may be creating its Namespace at this
        moment. :meth:`settle` takes it back.
        """
        new, old = self._claim(lns, namespace), self._claims.get(name)
        same = new is not None and old is not None and new.holds and new.uid == old.uid
        if old and old.uid and old.holds and not same:
            return
        self._replace(name, new)

    def settle(self, name: str, lns: LNamespace | None, namespace: ObservedObject | None) -> None:
        """Update the entry of a name on which no worker but the caller works."""
        new, old = self._claim(lns, namespace), self._claims.get(name)
        if new and old and old.holds and old.uid == new.uid:
            new = new._replace(holds=True)
        self._replace(name, new)

    def ask(self, name: str) -> QueuePosition:
        """Return the position of the LNamespace, taking a free slot if it is its turn."""
        claim = self._claims.get(name)
        if claim is None or claim.holds:
            return QueuePosition.HOLDS
        rank = bisect_left(self._lines[claim.account], (claim.since, name))
        if rank < self._free(claim.account):
            self._replace(name, claim._replace(holds=True))
            return QueuePosition.HOLDS
        if rank < self._free(claim.account) + self._leaving[claim.account]:
            return QueuePosition.NEXT
        return QueuePosition.WAITS if rank < SHOWN else QueuePosition.FAR

    def _claim(self, lns: LNamespace | None, namespace: ObservedObject | None) -> QuotaEntry | None:
        if not self.limits.any_limited:
            return None
        whose = determine_ownership(lns, namespace, self._conventions) if lns else None
        if lns and whose in (Ownership.OURS, Ownership.TERMINATING):
            return self._counted(_claim_of(lns, holds=True))
        if lns and whose is Ownership.ABSENT:
            # One that had a Namespace keeps its slot while that is made anew.
            claim = _claim_of(lns, holds=bool(lns.status.namespace_uid))
            return None if name_problem(lns.name, self._reserved) else self._counted(claim)
        asked = namespace.annotations.get(self._annotation, "") if namespace else ""
        if not namespace or not asked:
            return None
        # An owner that is gone takes it along: the garbage collector comes in a moment.
        leaving = namespace.terminating or bool(namespace.owners)
        return self._counted(QuotaEntry(asked, holds=True, leaving=leaving))

    def _counted(self, claim: QuotaEntry) -> QuotaEntry | None:
        account = self.limits.account(claim.account)
        return claim._replace(account=account) if self.limits.of(account) is not None else None

    def _free(self, account: str) -> int:
        return (self.limits.of(account) or 0) - self._held[account]

    def _replace(self, name: str, new: QuotaEntry | None) -> None:
        old = self._claims.pop(name, None)
        if old:
            self._leave(name, old)
        if new:
            self._enter(name, new)
        if old and old != new:
            self._call_next(old.account)

    def _enter(self, name: str, claim: QuotaEntry) -> None:
        self._claims[name] = claim
        if claim.holds:
            self._held[claim.account] += 1
            self._leaving[claim.account] += claim.leaving
            if not claim.uid and not claim.leaving:
                self._left.setdefault(claim.account, set()).add(name)
            return
        line = self._lines.setdefault(claim.account, [])
        insort(line, (claim.since, name))
        if len(line) > SHOWN and (claim.since, name) < line[SHOWN]:
            self._wake(line[SHOWN][1])  # it was to be seen until now

    def _leave(self, name: str, claim: QuotaEntry) -> None:
        if claim.holds:
            self._held[claim.account] -= 1
            self._leaving[claim.account] -= claim.leaving
            if (left := self._left.get(claim.account)) is not None:
                left.discard(name)
                if not left:
                    del self._left[claim.account]
            return
        line = self._lines[claim.account]
        del line[bisect_left(line, (claim.since, name))]

    def _call_next(self, account: str) -> None:
        line = self._lines.get(account, [])
        for _, name in line[: max(self._free(account), 0) + SHOWN + self._leaving[account]]:
            self._wake(name)


def _claim_of(lns: LNamespace, *, holds: bool) -> QuotaEntry:
    since = lns.metadata.creation_timestamp or ""
    return QuotaEntry(lns.spec.account, holds, lns.uid, since)
