"""What people are told of an LNamespace."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace import errors
from lnamespace.access.entries import ActiveEntries, active_entries
from lnamespace.access.ownership import Ownership
from lnamespace.controller.queue import RequeueResult
from lnamespace.controller.resource import read_lnamespace
from lnamespace.controller.status import (
    ReconcileResult,
    Refusal,
    build_status,
    build_unreadable_status,
    is_ready,
)
from lnamespace.model.billing import Billing, BillingSource, Provenance
from lnamespace.model.lnamespace import Condition, LNamespace, Metadata, Recorded, Spec, Status
from lnamespace.model.subject import Member, Subject, SubjectKind

from tests.unit.support.strategies import NOW, lnamespaces

LATER = NOW + timedelta(hours=1)
LNS = LNamespace(Metadata("team-a", "uid-a", "1", generation=3))
NOBODY = ActiveEntries((), (), ())
FORBIDDEN = errors.Forbidden("not allowed", status=403)
INVALID = errors.Invalid("wrong", status=422)
UNREACHABLE = errors.Unreachable("cut")
THROTTLED = errors.Throttled("slowly", status=429)

RESERVED = Refusal("ReservedName", '"default" is reserved')


def said(found: ReconcileResult, lns: LNamespace = LNS) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {c.type: (c.status, c.reason) for c in build_status(lns, found, NOW).conditions}


OURS, ABSENT = Ownership.OURS, Ownership.ABSENT
LEAVING, PREDECESSOR, FOREIGN = Ownership.TERMINATING, Ownership.PREDECESSOR, Ownership.FOREIGN
GOOD, PROGRESSING = ("True", "AsListed"), ("False", "Progressing")
WAITING, UNREACHED = ("False", "NamespaceNotReady"), ("False", "Unreachable")
GOING, CONFLICT = ("False", "NamespaceTerminating"), ("False", "Conflict")
REFUSED, WRONG = ("False", "Forbidden"), ("False", "Invalid")
CREATED, READY = ("True", "Created"), ("True", "Ready")
RECORDED = ("True", "Recorded")


@pytest.mark.parametrize(
    ("whose", "failures", "ready", "namespace", "access"),
    [
        (OURS, (), READY, CREATED, GOOD),
        (OURS, (UNREACHABLE,), UNREACHED, CREATED, UNREACHED),
        (OURS, (FORBIDDEN,), REFUSED, CREATED, REFUSED),
        (OURS, (THROTTLED, INVALID, UNREACHABLE), WRONG, CREATED, WRONG),
        (ABSENT, (), PROGRESSING, PROGRESSING, WAITING),
        (ABSENT, (UNREACHABLE,), UNREACHED, UNREACHED, UNREACHED),
        (ABSENT, (FORBIDDEN,), REFUSED, REFUSED, REFUSED),
        (LEAVING, (), GOING, GOING, GOOD),
        (LEAVING, (errors.Terminating("x"),), GOING, GOING, ("False", "Terminating")),
        (PREDECESSOR, (), GOING, GOING, WAITING),
        (PREDECESSOR, (UNREACHABLE,), GOING, GOING, WAITING),
        (FOREIGN, (), CONFLICT, CONFLICT, WAITING),
        (FOREIGN, (FORBIDDEN,), CONFLICT, CONFLICT, WAITING),
    ],
)
def test_conditions_follow_from_the_reconcile_result(
    whose: Ownership,
    failures: Sequence[errors.ClusterError],
    ready: tuple[str, str],
    namespace: tuple[str, str],
    access: tuple[str, str],
) -> None:
    found = ReconcileResult(whose, NOBODY, failures=tuple(failures))
    told = said(found)
    del told["BillingRecorded"]
    assert told == {"Ready": ready, "NamespaceReady": namespace, "AccessReady": access}


@pytest.mark.parametrize(
    ("whose", "failures", "billing_failures", "ready", "billing"),
    [
        (OURS, (), (), READY, RECORDED),
        (OURS, (), (UNREACHABLE,), UNREACHED, UNREACHED),
        (OURS, (), (THROTTLED, INVALID), WRONG, WRONG),
        # What is there costs money, whoever has access.
        (OURS, (FORBIDDEN,), (), REFUSED, RECORDED),
        (OURS, (FORBIDDEN,), (UNREACHABLE,), REFUSED, UNREACHED),
        (LEAVING, (), (), GOING, RECORDED),
        (ABSENT, (), (), PROGRESSING, WAITING),
        (PREDECESSOR, (), (), GOING, WAITING),
        (FOREIGN, (), (), CONFLICT, WAITING),
    ],
)
def test_ready_requires_that_the_charge_is_recorded(
    whose: Ownership,
    failures: Sequence[errors.ClusterError],
    billing_failures: Sequence[errors.ClusterError],
    ready: tuple[str, str],
    billing: tuple[str, str],
) -> None:
    told = said(
        ReconcileResult(
            whose, NOBODY, failures=tuple(failures), billing_failures=tuple(billing_failures)
        )
    )
    assert (told["Ready"], told["BillingRecorded"]) == (ready, billing)


def test_a_failed_record_does_not_affect_access_ready() -> None:
    told = said(ReconcileResult(OURS, NOBODY, billing_failures=(FORBIDDEN,)))
    assert (told["NamespaceReady"], told["AccessReady"]) == (CREATED, GOOD)


def charged(generation: int, recorded: int = 0) -> LNamespace:
    """Return an LNamespace at generation 9 whose billing is as it is since ``generation``."""
    provenance = Provenance(generation, NOW, BillingSource.USER)
    return LNamespace(
        Metadata("team-a", "uid-a", generation=9),
        Spec(billing=Billing("4711", provenance=provenance)),
        Status(recorded=Recorded(recorded)),
    )


def test_the_recorded_generation_never_runs_ahead_of_the_ledger() -> None:
    lns = charged(generation=7, recorded=4)
    assert build_status(lns, ReconcileResult(OURS, NOBODY), NOW).recorded.generation == 7
    for behind in (
        ReconcileResult(OURS, NOBODY, billing_failures=(UNREACHABLE,)),
        ReconcileResult(ABSENT, NOBODY, failures=(UNREACHABLE,)),
        ReconcileResult(FOREIGN, NOBODY),
        ReconcileResult(OURS, NOBODY, refusal=RESERVED),
    ):
        assert build_status(lns, behind, NOW).recorded.generation == 4


def test_the_present_generation_is_recorded_without_provenance() -> None:
    assert build_status(LNS, ReconcileResult(OURS, NOBODY), NOW).recorded.generation == 3


some_failures = st.lists(st.sampled_from([FORBIDDEN, UNREACHABLE]), max_size=2).map(tuple)


@given(st.sampled_from(Ownership), some_failures, some_failures)
def test_ready_is_true_exactly_when_all_other_conditions_are_true(
    whose: Ownership,
    failures: tuple[errors.ClusterError, ...],
    billing_failures: tuple[errors.ClusterError, ...],
) -> None:
    conditions = said(
        ReconcileResult(whose, NOBODY, failures=failures, billing_failures=billing_failures)
    )
    others = [value for type_, value in conditions.items() if type_ != "Ready"]
    assert (conditions["Ready"][0] == "True") == all(value == "True" for value, _ in others)


def test_an_ignored_entry_is_reported_with_its_path() -> None:
    current = active_entries(Spec(users=(Member("*"),)), NOW)
    found = ReconcileResult(OURS, current)
    assert said(found)["Ready"] == ("False", "InvalidSubject")
    condition = build_status(LNS, found, NOW).condition("AccessReady")
    assert condition
    assert "spec.users[0]" in condition.message


def test_sudo_that_does_not_work_yet_is_reported() -> None:
    found = ReconcileResult(OURS, NOBODY, sudoer_problems=("alice: not allowed", "bob: wrong"))
    assert said(found)["Ready"] == ("False", "SudoNotReady")
    condition = build_status(LNS, found, NOW).condition("Ready")
    assert condition
    assert condition.message == "kubectl sudo: alice: not allowed; bob: wrong"


def test_a_namespace_that_is_not_created_yet_is_reported() -> None:
    condition = build_status(LNS, ReconcileResult(ABSENT, NOBODY), NOW).condition("Ready")
    assert condition
    assert condition.message == "The namespace could not be created yet."


def test_a_reserved_name_is_reported_whatever_else_was_found() -> None:
    found = ReconcileResult(FOREIGN, NOBODY, refusal=RESERVED, failures=(FORBIDDEN,))
    assert set(said(found).values()) == {("False", "ReservedName")}
    condition = build_status(LNS, found, NOW).condition("Ready")
    assert condition
    assert '"default" is reserved' in condition.message


def test_the_message_of_a_conflict_states_the_remedy() -> None:
    condition = build_status(LNS, ReconcileResult(FOREIGN, NOBODY), NOW).condition("Ready")
    assert condition
    assert 'namespaces "team-a" already exists' in condition.message
    assert "adopt" in condition.message


def test_messages_stay_short_enough_for_events() -> None:
    many = tuple(Member("*") for _ in range(500))
    long = errors.Invalid("x" * 5000)
    for found in (
        ReconcileResult(OURS, active_entries(Spec(users=many), NOW)),
        ReconcileResult(OURS, NOBODY, sudoer_problems=("alice: " + "x" * 5000,)),
        ReconcileResult(OURS, NOBODY, failures=(long,)),
        ReconcileResult(OURS, NOBODY, billing_failures=(long,)),
    ):
        assert all(len(c.message) <= 1024 for c in build_status(LNS, found, NOW).conditions)


def test_the_status_contains_the_uid_the_group_and_the_counts_of_the_result() -> None:
    alice = Subject(SubjectKind.USER, "alice")
    current = ActiveEntries((alice, alice), (alice,), ())
    found = ReconcileResult(OURS, current, namespace_uid="n-1", sudoers_group="team-a-sudoers")
    new = build_status(LNS, found, NOW)
    assert new.observed_generation == 3
    assert (new.namespace_uid, new.sudoers_group) == ("n-1", "team-a-sudoers")
    assert (new.counts.users, new.counts.managers, new.counts.sudoers) == (2, 1, 0)
    assert {condition.observed_generation for condition in new.conditions} == {3}


def as_written(lns: LNamespace, new: Status) -> LNamespace:
    """Return the LNamespace as the API server has it after the status was written."""
    return msgspec.structs.replace(
        lns, status=msgspec.json.decode(msgspec.json.encode(new), type=Status)
    )


@given(lnamespaces(), st.sampled_from(Ownership))
def test_the_status_does_not_change_when_only_time_has_passed(
    lns: LNamespace, whose: Ownership
) -> None:
    found = ReconcileResult(
        whose, active_entries(lns.spec, NOW), "n-1", "g", failures=(UNREACHABLE,)
    )
    told = as_written(lns, build_status(lns, found, NOW))
    assert build_status(told, found, LATER) == told.status


def test_the_transition_time_follows_the_status_and_not_the_reason() -> None:
    def since(lns: LNamespace) -> Condition:
        condition = lns.status.condition("AccessReady")
        assert condition
        return condition

    good, retrying = (
        ReconcileResult(OURS, NOBODY),
        ReconcileResult(OURS, NOBODY, failures=(UNREACHABLE,)),
    )
    refused = ReconcileResult(OURS, NOBODY, failures=(FORBIDDEN,))
    lns = as_written(LNS, build_status(LNS, good, NOW))
    assert since(lns).last_transition_time == NOW
    lns = as_written(lns, build_status(lns, retrying, LATER))
    assert since(lns).last_transition_time == LATER
    lns = as_written(lns, build_status(lns, refused, LATER + timedelta(hours=1)))
    assert (since(lns).reason, since(lns).last_transition_time) == ("Forbidden", LATER)


# A spec that cannot be read


def broken(before: Status) -> LNamespace:
    """Return the LNamespace as it is read when its spec is broken."""
    raw = {
        "metadata": {"name": "team-a", "uid": "uid-a", "resourceVersion": "9", "generation": 4},
        "spec": {"users": 7},
        "status": before,
    }
    listed = read_lnamespace(msgspec.json.encode(raw))
    assert "$.spec.users" in listed.problem
    return listed.lns


def test_an_invalid_spec_leaves_the_status_readable() -> None:
    """The namespace UID in the status proves the ownership of the Namespace."""
    found = ReconcileResult(OURS, ActiveEntries((), (), ()), "n-1", "team-a-sudoers")
    before = build_status(LNS, found, NOW)
    assert broken(before).status == before
    assert broken(before).metadata.generation == 4


def test_an_invalid_spec_is_reported_and_keeps_the_known_status() -> None:
    before = build_status(LNS, ReconcileResult(OURS, NOBODY, "n-1", "team-a-sudoers"), NOW)
    told = build_unreadable_status(broken(before), "x - at `$.spec.users`", LATER)
    ready = told.condition("Ready")
    assert ready
    assert (ready.status, ready.reason, ready.last_transition_time) == (
        "False",
        "InvalidSpec",
        LATER,
    )
    assert "$.spec.users" in ready.message
    assert (told.namespace_uid, told.sudoers_group) == ("n-1", "team-a-sudoers")
    assert told.observed_generation == 4


def test_an_invalid_spec_is_reported_once() -> None:
    told = build_unreadable_status(broken(Status()), "x", NOW)
    assert build_unreadable_status(broken(told), "x", LATER) == told


def test_an_unreadable_status_is_replaced_by_an_empty_status() -> None:
    raw = b'{"metadata": {"name": "a", "resourceVersion": "1"}, "spec": 7, "status": {"counts": 7}}'
    listed = read_lnamespace(raw)
    assert listed.problem
    assert listed.lns == LNamespace(Metadata("a", resource_version="1"))


# Whether it is ready


@pytest.mark.parametrize(
    ("value", "observed", "expected"),
    [("True", 3, True), ("True", 2, False), ("False", 3, False), ("Unknown", 3, False)],
)
def test_ready_counts_only_for_the_present_generation(
    value: str, observed: int, expected: bool
) -> None:
    ready = Condition("Ready", value, "x", "", NOW)
    told = Status(observed_generation=observed, conditions=(ready,))
    assert is_ready(msgspec.structs.replace(LNS, status=told)) is expected


def test_an_lnamespace_without_a_status_is_not_ready() -> None:
    assert not is_ready(LNS)


# What is to be done about failures


@pytest.mark.parametrize(
    ("failures", "worst"),
    [
        ((), None),
        ((FORBIDDEN,), FORBIDDEN),
        ((UNREACHABLE,), UNREACHABLE),
        ((INVALID,), INVALID),
        ((INVALID, UNREACHABLE, FORBIDDEN), UNREACHABLE),
    ],
)
def test_a_retryable_failure_is_the_worst_failure_of_an_outcome(
    failures: Sequence[errors.ClusterError], worst: errors.ClusterError | None
) -> None:
    assert RequeueResult(failures).decisive_failure is worst
