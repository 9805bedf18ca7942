"""Which LCluster each span of the ledger is of: it has namespaces only. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lnamespace.ledger.costs.allocation import Cluster, Span, Spans, microseconds
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
    def of(cls, lcluster: LCluster) -> "BilledLCluster":
        """Return the name, UID and creation time of an LCluster."""
        created = datetime.fromisoformat(lcluster.metadata.creation_timestamp or "1970-01-01T00Z")
        return cls(lcluster.name, lcluster.uid, microseconds(created))

    def has(self, span: Span) -> bool:
        """Return whether a span of a namespace with the LCluster's prefix is of the LCluster.

        While the LCluster exists, nothing else has such a namespace. Before, an earlier LCluster of
        its name may have had one, and the users of this one may not know its cost.
        """
        return span.start >= self.since - _SKEW and span.end > self.since


def assign_lclusters(spans: Spans, cluster: Cluster, lclusters: Iterable[BilledLCluster]) -> Spans:
    """Return the spans with the LCluster that each is of, in one cluster."""
    by_name = {each.name: each for each in lclusters}
    return {
        (where, namespace): _assigned(found, by_name.get(tenant_of_name(namespace)))
        if where == cluster
        else found
        for (where, namespace), found in spans.items()
    }


def _assigned(spans: Sequence[Span], lcluster: BilledLCluster | None) -> Sequence[Span]:
    if lcluster is None:
        return spans
    named = {"lcluster": lcluster.name, "lcluster_uid": lcluster.uid}
    return [
        each._replace(payer=each.payer._replace(**named)) if lcluster.has(each) else each
        for each in spans
    ]
