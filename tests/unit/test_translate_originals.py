"""What a tenant wrote comes back from the annotation that keeps it, however long it was."""

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.objects.confinement.originals import (
    EXPANSION,
    decode_original,
    encode_original,
)

ANNOTATIONS_MAX = 256 * 1024
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON, st.sampled_from([1, 4000]))
def test_a_kept_original_round_trips(value: Any, times: int) -> None:
    assert decode_original(encode_original([value] * times)) == [value] * times


def test_the_devices_of_a_full_resource_slice_fit_into_the_annotations() -> None:
    """128 devices with 32 attributes of 64 characters: Kubernetes' own spec writes as many."""
    attributes = {f"{'a' * 40}-{number:02}": {"string": "x" * 64} for number in range(32)}
    devices = [{"name": f"device-{number}", "attributes": attributes} for number in range(128)]
    assert len(json.dumps(devices)) > ANNOTATIONS_MAX
    assert len(encode_original(devices)) < ANNOTATIONS_MAX / 4


@given(st.integers(1, 2_000_000))
def test_the_expansion_of_a_compressed_original_is_limited(zeros: int) -> None:
    """A list of small objects upstream was gigabytes in the gateway."""
    value = "0" * zeros
    assert zeros <= len(encode_original(value)) * EXPANSION
    assert decode_original(encode_original(value)) == value


def test_a_short_original_is_stored_as_readable_json() -> None:
    assert encode_original({"a": 1}) == '{"a":1}'


@pytest.mark.parametrize(
    "text",
    [
        "zlib:",
        "zlib:!",
        "zlib:" + base64.b64encode(b"no stream").decode(),
        "zlib:" + base64.b64encode(zlib.compress(b"[1]")[:-3]).decode(),
        "zlib:" + base64.b64encode(zlib.compress(b" " * 2**24 + b"1")).decode(),
        "{",
        "[" * 5000,
    ],
)
def test_a_malformed_original_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="no original"):
        decode_original(text)
