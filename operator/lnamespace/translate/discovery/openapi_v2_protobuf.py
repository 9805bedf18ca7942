"""OpenAPI v2 as protobuf, which kubectl and helm read (``gnostic-models/openapiv2``).

The platform's protobuf is filtered field by field, and what is kept is copied as it is; of a
tenant's own groups the names are written anew. What is kept is decided by the document in JSON.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lnamespace.translate.discovery.openapi_names import (
    GROUP_VERSION_KIND,
    GroupRenaming,
    raw_object,
)
from lnamespace.translate.discovery.openapi_paths import ServedPaths
from lnamespace.translate.discovery.openapi_v2 import (
    SwaggerDocument,
    SwaggerPart,
    group_of_path,
    group_renamings,
    tenant_part,
)
from lnamespace.translate.protocol.protobuf.wire import (
    DELIMITED,
    ProtobufError,
    delimited,
    read_varint,
)

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ACCEPTED = (CONTENT_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
"""The media types by which clients ask for it; the answer always has the first."""

_FIXED_SIZES = {1: 8, 5: 4}
_PATHS, _DEFINITIONS = 8, 9
_PATH, _DEFINITION = 2, 1
_METHODS = {2: "get", 3: "put", 4: "post", 5: "delete", 6: "options", 7: "head", 8: "patch"}
_MESSAGES: Mapping[str, Mapping[int, str]] = {
    "PathItem": dict.fromkeys(_METHODS, "Operation") | {9: "ParametersItem"},
    "Operation": {1: "tag", 5: "operation", 8: "ParametersItem", 9: "Responses", 13: "NamedAny"},
    "ParametersItem": {1: "Parameter"},
    "Parameter": {1: "BodyParameter"},
    "BodyParameter": {5: "Schema"},
    "Responses": {1: "NamedResponseValue"},
    "NamedResponseValue": {2: "ResponseValue"},
    "ResponseValue": {1: "Response"},
    "Response": {2: "SchemaItem"},
    "SchemaItem": {1: "Schema"},
    "Schema": {
        1: "reference",
        21: "AdditionalPropertiesItem",
        23: "ItemsItem",
        24: "Schema",
        25: "Properties",
        31: "NamedAny",
    },
    "AdditionalPropertiesItem": {1: "Schema"},
    "ItemsItem": {1: "Schema"},
    "Properties": {1: "NamedSchema"},
    "NamedSchema": {2: "Schema"},
}
"""The fields of each message in which a group may stand: another message, or a kind of name."""


@dataclass(frozen=True)
class _WireField:
    """A field of a message: its number, its value if that is delimited, and all of it."""

    number: int
    value: bytes | None
    whole: bytes


@dataclass(frozen=True)
class _KeptPath:
    """The methods of a path to keep (None means all), and the renaming of its group."""

    methods: frozenset[str] | None = None
    renaming: GroupRenaming | None = None


@dataclass(frozen=True)
class _Kept:
    paths: Mapping[str, _KeptPath]
    definitions: Mapping[str, GroupRenaming | None]


def swagger_protobuf_down(
    document: bytes, swagger: SwaggerDocument, platform: SwaggerPart, served: ServedPaths
) -> bytes:
    """Return the document of a tenant as protobuf.

    Parameters
    ----------
    document
        The platform's, as protobuf.
    swagger
        The platform's, as JSON, of about the same time.

    Raises
    ------
    ProtobufError
        If the document is malformed.
    """
    kept = _kept(swagger, platform, served)
    parts: list[bytes] = []
    for each in _fields(document):
        if each.number == _PATHS and each.value is not None:
            parts.append(delimited(_PATHS, _paths_down(each.value, kept)))
        elif each.number == _DEFINITIONS and each.value is not None:
            parts.append(delimited(_DEFINITIONS, _definitions_down(each.value, kept)))
        else:
            parts.append(each.whole)
    return b"".join(parts)


def _kept(swagger: SwaggerDocument, platform: SwaggerPart, served: ServedPaths) -> _Kept:
    renamings = group_renamings(swagger, served)
    paths: dict[str, _KeptPath] = {}
    for path, raw in swagger.whole.paths.items():
        renaming = renamings.get(group_of_path(path))
        if renaming is not None and served.item(path, raw) is not None:
            paths[path] = _KeptPath(renaming=renaming)
        elif path in platform.paths:
            item = platform.paths[path]
            paths[path] = _KeptPath(None if item is raw else frozenset(raw_object(item)))
    owned = tenant_part(swagger, served).definitions
    definitions: dict[str, GroupRenaming | None] = dict.fromkeys(platform.definitions)
    definitions |= dict.fromkeys(owned.keys() & swagger.whole.definitions.keys())
    for renaming in renamings.values():
        definitions |= dict.fromkeys(renaming.schemas, renaming)
    return _Kept(paths, definitions)


def _paths_down(paths: bytes, kept: _Kept) -> bytes:
    parts = []
    for each in _fields(paths):
        if each.number != _PATH or each.value is None:
            parts.append(each.whole)
            continue
        name, item = _named(each.value)
        known = kept.paths.get(name)
        if known is None:
            continue
        if known.renaming is not None:
            below = known.renaming.path(name).encode()
            item = _renamed(item, "PathItem", known.renaming)
            parts.append(_entry(_PATH, below, item))
        elif known.methods is not None:
            parts.append(_entry(_PATH, name.encode(), _with_methods(item, known.methods)))
        else:
            parts.append(each.whole)
    return b"".join(parts)


def _definitions_down(definitions: bytes, kept: _Kept) -> bytes:
    parts = []
    for each in _fields(definitions):
        if each.number != _DEFINITION or each.value is None:
            parts.append(each.whole)
            continue
        name, schema = _named(each.value)
        renaming = kept.definitions.get(name)
        if renaming is not None:
            below = renaming.schemas[name].encode()
            parts.append(_entry(_DEFINITION, below, _renamed(schema, "Schema", renaming)))
        elif name in kept.definitions:
            parts.append(each.whole)
    return b"".join(parts)


def _with_methods(item: bytes, methods: frozenset[str]) -> bytes:
    return b"".join(
        each.whole
        for each in _fields(item)
        if each.number not in _METHODS or _METHODS[each.number] in methods
    )


def _renamed(message: bytes, kind: str, renaming: GroupRenaming) -> bytes:
    """Return a message with the names of the tenant's group in tenant spelling."""
    known = _MESSAGES[kind]
    parts = []
    for each in _fields(message):
        field = known.get(each.number)
        if field is None or each.value is None:
            parts.append(each.whole)
        else:
            parts.append(delimited(each.number, _renamed_value(each.value, field, renaming)))
    return b"".join(parts)


def _renamed_value(value: bytes, field: str, renaming: GroupRenaming) -> bytes:
    match field:
        case "reference":
            return renaming.reference(value.decode()).encode()
        case "operation":
            return renaming.operation_id(value.decode()).encode()
        case "tag":
            return renaming.tag(value.decode()).encode()
        case "NamedAny":
            return _renamed_extension(value, renaming)
    return _renamed(value, field, renaming)


def _renamed_extension(extension: bytes, renaming: GroupRenaming) -> bytes:
    """Return an extension of a schema or an operation; its value is a text in YAML."""
    name, value = _named(extension)
    if name != GROUP_VERSION_KIND:
        return extension
    line = re.compile(rb"(?m)^((?:- )? *group: )%b$" % re.escape(renaming.upstream.encode()))
    group = rb"\g<1>" + renaming.group.encode()  # a DNS name: nothing in it is an escape
    parts = []
    for each in _fields(value):
        if each.number == 2 and each.value is not None:
            parts.append(delimited(2, line.sub(group, each.value)))
        else:
            parts.append(each.whole)
    return _fields_of_name(name.encode(), b"".join(parts))


def _named(message: bytes) -> tuple[str, bytes]:
    """Return name and value of a message that has just these."""
    found = {each.number: each.value or b"" for each in _fields(message)}
    return found.get(1, b"").decode(), found.get(2, b"")


def _entry(number: int, name: bytes, value: bytes) -> bytes:
    return delimited(number, _fields_of_name(name, value))


def _fields_of_name(name: bytes, value: bytes) -> bytes:
    return delimited(1, name) + delimited(2, value)


def _fields(message: bytes) -> Iterator[_WireField]:
    position = 0
    try:
        while position < len(message):
            start = position
            tag, position = read_varint(message, position)
            value: bytes | None = None
            if tag & 7 == DELIMITED:
                size, position = read_varint(message, position)
                value = message[position : position + size]
                position += size
            elif tag & 7 == 0:
                _, position = read_varint(message, position)
            else:
                position += _FIXED_SIZES[tag & 7]
            yield _WireField(tag >> 3, value, message[start:position])
    except (IndexError, KeyError) as error:
        raise ProtobufError("malformed OpenAPI document") from error
    if position != len(message):
        raise ProtobufError("malformed OpenAPI document")
