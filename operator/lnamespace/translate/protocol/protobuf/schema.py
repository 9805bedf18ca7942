"""The schema of the built-in kinds of Kubernetes in protobuf and in JSON.

The table is in ``schema.json``, which ``make protobuf-schema`` writes from Kubernetes' Go types. A
field is one line, ``NUMBER NAME TYPE``; ``hack/controlplane/protobufschema`` says how it reads.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import msgspec

INLINE: Final = "."
"""The name of a field whose own fields stand in JSON beside it."""
TYPE_META: Final = "typeMeta"
"""The type of ``kind`` and ``apiVersion``, which protobuf has in the envelope alone."""
SHAPES: Final = ("*", "[]", "map:")

RETIRED_FIELDS: Final = {
    "meta/v1.ObjectMeta": 15,  # clusterName, until 1.24
    "networking/v1.NetworkPolicy": 3,  # status, from 1.24 to 1.27
    "extensions/v1beta1.NetworkPolicy": 3,
}
"""Fields that Kubernetes has no longer, which the clients of its older versions always write."""

# Messages whose form in JSON is another than their fields. Each is the message on the wire.
SPECIAL_MESSAGES: Final = {
    "quantity": ("1 string *string",),
    "intOrString": ("1 type int64", "2 intVal int32", "3 strVal string"),
    "time": ("1 seconds *int64", "2 nanos *int32"),
    "microTime": ("1 seconds *int64", "2 nanos *int32"),
    "json": ("1 raw? raw",),
    "strings": ("1 items []string",),
    "schemaOrArray": (
        "1 schema *apiextensions/v1.JSONSchemaProps",
        "2 list? []apiextensions/v1.JSONSchemaProps",
    ),
    "schemaOrBool": ("1 allows bool", "2 schema? *apiextensions/v1.JSONSchemaProps"),
    "schemaOrStringArray": ("1 schema *apiextensions/v1.JSONSchemaProps", "2 list? []string"),
}


@dataclass(frozen=True)
class FieldSchema:
    """One field of a message.

    Parameters
    ----------
    name
        In JSON; ``.`` for a message whose fields stand among those of the message that holds it.
    omitted
        Whether JSON leaves out a value that is empty.
    shape
        ``*`` for a pointer, ``[]`` for a list, ``map:`` for a map from strings, empty for a value
        that is always there.
    type_name
        Of the value, or of one in the list or map.
    """

    number: int
    name: str
    omitted: bool
    shape: str
    type_name: str

    @classmethod
    def parse(cls, line: str) -> "FieldSchema":
        """Return the field that a line describes."""
        number, name, type_name = line.split(" ")
        shape = next((each for each in SHAPES if type_name.startswith(each)), "")
        return cls(
            int(number), name.removesuffix("?"), name[-1] == "?", shape, type_name[len(shape) :]
        )


@dataclass(frozen=True)
class MessageSchema:
    """One message: its fields, in the order of their numbers."""

    name: str
    fields: tuple[FieldSchema, ...]
    has_type_meta: bool

    @classmethod
    def parse(cls, name: str, lines: list[str] | tuple[str, ...]) -> "MessageSchema":
        """Return the message that some lines describe."""
        fields = [FieldSchema.parse(line) for line in lines]
        kept = [field for field in fields if field.type_name != TYPE_META]
        ordered = tuple(sorted(kept, key=lambda field: field.number))
        return cls(name, ordered, has_type_meta=len(kept) < len(fields))


class SchemaFile(msgspec.Struct, frozen=True, dict=True):
    """The file: the Kubernetes that it was written from, and the messages by their names."""

    kubernetes: str
    kinds: dict[str, str]
    messages: dict[str, msgspec.Raw]

    @cached_property
    def meta_kinds(self) -> dict[str, str]:
        """Return the kinds that stand in every group."""
        return {
            kind.removeprefix("* "): message
            for kind, message in self.kinds.items()
            if kind.startswith("* ")
        }

    def message_of_kind(self, api_version: str, kind: str) -> str | None:
        """Return the name of a kind's message; None if it has none, as custom resources."""
        return self.kinds.get(f"{api_version} {kind}") or self.meta_kinds.get(kind)


@cache
def schema_file() -> SchemaFile:
    """Return the table of all messages, read once."""
    body = Path(__file__).with_name("schema.json").read_bytes()
    return msgspec.json.decode(body, type=SchemaFile)


@cache
def message_schema(name: str) -> MessageSchema:
    """Return one message of the table."""
    if name in SPECIAL_MESSAGES:
        return MessageSchema.parse(name, SPECIAL_MESSAGES[name])
    lines = msgspec.json.decode(schema_file().messages[name], type=list[str])
    return MessageSchema.parse(name, lines)
