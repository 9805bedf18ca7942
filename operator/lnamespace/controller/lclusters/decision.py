"""Decide what to do about one LCluster: from an observation to actions. Pure.

A reconcile decides twice, because bindings need the Namespaces that the first step creates:
:func:`decide_lcluster`, then :func:`decide_cluster_grants`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lnamespace.access.entries import ActiveEntries, active_entries
from lnamespace.access.lcluster import (
    account_binding,
    cluster_editor_objects,
    cluster_grant_refs,
    custom_resource_objects,
    custom_resource_refs,
    editor_refs,
    emptied_annotation_patch,
    namespace_metadata_patch,
    system_namespaces,
)
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.observation import Lifecycle
from lnamespace.controller.status import LIMIT_EXCEEDED, NOBODY, RESERVED_NAME, Refusal
from lnamespace.kube.plan import Action, Create, Delete, Write, plan_actions
from lnamespace.kube.resources import NAMESPACE, ROLE_BINDING
from lnamespace.kube.state import ObservedObject
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING


@dataclass(frozen=True)
class LClusterDecision:
    """The first step of a reconcile of one LCluster.

    Parameters
    ----------
    claim
        Whether the finalizer is to be written before anything else.
    actions
        The writes after that.
    entries
        The entries of the lists that count.
    refusal
        Why the LCluster gets nothing; None if it is not refused.
    """

    now: datetime
    claim: bool = False
    actions: tuple[Write, ...] = ()
    entries: ActiveEntries = NOBODY
    refusal: Refusal | None = None


def decide_lcluster(observation: LClusterObservation, now: datetime) -> LClusterDecision:
    """Decide the first step of a reconcile of an LCluster.

    The grants of a deleted LCluster are deleted; its Namespaces are kept, in case its deletion was
    observed wrongly. The Namespaces of a terminating one are deleted, and its account keeps its
    grants until nothing is left; where Namespaces are retained, it loses them at once.
    """
    match observation.lifecycle:
        case Lifecycle.OTHER_CLASS | Lifecycle.UNREADABLE:
            return LClusterDecision(now)
        case Lifecycle.GONE:
            return LClusterDecision(now, actions=decide_revocations(observation))
        case Lifecycle.TERMINATING:
            if not observation.holds_finalizer or observation.retained:
                return LClusterDecision(now, actions=decide_revocations(observation))
            return LClusterDecision(now, actions=_endings(observation))
        case Lifecycle.ACTIVE:
            return _decide_active(observation, now)


def decide_cluster_grants(
    observation: LClusterObservation, has_share: Callable[[str], bool] = lambda _: True
) -> tuple[Action, ...]:
    """Return the actions that bind the tenant's account in each of its Namespaces.

    Where an LCluster has totals, the account is not bound in a namespace without a share of them.
    """
    lcluster, conventions = observation.lcluster, observation.conventions
    bindings = (
        account_binding(lcluster, namespace.key[1], conventions)
        for namespace in _within_limit(observation)
        if not namespace.terminating and (not lcluster.spec.quota or has_share(namespace.key[1]))
    )
    return plan_actions(bindings, observation.get)


def _within_limit(observation: LClusterObservation) -> tuple[ObservedObject, ...]:
    """Return the Namespaces in which the tenant may work.

    The gateway refuses further ones, but its replicas count separately. One controller decides:
    the Namespaces in which the tenant is bound already, and then the oldest, up to the limit.
    """
    own, lcluster = observation.own, observation.lcluster
    limit = observation.conventions.content_limits.limits_for(lcluster).namespaces
    if not limit or len(own) <= limit:
        return own

    def is_bound(found: ObservedObject) -> bool:
        ref = ROLE_BINDING, (found.key[1], CLUSTER_ACCOUNT_BINDING)
        return observation.objects.get(ref) is not None

    def order(found: ObservedObject) -> tuple[bool, bool, str, str]:
        name = found.key[1]
        return not is_bound(found), name not in lcluster.system_namespaces, found.created, name

    most = max(limit, sum(map(is_bound, own)), len(lcluster.system_namespaces))
    return tuple(sorted(own, key=order)[:most])


def _decide_active(observation: LClusterObservation, now: datetime) -> LClusterDecision:
    lcluster, conventions = observation.lcluster, observation.conventions
    entries = active_entries(lcluster.spec, now)
    editors = cluster_editor_objects(lcluster, entries, conventions)
    grants = (*plan_actions(editors, observation.get), *_emptied(observation))
    if refusal := _refusal(observation):
        return LClusterDecision(now, actions=grants, entries=entries, refusal=refusal)
    if observation.failures:
        return LClusterDecision(now, actions=grants, entries=entries)
    there = {namespace.key[1] for namespace in observation.namespaces}
    missing = map(Create, system_namespaces(lcluster, conventions, there))
    metadata_patches = (
        namespace_metadata_patch(lcluster, namespace, conventions)
        for namespace in observation.own
        if not namespace.terminating
    )
    return LClusterDecision(
        now,
        claim=not observation.holds_finalizer,
        actions=(
            *missing,
            *filter(None, metadata_patches),
            *grants,
            *_custom_resources(observation),
        ),
        entries=entries,
    )


def _refusal(observation: LClusterObservation) -> Refusal | None:
    if problem := observation.name_problem:
        message = f"The name is refused: {problem}. Delete this LCluster and choose another."
        return Refusal(RESERVED_NAME, message)
    exceeded = observation.limit_exceeded
    return Refusal(LIMIT_EXCEEDED, exceeded) if exceeded else None


def _custom_resources(observation: LClusterObservation) -> tuple[Action, ...]:
    conventions = observation.conventions
    wanted = custom_resource_objects(observation.lcluster, observation.groups, conventions)
    refs = custom_resource_refs(observation.name, conventions)
    return plan_actions(wanted, observation.get, refs)


def decide_revocations(observation: LClusterObservation) -> tuple[Action, ...]:
    """Return the actions that delete all grants of an LCluster."""
    namespaces = (namespace.key[1] for namespace in observation.namespaces)
    refs = cluster_grant_refs(observation.name, namespaces, observation.conventions)
    return plan_actions((), observation.get, refs)


def _emptied(observation: LClusterObservation) -> tuple[Write, ...]:
    lcluster, conventions = observation.lcluster, observation.conventions
    metadata_patches = (
        emptied_annotation_patch(lcluster, each, conventions) for each in observation.own
    )
    return tuple(filter(None, metadata_patches))


def _endings(observation: LClusterObservation) -> tuple[Write, ...]:
    """Return the writes that end an LCluster: delete its editors' grants and its Namespaces."""
    editors = editor_refs(observation.name, observation.conventions)
    deletions = (Delete(NAMESPACE, each) for each in observation.own if not each.terminating)
    return (*plan_actions((), observation.get, editors), *deletions, *_emptied(observation))
