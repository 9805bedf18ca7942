"""Workers and reflectors, together: the whole controller, but for the process around it."""

import asyncio
import logging
from datetime import UTC, datetime
from functools import partial

from lnamespace.access.layout import Layout
from lnamespace.access.person import Person
from lnamespace.controller.cache import Cache, Listed, Tenant, WorkKey, read_listed
from lnamespace.controller.events import Recorder
from lnamespace.controller.outcome import Outcome
from lnamespace.controller.person import PersonReconciler
from lnamespace.controller.queue import WorkQueue
from lnamespace.controller.tenant import TenantReconciler, lnamespaces
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier
from lnamespace.kube.client import Client
from lnamespace.kube.objects import Seen, read
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import NAMESPACE
from lnamespace.model.names import Names
from lnamespace.settings import Settings

SLOW_RETRY = 300.0
"""Seconds before what will not pass by itself is tried again all the same."""

LONGEST_TIMER = 86_400.0
"""Seconds; an expiry further off is looked at again after this, for clocks are set."""

log = logging.getLogger(__name__)


def layout_of(settings: Settings) -> Layout:
    """The conventions that the settings ask for."""
    names = Names(settings.api_group_suffix, settings.sudoers_group_format)
    return Layout(names, settings.users_role)


class Controller:
    """Everything between a connection and a cluster that is as its LNamespaces say."""

    def __init__(self, client: Client, settings: Settings) -> None:
        layout = layout_of(settings)
        self._settings = settings
        self._queue: WorkQueue[WorkKey] = WorkQueue(urgent=self._is_urgent)
        self._cache = Cache(layout, self._queue)
        applier = Applier(client, self._cache.objects, layout.marks, settings.concurrency)
        recorder = Recorder(client, lnamespaces(layout))
        self._tenants = TenantReconciler(
            client, self._cache, applier, recorder, layout, settings.reserved
        )
        self._people = PersonReconciler(
            self._cache, applier, layout, lambda name: self._queue.add(Tenant(name))
        )
        self._source = Reflector(client, lnamespaces(layout), self._cache.lnamespaces, read_listed)
        self._reflectors = self._make_reflectors(client, layout)

    async def run(self) -> None:
        """Run until cancelled. Nothing is written before everything has been listed."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            await asyncio.gather(*(r.synced.wait() for r in self._reflectors))
            log.info("caches are complete", extra={"lnamespaces": len(self._cache.lnamespaces)})
            for _ in range(self._settings.workers):
                tasks.create_task(self._work())
            tasks.create_task(self._resync())

    def _is_urgent(self, key: WorkKey) -> bool:
        """Whether somebody may have to lose access: that must not wait for mass creations."""
        if isinstance(key, Person):
            return False
        listed = self._cache.tenant(key.name)
        return listed is None or listed.going or bool(listed.lns.status.namespace_uid)

    def _make_reflectors(
        self, client: Client, layout: Layout
    ) -> list[Reflector[Seen] | Reflector[Listed]]:
        marks = layout.marks
        read_object = partial(read, marks=marks)
        reflectors: list[Reflector[Seen] | Reflector[Listed]] = [
            # All Namespaces, not just ours: one that is not ours is a Conflict until it goes.
            Reflector(client, kind, store, read_object, "" if kind is NAMESPACE else marks.selector)
            for kind, store in self._cache.objects.items()
        ]
        return [*reflectors, self._source]

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            # What may be out of date of what should be must not be acted upon.
            await self._source.synced.wait()
            try:
                await self._reconcile(key)
            finally:
                self._queue.done(key)

    async def _reconcile(self, key: WorkKey) -> None:
        try:
            outcome = await self._dispatch(key, self._queue.failures(key))
        except Exception:
            # A defect in us, met by one object, must not stop the others.
            log.exception("reconcile failed", extra={"key": str(key)})
            self._queue.retry(key, at_least=1.0)
            return
        if outcome.worst is None:
            self._queue.forget(key)
        else:
            self._put_off(key, outcome.worst)
        if outcome.changes_at is not None:
            self._queue.add_after(key, _seconds_until(outcome.changes_at))

    async def _dispatch(self, key: WorkKey, failed_before: int) -> Outcome:
        if isinstance(key, Person):
            return await self._people.reconcile(key, failed_before)
        return await self._tenants.reconcile(key.name, failed_before)

    def _put_off(self, key: WorkKey, error: ClusterError) -> None:
        log.log(
            logging.INFO if error.retryable else logging.WARNING,
            "reconcile put off",
            extra={"key": str(key), "error": str(error), "retryable": error.retryable},
        )
        if error.retryable:
            self._queue.retry(key, error.retry_after, error.longest_delay)
        else:
            self._queue.add_after(key, SLOW_RETRY)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self._settings.resync_seconds)
            self._cache.enqueue_all()


def _seconds_until(moment: datetime) -> float:
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0) + 0.001, LONGEST_TIMER)
