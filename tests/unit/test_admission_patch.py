"""Patches: right by another implementation of RFC 6902, and no bigger than need be."""

import json
from typing import Any

import pytest
from hypothesis import given
from lnamespace.admission.decisions.patch import PatchOperation, json_patch

from tests.unit.support.admission import Json, json_values, patched, steps


def exactly(value: Any) -> str:
    """Return the value as text, for Python takes True, 1 and 1.0 for the same."""
    return json.dumps(value, sort_keys=True)


@given(json_values, json_values)
def test_the_patch_turns_the_old_object_into_the_new(old: Any, new: Any) -> None:
    assert exactly(patched(old, tuple(json_patch(old, new)))) == exactly(new)


@given(json_values)
def test_equal_objects_have_an_empty_patch(value: Any) -> None:
    assert not list(json_patch(value, json.loads(json.dumps(value))))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [{"op": "replace", "path": "/b", "value": 3}]),
        ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a": None}, [{"op": "add", "path": "/a", "value": None}]),
        # As deep as it can be.
        (
            {"a": {"b": {"c": 1, "d": 2}}},
            {"a": {"b": {"c": 1, "d": 3}}},
            [{"op": "replace", "path": "/a/b/d", "value": 3}],
        ),
        (
            {"a": [{"x": 1}, {"y": 1}]},
            {"a": [{"x": 1}, {"y": 2}]},
            [{"op": "replace", "path": "/a/1/y", "value": 2}],
        ),
        # Of another length: as a whole.
        ({"a": [1, 2]}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}]),
        ({"a": []}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}]),
        # Of another type.
        ({"a": {}}, {"a": []}, [{"op": "replace", "path": "/a", "value": []}]),
        ({"a": True}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        ({"a": 1.0}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        (None, {}, [{"op": "replace", "path": "", "value": {}}]),
        # Two keys never become a move of one to the other.
        (
            {"a": "x"},
            {"b": "x"},
            [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/b", "value": "x"}],
        ),
        # What has a meaning in a pointer.
        ({"a/b": 1}, {"a/b": 2}, [{"op": "replace", "path": "/a~1b", "value": 2}]),
        ({"a~b": 1}, {}, [{"op": "remove", "path": "/a~0b"}]),
        ({}, {"~1": 1}, [{"op": "add", "path": "/~01", "value": 1}]),
        ({}, {"/": {"~": 1}}, [{"op": "add", "path": "/~1", "value": {"~": 1}}]),
        ({}, {"": 1}, [{"op": "add", "path": "/", "value": 1}]),
    ],
)
def test_a_patch_contains_only_the_differences(old: Any, new: Any, expected: list[Json]) -> None:
    assert steps(tuple(json_patch(old, new))) == expected


def test_a_subtree_shared_by_both_objects_is_not_traversed() -> None:
    """The depth of the subtree does not matter."""
    deep: Json = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert list(json_patch({"x": deep}, {"x": deep, "y": 1})) == [PatchOperation("add", "/y", 1)]
