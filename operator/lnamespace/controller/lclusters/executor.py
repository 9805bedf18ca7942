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
from lnamespace.kube.prefixed import RETAINED_KINDS, PrefixedObjects
from lnamespace.model.lcluster import LCluster

Executed = tuple[LClusterObservation, LClusterResult]
"""The observation after the last write, and the result of the writes."""


@dataclass(frozen=True)
class LClusterExecutor:
    """Executes decisions about LClusters.

    ``swept`` are the UIDs of terminating LClusters of which no cluster-scoped object was left when
    their Namespaces had yet to go.
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

    async def execute(self, seen: LClusterObservation, decision: LClusterDecision) -> Executed:
        """Apply the decision, and what it makes possible; return what came of it."""
        match seen.lifecycle:
            case Lifecycle.OTHER_CLASS | Lifecycle.UNREADABLE:
                return seen, LClusterResult()
            case Lifecycle.GONE:
                failures = await self.applier.apply(decision.actions)
                return seen, LClusterResult(failures=tuple(failures))
            case Lifecycle.TERMINATING:
                return await self._end(seen, decision)
            case Lifecycle.ACTIVE:
                return await self._make(seen, decision)

    async def _make(self, seen: LClusterObservation, decision: LClusterDecision) -> Executed:
        result = LClusterResult(decision.entries, decision.refusal)
        failures: list[ClusterError] = [*seen.failures]
        if decision.claim:
            failures += await self._write_finalizers(seen.lcluster, add=True)
        if failures:
            return seen, replace(result, failures=tuple(failures))
        failures += await self.applier.apply(decision.actions)
        if decision.refusal:
            return seen, replace(result, failures=tuple(failures))
        if decision.actions:
            seen = self.observer.renew(seen)
        seen, unshared = await self.shares.share(seen)
        failures += unshared
        more, unserved, charges, uninformed = await asyncio.gather(
            self.applier.apply(decide_cluster_grants(seen, self.cache.lclusters.has_share)),
            self._serve(seen),
            self.charges.record(seen.lcluster, seen.own, decision.now),
            self.info.ensure(seen.lcluster, seen.own),
        )
        failures += (*more, *unserved)
        result = replace(
            result, failures=tuple(failures), charges=charges, uninformed=tuple(uninformed)
        )
        return self.observer.renew(seen), result

    @cached_property
    def shares(self) -> ShareWriter:
        """Return the writer of the Namespaces' shares of the totals."""
        return ShareWriter(self.client, self.cache.lclusters, self.conventions)

    async def _serve(self, seen: LClusterObservation) -> list[ClusterError]:
        """Make the Service that leads to the tenant's API server."""
        default = seen.lcluster.system_namespaces[0]
        for namespace in seen.own:
            if namespace.key[1] == default and not namespace.terminating:
                return await self.api_service.ensure(default, namespace.uid)
        return []

    async def _end(self, seen: LClusterObservation, decision: LClusterDecision) -> Executed:
        """Delete what is to go of the tenant, then let the LCluster go.

        Its name is free once it is gone, so nothing may be left then. Retained Namespaces hold the
        name as anybody's would, and nobody is charged for them.
        """
        failures = await self.applier.apply(decision.actions)
        if not seen.holds_finalizer:
            return seen, LClusterResult(failures=tuple(failures))
        for namespace in seen.own:
            self.api_service.forget(namespace.uid)
            self.info.forget(namespace.uid)
        seen = self.observer.renew(seen)
        remaining, more = await self._sweep(seen)
        failures += more
        going = () if seen.retained else seen.own
        charges = await self.charges.record(seen.lcluster, going, decision.now)
        remaining = (*(f"namespaces {each.key[1]}" for each in going), *remaining)
        if not (remaining or failures or charges.failures):
            failures += await self.applier.apply(decide_revocations(seen))
        if not (remaining or failures or charges.failures):
            failures += await self._write_finalizers(seen.lcluster, add=False)
            self.swept.discard(seen.lcluster.uid)
        return seen, LClusterResult(failures=tuple(failures), charges=charges, remaining=remaining)

    async def _sweep(self, seen: LClusterObservation) -> tuple[tuple[str, ...], list[ClusterError]]:
        """Delete the cluster-scoped objects; once nothing is left of them, only at the very end."""
        uid = seen.lcluster.uid
        if seen.own and uid in self.swept and not seen.retained:
            return (), []
        try:
            found = await self.objects.sweep(seen.name, RETAINED_KINDS if seen.retained else ())
        except ClusterError as error:
            return (), [error]
        if not found:
            self.swept.add(uid)
        return tuple(map(str, found)), []

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
            # Nothing may be made for an LCluster that is gone: nobody would take it away again.
            return [error] if add else []
        except ClusterError as error:
            return [error]
        if add:
            read = read_lcluster(answer)
            news = read.lcluster.spec != lcluster.spec or read.terminating
            self.cache.lclusters.lclusters.learn(read, news=news)
        return []
