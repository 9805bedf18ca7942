"""Reviews: what the API server sends is read, everything else is refused; answers as it reads."""

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.admission.decisions.patch import PatchOperation
from lnamespace.admission.decisions.review import (
    AdmissionRequest,
    GroupVersionKind,
    allow,
    decode_review,
    deny,
)
from lnamespace.errors import ReviewError
from lnamespace.model.names import Names

from tests.unit.support.admission import GVK, NAMES, Json, creation, json_values, manifest

KIND = {"group": NAMES.group, "version": "v1beta1", "kind": "LNamespace"}
REQUEST = {
    "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
    "kind": KIND,
    "resource": {"group": NAMES.group, "version": "v1beta1", "resource": "lnamespaces"},
    "requestKind": KIND | {"version": "v1alpha1"},
    "name": "team-a",
    "operation": "CREATE",
    "userInfo": {
        "username": "alice",
        "uid": "014fbff9a07c",
        "groups": ["a", "system:authenticated"],
        "extra": {"k": ["v"]},
    },
    "object": manifest({}),
    "oldObject": None,
    "dryRun": False,
    "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
}


def body(request: Any = REQUEST, **more: Any) -> bytes:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review | more).encode()


def test_a_review_is_decoded() -> None:
    request = decode_review(body(), NAMES)
    assert request.uid == REQUEST["uid"]
    assert request.operation == "CREATE"
    assert request.user_info.username == "alice"
    assert request.user_info.groups == ("a", "system:authenticated")
    assert request.new == manifest({})
    assert request.old == {}
    assert request.kind == GVK
    assert request.sent_version == "v1alpha1"


def test_the_sent_version_is_that_of_the_object_without_a_request_kind() -> None:
    request = decode_review(body({k: v for k, v in REQUEST.items() if k != "requestKind"}), NAMES)
    assert request.sent_version == "v1beta1"


def test_a_deletion_has_only_an_old_object() -> None:
    request = decode_review(
        body(REQUEST | {"operation": "DELETE", "object": None, "oldObject": {"a": 1}}), NAMES
    )
    assert (request.new, request.old) == ({}, {"a": 1})


def without(*path: str) -> Json:
    """Return the request that lacks something."""
    found: Json = json.loads(json.dumps(REQUEST))
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return found


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b"not json",
        b"<AdmissionReview/>",
        b"\xff\xfe",
        b"\x00",
        body()[:-1],
        body() + b"x",
        b'"' + body() + b'"',
        # Three megabytes of nothing, and of something else.
        b" " * 3_000_000,
        b'{"apiVersion":"' + b"a" * 3_000_000,
        b'{"request":' * 200_000,
        b"[" * 200_000,
        b"[" * 3_000_000 + b"]" * 3_000_000,
        body(REQUEST | {"object": "x" * 3_000_000}),
        # Of another sort.
        body(apiVersion="admission.k8s.io/v1beta1"),
        body(apiVersion=""),
        body(apiVersion=None),
        body(kind="ConversionReview"),
        body(kind=7),
        body(request=None),
        body(request=[]),
        body(request="x"),
        body(response={}, request=None),
        # Of another kind of object.
        body(REQUEST | {"kind": KIND | {"group": "apps"}}),
        body(REQUEST | {"kind": KIND | {"kind": "Namespace"}}),
        body(REQUEST | {"kind": KIND | {"group": Names("example.com").group}}),
        body(REQUEST | {"kind": "LNamespace"}),
        body(REQUEST | {"kind": {}}),
        # Without what is needed, or in another type.
        body(without("uid")),
        body(REQUEST | {"uid": ""}),
        body(REQUEST | {"uid": 7}),
        body(REQUEST | {"uid": None}),
        body(without("kind")),
        body(without("operation")),
        body(REQUEST | {"operation": "create"}),
        body(REQUEST | {"operation": 1}),
        body(REQUEST | {"userInfo": "alice"}),
        body(REQUEST | {"userInfo": {"username": 7}}),
        body(REQUEST | {"userInfo": {"username": None}}),
        body(REQUEST | {"userInfo": {"username": "a", "groups": "b"}}),
        body(REQUEST | {"userInfo": {"username": "a", "groups": [1]}}),
        body(REQUEST | {"object": []}),
        body(REQUEST | {"object": "x"}),
        body(REQUEST | {"oldObject": 7}),
        body(REQUEST | {"name": 7}),
    ],
    ids=lambda sent: sent[:40].decode(errors="replace"),
)
def test_garbage_is_refused_with_a_short_message(sent: bytes) -> None:
    with pytest.raises(ReviewError) as refusal:
        decode_review(sent, NAMES)
    assert 0 < len(str(refusal.value)) < 500


@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()))
def test_arbitrary_bytes_raise_only_a_review_error(sent: bytes) -> None:
    with pytest.raises(ReviewError):
        decode_review(sent, NAMES)


@given(st.sampled_from(sorted(REQUEST)), json_values)
def test_a_review_with_any_value_in_a_field_is_decoded_or_refused(field: str, value: Any) -> None:
    with contextlib.suppress(ReviewError):
        assert isinstance(decode_review(body(REQUEST | {field: value}), NAMES), AdmissionRequest)


# Answers


def answered(raw: bytes) -> Json:
    answer = json.loads(raw)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert set(answer) == {"apiVersion", "kind", "response"}
    response: Json = answer["response"]
    assert response["uid"] == "r-1"
    return response


def test_an_allowed_request_has_no_patch_without_changes() -> None:
    assert answered(allow(creation())) == {"uid": "r-1", "allowed": True}


def test_a_patch_is_sent_as_base64() -> None:
    patch = (PatchOperation("add", "/spec/requester", "zoë"), PatchOperation("remove", "/a~1b"))
    response = answered(allow(creation(), patch=patch))
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"], validate=True)) == [
        {"op": "add", "path": "/spec/requester", "value": "zoë"},
        {"op": "remove", "path": "/a~1b"},
    ]


def test_a_refusal_has_a_status_and_no_patch() -> None:
    status = {"code": 422, "reason": "Invalid", "message": "no"}
    response = answered(deny(creation(), status, ("hm",)))
    assert response == {"uid": "r-1", "allowed": False, "status": status, "warnings": ["hm"]}


def test_warnings_stay_within_the_limits_of_the_api_server() -> None:
    """The API server cuts a warning at 256 characters, and all together at 4,096."""
    many = tuple(f"{i}" + "ä" * 1000 for i in range(100))
    shown = answered(allow(creation(), many))["warnings"]
    assert shown
    assert all(len(text) <= 256 and text.endswith("…") for text in shown)
    assert sum(len(text) for text in shown) <= 4096
    assert answered(allow(creation(), ("x" * 250,)))["warnings"] == ["x" * 250]


def test_the_kind_of_the_example_review_is_lnamespace() -> None:
    assert GroupVersionKind(*KIND.values()) == GVK
