"""Answers in YAML say what the JSON says."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.gateway.requests.answer_encoders import answer_encoder
from lnamespace.kube.media_types import YAML
from lnamespace.translate.protocol.yaml_answers import yaml_lines
from lnamespace.translate.protocol.yaml_bodies import to_json

LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8)
WORDS = st.sampled_from(["y", "No", "1e3", "0x1", "~", ".inf", "a: b", "- a", "#", "2020-01-01"])
VALUES = st.recursive(
    LEAVES | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def written(value: Any) -> str:
    return "".join(yaml_lines(json.dumps(value).encode()))


@given(VALUES)
def test_written_yaml_is_parsed_to_the_original_json(value: Any) -> None:
    assert json.loads(to_json(written(value).encode())) == value


@given(VALUES)
def test_written_yaml_is_parsed_alike_by_pyyaml(value: Any) -> None:
    assert yaml.safe_load(written(value)) == value


def test_yaml_is_formatted_as_by_kubernetes() -> None:
    container = {"name": "web", "ports": [{"containerPort": 80}], "env": []}
    pod = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [container]}}
    assert written(pod) == (
        "kind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n"
        "  - env: []\n    name: web\n    ports:\n    - containerPort: 80\n"
    )


@pytest.mark.parametrize("number", ["1e400", "12345678901234567890123", "1.10", "-0"])
def test_numbers_keep_their_notation(number: str) -> None:
    assert "".join(yaml_lines(f'{{"a":{number}}}'.encode())) == f"a: {number}\n"


def test_a_key_of_any_length_is_written_as_a_plain_key() -> None:
    value = {"a": [{"k" * 2000: {"b": 1}, "c": "k" * 2000}]}
    assert yaml.safe_load(written(value)) == value


def test_an_answer_that_is_nested_too_deeply_for_yaml_stays_json() -> None:
    """It was refused, and a client that had written the object was told that it had not."""
    deep = b'{"spec":' + b"[" * 3000 + b"]" * 3000 + b"}"
    encoded: list[bytes] = []

    def encode() -> Iterator[None]:
        encoded.append((yield from answer_encoder(YAML).steps(deep)))

    assert not list(encode())
    assert encoded == [deep]
