"""Observe one LCluster: read from the caches what a decision about it needs."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from lnamespace.access.conventions import Conventions
from lnamespace.access.lcluster import cluster_grant_refs
from lnamespace.controller.cache import Cache
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.resource import CachedLCluster
from lnamespace.controller.lclusters.taken_names import TakenNames
from lnamespace.controller.observation import Lifecycle
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier
from lnamespace.model.lcluster import LCluster, tenant_name_problem


@dataclass(frozen=True)
class LClusterObserver:
    """Makes observations of LClusters."""

    cache: Cache
    applier: Applier
    taken: TakenNames
    conventions: Conventions

    async def observe(self, name: str) -> LClusterObservation:
        """Read the caches; ask whether the name is free if it is not the LCluster's yet.

        One that is within the limit of its requester is counted from then on.
        """
        cached = self.cache.lclusters.get(name)
        lifecycle = self._lifecycle(cached)
        seen = LClusterObservation(name, self.conventions, lifecycle, cached)
        if lifecycle in (Lifecycle.OTHER_CLASS, Lifecycle.UNREADABLE):
            return seen
        seen = self.renew(seen)
        await self.applier.refresh(seen.objects)
        seen = self.renew(seen)
        if lifecycle is not Lifecycle.ACTIVE:
            return seen
        if not seen.established:
            seen = await self._with_name_problem(seen)
        if seen.name_problem or seen.failures:
            return seen
        if self.cache.lclusters.needs_slot(name):
            await self.cache.counted.wait()
        return dataclasses.replace(seen, limit_exceeded=self.cache.lclusters.exceeded(name))

    def renew(self, before: LClusterObservation) -> LClusterObservation:
        """Read the caches again for the same LCluster, as it was then."""
        namespaces = self.cache.lclusters.namespaces_of(before.name)
        places = cluster_grant_refs(
            before.name, (each.key[1] for each in namespaces), self.conventions
        )
        return dataclasses.replace(
            before,
            namespaces=namespaces,
            groups=self.cache.lclusters.groups_of(before.name),
            objects={place: self.cache.get(*place) for place in places},
        )

    def _lifecycle(self, cached: CachedLCluster | None) -> Lifecycle:
        if cached is None:
            return Lifecycle.GONE
        if self.cache.lclusters.ours(cached) is None:
            return Lifecycle.OTHER_CLASS
        if cached.terminating:
            return Lifecycle.TERMINATING
        return Lifecycle.UNREADABLE if cached.problem else Lifecycle.ACTIVE

    async def _with_name_problem(self, seen: LClusterObservation) -> LClusterObservation:
        problem = tenant_name_problem(seen.name) or self._taken_in_cache(seen)
        if problem:
            return dataclasses.replace(seen, name_problem=problem)
        try:
            found = await self.taken.with_prefix(seen.lcluster.prefix)
        except ClusterError as error:
            return dataclasses.replace(seen, failures=(error,))
        problem = next((f"{each} exists already" for each in found), "")
        return dataclasses.replace(seen, name_problem=problem)

    def _taken_in_cache(self, seen: LClusterObservation) -> str:
        return next(self._meeting(seen, seen.lcluster), "")

    def _meeting(self, seen: LClusterObservation, lcluster: LCluster) -> Iterator[str]:
        """Return which Namespaces and LNamespaces have the prefix of the LCluster."""
        for found in seen.others:
            yield f"namespaces {found.key[1]} exists already"
        for listed in self.cache.lnamespaces:
            if listed.lns.name.startswith(lcluster.prefix):
                yield f"lnamespaces {listed.lns.name} exists already"
