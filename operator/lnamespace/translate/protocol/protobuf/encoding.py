"""Values of JSON to messages of protobuf, byte for byte as Kubernetes writes them.

Fields stand in the order of their numbers and the entries of maps in the order of their keys. What
is no pointer, list or map is written also when it is empty. What JSON has and the table of messages
lacks is refused.
"""

import struct
from base64 import b64decode
from collections.abc import Callable, Generator, Mapping
from functools import cache, cached_property
from typing import Any, Final

from lnamespace.nesting import at_any_depth
from lnamespace.translate.protocol.protobuf.schema import (
    INLINE,
    FieldSchema,
    MessageSchema,
    message_schema,
)
from lnamespace.translate.protocol.protobuf.special import SPECIAL_FORMS
from lnamespace.translate.protocol.protobuf.wire import (
    DELIMITED,
    FIXED64,
    VARINT,
    UnknownProtobufField,
    delimited,
    tag,
    varint,
)

JsonObject = Mapping[str, Any]
EncodeValue = Callable[[Any], bytes]
"""Return a value as it is written after its tag and, if it has one, its length."""
WriteField = Callable[[bytearray, Any], None]
"""Write a field with its tag; the value is not null."""


def _encode_raw(value: bytes) -> bytes:
    return value


def _encode_double(value: Any) -> bytes:
    return struct.pack("<d", value)


SCALARS: Final[Mapping[str, tuple[int, EncodeValue]]] = {
    "string": (DELIMITED, str.encode),
    "bytes": (DELIMITED, b64decode),
    "raw": (DELIMITED, _encode_raw),
    "bool": (VARINT, varint),
    "int32": (VARINT, varint),
    "int64": (VARINT, varint),
    "float64": (FIXED64, _encode_double),
}
ITEMS_OF_STEP: Final = 32
"""The number of objects of a list that are written at once. 32 pods take some milliseconds."""
NUMBER_ZEROS: Final = {VARINT: b"\0", FIXED64: bytes(8), DELIMITED: b""}


def _wire_type(type_name: str) -> int:
    return SCALARS[type_name][0] if type_name in SCALARS else DELIMITED


def _encoder(field: FieldSchema) -> EncodeValue:
    type_name = field.type_name
    if type_name in SCALARS:
        return SCALARS[type_name][1]
    if field.name == INLINE:
        return message_encoder(type_name).encode_known
    encode = message_encoder(type_name).encode
    if type_name not in SPECIAL_FORMS:
        return encode
    to_fields = SPECIAL_FORMS[type_name].to_fields

    def encode_special(value: Any) -> bytes:
        return encode(to_fields(value))

    return encode_special


@cache
def _zero(type_name: str) -> bytes:
    """Return the bytes of an empty value, which follow its tag and length."""
    if type_name in SCALARS:
        return NUMBER_ZEROS[_wire_type(type_name)]
    if type_name == "quantity":
        return delimited(1, b"0")
    if type_name in SPECIAL_FORMS and type_name != "intOrString":
        return b""
    return message_encoder(type_name).encode({})


def _writer(number: int, field: FieldSchema) -> WriteField:
    """Return a function that writes one value with its tag; null is written as the empty value."""
    encode, wire_type = _encoder(field), _wire_type(field.type_name)
    start = tag(number, wire_type)

    def write(written: bytearray, value: Any) -> None:
        body = _zero(field.type_name) if value is None else encode(value)
        written += start
        if wire_type == DELIMITED:
            written += varint(len(body))
        written += body

    return write


def _list_writer(field: FieldSchema) -> WriteField:
    write = _writer(field.number, field)

    def write_list(written: bytearray, values: list[Any]) -> None:
        for value in values:
            write(written, value)

    return write_list


def _map_writer(field: FieldSchema) -> WriteField:
    write_value = _writer(2, field)
    without_null = field.type_name == "bytes"

    def write_map(written: bytearray, values: Mapping[str, Any]) -> None:
        for key in sorted(values):
            entry = bytearray(delimited(1, key.encode()))
            value = values[key]
            if value is not None or not without_null:
                write_value(entry, value)
            written += delimited(field.number, entry)

    return write_map


def _field_writer(field: FieldSchema) -> WriteField:
    if field.shape == "[]":
        return _list_writer(field)
    if field.shape == "map:":
        return _map_writer(field)
    return _writer(field.number, field)


def _empty_field(field: FieldSchema) -> bytes:
    """Return the bytes that are written for a field that JSON lacks."""
    if field.shape or field.type_name in {"bytes", "raw"}:
        return b""
    written = bytearray()
    _writer(field.number, field)(written, None)
    return bytes(written)


def _written(write: WriteField, value: Any) -> bytearray:
    written = bytearray()
    write(written, value)
    return written


class MessageEncoder:
    """An encoder of one type of message. Its writers are made when the first one is written."""

    def __init__(self, schema: MessageSchema) -> None:
        self._schema = schema

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names that the message has in JSON."""
        names = {"kind", "apiVersion"} if self._schema.has_type_meta else set()
        for field in self._schema.fields:
            if field.name == INLINE:
                names |= message_encoder(field.type_name).names
            else:
                names.add(field.name)
        return frozenset(names)

    @cached_property
    def _fields(self) -> tuple[tuple[str, WriteField, bytes], ...]:
        """Return name, writer and bytes without a value of each field, in the order on the wire."""
        return tuple(
            (field.name, _field_writer(field), _empty_field(field)) for field in self._schema.fields
        )

    def encode(self, value: JsonObject) -> bytes:
        """Return an object as a message, without its kind and version."""
        self._check(value)
        return self.encode_known(value)

    def encode_list(self, value: JsonObject) -> Generator[None, None, bytes]:
        """Return a list of objects as a message; pause after every few of them."""
        self._check(value)
        written = bytearray()
        for name, write, empty in self._fields:
            given = value.get(name)
            if given is None:
                written += empty
            elif name == "items":
                for start in range(0, len(given), ITEMS_OF_STEP):
                    items = given[start : start + ITEMS_OF_STEP]
                    written += at_any_depth(_written, write, items)
                    yield
            else:
                write(written, given)
        return bytes(written)

    def _check(self, value: JsonObject) -> None:
        if not value.keys() <= self.names:
            unknown = min(value.keys() - self.names)
            raise UnknownProtobufField(f"field {unknown!r} of {self._schema.name}")

    def encode_known(self, value: JsonObject) -> bytes:
        """Return the fields of this message among those of an object, which may have others."""
        written = bytearray()
        for name, write, empty in self._fields:
            given = value if name == INLINE else value.get(name)
            if given is None:
                written += empty
            else:
                write(written, given)
        return bytes(written)


@cache
def message_encoder(name: str) -> MessageEncoder:
    """Return the encoder of a type of message."""
    return MessageEncoder(message_schema(name))
