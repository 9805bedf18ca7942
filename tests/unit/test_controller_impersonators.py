"""Which LNamespaces need which person: always what the lists of all of them come to."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from lnamespace.access.entries import active_entries
from lnamespace.access.impersonator import ImpersonatorKey
from lnamespace.controller.indexes import ImpersonatorIndex
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec
from lnamespace.model.subject import Member, Subject, SubjectKind

from tests.unit.support.strategies import NOW, good_members, lnamespaces

ALICE, BOB = (
    ImpersonatorKey.from_subject(Subject(SubjectKind.USER, name)) for name in ("alice", "bob")
)
DAY = timedelta(days=1)


def tenant(name: str, *sudoers: Member, uid: str = "") -> LNamespace:
    return LNamespace(Metadata(name, uid or f"uid-{name}"), Spec(sudoers=sudoers))


def test_a_person_is_sponsored_by_every_lnamespace_that_lists_them() -> None:
    index = ImpersonatorIndex()
    assert index.update(None, tenant("a", Member("alice"), Member("bob"))) == {ALICE, BOB}
    assert index.update(None, tenant("b", Member("alice"))) == {ALICE}
    assert index.sponsors(ALICE, NOW) == {"a": "uid-a", "b": "uid-b"}
    assert index.sponsors(BOB, NOW) == {"a": "uid-a"}
    assert index.subject(ALICE) == Subject(SubjectKind.USER, "alice")


def test_only_people_affected_by_a_change_are_returned() -> None:
    index = ImpersonatorIndex()
    old, new = tenant("a", Member("alice"), Member("bob")), tenant("a", Member("alice"))
    index.update(None, old)
    assert index.update(old, new) == {BOB}
    assert index.update(new, new) == set()
    assert index.subject(BOB) is None


def test_users_and_managers_do_not_count_as_sudoers() -> None:
    spec = Spec(users=(Member("alice"),), managers=(Member("bob"),))
    assert ImpersonatorIndex().update(None, LNamespace(Metadata("a", "u"), spec)) == set()


def test_a_deleted_lnamespace_sponsors_nobody() -> None:
    index, gone = ImpersonatorIndex(), tenant("a", Member("alice"))
    index.update(None, gone)
    index.problems[ALICE] = "x"
    assert index.update(gone, None) == {ALICE}
    assert index.sponsors(ALICE, NOW) == {}
    assert index.subject(ALICE) is None
    assert index.problems == {}


def test_a_successor_of_the_same_name_is_another_owner() -> None:
    """The deletion of the first LNamespace may have been missed."""
    index = ImpersonatorIndex()
    first, second = tenant("a", Member("alice")), tenant("a", Member("alice"), uid="uid-2")
    index.update(None, first)
    assert index.update(first, second) == {ALICE}
    assert index.sponsors(ALICE, NOW) == {"a": "uid-2"}


def test_the_sponsorship_of_a_person_ends_with_the_entry() -> None:
    index = ImpersonatorIndex()
    index.update(None, tenant("a", Member("alice", expires_at=NOW + DAY)))
    index.update(None, tenant("b", Member("alice", expires_at=NOW + DAY * 2)))
    index.update(None, tenant("c", Member("alice")))
    assert index.changes_at(ALICE, NOW) == NOW + DAY
    assert index.sponsors(ALICE, NOW + DAY) == {"b": "uid-b", "c": "uid-c"}
    assert index.changes_at(ALICE, NOW + DAY) == NOW + DAY * 2
    assert index.sponsors(ALICE, NOW + DAY * 2) == {"c": "uid-c"}
    assert index.changes_at(ALICE, NOW + DAY * 2) is None


def test_a_new_expiry_affects_the_person() -> None:
    index = ImpersonatorIndex()
    old, new = tenant("a", Member("alice")), tenant("a", Member("alice", expires_at=NOW))
    index.update(None, old)
    assert index.update(old, new) == {ALICE}


def test_a_person_who_was_never_listed_is_unknown() -> None:
    index = ImpersonatorIndex()
    assert index.update(None, None) == set()
    assert index.sponsors(ALICE, NOW) == {}
    assert index.subject(ALICE) is None
    assert index.changes_at(ALICE, NOW) is None


names = st.sampled_from(["team-a", "team-b", "team-c"])
lists = st.lists(good_members, max_size=3).map(tuple)
changes = st.lists(
    st.tuples(names, st.one_of(st.none(), lnamespaces(names), lnamespaces(names, lists))),
    max_size=8,
)
moments = st.sampled_from([-86_400, -1, 0, 1]).map(lambda s: NOW + timedelta(seconds=s))


@given(changes, moments)
def test_incremental_updates_agree_with_a_full_recount(
    history: list[tuple[str, LNamespace | None]], now: datetime
) -> None:
    index = ImpersonatorIndex()
    current: dict[str, LNamespace] = {}
    everybody: set[ImpersonatorKey] = set()
    for name, lns in history:
        new = LNamespace(Metadata(name, lns.uid), lns.spec) if lns else None
        everybody |= index.update(current.pop(name, None), new)
        if new:
            current[name] = new
    for person in everybody:
        expected = {
            lns.name: lns.uid
            for lns in current.values()
            if person in map(ImpersonatorKey.from_subject, active_entries(lns.spec, now).sudoers)
        }
        assert index.sponsors(person, now) == expected
        if expected:
            subject = index.subject(person)
            assert subject
            assert ImpersonatorKey.from_subject(subject) == person
