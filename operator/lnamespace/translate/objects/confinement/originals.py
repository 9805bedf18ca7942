"""What a tenant wrote into a field that is harmless upstream, as the text of an annotation.

All annotations of an object have 256 KiB together, and a ResourceSlice with 128 devices may be
larger by itself. Long originals are compressed; devices of one kind repeat each other.

How much longer an object is for its tenant than upstream is bounded: originals of nothing but zeros
are small upstream, and a list of them took all memory of the gateway.
"""

import base64
import binascii
import zlib
from typing import Any

import msgspec

_LONG = 16 * 1024
_COMPRESSED = "zlib:"
"""The beginning of an original that is compressed; no JSON begins so."""
EXPANSION = 16
"""How many times as long as its text an original is at most."""


def encode_original(value: Any) -> str:
    """Return a value as text, the same for the same value."""
    text = msgspec.json.encode(value)
    if len(text) <= _LONG:
        return text.decode()
    compressed = _COMPRESSED + base64.b64encode(zlib.compress(text)).decode()
    return compressed.ljust(len(text) // EXPANSION + 1)


def decode_original(text: str) -> Any:
    """Return the value of a text.

    Raises
    ------
    ValueError
        The text was not written by a gateway.
    """
    try:
        return msgspec.json.decode(_decompressed(text) if text.startswith(_COMPRESSED) else text)
    except (msgspec.DecodeError, RecursionError, binascii.Error, zlib.error) as error:
        raise ValueError("it is no original") from error


def _decompressed(text: str) -> bytes:
    compressed = base64.b64decode(text.removeprefix(_COMPRESSED).rstrip(), validate=True)
    decompressor = zlib.decompressobj()
    found = decompressor.decompress(compressed, len(text) * EXPANSION)
    if not decompressor.eof:
        raise zlib.error("too long, or cut off")
    return found
