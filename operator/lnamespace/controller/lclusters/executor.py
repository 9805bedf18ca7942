"""Execute a decision about one LCluster: writes in order, failures as values."""

import asyncio
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.cache import Cache
from lnamespace.controller.lclusters.api_service import TenantApiService
from lnamespace.controller.lclusters.charges import TenantCharges
from lnamespace.controller.lclusters.decision import (
    LClusterDecision,
    decide_cluster_grants,
    decide_revocations,
)
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.observer import LClusterObserver
from lnamespace.controller.lclusters.resource import read_lcluster
from lnamespace.controller.lclusters.sharing import ShareWriter
from lnamespace.controller.lclusters.status import LClusterResult
from lnamespace.controller.lclusters.tenant_info import TenantInfo
from lnamespace.controller.observation import Lifecycle
from lnamespace.errors import ClusterError, NotFound
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.prefixed import RETAINED_KINDS, ClusterObject, PrefixedObjects
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lcluster import LCluster

Executed = tuple[LClusterObservation, LClusterResult]
"""The observation after the last write, and the result of the writes."""


@dataclass(frozen=True)
class LClusterExecutor:
    """An executor of decisions about LClusters.

    ``swept`` are the UIDs of terminating LClusters without cluster-scoped objects whose Namespaces
    are not deleted yet.
    """

    client: Client
    cache: Cache
    observer: LClusterObserver
    applier: Applier
    objects: PrefixedObjects
    charges: TenantCharges
    api_service: TenantApiService
    info: TenantInfo
    conventions: Conventions
    swept: set[str] = field(default_factory=set)

    async def execute(
        self, observation: LClusterObservation, decision: LClusterDecision
    ) -> Executed:
        """Apply the decision and the writes that depend on it; return the result."""
        match observation.lifecycle:
            case Lifecycle.OTHER_CLASS | Lifecycle.UNREADABLE:
                return observation, LClusterResult()
            case Lifecycle.GONE:
                failures = await self.applier.apply(decision.actions)
                return observation, LClusterResult(failures=tuple(failures))
            case Lifecycle.TERMINATING:
                return await self._delete(observation, decision)
            case Lifecycle.ACTIVE:
                return await self._apply(observation, decision)

    async def _apply(
        self, observation: LClusterObservation, decision: LClusterDecision
    ) -> Executed:
        result = LClusterResult(decision.entries, decision.refusal)
        failures: list[ClusterError] = [*observation.failures]
        if decision.claim:
            failures += await self._write_finalizers(observation.lcluster, add=True)
        if failures:
            return observation, replace(result, failures=tuple(failures))
        failures += await self.applier.apply(decision.actions)
        if decision.refusal:
            return observation, replace(result, failures=tuple(failures))
        if decision.actions:
            observation = self.observer.renew(observation)
        observation, share_failures = await self.shares.share(observation)
        failures += share_failures
        grant_failures, service_failures, charges, info_failures = await asyncio.gather(
            self.applier.apply(decide_cluster_grants(observation, self.cache.lclusters.has_share)),
            self._serve(observation),
            self.charges.record(observation.lcluster, observation.own, decision.now),
            self.info.ensure(observation.lcluster, observation.own),
        )
        failures += (*grant_failures, *service_failures)
        result = replace(
            result, failures=tuple(failures), charges=charges, info_failures=tuple(info_failures)
        )
        return self.observer.renew(observation), result

    @cached_property
    def shares(self) -> ShareWriter:
        """Return the writer of the Namespaces' shares of the totals."""
        return ShareWriter(self.client, self.cache.lclusters, self.conventions)

    async def _serve(self, observation: LClusterObservation) -> list[ClusterError]:
        """Apply the Service ``kubernetes`` in the tenant's namespace ``default``."""
        default = observation.lcluster.system_namespaces[0]
        for namespace in observation.own:
            if namespace.key[1] == default and not namespace.terminating:
                return await self.api_service.ensure(default, namespace.uid)
        return []

    async def _delete(
        self, observation: LClusterObservation, decision: LClusterDecision
    ) -> Executed:
        """Delete the objects of the tenant, then remove the finalizer of the LCluster.

        Its name is free afterwards, so no object may be left. Retained Namespaces reserve the name
        as any Namespace does, and are not charged.
        """
        failures = await self.applier.apply(decision.actions)
        if not observation.holds_finalizer:
            return observation, LClusterResult(failures=tuple(failures))
        for namespace in observation.own:
            self.api_service.forget(namespace.uid)
            self.info.forget(namespace.uid)
        observation = self.observer.renew(observation)
        remaining, sweep_failures = await self._sweep(observation)
        failures += sweep_failures
        namespaces = () if observation.retained else observation.own
        charges = await self.charges.record(observation.lcluster, namespaces, decision.now)
        remaining = (*map(describe_namespace, namespaces), *remaining)
        if not (remaining or failures or charges.failures):
            failures += await self.applier.apply(decide_revocations(observation))
        if not (remaining or failures or charges.failures):
            failures += await self._write_finalizers(observation.lcluster, add=False)
            self.swept.discard(observation.lcluster.uid)
        return observation, LClusterResult(
            failures=tuple(failures), charges=charges, remaining=remaining
        )

    async def _sweep(
        self, observation: LClusterObservation
    ) -> tuple[tuple[str, ...], list[ClusterError]]:
        """Delete the cluster-scoped objects; once none is left, wait for the Namespaces to go."""
        uid = observation.lcluster.uid
        if observation.own and uid in self.swept and not observation.retained:
            return (), []
        try:
            found = await self.objects.sweep(
                observation.name, RETAINED_KINDS if observation.retained else ()
            )
        except ClusterError as error:
            return (), [error]
        if not found:
            self.swept.add(uid)
        return tuple(map(describe_remaining, found)), []

    async def _write_finalizers(self, lcluster: LCluster, *, add: bool) -> list[ClusterError]:
        """Add our finalizer to an LCluster, or remove it; return the failure."""
        ours, meta = self.conventions.names.lcluster_finalizer, lcluster.metadata
        kept = [each for each in meta.finalizers if each != ours]
        metadata = {
            "uid": lcluster.uid,
            "resourceVersion": meta.resource_version,
            "finalizers": [*kept, ours] if add else kept,
        }
        path = lcluster_resource(self.conventions.names).path(lcluster.name)
        try:
            answer = await self.client.patch(path, msgspec.json.encode({"metadata": metadata}))
        except NotFound as error:
            # No object may be created for a deleted LCluster: nobody would delete it.
            return [error] if add else []
        except ClusterError as error:
            return [error]
        if add:
            read = read_lcluster(answer)
            notify = read.lcluster.spec != lcluster.spec or read.terminating
            self.cache.lclusters.lclusters.apply_write_response(read, notify=notify)
        return []


def describe_namespace(found: ObservedObject) -> str:
    """Return the description of a Namespace that is left of a deleted LCluster.

    Everybody may read it: what Kubernetes says names kinds and webhooks of others.
    """
    waits = " (Kubernetes fails to delete it: its conditions say why)" if found.undeletable else ""
    return f"namespaces {found.key[1]}{waits}"


def describe_remaining(found: ClusterObject) -> str:
    """Return the description of an object that is left of a deleted LCluster.

    A definition goes when all objects of its kind are gone, in whatever namespaces they are: one of
    another LCluster may keep it, where the platform does not confine who writes that kind.
    """
    if found.resource is CUSTOM_RESOURCE_DEFINITION and found.metadata.deletion_timestamp:
        name = found.metadata.name
        return f"{found} (it waits for its objects: see kubectl get {name} --all-namespaces)"
    return str(found)
