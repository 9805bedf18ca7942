"""Generated objects of Kubernetes' own types, with any of their fields."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from lnamespace.translate.protocol.protobuf.schema import INLINE, FieldSchema, message_schema

WORDS = (
    "prod",
    "alice",
    "fast",
    "standard",
    "apps",
    "v1",
    "apps/v1",
    "example.com",
    "example.com/v1",
    "Widget",
    "Gadget",
    "Namespace",
    "Pod",
    "PersistentVolume",
    "PriorityClass",
    "User",
    "Group",
    "ServiceAccount",
    "Role",
    "ClusterRole",
    "system:authenticated",
    "system:serviceaccounts:prod",
    "system:serviceaccount:prod:sa",
    "kubernetes.io/metadata.name",
    "kubernetes.io/kube-apiserver-client",
    "pvc-cb23c200-f249-11ea-9039-3497f65a8415",
    "count/widgets.example.com",
    "fast.storageclass.storage.k8s.io/requests.storage",
    "*",
)
"""What fields hold that name something."""
TEXT = st.sampled_from(WORDS) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6
)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
# The first second of the year 1 is Go's for no time.
TIMES = st.datetimes(min_value=datetime(2, 1, 1))  # noqa: DTZ001 - the letter is added below
TEXTS = TIMES.map(lambda value: value.isoformat(timespec="microseconds"))
# Go has a year 0 too.
ALL_TEXTS = TEXTS | TEXTS.map(lambda text: f"0000{text[4:]}")
SECONDS = ALL_TEXTS.map(lambda text: f"{text[:19]}Z")
MICROSECONDS = ALL_TEXTS.map(lambda text: f"{text}Z")
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
