"""How large the schemas of a definition are is counted, however a write changes them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.objects.confinement.schema_sizes import (
    MAX_SIZE,
    named_schemas_of,
    schemas_after,
    schemas_of,
    size_of,
    total_for,
)

SCHEMA = "/spec/versions/0/schema/openAPIV3Schema"
TEXT = {"type": "string"}
THREE = {"type": "object", "properties": {"a": TEXT}}


def versions(*schemas: Any) -> list[Any]:
    return [
        {"name": f"v{at}", "schema": {"openAPIV3Schema": each}} for at, each in enumerate(schemas)
    ]


def written(*schemas: Any) -> int:
    """Return the size of the schemas of a definition that has these."""
    found = schemas_of(msgspec.json.encode({"spec": {"versions": versions(*schemas)}}))
    assert found is not None
    return found


def after(before: int, *operations: dict[str, Any]) -> int:
    return schemas_after(msgspec.json.encode(operations), before)


@pytest.mark.parametrize(
    ("schema", "size"),
    [
        pytest.param({"type": "string", "description": "{[,]}"}, 1, id="a text"),
        pytest.param(THREE, 3, id="the map of properties too"),
        pytest.param({"type": "array", "items": TEXT}, 2, id="items"),
        pytest.param({"additionalProperties": TEXT}, 2, id="values of a map"),
        pytest.param({"additionalProperties": True}, 1, id="any value of a map"),
        pytest.param({"anyOf": [TEXT, TEXT], "not": TEXT}, 4, id="any of"),
        pytest.param({"enum": [1, 2, None, "x"]}, 5, id="an enum"),
        pytest.param({"enum": [[], [[1]], {"a": 1}]}, 7, id="an enum of lists and objects"),
        pytest.param({"required": ["a", "a"]}, 3, id="required"),
        pytest.param({"example": {"a": 1, "b": [2, {"c": 3}]}}, 7, id="an example"),
        pytest.param({"default": {"a": {"b": None}}}, 4, id="a default"),
        pytest.param({"x-kubernetes-validations": [{"rule": "true"}]}, 10, id="a rule"),
        pytest.param({"properties": {"rule": TEXT}}, 3, id="a property named like a rule"),
        pytest.param({"rule": "x" * 80, "messageExpression": "x" * 16}, 29, id="long expressions"),
        pytest.param({"description": "x" * 512, "y" * 256: 1, "enum": ["x" * 256]}, 6, id="texts"),
        pytest.param(True, 0, id="no schema"),
    ],
)
def test_each_part_of_a_schema_counts(schema: Any, size: int) -> None:
    assert size_of(schema) == size
    assert written(schema, schema) == 2 * (size + 1)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ({}, None),
        ({"spec": {}}, None),
        ({"spec": None}, None),
        ({"spec": {"versions": None}}, None),
        ({"spec": {"versions": []}}, 0),
        ({"spec": {"versions": [{"name": "v1"}]}}, 0),
    ],
)
def test_a_part_of_a_definition_without_versions_changes_no_schemas(body: Any, size: Any) -> None:
    assert schemas_of(msgspec.json.encode(body)) == size


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"name": "a.b"}, "a.b"), ({"name": None}, ""), (None, ""), ({"name": 5}, "")],
)
def test_the_name_of_a_definition_is_read_with_its_schemas(metadata: Any, name: str) -> None:
    body = {"metadata": metadata, "spec": {"versions": versions(THREE)}}
    found, size = named_schemas_of(msgspec.json.encode(body))
    assert found == name
    assert size is not None
    assert size >= size_of(THREE)


@pytest.mark.parametrize("unreadable", [{"spec": {"versions": [1, THREE]}}, {"spec": [[THREE]]}])
def test_what_cannot_be_read_is_as_large_as_it_may_be(unreadable: Any) -> None:
    found = schemas_of(msgspec.json.encode(unreadable))
    assert found is not None
    assert found >= size_of(THREE)


@pytest.mark.parametrize("depth", [2000, 100_000])
def test_what_is_nested_too_deeply_counts_too(depth: int) -> None:
    found = schemas_of(b'{"spec":{"versions":[{"schema":' + b'{"a":' * depth)
    assert found is not None
    assert found >= depth


@pytest.mark.parametrize(
    ("operation", "size"),
    [
        pytest.param({"op": "add", "path": f"{SCHEMA}/properties/a", "value": THREE}, 14, id="add"),
        pytest.param({"op": "replace", "path": SCHEMA, "value": THREE}, 14, id="one schema"),
        pytest.param({"op": "add", "path": f"{SCHEMA}/enum/-", "value": 1}, 12, id="one item"),
        pytest.param({"op": "add", "path": "/spec/versions/-", "value": {}}, 12, id="a version"),
        pytest.param({"op": "test", "path": SCHEMA, "value": THREE}, 10, id="a test"),
        pytest.param({"op": "remove", "path": SCHEMA}, 10, id="a removal takes off nothing"),
        pytest.param(
            {"op": "add", "path": "/spec/names/shortNames", "value": ["a"]}, 10, id="names"
        ),
        pytest.param({"op": "add", "path": "/spec/versions", "value": versions(TEXT)}, 2, id="all"),
        pytest.param({"op": "add", "path": "/spec", "value": {"versions": versions(TEXT)}}, 2),
        pytest.param({"op": "add", "path": "", "value": {"spec": {"versions": versions(TEXT)}}}, 2),
        pytest.param({"op": "add", "path": "/spec/versions", "value": "x"}, 0, id="no versions"),
    ],
)
def test_a_json_patch_grows_the_schemas_by_what_it_adds(
    operation: dict[str, Any], size: int
) -> None:
    assert after(10, operation) == size
    assert after(10, operation, {"op": "add", "path": SCHEMA, "value": TEXT}) == size + 2


def test_an_lcluster_has_room_for_as_many_schemas_as_it_may_have_definitions() -> None:
    assert total_for(200) == 80_000
    assert total_for(1000) == 400_000
    assert total_for(1) == MAX_SIZE
    assert total_for(0) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda each: (
        st.lists(each, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "properties", "enum", "default"]), each)
    ),
    max_leaves=30,
)


KEYS = st.sampled_from(["a", "enum", "example", "rule"])


@given(schema=JSON, added=JSON, keys=st.lists(KEYS, min_size=1, max_size=3))
def test_no_json_patch_grows_a_schema_uncounted(schema: Any, added: Any, keys: list[str]) -> None:
    """The bound is one of what is stored, by whatever steps."""
    whole: Any = {"x": schema}
    parent = whole
    for key in keys[:-1]:
        parent = parent.setdefault(key, {})
    stored = written(whole)
    patched = after(stored, {"op": "add", "path": "/".join((SCHEMA, *keys)), "value": added})
    parent[keys[-1]] = added
    assert patched >= written(whole)
