"""The objects of one LNamespace: its Namespace and who may do what."""

import dataclasses
from dataclasses import dataclass, field

from lnamespace.access import profiles, rbac
from lnamespace.access.conventions import Conventions
from lnamespace.access.cost_labels import build_cost_labels
from lnamespace.access.entries import ActiveEntries
from lnamespace.access.grants import GrantBuilder, owner_reference
from lnamespace.access.ownership import Ownership, is_adopted
from lnamespace.access.profiles import ResolvedProfile
from lnamespace.access.sudo import previous_conventions, sudo_objects, sudo_refs, sudo_subject
from lnamespace.kube.objects import (
    DesiredObject,
    Key,
    Object,
    ObjectMeta,
    ObservedObject,
    PolicyRule,
    desired_object,
)
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE_BINDING,
    Resource,
)
from lnamespace.model.lnamespace import PLURAL, DeletionPolicy, LNamespace
from lnamespace.model.names import USERS_BINDING


@dataclass(frozen=True)
class NamespaceState:
    """What there is to know of an LNamespace's Namespace.

    ``guard`` are its guard rails; None: it is not known what they should be. ``moving``: the
    former layout of sudo still serves, and sudoers edit the LNamespace by it too.
    """

    ownership: Ownership
    observed: ObservedObject | None = None
    profile: ResolvedProfile | None = field(default_factory=ResolvedProfile)
    moving: bool = False


def tenant_objects(
    lns: LNamespace, entries: ActiveEntries, state: NamespaceState, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """All that should be for the LNamespace, given whose its Namespace is.

    Nothing reaches into a Namespace before it is known to be the LNamespace's own: a group's
    power over the predecessor's secrets must not be handed to the successor's sudoers.
    """
    ours = state.ownership in (Ownership.OURS, Ownership.TERMINATING)
    always = editor_objects(lns, entries, conventions, both=ours and state.moving)
    match state.ownership:
        case Ownership.ABSENT:
            return namespace_object(lns, state, conventions), *always
        case Ownership.OURS | Ownership.TERMINATING:
            granted = (
                *sudo_objects(lns, entries, conventions),
                users_binding(lns, entries, conventions),
            )
            rails = profiles.profile_objects(lns, state.profile or ResolvedProfile(), conventions)
            return namespace_object(lns, state, conventions), *rails, *always, *granted
        case Ownership.PREDECESSOR | Ownership.FOREIGN:
            return always


def namespace_object(
    lns: LNamespace, state: NamespaceState, conventions: Conventions
) -> DesiredObject:
    """The Namespace itself.

    With the policy Retain it has no owner, so the garbage collector leaves it; the annotation
    says whose it is either way.
    """
    retain = lns.spec.deletion_policy is DeletionPolicy.RETAIN
    further = profiles.namespace_labels(lns, state.profile, state.observed, conventions)
    ours = conventions.labels(lns.name) | build_cost_labels(lns.spec.billing, conventions.names)
    meta = ObjectMeta(
        name=lns.name,
        labels={key: value for key, value in further.items() if value is not None} | ours,
        annotations={conventions.names.owner_annotation: lns.uid}
        | _adopted(lns, state, conventions)
        | profiles.labels_annotation(further, conventions)
        | _requester(lns, conventions),
        owner_references=() if retain else (owner_reference(lns, conventions),),
    )
    return desired_object(
        NAMESPACE, Object(meta, "v1", "Namespace"), conventions.managed_metadata, further
    )


def _adopted(lns: LNamespace, state: NamespaceState, conventions: Conventions) -> dict[str, str]:
    there_before = is_adopted(lns, state.observed, conventions)
    return {conventions.names.adopted_annotation: "true"} if there_before else {}


def _requester(lns: LNamespace, conventions: Conventions) -> dict[str, str]:
    if not conventions.counted or not lns.spec.account:
        return {}
    return {conventions.names.requester_annotation: lns.spec.account}


def objects_without_namespace(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """For one that gets no Namespace yet: whoever may edit it may do so, to delete it.

    Its sudoers need no sudo for that, for what sudo takes is made with the Namespace.
    """
    managers = tuple(sorted({*entries.managers, *entries.sudoers}))
    return editor_objects(lns, dataclasses.replace(entries, managers=managers), conventions)


def editor_objects(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions, *, both: bool = False
) -> tuple[DesiredObject, ...]:
    """Who may edit the LNamespace itself: managers always, sudoers as whom they act.

    ``both``: by either layout of sudo.
    """
    name = conventions.names.editor(lns.name)
    edit = PolicyRule(
        ("get", "update", "patch", "delete"), (conventions.names.group,), (PLURAL,), (lns.name,)
    )
    layouts = (conventions, previous_conventions(conventions)) if both else (conventions,)
    sudoers = (sudo_subject(lns.name, each) for each in layouts)
    bound = (*rbac.subjects(entries.managers), *sudoers)
    return GrantBuilder(lns, conventions).everywhere(name, edit, bound)


def users_binding(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> DesiredObject:
    """Who may work in the namespace all the time."""
    bound = rbac.subjects(entries.users)
    return GrantBuilder(lns, conventions).inside(USERS_BINDING, conventions.users_role, bound)


def grant_refs(tenant: str, conventions: Conventions) -> tuple[tuple[Resource, Key], ...]:
    """Where grants of this LNamespace may be; never the Namespace, which only ownership ends."""
    editor = conventions.names.editor(tenant)
    return (
        (CLUSTER_ROLE_BINDING, ("", editor)),
        (ROLE_BINDING, (tenant, USERS_BINDING)),
        *sudo_refs(tenant, conventions),
        (CLUSTER_ROLE, ("", editor)),
    )


def all_grant_refs(tenant: str, conventions: Conventions) -> tuple[tuple[Resource, Key], ...]:
    """The same, with those of the layout of sudo that was chosen before."""
    return (*sudo_refs(tenant, previous_conventions(conventions)), *grant_refs(tenant, conventions))
