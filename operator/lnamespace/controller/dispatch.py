"""Hand each key of the queue to the reconciler of its kind."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lnamespace.access.conventions import Conventions
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.access.profiles import ProfileSet
from lnamespace.controller.cache import Cache, LNamespaceKey, WorkKey
from lnamespace.controller.deleted import DeletedLNamespaceKey
from lnamespace.controller.deletion import DeletionReconciler
from lnamespace.controller.impersonator import Accounts, ImpersonatorReconciler
from lnamespace.controller.instrumentation import Instrumentation
from lnamespace.controller.lclusters.cache import LClusterKey
from lnamespace.controller.lclusters.cost_reports import CostReports
from lnamespace.controller.lclusters.gateway_endpoints import GatewayEndpoints
from lnamespace.controller.lclusters.location import GatewayLocation
from lnamespace.controller.lclusters.reconciler import LClusterReconciler
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import RequeueResult
from lnamespace.controller.reconciler import LNamespaceReconciler
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.settings import Settings


@dataclass(frozen=True)
class Dispatcher:
    """The reconcilers by the kind of a key.

    Parameters
    ----------
    profiles
        Returns the profiles that are in force.
    location
        Returns the address of the gateway for people; None while it is not known.
    endpoints
        The addresses of the gateway for pods of LClusters.
    reports
        The costs of LClusters.
    """

    client: Client
    cache: Cache
    conventions: Conventions
    settings: Settings
    instrumentation: Instrumentation
    profiles: Callable[[], ProfileSet]
    location: Callable[[], GatewayLocation | None]
    endpoints: GatewayEndpoints
    reports: CostReports
    enqueue: Callable[[WorkKey], None]

    async def reconcile(self, key: WorkKey, failed_before: int) -> RequeueResult:
        """Reconcile a key, which has failed ``failed_before`` times in a row."""
        if isinstance(key, DeletedLNamespaceKey):
            return await self._deletions.reconcile(key)
        if isinstance(key, LClusterKey):
            return await self._lclusters.reconcile(key.name, failed_before)
        if isinstance(key, ImpersonatorKey):
            return await self._impersonators.reconcile(key, failed_before)
        return await self._lnamespaces.reconcile(key.name, failed_before)

    @cached_property
    def _lclusters(self) -> LClusterReconciler:
        return LClusterReconciler(
            self.client,
            self.cache,
            self._applier,
            self._outbox,
            self.conventions,
            self.location,
            self.endpoints,
            self.reports,
        )

    @cached_property
    def _lnamespaces(self) -> LNamespaceReconciler:
        return LNamespaceReconciler(
            self.client,
            self.cache,
            self._applier,
            self._outbox,
            self.conventions,
            self.settings.reserved,
            self.instrumentation,
            profiles=self.profiles,
        )

    @cached_property
    def _impersonators(self) -> ImpersonatorReconciler:
        return ImpersonatorReconciler(
            self.cache,
            Accounts(self.client, self.cache, self.conventions),
            self._new_applier(self._people_concurrency),
            self.conventions,
            lambda name: self.enqueue(LNamespaceKey(name)),
        )

    @cached_property
    def _deletions(self) -> DeletionReconciler:
        return DeletionReconciler(
            self.cache, self._outbox, self.conventions, self.settings.reserved
        )

    @cached_property
    def _outbox(self) -> BillingRecorder:
        return BillingRecorder(self.client, self.conventions.names)

    @cached_property
    def _applier(self) -> Applier:
        """Return the applier that LNamespaces and LClusters share."""
        return self._new_applier(max(1, self.settings.concurrency - self._people_concurrency))

    @property
    def _people_concurrency(self) -> int:
        """Return the number of writes for people that may be under way.

        One LNamespace may list 50 sudoers: the writes for them must leave room for others.
        """
        return max(1, self.settings.concurrency // 4)

    def _new_applier(self, concurrency: int) -> Applier:
        metadata = self.conventions.managed_metadata
        return Applier(self.client, self.cache.objects, metadata, concurrency)
