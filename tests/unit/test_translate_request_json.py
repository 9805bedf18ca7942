"""Requests in each encoding reach the API server as the same JSON."""

import json

import pytest
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.protobuf.envelope import PREFIX
from lnamespace.translate.protocol.protobuf.wire import delimited
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import in_protobuf

CONFIG_MAPS = ResourceType("", "configmaps", "ConfigMap", namespaced=True)
WIDGETS = ResourceType("example.com", "widgets", "Widget", namespaced=True, custom=True)
CREATE = ResourceRequest("create", CONFIG_MAPS, "v1", namespace="prod")
DELETE = ResourceRequest("delete", CONFIG_MAPS, "v1", namespace="prod", name="a")
VIEW = TenantView("acme")
OBJECT = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "a", "namespace": "prod"},
    "data": {"a": "1"},
}
ENCODED = in_protobuf(json.dumps(OBJECT).encode())
YAML = b"""
kind: ConfigMap
apiVersion: v1
metadata: {name: a, namespace: prod}
data:
  a: "1"
"""


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("", json.dumps(OBJECT).encode()),
        ("application/json; charset=utf-8", json.dumps(OBJECT).encode()),
        ("application/vnd.kubernetes.protobuf", ENCODED),
        ("Application/YAML", YAML),
    ],
)
def test_an_object_is_translated_in_every_encoding(content_type: str, body: bytes) -> None:
    sent_as, sent = request_up(CREATE, content_type, body, VIEW)
    assert sent_as == "application/json"
    above = json.loads(sent)
    assert above["metadata"]["namespace"] == "acme-prod"
    assert above["data"] == OBJECT["data"]


def test_delete_options_in_protobuf_are_accepted_for_every_resource() -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
    encoded = in_protobuf(json.dumps(options).encode())
    for resource in (CONFIG_MAPS, WIDGETS):
        request = ResourceRequest("delete", resource, "v1", namespace="prod", name="a")
        sent = request_up(request, "application/vnd.kubernetes.protobuf", encoded, VIEW)
        assert json.loads(sent[1])["propagationPolicy"] == "Orphan"


def test_an_object_without_a_kind_gets_the_kind_of_the_request() -> None:
    body = PREFIX + delimited(2, b"")
    for request, kind in ((CREATE, "ConfigMap"), (DELETE, "DeleteOptions")):
        sent = request_up(request, "application/vnd.kubernetes.protobuf", body, VIEW)
        assert json.loads(sent[1])["kind"] == kind


@pytest.mark.parametrize(
    ("resource", "content_type", "accepted"),
    [
        (CONFIG_MAPS, "application/cbor", "application/vnd.kubernetes.protobuf"),
        (CONFIG_MAPS, "text/plain", "application/vnd.kubernetes.protobuf"),
        (WIDGETS, "application/vnd.kubernetes.protobuf", "application/yaml"),
    ],
)
def test_an_unsupported_content_type_is_answered_with_415(
    resource: ResourceType, content_type: str, accepted: str
) -> None:
    request = ResourceRequest("create", resource, "v1", namespace="prod")
    with pytest.raises(Refused) as refused:
        request_up(request, content_type, ENCODED, VIEW)
    assert refused.value.status.code == 415
    assert str(refused.value).endswith(accepted)


@pytest.mark.parametrize(
    "body",
    [b'{"\xff":1}', b'{"metadata":{"labels":{"a\xff":""}}}', b'{"data":{"a":"\xc3"}}', b"\xff"],
)
@pytest.mark.parametrize(
    ("verb", "content_type"),
    [
        ("create", "application/json"),
        ("create", ""),
        ("patch", "application/merge-patch+json"),
        ("patch", "application/strategic-merge-patch+json"),
        ("patch", "application/json-patch+json"),
        ("patch", "application/apply-patch+yaml"),
        ("create", "application/yaml"),
        ("create", "application/vnd.kubernetes.protobuf"),
    ],
)
def test_invalid_utf_8_is_a_bad_request(verb: str, content_type: str, body: bytes) -> None:
    request = ResourceRequest(verb, CONFIG_MAPS, "v1", namespace="prod", name="a")
    with pytest.raises(Refused) as refused:
        request_up(request, content_type, body, VIEW)
    assert refused.value.status.code == 400


def test_a_namespace_in_protobuf_is_always_the_tenants_own() -> None:
    other = OBJECT | {"metadata": {"name": "a", "namespace": "beta-prod"}}
    encoded = in_protobuf(json.dumps(other).encode())
    _, sent = request_up(CREATE, "application/vnd.kubernetes.protobuf", encoded, VIEW)
    assert json.loads(sent)["metadata"]["namespace"] == "acme-beta-prod"
