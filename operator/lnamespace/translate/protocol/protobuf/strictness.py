"""Fields of an object in JSON that its kind does not have."""

from collections.abc import Iterator
from typing import Any

from lnamespace.translate.protocol.protobuf.schema import (
    INLINE,
    SPECIAL_MESSAGES,
    FieldSchema,
    message_schema,
    schema_file,
)


def unknown_fields(api_version: str, kind: str, subject: Any) -> Iterator[str]:
    """Yield the paths of the fields that a built-in kind does not have, as Kubernetes writes them.

    Parameters
    ----------
    subject
        The object, decoded.
    """
    message = schema_file().message_of_kind(api_version, kind)
    if message is not None:
        yield from _unknown(message, subject, "")


def _unknown(message: str, value: Any, path: str) -> Iterator[str]:
    if message in SPECIAL_MESSAGES or message not in schema_file().messages:
        return  # it is no message, or one whose form in JSON is another
    if not isinstance(value, dict):
        return
    known = {field.name: field for field in _fields(message)}
    for key, each in value.items():
        at = f"{path}.{key}" if path else key
        if key in known:
            yield from _below(known[key], each, at)
        elif key not in ("kind", "apiVersion") or path:
            yield at


def _below(field: FieldSchema, value: Any, path: str) -> Iterator[str]:
    if field.shape == "[]" and isinstance(value, list):
        for index, each in enumerate(value):
            yield from _unknown(field.type_name, each, f"{path}[{index}]")
    elif field.shape == "map:" and isinstance(value, dict):
        for key, each in value.items():
            yield from _unknown(field.type_name, each, f"{path}.{key}")
    else:
        yield from _unknown(field.type_name, value, path)


def _fields(message: str) -> Iterator[FieldSchema]:
    for field in message_schema(message).fields:
        if field.name == INLINE:
            yield from _fields(field.type_name)
        else:
            yield field
