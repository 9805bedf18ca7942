"""What the plugins make of LNamespaces: tables, pages, changes, and the state of a new one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.plugins.cluster.waiting import readiness
from lnamespace.plugins.commands.creation import read, requested
from lnamespace.plugins.edits.changes import (
    Change,
    Grant,
    Listing,
    Values,
    extend,
    grant,
    locks_out,
    prune,
    revoke,
    set_values,
)
from lnamespace.plugins.model.lnamespaces import check_name, name_fault, resource
from lnamespace.plugins.model.roles import access, ask
from lnamespace.plugins.model.subjects import Caller, ListEntry, SubjectName
from lnamespace.plugins.model.times import format_instant
from lnamespace.plugins.runtime.documents import JsonStream
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.flags import CREATE_FLAGS, parse
from lnamespace.plugins.runtime.terminal import printable, render, width
from lnamespace.plugins.views.description import lnamespace_page
from lnamespace.plugins.views.rows import shown, whole

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
BOB = Caller("bob", ("devs",))
BOB_ID = BOB.identity


def user(name: str, **more: str) -> dict[str, str]:
    return {"kind": "User", "name": name, "namespace": "", **more}


def lns(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "generation": 2, "creationTimestamp": "2026-06-01T11:55:00Z"}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


def condition(status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


# --- text ---


@given(st.text())
def test_unprintable_characters_are_escaped(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_printable_text_is_unchanged(text: str) -> None:
    assert printable(text) == text


@given(st.lists(st.tuples(st.text(), st.text()), max_size=6))
def test_tables_have_a_line_for_each_row_and_aligned_columns(rows: list[tuple[str, str]]) -> None:
    lines = render(("NAME", "AGE"), rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert lines[-1] == ""
    start = max(width(printable(cell)) for cell in ("NAME", *(row[0] for row in rows))) + 3
    assert width(lines[0][: lines[0].index("AGE")]) == start


def test_a_name_on_two_lists_is_noted_once() -> None:
    line = ["team-a", "--user", "al carol", "--manager", "al carol", "--sudoer", "bob tom"]
    creation = read(parse(line, CREATE_FLAGS), NOW)
    assert [note.partition(" is")[0] for note in creation.notes] == [
        'note: "al carol"',
        'note: "bob tom"',
    ]


def test_a_table_is_aligned_without_trailing_spaces() -> None:
    assert render(("NAME", "AGE"), [("team-a", "5m"), ("b", "")]) == (
        "NAME     AGE\nteam-a   5m\nb\n"
    )


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.integers(), max_size=3), max_size=4),
    st.lists(st.integers(1, 7), min_size=1),
    st.sampled_from([None, 2]),
)
def test_json_documents_are_parsed_from_arbitrarily_split_input(
    documents: list[Any], sizes: list[int], indent: int | None
) -> None:
    data = "\n".join(json.dumps(d, ensure_ascii=True, indent=indent) for d in documents).encode()
    stream, found, position = JsonStream(), [], 0
    while position < len(data):
        size = sizes[position % len(sizes)]
        found += stream.feed(data[position : position + size])
        position += size
    assert found == documents


def test_a_character_split_across_chunks_is_decoded() -> None:
    stream, data = JsonStream(), '{"a":"é"}'.encode()
    assert [stream.feed(data[:7]), stream.feed(data[7:])] == [[], [{"a": "é"}]]


# --- names ---


@pytest.mark.parametrize("name", ["a", "team-a", "0", "a" * 63])
def test_valid_names_are_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a.b", "a/b", "..", "a\n", "a" * 64, "é"])
def test_invalid_names_are_refused(name: str) -> None:
    assert name_fault(name)


# --- create ---


def created(*argv: str) -> dict[str, Any]:
    return requested(read(parse(list(argv), CREATE_FLAGS), NOW))


def test_a_created_object_has_no_fields_that_were_not_given() -> None:
    """The cluster fills it in, for the plugin cannot know how it is configured."""
    assert created("a") == {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": "a"},
        "spec": {},
    }


def test_a_created_object_has_the_members_given_by_flags() -> None:
    assert created("a", "--user", "group:devs", "--sudoer=carol,for=8h")["spec"] == {
        "users": [{"kind": "Group", "name": "devs"}],
        "sudoers": [{"kind": "User", "name": "carol", "expiresAt": "2026-06-01T20:00:00Z"}],
    }


def test_a_created_object_has_the_billing_and_deletion_settings_given_by_flags() -> None:
    spec = created(
        "a", "--cost-center=R-42", "--billing-label", "k=v=w", "--deletion-policy", "Retain",
        "--deletion-protection",
    )["spec"]  # fmt: skip
    assert spec["billing"] == {"costCenter": "R-42", "labels": {"k": "v=w"}}
    assert (spec["deletionPolicy"], spec["deletionProtection"]) == ("Retain", True)


@pytest.mark.parametrize(
    "argv",
    [
        [], ["a", "b"], ["A"], ["a", "--sudoer=group:x"], ["a", "--billing-label=x"],
        ["a", "--cost-center="], ["a", "--deletion-policy=Keep"], ["a", "--dry-run=yes"],
        ["a", "--timeout=soon"],
    ],
)  # fmt: skip
def test_an_invalid_create_command_line_is_refused(argv: list[str]) -> None:
    with pytest.raises(PluginError):
        read(parse(argv, CREATE_FLAGS), NOW)


# --- waiting ---


@pytest.mark.parametrize(
    ("status", "ready", "reason"),
    [
        ({}, False, ""),
        ({"observedGeneration": 1, "conditions": [condition("True")]}, False, ""),
        ({"observedGeneration": 2, "conditions": [condition("True")]}, True, ""),
        ({"observedGeneration": 2, "conditions": [condition("False", "Error")]}, False, ""),
        (
            {"observedGeneration": 2, "conditions": [condition("False", "Conflict")]},
            False,
            "Conflict",
        ),
        ({"observedGeneration": 1, "conditions": [condition("False", "Conflict")]}, False, ""),
        (
            {"observedGeneration": 2, "conditions": [condition("False", "SudoNotReady")]},
            False,
            "SudoNotReady",
        ),
    ],
)
def test_readiness_is_read_from_the_conditions_of_the_current_generation(
    status: dict[str, Any], ready: bool, reason: str
) -> None:
    found = readiness(lns(status))
    assert (found.ready, found.reason) == (ready, reason)


# --- list and describe ---


def test_access_is_shown_with_the_latest_expiry_of_user_and_group_entries() -> None:
    early, late = (format_instant(NOW + timedelta(hours=h)) for h in (1, 5))
    found = access(
        lns(
            users=[
                user("bob", expiresAt=early),
                {"kind": "Group", "name": "devs", "expiresAt": late},
            ],
            managers=[user("alice")],
            sudoers=[user("bob", expiresAt=format_instant(NOW))],
        ),
        BOB,
        NOW,
    )
    assert found.names == "user"
    assert found.ends(NOW) == "user=5h,sudoer=expired"


def test_the_list_shows_one_row_per_lnamespace() -> None:
    item = lns(users=[user("bob")], requester="al\x1bice", billing={"costCenter": "R-42"})
    assert shown([item], BOB, NOW, "") == (
        "NAME   READY       MY ACCESS   UNTIL    REQUESTER   COST CENTER   AGE\n"
        "a      <unknown>   user        <none>   al\\x1bice   R-42          5m\n"
    )
    assert shown([item], BOB, NOW, "name") == "lnamespace.tenancy.loblaw.digital/a\n"
    assert whole([item])["items"][0]["spec"] == item["spec"]


def test_a_long_text_is_cut_in_the_list_and_whole_in_the_wide_one() -> None:
    """One cost center of 300 characters made all lines as wide."""
    item = lns(users=[user("bob")], requester="alice", billing={"costCenter": "R" * 300})
    assert f"  {'R' * 61}...  " in shown([item], BOB, NOW, "")
    assert f"  {'R' * 300}  " in shown([item], BOB, NOW, "wide")


def test_a_page_has_no_control_characters_but_line_feeds() -> None:
    evil = "x\x1b[2J\r\n\u202ey"
    status = {"observedGeneration": 2, "conditions": [condition("False", evil, evil)]}
    item = lns(
        status, users=[user(evil)], managers=[user(evil)], requester=evil,
        billing={"costCenter": evil, "labels": {evil: evil}},
    )  # fmt: skip
    page = lnamespace_page(item, BOB, NOW, colour=False)
    assert all(line.isprintable() for line in page.split("\n"))
    assert "You are not a sudoer" in page


def test_describe_marks_expired_entries() -> None:
    ended = user("bob", expiresAt="2026-06-01T11:00:00Z")
    page = lnamespace_page(lns(sudoers=[ended]), BOB, NOW, colour=False)
    assert "EXPIRED 2026-06-01T11:00:00Z (60m ago)" in page


def test_describe_cuts_long_texts() -> None:
    """One user of 252 characters made all lines of its table as wide."""
    item = lns(users=[user("u" * 252)], billing={"team": "t" * 300, "labels": {"k" * 90: "v" * 90}})
    page = lnamespace_page(item, BOB, NOW, colour=False)
    assert f"  {'u' * 61}...  " in page
    assert f"  Team: {'t' * 61}...\n" in page
    assert f"  {'k' * 61}...={'v' * 61}...\n" in page


def test_describe_names_the_instance_with_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another instance had an LNamespace of the same name."""
    monkeypatch.setenv("LNAMESPACE_API_GROUP_SUFFIX", "team1.example.com")
    page = lnamespace_page(lns(), BOB, NOW, colour=False)
    ours = "LNAMESPACE_API_GROUP_SUFFIX=team1.example.com kubectl"
    assert page.count("kubectl ") == page.count(f"{ours} ") == 2
    assert resource() == "lns.tenancy.team1.example.com"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (lns(managers=[user("bob")]), "you are a manager of it, so run: kubectl lns set a"),
        (lns(managers=[user("mia")]), "ask a manager (mia) to run: kubectl lns set a"),
        (
            lns(sudoers=[user("carol")]),
            "it has no manager; ask a sudoer (carol) to run: kubectl sudo lns set a",
        ),
        (
            lns(sudoers=[user("carol")]) | {"kind": "LCluster"},
            "it has no manager; ask a sudoer (carol) to run: kubectl lns set a",
        ),
        (lns(), "it has no manager; ask a cluster administrator to run: kubectl lns set a"),
    ],
)
def test_somebody_who_may_is_named(item: dict[str, Any], words: str) -> None:
    assert ask(item, BOB, NOW, "lns set a") == words


def test_advice_of_our_own_names_the_instance() -> None:
    """`kubectl delete lns shop` deleted that of another instance, whose group comes first."""
    assert resource() == "lns.tenancy.loblaw.digital"


# --- grant and revoke ---


def grants(role: str, name: str, end: datetime | None = None) -> list[Grant]:
    return [Grant(role, ListEntry(SubjectName("User", name, ""), end))]


def test_a_grant_adds_and_leaves_the_rest() -> None:
    spec = {"users": [user("alice")], "billing": {"costCenter": "x"}, "unknown": 1}
    changed = grant(spec, grants("user", "bob"), NOW)
    assert changed.spec == {**spec, "users": [user("alice"), {"kind": "User", "name": "bob"}]}
    assert changed.words == ("bob is now a user",)
    assert spec["users"] == [user("alice")]


def test_a_grant_beside_a_name_that_differs_by_case_only_says_so() -> None:
    spec = {"managers": [user("bob@x.ca")]}
    told = "BOB@x.ca is now a user; bob@x.ca, listed too, is another user"
    assert grant(spec, grants("user", "BOB@x.ca"), NOW).words == (told,)
    assert grant(spec, grants("user", "bob@x.ca"), NOW).words == ("bob@x.ca is now a user",)
    both = grant({}, [*grants("user", "Al"), *grants("user", "al")], NOW)
    assert both.words[1] == "al is now a user; Al, listed too, is another user"


def test_a_grant_sets_and_removes_the_expiry() -> None:
    end = NOW + timedelta(hours=8)
    ending = user("bob", expiresAt=format_instant(end))
    assert grant({"users": [user("bob")]}, grants("user", "bob", end), NOW).spec["users"] == [
        ending
    ]
    lasting = grant({"users": [ending]}, grants("user", "bob"), NOW)
    assert lasting.spec["users"] == [user("bob")]
    assert lasting.words == ("bob stays a user, now without end",)


def test_a_grant_without_an_expiry_keeps_an_existing_expiry() -> None:
    """`grant --user bob` once took bob's end away without a word."""
    ending = user("bob", expiresAt=format_instant(NOW + timedelta(hours=8)))
    over = user("bob", expiresAt=format_instant(NOW - timedelta(hours=8)))
    silent = [Grant("user", ListEntry(BOB_ID), end_said=False)]
    assert grant({"users": [ending]}, silent, NOW) == Change({"users": [ending]}, ())
    again = grant({"users": [over]}, silent, NOW)
    assert again.spec["users"] == [user("bob")]
    assert again.words == ("bob stays a user, now without end",)


@given(st.lists(st.tuples(st.sampled_from(["user", "manager"]), st.sampled_from("abc"))))
def test_granting_the_same_access_twice_changes_nothing(wanted: list[tuple[str, str]]) -> None:
    wishes = [wish for role, name in wanted for wish in grants(role, name)]
    once = grant({}, wishes, NOW).spec
    again = grant(once, wishes, NOW)
    assert again.words == ()
    assert {k: v for k, v in again.spec.items() if v} == {k: v for k, v in once.items() if v}


@given(st.lists(st.tuples(st.sampled_from(["user", "manager"]), st.sampled_from("abc"))))
def test_revoking_removes_the_granted_entries(wanted: list[tuple[str, str]]) -> None:
    wishes = [wish for role, name in wanted for wish in grants(role, name)]
    spec = grant({"users": [user("z")]}, wishes, NOW).spec
    back = revoke(spec, [Listing(None, wish.subject.identity) for wish in wishes])
    assert back.spec.get("users") == [user("z")]
    assert not back.spec.get("managers")


def test_revoking_can_be_limited_to_one_list() -> None:
    spec = {"users": [user("bob")], "sudoers": [user("bob"), user("alice")]}
    changed = revoke(spec, [Listing("sudoer", BOB_ID)])
    assert changed.spec == {"users": [user("bob")], "sudoers": [user("alice")]}
    assert changed.words == ("bob is no longer a sudoer",)
    again = revoke(changed.spec, [Listing("sudoer", BOB_ID)])
    assert again.words == ()
    assert again.problems == ('"bob" is not a sudoer (but a user)',)


def test_revoking_an_unlisted_subject_is_reported() -> None:
    """A slip in a name once was "unchanged", exit code 0, and the person worked on."""
    spec = {"users": [user("tina")], "managers": [user("alice")]}
    slip = revoke(spec, [Listing(None, SubjectName("User", "tinaa", ""))])
    assert slip.spec == spec
    assert slip.problems == ('"tinaa" is not on any list; did you mean "tina"?',)
    nobody = revoke(spec, [Listing("user", SubjectName("User", "zoe", ""))])
    assert nobody.problems == ('"zoe" is not on that list',)


def test_extending_moves_existing_expiries_and_adds_no_new_ones() -> None:
    soon, later = NOW + timedelta(hours=1), NOW + timedelta(hours=9)
    ending = user("bob", expiresAt=format_instant(soon))
    spec = {"users": [user("bob")], "sudoers": [ending, user("alice")]}
    extended = extend(spec, [Listing(None, BOB_ID)], later, NOW)
    assert extended.spec == {
        "users": [user("bob")],
        "sudoers": [user("bob", expiresAt=format_instant(later)), user("alice")],
    }
    assert extended.problems == ()
    endless = extend(spec, [Listing("user", BOB_ID)], later, NOW)
    assert endless.problems == ("bob is a user without end already",)
    assert extend(spec, [Listing("manager", BOB_ID)], later, NOW).problems


def test_pruning_removes_only_expired_entries() -> None:
    over = user("bob", expiresAt=format_instant(NOW - timedelta(hours=1)))
    ending = user("carol", expiresAt=format_instant(NOW + timedelta(hours=1)))
    pruned = prune({"users": [over, ending, user("alice")], "sudoers": [over]}, NOW)
    assert pruned.spec == {"users": [ending, user("alice")], "sudoers": []}
    assert pruned.words == (
        "removed bob, a user until 2026-06-01T11:00:00Z (60m ago)",
        "removed bob, a sudoer until 2026-06-01T11:00:00Z (60m ago)",
    )
    assert not prune({"users": [ending]}, NOW).words


def test_values_are_set_and_removed() -> None:
    spec = {
        "billing": {"costCenter": "1", "team": "t", "labels": {"a": "b", "c": "d"}},
        "users": [],
    }
    texts = {"cost-center": "2", "team": "", "profile": "big"}
    changed = set_values(spec, Values(texts, {"a": None, "e": "f"}, deletion_protection=True))
    assert changed.spec == {
        "billing": {"costCenter": "2", "labels": {"c": "d", "e": "f"}},
        "users": [],
        "profile": "big",
        "deletionProtection": True,
    }
    assert changed.words == (
        "cost center is now 2 (was 1)",
        "team is no longer t",
        "profile is now big",
        "billing label a is no longer b",
        "billing label e is now f",
        "deletion protection is now on",
    )
    assert set_values(changed.spec, Values(texts, {}, deletion_protection=True)).words == ()


def test_a_change_that_leaves_no_active_manager_is_detected() -> None:
    ended = user("alice", expiresAt="2026-06-01T11:00:00Z")
    assert locks_out({"managers": [user("bob")]}, {"managers": []}, NOW)
    assert locks_out({"managers": [user("bob")]}, {"managers": [ended]}, NOW)
    assert not locks_out({"managers": [user("bob")]}, {"sudoers": [user("alice")]}, NOW)
    assert not locks_out({"managers": [ended]}, {"managers": []}, NOW)


def test_the_sudo_account_of_an_lnamespace_is_its_sudoer() -> None:
    account = "system:serviceaccount:lnamespace-sudo:team-a"
    lns = {"metadata": {"name": "team-a"}, "spec": {}, "status": {"sudoUser": account}}
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert access(lns, Caller(account, ()), now).names == "sudoer"
    other = "system:serviceaccount:lnamespace-sudo:team-b"
    assert not access(lns, Caller(other, ()), now).any
    assert not access(lns | {"status": {}}, Caller(account, ()), now).any
