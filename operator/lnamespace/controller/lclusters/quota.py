"""Decide which LClusters are within the limit of their requester. Pure.

An admitted LCluster stays admitted, also when the limit is lowered. The others wait in the order of
their creation.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lnamespace.access.limit import RequesterLimits


class LClusterEntry(NamedTuple):
    """An LCluster in the count; ``admitted`` means that it was within the limit once."""

    name: str
    account: str
    since: str
    admitted: bool = False


def refuse_excess(
    entry: LClusterEntry, rivals: Iterable[LClusterEntry], limits: RequesterLimits
) -> str:
    """Return why an LCluster has to wait; empty if it is within the limit.

    Parameters
    ----------
    rivals
        The others of its account.
    """
    limit = limits.limit_for(entry.account)
    if entry.admitted or limit is None:
        return ""
    others, age = list(rivals), (entry.since, entry.name)
    admitted = sum(each.admitted for each in others)
    older = sum(not each.admitted and (each.since, each.name) < age for each in others)
    return limits.refusal(entry.account, admitted) if admitted + older >= limit else ""
