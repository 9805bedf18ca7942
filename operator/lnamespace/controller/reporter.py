"""Report the result of a reconcile: the status, an Event, and metrics."""

from dataclasses import dataclass
from datetime import datetime

from lnamespace.controller.decision import SWITCH_DELAY, ReconcileDecision
from lnamespace.controller.instrumentation import Instrumentation
from lnamespace.controller.observation import Lifecycle, Observation
from lnamespace.controller.queue import FAILURES_BEFORE_STATUS, RequeueResult
from lnamespace.controller.quota import LimitState
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.controller.status import (
    ReconcileResult,
    build_status,
    build_terminating_status,
    build_unreadable_status,
    count_entries,
    is_ready,
)
from lnamespace.controller.status_writer import EventRecorder, StatusWriter
from lnamespace.errors import ClusterError
from lnamespace.model.lnamespace import LNamespace, Status


@dataclass(frozen=True)
class Reporter:
    """The writer of status, Events and metrics."""

    writer: StatusWriter[CachedLNamespace]
    recorder: EventRecorder
    instrumentation: Instrumentation

    async def report(
        self,
        observation: Observation,
        decision: ReconcileDecision,
        result: ReconcileResult,
        failed_before: int,
    ) -> RequeueResult:
        """Count the applied actions, and write the status if it has changed.

        ``failed_before`` is how many reconciles of the name in a row have failed until now.
        """
        self._measure(observation, result)
        second = decision.now.replace(microsecond=0)
        match observation.lifecycle:
            case Lifecycle.OTHER_CLASS:
                return RequeueResult()
            case Lifecycle.GONE:
                return RequeueResult([*result.failures])
            case Lifecycle.TERMINATING:
                new = build_terminating_status(observation.lns, result.failures, second)
                return RequeueResult([*result.failures, *await self._write(observation.lns, new)])
            case Lifecycle.UNREADABLE:
                new = build_unreadable_status(observation.lns, observation.problem, second)
                return RequeueResult(await self._write(observation.lns, new))
            case Lifecycle.ACTIVE:
                failures = [*result.profile_failures, *result.failures]
                if _is_worth_writing(result, failed_before):
                    new = build_status(observation.lns, result, second)
                    failures += await self._write(observation.lns, new)
                requeue_at = _requeue_at(decision, result)
                return RequeueResult([*failures, *result.billing_failures], requeue_at)

    def _measure(self, observation: Observation, result: ReconcileResult) -> None:
        if observation.lifecycle is Lifecycle.OTHER_CLASS:
            self.instrumentation.forget(observation.name)
        if observation.limit_state is not LimitState.WITHIN:
            self.instrumentation.refused(observation.lns)
        if result.done is None:
            return
        self.instrumentation.applied(observation.name, result.done)
        if observation.lifecycle is Lifecycle.ACTIVE and _was_in_place(observation.lns, result):
            self.instrumentation.repaired(result.done)

    async def _write(self, lns: LNamespace, new: Status) -> list[ClusterError]:
        """Write the status if it differs, and post an Event if somebody must act.

        Return the failure.
        """
        if new == lns.status:
            return []
        try:
            written = await self.writer.write(lns, new)
        except ClusterError as error:
            return [error]
        if written is None:
            return []
        if is_ready(written.lns):
            self.instrumentation.ready(lns)
        await self.recorder.record(lns, new)
        return []


def _is_worth_writing(result: ReconcileResult, failed_before: int) -> bool:
    """Return whether the result belongs into the status; a failure that will pass soon does not.

    A person's reconcile that is still running enqueues the LNamespace when it ends.
    """
    if failures := (*result.profile_failures, *result.failures, *result.billing_failures):
        return failed_before >= FAILURES_BEFORE_STATUS or not all(one.retryable for one in failures)
    return bool(result.refusal) or result.sudoers_settled


def _was_in_place(lns: LNamespace, result: ReconcileResult) -> bool:
    """Return whether the objects were as desired already, by the status."""
    return is_ready(lns) and lns.status.counts == count_entries(result.entries)


def _requeue_at(decision: ReconcileDecision, result: ReconcileResult) -> datetime | None:
    """Return the time at which the desired objects change next."""
    switch = decision.now + SWITCH_DELAY if result.layout_changing else None
    return min(filter(None, (result.entries.changes_at, switch)), default=None)
