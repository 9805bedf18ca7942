"""Reconcile LClusters: observe, decide, execute, report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.cache import Cache
from lnamespace.controller.events import EventRecorder
from lnamespace.controller.lclusters.api_service import TenantApiService
from lnamespace.controller.lclusters.charges import TenantCharges
from lnamespace.controller.lclusters.cost_reports import CostReports
from lnamespace.controller.lclusters.decision import LClusterDecision, decide_lcluster
from lnamespace.controller.lclusters.executor import LClusterExecutor
from lnamespace.controller.lclusters.gateway_endpoints import GatewayEndpoints
from lnamespace.controller.lclusters.location import GatewayLocation
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.observer import LClusterObserver
from lnamespace.controller.lclusters.resource import CachedLCluster, read_lcluster
from lnamespace.controller.lclusters.status import (
    LClusterResult,
    build_lcluster_status,
    build_terminating_lcluster_status,
    build_unreadable_lcluster_status,
)
from lnamespace.controller.lclusters.taken_names import TakenNames
from lnamespace.controller.lclusters.tenant_info import TenantInfo
from lnamespace.controller.observation import Lifecycle
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.outcome import PATIENCE, Outcome
from lnamespace.controller.reconciler import utc_now
from lnamespace.controller.report import replace_status
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.prefixed import PrefixedObjects
from lnamespace.model.lcluster import LCluster, LClusterSpec, LClusterStatus

SWEEP_AGAIN = timedelta(seconds=2)
"""When to list the remaining objects of a tenant again: cluster-scoped kinds are not watched."""


@dataclass(frozen=True)
class LClusterReconciler:
    """A reconciler of LClusters; it may reconcile different names at the same time.

    Parameters
    ----------
    location
        Returns the address of the gateway; None while it is not known.
    reports
        The costs of LClusters.
    """

    client: Client
    cache: Cache
    applier: Applier
    outbox: BillingRecorder
    conventions: Conventions
    location: Callable[[], GatewayLocation | None] = GatewayLocation
    endpoints: GatewayEndpoints = field(default_factory=GatewayEndpoints)
    reports: CostReports = field(default_factory=CostReports)
    clock: Callable[[], datetime] = utc_now

    async def reconcile(self, name: str, failed_before: int = 0) -> Outcome:
        """Reconcile the LCluster of that name; return the failures."""
        observation = await self._observer.observe(name)
        decision = decide_lcluster(observation, self.clock())
        observation, result = await self._executor.execute(observation, decision)
        return await self._report(observation, decision, result, failed_before)

    async def _report(
        self,
        observation: LClusterObservation,
        decision: LClusterDecision,
        result: LClusterResult,
        failed_before: int,
    ) -> Outcome:
        """Write the status if it differs; return the failures."""
        failures = [*result.failures, *(result.charges.failures if result.charges else ())]
        second = decision.now.replace(microsecond=0)
        changes_at = None
        match observation.lifecycle:
            case Lifecycle.OTHER_CLASS | Lifecycle.GONE:
                return Outcome(failures)
            case Lifecycle.UNREADABLE:
                problem = observation.cached.problem if observation.cached else ""
                new = build_unreadable_lcluster_status(observation.lcluster, problem, second)
            case Lifecycle.TERMINATING:
                if not result.remaining and not failures:
                    return Outcome()
                new = build_terminating_lcluster_status(observation, result, second)
                changes_at = decision.now + SWEEP_AGAIN if result.remaining else None
            case Lifecycle.ACTIVE:
                changes_at = decision.entries.changes_at
                if failed_before < PATIENCE and failures and all(f.retryable for f in failures):
                    return Outcome([*failures, *result.info_failures], changes_at)
                new = build_lcluster_status(observation, result, self.location(), second)
        failures += (*await self._write(observation.lcluster, new), *result.info_failures)
        return Outcome(failures, changes_at)

    async def _write(self, lcluster: LCluster, new: LClusterStatus) -> list[ClusterError]:
        """Write the status if it differs, and its Event if somebody must act."""
        if new == lcluster.status:
            return []
        resource = lcluster_resource(self.conventions.names)
        try:
            # Shares are based on those in the status, which must not have changed meanwhile.
            unchanged = bool(lcluster.spec.quota or lcluster.status.shares)
            answer = await replace_status(self.client, resource, lcluster, new, unchanged=unchanged)
        except ClusterError as error:
            return [error]
        if answer is None:
            return []
        read = read_lcluster(answer)
        known = self.cache.lclusters.get(lcluster.name)
        news = known is None or _inputs(known) != _inputs(read)
        self.cache.lclusters.lclusters.apply_write_response(read, news=news)
        await EventRecorder(self.client, resource).record(lcluster, new)
        return []

    @cached_property
    def _objects(self) -> PrefixedObjects:
        return PrefixedObjects(self.client, self.conventions.names.lcluster_label)

    @cached_property
    def _observer(self) -> LClusterObserver:
        return LClusterObserver(
            self.cache, self.applier, TakenNames(self._objects), self.conventions
        )

    @cached_property
    def _executor(self) -> LClusterExecutor:
        return LClusterExecutor(
            self.client,
            self.cache,
            self._observer,
            self.applier,
            self._objects,
            TenantCharges(self.outbox),
            TenantApiService(self.client, self.endpoints),
            TenantInfo(self.client, self.reports, self.conventions.content_limits),
            self.conventions,
        )


def _inputs(cached: CachedLCluster) -> tuple[LClusterSpec, tuple[str, ...], bool]:
    """Return the inputs of a reconcile, without the status that it writes itself."""
    meta = cached.lcluster.metadata
    return cached.lcluster.spec, meta.finalizers, cached.terminating
