"""Defaults of a tenant's kinds make no object much longer than it was sent."""

from typing import Any

import pytest
from lnamespace.translate.objects.confinement.schema_defaults import MAX_OBJECT, MAX_RATIO
from lnamespace.translate.protocol.status import Refused

from tests.unit.test_translate_hostile_patches import sent

CRDS = "customresourcedefinitions"
SCHEMA = "/spec/versions/0/schema/openAPIV3Schema"
Schema = dict[str, Any]


def text(size: int) -> Schema:
    return {"type": "string", "default": "x" * size}


def with_members(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def listed(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items} | more


def mapped(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def written(schema: Schema) -> Any:
    body = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    return sent(CRDS, "patch", "application/merge-patch+json", body)


def in_turn(levels: int, schema: Schema) -> Schema:
    """Return a schema below levels of which each is there by default."""
    for _ in range(levels):
        schema = with_members(a=schema) | {"default": {}}
    return schema


ITEM = 3 * MAX_RATIO
"""Bytes that may be added to an item ``{},``."""
SHORT, LONG = text(ITEM // 2), text(ITEM * 5)
SOURCES = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"},
    "rbd": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "iscsi": {"iscsiInterface": "default"},
} | {f"{name}Ref": {"name": ""} for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i")}
"""The defaults of a pod's volume, as generators write them into many kinds."""
VOLUME = with_members(
    **{
        source: with_members(**{key: {"default": value} for key, value in members.items()})
        for source, members in SOURCES.items()
    }
)
NUMBER = {"type": "integer", "default": 0}


@pytest.mark.parametrize(
    "schema",
    [
        with_members(a=LONG),
        with_members(a=listed(with_members(protocol=SHORT))),
        with_members(a=listed(with_members(b=listed(with_members(c=SHORT))))),
        with_members(a=with_members(b=with_members()) | {"default": {"b": {}}}),
        with_members(a=mapped(SHORT)),
        with_members(a=listed(VOLUME)),
        pytest.param(with_members(a=listed(in_turn(4, text(20)))), id="one below the other"),
        pytest.param(
            with_members(a=listed(with_members(probe=with_members(b=text(8 * MAX_RATIO))))),
            id="an object that has to be written",
        ),
        with_members(a=listed(text(4 * MAX_RATIO))),
        pytest.param(
            with_members(
                a=listed(with_members(b=SHORT | {"default": "x"})) | {"default": [{}] * 9}
            ),
            id="a default of the whole object with items",
        ),
        with_members(a=listed(with_members(b={"type": "string", "default": None}))),
        with_members(a={"x-kubernetes-preserve-unknown-fields": True}),
        {},
    ],
)
def test_the_defaults_that_people_write_are_taken(schema: Schema) -> None:
    assert written(schema)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(with_members(a=listed(with_members(b=LONG))), id="items"),
        pytest.param(with_members(a=mapped(with_members(b=LONG))), id="values of a map"),
        pytest.param(with_members(a=listed(LONG)), id="items that are null"),
        pytest.param(with_members(a=mapped(LONG)), id="values that are null"),
        pytest.param(
            with_members(a=listed(with_members(b=SHORT, c=SHORT, d=SHORT))), id="many members"
        ),
        pytest.param(
            with_members(a=listed(with_members(b=with_members(c=LONG)))), id="members of members"
        ),
        pytest.param(
            with_members(
                a=listed(
                    with_members(b=listed(with_members(c=SHORT)) | {"default": [{}, {}, {}]}),
                )
            ),
            id="items of a default",
        ),
        pytest.param(
            with_members(a=listed(with_members(b=listed(SHORT) | {"default": [None] * 3}))),
            id="nulls of a default",
        ),
        pytest.param(
            with_members(a=listed(with_members(c=SHORT)) | {"default": [{}] * 9000}),
            id="items of a default of the whole object",
        ),
        pytest.param(
            with_members(a=listed(with_members(**{f"a{each}": NUMBER for each in range(20)}))),
            id="many short members",
        ),
        pytest.param(
            with_members(a=listed(with_members(a=listed({}) | {"default": [0] * 400}))),
            id="a default of many short items",
        ),
        pytest.param(with_members(a=text(MAX_OBJECT)), id="the whole object"),
        pytest.param(
            with_members(a=listed(with_members(b=with_members(c=text(10 * MAX_RATIO))))),
            id="an object that is soon written",
        ),
        pytest.param(with_members(a=listed(in_turn(16, text(100)))), id="one below the other"),
    ],
)
def test_defaults_that_multiply_are_refused(schema: Schema) -> None:
    """A body of 12 KB was encoded as 300 MB before etcd refused it."""
    with pytest.raises(Refused, match="the defaults may add"):
        written(schema)


@pytest.mark.parametrize(
    ("path", "value", "taken"),
    [
        (SCHEMA, with_members(a=listed(with_members(b=SHORT))), True),
        (SCHEMA, with_members(a=listed(with_members(b=LONG))), False),
        (f"{SCHEMA}/properties/a", listed(with_members(b=SHORT)), False),
        (f"{SCHEMA}/properties/a/items/properties/b/default", "x", False),
        (f"{SCHEMA}/properties/a/default", "x", True),
        (f"{SCHEMA}/properties/a/properties/b/default", 7, True),
        (f"{SCHEMA}/properties/a/default", {}, False),
        (f"{SCHEMA}/properties/a/default", None, False),
        (f"{SCHEMA}/properties/items/items/default", "x", False),
        (f"{SCHEMA}/properties/a/additionalProperties/default", "x", False),
        (f"{SCHEMA}/properties/a/description", "x", True),
        ("/spec/versions/-", {"name": "v2", "schema": {"openAPIV3Schema": LONG}}, True),
    ],
)
def test_a_json_patch_adds_defaults_that_multiply_with_the_whole_schema_only(
    path: str, value: Any, taken: bool
) -> None:
    """One after the other they have any sum."""
    patch = [{"op": "add", "path": path, "value": value}]
    if taken:
        assert sent(CRDS, "patch", "application/json-patch+json", patch) == patch
        return
    with pytest.raises(Refused):
        sent(CRDS, "patch", "application/json-patch+json", patch)
    removed = [{"op": "remove", "path": f"{SCHEMA}/properties/a/default"}]
    assert sent(CRDS, "patch", "application/json-patch+json", removed) == removed
