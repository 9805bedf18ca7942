r"""Objects in protobuf as Kubernetes sends them: a message in an envelope that says its kind.

The envelope is ``k8s\0`` and a message ``runtime.Unknown``: kind and version, and the object's own
message as bytes. A watch is a stream of frames, each a length in four bytes and a message
``WatchEvent``, which has no envelope itself but holds an object in one.
"""

import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lnamespace.nesting import at_any_depth
from lnamespace.translate.protocol.protobuf.decoding import message_decoder
from lnamespace.translate.protocol.protobuf.encoding import MessageEncoder, message_encoder
from lnamespace.translate.protocol.protobuf.schema import schema_file
from lnamespace.translate.protocol.protobuf.special import json_decoder
from lnamespace.translate.protocol.protobuf.wire import (
    DELIMITED,
    ProtobufError,
    ReadingBounds,
    UnknownProtobufField,
    delimited,
    read_varint,
)
from lnamespace.translate.protocol.status import (
    Refused,
    bad_request,
    internal_error,
    not_acceptable,
    unsupported_media_type,
)

PREFIX: Final = b"k8s\0"
_FRAME: Final = struct.Struct(">I")
_UNREADABLE: Final = (ProtobufError, IndexError, UnicodeDecodeError, struct.error, RecursionError)
_UNWRITABLE: Final = (
    ProtobufError, AttributeError, TypeError, ValueError, OverflowError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True)
class Envelope:
    """One object with its kind, still encoded."""

    api_version: str
    kind: str
    raw: bytes


def to_json(body: bytes, *, api_version: str = "", kind: str = "") -> bytes:
    """Return the JSON of an object that a client sent in protobuf.

    Parameters
    ----------
    body
        The object in its envelope.
    api_version, kind
        What the object is if its envelope does not say it.

    Raises
    ------
    Refused
        With 400 if the bytes are malformed; with 415 if the kind, or a field of it, cannot be
        translated to JSON: the client may send JSON then.
    """
    try:
        envelope = open_envelope(body)
    except _UNREADABLE as error:
        text = f"the object provided is unrecognized: {_words(error)}"
        raise bad_request(text) from error
    api_version, kind = envelope.api_version or api_version, envelope.kind or kind
    message = schema_file().message_of_kind(api_version, kind)
    if message is None:
        raise _unsupported(f"no kind {kind!r} is known in version {api_version!r} as protobuf")
    fields = _read_object(envelope.raw, message, api_version, kind)
    return msgspec.json.encode({"kind": kind, "apiVersion": api_version} | fields)


def from_json_in_steps(body: bytes) -> Generator[None, None, bytes]:
    """Return the API server's answer in protobuf; pause after every few objects of a list.

    A list of a thousand pods takes longer than others should wait.

    Raises
    ------
    Refused
        With 406 if the kind, or a field of it, has no protobuf that we know.
    """
    if not body:
        return b""
    value = _decoded(body)
    if not isinstance(value.get("items"), list):
        return _written(value)
    encoder, fields = _encoder_of(value)
    try:
        raw = yield from encoder.encode_list(fields)
    except _UNWRITABLE as error:
        raise _cannot_be_written(value, error) from error
    return _enveloped(value, raw)


def watch_frame(event: bytes) -> bytes:
    """Return one event of a watch, which is JSON, as a frame with its length before it."""
    decoded = _decoded(event)
    kind = decoded.get("type")
    if not isinstance(kind, str) or not isinstance(decoded.get("object"), dict):
        raise internal_error("an event of a watch has no type or no object")
    message = delimited(1, kind.encode()) + delimited(2, delimited(1, _written(decoded["object"])))
    return _FRAME.pack(len(message)) + message


def open_envelope(body: bytes) -> Envelope:
    """Decode an envelope; raise ProtobufError or IndexError if the body is not an envelope."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(PREFIX):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, "
            f"expected prefix [{' '.join(map(str, PREFIX))}]"
        )
    if len(body) == len(PREFIX):
        raise ProtobufError("empty body")
    unknown = _byte_fields(body[len(PREFIX) :], 4)
    if unknown.get(3):
        raise ProtobufError("the content of an envelope must not be encoded otherwise")
    type_meta = _byte_fields(unknown.get(1, b""), 2)
    api_version, kind = (str(type_meta.get(number, b""), "utf-8") for number in (1, 2))
    return Envelope(api_version, kind, unknown.get(2, b""))


def _byte_fields(data: bytes, highest: int) -> dict[int, bytes]:
    """Return the fields of a message that has byte strings alone."""
    fields: dict[int, bytes] = {}
    position = 0
    while position < len(data):
        tag, position = read_varint(data, position)
        size, start = read_varint(data, position)
        number, position = tag >> 3, start + size
        if tag & 7 != DELIMITED or number in fields or not 0 < number <= highest:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {tag & 7})")
        if position > len(data):
            raise ProtobufError("unexpected EOF")
        fields[number] = data[start:position]
    return fields


def _read_object(raw: bytes, message: str, api_version: str, kind: str) -> dict[str, Any]:
    try:
        return message_decoder(message).read(raw, 0, len(raw), ReadingBounds())
    except UnknownProtobufField as error:
        raise _unsupported(f"{error} is not known as protobuf") from error
    except _UNREADABLE as error:
        version = api_version.rpartition("/")[2]
        text = f'{kind} in version "{version}" cannot be handled as a {kind}: {_words(error)}'
        raise bad_request(text) from error


def _unsupported(why: str) -> Refused:
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        f"application/json, application/yaml ({why})"
    )


def _words(error: Exception) -> str:
    match error:
        case IndexError() | struct.error():
            return "unexpected EOF"
        case RecursionError():
            return "exceeded max depth"
        case _:
            return str(error)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        decoded = at_any_depth(json_decoder.decode, body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise internal_error(f"an answer is no JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise internal_error("an answer is no JSON object")
    return decoded


def _encoder_of(value: dict[str, Any]) -> tuple[MessageEncoder, dict[str, Any]]:
    """Return the encoder of an object's kind, and the object's fields without the kind."""
    api_version, kind = value.get("apiVersion", ""), value.get("kind", "")
    # The APIResourceList of /api/v1 says no version, as it did before there were groups.
    message = schema_file().message_of_kind(api_version, kind)
    message = message or schema_file().message_of_kind(api_version or "v1", kind)
    if message is None:
        raise _unacceptable(f"{kind} in version {api_version!r} has no protobuf")
    fields = {name: field for name, field in value.items() if name not in {"kind", "apiVersion"}}
    return message_encoder(message), fields


def _written(value: dict[str, Any]) -> bytes:
    encoder, fields = _encoder_of(value)
    try:
        raw = at_any_depth(encoder.encode, fields)
    except _UNWRITABLE as error:
        raise _cannot_be_written(value, error) from error
    return _enveloped(value, raw)


def _cannot_be_written(value: dict[str, Any], error: Exception) -> Refused:
    return _unacceptable(f"{value['kind']} cannot be written as protobuf: {error}")


def _enveloped(value: dict[str, Any], raw: bytes) -> bytes:
    api_version, kind = value.get("apiVersion", ""), value["kind"]
    type_meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"".join(
        (PREFIX, delimited(1, type_meta), delimited(2, raw), delimited(3, b""), delimited(4, b""))
    )


def _unacceptable(why: str) -> Refused:
    return not_acceptable(f"only the following media types are accepted: application/json ({why})")
