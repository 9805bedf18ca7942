"""What to say of an LNamespace. Pure: from what was found to the status and its conditions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec

from lnamespace.access.entries import Entries
from lnamespace.access.ownership import Ownership
from lnamespace.errors import ClusterError
from lnamespace.model.lnamespace import Condition, Counts, LNamespace, Status

READY = "Ready"
NAMESPACE_READY = "NamespaceReady"
ACCESS_READY = "AccessReady"


class Verdict(NamedTuple):
    """Whether one part holds, and why (not)."""

    holds: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Findings:
    """What a reconcile found, to be told in the status."""

    ownership: Ownership
    entries: Entries
    namespace_uid: str = ""
    sudoers_group: str = ""
    refused: str = ""
    people: tuple[str, ...] = ()
    failures: tuple[ClusterError, ...] = ()


def status(lns: LNamespace, found: Findings, now: datetime) -> Status:
    """The status of an LNamespace; equal to the one it has if nothing changed but the time."""
    namespace = _refused(found) or _namespace(lns, found)
    access = _refused(found) or _access(found)
    ready = next((v for v in (namespace, access) if not v.holds), None)
    verdicts = {
        READY: ready or Verdict(True, "Ready", "The namespace can be used as listed."),
        NAMESPACE_READY: namespace,
        ACCESS_READY: access,
    }
    current = found.entries
    return Status(
        observed_generation=lns.metadata.generation,
        namespace_uid=found.namespace_uid,
        sudoers_group=found.sudoers_group,
        counts=Counts(len(current.users), len(current.managers), len(current.sudoers)),
        conditions=tuple(_condition(lns, t, verdict, now) for t, verdict in verdicts.items()),
    )


def unreadable(lns: LNamespace, problem: str, now: datetime) -> Status:
    """The status of an LNamespace whose spec cannot be read: what was granted stays as it is."""
    verdict = Verdict(False, "InvalidSpec", f"The spec cannot be read: {problem}.")
    return msgspec.structs.replace(
        lns.status,
        observed_generation=lns.metadata.generation,
        conditions=(_condition(lns, READY, verdict, now),),
    )


def is_ready(lns: LNamespace) -> bool:
    """Whether the status says that the present generation is Ready."""
    ready = lns.status.condition(READY)
    return (
        ready is not None
        and ready.status == "True"
        and lns.status.observed_generation == lns.metadata.generation
    )


def _refused(found: Findings) -> Verdict | None:
    if not found.refused:
        return None
    message = f"The name is refused: {found.refused}. Delete this LNamespace and choose another."
    return Verdict(False, "ReservedName", message)


def _namespace(lns: LNamespace, found: Findings) -> Verdict:
    match found.ownership:
        case Ownership.OURS:
            return Verdict(True, "Created", "The namespace is there.")
        case Ownership.ABSENT:
            return _failed(found.failures, "The namespace could not be created")
        case Ownership.LEAVING:
            return Verdict(
                False,
                "NamespaceTerminating",
                "The namespace is being deleted; it is made anew when it is gone.",
            )
        case Ownership.PREDECESSOR:
            return Verdict(
                False,
                "NamespaceTerminating",
                "An earlier namespace of this name is still being deleted; waiting for it to go.",
            )
        case Ownership.FOREIGN:
            return Verdict(
                False,
                "Conflict",
                f'namespaces "{lns.name}" already exists and is not this LNamespace\'s. Choose '
                "another name, or have a cluster admin adopt it (docs/adoption.md).",
            )


def _access(found: Findings) -> Verdict:
    if found.ownership in (Ownership.FOREIGN, Ownership.PREDECESSOR):
        return Verdict(False, "NamespaceNotReady", "Nobody has access before the namespace is.")
    if found.failures:
        return _failed(found.failures, "Access could not be made as listed")
    if found.ownership is Ownership.ABSENT:
        return Verdict(False, "NamespaceNotReady", "Nobody has access before the namespace is.")
    if found.entries.problems:
        return Verdict(False, "InvalidSubject", _joined("Left out: ", found.entries.problems))
    if found.people:
        return Verdict(False, "SudoNotReady", _joined("kubectl sudo: ", found.people))
    return Verdict(True, "AsListed", "Everybody has the access that the lists give.")


def _failed(failures: tuple[ClusterError, ...], what: str) -> Verdict:
    if not failures:
        return Verdict(False, "Progressing", f"{what} yet.")
    worst = next((f for f in failures if not f.retryable), failures[0])
    return Verdict(False, type(worst).__name__, f"{what}: {worst}"[:1024])


def _joined(prefix: str, parts: Iterable[str]) -> str:
    return (prefix + "; ".join(parts))[:1024]


def _condition(lns: LNamespace, type_: str, verdict: Verdict, now: datetime) -> Condition:
    value = "True" if verdict.holds else "False"
    known = lns.status.condition(type_)
    since = known.last_transition_time if known and known.status == value else now
    return Condition(type_, value, verdict.reason, verdict.message, since, lns.metadata.generation)
