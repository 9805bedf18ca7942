"""OpenAPI v2: one merged document of everything that is served.

The part of the platform is filtered once for all tenants; what a tenant adds is its own groups,
renamed. Tenants without CustomResourceDefinitions share one document.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from lnamespace.translate.discovery.openapi_names import (
    GroupRenaming,
    encoded,
    raw_object,
    schema_name_down,
)
from lnamespace.translate.discovery.openapi_paths import ServedPaths, used_schemas, without_unused
from lnamespace.translate.discovery.openapi_v3 import schema_groups

DEFINITIONS = "#/definitions/"


@dataclass(frozen=True)
class SwaggerPart:
    """The paths and definitions of some groups, each as it was written."""

    paths: Mapping[str, msgspec.Raw]
    definitions: Mapping[str, msgspec.Raw]


@dataclass(frozen=True)
class SwaggerDocument:
    """The platform's document, taken apart by API group.

    Parameters
    ----------
    fields
        All fields, among them the paths and definitions of all groups.
    groups
        The API groups of each definition; none for those that are no kind's.
    """

    fields: Mapping[str, msgspec.Raw]
    whole: SwaggerPart
    groups: Mapping[str, frozenset[str]]


def parse_swagger(document: bytes) -> SwaggerDocument:
    """Return the parts of the document that an API server serves."""
    fields = raw_object(document)
    whole = SwaggerPart(raw_object(fields["paths"]), raw_object(fields["definitions"]))
    groups = {name: frozenset(schema_groups(raw)) for name, raw in whole.definitions.items()}
    return SwaggerDocument(fields, whole, groups)


def group_of_path(path: str) -> str:
    """Return the API group of a path; empty for the core group and for other paths."""
    words = path.strip("/").split("/")
    return words[1] if words[0] == "apis" and len(words) > 1 else ""


def platform_part(swagger: SwaggerDocument, served: ServedPaths) -> SwaggerPart:
    """Return the groups of the platform without hidden resources; the same for all tenants."""
    paths: dict[str, msgspec.Raw] = {}
    removed: list[msgspec.Raw] = []
    for path, raw in swagger.whole.paths.items():
        own = served.groups.owns(group_of_path(path))
        item = None if own else served.item(path, raw)
        if item is not None:
            paths[path] = item
        if item is not raw:
            removed.append(raw)
    definitions = {
        name: raw
        for name, raw in swagger.whole.definitions.items()
        if _is_of_the_platform(swagger.groups[name], served)
    }
    return SwaggerPart(paths, without_unused(definitions, paths.values(), removed, DEFINITIONS))


def _is_of_the_platform(groups: frozenset[str], served: ServedPaths) -> bool:
    return not groups or any(served.groups.is_of_the_platform(group) for group in groups)


def tenant_part(swagger: SwaggerDocument, served: ServedPaths) -> SwaggerPart:
    """Return the tenant's own groups, in tenant spelling, and the definitions that they use."""
    paths: dict[str, msgspec.Raw] = {}
    definitions: dict[str, msgspec.Raw] = {}
    for upstream, renaming in group_renamings(swagger, served).items():
        items = {
            path: raw
            for path, raw in swagger.whole.paths.items()
            if group_of_path(path) == upstream and served.item(path, raw) is not None
        }
        known = swagger.whole.definitions
        for name in used_schemas(known, items.values(), DEFINITIONS) - renaming.schemas.keys():
            if name in known:
                definitions[name] = known[name]
        for name, below in renaming.schemas.items():
            definitions[below] = renaming.schema(known[name])
        for path, raw in items.items():
            paths[renaming.path(path)] = renaming.path_item(raw)
    return SwaggerPart(paths, definitions)


def group_renamings(swagger: SwaggerDocument, served: ServedPaths) -> dict[str, GroupRenaming]:
    """Return how each of the tenant's own groups is renamed, by its name upstream."""
    found = {group_of_path(path) for path in swagger.whole.paths}
    owned = sorted(group for group in found if served.groups.owns(group))
    return {group: _renaming(group, swagger, served) for group in owned}


def _renaming(upstream: str, swagger: SwaggerDocument, served: ServedPaths) -> GroupRenaming:
    group = served.groups.down(upstream) or ""
    names = {
        name: schema_name_down(name, upstream, group)
        for name, groups in swagger.groups.items()
        if groups == {upstream}
    }
    return GroupRenaming(upstream, group, names, DEFINITIONS)


def swagger_down(swagger: SwaggerDocument, platform: SwaggerPart, own: SwaggerPart) -> bytes:
    """Return the document of a tenant from the platform's part and the tenant's own."""
    paths = {**platform.paths, **own.paths}
    definitions = {**platform.definitions, **own.definitions}
    return msgspec.json.encode(
        {
            **swagger.fields,
            "paths": encoded(dict(sorted(paths.items()))),
            "definitions": encoded(dict(sorted(definitions.items()))),
        }
    )
