"""Any object that the table of messages allows survives the way to protobuf and back."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from lnamespace.translate.protocol import protobuf
from lnamespace.translate.protocol.protobuf.decoding import SCALAR_ZEROS
from lnamespace.translate.protocol.protobuf.schema import message_schema, schema_file

from tests.unit.support.schema_objects import UNIONS, VALUES, objects_of
from tests.unit.support.translation import in_protobuf

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

EXAMPLES = max(15, settings().max_examples // 3)


@pytest.mark.parametrize("key", KINDS)
def test_an_object_of_each_kind_round_trips_through_protobuf(key: str) -> None:
    api_version, kind = key.split(" ")

    @settings(max_examples=EXAMPLES)
    @given(objects_of(schema_file().kinds[key], 4))
    def comes_back(fields: dict[str, Any]) -> None:
        value = {"kind": kind, "apiVersion": api_version} | fields
        encoded = in_protobuf(json.dumps(value).encode())
        assert json.loads(protobuf.to_json(encoded)) == value
        assert in_protobuf(protobuf.to_json(encoded)) == encoded

    comes_back()


def test_every_type_of_the_schema_is_covered_by_the_test_values() -> None:
    scalars = {"int32", "int64", *SCALAR_ZEROS}
    for name in schema_file().messages:
        for field in message_schema(name).fields:
            known = field.type_name in scalars | VALUES.keys() | UNIONS.keys()
            assert known or field.type_name in schema_file().messages, field


def test_the_schema_is_that_of_the_pinned_kubernetes_version() -> None:
    pins = Path(__file__).parents[2] / "hack" / "controlplane" / "go.mod"
    found = re.search(r"k8s\.io/kubernetes v([0-9.]+)", pins.read_text(encoding="utf-8"))
    assert found is not None
    assert schema_file().kubernetes == found[1]
