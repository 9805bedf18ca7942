"""Divide the totals of ``spec.quota`` among the namespaces of an LCluster. Pure.

What a namespace may have of a total is its share, in ``status.shares`` of the LCluster. The shares
never sum up to more than the total, and each goes in three steps from one namespace to another:

1. the lower limit is written into ``status.shares``: the share is *returning* from then on, and the
   limit of that ResourceQuota is not raised any more;
2. the lower limit is written into the ResourceQuota;
3. when ``status.hard`` of the ResourceQuota has it, which the API server enforces, the unused part
   is free, and is given to another namespace.

A controller that takes over after a crash continues from the written state.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

_ADVANCE_DIVISOR = 10
"""A namespace gets a tenth of each total in advance, while so much is free."""


@dataclass(frozen=True)
class Allocation:
    """The part that one namespace has of one total.

    Parameters
    ----------
    limit
        The desired ``spec.hard`` of its ResourceQuota.
    reserved
        The amount that others may not have; more than the limit while a part is returning.
    written, enforced
        ``spec.hard`` and ``status.hard`` of its ResourceQuota; None where they lack the resource.
    used
        ``status.used``; None before Kubernetes has counted.
    wanted
        The limit that refused requests need.
    current
        Whether its ResourceQuota was written since the limit was lowered the last time. The same
        limit may have stood there before, in an old cache or while a larger one is on its way.
    terminating
        Whether the namespace is being deleted: nothing can be created in it.
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
        """Return whether its limit was lowered and is not yet in force."""
        return self.limit < self.reserved

    @property
    def held(self) -> int:
        """Return the amount reserved for this namespace.

        A limit that was lowered counts until it is in force in the ResourceQuota.
        """
        return max(self.reserved, self.used or 0)

    @property
    def adjustable(self) -> bool:
        """Return whether its limit can be changed now."""
        return not self.terminating and not self.returning and self.used is not None

    @property
    def idle(self) -> int:
        """Return the part of the limit that is neither used nor wanted and can be taken back."""
        return max(self.limit - max(self.used or 0, self.wanted), 0) if self.adjustable else 0

    def with_returned(self) -> "Allocation":
        """Return the allocation without the returning part, if the lower limit is in force."""
        in_force = self.current and self.written == self.enforced == self.limit
        if not (self.returning and in_force and self.used is not None):
            return self
        left = min(max(self.limit, self.used), self.reserved)
        return replace(self, limit=left, reserved=left)

    def with_limit(self, limit: int) -> "Allocation":
        """Return the allocation with another limit."""
        return replace(self, limit=limit, reserved=limit)


Allocations = Mapping[str, Allocation]
"""The part of one total by namespace."""


def divide_total(total: int, allocations: Allocations) -> dict[str, Allocation]:
    """Divide a total among namespaces; return the next allocation of each."""
    found = {name: each.with_returned() for name, each in allocations.items()}
    free = total - sum(each.held for each in found.values())
    missing = 0
    if all(each.used is not None or each.terminating for each in found.values()):
        for name in _feasible(total, found):
            each = found[name]
            ask = each.wanted - each.held
            if ask > free:
                missing, free = missing + ask - max(free, 0), min(free, 0)
                continue
            found[name], free = each.with_limit(each.wanted), free - ask
        free -= _give_in_advance(total, free, found)
    missing += max(-free, 0)
    missing -= sum(each.held - max(each.limit, each.used or 0) for each in found.values())
    _take_back(total, missing, found)
    return found


def is_scarce(total: int, limit: int, used: int) -> bool:
    """Return whether less than half of the advance is left to a namespace."""
    return limit - used < (_advance(total) + 1) // 2


def _advance(total: int) -> int:
    return max(total // _ADVANCE_DIVISOR, 1)


def _feasible(total: int, found: Allocations) -> Iterator[str]:
    """Yield the namespaces whose demand can be met, the smallest first.

    Used amounts are never taken back, so no share is moved for a demand that cannot be met.
    """
    free = total - sum(each.held if each.terminating else each.used or 0 for each in found.values())
    demands = (
        (each.wanted - each.held, name)
        for name, each in found.items()
        if each.adjustable and each.wanted > each.held
    )
    for _, name in sorted(demands):
        need = found[name].wanted - (found[name].used or 0)
        if need <= free:
            free -= need
            yield name


def _give_in_advance(total: int, free: int, found: dict[str, Allocation]) -> int:
    """Add some of what is free to the shares that have little left; return how much."""
    given = 0
    for name in sorted(found, key=lambda each: (found[each].idle, each)):
        each = found[name]
        if not each.adjustable or not is_scarce(total, each.limit, each.used or 0):
            continue
        more = min((each.used or 0) + _advance(total) - each.held, free - given)
        if more > 0:
            found[name], given = each.with_limit(each.held + more), given + more
    return given


def _take_back(total: int, missing: int, found: dict[str, Allocation]) -> None:
    """Lower the limits of namespaces with the most idle, until the missing amount is free."""
    for name in sorted(found, key=lambda each: (-found[each].idle, each)):
        idle = found[name].idle
        if missing <= 0 or idle <= 0:
            return
        # More than is missing now: demand is likely to grow.
        taken = min(idle, max(missing, _advance(total)))
        found[name] = replace(found[name], limit=found[name].limit - taken)
        missing -= taken
