"""JSON is read at any depth that the API server takes, and Python's limit is then as before."""

import sys

import msgspec
import pytest
from lnamespace.nesting import at_any_depth

PAGE = msgspec.json.Decoder(dict[str, msgspec.Raw])


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [1, 999, 1_100, 10_000])
def test_json_nested_as_deeply_as_the_api_server_allows_is_decoded(levels: int) -> None:
    limit = sys.getrecursionlimit()
    assert list(at_any_depth(PAGE.decode, nested(levels))) == ["a"]
    assert sys.getrecursionlimit() == limit


def test_deeper_json_raises_recursion_error_and_restores_the_recursion_limit() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        at_any_depth(PAGE.decode, nested(1_000_000))
    assert sys.getrecursionlimit() == limit


def test_malformed_json_raises_its_decode_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        at_any_depth(PAGE.decode, b"{")
