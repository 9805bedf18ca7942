"""Observe one LCluster: read the inputs of a decision from the caches."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from lnamespace.access.conventions import Conventions
from lnamespace.access.lcluster import cluster_grant_refs
from lnamespace.controller.cache import Cache
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.observation import Lifecycle, lifecycle_of
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier
from lnamespace.kube.taken_names import TakenNames
from lnamespace.model.lcluster import LCluster, tenant_name_problem


@dataclass(frozen=True)
class LClusterObserver:
    """An observer of LClusters."""

    cache: Cache
    applier: Applier
    taken: TakenNames
    conventions: Conventions

    async def observe(self, name: str) -> LClusterObservation:
        """Read the caches; ask whether the name is free if it is not the LCluster's yet.

        One that is within the limit of its requester is admitted, and counts from then on.
        """
        cached = self.cache.lclusters.get(name)
        class_name = self.conventions.names.class_name
        lifecycle = lifecycle_of(cached, class_name) if cached else Lifecycle.GONE
        observation = LClusterObservation(name, self.conventions, lifecycle, cached)
        if lifecycle in (Lifecycle.OTHER_CLASS, Lifecycle.UNREADABLE):
            return observation
        observation = self.renew(observation)
        await self.applier.refresh(observation.objects)
        observation = self.renew(observation)
        if lifecycle is not Lifecycle.ACTIVE:
            return observation
        if not observation.established:
            observation = await self._with_name_problem(observation)
        if observation.name_problem or observation.failures:
            return observation
        if self.cache.lclusters.is_waiting(name):
            await self.cache.counts_complete.wait()
        return dataclasses.replace(observation, limit_exceeded=self.cache.lclusters.admit(name))

    def renew(self, before: LClusterObservation) -> LClusterObservation:
        """Read the caches again for the same state of the LCluster."""
        namespaces = self.cache.lclusters.namespaces_of(before.name)
        refs = cluster_grant_refs(
            before.name, (each.key[1] for each in namespaces), self.conventions
        )
        return dataclasses.replace(
            before,
            namespaces=namespaces,
            groups=self.cache.lclusters.groups_of(before.name),
            objects={ref: self.cache.get(*ref) for ref in refs},
        )

    async def _with_name_problem(self, observation: LClusterObservation) -> LClusterObservation:
        problem = tenant_name_problem(observation.name) or self._taken_in_cache(observation)
        if problem:
            return dataclasses.replace(observation, name_problem=problem)
        try:
            found = await self.taken.with_prefix(observation.lcluster.prefix)
        except ClusterError as error:
            return dataclasses.replace(observation, failures=(error,))
        problem = next((f"{each} exists already" for each in found), "")
        return dataclasses.replace(observation, name_problem=problem)

    def _taken_in_cache(self, observation: LClusterObservation) -> str:
        return next(self._conflicts(observation, observation.lcluster), "")

    def _conflicts(self, observation: LClusterObservation, lcluster: LCluster) -> Iterator[str]:
        """Yield the conflicts: Namespaces and LNamespaces with the prefix of the LCluster."""
        for found in observation.others:
            yield f"namespaces {found.key[1]} exists already"
        for listed in self.cache.lnamespaces:
            if listed.lns.name.startswith(lcluster.prefix):
                yield f"lnamespaces {listed.lns.name} exists already"
