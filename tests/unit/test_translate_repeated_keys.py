"""Keys that are written twice, which the API server is to see."""

import json
from dataclasses import replace

import pytest
from lnamespace.kube.media_types import JSON
from lnamespace.translate.bodies.encoded import request_up
from lnamespace.translate.objects.default_classes import INGRESS_CLASSES
from lnamespace.translate.protocol.repeated import has_repeated_keys

from tests.unit.support.translation import ACME, asked

LONG = b"1" * 5_000
TWICE = b'{"labels":{"a":"1","a":"2"}}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":' + TWICE + b',"spec":{"replicas":' + LONG + b"}}",
        b'{"spec":{"replicas":' + LONG + b'},"metadata":' + TWICE + b"}",
    ],
)
def test_a_duplicate_key_beside_a_long_number_is_detected(body: bytes) -> None:
    # Python makes no number of more than 4,300 digits; it was answered with 500, or overlooked.
    assert has_repeated_keys(body)
    _, above = request_up(asked("deployments", "update"), JSON, body, ACME)
    assert LONG in above


@pytest.mark.parametrize(
    "spec", [b'"spec":{"rules":[]}', b'"spec":{},"spec":{"rules":[]}', b'"a":1']
)
def test_an_object_with_a_duplicate_key_gets_the_default_class(spec: bytes) -> None:
    """It got the platform's, which no tenant sees."""
    view = replace(ACME, default_classes={INGRESS_CLASSES: "acme-mine"})
    _, above = request_up(asked("ingresses", "create"), JSON, b'{"a":1,"a":2,' + spec + b"}", view)
    assert above.startswith(b'{"a":1,"a":2')
    assert json.loads(above)["spec"]["ingressClassName"] == "acme-mine"
