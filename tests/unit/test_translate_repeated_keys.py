"""Keys that are written twice, which the API server is to see."""

import pytest
from lnamespace.kube.media_types import JSON
from lnamespace.translate.bodies.encoded import request_up
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
