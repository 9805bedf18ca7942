"""Definitions in which a value is an object of its own."""

import json
from typing import Any

import pytest
from lnamespace.translate.objects.confinement.embedded_objects import embeds_objects

MARK = "x-kubernetes-embedded-resource"
EMBEDDED = {"type": "object", MARK: True}
PLAIN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def embeds(*schemas: Any, **metadata: Any) -> bool:
    versions = [{"name": f"v{at}", "schema": each} for at, each in enumerate(schemas)]
    return embeds_objects(
        json.dumps({"metadata": metadata, "spec": {"versions": versions}}).encode()
    )


def at(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with another one at a path: names, `*` for any name, `[]` for items."""
    for key in reversed(path.split(".")):
        if key == "[]":
            schema = {"type": "array", "items": schema}
        elif key == "*":
            schema = {"type": "object", "additionalProperties": schema}
        else:
            schema = {"type": "object", "properties": {key: schema}}
    return {"openAPIV3Schema": schema}


@pytest.mark.parametrize("path", ["x", "spec.x", "spec.[].x", "spec.*", "items.properties"])
def test_an_embedded_object_is_found_in_any_version(path: str) -> None:
    """Of a single version too: what is stored may be older than its schema."""
    assert embeds(at(path, EMBEDDED))
    assert embeds(at(path, PLAIN), at(path, EMBEDDED))
    assert embeds(at(path, EMBEDDED), at(path, EMBEDDED))
    assert not embeds(at(path, PLAIN), at("other", PLAIN))
    assert not embeds(None)


def test_what_kubectl_applied_before_is_no_schema() -> None:
    """A definition whose schemas are withheld keeps it, and was withheld again and again."""
    assert not embeds(at("x", PLAIN), annotations={"last": json.dumps(at("x", EMBEDDED))})


def test_a_definition_that_cannot_be_read_may_embed_objects() -> None:
    assert embeds_objects(b'{"spec":{"versions":7,"' + MARK.encode() + b'":1}}')
    assert not embeds_objects(b'{"spec":{"versions":7}}')
