"""Objects that are spliced come down as those that are decoded."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.bodies.answers import AnswerTranslator
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.translators import ForeignObject
from lnamespace.translate.protocol.request import ResourceRequest

from tests.unit.support.translation import ACME, LABEL, TYPES, asked

NAMESPACED = sorted(plural for plural, each in TYPES.items() if each.namespaced)
HEAD = {"name": "one", "namespace": "acme-prod", "uid": "u"}
words = st.sampled_from(
    ["x", "acme", "acme-prod", "acme-x", '"namespace":"acme-', "é\\\n", LABEL, "acmeacme"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(words, below, max_size=2),
    max_leaves=5,
)
keys = st.sampled_from(["spec", "status", "data", "type", "subsets", "roleRef", "involvedObject"])
metadata_keys = st.sampled_from(
    ["labels", "annotations", "managedFields", "ownerReferences", "generateName"]
)


class Decoding(AnswerTranslator):
    """Translate everything along its plan."""

    def _namespace_splice(self) -> None:
        return None


def decoded(request: ResourceRequest, body: bytes, view: TenantView = ACME) -> bytes | None:
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    try:
        return msgspec.json.encode(Decoding(request, view).answer(members))
    except ForeignObject:
        return None


def spliced(plural: str, body: Any, **more: Any) -> bytes | None:
    return AnswerTranslator(asked(plural, **more), ACME).spliced(msgspec.json.encode(body))


@pytest.mark.parametrize("plural", NAMESPACED)
@given(st.dictionaries(metadata_keys, values, max_size=2), st.dictionaries(keys, values))
def test_a_spliced_object_equals_the_decoded_and_translated_object(
    plural: str, metadata: dict[str, Any], rest: dict[str, Any]
) -> None:
    body = msgspec.json.encode({"metadata": HEAD | metadata, **rest})
    request = asked(plural)
    found = AnswerTranslator(request, ACME).spliced(body)
    assert found in (None, decoded(request, body))


@pytest.mark.parametrize("plural", ["configmaps", "secrets", "pods", "deployments", "services"])
def test_most_objects_are_spliced(plural: str) -> None:
    body = {"kind": "Any", "apiVersion": "v1", "metadata": HEAD, "data": {"a": "b"}}
    assert spliced(plural, body) == msgspec.json.encode(body).replace(b"acme-", b"")


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": HEAD | {"namespace": "beta-prod"}},
        {"metadata": HEAD | {"namespace": "acmeprod"}},
        {"metadata": HEAD | {"labels": {LABEL: "beta"}}},
        {"metadata": HEAD, "data": {"a": "acme"}},
        {"metadata": {"namespace": "acme-prod", "name": "one"}},
        {"data": {}, "metadata": HEAD},
        {"data": {"a": '{"metadata":{"name":"one","namespace":"acme-prod"'}},
        {"kind": "Status", "apiVersion": "v1", "metadata": HEAD},
        {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": HEAD},
        [{"metadata": HEAD}],
    ],
)
def test_objects_that_need_more_translation_are_not_spliced(body: Any) -> None:
    assert spliced("configmaps", body) is None


def test_a_token_is_not_spliced() -> None:
    """The namespace in it is in base64, where the tenant's name is not found."""
    kind = "kubernetes.io/service-account-token"
    data = {"namespace": "YWNtZS1wcm9k"}
    assert spliced("secrets", {"metadata": HEAD, "data": data, "type": kind}) is None


@pytest.mark.parametrize("plural", ["roles", "rolebindings", "widgets", "namespaces"])
def test_kinds_with_translation_rules_are_not_spliced(plural: str) -> None:
    assert spliced(plural, {"metadata": HEAD}) is None


def test_an_object_of_a_tenant_named_like_a_json_key_is_not_spliced() -> None:
    view = TenantView("metadata", ACME.resources)
    body = msgspec.json.encode({"metadata": HEAD | {"namespace": "metadata-prod"}})
    translator = AnswerTranslator(asked("configmaps"), view)
    assert translator.spliced(body) is None
    assert translator.item(msgspec.json.decode(body, type=dict[str, msgspec.Raw]))


@pytest.mark.parametrize("in_pod", [False, True])
def test_a_spliced_list_equals_the_decoded_and_translated_list(in_pod: bool) -> None:
    view = TenantView("acme", ACME.resources, in_pod=in_pod)
    plain = [{"metadata": HEAD | {"name": f"n{number}"}} for number in range(3)]
    named = [*plain, {"metadata": HEAD | {"name": "acme-n"}}]
    for items in (plain, named):
        listed = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}
        body, request = msgspec.json.encode(listed), asked("configmaps", "list")
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        found = msgspec.json.encode(AnswerTranslator(request, view).answer(members))
        assert found == decoded(request, body, view)
        assert (b"acme-prod" in found) == in_pod


def test_an_event_of_a_watch_is_spliced() -> None:
    translator = AnswerTranslator(asked("configmaps", "watch"), ACME)
    event = {"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": HEAD}}
    frame = msgspec.json.encode(event)
    assert translator.spliced_event(frame) == frame.replace(b"acme-", b"")
    assert translator.spliced_event(frame.replace(b"ADDED", b"BOOKMARK")) is None
