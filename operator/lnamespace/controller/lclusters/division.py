"""Decide the shares of all namespaces of an LCluster, of all totals. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lnamespace.controller.lclusters.share_quotas import CachedShareQuota
from lnamespace.controller.lclusters.shares import Allocation, divide_total
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lcluster import LCluster, NamespaceShare
from lnamespace.model.quantities import Amounts, format_amounts, parse_amounts


@dataclass(frozen=True)
class SharedNamespace:
    """A namespace of the tenant, its share, its ResourceQuota, and the limits that it needs."""

    name: str
    share: NamespaceShare
    quota: CachedShareQuota | None = None
    wanted: Mapping[str, int] | None = None
    terminating: bool = False

    def allocation(self, resource: str) -> Allocation:
        """Return this Namespace's allocation of one total."""
        limit = parse_amounts(self.share.limits).get(resource, 0)
        reserved = parse_amounts(self.share.returning).get(resource, limit)
        quota = self.quota
        return Allocation(
            limit,
            reserved,
            quota.written.get(resource) if quota else None,
            quota.enforced.get(resource) if quota else None,
            quota.used.get(resource) if quota else None,
            (self.wanted or {}).get(resource, 0),
            quota is not None and quota.generation == self.share.generation,
            self.terminating,
        )

    @property
    def outdated(self) -> bool:
        """Return whether its ResourceQuota is to be written."""
        if self.terminating:
            return False
        quota, share = self.quota, self.share
        return quota is None or (quota.written, quota.generation) != (
            parse_amounts(share.limits),
            share.generation,
        )


def shared_namespaces(
    lcluster: LCluster,
    own: Iterable[ObservedObject],
    quotas: Mapping[str, CachedShareQuota],
    wanted: Mapping[str, Mapping[str, int]],
) -> tuple[SharedNamespace, ...]:
    """Return the present namespaces of a tenant with their shares of its totals."""
    shares = {each.name: each for each in lcluster.status.shares}
    return tuple(
        SharedNamespace(
            name := found.key[1],
            shares.get(name, NamespaceShare(name)),
            quotas.get(name),
            wanted.get(name),
            found.terminating,
        )
        for found in sorted(own, key=lambda each: each.key[1])
    )


def totals_of(lcluster: LCluster) -> Amounts:
    """Return the limits that hold for all namespaces of an LCluster together."""
    return parse_amounts(lcluster.spec.quota, up=False)


def divide_totals(
    totals: Amounts, namespaces: Iterable[SharedNamespace]
) -> tuple[NamespaceShare, ...]:
    """Return the shares that namespaces are to have next."""
    namespaces = tuple(namespaces)
    found: dict[str, dict[str, Allocation]] = {each.name: {} for each in namespaces}
    for resource, total in totals.items():
        allocations = {each.name: each.allocation(resource) for each in namespaces}
        for name, allocation in divide_total(total, allocations).items():
            found[name][resource] = allocation
    return tuple(_share(each.share, found[each.name]) for each in namespaces)


def _share(before: NamespaceShare, found: Mapping[str, Allocation]) -> NamespaceShare:
    limits = {resource: each.limit for resource, each in found.items()}
    returning = {resource: each.reserved for resource, each in found.items() if each.returning}
    old = parse_amounts(before.limits)
    lowered = any(limit < old.get(resource, 0) for resource, limit in limits.items())
    return NamespaceShare(
        before.name,
        format_amounts(limits),
        format_amounts(returning),
        before.generation + lowered,
    )
