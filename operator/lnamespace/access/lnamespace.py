"""Build the desired objects of one LNamespace: its Namespace, profile objects and grants."""

import dataclasses
from dataclasses import dataclass, field

from lnamespace.access import profiles, rbac
from lnamespace.access.conventions import Conventions
from lnamespace.access.cost_labels import build_cost_labels
from lnamespace.access.entries import ActiveEntries
from lnamespace.access.ownership import Ownership, is_adopted
from lnamespace.access.profiles import ResolvedProfile
from lnamespace.access.rbac import GrantBuilder, owner_reference
from lnamespace.access.sudo import previous_conventions, sudo_objects, sudo_refs, sudo_subject
from lnamespace.kube.objects import Object, ObjectMeta, ObjectRef, PolicyRule
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NAMESPACE,
    ROLE_BINDING,
)
from lnamespace.kube.state import DesiredObject, ObservedObject, desired_object
from lnamespace.model.lnamespace import PLURAL, DeletionPolicy, LNamespace
from lnamespace.model.names import USERS_BINDING


@dataclass(frozen=True)
class NamespaceState:
    """The Namespace of an LNamespace as observed.

    ``profile`` is None while it is not known which profile applies. ``layout_changing`` is set
    while the objects of the previous sudo layout are complete: sudoers may edit the LNamespace by
    either. ``orphaned`` is set while the Namespace lacks its owner reference, because the
    LNamespace may be about to be deleted.
    """

    ownership: Ownership
    observed: ObservedObject | None = None
    profile: ResolvedProfile | None = field(default_factory=ResolvedProfile)
    layout_changing: bool = False
    orphaned: bool = False


def lnamespace_objects(
    lns: LNamespace, entries: ActiveEntries, state: NamespaceState, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """Return all desired objects of an LNamespace, given who owns its Namespace.

    Nothing is granted in a Namespace that is not the LNamespace's own: the sudoers of a new
    LNamespace must not read the secrets of an earlier one of its name.
    """
    ours = state.ownership in (Ownership.OURS, Ownership.TERMINATING)
    always = editor_objects(lns, entries, conventions, both=ours and state.layout_changing)
    match state.ownership:
        case Ownership.ABSENT:
            return namespace_object(lns, state, conventions), *always
        case Ownership.OURS | Ownership.TERMINATING:
            granted = (
                *sudo_objects(lns, entries, conventions),
                users_binding(lns, entries, conventions),
            )
            limits = profiles.profile_objects(lns, state.profile or ResolvedProfile(), conventions)
            return namespace_object(lns, state, conventions), *limits, *always, *granted
        case Ownership.PREDECESSOR | Ownership.FOREIGN:
            return always


def namespace_object(
    lns: LNamespace, state: NamespaceState, conventions: Conventions
) -> DesiredObject:
    """Return the desired Namespace.

    With deletionPolicy Retain it has no owner reference, so the garbage collector leaves it, and
    so it does after ``kubectl delete lns --cascade=orphan``. The owner annotation is there in any
    case.
    """
    retain = state.orphaned or lns.spec.deletion_policy is DeletionPolicy.RETAIN
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
    adopted = is_adopted(lns, state.observed, conventions)
    return {conventions.names.adopted_annotation: "true"} if adopted else {}


def _requester(lns: LNamespace, conventions: Conventions) -> dict[str, str]:
    if not conventions.counted or not lns.spec.account:
        return {}
    return {conventions.names.requester_annotation: lns.spec.account}


def objects_without_namespace(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """Return the objects of an LNamespace that gets no Namespace: its editors may delete it.

    Sudoers are made editors directly, because sudo needs objects in the Namespace.
    """
    managers = tuple(sorted({*entries.managers, *entries.sudoers}))
    return editor_objects(lns, dataclasses.replace(entries, managers=managers), conventions)


def editor_objects(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions, *, both: bool = False
) -> tuple[DesiredObject, ...]:
    """Return the role and the binding of those who may edit the LNamespace object.

    Managers may always. Sudoers may as the group or user that they impersonate, of ``both`` sudo
    layouts while one replaces the other.
    """
    name = conventions.names.editor(lns.name)
    edit = PolicyRule(
        ("get", "update", "patch", "delete"), (conventions.names.group,), (PLURAL,), (lns.name,)
    )
    layouts = (conventions, previous_conventions(conventions)) if both else (conventions,)
    sudoers = (sudo_subject(lns.name, each) for each in layouts)
    bound = (*rbac.subjects(entries.managers), *sudoers)
    return GrantBuilder(lns, conventions).role_and_binding(name, edit, bound)


def users_binding(
    lns: LNamespace, entries: ActiveEntries, conventions: Conventions
) -> DesiredObject:
    """Return the RoleBinding that gives the users their role."""
    bound = rbac.subjects(entries.users)
    return GrantBuilder(lns, conventions).role_binding(USERS_BINDING, conventions.users_role, bound)


def grant_refs(lnamespace: str, conventions: Conventions) -> tuple[ObjectRef, ...]:
    """Return where grants of an LNamespace may be, so that they can be removed.

    The Namespace is not among them: it is never deleted by a plan.
    """
    editor = conventions.names.editor(lnamespace)
    return (
        (CLUSTER_ROLE_BINDING, ("", editor)),
        (ROLE_BINDING, (lnamespace, USERS_BINDING)),
        *sudo_refs(lnamespace, conventions),
        (CLUSTER_ROLE, ("", editor)),
    )


def all_grant_refs(lnamespace: str, conventions: Conventions) -> tuple[ObjectRef, ...]:
    """Return where grants may be, those of the previous sudo layout included."""
    return (
        *sudo_refs(lnamespace, previous_conventions(conventions)),
        *grant_refs(lnamespace, conventions),
    )
