"""OpenAPI v3 (KEP-2896): the index, and one document for each group version.

Each document has a hash in the index, by which clients keep it. The tenant's is made from the
platform's, so the index needs no document; it depends on all that the translation depends on.
"""

import hashlib
from urllib.parse import parse_qs, urlsplit

import msgspec

from lnamespace.translate.discovery.openapi_names import (
    GROUP_VERSION_KIND,
    GroupRenaming,
    encoded,
    raw_object,
    schema_name_down,
)
from lnamespace.translate.discovery.openapi_paths import ServedPaths, without_unused

ROOT = "/openapi/v3/"
SCHEMAS = "#/components/schemas/"
FORMAT = "1"
"""Changes whenever the translation does, so that clients drop the documents that they keep."""


class _IndexEntry(msgspec.Struct, rename={"server_relative_url": "serverRelativeURL"}):
    server_relative_url: str


class OpenApiIndex(msgspec.Struct):
    """The index: where each document is served."""

    paths: dict[str, _IndexEntry]

    def upstream_hash(self, path: str) -> str | None:
        """Return the hash of a document; None if it does not exist."""
        if path not in self.paths:
            return None
        query = urlsplit(self.paths[path].server_relative_url).query
        return parse_qs(query).get("hash", [""])[0]


_INDEX_DECODER = msgspec.json.Decoder(OpenApiIndex)


def parse_index(document: bytes) -> OpenApiIndex:
    """Return the index that an API server serves."""
    return _INDEX_DECODER.decode(document)


def index_down(index: OpenApiIndex, served: ServedPaths) -> bytes:
    """Return the index of one tenant."""
    paths = {
        path_down(path, served): {"serverRelativeURL": _location(path, index, served)}
        for path in index.paths
        if served.includes_document(path)
    }
    return msgspec.json.encode({"paths": dict(sorted(paths.items()))})


def _location(path: str, index: OpenApiIndex, served: ServedPaths) -> str:
    return f"{ROOT}{path_down(path, served)}?hash={document_hash(path, index, served)}"


def path_down(path: str, served: ServedPaths) -> str:
    """Return the path of a document in tenant spelling."""
    words = path.split("/")
    if words[0] == "apis" and len(words) > 1:
        words[1] = served.groups.down(words[1]) or words[1]
    return "/".join(words)


def path_up(path: str, index: OpenApiIndex, served: ServedPaths) -> str | None:
    """Return the path of a document in upstream spelling; None if the tenant has none."""
    words = path.split("/")
    if words[0] == "apis" and len(words) > 1:
        words[1] = served.groups.up(words[1])
    upstream = "/".join(words)
    known = upstream in index.paths and served.includes_document(upstream)
    return upstream if known else None


def document_hash(path: str, index: OpenApiIndex, served: ServedPaths) -> str:
    """Return the hash of the tenant's document at a path upstream, in hexadecimal capitals."""
    words = path.split("/")
    owned = len(words) > 1 and words[0] == "apis" and served.groups.owns(words[1])
    tenant = served.groups.tenant if owned else ""
    text = f"{FORMAT}\n{tenant}\n{_served_here(path, served)}\n{index.upstream_hash(path)}"
    return hashlib.sha512(text.encode()).hexdigest().upper()


def _served_here(path: str, served: ServedPaths) -> list[str]:
    match path_down(path, served).split("/"):
        case ["api", "v1"]:
            group = ""
        case ["apis", group, *_]:
            pass
        case _:
            return []
    return sorted(
        f"{each.plural} {each.policy} {sorted(each.verbs or ())} "
        f"{[sub.name for sub in each.subresources or ()]}"
        for each in served.resources.types
        if each.group == group
    )


def document_down(document: bytes, path: str, served: ServedPaths) -> bytes:
    """Return the document of one group version in tenant spelling.

    Parameters
    ----------
    path
        Of the document, in upstream spelling, without a slash before it.
    """
    fields = raw_object(document)
    items = raw_object(fields["paths"])
    components = raw_object(fields.get("components", msgspec.Raw(b"{}")))
    schemas = raw_object(components.get("schemas", msgspec.Raw(b"{}")))
    kept = {each: item for each, raw in items.items() if (item := served.item(each, raw))}
    removed = [raw for each, raw in items.items() if kept.get(each) is not raw]
    if removed:
        schemas = without_unused(schemas, kept.values(), removed, SCHEMAS)
    words = path.split("/")
    if words[0] == "apis" and len(words) > 1 and served.groups.owns(words[1]):
        kept, schemas = _renamed(words[1], kept, schemas, served)
    elif not removed:
        return document
    if schemas:
        fields["components"] = encoded(components | {"schemas": encoded(schemas)})
    return msgspec.json.encode(fields | {"paths": encoded(kept)})


def _renamed(
    upstream: str,
    items: dict[str, msgspec.Raw],
    schemas: dict[str, msgspec.Raw],
    served: ServedPaths,
) -> tuple[dict[str, msgspec.Raw], dict[str, msgspec.Raw]]:
    group = served.groups.down(upstream) or ""
    own = {name for name, schema in schemas.items() if schema_groups(schema) == {upstream}}
    names = {name: schema_name_down(name, upstream, group) for name in own}
    renaming = GroupRenaming(upstream, group, names, SCHEMAS)
    paths = {renaming.path(path): renaming.path_item(item) for path, item in items.items()}
    renamed = {
        names.get(name, name): renaming.schema(schema) if name in own else schema
        for name, schema in schemas.items()
    }
    return dict(sorted(paths.items())), dict(sorted(renamed.items()))


class _Kinds(msgspec.Struct, rename={"kinds": GROUP_VERSION_KIND}):
    kinds: list[dict[str, str]] = []


_KINDS_DECODER = msgspec.json.Decoder(_Kinds)


def schema_groups(schema: msgspec.Raw) -> set[str]:
    """Return the API groups of the kinds that a schema describes; empty if it describes no kind."""
    return {each.get("group", "") for each in _KINDS_DECODER.decode(schema).kinds}
