"""JSON as the plugins read and write it, beside the module `json`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.plugins.cluster.kubectl import Reply
from lnamespace.plugins.runtime.documents import dumps, loads
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.output import formatted

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_serialized_json_is_parsed_alike_by_the_json_module_and_the_plugins(value: object) -> None:
    for text in (dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert json.loads(text) == value
        assert loads(f" {text}\n") == value


@given(VALUES)
@example(1e-05)  # which YAML 1.1 takes for a text
@example(-1e16)
def test_printed_values_are_read_alike_from_json_and_yaml(value: object) -> None:
    assert json.loads(formatted(value, "json")) == value
    assert yaml.safe_load(formatted(value, "yaml")) == value


def test_yaml_is_printed_as_kubectl_prints_it() -> None:
    value = {
        "kind": "List",
        "metadata": {},
        "items": [{"name": "a", "names": ["b:c", "no", "1", 'd"\x1b'], "none": None}, [[True]]],
    }
    assert formatted(value, "yaml") == (
        "kind: List\nmetadata: {}\nitems:\n"
        '- name: a\n  names:\n  - b:c\n  - "no"\n  - "1"\n  - "d\\"\\x1b"\n  none: null\n'
        "- - - true\n"
    )


def read(parse: Callable[[str], object], text: str) -> object:
    try:
        return repr(parse(text))
    except ValueError:
        return "no JSON"


@given(st.text(alphabet='[]{}",:0123456789.eE+-truefalsn \\u', max_size=12))
def test_text_refused_by_the_json_module_is_refused(text: str) -> None:
    assert read(loads, text) == read(json.loads, text)


def test_the_json_module_is_used_if_the_c_accelerator_is_missing() -> None:
    """PyPy has no `make_scanner`, and CPython promises nothing about its own."""
    code = (
        "import sys, _json; del _json.make_scanner; "
        "from lnamespace.plugins.runtime.documents import dumps, loads; "
        "assert 'json' in sys.modules; print(dumps(loads('{\"a\": [1, null, \"\\u00e4\"]}')))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == '{"a":[1,null,"\\u00e4"]}\n'


def test_unsupported_values_raise_type_error() -> None:
    with pytest.raises(TypeError, match="set has no form in JSON"):
        dumps({"a": {1}})


@pytest.mark.parametrize("out", ["<html>Sign in</html>\n", "[]", "", "{", "{} {}", "null"])
def test_a_response_that_is_no_object_gives_a_readable_error(out: str) -> None:
    """A proxy that asks for a login answers with a page, and with success."""
    with pytest.raises(PluginError, match="did not answer with a Kubernetes object") as caught:
        Reply(0, out, "").document()
    assert (" ".join(out.split()) or "nothing") in str(caught.value)


def test_json_nested_as_deeply_as_the_api_server_allows_is_parsed() -> None:
    limit = sys.getrecursionlimit()
    try:
        found = loads('{"a":' * 9_990 + "{}" + "}" * 9_990)
    finally:
        sys.setrecursionlimit(limit)
    assert list(found) == ["a"]
