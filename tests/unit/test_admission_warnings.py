"""Warnings of what is allowed and probably a mistake."""

from datetime import timedelta

import pytest
from hypothesis import given
from lnamespace.admission.decisions.decision import Policy
from lnamespace.admission.decisions.editors import Editors
from lnamespace.admission.decisions.review import UserInfo
from lnamespace.admission.decisions.warnings import (
    creation_warning,
    editor_warnings,
    entry_warnings,
)
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec
from lnamespace.model.subject import Member, SubjectKind

from tests.unit.support.admission import ALICE, NAMES
from tests.unit.support.strategies import NOW, specs

POLICY = Policy(NAMES, never_impersonate=frozenset({"root", "system:serviceaccount:ci:bot"}))
GROUP, ACCOUNT = SubjectKind.GROUP, SubjectKind.SERVICE_ACCOUNT
EDITORS = (Member(ALICE),)
STRANGER = UserInfo("somebody@else.example")
SOON, PAST = NOW + timedelta(hours=1), NOW - timedelta(hours=1)


def said(
    *,
    users: tuple[Member, ...] = (),
    managers: tuple[Member, ...] = EDITORS,
    sudoers: tuple[Member, ...] = (),
    before: Spec | None = None,
) -> list[str]:
    return warned(Spec(users, managers, sudoers), before or Spec())


def warned(new: Spec, before: Spec, user: UserInfo = STRANGER) -> list[str]:
    editors, editors_before = Editors.at(new, NOW), Editors.at(before, NOW)
    return [
        *entry_warnings(LNamespace(Metadata("team-a"), new), before, POLICY, NOW),
        *editor_warnings(editors, editors_before, user),
    ]


def test_correct_entries_get_no_warning() -> None:
    people = (Member("bob"), Member("zoë"), Member("иван"), Member("ops", GROUP))
    assert said(users=people, sudoers=(Member("bob", expires_at=SOON),)) == []


@pytest.mark.parametrize(
    ("member", "part"),
    [
        (Member("bob", expires_at=PAST), "[0].expiresAt: is in the past: the entry gives nothing"),
        (Member("bob", expires_at=NOW), "[0].expiresAt: is in the past"),
        (Member("аlice"), "[0].name: has Cyrillic and Latin letters in one word"),  # noqa: RUF001
        (Member("ﬁona"), '[0].name: is not "fiona", which looks the same'),
        (Member("team-a-sudoers", GROUP), '[0]: "team-a-sudoers" is the group that sudoers become'),
        (Member("team-a-sudoers"), '[0]: "team-a-sudoers" is a group\'s name; as a User it is'),
    ],
)
def test_an_entry_that_is_probably_a_mistake_gets_a_warning(member: Member, part: str) -> None:
    (told,) = said(users=(member,))
    assert told.startswith(f"spec.users{part}")
    first, *_ = said(managers=(member, *EDITORS))
    assert first.startswith(f"spec.managers{part}")


def test_the_sudoers_group_of_another_lnamespace_gets_no_warning() -> None:
    assert said(users=(Member("team-b-sudoers", GROUP), Member("team-b-sudoers"))) == []
    assert said(users=(Member("team-a-sudoers", ACCOUNT, "ci"),)) == []


@pytest.mark.parametrize(
    "member",
    [Member("root"), Member("bot", ACCOUNT, "ci"), Member("system:serviceaccount:ci:bot")],
)
def test_a_sudoer_whom_nobody_may_impersonate_gets_a_warning(member: Member) -> None:
    (told,) = said(sudoers=(member,))
    assert told.startswith("spec.sudoers[0]: nobody may impersonate ")
    assert said(users=(member,)) == []


def test_a_subject_that_is_in_a_list_twice_gets_a_warning() -> None:
    """The list's keys distinguish the two spellings, and the cluster does not."""
    twice = (Member("bot", ACCOUNT, "ci"), Member("bob"), Member("system:serviceaccount:ci:bot"))
    assert said(users=twice) == [
        "spec.users[2]: system:serviceaccount:ci:bot is in this list twice"
    ]
    assert said(users=(Member("bob"),), sudoers=(Member("bob"),)) == []


def test_an_entry_of_the_old_object_gets_no_warning() -> None:
    old = (Member("bob", expires_at=PAST), Member("team-a-sudoers"))
    before = Spec(old, EDITORS, (Member("root"),))
    assert said(users=old, sudoers=(Member("root"),), before=before) == []
    (told,) = said(users=(*old, Member("eve", expires_at=PAST)), before=before)
    assert told.startswith("spec.users[2].expiresAt")


@pytest.mark.parametrize(
    ("managers", "sudoers", "end"),
    [
        (EDITORS, (), None),
        ((Member("bob", expires_at=SOON),), (), SOON),
        ((Member("bob", expires_at=SOON), Member("eve")), (), None),
        ((Member("bob", expires_at=SOON),), (Member("eve"),), None),
        (
            (Member("bob", expires_at=SOON),),
            (Member("eve", expires_at=SOON + timedelta(hours=1)),),
            SOON + timedelta(hours=1),
        ),
    ],
)
def test_the_expiry_of_the_last_editor_gets_a_warning(
    managers: tuple[Member, ...], sudoers: tuple[Member, ...], end: object
) -> None:
    told = said(managers=managers, sudoers=sudoers)
    if end is None:
        assert told == []
    else:
        (text,) = told
        assert text.startswith("spec.managers: after 2026-03-01T1")
        assert f" {end:%Y-%m-%dT%H:%M:%SZ} " in text
        assert said(managers=managers, sudoers=sudoers, before=Spec((), managers, sudoers)) == []


@given(specs(), specs())
def test_no_warning_is_given_twice(old: Spec, new: Spec) -> None:
    told = warned(new, old)
    assert len(set(told)) == len(told)


@given(specs())
def test_an_unchanged_spec_gets_no_warning(spec: Spec) -> None:
    assert warned(spec, spec) == []


@pytest.mark.parametrize(
    ("before", "after", "warns"),
    [
        (Spec(managers=(Member("nina"),)), Spec(managers=(Member("bob"),)), True),
        (Spec(sudoers=(Member("nina"),)), Spec(users=(Member("nina"),)), True),
        (Spec(managers=(Member("ops", GROUP),)), Spec(managers=(Member("bob"),)), True),
        (Spec(managers=(Member("nina"),)), Spec(managers=(Member("nina", expires_at=PAST),)), True),
        (Spec(managers=(Member("nina"),)), Spec(sudoers=(Member("nina"),)), False),
        (Spec(managers=(Member("nina"),)), Spec(managers=(Member("ops", GROUP),)), False),
        (Spec(users=(Member("nina"),)), Spec(), False),
        (Spec(managers=(Member("bob"),)), Spec(), False),
    ],
)
def test_a_user_who_removes_their_own_last_right_is_warned(
    before: Spec, after: Spec, warns: bool
) -> None:
    nina = UserInfo("nina", ("ops", "system:authenticated"))
    text = "spec.managers: after this you can no longer change this LNamespace yourself"
    assert (text in warned(after, before, nina)) is warns


def test_whoever_creates_what_only_others_can_change_is_told() -> None:
    """An account that does not exist was the one sudoer; the creator could not even delete it."""
    others = Editors.at(Spec(sudoers=(Member("nope", ACCOUNT, "nope"),)), NOW)
    assert "you are no manager" in "".join(creation_warning(others, UserInfo("alice")))
    mine = Editors.at(Spec(managers=(Member("alice"),)), NOW)
    assert not list(creation_warning(mine, UserInfo("alice")))
