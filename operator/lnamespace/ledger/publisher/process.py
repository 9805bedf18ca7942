"""``lnamespace ledger publish``: write the records of the outbox into the ledger.

This process alone writes the database. It deletes a record when its row is committed, so it can be
killed at any time: records that it had not deleted are written again, to no effect. Nobody waits
for it: while the database is down records wait in etcd, and tenants notice nothing.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lnamespace.errors import (
    ClusterError,
    LedgerError,
    LedgerMisconfigured,
    LNamespaceError,
)
from lnamespace.http.probes import Probes, serve_probes
from lnamespace.kube.backoff import Backoff
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.store import Store
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import ClusterIdentity, to_row
from lnamespace.ledger.outbox.client import OutboxClient, QueuedRecord, decode_queued
from lnamespace.ledger.outbox.record import BillingOperation
from lnamespace.ledger.publisher import reconciliation
from lnamespace.ledger.publisher.backlog import Backlog, Delivery, deliver
from lnamespace.ledger.publisher.comparison import Differences
from lnamespace.ledger.publisher.deletion_recorder import DeletionRecorder
from lnamespace.metrics.ledger import LedgerMetrics
from lnamespace.model.names import Names
from lnamespace.runtime.lifecycle import stop_event
from lnamespace.settings import Settings

OUTBOX_MAX = 10_000
"""With more records in the outbox there is no comparison, whose records are the least urgent."""

RETRY = Backoff(first=5.0, longest=300.0)
"""The delay before a failed database is tried again."""

UNPARK_SECONDS = 5.0
"""Seconds between two checks whether a refused record is to be tried again."""

REMOVAL = Backoff(longest=300.0)
"""The delay before a failed deletion of a record is tried again."""

COMPARISONS_MAX = 4
"""Comparisons in a row while they find differences. Differences that remain need a person."""

STOP_SECONDS = 25.0
"""How long a batch may take after the signal to stop; the kubelet kills after 30."""

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Publish until a signal asks to end.

    Raises
    ------
    LNamespaceError
        The publisher cannot start; the message says why.
    """
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = stop_event()
    ledger = Ledger.from_settings(settings)
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        publisher = Publisher(client, ledger, settings)
        probes = Probes(publisher.problem, publisher.measure)
        async with serve_probes(settings.health_listen, probes) as address:
            log.info("publishing", extra={"health": address})
            await publisher.run(stop)
    # A cancelled comparison may still read in a thread: it met a closed database.
    await asyncio.get_running_loop().shutdown_default_executor()
    ledger.close()


class Publisher:
    """The loops of the process: write, park, compare, and record deletions."""

    def __init__(self, client: Client, ledger: Ledger, settings: Settings) -> None:
        self._settings = settings
        self._names = Names(settings.api_group_suffix)
        self._client = client
        self._ledger = ledger
        self._cluster: ClusterIdentity = reconciliation.cluster_of(settings)
        self._compare_now = asyncio.Event()
        self._outbox = OutboxClient(client, self._names)
        self.backlog = Backlog()
        self._store: Store[QueuedRecord] = Store(self._changed)
        self._source = Reflector(client, self._outbox.resource, self._store, decode_queued)
        self._recorder = DeletionRecorder(client, self._names, self._outbox)
        self._removals: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._drained = asyncio.Event()
        self._problem: str | None = "the outbox has not been read yet"
        self.metrics = LedgerMetrics.new(self._names.group)

    def problem(self) -> str | None:
        """Return why nothing is published; None if all is well."""
        return self._problem

    def measure(self) -> bytes:
        """Update the gauges, and return all metrics as text."""
        oldest = self.backlog.oldest()
        self.metrics.outbox.set(len(self._store))
        self.metrics.oldest.set(max(time.time() - oldest, 0) if oldest else 0)
        self.metrics.parked.set(len(self.backlog.parked))
        self.metrics.views_outdated.set(bool(self._ledger.view_problem))
        return self.metrics.text()

    def _changed(self, old: QueuedRecord | None, new: QueuedRecord | None) -> None:
        """Pass a change of the outbox to the backlog, or if it is an ENDING to its handler."""
        item = new or old
        is_pending = item is not None and item.record.operation is BillingOperation.ENDING
        (self._recorder.pending if is_pending else self.backlog).changed(old, new)

    async def run(self, stop: asyncio.Event) -> None:
        """Publish until ``stop`` is set, then finish the batch that is being written."""
        work = [
            asyncio.create_task(self._source.run()),
            asyncio.create_task(self._recorder.run()),
            asyncio.create_task(self._compare_regularly()),
            asyncio.create_task(self._unpark_regularly()),
        ]
        publishing = asyncio.create_task(self._publish(stop))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([*work, publishing, stopped], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        log.info("stopping")
        await asyncio.wait([publishing], timeout=STOP_SECONDS)
        if self._removals:
            await asyncio.wait(self._removals, timeout=STOP_SECONDS / 5)
        for task in (*work, publishing, stopped, *self._removals):
            task.cancel()
        await asyncio.gather(*self._removals, stopped, return_exceptions=True)
        # A task that ended by itself raises its error.
        for task in (*work, publishing):
            with suppress(asyncio.CancelledError):
                await task

    async def _publish(self, stop: asyncio.Event) -> None:
        await _first(stop.wait(), self._source.synced.wait())
        await _first(stop.wait(), self._identify())
        self._problem = None
        while not stop.is_set():
            self._update_drained()
            await _first(stop.wait(), self.backlog.arrived.wait())
            if batch := self.backlog.take(self._settings.batch_size):
                pause = await self._write(batch)
                self._update_drained()
                if self._failures or self.backlog.waiting < self._settings.batch_size:
                    await _first(stop.wait(), asyncio.sleep(pause))

    async def _identify(self) -> None:
        """Read the UID of this cluster, without which no row is written."""
        failures = 0
        while not self._cluster.cluster_uid:
            try:
                uid = await reconciliation.cluster_uid(self._client)
            except ClusterError as error:
                failures += 1
                self._problem = f"Namespace kube-system, by which the cluster is known: {error}"
                log.warning("not publishing yet", extra={"error": self._problem})
                await asyncio.sleep(RETRY.delay(failures))
            else:
                self._cluster = replace(self._cluster, cluster_uid=uid)

    def _update_drained(self) -> None:
        if self.backlog.arrived.is_set():
            self._drained.clear()
        else:
            self._drained.set()

    async def _write(self, batch: Sequence[QueuedRecord]) -> float:
        """Write a batch; return the seconds to wait before the next, unless that is full."""
        rows = [to_row(item.record, self._cluster) for item in batch]
        started = time.monotonic()
        try:
            delivery = await asyncio.to_thread(deliver, self._ledger.append, rows)
        except LedgerError as error:
            self.backlog.give_back(list(batch))
            return self._failed(error)
        self.metrics.seconds.observe(time.monotonic() - started)
        self._settle(batch, delivery)
        return float(self._settings.flush_seconds)

    def _failed(self, error: LedgerError) -> float:
        self._failures += 1
        if isinstance(error, LedgerMisconfigured):
            self._compare_now.set()  # It may be another table when it can be written again.
        self._problem = f"the ledger: {error}"
        reason = "misconfigured" if isinstance(error, LedgerMisconfigured) else "unavailable"
        self.metrics.failures.labels(reason).inc()
        pause = RETRY.delay(self._failures)
        log.warning(
            "the ledger was not written; records wait in the outbox",
            extra={"reason": reason, "error": str(error), "retry_in_seconds": round(pause)},
        )
        return pause

    def _settle(self, batch: Sequence[QueuedRecord], delivery: Delivery) -> None:
        self._failures = 0
        self.metrics.written.inc(delivery.new)
        self.metrics.known.inc(max(len(delivery.delivered) - delivery.new, 0))
        delivered, refused = set(delivery.delivered), dict(delivery.refused)
        gone = [item for item in batch if item.record.event_id in delivered]
        for item in batch:
            if error := refused.get(item.record.event_id):
                self._park(item, str(error))
            elif item.record.event_id not in delivered:
                self.backlog.give_back([item])
        self.backlog.accepted(gone)
        self._problem = None
        if delivery.all_refused:
            _, error = delivery.refused[-1]
            self._problem = f"the ledger refused all that was tried last: {error}"
        else:
            self.metrics.last_success.set_to_current_time()
        log.info("written", extra={"rows": len(delivered), "new": delivery.new})
        for item in gone:
            removal = asyncio.create_task(self._remove(item))
            self._removals.add(removal)
            removal.add_done_callback(self._removals.discard)

    def _park(self, item: QueuedRecord, error: str) -> None:
        self.backlog.park(item, error)
        self.metrics.failures.labels("refused").inc()
        log.error(
            "the ledger refuses a record; it is left in the outbox and tried again later",
            extra={"record": item.key[1], "error": error},
        )

    async def _remove(self, item: QueuedRecord) -> None:
        """Delete a record that is in the ledger; try until that succeeds."""
        failures = 0
        while True:
            try:
                await self._outbox.remove(item)
            except ClusterError as error:
                failures += 1
                about = {"record": item.key[1], "error": str(error)}
                log.warning("record not removed", extra=about)
                await asyncio.sleep(REMOVAL.delay(failures))
            else:
                return

    async def _unpark_regularly(self) -> None:
        while True:
            await asyncio.sleep(UNPARK_SECONDS)
            self.backlog.unpark()

    async def _compare_regularly(self) -> None:
        failures, comparisons = 0, 0
        while True:
            # Records in the outbox would be differences, and a comparison needs the database.
            await self._drained.wait()
            self._compare_now.clear()
            try:
                found = await self._compare()
            except LNamespaceError as error:
                failures += 1
                log.warning("ledger and cluster not compared", extra={"error": str(error)})
                await asyncio.sleep(RETRY.delay(failures))
            else:
                # Compare again soon after a repair: an LNamespace whose deletion was retracted may
                # lack further records, which only shows when it is open again.
                failures, comparisons = 0, comparisons + 1 if found.records else 0
                if 0 < comparisons < COMPARISONS_MAX:
                    await asyncio.sleep(self._settings.flush_seconds + RETRY.delay(comparisons))
                else:
                    comparisons = 0
                    pause = asyncio.sleep(self._settings.compare_hours * 3600)
                    await _first(pause, self._compare_now.wait())

    async def _compare(self) -> Differences:
        if len(self._store) > OUTBOX_MAX:
            raise LedgerError(f"more than {OUTBOX_MAX} records wait in the outbox")
        await self._identify()
        found = await reconciliation.compare_with_cluster(
            self._client, self._names, self._ledger, self._cluster
        )
        waiting = {item.record.event_id for item in self._store}
        for kind, records in found.kinds.items():
            differences = sum(record.event_id not in waiting for record in records)
            self.metrics.drift.labels(kind).inc(differences)
            self.metrics.differences.labels(kind).set(differences)
        self.metrics.withheld.set(len(found.withheld))
        self.metrics.strangers.set(found.strangers)
        self.metrics.compared.set_to_current_time()
        if found.suspicion:
            log.error(found.suspicion)
        if found.strangers:
            log.warning(
                "the ledger has LNamespaces of another cluster of these names, or rows without an "
                "identity; they are left alone",
                extra={"rows": found.strangers, "cluster_uid": self._cluster.cluster_uid},
            )
        made = await reconciliation.enqueue(self._outbox, found)
        log.info("ledger and cluster compared", extra={"records_made": made})
        return found


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of them is done, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
