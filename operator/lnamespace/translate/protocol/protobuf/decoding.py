"""Messages of protobuf to values of JSON, as Go would write the same object.

An object in Go has every field: JSON leaves out those that are empty if the type says so, and
writes the others with their zero value. So a message starts as a copy of its template, the JSON of
an empty one, and each field that is read is put into it.
"""

import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from math import isfinite
from typing import Any, Final

from lnamespace.translate.protocol.protobuf.schema import (
    INLINE,
    RETIRED_FIELDS,
    SPECIAL_MESSAGES,
    FieldSchema,
    MessageSchema,
    message_schema,
)
from lnamespace.translate.protocol.protobuf.special import SPECIAL_FORMS
from lnamespace.translate.protocol.protobuf.wire import (
    DELIMITED,
    FIXED64,
    MAX_VALUES,
    UNEXPECTED_END,
    VARINT,
    ProtobufError,
    ReadingBounds,
    UnknownProtobufField,
    read_varint,
    signed32,
    signed64,
)

JsonObject = dict[str, Any]
ReadBytes = Callable[[bytes, int, int, ReadingBounds], Any]
"""Read the value that stands in some bytes between two positions."""
ReadNumber = Callable[[int], Any]
"""Return the value that an integer on the wire means."""
PutValue = Callable[[JsonObject, Any], None]
"""Put a value where it belongs in the object that is read."""


def _read_string(data: bytes, start: int, stop: int, _bounds: ReadingBounds) -> str:
    return str(data[start:stop], "utf-8")


def _read_bytes(data: bytes, start: int, stop: int, _bounds: ReadingBounds) -> str:
    return str(b64encode(data[start:stop]), "ascii")


def _read_raw(data: bytes, start: int, stop: int, _bounds: ReadingBounds) -> bytes:
    return data[start:stop]


def _read_double(data: bytes, position: int) -> float:
    (value,) = struct.unpack_from("<d", data, position)
    if not isfinite(value):
        raise ProtobufError(f"json: unsupported value: {value}")
    return float(value)


NUMBERS: Final[Mapping[str, ReadNumber]] = {"int32": signed32, "int64": signed64, "bool": bool}
TEXTS: Final[Mapping[str, ReadBytes]] = {
    "string": _read_string,
    "bytes": _read_bytes,
    "raw": _read_raw,
}
SCALAR_ZEROS: Final = {"string": "", "bytes": None, "raw": None, "bool": False, "float64": 0.0}


def _zero(type_name: str) -> Any:
    """Return JSON's value of an empty value."""
    if type_name in SPECIAL_FORMS:
        return SPECIAL_FORMS[type_name].zero
    if type_name in NUMBERS or type_name in SCALAR_ZEROS:
        return SCALAR_ZEROS.get(type_name, 0)
    return message_decoder(type_name).template


def _reader(type_name: str) -> ReadBytes:
    if type_name in TEXTS:
        return TEXTS[type_name]
    read = message_decoder(type_name).read
    if type_name not in SPECIAL_MESSAGES:
        return read
    to_value = SPECIAL_FORMS[type_name].to_value

    def read_special(data: bytes, start: int, stop: int, bounds: ReadingBounds) -> Any:
        return to_value(read(data, start, stop, bounds))

    return read_special


def _reader_of_map_entry(type_name: str) -> ReadBytes:
    """Return a reader of one key and its value."""
    read_value = _reader(type_name)
    zero = "" if type_name == "bytes" else _zero(type_name)

    def read_entry(data: bytes, start: int, stop: int, bounds: ReadingBounds) -> tuple[str, Any]:
        key, value = "", zero
        while start < stop:
            tag, start = read_varint(data, start)
            size, start = read_varint(data, start)
            end = start + size
            if end > stop:
                raise ProtobufError(UNEXPECTED_END)
            if tag == 1 << 3 | DELIMITED:
                key = _read_string(data, start, end, bounds)
            elif tag == 2 << 3 | DELIMITED:
                value = read_value(data, start, end, bounds)
            else:
                raise UnknownProtobufField(f"field {tag >> 3} of an entry of a map")
            start = end
        return key, value

    return read_entry


def _put_list(name: str) -> PutValue:
    def put(target: JsonObject, value: Any) -> None:
        values = target.get(name)
        if values is None:
            target[name] = [value]
        else:
            values.append(value)

    return put


def _put_map(name: str) -> PutValue:
    def put(target: JsonObject, entry: tuple[str, Any]) -> None:
        values = target.get(name)
        if values is None:
            values = target[name] = {}
        values[entry[0]] = entry[1]

    return put


def _put_scalar(name: str) -> PutValue:
    def put(target: JsonObject, value: Any) -> None:
        target[name] = value

    return put


def _put_scalar_or_omit(name: str) -> PutValue:
    def put(target: JsonObject, value: Any) -> None:
        if value:
            target[name] = value
        else:
            target.pop(name, None)

    return put


def _put_message(name: str, template: Any) -> PutValue:
    """Return a function that sets a message. A second part is refused: Kubernetes writes none."""

    def put(target: JsonObject, value: Any) -> None:
        if target.get(name, template) is not template:
            raise ProtobufError(f"{name} is there twice")
        target[name] = value

    return put


def _putter(field: FieldSchema, template: JsonObject) -> PutValue:
    """Return the function that sets a value in the object, by the field's shape."""
    if field.shape == "[]":
        return _put_list(field.name)
    if field.shape == "map:":
        return _put_map(field.name)
    if field.name == INLINE:
        return dict.update
    if field.omitted and not field.shape:
        return _put_scalar_or_omit(field.name)
    if field.type_name in TEXTS or field.type_name in NUMBERS or field.type_name == "float64":
        return _put_scalar(field.name)
    return _put_message(field.name, template.get(field.name))


class MessageDecoder:
    """A decoder of one type of message. Its readers are made when the first one is read."""

    def __init__(self, schema: MessageSchema) -> None:
        self._schema = schema

    @cached_property
    def template(self) -> JsonObject:
        """Return the JSON of an empty message, which must not be changed."""
        template: JsonObject = {}
        for field in self._schema.fields:
            if field.name == INLINE:
                template |= _zero(field.type_name)
            elif not field.omitted:
                template[field.name] = None if field.shape else _zero(field.type_name)
        return template

    @cached_property
    def _delimited(self) -> dict[int, tuple[ReadBytes, PutValue]]:
        """Return how fields are read whose length is written, by their tags."""
        return {
            field.number << 3 | DELIMITED: (
                (_reader_of_map_entry if field.shape == "map:" else _reader)(field.type_name),
                _putter(field, self.template),
            )
            for field in self._schema.fields
            if field.type_name not in NUMBERS and field.type_name != "float64"
        }

    @cached_property
    def _numbers(self) -> dict[int, tuple[ReadNumber, PutValue]]:
        """Return how integers are read, by their tags."""
        return {
            field.number << 3 | VARINT: (NUMBERS[field.type_name], _putter(field, self.template))
            for field in self._schema.fields
            if field.type_name in NUMBERS
        }

    @cached_property
    def _doubles(self) -> dict[int, PutValue]:
        """Return where floating-point numbers are put, by their tags."""
        return {
            field.number << 3 | FIXED64: _putter(field, self.template)
            for field in self._schema.fields
            if field.type_name == "float64"
        }

    @cached_property
    def _retired(self) -> int:
        """Return the tag of a field that is gone, which is read if it is empty; 0 for none."""
        number = RETIRED_FIELDS.get(self._schema.name)
        return number << 3 | DELIMITED if number else 0

    def read(self, data: bytes, start: int, stop: int, bounds: ReadingBounds) -> JsonObject:
        """Return the message between two positions as JSON's object."""
        bounds.enter()
        target = self.template.copy()
        delimited, numbers = self._delimited, self._numbers
        count = -1
        for count in range(bounds.values_left):  # noqa: B007 - counting by hand takes longer
            if start >= stop:
                break
            tag = data[start]
            start += 1
            if tag > 0x7F:
                tag, start = read_varint(data, start - 1)
            if tag in delimited:
                size = data[start]
                start += 1
                if size > 0x7F:
                    size, start = read_varint(data, start - 1)
                end = start + size
                if end > stop:
                    raise ProtobufError(UNEXPECTED_END)
                read, put = delimited[tag]
                put(target, read(data, start, end, bounds))
                start = end
            elif tag in numbers:
                number, start = read_varint(data, start)
                convert, put = numbers[tag]
                put(target, convert(number))
            else:
                start = self._read_rare(tag, data, start, target)
        bounds.leave(count)
        if start != stop:
            raise ProtobufError(UNEXPECTED_END)
        return target

    def _read_rare(self, tag: int, data: bytes, start: int, target: JsonObject) -> int:
        """Read a double or a packed list; return the position after it."""
        if tag in self._doubles:
            self._doubles[tag](target, _read_double(data, start))
            return start + 8
        if tag == self._retired and not data[start]:
            return start + 1
        unpacked = tag & ~7 | VARINT
        if tag & 7 != DELIMITED or unpacked not in self._numbers:
            raise UnknownProtobufField(f"field {tag >> 3} of {self._schema.name}")
        convert, put = self._numbers[unpacked]
        size, start = read_varint(data, start)
        end = start + size
        if size > MAX_VALUES:
            raise ProtobufError(f"more than {MAX_VALUES} values in one list")
        while start < end:
            number, start = read_varint(data, start)
            put(target, convert(number))
        if start != end:
            raise ProtobufError(UNEXPECTED_END)
        return start


@cache
def message_decoder(name: str) -> MessageDecoder:
    """Return the decoder of a type of message."""
    return MessageDecoder(message_schema(name))
