"""Select the paths and operations of an OpenAPI document that a tenant is served."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from lnamespace.translate.discovery.groups import TenantGroups
from lnamespace.translate.discovery.openapi_names import encoded, raw_object
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType, ServingPolicy

PATHS_WITHOUT_RESOURCES = frozenset(
    {"api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks"}
)
"""Documented non-resource paths that tenants are served, without slashes around."""

_VERBS = {
    "get": "get",
    "list": "list",
    "watch": "watch",
    "watchlist": "watch",
    "post": "create",
    "put": "update",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deletecollection",
}
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})
_ACTION = re.compile(rb'"x-kubernetes-action":"(\w+)"')


@dataclass(frozen=True)
class ServedPaths:
    """The paths of OpenAPI documents that a tenant is served, in upstream spelling.

    Parameters
    ----------
    resources
        What the tenant is served, in tenant spelling.
    """

    groups: TenantGroups
    resources: ResourceTable

    def includes_document(self, path: str) -> bool:
        """Return whether the tenant is served the document at a path of the index.

        Parameters
        ----------
        path
            Without a slash before it: ``api/v1``, ``apis/apps/v1``, ``version``.
        """
        match path.split("/"):
            case ["api", "v1"]:
                return True
            case ["apis", group] | ["apis", group, _]:
                below = self.groups.down(group)
                return below is not None and any(each.group == below for each in self._types)
        return path in PATHS_WITHOUT_RESOURCES

    def item(self, path: str, item: msgspec.Raw) -> msgspec.Raw | None:
        """Return the OpenAPI item of a path as the tenant is served it, or None if it is not."""
        words = path.strip("/").split("/")
        match words:
            case ["api", "v1", *rest] if rest:
                return self._resource_item("", rest, item)
            case ["apis", group, _, *rest] if rest:
                return self._resource_item(group, rest, item)
        return item if self.includes_document("/".join(words)) else None

    @property
    def _types(self) -> Iterable[ResourceType]:
        return self.resources.types

    def _resource_item(
        self, upstream: str, words: list[str], item: msgspec.Raw
    ) -> msgspec.Raw | None:
        below = self.groups.down(upstream)
        if below is None:
            return None
        plural, subresource = resource_of_path(words)
        served = self.resources.by_plural(below, plural)
        if served is None or (subresource and not served.serves_subresource(subresource)):
            return None
        if served.policy is not ServingPolicy.SHARED:
            return item
        return _with_served_operations(item, served, subresource)


def resource_of_path(words: list[str]) -> tuple[str, str]:
    """Return the plural and the subresource of a path template after its version."""
    if words[0] == "watch":
        words = words[1:]
    if words[:2] == ["namespaces", "{namespace}"] and len(words) > 2:
        words = words[2:]
    return words[0] if words else "", words[2] if len(words) > 2 else ""


def _with_served_operations(
    item: msgspec.Raw, served: ResourceType, subresource: str
) -> msgspec.Raw | None:
    fields = raw_object(item)
    kept = {
        key: value
        for key, value in fields.items()
        if key not in _METHODS or served.serves_verb(_verb(value), subresource)
    }
    if not _METHODS & kept.keys():
        return None
    return item if len(kept) == len(fields) else encoded(kept)


def _verb(operation: msgspec.Raw) -> str:
    found = _ACTION.search(bytes(operation))
    return _VERBS.get(found[1].decode(), "") if found else ""


def without_unused(
    schemas: Mapping[str, msgspec.Raw],
    served: Iterable[msgspec.Raw],
    removed: Iterable[msgspec.Raw],
    location: str,
) -> dict[str, msgspec.Raw]:
    """Return the schemas without those that only removed paths used.

    Parameters
    ----------
    location
        What references to schemas begin with.
    """
    unused = used_schemas(schemas, removed, location) - used_schemas(schemas, served, location)
    return {name: schema for name, schema in schemas.items() if name not in unused}


def used_schemas(
    schemas: Mapping[str, msgspec.Raw], items: Iterable[msgspec.Raw], location: str
) -> set[str]:
    """Return the names of the schemas to which some paths refer, also by way of others."""
    references = re.compile(b'"' + re.escape(f'$ref":"{location}'.encode()) + b'([^"]+)"')
    found: set[str] = set()
    waiting = [*items]
    while waiting:
        named = {name.decode() for name in references.findall(bytes(waiting.pop()))} - found
        found |= named
        waiting += [schemas[name] for name in named if name in schemas]
    return found
