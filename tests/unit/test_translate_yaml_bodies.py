"""Bodies in YAML, read as sigs.k8s.io/yaml of Kubernetes 1.36 reads them."""

import contextlib
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.protocol.yaml_bodies import MAX_ALIASED, MAX_DEPTH, MAX_NODES, to_json


def read(text: str) -> object:
    return json.loads(to_json(text.encode()))


def refusal(text: str) -> str:
    with pytest.raises(Refused) as refused:
        to_json(text.encode())
    assert refused.value.status.code == 400
    return str(refused.value)


def test_a_json_body_is_unchanged() -> None:
    body = b' {"b": 1.10, "a": [1e3], "a\\u0062": 12345678901234567890123}\n'
    assert to_json(body) == body


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y", "true"),
        ("Off", "false"),
        ("yEs", '"yEs"'),
        ("~", "null"),
        ("", "null"),
        ("'y'", '"y"'),
        ('"1"', '"1"'),
        ("010", "8"),
        ("0o17", "15"),
        ("08", "8"),
        ("0x1F", "31"),
        ("-0b11", "-3"),
        ("1_000", "1000"),
        ("_1", '"_1"'),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("1.", "1"),
        ("1e-7", "1e-07"),
        ("1e400", '"1e400"'),
        (".", '"."'),
        ("12:30:45", '"12:30:45"'),
        ("2001-01-01", '"2001-01-01"'),
        ("2001-01-01T00:00:00Z", '"2001-01-01T00:00:00Z"'),
        ("=", '"="'),
        ("!!str 3", '"3"'),
        ("! 3", '"3"'),
        ("!!int '3'", "3"),
        ("!!float 3", "3"),
        ("!!null ''", "null"),
        ("|\n  x\n  y\n", '"x\\ny\\n"'),
    ],
)
def test_a_scalar_is_resolved_as_in_kubernetes(text: str, expected: str) -> None:
    assert to_json(f"a: {text}".encode()) == f'{{"a":{expected}}}'.encode()


def test_special_scalars_of_yaml_1_1_are_strings() -> None:
    assert read("a: =") == {"a": "="}
    assert read("a: <<") == {"a": "<<"}


@pytest.mark.parametrize(
    ("text", "key"),
    [("1", "1"), ("on", "true"), ("0x10", "16"), ("1.5", "1.5"), ("'~'", "~"), ("<< ", None)],
)
def test_mapping_keys_are_converted_to_strings(text: str, key: str | None) -> None:
    assert read(f"{text}: {{}}") == ({} if key is None else {key: {}})


def test_explicit_keys_override_merged_keys() -> None:
    text = "x: &x {a: 1, b: 1}\nz:\n  <<: [*x, {b: 2, c: 2}]\n  a: 3\n"
    assert read(text) == {"x": {"a": 1, "b": 1}, "z": {"a": 3, "b": 1, "c": 2}}


def test_an_alias_is_replaced_by_its_anchored_value() -> None:
    assert read("a: &x [1, &y z]\nb: *x\nc: *y\n") == {"a": [1, "z"], "b": [1, "z"], "c": "z"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", 'yaml: unmarshal errors:\n  line 2: key "a" already set in map'),
        ("1: a\n'1': b", 'key "1" already set in map'),
        ("a: *y", "yaml: unknown anchor 'y' referenced"),
        ("&a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        ("a: \x01", "yaml: control characters are not allowed"),
        ("? [a]\n: b", "invalid map key"),
        ("a: &x 1\n*x : 2", "invalid map key"),
        ("~: 1", "unsupported map key '~'"),
        ("1e3: 1", "unsupported map key '1e3'"),
        ("<<: 3", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: !!int 3.5", "yaml: cannot decode !!float `3.5` as a !!int"),
        ("a: !!int y", "yaml: cannot decode !!bool `y` as a !!int"),
        ("a: !!binary aGk=", "the tag tag:yaml.org,2002:binary is not supported"),
        ("a: !!set {x}", "the tag tag:yaml.org,2002:set is not supported"),
        ("a: !!python/object/apply:os.system [id]", "is not supported"),
        ("a: !foo 3", "the tag !foo is not supported"),
        ("a: .inf", "json: unsupported value: .inf"),
        ("a: 1\n---\nb: 2", "more than one document"),
    ],
)
def test_ambiguous_or_unsupported_yaml_is_a_bad_request(text: str, words: str) -> None:
    assert words in refusal(text)


def test_a_trailing_document_separator_is_accepted() -> None:
    assert read("a: 1\n---\n") == {"a": 1}


def test_a_body_without_a_document_is_null() -> None:
    assert read("# nothing\n") is None


def test_the_expansion_of_aliases_is_limited() -> None:
    levels = ["l0: &l0 [a, a, a, a, a, a, a, a, a]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "excessive aliasing" in refusal("\n".join(levels))


def test_long_text_is_not_multiplied_by_aliases() -> None:
    text = "x" * (MAX_ALIASED // 10)
    assert "excessive aliasing" in refusal(f"a: &x {text}\nb: [{', '.join(['*x'] * 11)}]")


def test_the_expansion_of_merged_text_is_limited() -> None:
    text = "x" * (MAX_ALIASED // 10)
    entries = "\n".join(f"k{n}: {{<<: *x}}" for n in range(11))
    assert "excessive aliasing" in refusal(f"a: &x {{t: {text}}}\n{entries}")


def test_the_nesting_depth_is_limited() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert "exceeded max depth" in refusal("[" * (MAX_DEPTH + 1))


def test_the_number_of_nodes_is_limited() -> None:
    assert "nodes" in refusal("- a\n" * (MAX_NODES + 1))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", "# a\u2028", "a: 1\n...\n"])
def test_the_number_of_tag_directives_is_limited(before: str, encoding: str) -> None:
    # The parser compares each with all before it: so many took ten minutes.
    directives = "".join(f"%TAG !a{number}! x\n" for number in range(200_000))
    with pytest.raises(Refused, match="more than 10 %TAG directives"):
        to_json(f"{before}{directives}--- {{}}\n".encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        "%YAML 1.1\n---\na: '1'",
        "%TAG ! x\n%TAG !! tag:yaml.org,2002:\n---\na: !!str 1",
        "a: |\n  1" + "\n" * 30,
    ],
)
def test_a_few_directives_are_read(text: str) -> None:
    assert str(read(text)).strip().startswith("{'a': '1")


def test_text_that_resembles_a_directive_is_not_counted() -> None:
    text = "\n%TAG%" * 20
    assert read("a: |" + text.replace("\n", "\n  ")) == {"a": text.lstrip()}


def test_document_separators_and_aliases_are_limited() -> None:
    assert "more than one document" in refusal("---\n" * 700_000)
    assert "nodes" in refusal("[&a x" + ", *a" * MAX_NODES + "]")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab1", max_size=3), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcxyz", max_size=4), JSON_VALUES))
def test_yaml_written_by_pyyaml_is_parsed_to_its_values(value: dict[str, object]) -> None:
    text = yaml.safe_dump(value, allow_unicode=True, default_style='"')
    # In this style numbers carry tags and all text has quotes: both readers of YAML agree on it.
    assert read(text) == value


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%, \n\t01.?~<y")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Refused):  # any other exception is a defect
        json.loads(to_json(text.encode()))
