"""What a tenant wrote into a field that is harmless upstream, as the text of an annotation.

All annotations of an object have 256 KiB together, and a ResourceSlice with 128 devices may be
larger by itself. Long originals are compressed; devices of one kind repeat each other.
"""

import base64
import binascii
import zlib
from typing import Any

import msgspec

_LONG = 16 * 1024
_COMPRESSED = "zlib:"
"""The beginning of an original that is compressed; no JSON begins so."""
_LARGEST = 8 * 1024 * 1024
"""No API server takes an object of this size, so no gateway wrote an original that is larger."""


def encode_original(value: Any) -> str:
    """Return a value as text, the same for the same value."""
    text = msgspec.json.encode(value)
    if len(text) <= _LONG:
        return text.decode()
    return _COMPRESSED + base64.b64encode(zlib.compress(text)).decode()


def decode_original(text: str) -> Any:
    """Return the value of a text.

    Raises
    ------
    ValueError
        No gateway wrote it.
    """
    try:
        return msgspec.json.decode(_decompressed(text) if text.startswith(_COMPRESSED) else text)
    except (msgspec.DecodeError, RecursionError, binascii.Error, zlib.error) as error:
        raise ValueError("it is no original") from error


def _decompressed(text: str) -> bytes:
    compressed = base64.b64decode(text.removeprefix(_COMPRESSED), validate=True)
    decompressor = zlib.decompressobj()
    found = decompressor.decompress(compressed, _LARGEST)
    if not decompressor.eof:
        raise zlib.error("too large, or cut off")
    return found
