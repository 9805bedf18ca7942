"""Assign the intervals of the ledger, which has namespaces only, to LClusters. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.ledger.costs.allocation import Cluster, PaidInterval, PaidIntervals, microseconds
from lnamespace.model.lcluster import LCluster, tenant_of_name

_SKEW = 300_000_000
"""Microseconds by which the clock of the controller may be behind that of the API server."""


@dataclass(frozen=True)
class BilledLCluster:
    """An LCluster that exists, and the microsecond since 1970 since which it does."""

    name: str
    uid: str
    since: int

    @classmethod
    def from_lcluster(cls, lcluster: LCluster) -> "BilledLCluster":
        """Return the name, UID and creation time of an LCluster."""
        created = datetime.fromisoformat(lcluster.metadata.creation_timestamp or "1970-01-01T00Z")
        return cls(lcluster.name, lcluster.uid, microseconds(created))

    def has(self, interval: PaidInterval) -> bool:
        """Return whether an interval of a namespace with the LCluster's prefix is of the LCluster.

        While the LCluster exists, nothing else has such a namespace. Before, an earlier LCluster of
        its name may have had one, and the users of this one may not know its cost.
        """
        return interval.start >= self.since - _SKEW and interval.end > self.since


def assign_lclusters(
    intervals: PaidIntervals, cluster: Cluster, lclusters: Iterable[BilledLCluster]
) -> PaidIntervals:
    """Return the intervals with the LCluster that each is of, in one cluster."""
    by_name = {each.name: each for each in lclusters}
    return {
        (where, namespace): _assigned(found, by_name.get(tenant_of_name(namespace)))
        if where == cluster
        else found
        for (where, namespace), found in intervals.items()
    }


def _assigned(
    intervals: Sequence[PaidInterval], lcluster: BilledLCluster | None
) -> Sequence[PaidInterval]:
    if lcluster is None:
        return intervals
    named = {"lcluster": lcluster.name, "lcluster_uid": lcluster.uid}
    return [
        each._replace(payer=each.payer._replace(**named)) if lcluster.has(each) else each
        for each in intervals
    ]
