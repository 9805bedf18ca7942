"""Workers and reflectors, together: the whole controller, but for the process around it."""

import asyncio
import logging
import socket
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from lnamespace.access.conventions import (
    Conventions,
    conventions_of,
    lcluster_resource,
    lnamespace_resource,
)
from lnamespace.access.limit import lcluster_limits, lnamespace_limits
from lnamespace.controller.admission_drift import AdmissionDriftCheck
from lnamespace.controller.cache import Cache, LNamespaceKey, WorkKey
from lnamespace.controller.dispatch import Dispatcher
from lnamespace.controller.handlers import lnamespace_handlers
from lnamespace.controller.instrumentation import DEFECT, DONE, Instrumentation
from lnamespace.controller.lclusters.cache import LClusterKey
from lnamespace.controller.lclusters.cost_reports import CostReports
from lnamespace.controller.lclusters.failed_creations import FailedCreations
from lnamespace.controller.lclusters.gateway_endpoints import parse_endpoints
from lnamespace.controller.lclusters.location import GatewayLocation, GatewayLocator
from lnamespace.controller.lclusters.reflectors import LClusterReflector, lcluster_reflectors
from lnamespace.controller.liveness import Liveness, WatchHealth
from lnamespace.controller.profiles import Profiles
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.resource import CachedLNamespace, read_lnamespace
from lnamespace.errors import ClusterError, LostLease
from lnamespace.http.probes import Probes
from lnamespace.kube.client import Client
from lnamespace.kube.lease import LeaderElector, LeaseConfig
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import EVENT, NAMESPACE
from lnamespace.kube.state import ObservedObject, read_observed
from lnamespace.metrics.controller import ControllerMetrics
from lnamespace.model.names import Names
from lnamespace.settings import Settings

SLOW_RETRY = 300.0
"""Seconds before a failure that is not retryable is retried all the same."""

LONGEST_TIMER = 86_400.0
"""Seconds; an expiry that is further off is checked again after this, because clocks are set."""

AnyReflector = Reflector[ObservedObject] | Reflector[CachedLNamespace] | LClusterReflector

log = logging.getLogger(__name__)


def election_of(client: Client, settings: Settings) -> LeaderElector | None:
    """Return the candidate of an election; None if this is the only controller."""
    namespace, found, name = settings.lease.partition("/")
    if not found:
        return None
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    return LeaderElector(client, LeaseConfig(namespace, name, identity))


class Controller:
    """The watches, the queue and its workers, and the leader election.

    ``on_kopf_start`` is called when kopf has started, because kopf replaces the signal handlers.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings,
        on_kopf_start: Callable[[], object] = lambda: None,
    ) -> None:
        self._settings = settings
        conventions = conventions_of(settings)
        self._instrumentation = Instrumentation(ControllerMetrics.new(conventions.names.group))
        client = client.counted(self._instrumentation.requested)
        self._election = election_of(client, settings)
        self._client = client.fenced(self._election.check) if self._election else client
        self._queue = self._make_queue()
        self._profiles = Profiles(
            self._client, settings.profiles_file, conventions.names, settings.resync_seconds
        )
        self._admission_drift = AdmissionDriftCheck(
            self._client, settings.guards_file, self._instrumentation.metrics
        )
        self._locator = GatewayLocator(
            self._client,
            GatewayLocation(settings.gateway_url, settings.gateway_authorities),
            settings.gateway_ca_config_map,
        )
        self._reports = CostReports(settings.lcluster_costs)
        self._cache = self._make_cache(conventions)
        self._dispatcher = Dispatcher(
            self._client,
            self._cache,
            conventions,
            settings,
            self._instrumentation,
            lambda: self._profiles.current,
            lambda: self._locator.current,
            parse_endpoints(settings.gateway_endpoints),
            self._reports,
            self._queue.add,
        )
        self._source = self._make_source(conventions, on_kopf_start)
        self._reflectors = self._make_reflectors(conventions)
        self._failed_creations = FailedCreations(
            self._client, self._cache.lclusters, self._watch_failed
        )
        self._busy: dict[WorkKey, float] = {}
        self._liveness = Liveness(self._watch_health, self._busy.values)

    def _make_queue(self) -> WorkQueue[WorkKey]:
        waited = self._instrumentation.metrics.queue_wait.observe
        queue: WorkQueue[WorkKey] = WorkQueue(urgent=self._is_urgent, waited=waited)
        if self._election:
            queue.close()
        return queue

    def _make_cache(self, conventions: Conventions) -> Cache:
        return Cache(
            conventions,
            self._queue,
            self._instrumentation.record_change,
            lnamespace_limits(self._settings),
            self._settings.reserved,
            self._profiles.kinds,
            lcluster_limits(self._settings),
        )

    def _make_source(
        self, conventions: Conventions, on_kopf_start: Callable[[], object]
    ) -> Reflector[CachedLNamespace]:
        """Return the reflector of LNamespaces, whose events go through kopf."""
        resource, store = lnamespace_resource(conventions.names), self._cache.lnamespaces
        return Reflector(
            self._client,
            resource,
            store,
            read_lnamespace,
            failed=self._watch_failed,
            recovered=self._queue.retry_now,
            handler=lnamespace_handlers(resource, store, on_kopf_start),
        )

    @property
    def probes(self) -> Probes:
        """Return the probes and metrics of the process."""
        return Probes(self._liveness.unready, self._measure, self._liveness.dead)

    async def run(self) -> None:
        """Run until cancelled. Nothing is written before everything has been listed.

        Raises
        ------
        LostLease
            Another process may lead; this one must not go on.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._start(tasks)
        except BaseExceptionGroup as group:
            if group.subgroup(LostLease):
                raise LostLease("another process may lead") from group
            raise
        finally:
            if self._election:
                await self._step_down(self._election)

    async def _step_down(self, election: LeaderElector) -> None:
        """Release the lease for the next leader, but not while a write of ours is under way."""
        if election.leads:
            await self._client.wait_for_writes()
        await election.release()

    async def _start(self, tasks: asyncio.TaskGroup) -> None:
        for reflector in self._reflectors:
            tasks.create_task(reflector.run())
        tasks.create_task(self._admission_drift.run())
        await asyncio.gather(*(r.synced.wait() for r in self._reflectors))
        log.info("caches are complete", extra={"lnamespaces": len(self._cache.lnamespaces)})
        if self._election:
            self._queue.remember()
            await self._election.acquire()
            # Keys that changed while there was no leader do not wait among all others.
            self._queue.open()
            for key in self._cache.all_keys():
                self._queue.add(key)
            tasks.create_task(self._election.renew())
            if self._cache.limited or self._cache.lclusters.limits.any_limited:
                self._cache.counts_complete.clear()
        await self._profiles.refresh()
        await self._locator.refresh()
        tasks.create_task(self._profiles.run(self._compare_all))
        tasks.create_task(self._reports.run(self._compare_all))
        tasks.create_task(self._locator.run(self._compare_all))
        self._instrumentation.active = True
        # Half of the workers are free for revocations while the others do long work, and no
        # revocation waits for the lists, which take 9 s with 10,000 LNamespaces.
        for _ in range(self._settings.workers // 2):
            tasks.create_task(self._work(urgent=True))
        if not self._cache.counts_complete.is_set():
            await self._relist()
            self._cache.counts_complete.set()
        for _ in range(self._settings.workers - self._settings.workers // 2):
            tasks.create_task(self._work(urgent=False))
        if self._settings.lclusters == "yes":
            tasks.create_task(self._failed_creations.run())
        tasks.create_task(self._resync())

    async def _relist(self) -> None:
        """List again what the previous leader may have written, before a quota slot is assigned.

        The watches may be behind; only the quota needs their newest state.
        """
        lclusters = lcluster_resource(Names(self._settings.api_group_suffix))
        listed = (NAMESPACE, self._source.resource, lclusters)
        found = (r for r in self._reflectors if r.resource in listed)
        await asyncio.gather(*(reflector.relist() for reflector in found))

    def _is_urgent(self, key: WorkKey) -> bool:
        """Return whether somebody may have to lose access: then it must not wait for creations."""
        if isinstance(key, LClusterKey):
            cached = self._cache.lclusters.get(key.name)
            return cached is None or cached.terminating or bool(cached.lcluster.status.charged)
        if not isinstance(key, LNamespaceKey):
            return False
        listed = self._cache.lnamespace(key.name)
        return listed is None or listed.terminating or bool(listed.lns.status.namespace_uid)

    def _make_reflectors(self, conventions: Conventions) -> list[AnyReflector]:
        managed_metadata = conventions.managed_metadata
        read_object = partial(read_observed, managed=managed_metadata)
        reflectors: list[AnyReflector] = [
            # All Namespaces, not just ours: a foreign one is a Conflict until it is deleted.
            Reflector(
                self._client,
                kind,
                store,
                read_object,
                "" if kind is NAMESPACE else managed_metadata.selector,
                self._watch_failed,
                self._queue.retry_now,
                is_needed=partial(self._cache.is_needed, kind),
            )
            for kind, store in self._cache.objects.items()
        ]
        if self._settings.lclusters == "yes":
            lclusters = self._cache.lclusters
            callbacks = (self._watch_failed, self._queue.retry_now)
            reflectors += lcluster_reflectors(self._client, lclusters, conventions, *callbacks)
        return [*reflectors, self._source]

    async def _work(self, *, urgent: bool) -> None:
        while True:
            key = await self._queue.get(urgent=urgent)
            # The store of LNamespaces is not up to date while it is being listed again.
            await self._source.synced.wait()
            started = self._busy[key] = time.monotonic()
            try:
                result = await self._reconcile(key)
                self._instrumentation.reconciled(key, result, time.monotonic() - started)
            finally:
                del self._busy[key]
                self._queue.done(key)

    async def _reconcile(self, key: WorkKey) -> str:
        """Reconcile a key; return the result in one word."""
        try:
            outcome = await self._dispatcher.reconcile(key, self._queue.failures(key))
        except LostLease:
            raise
        except Exception:
            # A defect in us, met by one object, must not stop the others.
            log.exception("reconcile failed", extra={"key": str(key)})
            self._queue.retry(key, at_least=1.0)
            return DEFECT
        if outcome.decisive_failure is None:
            self._queue.forget(key)
        else:
            self._retry_later(key, outcome.decisive_failure)
        if outcome.requeue_at is not None:
            self._queue.add_after(key, _seconds_until(outcome.requeue_at))
        return type(outcome.decisive_failure).__name__ if outcome.decisive_failure else DONE

    def _retry_later(self, key: WorkKey, error: ClusterError) -> None:
        log.log(
            logging.INFO if error.retryable else logging.WARNING,
            "reconcile put off",
            extra={"key": str(key), "error": str(error), "retryable": error.retryable},
        )
        if error.retryable:
            self._queue.retry(key, error.retry_after, error.longest_delay)
        else:
            self._queue.add_after(key, SLOW_RETRY)

    def _watch_failed(self, resource: str) -> None:
        self._instrumentation.metrics.watch_failures.labels(resource).inc()

    def _watch_health(self) -> list[WatchHealth]:
        return [
            WatchHealth(r.resource.plural, r.synced.is_set(), r.activity) for r in self._reflectors
        ]

    def _measure(self) -> bytes:
        activities = [(watch.resource, watch.activity) for watch in self._watch_health()]
        if of_events := self._failed_creations.activity:
            activities.append((EVENT.plural, of_events))
        self._instrumentation.record_watch_activity(activities)
        self._instrumentation.metrics.profiles_problem.set(bool(self._profiles.problem))
        leads = self._instrumentation.active and (self._election is None or self._election.leads)
        ours = filter(self._cache.of_our_class, self._cache.lnamespaces)
        return self._instrumentation.text(leads, len(self._queue), ours)

    async def _compare_all(self) -> None:
        """Enqueue everything again, a few keys at a time: a revocation must not wait for all."""
        for key in self._cache.resync_keys():
            await self._queue.wait_below(self._settings.workers)
            self._queue.add(key)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self._settings.resync_seconds)
            await self._compare_all()


def _seconds_until(moment: datetime) -> float:
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0) + 0.001, LONGEST_TIMER)
