"""What a reconcile decides, by what it observes: tables, without a cluster or a clock."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from lnamespace import errors
from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.lnamespace import all_grant_refs
from lnamespace.access.ownership import Ownership
from lnamespace.access.profiles import ProfileSet, ResolvedProfile, profile_refs
from lnamespace.access.sudo import impersonation_target, previous_conventions
from lnamespace.controller.decision import (
    ApplyResult,
    BillingAction,
    Changes,
    decide,
    decide_grants,
    decide_sudo_layout,
)
from lnamespace.controller.observation import Lifecycle, Observation, SudoerState
from lnamespace.controller.quota import LimitState
from lnamespace.controller.resource import CachedLNamespace
from lnamespace.kube.plan import Action, Delete
from lnamespace.kube.resources import (
    CLUSTER_ROLE,
    NAMESPACE,
    NETWORK_POLICY,
    RESOURCE_QUOTA,
    ROLE_BINDING,
)
from lnamespace.kube.state import ObservedObject, read_observed
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec, Status
from lnamespace.model.subject import Member, Subject, SubjectKind

from tests.unit.support.strategies import NOW

BY_GROUP, BY_ACCOUNT = Conventions(), Conventions(sudo=SudoLayout.SERVICE_ACCOUNT)
LATER = NOW + timedelta(hours=1)
ALICE, BOB = (Subject(SubjectKind.USER, name) for name in ("alice", "bob"))
LISTED = Spec(users=(Member("bob"),), sudoers=(Member("alice"),))
LNS = LNamespace(Metadata("team-a", "uid-a", "1", generation=3), LISTED)
READY, MISSING = SudoerState(in_place=True), SudoerState(in_place=False)
REFUSED = errors.Forbidden("not allowed", status=403)
LIMITED = ProfileSet(
    {"default": ResolvedProfile({RESOURCE_QUOTA: b"{}", NETWORK_POLICY: b"{}"}, {})}
)
BROKEN = ProfileSet(problem="the file is empty")

NAMESPACE_MADE = ["create namespaces team-a"]
EDITOR = [f"create clusterrole{kind}s lnamespace:team-a:editor" for kind in ("", "binding")]
INSIDE = [
    "create clusterroles lnamespace:team-a:sudoer-impersonator",
    "create clusterrolebindings lnamespace:team-a:sudoer-impersonator",
    "create rolebindings lnamespace-sudoers",
    "create rolebindings lnamespace-users",
]
ADMITTING = INSIDE[2:]
PROFILE = ["create resourcequotas lnamespace", "create networkpolicies lnamespace"]
GRANTS_DELETED = [
    "delete clusterrolebindings lnamespace:team-a:editor",
    "delete rolebindings lnamespace-users",
    "delete clusterrolebindings lnamespace:team-a:sudoer-impersonator",
    "delete rolebindings lnamespace-sudoers",
    "delete clusterroles lnamespace:team-a:sudoer-impersonator",
    "delete clusterroles lnamespace:team-a:editor",
]


def observed(lns: LNamespace = LNS, **parts: Any) -> Observation:
    """Return an LNamespace of which nothing is there yet."""
    conventions = parts.pop("conventions", BY_GROUP)
    places = (*all_grant_refs(lns.name, conventions), *profile_refs(lns.name))
    empty = Observation(
        name=lns.name,
        conventions=conventions,
        lifecycle=Lifecycle.ACTIVE,
        cached=CachedLNamespace(("", lns.name), 1, lns),
        objects=dict.fromkeys((*places, (NAMESPACE, ("", lns.name)))),
        sudoers={member.subject: READY for member in lns.spec.sudoers},
    )
    return replace(empty, **parts)


def after(seen: Observation, changes: Changes) -> Observation:
    """Return the same when these have been applied, as an API server does."""
    objects = dict(seen.objects)
    for action in changes.actions:
        if isinstance(action, Delete):
            objects[action.resource, action.observed.key] = None
        else:
            raw = msgspec.json.decode(msgspec.json.encode(action.desired.object))
            raw["metadata"] |= {"uid": "uid-of-it", "resourceVersion": "7"}
            metadata = seen.conventions.managed_metadata
            shown = read_observed(msgspec.json.encode(raw), metadata)
            objects[action.desired.resource, action.desired.key] = shown
    return replace(seen, objects=objects)


def settled(seen: Observation) -> Observation:
    """Return the same when nothing is left to do."""
    for _ in range(3):
        seen = after(seen, decide(seen, NOW).changes)
    return seen


def with_namespace(seen: Observation, **parts: Any) -> Observation:
    """Return the same with a Namespace that is somebody else's unless ``parts`` say otherwise."""
    there = ObservedObject(
        key=("", seen.name),
        uid="uid-n",
        version=1,
        terminating=False,
        managed=False,
        owners=(),
        annotations={},
        role_ref=None,
        fingerprint=b"",
    )
    there = msgspec.structs.replace(there, **parts)
    return replace(seen, objects={**seen.objects, (NAMESPACE, ("", seen.name)): there})


def words(actions: Iterable[Action]) -> list[str]:
    """Return the actions, a line each."""
    lines = []
    for action in actions:
        of = action if isinstance(action, Delete) else action.desired
        key = action.observed.key if isinstance(action, Delete) else action.desired.key
        lines.append(f"{type(action).__name__.lower()} {of.resource.plural} {key[1]}")
    return lines


OURS = after(observed(), decide(observed(), NOW).changes)
DONE = settled(observed())
GOING = replace(DONE, lifecycle=Lifecycle.TERMINATING)
GONE = replace(DONE, lifecycle=Lifecycle.GONE, cached=None)
BOB_REVOKED = msgspec.structs.replace(LNS, spec=Spec(sudoers=LISTED.sudoers))
BOB_EXPIRED = msgspec.structs.replace(
    LNS, spec=Spec(users=(Member("bob", expires_at=NOW),), sudoers=LISTED.sudoers)
)


def of(lns: LNamespace) -> CachedLNamespace:
    return CachedLNamespace(("", lns.name), 1, lns)


@pytest.mark.parametrize(
    ("seen", "decided"),
    [
        pytest.param(observed(), [*NAMESPACE_MADE, *EDITOR], id="nothing is there"),
        pytest.param(OURS, INSIDE, id="the Namespace is there and its own"),
        pytest.param(DONE, [], id="everything is there"),
        pytest.param(with_namespace(observed()), EDITOR, id="the Namespace is somebody else's"),
        pytest.param(
            with_namespace(observed(), terminating=True),
            EDITOR,
            id="a predecessor's goes",
        ),
        pytest.param(
            replace(observed(), name_problem="reserved"), EDITOR, id="the name is reserved"
        ),
        pytest.param(
            replace(DONE, name_problem="reserved"),
            GRANTS_DELETED[1:5],
            id="the name was reserved later",
        ),
        pytest.param(
            replace(observed(), limit_state=LimitState.EXCEEDED),
            EDITOR,
            id="the requester has too many",
        ),
        pytest.param(
            replace(observed(), limit_state=LimitState.TERMINATING),
            EDITOR,
            id="a Namespace of the requester is being deleted",
        ),
        pytest.param(
            replace(DONE, cached=of(BOB_REVOKED)),
            ["patch rolebindings lnamespace-users"],
            id="somebody was taken off a list",
        ),
        pytest.param(
            replace(DONE, cached=of(BOB_EXPIRED)),
            ["patch rolebindings lnamespace-users"],
            id="an entry has expired",
        ),
        pytest.param(GOING, GRANTS_DELETED, id="the LNamespace is being deleted"),
        pytest.param(GONE, GRANTS_DELETED, id="the LNamespace is gone"),
        pytest.param(
            replace(observed(), lifecycle=Lifecycle.UNREADABLE), [], id="it cannot be read"
        ),
        pytest.param(
            replace(observed(), lifecycle=Lifecycle.OTHER_CLASS), [], id="it is another's"
        ),
    ],
)
def test_the_first_actions_follow_from_the_observation(
    seen: Observation, decided: list[str]
) -> None:
    assert words(decide(seen, NOW).changes.actions) == decided


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (observed(), None),
        (replace(observed(), name_problem="reserved"), "ReservedName"),
        (replace(observed(), limit_state=LimitState.EXCEEDED), "LimitExceeded"),
        (replace(observed(), limit_state=LimitState.TERMINATING), "NamespaceTerminating"),
    ],
)
def test_the_reason_of_a_refusal_follows_from_the_observation(
    seen: Observation, reason: str | None
) -> None:
    refusal = decide(seen, NOW).refusal
    assert (refusal and refusal.reason) == reason


def test_a_reserved_name_is_reported_before_the_exceeded_limit() -> None:
    seen = replace(observed(), name_problem="x", limit_state=LimitState.EXCEEDED)
    refusal = decide(seen, NOW).refusal
    assert refusal
    assert refusal.reason == "ReservedName"


def test_the_decision_contains_the_next_expiry_of_an_entry() -> None:
    spec = Spec(users=(Member("bob", expires_at=LATER),))
    seen = observed(msgspec.structs.replace(LNS, spec=spec))
    assert decide(seen, NOW).entries.changes_at == LATER
    assert decide(seen, LATER).entries.changes_at is None
    assert decide(seen, LATER).entries.users == ()


@pytest.mark.parametrize(
    ("seen", "profile", "admitting", "unknown"),
    [
        pytest.param(OURS, [], ADMITTING, False, id="no profile"),
        pytest.param(replace(OURS, profiles=LIMITED), PROFILE, ADMITTING, False, id="a profile"),
        pytest.param(replace(OURS, profiles=BROKEN), [], ADMITTING, True, id="not known which"),
        pytest.param(replace(DONE, profiles=LIMITED), PROFILE, [], False, id="people are in"),
        pytest.param(
            replace(observed(), profiles=LIMITED), [], [], False, id="there is no Namespace"
        ),
    ],
)
def test_profile_objects_are_applied_before_access_is_granted(
    seen: Observation, profile: list[str], admitting: list[str], unknown: bool
) -> None:
    changes = decide(seen, NOW).changes
    assert words(changes.profile) == profile
    assert words(changes.admitting) == admitting
    assert changes.profile_unknown == unknown


def test_profile_objects_are_deleted_with_the_profile_but_not_if_it_is_unknown() -> None:
    limited = settled(replace(observed(), profiles=LIMITED))
    gone = decide(replace(limited, profiles=ProfileSet()), NOW).changes.actions
    assert words(gone) == ["delete resourcequotas lnamespace", "delete networkpolicies lnamespace"]
    assert decide(replace(limited, profiles=BROKEN), NOW).changes.actions == ()


@pytest.mark.parametrize(
    ("seen", "whose", "billing"),
    [
        (OURS, Ownership.OURS, BillingAction.RECORD),
        (observed(), Ownership.ABSENT, BillingAction.NOTHING),
        (with_namespace(observed()), Ownership.FOREIGN, BillingAction.WAIT),
        (
            with_namespace(observed(), terminating=True),
            Ownership.PREDECESSOR,
            BillingAction.WAIT,
        ),
        (
            with_namespace(observed(), terminating=True, owners=("uid-a",)),
            Ownership.TERMINATING,
            BillingAction.RECORD,
        ),
        (replace(OURS, name_problem="reserved"), Ownership.OURS, BillingAction.NOTHING),
        (
            replace(with_namespace(observed()), name_problem="reserved"),
            Ownership.FOREIGN,
            BillingAction.NOTHING,
        ),
    ],
)
def test_a_charge_is_recorded_only_for_an_owned_namespace(
    seen: Observation, whose: Ownership, billing: BillingAction
) -> None:
    second = decide_grants(seen, decide(seen, NOW), ApplyResult())
    assert (second.ownership, second.billing) == (whose, billing)


def test_grants_follow_once_the_namespace_exists() -> None:
    first = decide(observed(), NOW)
    second = decide_grants(OURS, first, ApplyResult())
    assert words(second.changes.actions) == INSIDE


@pytest.mark.parametrize(
    "applied", [ApplyResult(failures=(REFUSED,)), ApplyResult(profile_failures=(REFUSED,))]
)
def test_no_grants_follow_a_failure(applied: ApplyResult) -> None:
    first = decide(observed(), NOW)
    assert decide_grants(OURS, first, applied).changes == Changes()


def test_no_grants_follow_if_no_change_was_needed() -> None:
    assert decide_grants(DONE, decide(DONE, NOW), ApplyResult()).changes == Changes()


def test_no_grants_follow_if_the_namespace_turns_out_to_be_foreign() -> None:
    """The Namespace existed before, and the watch had not shown it yet."""
    first = decide(observed(), NOW)
    second = decide_grants(with_namespace(observed()), first, ApplyResult())
    assert second.ownership is Ownership.FOREIGN
    assert not any(" rolebindings " in line for line in words(second.changes.actions))


def test_the_second_decision_keeps_the_refusal_of_the_first() -> None:
    """The next reconcile asks for a slot that becomes free meanwhile."""
    first = decide(replace(observed(), limit_state=LimitState.EXCEEDED), NOW)
    assert decide_grants(observed(), first, ApplyResult()).refusal == first.refusal


def moved(conventions: Conventions, **parts: Any) -> Observation:
    """Everything is there by both layouts of sudo; ``conventions`` are the present ones."""
    previous = settled(observed(conventions=previous_conventions(conventions)))
    both = settled(observed(conventions=conventions, objects=previous.objects))
    return replace(both, **parts)


def said(conventions: Conventions) -> CachedLNamespace:
    """Return the LNamespace when its status says to go by these."""
    group, user = impersonation_target("team-a", conventions)
    return of(msgspec.structs.replace(LNS, status=Status(sudoers_group=group, sudo_user=user)))


@pytest.mark.parametrize(
    ("now", "before"), [(BY_GROUP, BY_ACCOUNT), (BY_ACCOUNT, BY_GROUP)], ids=["group", "account"]
)
class TestSudoLayout:
    """What becomes of the layout of sudo that was chosen before."""

    def test_no_action_is_taken_without_objects_of_the_previous_layout(
        self, now: Conventions, before: Conventions
    ) -> None:
        seen = settled(observed(conventions=now))
        decided = decide_sudo_layout(seen, decide(seen, NOW), ApplyResult())
        assert (decided.act_as, decided.changing) == (now, False)
        assert decided.changes == Changes()
        assert before == previous_conventions(now)

    def test_the_previous_layout_is_kept_while_the_present_layout_does_not_work(
        self, now: Conventions, before: Conventions
    ) -> None:
        seen = moved(now, cached=said(before))
        for applied, sudoer in ((ApplyResult((REFUSED,)), READY), (ApplyResult(), MISSING)):
            waits = replace(seen, sudoers={ALICE: sudoer})
            decided = decide_sudo_layout(waits, decide(waits, NOW), applied)
            assert (decided.act_as, decided.changing) == (before, True)
            assert not decided.best_effort

    def test_the_previous_layout_is_kept_until_the_status_names_the_present(
        self, now: Conventions, before: Conventions
    ) -> None:
        seen = moved(now, cached=said(before))
        decided = decide_sudo_layout(seen, decide(seen, NOW), ApplyResult())
        assert (decided.act_as, decided.changing, decided.best_effort) == (now, True, True)
        assert decided.changes == Changes()

    def test_the_previous_layout_follows_the_lists_while_it_is_kept(
        self, now: Conventions, before: Conventions
    ) -> None:
        listed = Spec(users=LISTED.users, sudoers=(Member("bob"),))
        lns = msgspec.structs.replace(said(before).lns, spec=listed)
        seen = moved(now, cached=of(lns), sudoers={BOB: MISSING})
        decided = decide_sudo_layout(seen, decide(seen, NOW), ApplyResult())
        kind = "cluster" if before is BY_GROUP else ""
        changed = [f"patch {kind}rolebindings lnamespace:team-a:sudoer-impersonator"]
        assert words(decided.changes.actions) == changed

    def test_the_previous_layout_is_deleted_once_the_status_names_the_present(
        self, now: Conventions, before: Conventions
    ) -> None:
        seen = moved(now, cached=said(now))
        decided = decide_sudo_layout(seen, decide(seen, NOW), ApplyResult())
        assert (decided.act_as, decided.changing, decided.best_effort) == (now, True, False)
        left = after(seen, decided.changes)
        assert not any(left.get(*ref) for ref in previous_only(now, before))


def previous_only(now: Conventions, before: Conventions) -> set[Any]:
    """Return where objects are by the previous layout alone."""
    present = settled(observed(conventions=now)).objects
    previous = settled(observed(conventions=before)).objects
    return {ref for ref, there in previous.items() if there and not present[ref]}


def test_a_decision_about_an_unobserved_object_raises_an_error() -> None:
    """Otherwise an existing object that was not observed would be created again."""
    objects = {ref: one for ref, one in observed().objects.items() if ref[0] is not CLUSTER_ROLE}
    with pytest.raises(KeyError):
        decide(replace(observed(), objects=objects), NOW)
    with pytest.raises(LookupError):
        _ = GONE.lns


def test_equal_observations_lead_to_equal_decisions() -> None:
    for seen in (observed(), OURS, DONE, GOING, GONE):
        assert decide(seen, NOW) == decide(seen, NOW)
    assert ROLE_BINDING in {ref[0] for ref in DONE.objects}
