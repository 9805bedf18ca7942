"""Keep ``acceptedNames`` and the API server's conditions in a write of a definition's status.

The API server deletes the objects of a definition by its ``acceptedNames``, and only while it is
``Established``, so the platform's admission policies refuse a write that changes these. On any
cluster the API server restores them at once if a client replaces all conditions, as Kubernetes'
conformance tests do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
from msgspec import Raw

from lnamespace.gateway.controllers.full_definitions import CONDITION_TYPES
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.requests.stored import read_stored
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.kube.json_pointer import keys_of
from lnamespace.kube.media_types import APPLY_PATCH, JSON, JSON_PATCH
from lnamespace.translate.names.tenant_view import CRDS

Object = dict[str, Any]

_NAMES, _CONDITIONS = "acceptedNames", "conditions"


class _StoredStatus(msgspec.Struct, frozen=True, rename="camel"):
    accepted_names: Object | None = None
    conditions: tuple[Object, ...] | None = None


class _StoredDefinition(msgspec.Struct, frozen=True):
    status: _StoredStatus = _StoredStatus()


_stored = msgspec.json.Decoder(_StoredDefinition)
_members = msgspec.json.Decoder(dict[str, Raw])
_operations = msgspec.json.Decoder(list[Object])


@dataclass(frozen=True)
class KeptStatus:
    """The part of a definition's status that writes keep: its names, conditions of some types."""

    names: Object | None = None
    conditions: tuple[Object, ...] = ()

    def in_body(self, media_type: str, body: bytes) -> bytes:
        """Return the body of a write of the status, changed so that it keeps this part."""
        if media_type == JSON_PATCH:
            operations = _operations.decode(body)
            return msgspec.json.encode([kept for each in operations for kept in self._kept(each)])
        members = _members.decode(body)
        status = msgspec.json.decode(members.get("status", b"null"))
        if not isinstance(status, dict):
            return body
        whole, applied = media_type == JSON, media_type == APPLY_PATCH
        kept = self._in_whole(status) if whole else self._in_part(status, applied=applied)
        return msgspec.json.encode(members | {"status": kept})

    def _in_whole(self, status: Object) -> Object:
        conditions = _with_kept(status.get(_CONDITIONS), self.conditions)
        return status | {_NAMES: self.names, _CONDITIONS: conditions}

    def _in_part(self, status: Object, *, applied: bool) -> Object:
        """Return a patch of a status; an apply need not have the kept conditions."""
        part = {key: value for key, value in status.items() if key != _NAMES}
        if _CONDITIONS in part:
            part[_CONDITIONS] = _with_kept(part[_CONDITIONS], () if applied else self.conditions)
        return part

    def _kept(self, operation: Object) -> Iterator[Object]:
        """Yield an operation of a JSON patch, unless it is about the names.

        One condition at its index is left to the platform's policies.
        """
        path, value = keys_of(operation.get("path", "")), operation.get("value")
        verb = operation.get("op")
        if verb == "test":
            yield operation
        elif path == ("status", _CONDITIONS) and verb in {"add", "replace", "remove"}:
            yield operation | {"op": "replace", "value": _with_kept(value, self.conditions)}
        elif path == ("status",) and isinstance(value, dict):
            yield operation | {"value": self._in_whole(value)}
        elif not path and isinstance(value, dict) and isinstance(value.get("status"), dict):
            yield operation | {"value": value | {"status": self._in_whole(value["status"])}}
        elif path[:2] != ("status", _NAMES):
            yield operation


def _with_kept(written: Any, kept: Iterable[Object]) -> Any:
    """Return written conditions with the kept ones, each in its place or at the end."""
    if not isinstance(written, list | None):
        return written  # the API server says that it is no list
    left: dict[str, list[Object]] = {}
    for each in kept:
        left.setdefault(each["type"], []).append(each)
    found: list[Any] = []
    for each in written or ():
        kind = str(each.get("type")) if isinstance(each, dict) else ""
        found += left.pop(kind, ()) if kind in CONDITION_TYPES else (each,)
    return [*found, *chain.from_iterable(left.values())]


async def kept_status(upstream: Upstream, call: TenantCall) -> KeptStatus | None:
    """Return what a write of a definition's status keeps; None for any other write."""
    request = call.request
    if request.resource.group_resource != CRDS or request.subresource != "status":
        return None
    status, body = await read_stored(upstream, call)
    if status != 200:
        return None  # the write is refused in the same words
    found = _stored.decode(body).status
    listed = (each for each in found.conditions or () if each.get("type") in CONDITION_TYPES)
    return KeptStatus(found.accepted_names, tuple(listed))
