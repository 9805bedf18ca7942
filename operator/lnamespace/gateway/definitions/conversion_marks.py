"""The mark on a CustomResourceDefinition whose objects cannot be listed.

It is a condition by which the API server takes no new objects of the kind, and by which discovery
lists no verb ``create``: Kubernetes' quota controller waits for no such kind. The API server itself
writes the condition, with other reasons, on a definition that is being deleted.

A definition of 1.5 MiB, which is what etcd takes, has no room for it. So the definition has a
reserve, which a short mark takes the place of.
"""

from collections.abc import Sequence

from lnamespace.gateway.definitions.definition import CustomResourceDefinition, DefinitionCondition
from lnamespace.gateway.definitions.definition_patches import (
    CLEAR_MANAGED_FIELDS,
    Operation,
    patch_definition,
    read_definition,
    true_condition,
)
from lnamespace.kube.client import Client
from lnamespace.kube.json_pointer import pointer_of
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS, RESERVE

TYPE = "Terminating"
REASON = "ConversionFails"
_MOST = 512
"""Characters of the webhook's own words: they are kept in etcd, and read by every watch."""
_SHORT = "the conversion webhook fails"


def tenant_of_definition(name: str) -> str:
    """Return the tenant of a definition by its name upstream."""
    return name.partition(".")[2].partition("-")[0]


def log_fields(name: str) -> dict[str, str]:
    """Return the fields of a log message about a definition."""
    return {"lcluster": tenant_of_definition(name), "definition": name}


def marked_since(definition: CustomResourceDefinition) -> str:
    """Return when a definition was marked; empty if it is not."""
    found = _mark_of(definition)
    return (found and found.last_transition_time) or ""


def _mark_of(definition: CustomResourceDefinition) -> DefinitionCondition | None:
    found = definition.condition(TYPE)
    is_mark = found and found[1].status == "True" and found[1].reason == REASON
    return found[1] if found and is_mark else None


def _is_reserved(definition: CustomResourceDefinition) -> bool:
    return RESERVE in (definition.metadata.annotations or {})


async def mark(client: Client, name: str, why: str) -> bool:
    """Mark a definition; one that has no room is marked in a few words, in place of its reserve.

    Return whether it had no mark before, of us or of the API server for its deletion. A tenant that
    writes all the time is always first: in the end it is marked as it is, whoever wrote since.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    for unchanged in (True, True, True, False):
        found = await read_definition(client, name)
        present = found and found.condition(TYPE)
        if found is None or (present and present[1].status == "True"):
            return False
        in_room = [*_shortened(found), *_marked(found, _SHORT)]
        version = found.metadata.resource_version if unchanged else ""
        operations = _marked(found, _message(why))
        if await patch_definition(client, f"{_path(name)}/status", version, operations, in_room):
            break
    return True


async def unmark(client: Client, name: str) -> None:
    """Remove the mark of a definition, which has its reserve again.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    found = await read_definition(client, name)
    present = found and found.condition(TYPE)
    if found and present and _mark_of(found) and not found.metadata.deletion_timestamp:
        removed = {"op": "remove", "path": f"/status/conditions/{present[0]}"}
        operations = [removed, *_restored_reserve(found)]
        await _patch_status(client, name, found, operations, [*_shortened(found), *operations])


async def make_room(client: Client, name: str) -> bool:
    """Mark a definition in a few words in place of its reserve, for what its deletion writes.

    Return whether it had no mark before.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses, or there is nothing that could go.
    """
    found = await read_definition(client, name)
    if found is None or found.metadata.deletion_timestamp:
        return False
    operations = [*_shortened(found), *_marked(found, _SHORT)]
    await _patch_status(client, name, found, operations, operations)
    return _mark_of(found) is None


def _marked(found: CustomResourceDefinition, message: str) -> list[Operation]:
    """Return operations that mark a definition, in place of a condition that says it is not."""
    condition = true_condition(TYPE, REASON, message)
    present = found.condition(TYPE)
    if present is None:
        return [{"op": "add", "path": "/status/conditions/-", "value": condition}]
    place = f"/status/conditions/{present[0]}"
    there: Operation = {"op": "test", "path": f"{place}/type", "value": TYPE}
    return [there, {"op": "replace", "path": place, "value": condition}]


def _shortened(found: CustomResourceDefinition) -> list[Operation]:
    """Return operations that remove from a definition parts that its tenant did not write."""
    if _is_reserved(found):
        return [{"op": "remove", "path": pointer_of(("metadata", "annotations", RESERVE))}]
    return [CLEAR_MANAGED_FIELDS] if found.metadata.managed_fields else []


def _restored_reserve(found: CustomResourceDefinition) -> list[Operation]:
    if _is_reserved(found):
        return []
    if found.metadata.annotations is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": DEFINITION_ANNOTATIONS}]
    return [
        {"op": "add", "path": pointer_of(("metadata", "annotations", key)), "value": value}
        for key, value in DEFINITION_ANNOTATIONS.items()
    ]


def _message(why: str) -> str:
    return (
        f"the conversion webhook fails: {why[:_MOST]}; objects of this kind cannot be listed, and "
        "no new ones are accepted until it converts again"
    )


def _path(name: str) -> str:
    return CUSTOM_RESOURCE_DEFINITION.path(name)


async def _patch_status(
    client: Client,
    name: str,
    found: CustomResourceDefinition,
    operations: Sequence[Operation],
    in_room: Sequence[Operation],
) -> None:
    path = f"{_path(name)}/status"
    await patch_definition(client, path, found.metadata.resource_version, operations, in_room)
