"""Any object that the table of messages allows survives the way to protobuf and back."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate import protobuf
from lnamespace.translate.protobuf.decoding import SCALAR_ZEROS
from lnamespace.translate.protobuf.schema import INLINE, FieldSchema, message_schema, schema_file

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
_AFTER_ZERO = st.datetimes().filter(lambda value: value.year > 1)
"""The zero time of Go is no time: Kubernetes leaves it out of protobuf, and writes null in JSON."""
SECONDS = _AFTER_ZERO.map(lambda value: f"{value.isoformat()[:19]}Z")
MICROSECONDS = _AFTER_ZERO.map(lambda value: f"{value.isoformat(timespec='microseconds')}Z")
LEAF = TEXT | st.booleans() | INT64 | st.floats(-1e9, 1e9).map(lambda value: value + 0.0)
JSON_LEAF = LEAF | st.dictionaries(TEXT, LEAF | st.none(), max_size=3) | st.lists(LEAF, max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "bool": st.booleans(),
    "int32": INT32,
    "int64": INT64,
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.binary(min_size=1, max_size=4).map(msgspec.to_builtins),
    "quantity": st.from_regex(r"[1-9][0-9]{0,3}(m|Ki|Gi)?", fullmatch=True),
    "intOrString": INT32 | TEXT,
    "time": SECONDS,
    "microTime": MICROSECONDS,
    "json": JSON_LEAF,
    "strings": st.lists(TEXT, max_size=2),
}
SCHEMA = "apiextensions/v1.JSONSchemaProps"
UNIONS: dict[str, Callable[[st.SearchStrategy[Any]], st.SearchStrategy[Any]]] = {
    "schemaOrArray": lambda schema: schema | st.lists(schema, min_size=1, max_size=2),
    "schemaOrBool": lambda schema: schema | st.booleans(),
    "schemaOrStringArray": lambda schema: schema | st.lists(TEXT, min_size=1, max_size=2),
}
# All shapes and special types are in these.
KINDS = [
    "v1 Pod",
    "v1 Secret",
    "v1 Event",
    "v1 PersistentVolume",
    "apps/v1 ControllerRevision",
    "apiextensions.k8s.io/v1 CustomResourceDefinition",
    "networking.k8s.io/v1 NetworkPolicy",
    "authentication.k8s.io/v1 TokenReview",
    "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
    "resource.k8s.io/v1 ResourceSlice",
]


def values_of(type_name: str, depth: int) -> st.SearchStrategy[Any]:
    if type_name in UNIONS:
        return UNIONS[type_name](objects_of(SCHEMA, depth))
    return VALUES[type_name] if type_name in VALUES else objects_of(type_name, depth)


def in_shape(field: FieldSchema, depth: int) -> st.SearchStrategy[Any]:
    values = values_of(field.type_name, depth - 1)
    match field.shape:
        case "[]":
            return st.lists(values, min_size=1, max_size=2)
        case "map:":
            return st.dictionaries(TEXT, values, min_size=1, max_size=2)
    # JSON leaves out what is empty, but for pointers.
    return values.filter(bool) if field.omitted and not field.shape else values


@cache
def objects_of(name: str, depth: int) -> st.SearchStrategy[Any]:
    """Return objects as Kubernetes writes them: some optional fields, and all others."""

    @st.composite
    def draw_object(draw: st.DrawFn) -> dict[str, Any]:
        value: dict[str, Any] = {}
        fields = message_schema(name).fields
        optional = [each for each in fields if each.omitted]
        chosen = draw(st.sets(st.sampled_from(optional), max_size=4)) if optional and depth else ()
        for field in fields:
            if field.name == INLINE:
                value |= draw(objects_of(field.type_name, depth))
            elif field in chosen:
                value[field.name] = draw(in_shape(field, depth))
            elif not field.omitted:
                value[field.name] = draw(required(field, depth))
        return value

    return draw_object()


def required(field: FieldSchema, depth: int) -> st.SearchStrategy[Any]:
    """Return values of a field that JSON always has; null for an empty list, map or pointer."""
    nullable = field.shape or field.type_name in {"time", "microTime", "json", "bytes"}
    if nullable and depth <= 0:
        return st.none()
    return st.none() | in_shape(field, depth) if nullable else in_shape(field, depth)


@pytest.mark.parametrize("key", KINDS)
def test_an_object_comes_back_as_it_was(key: str) -> None:
    api_version, kind = key.split(" ")

    @given(objects_of(schema_file().kinds[key], 4))
    def comes_back(fields: dict[str, Any]) -> None:
        value = {"kind": kind, "apiVersion": api_version} | fields
        encoded = protobuf.from_json(json.dumps(value).encode())
        assert json.loads(protobuf.to_json(encoded)) == value
        assert protobuf.from_json(protobuf.to_json(encoded)) == encoded

    comes_back()


def test_every_type_of_the_table_has_values() -> None:
    scalars = {"int32", "int64", *SCALAR_ZEROS}
    for name in schema_file().messages:
        for field in message_schema(name).fields:
            known = field.type_name in scalars | VALUES.keys() | UNIONS.keys()
            assert known or field.type_name in schema_file().messages, field


def test_the_table_is_of_the_kubernetes_that_is_pinned() -> None:
    pins = Path(__file__).parents[2] / "hack" / "controlplane" / "go.mod"
    found = re.search(r"k8s\.io/kubernetes v([0-9.]+)", pins.read_text(encoding="utf-8"))
    assert found is not None
    assert schema_file().kubernetes == found[1]
