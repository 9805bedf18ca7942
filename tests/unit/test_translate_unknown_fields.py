"""Fields that a kind does not have."""

from typing import Any

import pytest
from lnamespace.translate.protocol.protobuf.strictness import unknown_fields


@pytest.mark.parametrize(
    ("api_version", "kind", "subject", "unknown"),
    [
        ("authorization.k8s.io/v1", "SubjectAccessReview", {"spec": {"user": "u"}}, []),
        (
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            {"kind": "SubjectAccessReview", "bogus": 1, "spec": {"usr": "u"}},
            ["bogus", "spec.usr"],
        ),
        (
            "v1",
            "Pod",
            {"spec": {"containers": [{"name": "c"}, {"imag": "i"}], "kind": "x"}},
            ["spec.containers[1].imag", "spec.kind"],
        ),
        ("v1", "ConfigMap", {"data": {"any": "key"}, "metadata": {"labels": {"a": "b"}}}, []),
        ("apps/v1", "Deployment", {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}}, []),
        ("example.com/v1", "Widget", {"any": 1}, []),
    ],
)
def test_unknown_fields_are_reported_with_their_paths(
    api_version: str, kind: str, subject: Any, unknown: list[str]
) -> None:
    assert list(unknown_fields(api_version, kind, subject)) == unknown
