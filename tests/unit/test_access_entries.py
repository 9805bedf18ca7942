"""Which entries count: an entry with any problem, or past its end, gives nobody anything."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access.entries import active_entries, sudoer_expiries
from lnamespace.model.lnamespace import Spec
from lnamespace.model.rules import GROUP_SUDOER_PROBLEM, member_problem, sudoer_problem
from lnamespace.model.subject import Member, Subject, SubjectKind

from tests.unit.support.strategies import NOW, specs

USER, GROUP, ACCOUNT = SubjectKind.USER, SubjectKind.GROUP, SubjectKind.SERVICE_ACCOUNT
DAY = timedelta(days=1)
moments = st.integers(-90_000, 90_000).map(lambda s: NOW + timedelta(seconds=s))


def users(*members: Member, now: datetime = NOW) -> tuple[Subject, ...]:
    return active_entries(Spec(users=members), now).users


def test_subjects_are_sorted_and_each_counts_once() -> None:
    listed = (Member("bob"), Member("alice"), Member("alice", expires_at=NOW + DAY))
    assert users(*listed) == (Subject(USER, "alice"), Subject(USER, "bob"))


def test_a_service_account_in_two_spellings_counts_once() -> None:
    both = (Member("system:serviceaccount:ci:deployer"), Member("deployer", ACCOUNT, "ci"))
    assert users(*both) == (Subject(ACCOUNT, "deployer", "ci"),)


def test_the_later_expiry_of_two_entries_for_one_person_counts() -> None:
    short, long = (Member("alice", expires_at=NOW + DAY * days) for days in (1, 2))
    for listed in ((short, long), (long, short)):
        assert users(*listed, now=NOW + DAY) == (Subject(USER, "alice"),)
        assert sudoer_expiries(Spec(sudoers=listed)) == {Subject(USER, "alice"): NOW + DAY * 2}
    for listed in ((short, Member("alice")), (Member("alice"), short)):
        assert sudoer_expiries(Spec(sudoers=listed)) == {Subject(USER, "alice"): None}


def test_a_problem_names_its_field_and_leaves_other_entries_in_force() -> None:
    spec = Spec(
        users=(Member("alice"), Member("*"), Member("bob")),
        managers=(Member("system:masters", GROUP), Member("ops", GROUP)),
        sudoers=(Member("ops", GROUP), Member("eve", USER, "a"), Member("eve")),
    )
    current = active_entries(spec, NOW)
    assert current.users == (Subject(USER, "alice"), Subject(USER, "bob"))
    assert current.managers == (Subject(GROUP, "ops"),)
    assert current.sudoers == (Subject(USER, "eve"),)
    assert current.problems == (
        "spec.users[1]: must be one name, not a pattern",
        "spec.managers[0]: system: names are the cluster's own; only ServiceAccounts may be listed",
        f"spec.sudoers[0]: {GROUP_SUDOER_PROBLEM}",
        "spec.sudoers[1]: only a ServiceAccount has a namespace",
    )


def test_the_next_change_is_the_earliest_expiry_in_any_list() -> None:
    spec = Spec(
        users=(Member("a", expires_at=NOW + DAY * 3), Member("b", expires_at=NOW - DAY)),
        managers=(Member("c", expires_at=NOW + DAY * 2), Member("d")),
        sudoers=(Member("e", expires_at=NOW + DAY),),
    )
    assert active_entries(spec, NOW).changes_at == NOW + DAY
    assert active_entries(spec, NOW + DAY).changes_at == NOW + DAY * 2
    assert active_entries(spec, NOW + DAY * 3).changes_at is None


@given(specs(), moments)
def test_invalid_and_expired_entries_grant_nothing(spec: Spec, now: datetime) -> None:
    current = active_entries(spec, now)
    for listed, check, given_to in (
        (spec.users, member_problem, current.users),
        (spec.managers, member_problem, current.managers),
        (spec.sudoers, sudoer_problem, current.sudoers),
    ):
        good = {m.subject for m in listed if check(m) is None and m.active(now)}
        assert set(given_to) == good
        assert list(given_to) == sorted(good)
    assert all(subject.kind is not GROUP for subject in current.sudoers)
    everybody = (*current.users, *current.managers, *current.sudoers)
    assert not any(subject.name.startswith("system:") for subject in everybody)


@given(specs(), moments)
def test_every_invalid_entry_is_reported_once(spec: Spec, now: datetime) -> None:
    paths = [problem.partition(":")[0] for problem in active_entries(spec, now).problems]
    assert len(set(paths)) == len(paths)
    bad = [m for m in (*spec.users, *spec.managers) if member_problem(m)]
    bad += [m for m in spec.sudoers if sudoer_problem(m)]
    assert len(paths) == len(bad)


@given(specs(), moments, moments)
def test_active_entries_do_not_change_before_changes_at(
    spec: Spec, now: datetime, later: datetime
) -> None:
    current = active_entries(spec, now)
    if now <= later and (current.changes_at is None or later < current.changes_at):
        assert active_entries(spec, later) == current


@given(specs(), moments)
def test_active_sudoers_are_the_sudoers_with_an_expiry_in_the_future(
    spec: Spec, now: datetime
) -> None:
    until = sudoer_expiries(spec)
    still = {subject for subject, end in until.items() if end is None or end > now}
    assert still == set(active_entries(spec, now).sudoers)
