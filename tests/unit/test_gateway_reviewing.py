"""Access reviews at the gateway."""

from typing import Any

import msgspec
import pytest
from lnamespace.gateway.authorization.reviewing import unknown_field_warnings
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

REVIEWS = ResourceType(
    "authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)


def warned(spec: Any, validation: str = "Warn") -> list[str]:
    request = ResourceRequest("create", REVIEWS, "v1", query=(("fieldValidation", validation),))
    headers = unknown_field_warnings(request, msgspec.json.encode({"spec": spec}))
    return [text for _, text in headers]


def test_an_unknown_field_of_an_access_review_gives_a_warning() -> None:
    assert warned({"usr": 1}) == [r'299 - "unknown field \"spec.usr\""']
    assert warned({"usr": 1}, "Ignore") == []


def test_warnings_about_unknown_fields_are_limited_in_length() -> None:
    # Each of 300,000 fields became a header, and 4 MB of one were quoted letter by letter.
    many = {f"{number}{'a' * 300}": 1 for number in range(10_000)}
    for spec in (many, {"a" * 4_000_000: 1}):
        assert sum(map(len, warned(spec))) < 5_000
        with pytest.raises(Refused, match="strict decoding error: unknown field") as refused:
            warned(spec, "Strict")
        assert len(refused.value.status.message) < 5_000
