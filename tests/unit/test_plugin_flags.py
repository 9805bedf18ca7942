"""Reading command lines: nothing is changed, nothing behind `--` is read, every spelling counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import SHORTS, VALUED, Flags, FlagTable, parse, read, scan

ANY = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(["-n", "-it", "--", "-", "--context", "--context=x", "-nfoo", "get", "-f"]),
    ),
    max_size=8,
)


@given(ANY)
def test_a_parsed_command_line_can_be_joined_to_the_original(argv: list[str]) -> None:
    assert read(tuple(argv)).argv == tuple(argv)


@given(ANY, ANY)
def test_arguments_after_the_double_dash_are_not_parsed(
    before: list[str], behind: list[str]
) -> None:
    # A flag that still waits for its value takes the dashes themselves, as in kubectl.
    front = scan(before, FlagTable(VALUED, SHORTS))
    whole = scan([*before, "--", *behind], FlagTable(VALUED, SHORTS))
    if front.tail == () and not any(o.value is None and o.name in VALUED for o in front.options):
        assert whole.pieces == front.pieces
        assert whole.tail == ("--", *behind)


@pytest.mark.parametrize(
    "argv",
    [
        ["get", "pods", "-n", "x"],
        ["get", "pods", "-nx"],
        ["-n=x", "get", "pods"],
        ["get", "--namespace", "x", "pods"],
        ["get", "--namespace=x", "pods"],
        ["exec", "-itn", "x", "pod"],
        ["exec", "-itnx", "pod", "--", "-n", "other"],
        ["logs", "-fn", "x", "pod"],
        ["get", "-n", "y", "-n", "x"],
    ],
)
def test_every_spelling_of_the_namespace_is_found(argv: list[str]) -> None:
    assert read(tuple(argv)).last("namespace") == "x"


@pytest.mark.parametrize(
    "argv",
    [
        ["apply", "-fn", "x"],  # the file n
        ["get", "-oname", "x"],
        ["get", "-l", "-n", "x"],  # a selector may begin with a dash
        ["exec", "pod", "--", "-n", "x"],
        ["get", "-n"],
    ],
)
def test_arguments_that_only_resemble_the_namespace_flag_are_not_parsed_as_it(
    argv: list[str],
) -> None:
    assert read(tuple(argv)).last("namespace") is None


FLAGS = Flags(
    valued=frozenset(("user", "output")),
    switches=frozenset(("wait",)),
    optional=frozenset(("dry-run",)),
    shorts={"o": "output"},
)


def test_own_flags_and_kubectl_flags_may_be_anywhere_in_the_command_line() -> None:
    arguments = parse(["--context=c", "a", "--user", "u", "-oyaml", "--as", "x", "b"], FLAGS)
    assert arguments.words == ("a", "b")
    assert arguments.all("user") == ("u",)
    assert arguments.one("output") == "yaml"
    assert arguments.connection == ("--context=c", "--as=x")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--usr", "x"], "unknown flag: --usr"),
        (["-x"], "unknown flag: -x"),
        (["--user"], "flag needs an argument: --user"),
    ],
)
def test_a_flag_that_is_not_known_is_refused(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(argv, FLAGS)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [([], True), (["--wait"], True), (["--wait=false"], False), (["--wait=false", "--wait"], True)],
)
def test_a_boolean_flag_is_parsed_with_and_without_a_value(argv: list[str], expected: bool) -> None:
    assert parse(argv, FLAGS).switch("wait", default=True) is expected


def test_a_boolean_flag_accepts_only_true_or_false() -> None:
    with pytest.raises(UsageError):
        parse(["--wait=perhaps"], FLAGS).switch("wait")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("--usr=bob", "--user"), ("--outptu", "--output"), ("--xyzzy", ""), ("-z", "")],
)
def test_a_misspelt_flag_is_reported_with_a_suggestion(typed: str, meant: str) -> None:
    flags = Flags(valued=frozenset(("user", "output")), switches=frozenset(("watch",)))
    with pytest.raises(UsageError) as caught:
        parse([typed], flags)
    told, _, suggested = str(caught.value).partition("\nDid you mean this?\n\t")
    assert told == f"unknown flag: {typed.partition('=')[0]}"
    assert suggested == meant
