"""Subjects, durations and moments as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.plugins.model.subjects import (
    Caller,
    ListEntry,
    SubjectName,
    covering,
    entries,
    entries_covering,
    entry,
    manifest,
    parse_subject,
)
from lnamespace.plugins.model.times import (
    age,
    format_age,
    format_instant,
    parse_duration,
    parse_instant,
    read_instant,
)
from lnamespace.plugins.runtime.errors import UsageError

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("bob", ("User", "bob", "")),
        ("first.last@loblaw.ca", ("User", "first.last@loblaw.ca", "")),
        ("https://issuer#sub", ("User", "https://issuer#sub", "")),
        ("CN=bob,OU=x", ("User", "CN=bob,OU=x", "")),
        ('o\'neil "x" é', ("User", 'o\'neil "x" é', "")),
        ("user:group:x", ("User", "group:x", "")),
        ("group:team@x", ("Group", "team@x", "")),
        ("serviceaccount:ci:deployer", ("ServiceAccount", "deployer", "ci")),
        ("system:serviceaccount:ci:deployer", ("ServiceAccount", "deployer", "ci")),
    ],
)
def test_a_subject_is_parsed_into_kind_name_and_namespace(
    text: str, identity: tuple[str, str, str]
) -> None:
    assert parse_subject(text, NOW) == (SubjectName(*identity), False, None, "")


@pytest.mark.parametrize(
    ("text", "name", "end"),
    [
        ("bob,for=8h", "bob", NOW + timedelta(hours=8)),
        ("user:a,b,for=2w", "a,b", NOW + timedelta(weeks=2)),
        ("a,b,until=never", "a,b", None),
        ("user:bob,fro=8h,until=never", "bob,fro=8h", None),
        ("bob,until=2026-12-31T18:00:00-05:00", "bob", datetime(2026, 12, 31, 23, tzinfo=UTC)),
        ("odd,for=1h,until=never", "odd,for=1h", None),
    ],
)
def test_a_subject_with_an_expiry_is_parsed(text: str, name: str, end: datetime | None) -> None:
    assert parse_subject(text, NOW) == (SubjectName("User", name, ""), True, end, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        " bob",
        "bob\n",
        "b\x1bob",
        "user:",
        "group:",
        "group:,for=8h",
        "serviceaccount:x",
        "serviceaccount:a:b:c",
        "serviceaccount:A:b",
        "bob,for=",
        "bob,for=8",
        "bob,until=tomorrow",
        "bob,until=2020-01-01T00:00:00Z",
        "J\udcc3\udcbcrgen",  # read in a locale that does not know its bytes
    ],
)
def test_an_invalid_subject_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_subject(text, NOW)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("mark,nina", "write each subject with a flag of its own"),
        ("mark,nina,for=8h", "write each subject with a flag of its own"),
        ("mark,fro=8h", '"fro=" is no end there'),
        ("group:devs,untill=2030-12-31T18:00:00Z", '"untill=" is no end there'),
        ("CN=mark,For=8h", '"For=" is no end there'),
        ("Group:devs", "did you mean group:devs?"),
        ("groups:devs", "did you mean group:devs?"),
        ("User:bob", "did you mean user:bob?"),
        ("sa:default:default", "did you mean serviceaccount:default:default?"),
        ("ServiceAccount:ci:deployer", "did you mean serviceaccount:ci:deployer?"),
        ("system:serviceaccounts:ci", "name each ServiceAccount: serviceaccount:ci:NAME"),
        ("grp:devs", "did you mean group:devs?"),
        ("group/devs", "did you mean group:devs?"),
        ("sa/ci/deployer", "did you mean serviceaccount:ci:deployer?"),
        ("@devs", "did you mean group:devs?"),
        ("alice;carol", "write each subject with a flag of its own"),
        ("alice:for=8h", '"for=" is no end there; an end is written ,for=8h'),
        ("group:devs;until=2030-12-31T18:00:00Z", '"until=" is no end there'),
        ("--sudoer=bob", "it begins as a flag does"),
    ],
)
def test_a_likely_mistake_in_a_subject_is_refused_with_advice(text: str, advice: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_subject(text, NOW)
    assert advice in str(refused.value)


@pytest.mark.parametrize("name", ["alice carol", "alice/carol", "bob@x.ca  al-b@x.ca"])
def test_a_name_that_may_be_two_is_taken_with_a_note(name: str) -> None:
    """Certificates and LDAP have such logins: they are no mistake for sure."""
    typed = parse_subject(name, NOW)
    assert typed.identity == SubjectName("User", name, "")
    assert typed.note == (
        f'note: "{name}" is one user of that name; write each subject with a flag of its own '
        f"(a user who is really called that: user:{name})"
    )


@pytest.mark.parametrize(
    "text",
    [
        "user:alice carol",
        "alice carol,until=never",
        "group:data science",
        "host/node1@EXAMPLE.COM",
        "arn:aws:iam::1:role/dev",
        "https://issuer/a",
        "CN=Al Smith,O=x",
    ],
)
def test_a_name_that_is_one_is_taken_without_a_note(text: str) -> None:
    assert parse_subject(text, NOW).note == ""


@pytest.mark.parametrize(
    "name", ["mark,nina", "@x", "a;b", "group/x", "Group:devs", "sa:default:default", "a:b,c", "-x"]
)
def test_the_user_prefix_accepts_any_name_unchanged(name: str) -> None:
    assert parse_subject(f"user:{name}", NOW).identity == SubjectName("User", name, "")


names = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=12),
    st.builds("".join, st.lists(st.sampled_from(
        ["user:", "group:", "Group:", "system:", "serviceaccount:", ",for=8h", ",until=never",
         ",fr=", ",", "x", ":for=", ";", " until=1", "@", "/", "grp", "system:serviceaccounts:"]
    ), min_size=1, max_size=4)),
)  # fmt: skip


@given(st.sampled_from(["User", "Group"]), names)
def test_the_spelling_of_any_subject_is_parsed_to_the_same_subject(kind: str, name: str) -> None:
    identity = SubjectName(kind, name, "")
    assert parse_subject(identity.spelling, NOW).identity == identity


@given(st.sampled_from(["User", "Group"]), names, st.none() | st.datetimes(timezones=st.just(UTC)))
def test_an_entry_round_trips_through_its_manifest(
    kind: str, name: str, end: datetime | None
) -> None:
    if end is not None:
        end = end.replace(year=max(end.year, 1000), microsecond=0)
    subject = ListEntry(SubjectName(kind, name, ""), end)
    assert entry(manifest(subject)) == subject


def test_the_identity_of_a_caller_is_a_user_or_a_service_account() -> None:
    assert Caller("bob", ()).identity == SubjectName("User", "bob", "")
    account = Caller("system:serviceaccount:ci:x", ()).identity
    assert account == SubjectName("ServiceAccount", "x", "ci")
    assert account.username == "system:serviceaccount:ci:x"


def test_a_subject_covers_its_user_and_the_members_of_its_group() -> None:
    caller = Caller("bob", ("devs",))
    assert SubjectName("User", "bob", "").covers(caller)
    assert SubjectName("Group", "devs", "").covers(caller)
    assert not SubjectName("Group", "bob", "").covers(caller)
    assert not SubjectName("User", "Bob", "").covers(caller)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("8h", 28800), ("1h30m", 5400), ("2w", 1209600), ("1d", 86400)],
)
def test_a_duration_is_parsed_to_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize(
    "text", ["", "8", "h", "-1h", "0s", "1.5h", "8h ", "8 h", "9999999w", "999999999w", "8x"]
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-31",
        "2026-12-31T18:00:00",
        "2026-13-31T18:00:00Z",
        "now",
        "",
        "\uff12026-12-31T18:00:00Z",
    ],
)
def test_an_invalid_timestamp_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_instant(text)
    assert read_instant(text) is None


@given(st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_formatted_timestamp_is_parsed_to_the_same_time(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    assert parse_instant(format_instant(whole)) == whole


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (150, "2m30s"),
        (600, "10m"), (10799, "179m"), (10800, "3h"), (12600, "3h30m"), (28800, "8h"),
        (172799, "47h"), (172800, "2d"), (180000, "2d2h"), (691200, "8d"), (62985600, "729d"),
        (63072000, "2y"), (63158400, "2y1d"), (252288000, "8y"),
    ],
)  # fmt: skip
def test_durations_are_formatted_as_in_kubectl(seconds: int, text: str) -> None:
    assert format_age(timedelta(seconds=seconds)) == text


def test_an_age_is_formatted_relative_to_the_current_time() -> None:
    assert age("2026-06-01T11:55:00Z", NOW) == "5m"
    assert age(None, NOW) == "<unknown>"


callers = st.builds(
    Caller,
    st.sampled_from(["ann", "system:serviceaccount:ns:ann", "joann"]),
    st.lists(st.sampled_from(["ann", "team"])).map(tuple),
)
listed = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["ann", "team", "joann", "system:serviceaccount:ns:ann", ""])},
        optional={
            "kind": st.sampled_from(["User", "Group", "ServiceAccount"]),
            "namespace": st.sampled_from(["", "ns", "other"]),
        },
    )
)


@given(callers, listed)
def test_entries_covering_a_caller_are_found_without_parsing_the_others(
    caller: Caller, items: list[dict[str, str]]
) -> None:
    spec = {"users": items}
    assert entries_covering(spec, "users", caller) == covering(entries(spec, "users"), caller)
