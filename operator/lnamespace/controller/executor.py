"""Execute a decision about one LNamespace: writes in order, failures as values."""

import asyncio
from dataclasses import dataclass, replace

from lnamespace.access.ownership import Ownership
from lnamespace.access.profiles import ResolvedProfile
from lnamespace.access.sudo import impersonation_target, previous_is_present
from lnamespace.controller.decision import (
    ApplyResult,
    BillingAction,
    Changes,
    ReconcileDecision,
    SudoLayoutDecision,
    decide_grants,
    decide_sudo_layout,
    sudoers_settled,
)
from lnamespace.controller.observation import Lifecycle, Observation
from lnamespace.controller.observer import Observer
from lnamespace.controller.outbox import BillingRecorder
from lnamespace.controller.status import ReconcileResult
from lnamespace.errors import ClusterError
from lnamespace.kube.apply import Applier


@dataclass(frozen=True)
class Executor:
    """An executor of decisions; it may execute those of different names at the same time."""

    observer: Observer
    applier: Applier
    outbox: BillingRecorder

    async def execute(
        self, observation: Observation, decision: ReconcileDecision
    ) -> ReconcileResult:
        """Apply the decision, and those that follow from it; return the result."""
        match observation.lifecycle:
            case Lifecycle.OTHER_CLASS | Lifecycle.UNREADABLE:
                return ReconcileResult()
            case Lifecycle.GONE | Lifecycle.TERMINATING:
                applied = await self._apply(decision.changes)
                done = None if applied.failed else decision.changes.actions
                return ReconcileResult(failures=applied.failures, done=done)
            case Lifecycle.ACTIVE:
                return await self._execute_all(observation, decision)

    async def _execute_all(
        self, observation: Observation, first: ReconcileDecision
    ) -> ReconcileResult:
        """Execute the three steps of an active LNamespace, and observe again after each."""
        applied = await self._apply(first.changes)
        if first.changes.actions:
            observation = self.observer.renew(observation)
        grants = decide_grants(observation, first, applied)
        more, billing_failures = await asyncio.gather(
            self._apply(grants.changes), self._record(observation, grants)
        )
        applied += more
        observation = self.observer.renew(observation)
        sudo = decide_sudo_layout(observation, grants, applied)
        actions = (*first.changes.actions, *grants.changes.actions)
        done = None if applied.failed or sudo.changing else actions
        if sudo.changes.actions:
            more = await self._apply(sudo.changes)
            applied += ApplyResult() if sudo.best_effort else more
            observation = self.observer.renew(observation)
        result = _result(observation, grants, sudo, applied)
        return replace(result, billing_failures=tuple(billing_failures), done=done)

    async def _apply(self, changes: Changes) -> ApplyResult:
        """Apply the profile's objects first; if that fails, grant nothing to anybody."""
        profile_failures = await self.applier.apply(changes.profile)
        withhold = profile_failures or changes.profile_unknown
        withheld = changes.admitting if withhold else ()
        failures = await self.applier.apply(a for a in changes.others if a not in withheld)
        return ApplyResult(tuple(failures), tuple(profile_failures), bool(withheld))

    async def _record(
        self, observation: Observation, decision: ReconcileDecision
    ) -> list[ClusterError]:
        """Create the BillingRecords that are due. Return the failures."""
        match decision.billing:
            case BillingAction.RECORD:
                namespace = observation.namespace
                created = namespace.created if namespace and not observation.adopted else ""
                return await self.outbox.record(observation.lns, decision.now, created)
            case BillingAction.WAIT:
                self.outbox.note_waiting(observation.lns.uid)
        return []


def _result(
    observation: Observation,
    decision: ReconcileDecision,
    sudo: SudoLayoutDecision,
    applied: ApplyResult,
) -> ReconcileResult:
    """Return the result of a reconcile, from the state after its last write."""
    owned = decision.ownership in (Ownership.OURS, Ownership.TERMINATING)
    namespace, conventions = observation.namespace, observation.conventions
    group, user = impersonation_target(observation.name, sudo.act_as)
    lingering = previous_is_present(observation.name, conventions, observation.get)
    states = [observation.sudoers[sudoer] for sudoer in decision.entries.sudoers]
    return ReconcileResult(
        ownership=decision.ownership,
        entries=decision.entries,
        namespace_uid=namespace.uid if namespace and owned else "",
        sudoers_group=group,
        sudo_user=user,
        layout_changing=lingering and sudo.act_as is conventions,
        refusal=decision.refusal,
        sudoers_settled=sudoers_settled(observation, decision),
        sudoer_problems=tuple(state.problem for state in states if state.problem),
        failures=(*applied.failures, *observation.owner_failures),
        has_profile=observation.profile not in (None, ResolvedProfile()),
        profile_problem=observation.profile_problem,
        profile_failures=applied.profile_failures,
        withheld=applied.withheld,
    )
