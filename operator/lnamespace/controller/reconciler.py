"""Reconcile LNamespaces: observe, decide, execute, report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from lnamespace.access.conventions import Conventions, lnamespace_resource
from lnamespace.access.profiles import ProfileSet
from lnamespace.controller.cache import Cache
from lnamespace.controller.decision import decide
from lnamespace.controller.executor import Executor
from lnamespace.controller.instrumentation import Instrumentation
from lnamespace.controller.observer import Observer
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.queue import RequeueResult
from lnamespace.controller.reporter import Reporter
from lnamespace.controller.resource import read_lnamespace
from lnamespace.controller.status_writer import EventRecorder, StatusWriter
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client


def utc_now() -> datetime:
    """Return the time, aware of its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class LNamespaceReconciler:
    """A reconciler of LNamespaces; it may reconcile different names at the same time."""

    client: Client
    cache: Cache
    applier: Applier
    outbox: BillingRecorder
    conventions: Conventions
    reserved: tuple[str, ...] = ()
    instrumentation: Instrumentation = field(default_factory=Instrumentation)
    clock: Callable[[], datetime] = utc_now
    profiles: Callable[[], ProfileSet] = ProfileSet

    async def reconcile(self, name: str, failed_before: int = 0) -> RequeueResult:
        """Reconcile one LNamespace and update its status; return failures and the next expiry."""
        if failures := await self._observer.refresh_unknown_namespace(name):
            return RequeueResult(failures)
        observation = await self._observer.observe(name)
        decision = decide(observation, self.clock())
        result = await self._executor.execute(observation, decision)
        return await self._reporter.report(observation, decision, result, failed_before)

    @cached_property
    def _observer(self) -> Observer:
        return Observer(
            self.client,
            self.cache,
            self.applier,
            self.conventions,
            self.reserved,
            self.profiles,
        )

    @cached_property
    def _executor(self) -> Executor:
        return Executor(self._observer, self.applier, self.outbox)

    @cached_property
    def _reporter(self) -> Reporter:
        resource, store = lnamespace_resource(self.conventions.names), self.cache.lnamespaces
        writer = StatusWriter(self.client, resource, store, read_lnamespace)
        return Reporter(writer, EventRecorder(self.client, resource), self.instrumentation)
