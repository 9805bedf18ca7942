"""Definitions in one version of which a value is an object, and in another is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.objects.confinement.embedded_objects import embeds_differently

MARK = "x-kubernetes-embedded-resource"
EMBEDDED = {"type": "object", MARK: True}
PLAIN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def differs(*schemas: Any) -> bool:
    versions = [{"name": f"v{at}", "schema": each} for at, each in enumerate(schemas)]
    return embeds_differently(json.dumps({"spec": {"versions": versions}}).encode())


def at(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with another one at a path: names, `*` for any name, `[]` for items."""
    for key in reversed(path.split(".")):
        if key == "[]":
            schema = {"type": "array", "items": schema}
        elif key == "*":
            schema = {"type": "object", "additionalProperties": schema}
        else:
            schema = {"type": "object", "properties": {key: schema}}
    return {"openAPIV3Schema": schema}


@pytest.mark.parametrize("path", ["x", "spec.x", "spec.[].x", "spec.*", "items.properties"])
def test_an_object_that_is_embedded_in_one_version_alone_is_found(path: str) -> None:
    assert differs(at(path, EMBEDDED), at(path, PLAIN))
    assert differs(at(path, PLAIN), at(path, EMBEDDED), at(path, EMBEDDED))
    assert differs(at(path, EMBEDDED), at("other", EMBEDDED))
    assert not differs(at(path, EMBEDDED), at(path, EMBEDDED))
    assert not differs(at(path, EMBEDDED))
    assert not differs(at(path, PLAIN), at("other", PLAIN))


def test_any_name_is_not_one_name() -> None:
    assert differs(at("spec.*", EMBEDDED), at("spec.x", EMBEDDED))
    assert differs(at("spec.[].x", EMBEDDED), at("spec.x", EMBEDDED))


def test_what_says_that_it_is_none_is_none() -> None:
    assert not differs(at("x", PLAIN | {MARK: False}), at("x", PLAIN))


def test_a_definition_that_cannot_be_read_may_differ() -> None:
    assert embeds_differently(b'{"spec":{"versions":7,"' + MARK.encode() + b'":1}}')
    assert not embeds_differently(b'{"spec":{"versions":7}}')


def test_a_deep_schema_takes_no_more_than_its_size() -> None:
    """Paths as texts or tuples would have the square of the depth."""
    depth = 200
    deep = at(".".join(["x"] * depth), EMBEDDED)
    assert differs(deep, at(".".join(["x"] * (depth - 1)), EMBEDDED))
    assert not differs(deep, deep)


NAMES = st.lists(st.sampled_from(["a", "b", "*", "[]"]), min_size=1, max_size=3).map(".".join)


@given(NAMES, NAMES)
def test_versions_differ_where_their_places_do(first: str, second: str) -> None:
    assert differs(at(first, EMBEDDED), at(second, EMBEDDED)) == (first != second)
