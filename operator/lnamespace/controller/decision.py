"""Decide what to do about one LNamespace: from an observation to actions. Pure.

A reconcile decides three times, because later steps need what earlier ones have made:

1. :func:`decide`: the Namespace, and everything that is possible already.
2. :func:`decide_grants`: the grants inside a Namespace that the first step has made, and which
   record the ledger needs.
3. :func:`decide_sudo_layout`: the objects of the previous layout of sudo are deleted, once the
   present one works.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from lnamespace.access import profiles
from lnamespace.access.conventions import Conventions
from lnamespace.access.entries import ActiveEntries, active_entries
from lnamespace.access.lnamespace import (
    NamespaceState,
    all_grant_refs,
    editor_objects,
    grant_refs,
    lnamespace_objects,
    objects_without_namespace,
)
from lnamespace.access.ownership import Ownership
from lnamespace.access.sudo import (
    impersonation_target,
    previous_bindings,
    previous_conventions,
    previous_is_complete,
    previous_is_present,
    sudo_refs,
)
from lnamespace.controller.observation import Lifecycle, Observation
from lnamespace.controller.quota import LimitState
from lnamespace.controller.status import (
    LIMIT_EXCEEDED,
    NAMESPACE_TERMINATING,
    NOBODY,
    RESERVED_NAME,
    Refusal,
)
from lnamespace.errors import ClusterError
from lnamespace.kube.objects import ObjectRef
from lnamespace.kube.plan import Action, Create, Delete, plan_actions, resource_changed
from lnamespace.kube.resources import PROFILE_RESOURCES, ROLE_BINDING
from lnamespace.kube.state import DesiredObject
from lnamespace.model.names import NAMESPACE_BINDINGS

SWITCH_DELAY = timedelta(seconds=1)
"""How long the previous layout of sudo stays after the status names the new one.

Clients may have read the old status, and act by it.
"""


@dataclass(frozen=True)
class ApplyResult:
    """The failures of a step, and whether RoleBindings were withheld because of them.

    ``profile_failures`` are those of the profile's objects.
    """

    failures: tuple[ClusterError, ...] = ()
    profile_failures: tuple[ClusterError, ...] = ()
    withheld: bool = False

    @property
    def failed(self) -> bool:
        """Return whether anything failed."""
        return bool(self.failures or self.profile_failures)

    def __add__(self, other: "ApplyResult") -> "ApplyResult":
        return ApplyResult(
            self.failures + other.failures,
            self.profile_failures + other.profile_failures,
            self.withheld or other.withheld,
        )


@dataclass(frozen=True)
class Changes:
    """The actions of a decision, in the order in which they are to be applied.

    Parameters
    ----------
    profile
        The actions on the profile's objects; they come first.
    others
        All other actions.
    admitting
        Those of ``others`` that create RoleBindings in a Namespace without any. They are left out
        if one of the profile's objects cannot be made: nobody has access before these are there.
    profile_unknown
        Whether the admitting actions are left out in any case.
    """

    profile: tuple[Action, ...] = ()
    others: tuple[Action, ...] = ()
    admitting: tuple[Action, ...] = ()
    profile_unknown: bool = False

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return all actions, the profile's first."""
        return (*self.profile, *self.others)


class BillingAction(Enum):
    """The record that the ledger needs of the LNamespace."""

    NOTHING = "nothing"
    RECORD = "who pays"
    WAIT = "nothing yet: somebody else pays until their Namespace is gone"


@dataclass(frozen=True)
class ReconcileDecision:
    """The first step of a reconcile of one LNamespace.

    Parameters
    ----------
    now
        The time of the decision.
    changes
        The actions that create, change or delete objects.
    entries
        The entries of the lists that count.
    ownership
        The relation of the Namespace to the LNamespace.
    refusal
        Why the LNamespace gets no Namespace; None if it gets one.
    billing
        The record that the ledger needs.
    """

    now: datetime
    changes: Changes = field(default_factory=Changes)
    entries: ActiveEntries = NOBODY
    ownership: Ownership = Ownership.ABSENT
    refusal: Refusal | None = None
    billing: BillingAction = BillingAction.NOTHING

    @property
    def grants(self) -> bool:
        """Return whether anybody may be given anything in the Namespace."""
        return not self.refusal and self.ownership in (Ownership.OURS, Ownership.TERMINATING)


@dataclass(frozen=True)
class SudoLayoutDecision:
    """The layout of sudo that is to be used, and the actions on the objects of the other one.

    Parameters
    ----------
    act_as
        The layout that the status is to name.
    changes
        The actions that keep the objects of the previous layout up to date, or remove them.
    changing
        Whether the previous layout's objects exist, or existed until now.
    best_effort
        Whether a failure of the changes is ignored: their objects are about to be deleted.
    """

    act_as: Conventions
    changes: Changes = field(default_factory=Changes)
    changing: bool = False
    best_effort: bool = False


def decide(observation: Observation, now: datetime) -> ReconcileDecision:
    """Decide the first step of a reconcile, from which the others follow.

    An LNamespace that is gone, or terminating, loses its grants without waiting for the garbage
    collector. Only the collector deletes its Namespace, so that an error of ours loses no data.
    """
    match observation.lifecycle:
        case Lifecycle.OTHER_CLASS | Lifecycle.UNREADABLE:
            return ReconcileDecision(now)
        case Lifecycle.GONE | Lifecycle.TERMINATING:
            possible = all_grant_refs(observation.name, observation.conventions)
            return ReconcileDecision(
                now, Changes(others=plan_actions((), observation.get, possible))
            )
        case Lifecycle.ACTIVE:
            decision = ReconcileDecision(
                now,
                entries=active_entries(observation.lns.spec, now),
                ownership=observation.ownership,
                refusal=_refusal(observation),
            )
            return replace(decision, changes=_changes(observation, decision))


def decide_grants(
    observation: Observation, first: ReconcileDecision, applied: ApplyResult
) -> ReconcileDecision:
    """Decide the second step: the grants inside the LNamespace's own Namespace, now that it exists.

    The owner of the Namespace is determined here for both the ledger and the status: an LNamespace
    must not be charged for a Namespace that is not its own.
    """
    second = replace(first, ownership=observation.ownership, changes=Changes())
    if first.changes.actions and not applied.failed:
        second = replace(second, changes=_changes(observation, second))
    if second.grants:
        return replace(second, billing=BillingAction.RECORD)
    if not second.refusal and second.ownership in (Ownership.PREDECESSOR, Ownership.FOREIGN):
        return replace(second, billing=BillingAction.WAIT)
    return second


def decide_sudo_layout(
    observation: Observation, decision: ReconcileDecision, applied: ApplyResult
) -> SudoLayoutDecision:
    """Return the layout of sudo to use, and the actions on the objects of the previous layout.

    They are deleted once the status names the present layout. Until then they follow the lists too,
    so that a revocation does not wait.
    """
    lns, conventions, get = observation.lns, observation.conventions, observation.get
    if not (decision.grants and previous_is_present(lns.name, conventions, get)):
        return SudoLayoutDecision(conventions)
    previous = previous_conventions(conventions)
    kept = Changes(
        others=plan_actions(previous_bindings(lns, decision.entries, conventions, get), get)
    )
    works = not applied.failed and sudoers_settled(observation, decision)
    if not works and previous_is_complete(lns.name, conventions, get):
        return SudoLayoutDecision(previous, kept, changing=True)
    target = impersonation_target(lns.name, conventions)
    if (lns.status.sudoers_group, lns.status.sudo_user) != target:
        return SudoLayoutDecision(conventions, kept, changing=True, best_effort=True)
    editors = editor_objects(lns, decision.entries, conventions)
    removed = plan_actions(editors, get, sudo_refs(lns.name, previous))
    return SudoLayoutDecision(conventions, Changes(others=removed), changing=True)


def sudoers_settled(observation: Observation, decision: ReconcileDecision) -> bool:
    """Return whether the objects of every sudoer are in place, or known to be impossible."""
    return all(observation.sudoers[sudoer].settled for sudoer in decision.entries.sudoers)


def _refusal(observation: Observation) -> Refusal | None:
    if problem := observation.name_problem:
        message = f"The name is refused: {problem}. Delete this LNamespace and choose another."
        return Refusal(RESERVED_NAME, message)
    match observation.limit_state:
        case LimitState.WITHIN:
            return None
        case LimitState.TERMINATING:
            return Refusal(NAMESPACE_TERMINATING, observation.limit_message)
        case LimitState.EXCEEDED:
            return Refusal(LIMIT_EXCEEDED, observation.limit_message)


def _changes(observation: Observation, decision: ReconcileDecision) -> Changes:
    """Return the actions from the observed to the desired objects, those of the profile apart.

    If users have access already, their objects are kept up to date whatever fails.
    """
    name, conventions = observation.name, observation.conventions
    possible = (grant_refs if decision.grants else all_grant_refs)(name, conventions)
    actions = plan_actions(
        _desired(observation, decision),
        observation.get,
        (*possible, *_prunable_profile_refs(observation, decision)),
    )
    has_bindings = any(observation.get(ROLE_BINDING, (name, each)) for each in NAMESPACE_BINDINGS)
    admitting = () if has_bindings else (a for a in actions if _creates_binding(a, name))
    return Changes(
        profile=tuple(action for action in actions if _is_of_profile(action)),
        others=tuple(action for action in actions if not _is_of_profile(action)),
        admitting=tuple(admitting),
        profile_unknown=observation.profile is None,
    )


def _desired(observation: Observation, decision: ReconcileDecision) -> tuple[DesiredObject, ...]:
    lns, conventions, refusal = observation.lns, observation.conventions, decision.refusal
    if refusal and refusal.reason != RESERVED_NAME:
        return objects_without_namespace(lns, decision.entries, conventions)
    if refusal:
        return editor_objects(lns, decision.entries, conventions)
    changing = previous_is_complete(lns.name, conventions, observation.get)
    state = NamespaceState(
        decision.ownership,
        observation.namespace,
        observation.profile,
        changing,
        observation.orphaned,
    )
    return lnamespace_objects(lns, decision.entries, state, conventions)


def _prunable_profile_refs(
    observation: Observation, decision: ReconcileDecision
) -> Iterator[ObjectRef]:
    """Yield the profile objects that should not exist; none if the profile is unknown."""
    owned = not decision.refusal and decision.ownership is Ownership.OURS
    if not owned or observation.profile is None:
        return
    for ref in profiles.profile_refs(observation.name):
        if ref in observation.objects and not _is_foreign(observation, ref):
            yield ref


def _is_foreign(observation: Observation, ref: ObjectRef) -> bool:
    """Return whether an object of an adopted Namespace is not ours, but was there before."""
    seen = observation.get(*ref)
    return seen is not None and not seen.managed and observation.adopted


def _is_of_profile(action: Action) -> bool:
    return not isinstance(action, Delete) and resource_changed(action) in PROFILE_RESOURCES


def _creates_binding(action: Action, namespace: str) -> bool:
    if not isinstance(action, Create) or action.desired.resource is not ROLE_BINDING:
        return False
    return action.desired.key[0] == namespace
