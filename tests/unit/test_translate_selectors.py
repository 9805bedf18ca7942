"""Selectors are read and rendered as Kubernetes does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.protocol.selectors import (
    FieldTerm,
    LabelTerm,
    Operator,
    parse_field_selector,
    parse_label_selector,
    render_selector,
)
from lnamespace.translate.protocol.status import Refused


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        (" \t", ()),
        ("x", (LabelTerm("x", Operator.EXISTS),)),
        ("!x", (LabelTerm("x", Operator.DOES_NOT_EXIST),)),
        ("x=a", (LabelTerm("x", Operator.EQUALS, ("a",)),)),
        ("x == a", (LabelTerm("x", Operator.DOUBLE_EQUALS, ("a",)),)),
        ("x!=a", (LabelTerm("x", Operator.NOT_EQUALS, ("a",)),)),
        ("x=", (LabelTerm("x", Operator.EQUALS, ("",)),)),
        ("x>1", (LabelTerm("x", Operator.GREATER_THAN, ("1",)),)),
        ("x<1", (LabelTerm("x", Operator.LESS_THAN, ("1",)),)),
        ("x in (b,a)", (LabelTerm("x", Operator.IN, ("a", "b")),)),
        ("x in ()", (LabelTerm("x", Operator.IN, ("",)),)),
        ("x in (,)", (LabelTerm("x", Operator.IN, ("",)),)),
        ("x in (foo,,baz)", (LabelTerm("x", Operator.IN, ("", "baz", "foo")),)),
        ("x in (a,)", (LabelTerm("x", Operator.IN, ("", "a")),)),
        ("x notin (in)", (LabelTerm("x", Operator.NOT_IN, ("in",)),)),
        ("in", (LabelTerm("in", Operator.EXISTS),)),
        ("in in (notin)", (LabelTerm("in", Operator.IN, ("notin",)),)),
        ("x=in", (LabelTerm("x", Operator.EQUALS, ("in",)),)),
        (
            "x=a,!y",
            (
                LabelTerm("x", Operator.EQUALS, ("a",)),
                LabelTerm("y", Operator.DOES_NOT_EXIST),
            ),
        ),
    ],
)
def test_a_label_selector_is_parsed(text: str, requirements: tuple[LabelTerm]) -> None:
    assert parse_label_selector(text) == requirements


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "x,",
        "x,,y",
        "x y",
        "=a",
        "x=a b",
        "x in",
        "x in a",
        "x in (a b)",
        "x in (a",
        "x in (=)",
        "!",
        "!x=a y",
        "x=!a",
        "x==>a",
        "(x)",
        "x)",
        "x in (a))",
        "!!x",
        "x!y",
    ],
)
def test_a_malformed_label_selector_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_label_selector(text)


words = st.text("abin/.-_", min_size=1, max_size=6)
requirements = st.builds(
    LabelTerm,
    words,
    st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS, Operator.DOUBLE_EQUALS]),
    st.tuples(words | st.just("")),
) | st.builds(
    LabelTerm,
    words,
    st.sampled_from([Operator.IN, Operator.NOT_IN]),
    st.sets(words | st.just(""), min_size=1).map(lambda each: tuple(sorted(each))),
)


@given(st.lists(requirements).map(tuple))
def test_a_rendered_label_selector_is_parsed_to_the_same_selector(
    selector: tuple[LabelTerm, ...],
) -> None:
    assert parse_label_selector(render_selector(selector)) == selector


@given(st.text("ab=!,()<> in", max_size=14))
def test_an_accepted_label_selector_round_trips(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except Refused:
        return
    assert parse_label_selector(render_selector(selector)) == selector


field_terms = st.builds(FieldTerm, st.text("ab.", min_size=1), st.text("a=,\\! "))


@given(st.lists(field_terms, max_size=100).map(tuple))
def test_a_rendered_field_selector_is_parsed_to_the_same_selector(
    selector: tuple[FieldTerm, ...],
) -> None:
    assert parse_field_selector(render_selector(selector)) == selector


@pytest.mark.parametrize(
    ("text", "value"), [(r"a=\\", "\\"), (r"a=\,\=", ",="), ("a=b!c", "b!c"), ("a=", "")]
)
def test_values_of_field_selectors_are_unescaped(text: str, value: str) -> None:
    assert parse_field_selector(text) == (FieldTerm("a", value),)


@pytest.mark.parametrize("text", ["a", "a,b=c", "a=b=c", r"a=\b", "a=\\", "a===b"])
def test_a_malformed_field_selector_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_field_selector(text)


@pytest.mark.parametrize("text", ["a=b," * 100, "a=" + r"\," * 1_000_000, "," * 1_000_000])
def test_a_field_selector_is_split_in_linear_time(text: str) -> None:
    parse_field_selector(text)


def test_the_number_of_field_selector_terms_is_limited() -> None:
    with pytest.raises(Refused, match="more than 100 terms is not supported") as refused:
        parse_field_selector("a=b," * 101)
    assert refused.value.status.code == 400


def test_a_field_term_matches_equal_or_absent_values() -> None:
    assert FieldTerm("a", "b").matches({"a": "b"})
    assert not FieldTerm("a", "b").matches({})
    assert FieldTerm("a", "b", negated=True).matches({})
    assert FieldTerm("a", "").matches({})
