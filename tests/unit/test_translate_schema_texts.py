"""No text of a tenant's schema makes the OpenAPI document of the cluster unreadable."""

from typing import Any

import pytest
from lnamespace.translate.objects.confinement.schema_texts import MAX_KEY
from lnamespace.translate.protocol.status import Refused

from tests.unit.test_translate_hostile_patches import sent

CRDS = "customresourcedefinitions"
SCHEMA = "/spec/versions/0/schema/openAPIV3Schema"


def defined(**schema: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


def written(patch: Any) -> Any:
    kind = "json-patch" if isinstance(patch, list) else "merge-patch"
    return sent(CRDS, "patch", f"application/{kind}+json", patch)


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\x85", "\x9f", "\ufffe", "\uffff"])
def test_no_text_has_a_character_that_yaml_does_not_take(character: str) -> None:
    """By one in a description nobody had ``/openapi/v2`` in protobuf."""
    text = f"a{character}b"
    for schema in (
        {"description": text},
        {"properties": {text: {"type": "string"}}},
        {"properties": {"a": {"enum": ["b", text]}}},
        {"x-kubernetes-validations": [{"rule": f"self.a == '{text}'"}]},
        {"example": {"a": [{"b": text}]}},
    ):
        with pytest.raises(Refused, match="no text has the character"):
            written(defined(**schema))
    for operation in (
        {"op": "add", "path": f"{SCHEMA}/description", "value": text},
        {"op": "add", "path": f"{SCHEMA}/properties/{text}", "value": {"type": "string"}},
        {"op": "add", "path": "/spec/versions", "value": defined(title=text)["spec"]["versions"]},
    ):
        with pytest.raises(Refused, match="no text has the character"):
            written([operation])


def test_no_key_is_longer_than_yaml_takes_it() -> None:
    for key in ("k" * (MAX_KEY + 1), "<" * 1024):
        with pytest.raises(Refused, match="a key is longer"):
            written(defined(properties={key: {"type": "string"}}))


def test_other_texts_are_taken() -> None:
    kept = defined(
        description="größer\t\n\u00a0\u2028\ufeff\U0001f600" * 100,
        properties={"<" * MAX_KEY: {"type": "string"}},
    )
    assert written(kept) == kept
