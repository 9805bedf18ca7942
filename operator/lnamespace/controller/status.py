"""Build the status of an LNamespace and its conditions from the result of a reconcile. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec

from lnamespace.access.entries import ActiveEntries
from lnamespace.access.ownership import Ownership
from lnamespace.errors import ClusterError
from lnamespace.kube.plan import Action
from lnamespace.ledger.outbox.record import newest_generation
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import Condition, Counts, LNamespace, Recorded, Status

READY = "Ready"
NAMESPACE_READY = "NamespaceReady"
GUARD_RAILS_READY = "GuardRailsReady"
ACCESS_READY = "AccessReady"
BILLING_RECORDED = "BillingRecorded"

RESERVED_NAME = "ReservedName"
TERMINATING = "Terminating"
"""The reason of an LNamespace that is being deleted and waits for a finalizer."""
NAMESPACE_TERMINATING = "NamespaceTerminating"
"""The reason of an LNamespace whose name a Namespace has that is being deleted."""
CONFLICT = "Conflict"
"""The reason of an LNamespace whose name is that of another owner's Namespace."""
LIMIT_EXCEEDED = "LimitExceeded"
"""The reason of an LNamespace that waits until its requester has fewer others."""


NOBODY = ActiveEntries((), (), ())
"""No entry that counts."""


class Verdict(NamedTuple):
    """The state of one part for a condition: whether it is as it should be, and why (not)."""

    met: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Refusal:
    """A reason for which an LNamespace gets no Namespace."""

    reason: str
    message: str


@dataclass(frozen=True)
class ReconcileResult:
    """The result of a reconcile, to be reported.

    Parameters
    ----------
    ownership
        The relation of the Namespace to the LNamespace.
    entries
        The entries of the lists that count.
    namespace_uid
        The UID of the LNamespace's own Namespace; empty where it has none.
    sudoers_group, sudo_user
        The group or user that sudoers impersonate; one of them is empty.
    layout_changing
        Whether sudo uses the present layout, and objects of the previous one are left.
    refusal
        Why the LNamespace gets no Namespace; None where it gets one.
    sudoers_settled
        Whether the objects of every sudoer are in place, or known to be impossible.
    sudoer_problems
        Why objects of sudoers cannot be made.
    failures
        The failures, without those of the profile's objects.
    billing_failures
        The failures to create BillingRecords.
    has_profile
        Whether the profile has objects or labels.
    profile_problem
        Why the profile is not known; empty where it is.
    profile_failures
        The failures of the profile's objects.
    withheld
        Whether RoleBindings were withheld because of them.
    done
        The actions after which the objects are as desired; None if they are not.
    """

    ownership: Ownership = Ownership.ABSENT
    entries: ActiveEntries = NOBODY
    namespace_uid: str = ""
    sudoers_group: str = ""
    sudo_user: str = ""
    layout_changing: bool = False
    refusal: Refusal | None = None
    sudoers_settled: bool = True
    sudoer_problems: tuple[str, ...] = ()
    failures: tuple[ClusterError, ...] = ()
    billing_failures: tuple[ClusterError, ...] = ()
    has_profile: bool = False
    profile_problem: str = ""
    profile_failures: tuple[ClusterError, ...] = ()
    withheld: bool = False
    done: tuple[Action, ...] | None = None


def may_have_waited(status: Status) -> bool:
    """Return whether another owner's Namespace had the name, or may have had it.

    The last status says it. An LNamespace that has its own Namespace and no record may have waited:
    the status does not say it any more.
    """
    if status.namespace_uid:
        return not status.recorded.generation
    condition = status.condition(NAMESPACE_READY)
    return condition is not None and condition.reason in (NAMESPACE_TERMINATING, CONFLICT)


def namespace_ready_since(status: Status) -> datetime | None:
    """Return since when an LNamespace has had its own Namespace, by its status; None if unknown."""
    condition = status.condition(NAMESPACE_READY)
    return condition.last_transition_time if condition and condition.status == "True" else None


def build_status(lns: LNamespace, result: ReconcileResult, now: datetime) -> Status:
    """Return the status; equal to the present one if nothing but the time has changed."""
    namespace = refusal_verdict(result.refusal) or _namespace_verdict(lns, result)
    profile = None if result.refusal else _profile_verdict(result)
    access = refusal_verdict(result.refusal) or _withheld_verdict(result) or _access_verdict(result)
    billing = refusal_verdict(result.refusal) or _billing_verdict(result)
    ready = next((v for v in (namespace, profile, access, billing) if v and not v.met), None)
    verdicts = {
        READY: ready or Verdict(True, "Ready", "The namespace can be used as listed."),
        NAMESPACE_READY: namespace,
        **({GUARD_RAILS_READY: profile} if profile else {}),
        ACCESS_READY: access,
        BILLING_RECORDED: billing,
    }
    return Status(
        observed_generation=lns.metadata.generation,
        namespace_uid=result.namespace_uid,
        sudoers_group=result.sudoers_group,
        sudo_user=result.sudo_user,
        counts=count_entries(result.entries),
        recorded=Recorded(newest_generation(lns)) if billing.met else lns.status.recorded,
        conditions=tuple(condition_of(lns, t, verdict, now) for t, verdict in verdicts.items()),
    )


def count_entries(entries: ActiveEntries) -> Counts:
    """Return how many entries of each list count now."""
    return Counts(len(entries.users), len(entries.managers), len(entries.sudoers))


def build_unreadable_status(lns: LNamespace, problem: str, now: datetime) -> Status:
    """Return the status of an LNamespace whose spec cannot be read: all grants stay."""
    verdict = Verdict(False, "InvalidSpec", f"The spec cannot be read: {problem}.")
    return msgspec.structs.replace(
        lns.status,
        observed_generation=lns.metadata.generation,
        conditions=(condition_of(lns, READY, verdict, now),),
    )


def build_terminating_status(
    lns: LNamespace, failures: Sequence[ClusterError], now: datetime
) -> Status:
    """Return the status of an LNamespace that is being deleted: nobody has access any more.

    The condition of its billing stays, for a record may still be missing.
    """
    finalizers = ", ".join(lns.metadata.finalizers) or "none"
    message = f"It is being deleted: it goes with the last of its finalizers ({finalizers})."
    verdict = Verdict(False, TERMINATING, message[:1024])
    access = (
        failed_verdict(tuple(failures), "Access could not be taken away") if failures else verdict
    )
    verdicts = {READY: verdict, NAMESPACE_READY: verdict, ACCESS_READY: access}
    billing = lns.status.condition(BILLING_RECORDED)
    conditions = tuple(condition_of(lns, t, one, now) for t, one in verdicts.items())
    return msgspec.structs.replace(
        lns.status,
        observed_generation=lns.metadata.generation,
        counts=Counts(),
        conditions=(*conditions, billing) if billing else conditions,
    )


def is_ready(lns: LNamespace | LCluster) -> bool:
    """Return whether the status says that the present generation is Ready."""
    ready = lns.status.condition(READY)
    return (
        ready is not None
        and ready.status == "True"
        and lns.status.observed_generation == lns.metadata.generation
    )


def refusal_verdict(refusal: Refusal | None) -> Verdict | None:
    """Return the verdict on each part of an LNamespace or LCluster that is refused, or None."""
    return Verdict(False, refusal.reason, refusal.message[:1024]) if refusal else None


def _namespace_verdict(lns: LNamespace, result: ReconcileResult) -> Verdict:
    match result.ownership:
        case Ownership.OURS:
            return Verdict(True, "Created", "The namespace is there.")
        case Ownership.ABSENT:
            return failed_verdict(result.failures, "The namespace could not be created")
        case Ownership.TERMINATING:
            return Verdict(
                False,
                NAMESPACE_TERMINATING,
                "The namespace is being deleted; it is made anew when it is gone.",
            )
        case Ownership.PREDECESSOR:
            return Verdict(
                False,
                NAMESPACE_TERMINATING,
                "An earlier namespace of this name is not gone yet; Kubernetes is to delete it.",
            )
        case Ownership.FOREIGN:
            return Verdict(
                False,
                CONFLICT,
                f'namespaces "{lns.name}" already exists and is not this LNamespace\'s. Choose '
                "another name, or have a cluster admin adopt it (docs/adoption.md).",
            )


def _profile_verdict(result: ReconcileResult) -> Verdict | None:
    """Return the verdict on the profile's objects; None if the profile has none."""
    if result.ownership is not Ownership.OURS:
        return None
    if result.profile_problem:
        message = f"{result.profile_problem} What there is stays as it is (docs/profiles.md)."
        return Verdict(False, "UnknownProfile", message[:1024])
    if result.profile_failures:
        return failed_verdict(result.profile_failures, "The guard rails could not be made")
    if not result.has_profile:
        return None
    return Verdict(True, "InPlace", "The guard rails are as the profile says.")


def _withheld_verdict(result: ReconcileResult) -> Verdict | None:
    if not result.withheld:
        return None
    message = "Nobody is let into the namespace before its guard rails are there."
    return Verdict(False, "GuardRailsNotReady", message)


def _access_verdict(result: ReconcileResult) -> Verdict:
    if result.ownership in (Ownership.FOREIGN, Ownership.PREDECESSOR):
        return Verdict(False, "NamespaceNotReady", "Nobody has access before the namespace is.")
    if result.failures:
        return failed_verdict(result.failures, "Access could not be made as listed")
    if result.ownership is Ownership.ABSENT:
        return Verdict(False, "NamespaceNotReady", "Nobody has access before the namespace is.")
    if result.entries.problems:
        return Verdict(False, "InvalidSubject", _joined("Left out: ", result.entries.problems))
    if result.sudoer_problems:
        return Verdict(False, "SudoNotReady", _joined("kubectl sudo: ", result.sudoer_problems))
    return Verdict(True, "AsListed", "Everybody has the access that the lists give.")


def _billing_verdict(result: ReconcileResult) -> Verdict:
    if result.ownership not in (Ownership.OURS, Ownership.TERMINATING):
        return Verdict(False, "NamespaceNotReady", "There is nothing to pay for yet.")
    if result.billing_failures:
        return failed_verdict(result.billing_failures, "Who pays could not be recorded")
    return Verdict(True, "Recorded", "Who pays is recorded for the ledger.")


def failed_verdict(failures: Sequence[ClusterError], what: str) -> Verdict:
    """Return the verdict on failures; without any, that ``what`` is not done yet."""
    if not failures:
        return Verdict(False, "Progressing", f"{what} yet.")
    worst = next((f for f in failures if not f.retryable), failures[0])
    return Verdict(False, type(worst).__name__, f"{what}: {worst}"[:1024])


def _joined(prefix: str, parts: Iterable[str]) -> str:
    return (prefix + "; ".join(parts))[:1024]


def condition_of(
    lns: LNamespace | LCluster, type_: str, verdict: Verdict, now: datetime
) -> Condition:
    """Return a condition, which has changed now if its status has."""
    value = "True" if verdict.met else "False"
    known = lns.status.condition(type_)
    since = known.last_transition_time if known and known.status == value else now
    return Condition(type_, value, verdict.reason, verdict.message, since, lns.metadata.generation)
