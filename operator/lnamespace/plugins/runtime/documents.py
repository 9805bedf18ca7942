"""JSON without the module `json`, which imports `re`: both take as long as a plugin itself.

The functions in C that `json` uses are enough.
"""

from __future__ import annotations

import codecs
import gc
import sys

from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


DEEPEST = 12_000  # the levels that the API server takes, and the calls around them


class _Decoder:
    """The attributes that the JSON scanner needs, as `json.JSONDecoder` has them."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> float:
        """Read NaN and the infinities, which Python writes and JSON does not have."""
        return float(name)


try:
    from _json import encode_basestring_ascii, make_scanner

    _scan = make_scanner(_Decoder)  # type: ignore[arg-type]  # it reads these, of whatever has them
except (ImportError, AttributeError, TypeError):  # another Python than CPython, or a later one
    from json import JSONDecoder
    from json.encoder import encode_basestring_ascii

    _scan = JSONDecoder().scan_once  # type: ignore[attr-defined]


def loads(text: str) -> Any:
    """Return the value of a JSON document.

    Raises
    ------
    ValueError
        When the text is no JSON.

    """
    value, end = _scanned(text.strip())
    if end < len(text.strip()):
        raise ValueError("more than one JSON document")
    return value


def _scanned(text: str) -> tuple[Any, int]:
    try:
        value, end = _scan_at_any_depth(text)
    except StopIteration:
        raise ValueError("no JSON document, or half of one") from None
    return value, end


def _scan_at_any_depth(text: str) -> tuple[Any, int]:
    """Read a document that is nested deeper than Python recurses by default, as by managed fields.

    One such LNamespace ended `kubectl lns list` for everybody.
    """
    try:
        return _scan_without_collecting(text)
    except RecursionError:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
        return _scan_without_collecting(text)


def _scan_without_collecting(text: str) -> tuple[Any, int]:
    """Read a document with Python's garbage collector at rest, which finds no cycles in it.

    It looked through the objects of a thousand LNamespaces for as long as reading them took.
    """
    gc.disable()
    try:
        found: tuple[Any, int] = _scan(text, 0)
    finally:
        gc.enable()
    return found


def dumps(value: object) -> str:
    """Return a value as JSON, in ASCII and without a line break."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, dict):
        pairs = (f"{encode_basestring_ascii(key)}:{dumps(item)}" for key, item in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(dumps, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


class JsonStream:
    """A stream of JSON documents in pieces of any size, such as a watch sends."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> list[Any]:
        """Return the documents that are complete now, in order."""
        self._text += self._decoder.decode(data)
        documents: list[Any] = []
        while text := self._text.lstrip():
            try:
                document, end = _scanned(text)
            except ValueError:
                break  # the rest of it is still on its way
            documents.append(document)
            self._text = text[end:]
        return documents
