"""What the API server is answered when it asks for objects in another version."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.admission.decisions.conversion import OBJECT_MAX, OBJECTS_MAX, convert
from lnamespace.errors import ReviewError
from lnamespace.model import v1alpha1
from lnamespace.model.conversion import annotation_key
from lnamespace.model.lnamespace import VERSION
from lnamespace.model.names import Names

Json = dict[str, Any]

NAMES = Names()
NEWER, OLDER = f"{NAMES.group}/{VERSION}", f"{NAMES.group}/{v1alpha1.VERSION}"


def lns(name: str, version: str = NEWER, note: str | None = None) -> Json:
    metadata: Json = {"name": name, "uid": f"u-{name}"}
    if note is not None:
        metadata["annotations"] = {annotation_key(NAMES): note}
    spec = {"users": [{"kind": "User", "name": name, "namespace": ""}]}
    return {"apiVersion": version, "kind": "LNamespace", "metadata": metadata, "spec": spec}


def review(desired: Any, *objects: Any, **more: Any) -> bytes:
    request = {"uid": "r-1", "desiredAPIVersion": desired, "objects": objects}
    whole = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    return json.dumps(whole | {"request": request} | more).encode()


def asked(desired: str, *objects: Any) -> Json:
    answer = json.loads(convert(review(desired, *objects), NAMES))
    assert (answer["apiVersion"], answer["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    response: Json = answer["response"]
    assert response["uid"] == "r-1"
    return response


def test_all_objects_are_returned_in_their_order_whatever_their_version() -> None:
    names = ["c", "a", "b", "a"]
    given_ = [lns(name, version) for name, version in zip(names, [OLDER, NEWER] * 2, strict=True)]
    for desired in (OLDER, NEWER):
        response = asked(desired, *given_)
        assert response["result"] == {"status": "Success"}
        assert response["convertedObjects"] == [lns(name, desired) for name in names]


def test_an_empty_list_stays_empty() -> None:
    assert asked(OLDER)["convertedObjects"] == []


@pytest.mark.parametrize(
    ("desired", "item", "words"),
    [
        (f"{NAMES.group}/v9", lns("a"), "v9"),
        (f"{NAMES.group}/", lns("a"), "no version of tenancy.loblaw.digital"),
        ("tenancy.example.com/v1beta1", lns("a"), "only versions of tenancy.loblaw.digital"),
        ("", lns("a"), "only versions of"),
        (OLDER, lns("team-a", "v1"), "objects[1] 'team-a': apiVersion"),
        (OLDER, lns("team-a") | {"kind": "Pod"}, "objects[1]: not an LNamespace"),
        (OLDER, lns("team-a") | {"metadata": 7}, "objects[1]: not an LNamespace"),
        (OLDER, None, "objects[1]: not an LNamespace"),
        (OLDER, "text", "objects[1]: not an LNamespace"),
        (OLDER, [], "objects[1]: not an LNamespace"),
        (OLDER, {}, "objects[1]: not an LNamespace"),
        (OLDER, {"kind": "`$[7]"}, "objects[1]: not an LNamespace"),
        (OLDER, lns("a", note="x" * OBJECT_MAX), f"objects[1]: larger than {OBJECT_MAX} bytes"),
    ],
)
def test_an_object_that_cannot_be_converted_is_named(desired: str, item: Any, words: str) -> None:
    response = asked(desired, lns("good"), item)
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failed"
    assert words in response["result"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'"text"',
        b"[" * 100_000,
        b'{"request": ' * 10_000,
        review(OLDER)[:-1],
        review(OLDER, apiVersion="apiextensions.k8s.io/v1beta1"),
        review(OLDER, kind="AdmissionReview"),
        review(OLDER, request=None),
        review(OLDER, request={}),
        review(OLDER, request={"uid": "", "desiredAPIVersion": OLDER}),
        review(OLDER, request={"uid": "r", "desiredAPIVersion": OLDER, "objects": {}}),
        review(7),
    ],
)
def test_a_body_that_is_no_conversion_review_is_refused(body: bytes) -> None:
    with pytest.raises(ReviewError, match="ConversionReview"):
        convert(body, NAMES)


def peak(body: bytes) -> tuple[Json, float]:
    """Return the response, and how many times the bytes of the question it took to make it."""
    tracemalloc.start()
    try:
        answer = convert(body, NAMES)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    response: Json = json.loads(answer)["response"]
    return response, most / len(body)


def raw_review(objects: bytes) -> bytes:
    return review(OLDER, "HERE").replace(b'"HERE"', objects)


@pytest.mark.parametrize("item", [b"[]", b"{}", b"0", b'{"kind":"LNamespace"}'])
def test_millions_of_empty_objects_take_little_memory(item: bytes) -> None:
    response, times = peak(raw_review(b",".join([item] * (2**22 // len(item)))))
    assert response["result"]["status"] == "Failed"
    assert times < 3


def test_a_page_of_large_objects_takes_the_memory_of_request_and_answer() -> None:
    objects = [lns(f"a{n}") | {"status": [[]] * 5_000} for n in range(40)]
    response, times = peak(review(OLDER, *objects))
    assert len(response["convertedObjects"]) == 40
    assert times < 2


def test_the_number_of_objects_is_limited() -> None:
    item = json.dumps(lns("a")).encode()
    response = json.loads(convert(raw_review(b",".join([item] * OBJECTS_MAX)), NAMES))["response"]
    assert len(response["convertedObjects"]) == OBJECTS_MAX
    answer = convert(raw_review(b",".join([item] * (OBJECTS_MAX + 1))), NAMES)
    assert f"at most {OBJECTS_MAX}" in json.loads(answer)["response"]["result"]["message"]


@given(st.text(min_size=1))
def test_the_answer_has_the_uid_of_the_request(uid: str) -> None:
    body = review(OLDER, request={"uid": uid, "desiredAPIVersion": OLDER, "objects": [lns("a")]})
    response = json.loads(convert(body, NAMES))["response"]
    assert (response["uid"], response["convertedObjects"]) == (uid, [lns("a", OLDER)])


@given(st.text())
def test_a_hostile_annotation_does_not_fail_the_conversion_of_a_list(text: str) -> None:
    for desired in (NEWER, OLDER):
        response = asked(desired, lns("a"), lns("eve", OLDER, text), lns("eve", NEWER, text))
        assert response["result"] == {"status": "Success"}
        assert len(response["convertedObjects"]) == 3


@given(st.binary())
def test_any_bytes_are_answered_or_refused(body: bytes) -> None:
    with pytest.raises(ReviewError):
        convert(body, NAMES)


@pytest.mark.parametrize("levels", [900, 1_100, 9_900])
def test_the_deepest_managed_fields_do_not_fail_the_conversion_of_a_list(levels: int) -> None:
    """Anybody who may write an LNamespace can nest fields so; every list was refused then."""
    deep = b'{"f:a":' * levels + b"{}" + b"}" * levels
    body = review(OLDER, lns("a"), lns("b")).replace(
        b'"uid": "u-b"', b'"uid": "u-b", "managedFields": [{"fieldsV1":' + deep + b"}]"
    )
    answer = convert(body, NAMES)
    assert deep in answer
    assert b'"status":"Success"' in answer
