"""JSON is read at any depth that the API server takes, and Python's limit is then as before."""

import sys

import msgspec
import pytest
from lnamespace.nesting import at_any_depth

PAGE = msgspec.json.Decoder(dict[str, msgspec.Raw])


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [1, 999, 1_100, 10_000])
def test_what_the_api_server_takes_is_read(levels: int) -> None:
    limit = sys.getrecursionlimit()
    assert list(at_any_depth(PAGE.decode, nested(levels))) == ["a"]
    assert sys.getrecursionlimit() == limit


def test_what_is_deeper_is_not_read_and_ends_nothing() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        at_any_depth(PAGE.decode, nested(1_000_000))
    assert sys.getrecursionlimit() == limit


def test_another_failure_is_none_of_depth() -> None:
    with pytest.raises(msgspec.DecodeError):
        at_any_depth(PAGE.decode, b"{")
