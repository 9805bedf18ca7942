"""Who can stand in a list, and until when."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.model.rules import (
    SYSTEM_SUDOER_PROBLEM,
    lookalike_warning,
    member_problem,
    name_problem,
    sudoer_problem,
)
from lnamespace.model.subject import Member, Subject, SubjectKind, next_expiry

from tests.unit.support.strategies import NOW, expiries, members

USER, GROUP, ACCOUNT = SubjectKind.USER, SubjectKind.GROUP, SubjectKind.SERVICE_ACCOUNT
LABEL_63, LABEL_64 = "a" * 63, "a" * 64
NAME_253, NAME_254 = ".".join(["a" * 62] * 4) + ".b", "a" * 254


@pytest.mark.parametrize(
    "name",
    [
        "alice",
        "first.last@loblaw.ca",
        "https://accounts.example.com#110248495921238986420",
        "CN=Alice,O=Loblaw",
        "Zoë Ünïcode",
        "李雷",
        "oidc:alice",
        "systems:alice",
        "SYSTEM:masters",
        "a*",
        "quote\"'`${x}{{y}}",
        "x" * 250,
    ],
)
@pytest.mark.parametrize("kind", [USER, GROUP])
def test_any_readable_name_may_be_listed(kind: SubjectKind, name: str) -> None:
    assert member_problem(Member(name, kind)) is None


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (USER, "", "empty"),
        (USER, " alice", "white space"),
        (USER, "alice ", "white space"),
        (USER, "*", "not a pattern"),
        (GROUP, "*", "not a pattern"),
        (USER, "alice\n", "invisible"),
        (USER, "a\tb", "invisible"),
        (USER, "a\x00b", "invisible"),
        (USER, "al\u200bice", "invisible"),  # zero width space
        (USER, "al\u200dice", "invisible"),  # zero width joiner
        (USER, "\ufeffalice", "invisible"),  # byte order mark
        (USER, "\u202eecila", "invisible"),  # right to left override
        (USER, "a\u2066b\u2069", "invisible"),  # isolates
        (USER, "a\u2028b", "invisible"),  # line separator
        (USER, "a\u00adb", "invisible"),  # soft hyphen
        (USER, "a\U000e0041b", "invisible"),  # tag letter
        (USER, "a\ue000b", "invisible"),  # private use
        (USER, "a\u0378b", "invisible"),  # not assigned
        (USER, "a\U000e0fffb", "invisible"),  # not assigned, ignored when shown
        (USER, "alice\u00a0", "invisible"),  # space that does not break
        (USER, "al\u2009ice", "invisible"),  # thin space
        (USER, "al\u3000ice", "invisible"),  # ideographic space
        (USER, "al\u115fice", "invisible"),  # Hangul fillers
        (USER, "al\u1160ice", "invisible"),
        (USER, "al\u3164ice", "invisible"),
        (USER, "al\uffa0ice", "invisible"),
        (USER, "al\u2800ice", "invisible"),  # a Braille pattern without dots
        (USER, "al\u034fice", "invisible"),  # grapheme joiner
        (USER, "al\u17b4ice", "invisible"),  # Khmer inherent vowels
        (USER, "al\u17b5ice", "invisible"),
        (USER, "al\u180bice", "invisible"),  # Mongolian variation selectors
        (USER, "al\u180fice", "invisible"),
        (USER, "alice\ufe00", "invisible"),  # variation selectors
        (USER, "alice\ufe0f", "invisible"),
        (USER, "alice\U000e0100", "invisible"),
        (USER, "alice\U000e01ef", "invisible"),
        (GROUP, "dev\u3164s", "invisible"),
        (GROUP, "system:masters", "cluster's own"),
        (GROUP, "system:authenticated", "cluster's own"),
        (GROUP, "system:serviceaccounts", "cluster's own"),
        (GROUP, "system:serviceaccounts:team-a", "cluster's own"),
        (GROUP, "system:serviceaccount:a:b", "cluster's own"),
        (USER, "system:", "cluster's own"),
        (USER, "system:admin", "cluster's own"),
        (USER, "system:node:n1", "cluster's own"),
        (USER, "system:kube-controller-manager", "cluster's own"),
        (USER, "system:serviceaccounts:a:b", "cluster's own"),
    ],
)
def test_an_uncheckable_name_or_a_name_of_the_system_is_refused(
    kind: SubjectKind, name: str, why: str
) -> None:
    assert why in (member_problem(Member(name, kind)) or "accepted")


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("a", "b"), ("team-a", "ci.deployer"), (LABEL_63, "b"), ("a", NAME_253), ("kube-system", "x")],
)
def test_a_service_account_is_accepted_as_kind_or_as_username(namespace: str, name: str) -> None:
    assert member_problem(Member(name, ACCOUNT, namespace)) is None
    assert member_problem(Member(f"system:serviceaccount:{namespace}:{name}")) is None


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("", "b"),
        ("a", ""),
        ("a", "*"),
        ("*", "b"),
        ("A", "b"),
        ("a.b", "c"),
        ("a", "B"),
        ("a", "b_c"),
        ("a", "b\n"),
        ("a\n", "b"),
        ("a", "-b"),
        ("a", "b."),
        ("a", "b:c"),
        ("a", "b:"),
        ("", ""),
        ("-a", "b"),
        # The API server refuses a whole binding for one such subject, so that one bad entry would
        # keep everybody else of its list from being granted or revoked.
        ("a", "b..c"),
        ("a", "b.-c"),
        ("a", "b-.c"),
        (LABEL_64, "b"),
        ("a", NAME_254),
    ],
)
def test_a_service_account_that_cannot_exist_is_refused_in_both_spellings(
    namespace: str, name: str
) -> None:
    assert member_problem(Member(name, ACCOUNT, namespace)) is not None
    assert member_problem(Member(f"system:serviceaccount:{namespace}:{name}")) is not None


@pytest.mark.parametrize("name", ["system:serviceaccount:", "system:serviceaccount:a"])
def test_an_incomplete_service_account_username_is_refused(name: str) -> None:
    assert member_problem(Member(name)) is not None


def test_only_a_service_account_has_a_namespace() -> None:
    assert member_problem(Member("alice", USER, "a")) == "only a ServiceAccount has a namespace"
    assert member_problem(Member("ops", GROUP, "a")) == "only a ServiceAccount has a namespace"


def test_a_service_account_username_equals_the_service_account_subject() -> None:
    written_out = Member("system:serviceaccount:a:b")
    assert written_out.subject == Member("b", ACCOUNT, "a").subject
    assert written_out.subject == Subject(ACCOUNT, "b", "a")
    assert written_out.subject.username == "system:serviceaccount:a:b"


def test_a_users_subject_has_the_name_of_the_user() -> None:
    assert Member("alice").subject.username == "alice"
    assert Member("alice").subject != Member("alice", GROUP).subject


@given(members)
def test_any_subject_except_a_group_may_be_a_sudoer(member: Member) -> None:
    if member.kind is GROUP:
        assert "Group cannot be a sudoer" in (sudoer_problem(member) or "")
    else:
        assert sudoer_problem(member) == member_problem(member)


@pytest.mark.parametrize(
    "member",
    [Member("x", ACCOUNT, "kube-system"), Member("system:serviceaccount:kube-system:x")],
)
def test_service_accounts_of_kube_system_cannot_be_sudoers_in_either_spelling(
    member: Member,
) -> None:
    assert sudoer_problem(member) == SYSTEM_SUDOER_PROBLEM
    assert member_problem(member) is None


@given(members)
def test_a_valid_subject_can_be_written_into_a_role_binding(member: Member) -> None:
    """The cluster's own names never pass, in whatever spelling."""
    subject = member.subject
    if member_problem(member) is None:
        assert subject.name
        assert (subject.kind is ACCOUNT) == bool(subject.namespace)
        assert not subject.name.startswith("system:")


# Who looks like somebody else


@pytest.mark.parametrize(
    "name",
    [
        "alice",
        "first.last@loblaw.ca",
        "https://accounts.example.com#110248495921238986420",
        "CN=Alice,O=Loblaw",
        "Zoë Ünïcode",
        "李雷",
        "山田Taro",
        "김철수",
        "Иван Petrov",
        "Μαρία",
        "🚀",
        "",
    ],
)
def test_an_ordinary_name_gives_no_lookalike_warning(name: str) -> None:
    assert lookalike_warning(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("\u0430lice", "Cyrillic and Latin letters in one word"),
        ("ivan@l\u03bfblaw.ca", "Greek and Latin letters in one word"),
        ("\u0440\u0430\u0443@loblaw.ca", "Cyrillic letters that look like Latin ones"),
        ("\u0391\u0392", "Greek letters that look like Latin ones"),
        ("\uff41lice", 'is not "alice"'),
        ("\U0001d44elice", 'is not "alice"'),
        ("o\ufb03ce", 'is not "office"'),
        ("cafe\u0301", 'is not "caf\u00e9"'),
    ],
)
def test_a_lookalike_name_gives_a_warning(name: str, why: str) -> None:
    assert member_problem(Member(name)) is None
    assert why in (lookalike_warning(name) or "nothing")


@given(st.text())
def test_the_lookalike_check_accepts_any_text(name: str) -> None:
    assert lookalike_warning(name) is None or lookalike_warning(name) != ""


# Until when


def test_an_entry_is_inactive_from_its_expiry_on() -> None:
    member = Member("alice", expires_at=NOW)
    assert member.active(NOW - timedelta(microseconds=1))
    assert not member.active(NOW)
    assert not member.active(NOW + timedelta(days=1))


def test_an_entry_without_an_expiry_is_always_active() -> None:
    assert Member("alice").active(datetime.max.replace(tzinfo=UTC))


def test_the_time_zone_of_an_expiry_is_respected() -> None:
    toronto = timezone(timedelta(hours=-5))
    end = NOW.replace(tzinfo=None).replace(tzinfo=toronto)
    assert Member("alice", expires_at=end).active(NOW + timedelta(hours=5, seconds=-1))
    assert not Member("alice", expires_at=end).active(NOW + timedelta(hours=5))


@given(st.lists(st.builds(Member, name=st.just("a"), expires_at=expiries)))
def test_the_next_expiry_is_the_first_time_at_which_an_active_entry_ends(
    listed: list[Member],
) -> None:
    end = next_expiry(listed, NOW)
    now_active = [member for member in listed if member.active(NOW)]
    if end is None:
        assert all(member.active(datetime.max.replace(tzinfo=UTC)) for member in now_active)
    else:
        assert end > NOW
        assert all(member.active(end - timedelta(microseconds=1)) for member in now_active)
        assert not all(member.active(end) for member in now_active)


# What a namespace may be called


@pytest.mark.parametrize("name", ["a", "0", "team-a", "a--b", "kube", "defaults", LABEL_63, "open"])
def test_a_dns_label_is_a_valid_name(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "-a", "a-", "A", "a.b", "a_b", "a:b", "a/b", "a\n", "ä", "..", "*", LABEL_64, "a b"],
)
def test_a_name_that_is_no_dns_label_is_refused(name: str) -> None:
    assert "DNS label" in (name_problem(name) or "accepted")


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "kube-x",
        "openshift",
        "openshift-monitoring",
        "lnamespace",
        "lnamespace-system",
    ],
)
def test_the_systems_names_are_reserved(name: str) -> None:
    assert name_problem(name) == f'"{name}" is reserved'


def test_further_names_can_be_reserved() -> None:
    assert name_problem("prod-a", ("prod-*",)) is not None
    assert name_problem("default", ("prod-*",)) is not None


@given(st.text(st.characters(max_codepoint=127)))
def test_an_ascii_name_may_be_listed_only_if_every_character_is_visible(text: str) -> None:
    """It is told in one look, as it would be letter by letter."""
    shown = all(unicodedata.category(c)[0] in "LMNPS" or c == " " for c in text)
    problem = member_problem(Member(text, USER)) or ""
    assert ("invisible" in problem) is not shown
    assert lookalike_warning(text) is None
