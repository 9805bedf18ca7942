"""Protobuf on the wire: variable-length integers, tags, bounds of what is read.

A tag is the number of a field, three bits to the left, and the way in which its value is written:
``VARINT``, ``FIXED64`` or ``DELIMITED`` (a length, then so many bytes).
"""

from typing import Final

from lnamespace.errors import LNamespaceError

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2

MAX_DEPTH: Final = 128
"""How deep messages may be in one another; each schema in a CustomResourceDefinition is one."""
MAX_MESSAGES: Final = 50_000
"""How many messages one body may have: an empty one takes two bytes here and hundreds as JSON."""

MAX_VALUES: Final = 200_000
"""The most values of one body. Decoding them takes a tenth of a second."""

UNEXPECTED_END: Final = "unexpected EOF"
_SMALL: Final = tuple(bytes([value]) for value in range(128))
_SIXTY_FOUR_BITS: Final = (1 << 64) - 1


class ProtobufError(LNamespaceError):
    """Bytes are no protobuf message of the kind that they should be."""


class UnknownProtobufField(ProtobufError):
    """A message has a field that the table of messages lacks; nothing is dropped silently."""


class ReadingBounds:
    """The limits of messages, depth and values while one body is read."""

    __slots__ = ("depth", "messages", "values_left")

    def __init__(self) -> None:
        self.depth = 0
        self.messages = 0
        self.values_left = MAX_VALUES

    def enter(self) -> None:
        """Count a message that begins; refuse more than one body may have."""
        self.depth += 1
        self.messages += 1
        if self.depth > MAX_DEPTH:
            raise ProtobufError(f"exceeded max depth of {MAX_DEPTH}")
        if self.messages > MAX_MESSAGES:
            raise ProtobufError(f"more than {MAX_MESSAGES} messages in one body")

    def leave(self, values: int) -> None:
        """Leave a message that had a number of values, and count them."""
        self.depth -= 1
        self.values_left -= values
        if self.values_left <= 1:
            raise ProtobufError(f"more than {MAX_VALUES} values in one body")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return an integer and the position after it; its sign is the field's matter."""
    value = data[position]
    position += 1
    if value < 0x80:
        return value, position
    value &= 0x7F
    for shift in range(7, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _SIXTY_FOUR_BITS, position
    raise ProtobufError("proto: integer overflow")


def varint(value: int) -> bytes:
    """Return an integer as it is written; a negative one takes ten bytes."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    value &= _SIXTY_FOUR_BITS
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def tag(number: int, wire_type: int) -> bytes:
    """Return the tag of a field as it is written."""
    return varint(number << 3 | wire_type)


def delimited(number: int, body: bytes | bytearray) -> bytes:
    """Return a field whose value is written with its length before it."""
    return b"".join((tag(number, DELIMITED), varint(len(body)), body))


def signed64(value: int) -> int:
    """Return the int64 that 64 bits mean."""
    return value - (1 << 64) if value >> 63 else value


def signed32(value: int) -> int:
    """Return the int32 that the lower 32 bits mean."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
