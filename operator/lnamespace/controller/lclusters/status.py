"""Build the status of an LCluster and its conditions from the result of a reconcile. Pure."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from lnamespace.access.entries import ActiveEntries
from lnamespace.access.lcluster import NamespaceOwner
from lnamespace.controller.lclusters.charges import ChargeResult
from lnamespace.controller.lclusters.location import GatewayLocation
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.status import (
    ACCESS_READY,
    BILLING_RECORDED,
    CONFLICT,
    NAMESPACE_TERMINATING,
    NOBODY,
    READY,
    TERMINATING,
    Refusal,
    Verdict,
    condition_of,
    count_entries,
    failed_verdict,
    refusal_verdict,
)
from lnamespace.errors import ClusterError
from lnamespace.ledger.outbox.record import newest_generation
from lnamespace.model.lcluster import ChargedNamespace, LCluster, LClusterStatus
from lnamespace.model.lnamespace import Condition, Counts, Recorded
from lnamespace.runtime.texts import first_names

NAMESPACES_READY = "NamespacesReady"


@dataclass(frozen=True)
class LClusterResult:
    """The result of a reconcile.

    Parameters
    ----------
    failures
        All failures but those of billing.
    charges
        The recorded charges; None if nothing was recorded.
    remaining
        The remaining objects of a tenant whose LCluster is being deleted.
    info_failures
        The failures to write the tenant's information: they are retried, and the LCluster is ready
        all the same.
    """

    entries: ActiveEntries = NOBODY
    refusal: Refusal | None = None
    failures: tuple[ClusterError, ...] = ()
    charges: ChargeResult | None = None
    remaining: tuple[str, ...] = ()
    info_failures: tuple[ClusterError, ...] = ()


def build_lcluster_status(
    observation: LClusterObservation,
    result: LClusterResult,
    location: GatewayLocation | None,
    now: datetime,
) -> LClusterStatus:
    """Return the status; equal to the present one if nothing but the time has changed.

    Parameters
    ----------
    location
        The address of the gateway; None if it is not known yet: the status keeps the old one.
    """
    lcluster, refusal = observation.lcluster, refusal_verdict(result.refusal)
    namespaces = refusal or _namespaces_verdict(observation, result)
    access = refusal or _access_verdict(result)
    billing = refusal or _billing_verdict(result)
    ready = next((v for v in (namespaces, access, billing) if not v.met), None)
    verdicts = {
        READY: ready or Verdict(True, "Ready", "The cluster can be used as listed."),
        NAMESPACES_READY: namespaces,
        ACCESS_READY: access,
        BILLING_RECORDED: billing,
    }
    recorded = Recorded(newest_generation(lcluster))
    address, ca_bundle = lcluster.status.address, lcluster.status.ca_bundle
    if refusal:
        address = ca_bundle = ""
    elif location:
        address, ca_bundle = location.address(lcluster.name), location.ca_bundle
    return LClusterStatus(
        observed_generation=lcluster.metadata.generation,
        counts=count_entries(result.entries),
        recorded=recorded if billing.met else lcluster.status.recorded,
        conditions=_conditions(lcluster, verdicts, now),
        address=address,
        ca_bundle=ca_bundle,
        namespaces=0 if refusal else len(observation.own),
        charged=_charged(lcluster, result),
        shares=lcluster.status.shares,
    )


def build_unreadable_lcluster_status(
    lcluster: LCluster, problem: str, now: datetime
) -> LClusterStatus:
    """Return the status of an LCluster whose spec cannot be read; its objects stay."""
    verdict = Verdict(False, "InvalidSpec", f"The spec cannot be read: {problem}."[:1024])
    return msgspec.structs.replace(
        lcluster.status,
        observed_generation=lcluster.metadata.generation,
        conditions=_conditions(lcluster, {READY: verdict}, now),
    )


def build_terminating_lcluster_status(
    observation: LClusterObservation, result: LClusterResult, now: datetime
) -> LClusterStatus:
    """Return the status of an LCluster that is being deleted."""
    lcluster = observation.lcluster
    message = f"It is being deleted. There is still: {first_names(result.remaining) or 'nothing'}."
    verdict = Verdict(False, TERMINATING, message[:1024])
    if result.failures:
        verdict = failed_verdict(result.failures, "Not everything could be deleted")
    return msgspec.structs.replace(
        lcluster.status,
        observed_generation=lcluster.metadata.generation,
        counts=Counts(),
        namespaces=len(observation.own),
        charged=_charged(lcluster, result),
        conditions=_conditions(lcluster, {READY: verdict, NAMESPACES_READY: verdict}, now),
    )


def _conditions(
    lcluster: LCluster, verdicts: dict[str, Verdict], now: datetime
) -> tuple[Condition, ...]:
    return tuple(condition_of(lcluster, t, verdict, now) for t, verdict in verdicts.items())


def _namespaces_verdict(observation: LClusterObservation, result: LClusterResult) -> Verdict:
    lcluster = observation.lcluster
    if others := [found.key[1] for found in observation.others]:
        earlier = any(True for _ in observation.owned_by(NamespaceOwner.PREDECESSOR))
        whose = "of an earlier LCluster of this name" if earlier else "not this LCluster's"
        message = f"Namespaces have its prefix and are {whose}: {first_names(others)}."
        return Verdict(False, CONFLICT, message[:1024])
    own = {found.key[1]: found for found in observation.own}
    if any(
        found.terminating for found in own.values() if found.key[1] in lcluster.system_namespaces
    ):
        message = "A namespace that every cluster has is being deleted; it is made anew then."
        return Verdict(False, NAMESPACE_TERMINATING, message)
    missing = [name for name in lcluster.system_namespaces if name not in own]
    if missing:
        return failed_verdict(result.failures, f"Not all namespaces exist ({first_names(missing)})")
    return Verdict(True, "Created", "The namespaces that every cluster has are there.")


def _access_verdict(result: LClusterResult) -> Verdict:
    if result.failures:
        return failed_verdict(result.failures, "Access could not be made as listed")
    if result.entries.problems:
        message = "Left out: " + "; ".join(result.entries.problems)
        return Verdict(False, "InvalidSubject", message[:1024])
    return Verdict(True, "AsListed", "Everybody has the access that the lists give.")


def _billing_verdict(result: LClusterResult) -> Verdict:
    charges = result.charges or ChargeResult()
    if charges.failures:
        return failed_verdict(charges.failures, "Who pays could not be recorded")
    if not charges.charged:
        return Verdict(False, "NamespacesNotReady", "There is nothing to pay for yet.")
    return Verdict(True, "Recorded", "Who pays for each namespace is recorded for the ledger.")


def _charged(lcluster: LCluster, result: LClusterResult) -> tuple[ChargedNamespace, ...]:
    return result.charges.charged if result.charges else lcluster.status.charged
