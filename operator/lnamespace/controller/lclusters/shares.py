"""Divide the totals of ``spec.quota`` among the namespaces of an LCluster. Pure.

What a namespace may have of a total is its share, in ``status.shares`` of the LCluster. The shares
never sum up to more than the total, and each goes in three steps from one namespace to another:

1. the lower limit is written into ``status.shares``, where the share is *returning* from then on:
   nobody raises the limit of that ResourceQuota any more;
2. the lower limit is written into the ResourceQuota;
3. when ``status.hard`` of the ResourceQuota has it, by which the API server goes, what is not used
   is free, and is given to another namespace.

Whoever takes over after a crash goes on by what is written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

IN_ADVANCE = 10
"""A namespace has this part of a total in advance, while as much is free."""


@dataclass(frozen=True)
class Holding:
    """The part that one namespace has of one total.

    Parameters
    ----------
    limit
        What its ResourceQuota is to say.
    reserved
        What nobody else may have; more than the limit while some of it is returning.
    written, enforced
        ``spec.hard`` and ``status.hard`` of its ResourceQuota; None where they say nothing of it.
    used
        ``status.used``; None as long as nobody has counted.
    wanted
        The limit that a refused request needs.
    current
        Whether its ResourceQuota was written since the limit was lowered the last time. The same
        limit may have stood there before, in an old cache or while a larger one is on its way.
    terminating
        Whether the namespace is being deleted: nothing is made in it any more.
    """

    limit: int = 0
    reserved: int = 0
    written: int | None = None
    enforced: int | None = None
    used: int | None = None
    wanted: int = 0
    current: bool = True
    terminating: bool = False

    @property
    def returning(self) -> bool:
        """Return whether its limit was lowered and is not known to be in force."""
        return self.limit < self.reserved

    @property
    def held(self) -> int:
        """Return the amount reserved for this namespace.

        A limit that was lowered counts until it is in force in the ResourceQuota.
        """
        return max(self.reserved, self.used or 0)

    @property
    def open(self) -> bool:
        """Return whether its limit can be changed now."""
        return not self.terminating and not self.returning and self.used is not None

    @property
    def idle(self) -> int:
        """Return how much of the limit is neither used nor wanted and can be taken back."""
        return max(self.limit - max(self.used or 0, self.wanted), 0) if self.open else 0

    def settled(self) -> "Holding":
        """Return it without what has come back: its lower limit is in force, and use is known."""
        in_force = self.current and self.written == self.enforced == self.limit
        if not (self.returning and in_force and self.used is not None):
            return self
        left = min(max(self.limit, self.used), self.reserved)
        return replace(self, limit=left, reserved=left)

    def raised(self, limit: int) -> "Holding":
        """Return it with a larger share."""
        return replace(self, limit=limit, reserved=limit)


Holdings = Mapping[str, Holding]
"""The part of one total by namespace."""


def divide(total: int, holdings: Holdings) -> dict[str, Holding]:
    """Divide a total among namespaces; return the next holding of each."""
    found = {name: each.settled() for name, each in holdings.items()}
    free = total - sum(each.held for each in found.values())
    missing = 0
    if all(each.used is not None or each.terminating for each in found.values()):
        for name in _feasible(total, found):
            each = found[name]
            ask = each.wanted - each.held
            if ask > free:
                missing, free = missing + ask - max(free, 0), min(free, 0)
                continue
            found[name], free = each.raised(each.wanted), free - ask
        free -= _give_in_advance(total, free, found)
    missing += max(-free, 0)
    missing -= sum(each.held - max(each.limit, each.used or 0) for each in found.values())
    _take_back(total, missing, found)
    return found


def is_scarce(total: int, limit: int, used: int) -> bool:
    """Return whether a namespace has less in advance than it should have, where some is free."""
    return limit - used < (_advance(total) + 1) // 2


def _advance(total: int) -> int:
    return max(total // IN_ADVANCE, 1)


def _feasible(total: int, found: Holdings) -> Iterator[str]:
    """Yield the namespaces that can have what they want, the smallest wish first.

    What others use nobody takes from them, so nothing is moved for a wish that it leaves no room.
    """
    free = total - sum(each.held if each.terminating else each.used or 0 for each in found.values())
    wishes = (
        (each.wanted - each.held, name)
        for name, each in found.items()
        if each.open and each.wanted > each.held
    )
    for _, name in sorted(wishes):
        need = found[name].wanted - (found[name].used or 0)
        if need <= free:
            free -= need
            yield name


def _give_in_advance(total: int, free: int, found: dict[str, Holding]) -> int:
    """Give namespaces that have little left some of what is free; return how much."""
    given = 0
    for name in sorted(found, key=lambda each: (found[each].idle, each)):
        each = found[name]
        if not each.open or not is_scarce(total, each.limit, each.used or 0):
            continue
        more = min((each.used or 0) + _advance(total) - each.held, free - given)
        if more > 0:
            found[name], given = each.raised(each.held + more), given + more
    return given


def _take_back(total: int, missing: int, found: dict[str, Holding]) -> None:
    """Lower the limits of those that have most to spare, until nothing would be missing."""
    for name in sorted(found, key=lambda each: (-found[each].idle, each)):
        idle = found[name].idle
        if missing <= 0 or idle <= 0:
            return
        # More than is missing now: who asked once may ask again.
        taken = min(idle, max(missing, _advance(total)))
        found[name] = replace(found[name], limit=found[name].limit - taken)
        missing -= taken
