"""Reads and patches of tenants' CustomResourceDefinitions by the gateway itself.

Tenants write them at the same time, and may have filled them up to what etcd takes.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lnamespace.errors import Conflict, NoRoom, NotFound
from lnamespace.gateway.definitions.definition import CustomResourceDefinition, definition_decoder
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.kube.times import present_time

Operation = dict[str, Any]

CLEAR_MANAGED_FIELDS: Operation = {
    "op": "replace",
    "path": "/metadata/managedFields",
    "value": [{}],
}
"""One empty entry is how a client forgets who owns which field."""


def true_condition(kind: str, reason: str, message: str) -> dict[str, str]:
    """Return a condition of a definition that is true from now on."""
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": present_time(),
    }


def at_version(at: int, name: str, operation: Operation) -> list[Operation]:
    """Return an operation on a version of a definition, which has to be in its place."""
    return [_test(f"/spec/versions/{at}/name", name), operation]


def _test(path: str, value: str) -> Operation:
    return {"op": "test", "path": path, "value": value}


async def read_definition(client: Client, name: str) -> CustomResourceDefinition | None:
    """Return a definition by its name upstream; None if it does not exist.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    try:
        return decode(definition_decoder, await client.get(CUSTOM_RESOURCE_DEFINITION.path(name)))
    except NotFound:
        return None


async def patch_definition(
    client: Client,
    path: str,
    version: str,
    operations: Sequence[Operation],
    in_room: Sequence[Operation] | None = None,
) -> bool:
    """Patch a definition; return whether it was still as the operations say.

    Parameters
    ----------
    path
        Of the definition or of its status, by which the API server takes annotations too.
    version
        The resource version that it has to have; empty: the operations test what matters, and it is
        patched though its tenant writes labels all the time.
    in_room
        The operations where there is no room for the others; None: they are the same, and nobody
        owns any field any more.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    unchanged = [_test("/metadata/resourceVersion", version)] if version else []
    shorter = [*operations, CLEAR_MANAGED_FIELDS] if in_room is None else in_room
    with suppress(Conflict, NotFound):
        try:
            await client.patch_json(path, [*unchanged, *operations])
        except NoRoom:
            await client.patch_json(path, [*unchanged, *shorter])
        return True
    return False  # somebody was first; it is looked at again
