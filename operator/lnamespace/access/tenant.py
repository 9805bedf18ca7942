"""The objects of one LNamespace: its Namespace and who may do what."""

import dataclasses
from dataclasses import dataclass, field

from lnamespace.access import guard, rbac
from lnamespace.access.entries import Entries
from lnamespace.access.grants import Grants, owner
from lnamespace.access.guard import Guard
from lnamespace.access.layout import Layout
from lnamespace.access.mirrors import mirrors
from lnamespace.access.ownership import Ownership, adopted
from lnamespace.access.sudo import former, identity, sudo
from lnamespace.access.sudo import places as sudo_places
from lnamespace.kube.objects import Key, Object, ObjectMeta, PolicyRule, Seen, Wanted, wanted
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
class Space:
    """What there is to know of an LNamespace's Namespace.

    ``guard`` are its guard rails; None: it is not known what they should be. ``moving``: the
    former layout of sudo still serves, and sudoers edit the LNamespace by it too.
    """

    ownership: Ownership
    seen: Seen | None = None
    guard: Guard | None = field(default_factory=Guard)
    moving: bool = False


def tenant_objects(
    lns: LNamespace, entries: Entries, space: Space, layout: Layout
) -> tuple[Wanted, ...]:
    """All that should be for the LNamespace, given whose its Namespace is.

    Nothing reaches into a Namespace before it is known to be the LNamespace's own: a group's
    power over the predecessor's secrets must not be handed to the successor's sudoers.
    """
    ours = space.ownership in (Ownership.OURS, Ownership.LEAVING)
    always = editors(lns, entries, layout, both=ours and space.moving)
    match space.ownership:
        case Ownership.ABSENT:
            return namespace(lns, space, layout), *always
        case Ownership.OURS | Ownership.LEAVING:
            granted = (*sudo(lns, entries, layout), users(lns, entries, layout))
            rails = guard.rails(lns, space.guard or Guard(), layout)
            return namespace(lns, space, layout), *rails, *always, *granted
        case Ownership.PREDECESSOR | Ownership.FOREIGN:
            return always


def namespace(lns: LNamespace, space: Space, layout: Layout) -> Wanted:
    """The Namespace itself.

    With the policy Retain it has no owner, so the garbage collector leaves it; the annotation
    says whose it is either way.
    """
    retain = lns.spec.deletion_policy is DeletionPolicy.RETAIN
    further = guard.labels(lns, space.guard, space.seen, layout)
    ours = layout.labels(lns.name) | mirrors(lns.spec.billing, layout.names)
    meta = ObjectMeta(
        name=lns.name,
        labels={key: value for key, value in further.items() if value is not None} | ours,
        annotations={layout.names.owner_annotation: lns.uid}
        | _adopted(lns, space, layout)
        | guard.annotation(further, layout)
        | _requester(lns, layout),
        owner_references=() if retain else (owner(lns, layout),),
    )
    return wanted(NAMESPACE, Object(meta, "v1", "Namespace"), layout.marks, further)


def _adopted(lns: LNamespace, space: Space, layout: Layout) -> dict[str, str]:
    there_before = adopted(lns, space.seen, layout)
    return {layout.names.adopted_annotation: "true"} if there_before else {}


def _requester(lns: LNamespace, layout: Layout) -> dict[str, str]:
    if not layout.counted or not lns.spec.account:
        return {}
    return {layout.names.requester_annotation: lns.spec.account}


def waiting(lns: LNamespace, entries: Entries, layout: Layout) -> tuple[Wanted, ...]:
    """For one that gets no Namespace yet: whoever may edit it may do so, to delete it.

    Its sudoers need no sudo for that, for what sudo takes is made with the Namespace.
    """
    managers = tuple(sorted({*entries.managers, *entries.sudoers}))
    return editors(lns, dataclasses.replace(entries, managers=managers), layout)


def editors(
    lns: LNamespace, entries: Entries, layout: Layout, *, both: bool = False
) -> tuple[Wanted, ...]:
    """Who may edit the LNamespace itself: managers always, sudoers as whom they act.

    ``both``: by either layout of sudo.
    """
    name = layout.names.editor(lns.name)
    edit = PolicyRule(
        ("get", "update", "patch", "delete"), (layout.names.group,), (PLURAL,), (lns.name,)
    )
    layouts = (layout, former(layout)) if both else (layout,)
    sudoers = (identity(lns.name, each) for each in layouts)
    bound = (*rbac.subjects(entries.managers), *sudoers)
    return Grants(lns, layout).everywhere(name, edit, bound)


def users(lns: LNamespace, entries: Entries, layout: Layout) -> Wanted:
    """Who may work in the namespace all the time."""
    bound = rbac.subjects(entries.users)
    return Grants(lns, layout).inside(USERS_BINDING, layout.users_role, bound)


def places(tenant: str, layout: Layout) -> tuple[tuple[Resource, Key], ...]:
    """Where grants of this LNamespace may be; never the Namespace, which only ownership ends."""
    editor = layout.names.editor(tenant)
    return (
        (CLUSTER_ROLE_BINDING, ("", editor)),
        (ROLE_BINDING, (tenant, USERS_BINDING)),
        *sudo_places(tenant, layout),
        (CLUSTER_ROLE, ("", editor)),
    )


def all_places(tenant: str, layout: Layout) -> tuple[tuple[Resource, Key], ...]:
    """The same, with those of the layout of sudo that was chosen before."""
    return (*sudo_places(tenant, former(layout)), *places(tenant, layout))
