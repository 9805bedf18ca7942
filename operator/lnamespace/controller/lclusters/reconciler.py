"""Reconcile LClusters: observe, decide, execute, report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.cache import Cache
from lnamespace.controller.lclusters.api_service import TenantApiService
from lnamespace.controller.lclusters.charges import TenantCharges
from lnamespace.controller.lclusters.cost_reports import CostReports
from lnamespace.controller.lclusters.decision import decide_lcluster
from lnamespace.controller.lclusters.executor import LClusterExecutor
from lnamespace.controller.lclusters.gateway_endpoints import GatewayEndpoints
from lnamespace.controller.lclusters.location import GatewayLocation
from lnamespace.controller.lclusters.observer import LClusterObserver
from lnamespace.controller.lclusters.reporter import LClusterReporter
from lnamespace.controller.lclusters.resource import read_lcluster
from lnamespace.controller.lclusters.tenant_info import TenantInfo
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import RequeueResult
from lnamespace.controller.reconciler import utc_now
from lnamespace.controller.status_writer import EventRecorder, StatusWriter
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.prefixed import PrefixedObjects
from lnamespace.kube.taken_names import TakenNames


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

    async def reconcile(self, name: str, failed_before: int = 0) -> RequeueResult:
        """Reconcile the LCluster of that name; return the failures."""
        observation = await self._observer.observe(name)
        decision = decide_lcluster(observation, self.clock())
        observation, result = await self._executor.execute(observation, decision)
        return await self._reporter.report(observation, decision, result, failed_before)

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

    @cached_property
    def _reporter(self) -> LClusterReporter:
        resource = lcluster_resource(self.conventions.names)
        store = self.cache.lclusters.lclusters
        writer = StatusWriter(self.client, resource, store, read_lcluster)
        return LClusterReporter(writer, EventRecorder(self.client, resource), self.location)
