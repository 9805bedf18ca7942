"""The mark on a CustomResourceDefinition whose objects cannot be listed.

It is a condition by which the API server takes no new objects of the kind, and by which discovery
lists no verb ``create``: Kubernetes' quota controller waits for no such kind. The API server itself
writes the condition, with other reasons, on a definition that is being deleted.
"""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from lnamespace.errors import Conflict, NotFound
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION

TYPE = "Terminating"
REASON = "ConversionFails"
_MOST = 512
"""Characters of the webhook's own words: they are kept in etcd, and read by every watch."""


class _MarkCondition(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    reason: str = ""
    last_transition_time: str | None = None


class _MarkStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_MarkCondition, ...] | None = None


class _MarkedMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    deletion_timestamp: str = ""


class _MarkedDefinition(msgspec.Struct, frozen=True):
    metadata: _MarkedMeta = _MarkedMeta()
    status: _MarkStatus = _MarkStatus()

    @property
    def conditions(self) -> tuple[_MarkCondition, ...]:
        return self.status.conditions or ()


_definition = msgspec.json.Decoder(_MarkedDefinition)


def tenant_of_definition(name: str) -> str:
    """Return the tenant of a definition by its name upstream."""
    return name.partition(".")[2].partition("-")[0]


def marked_at(raw: bytes | Raw) -> str:
    """Return when a definition was marked; empty if it is not."""
    found = _definition.decode(raw).conditions
    times = (each.last_transition_time for each in found if _is_mark(each))
    return next(times, None) or ""


async def mark(client: Client, name: str, why: str) -> None:
    """Mark a definition.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    found, path = await _read(client, name), _path(name)
    if found is None or any(each.type == TYPE for each in found.conditions):
        return  # it is marked, or it is being deleted
    condition = {
        "type": TYPE,
        "status": "True",
        "reason": REASON,
        "message": _message(why),
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    await _patch(client, path, found, {"op": "add", "path": "/status/conditions/-"}, condition)


async def unmark(client: Client, name: str) -> None:
    """Remove the mark of a definition.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    found = await _read(client, name)
    for number, condition in enumerate(found.conditions if found else ()):
        if found and _is_mark(condition):
            at = {"op": "remove", "path": f"/status/conditions/{number}"}
            await _patch(client, _path(name), found, at)


def _is_mark(condition: _MarkCondition) -> bool:
    return condition.type == TYPE and condition.reason == REASON


def _message(why: str) -> str:
    return (
        f"the conversion webhook fails: {why[:_MOST]}; objects of this kind cannot be listed, and "
        "no new ones are accepted until it converts again"
    )


def _path(name: str) -> str:
    return CUSTOM_RESOURCE_DEFINITION.path(name)


async def _read(client: Client, name: str) -> _MarkedDefinition | None:
    try:
        found = decode(_definition, await client.get(_path(name)))
    except NotFound:
        return None
    return None if found.metadata.deletion_timestamp else found


async def _patch(
    client: Client,
    path: str,
    found: _MarkedDefinition,
    operation: dict[str, Any],
    value: Any = None,
) -> None:
    at = "/metadata/resourceVersion"
    unchanged = {"op": "test", "path": at, "value": found.metadata.resource_version}
    written = operation if value is None else operation | {"value": value}
    with suppress(Conflict, NotFound):  # somebody was first; it is looked at again
        await client.patch_json(f"{path}/status", [unchanged, written])
