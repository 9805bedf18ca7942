"""Rename a tenant's API group in OpenAPI documents, where it has several spellings.

A group ``acme-stable.example.com`` stands in paths and in ``x-kubernetes-group-version-kind`` as it
is, reversed in the names of schemas (``com.example.acme-stable.v1.Widget``), and without its
punctuation in operation ids (``listAcmeStableExampleComV1Widget``) and tags
(``acmeStableExampleCom_v1``): ``k8s.io/apiserver/pkg/endpoints/openapi``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
_RAW_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_ENCODER = msgspec.json.Encoder()
_MAPS_OF_SCHEMAS = ("properties", "patternProperties")
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf")


def raw_object(data: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the fields of a JSON object, each as it was written."""
    return _RAW_OBJECT.decode(data)


def encoded(value: Any) -> msgspec.Raw:
    """Return a value as JSON."""
    return msgspec.Raw(_ENCODER.encode(value))


def operation_name(text: str, *, capital: bool) -> str:
    """Return a text without punctuation, each part after the first with a capital."""
    letters: list[str] = []
    for index, letter in enumerate(text):
        if letter.isalpha() or letter == "_" or (index and letter.isdigit()):
            letters.append(letter.upper() if capital else letter)
            capital = False
        else:
            capital = True
    return "".join(letters)


@dataclass(frozen=True)
class GroupRenaming:
    """The renaming of one API group of a tenant from upstream to tenant spelling.

    Parameters
    ----------
    schemas
        The new names of the schemas that belong to the group, by the names upstream.
    location
        What references to schemas begin with: ``#/components/schemas/`` or ``#/definitions/``.
    """

    upstream: str
    group: str
    schemas: Mapping[str, str]
    location: str

    def path(self, path: str) -> str:
        """Return a path in tenant spelling."""
        return path.replace(f"/apis/{self.upstream}", f"/apis/{self.group}", 1)

    def path_item(self, item: msgspec.Raw) -> msgspec.Raw:
        """Translate the OpenAPI item of a path into tenant spelling."""
        return encoded(self._renamed(msgspec.json.decode(item)))

    def schema(self, schema: msgspec.Raw) -> msgspec.Raw:
        """Return one of the group's schemas in tenant spelling.

        Texts of the author of a CustomResourceDefinition, such as defaults and descriptions, are
        copied unchanged, also if they look like a reference.
        """
        fields = raw_object(self._referring(schema))
        if GROUP_VERSION_KIND in fields:
            kinds = msgspec.json.decode(fields[GROUP_VERSION_KIND])
            fields[GROUP_VERSION_KIND] = encoded([self._kind(kind) for kind in kinds])
        return encoded(fields)

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._renamed(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {key: self._renamed_field(key, each) for key, each in value.items()}

    def _renamed_field(self, key: str, value: Any) -> Any:
        match key, value:
            case "$ref", str():
                return self.reference(value)
            case "operationId", str():
                return self.operation_id(value)
            case "tags", list():
                return [self.tag(each) for each in value]
            case _, dict() if key == GROUP_VERSION_KIND:
                return self._kind(value)
        return self._renamed(value)

    def _referring(self, schema: msgspec.Raw) -> msgspec.Raw:
        if b'"$ref"' not in bytes(schema):
            return schema
        fields = raw_object(schema)
        for key, value in fields.items():
            if key == "$ref":
                fields[key] = encoded(self.reference(msgspec.json.decode(value, type=str)))
            elif key in _MAPS_OF_SCHEMAS:
                members = raw_object(value).items()
                fields[key] = encoded({name: self._referring(each) for name, each in members})
            elif key in _LISTS_OF_SCHEMAS:
                fields[key] = encoded([self._referring(each) for each in _RAW_ARRAY.decode(value)])
            elif key in _SCHEMAS and bytes(value)[:1] == b"{":
                fields[key] = self._referring(value)
        return encoded(fields)

    def reference(self, reference: str) -> str:
        """Return a reference to a schema in tenant spelling."""
        name = reference.removeprefix(self.location)
        return self.location + self.schemas[name] if name in self.schemas else reference

    def _kind(self, kind: dict[str, str]) -> dict[str, str]:
        return kind | {"group": self.group} if kind.get("group") == self.upstream else kind

    def operation_id(self, operation: str) -> str:
        """Return the id of an operation in tenant spelling."""
        verb, group, rest = operation.partition(operation_group(self.upstream, capital=True))
        return verb + operation_group(self.group, capital=True) + rest if group else verb

    def tag(self, tag: str) -> str:
        """Return the tag of an operation in tenant spelling."""
        group, underscore, version = tag.rpartition("_")
        if group != operation_group(self.upstream, capital=False):
            return tag
        return operation_group(self.group, capital=False) + underscore + version


def operation_group(group: str, *, capital: bool) -> str:
    """Return an API group as it stands in operation ids and tags."""
    return operation_name(group.removesuffix(".k8s.io"), capital=capital)


def schema_name_down(name: str, upstream: str, group: str) -> str:
    """Return the name of a schema of a group in tenant spelling."""
    beginning = _reversed(upstream) + "."
    known = name.startswith(beginning)
    rest = name[len(beginning) :] if known else ".".join(name.split(".")[-2:])
    return f"{_reversed(group)}.{rest}"


def _reversed(group: str) -> str:
    return ".".join(reversed(group.split(".")))
