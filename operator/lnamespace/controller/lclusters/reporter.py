"""Report the result of a reconcile of an LCluster: the status, and an Event."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from lnamespace.controller.lclusters.decision import LClusterDecision
from lnamespace.controller.lclusters.location import GatewayLocation
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.resource import CachedLCluster
from lnamespace.controller.lclusters.status import (
    LClusterResult,
    build_lcluster_status,
    build_terminating_lcluster_status,
    build_unreadable_lcluster_status,
)
from lnamespace.controller.observation import Lifecycle
from lnamespace.controller.queue import FAILURES_BEFORE_STATUS, RequeueResult
from lnamespace.controller.status_writer import EventRecorder, StatusWriter
from lnamespace.errors import ClusterError
from lnamespace.model.lcluster import LCluster, LClusterStatus

SWEEP_AGAIN = timedelta(seconds=2)
"""When to list the remaining objects of a tenant again: cluster-scoped kinds are not watched."""


@dataclass(frozen=True)
class LClusterReporter:
    """The writer of the status and the Events of LClusters.

    Parameters
    ----------
    location
        Returns the address of the gateway; None while it is not known.
    """

    writer: StatusWriter[CachedLCluster]
    recorder: EventRecorder
    location: Callable[[], GatewayLocation | None]

    async def report(
        self,
        observation: LClusterObservation,
        decision: LClusterDecision,
        result: LClusterResult,
        failed_before: int,
    ) -> RequeueResult:
        """Write the status if it differs; return the failures."""
        failures = [*result.failures, *(result.charges.failures if result.charges else ())]
        second = decision.now.replace(microsecond=0)
        changes_at = None
        match observation.lifecycle:
            case Lifecycle.OTHER_CLASS | Lifecycle.GONE:
                return RequeueResult(failures)
            case Lifecycle.UNREADABLE:
                problem = observation.cached.problem if observation.cached else ""
                new = build_unreadable_lcluster_status(observation.lcluster, problem, second)
            case Lifecycle.TERMINATING:
                if not result.remaining and not failures:
                    return RequeueResult()
                new = build_terminating_lcluster_status(observation, result, second)
                changes_at = decision.now + SWEEP_AGAIN if result.remaining else None
            case Lifecycle.ACTIVE:
                changes_at = decision.entries.changes_at
                if (
                    failed_before < FAILURES_BEFORE_STATUS
                    and failures
                    and all(f.retryable for f in failures)
                ):
                    return RequeueResult([*failures, *result.info_failures], changes_at)
                new = build_lcluster_status(observation, result, self.location(), second)
        failures += (*await self._write(observation.lcluster, new), *result.info_failures)
        return RequeueResult(failures, changes_at)

    async def _write(self, lcluster: LCluster, new: LClusterStatus) -> list[ClusterError]:
        """Write the status if it differs, and its Event if somebody must act."""
        if new == lcluster.status:
            return []
        try:
            # Shares are based on those in the status, which must not have changed meanwhile.
            shared = bool(lcluster.spec.quota or lcluster.status.shares)
            written = await self.writer.write(lcluster, new, if_unchanged=shared)
        except ClusterError as error:
            return [error]
        if written is not None:
            await self.recorder.record(lcluster, new)
        return []
