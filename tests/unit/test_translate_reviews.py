"""What the webhooks of a tenant are asked has the tenant's own names, and so have their answers."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from lnamespace.gateway.upstream.requests import acting_value
from lnamespace.rbac.attributes import User
from lnamespace.translate.names.acting_users import (
    ACTING_EXTRA,
    PERSON_EXTRA,
    extra_value,
    user_info_down,
)
from lnamespace.translate.objects.translators import ForeignObject
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.webhooks.admission_reviews import AdmissionReview, read_admission_review
from lnamespace.translate.webhooks.conversion_reviews import (
    Conversion,
    ConversionReview,
    converted_kind,
    read_conversion_review,
)

from tests.unit.support.translation import ACME, LABEL

GATEWAY = "system:serviceaccount:lnamespace-system:lnamespace-gateway"
ENVELOPE = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}


def asked(plural: str, kind: str, group: str = "", **fields: Any) -> dict[str, Any]:
    """Return a question of the API server."""
    about = {
        "uid": "u",
        "kind": {"group": group, "version": "v1", "kind": kind},
        "resource": {"group": group, "version": "v1", "resource": plural},
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:lnamespace-clusters:acme"},
    }
    return {**ENVELOPE, "request": about | fields}


def review(question: Any) -> tuple[AdmissionReview, Any]:
    """Return a question as the webhook is asked it."""
    read = read_admission_review(json.dumps(question).encode(), ACME)
    return read, json.loads(read.body)["request"]


def answered(read: AdmissionReview, **response: Any) -> Any:
    """Return what the API server is answered."""
    answer = {**ENVELOPE, "response": {"uid": "u", "allowed": True} | response}
    return json.loads(read.answer_up(json.dumps(answer).encode(), ACME))["response"]


def patch(*operations: Any) -> dict[str, str]:
    """Return what a mutating webhook answers."""
    text = json.dumps(operations).encode()
    return {"patchType": "JSONPatch", "patch": base64.b64encode(text).decode()}


POD = asked(
    "pods",
    "Pod",
    name="a",
    namespace="acme-prod",
    object={"metadata": {"name": "a", "namespace": "acme-prod"}},
    oldObject=None,
)
NAMESPACE = asked(
    "namespaces",
    "Namespace",
    name="acme-prod",
    namespace="acme-prod",
    object={"metadata": {"name": "acme-prod", "labels": {LABEL: "acme"}}},
)
WIDGET = asked(
    "widgets",
    "Widget",
    "acme-example.com",
    name="w",
    namespace="acme-prod",
    object={"apiVersion": "acme-example.com/v1", "metadata": {"namespace": "acme-prod"}},
)


@pytest.mark.parametrize("question", [POD, NAMESPACE, WIDGET])
def test_an_admission_review_contains_no_names_of_the_platform(question: Any) -> None:
    _, below = review(question)
    assert "acme" not in json.dumps(below)
    assert "lnamespace" not in json.dumps(below)
    assert below["kind"].keys() == question["request"]["kind"].keys()
    assert below.keys() == question["request"].keys()


def test_the_user_of_a_review_is_the_acting_user_of_the_tenant() -> None:
    user = User("ann\u00e9 x%", "7", ("devs", "a\nb"), {"a=b": ("c=d", "e")})
    value = extra_value(acting_value(user))
    assert value.isascii()
    assert value.isprintable()
    assert " " not in value
    account = "system:serviceaccount:lnamespace-clusters:acme"
    assert user_info_down({"username": account, "extra": {ACTING_EXTRA: [value]}}, ACME) == {
        "username": "ann\u00e9 x%",
        "uid": "7",
        "groups": ["devs", "a\nb"],
        "extra": {"a=b": ["c=d", "e"]},
    }


@pytest.mark.parametrize(
    ("username", "told"),
    [
        ("system:serviceaccount:acme-prod:robot", "system:serviceaccount:prod:robot"),
        ("system:serviceaccount:kube-system:job-controller", None),
        ("system:kube-controller-manager", None),
        ("system:apiserver", None),
        ("system:serviceaccount:kube-system:cilium-operator", "system:platform"),
        ("kube-scheduler", "system:platform"),
        ("ceo@platform.example", "system:platform"),
        ("system:node:rack-7", "system:platform"),
        ("system:serviceaccount:lnamespace-system:lnamespace-controller", "system:platform"),
        ("system:serviceaccount:beta-prod:robot", "system:platform"),
    ],
)
def test_users_of_the_platform_are_hidden_in_a_review(username: str, told: str | None) -> None:
    assert user_info_down({"username": username}, ACME)["username"] == (told or username)


@pytest.mark.parametrize(
    ("user", "own"),
    [
        ({"username": "system:serviceaccount:acme-prod:robot"}, True),
        ({"username": GATEWAY, "extra": {PERSON_EXTRA: ["ann"]}}, True),
        ({"username": GATEWAY}, False),
        ({"username": "system:serviceaccount:beta-prod:robot"}, False),
        ({"username": "system:serviceaccount:kube-system:job-controller", "extra": {}}, False),
    ],
)
def test_writers_for_one_tenant_are_distinguished_from_writers_for_all(
    user: dict[str, Any], own: bool
) -> None:
    read, _ = review({"request": POD["request"] | {"userInfo": user}} | ENVELOPE)
    assert read.of_tenant is own


def test_the_patch_of_a_webhook_is_checked_like_a_patch_of_the_tenant() -> None:
    read, _ = review(NAMESPACE)
    response = answered(read, **patch({"op": "add", "path": "/metadata/labels", "value": {}}))
    (operation,) = json.loads(base64.b64decode(response["patch"]))
    assert operation["value"][LABEL] == "acme"
    own = LABEL.replace("/", "~1")
    operation = {"op": "add", "path": f"/metadata/labels/{own}", "value": "beta"}
    stolen = answered(read, **patch(operation))
    assert not stolen["allowed"]
    assert "the patch of the webhook: " in stolen["status"]["message"]
    assert "patch" not in stolen


@pytest.mark.parametrize("path", ["", "/metadata"])
def test_a_webhook_changes_no_managed_fields(path: str) -> None:
    """The API server stored a time that it could not read, and nobody could list the kind."""
    read, _ = review(POD)
    metadata = {"name": "web", "managedFields": [{"time": "9999-12-31T23:59:59-10:00"}]}
    whole = {"op": "replace", "path": path, "value": metadata if path else {"metadata": metadata}}
    late = {"op": "add", "path": "/metadata/managedFields/0/time", "value": "9999"}
    label = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
    response = answered(read, **patch(whole, late, label))
    first, *others = json.loads(base64.b64decode(response["patch"]))
    assert "managedFields" not in json.dumps(first)
    assert "web" in json.dumps(first)
    assert others == [label]


def test_a_webhook_response_cannot_set_audit_annotations() -> None:
    read, _ = review(POD)
    response = answered(read, auditAnnotations={"a": "b"}, warnings=["mind the gap"])
    assert response == {"uid": "u", "allowed": True, "warnings": ["mind the gap"]}


@pytest.mark.parametrize(
    "about",
    [
        {"namespace": "beta-prod"},
        {"namespace": "kube-system"},
        {"object": {"metadata": {"namespace": "beta-prod"}}},
    ],
)
def test_a_review_about_objects_of_others_is_not_forwarded(about: Any) -> None:
    with pytest.raises(ForeignObject):
        review({**POD, "request": POD["request"] | about})


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"request":7}', b'{"request":{"kind":7}}'])
def test_a_malformed_review_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        read_admission_review(body, ACME)


def to_convert(*objects: Any, version: str = "acme-new.example.com/v2") -> ConversionReview:
    """Return the review of some objects upstream."""
    question = {"uid": "u", "desiredAPIVersion": version, "objects": objects}
    return read_conversion_review(json.dumps({"request": question}).encode(), ACME)


def stored(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "acme-new.example.com/v1", "kind": "G", "metadata": metadata}


def converted(review: ConversionReview) -> Conversion:
    """Return the answer of a webhook that counts the objects that it converts."""
    below = json.loads(review.body)["request"]
    objects = [
        each | {"apiVersion": below["desiredAPIVersion"], "n": number}
        for number, each in enumerate(below["objects"])
    ]
    response = {"uid": "u", "convertedObjects": objects, "result": {"status": "Success"}}
    return review.answer_up(json.dumps({"response": response}).encode(), ACME)


@pytest.mark.parametrize("metadata", [{"name": "acme-g"}, {"name": "w", "namespace": "acme-prod"}])
def test_a_conversion_round_trips(metadata: dict[str, str]) -> None:
    labels = {} if "namespace" in metadata else {"labels": {LABEL: "acme"}}
    old = stored(**metadata | labels)
    review = to_convert(old)
    assert b"acme" not in review.body
    body, failure = converted(review)
    assert not failure
    wanted = old | {"apiVersion": "acme-new.example.com/v2", "n": 0}
    assert json.loads(body)["response"]["convertedObjects"] == [wanted]


def test_a_conversion_of_a_foreign_object_leaves_the_others_to_the_webhook() -> None:
    """One object in a namespace of another LCluster, and no list of the kind was converted."""
    foreign = stored(name="cuckoo", namespace="beta-default") | {"n": 1e300}
    first, last = (stored(name=name, namespace="acme-prod") for name in ("a", "b"))
    review = to_convert(first, foreign, last)
    assert b"cuckoo" not in review.body
    objects = json.loads(converted(review).body)["response"]["convertedObjects"]
    version = {"apiVersion": "acme-new.example.com/v2"}
    assert objects == [first | version | {"n": 0}, foreign | version, last | version | {"n": 1}]


def test_a_webhook_is_not_asked_about_foreign_objects_alone() -> None:
    review = to_convert(stored(name="cuckoo", namespace="beta-default"))
    assert not review.body
    answer = json.loads(review.answer_without_webhook())["response"]
    assert answer["convertedObjects"][0]["metadata"]["name"] == "cuckoo"


def test_objects_under_deletion_are_converted_without_the_webhook() -> None:
    """A Service that was gone kept the Namespaces of an LCluster, and it, from going."""
    old = stored(name="acme-g", labels={LABEL: "acme"}) | {"n": 1e300}
    answer = json.loads(to_convert(old).answer_without_webhook())
    assert answer["response"] == {
        "uid": "u",
        "convertedObjects": [old | {"apiVersion": "acme-new.example.com/v2"}],
        "result": {"status": "Success"},
    }


def test_a_conversion_response_with_too_many_objects_is_refused() -> None:
    """Half a million empty objects were translated one by one, and nothing else was answered."""
    many = {"response": {"uid": "u", "convertedObjects": [{}, {}]}}
    review = to_convert(stored(name="w", namespace="acme-prod"))
    with pytest.raises(Refused, match="returned 2 objects, expected 1"):
        review.answer_up(json.dumps(many).encode(), ACME)


def test_an_object_that_the_api_server_takes_for_a_list_is_not_converted_into() -> None:
    """In what clients write an admission policy refuses the field, before it is converted."""
    review = to_convert(stored(name="w", namespace="acme-prod"))
    response = {"convertedObjects": [stored(name="w", namespace="prod") | {"items": None}]}
    with pytest.raises(Refused, match="items"):
        review.answer_up(json.dumps({"response": response}).encode(), ACME)


def test_null_fields_in_a_webhook_response_are_ignored() -> None:
    read, _ = review(POD)
    assert answered(read, patch=None, patchType=None) == {"uid": "u", "allowed": True}


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        ({"status": "Failure", "message": "no"}, "no"),
        ({"status": "Failure", "message": None}, "the webhook fails"),
        ({"status": "Success"}, "the webhook converts nothing"),
        (None, "the webhook fails"),
    ],
)
def test_a_webhook_that_converts_nothing_has_failed(result: Any, failure: str) -> None:
    response = {"uid": "u", "convertedObjects": None, "result": result}
    asked = to_convert(stored(name="w", namespace="acme-prod"))
    found = asked.answer_up(json.dumps({"response": response}).encode(), ACME)
    assert found.failure == failure
    assert json.loads(found.body)["response"]["result"] == result


def test_the_kind_of_a_failed_conversion_is_known_from_its_review() -> None:
    kind = ResourceType("shop.example.com", "carts", "Cart", namespaced=True, custom=True)
    view = replace(ACME, resources=ResourceTable((kind,)))
    cart = {"apiVersion": "acme-shop.example.com/v1", "kind": "Cart"}
    objects = [cart | {"metadata": {"namespace": each}} for each in ("acme-a", "beta-b")]
    request = {"desiredAPIVersion": "acme-shop.example.com/v2", "objects": objects}
    body = json.dumps({"request": request}).encode()
    assert converted_kind(body, view) == kind
    assert converted_kind(body, ACME) is None


def test_a_webhook_patch_of_role_references_is_refused() -> None:
    """Who may write them was judged by a dry run, in which a webhook may answer otherwise."""
    read, _ = review(
        asked("rolebindings", "RoleBinding", "rbac.authorization.k8s.io", namespace="acme-prod")
    )
    role = {"op": "replace", "path": "/roleRef", "value": {"kind": "Role", "name": "admin"}}
    assert not answered(read, **patch(role))["allowed"]
    assert answered(read, **patch({"op": "add", "path": "/metadata/labels", "value": {}}))["patch"]


@pytest.mark.parametrize("path", ["", "/spec", "/spec/versions", "/spec/versions/0/schema/a"])
def test_a_webhook_adds_nothing_to_the_schemas_of_a_definition(path: str) -> None:
    """Only what tenants send is counted: by itself a webhook filled the API server's memory."""
    read, _ = review(
        asked(
            "customresourcedefinitions",
            "CustomResourceDefinition",
            "apiextensions.k8s.io",
            name="carts.acme-example.com",
        )
    )
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]
    added = {"": {"spec": {"versions": versions}}, "/spec": {"versions": versions}}
    grown = {"op": "add", "path": path, "value": added.get(path, versions)}
    assert "nothing to the schemas" in answered(read, **patch(grown))["status"]["message"]
    labelled = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
    assert answered(read, **patch(labelled))["patch"]
