"""Keys that are written twice in one object, which field validation reports.

The API server takes the last value of such a key, and warns or refuses as the client asks
(``fieldValidation``). A key without a rule is harmless, and goes up with all its values; of a key
with a rule only the last value goes up, translated.
"""

import json
from collections.abc import Container
from typing import Any

from msgspec import Raw
from msgspec.json import encode

MAX_SIZE = 256 * 1024
"""The longest body that is searched; of a longer one only the last value of each key goes up."""

_decode = json.JSONDecoder(parse_int=str).raw_decode
"""Without the numbers: Python makes none of more than 4,300 digits, which JSON may have."""
_BLANK = " \t\n\r"


class _RepeatedKey(Exception):
    """An object has a key twice."""


def has_repeated_keys(body: bytes) -> bool:
    """Return whether an object in a body has a key twice."""
    if len(body) > MAX_SIZE:
        return False
    try:
        json.loads(body, object_pairs_hook=_refuse_repeated, parse_int=str)
    except _RepeatedKey:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _RepeatedKey


def with_repeated(
    value: Any, members: dict[str, Any], translated: dict[str, Any], ruled: Container[str]
) -> Any:
    """Return a translated object with the repeated keys that have no rule.

    Parameters
    ----------
    value
        The object as it came.
    members
        Its members before the translation, of repeated keys the last.
    """
    pairs = _pairs(bytes(value).decode())
    if len(pairs) == len(members):
        return translated
    last = {key: index for index, (key, _) in enumerate(pairs)}
    kept: list[tuple[str, Any]] = []
    for index, (key, raw) in enumerate(pairs):
        if key not in ruled and translated.get(key) is members[key]:
            kept.append((key, Raw(raw.encode())))
        elif last[key] == index and key in translated:
            kept.append((key, translated[key]))
    kept += [(key, each) for key, each in translated.items() if key not in last]
    return Raw(b"{%b}" % b",".join(encode(key) + b":" + encode(each) for key, each in kept))


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the keys of an object with their values as they are written; it is known as valid."""
    pairs = []
    index = _skip(text, _skip(text, 0) + 1)
    while text[index] != "}":
        key, index = _decode(text, index)
        start = _skip(text, _skip(text, index) + 1)
        _, index = _decode(text, start)
        pairs.append((key, text[start:index]))
        index = _skip(text, index)
        if text[index] == ",":
            index = _skip(text, index + 1)
    return pairs


def _skip(text: str, index: int) -> int:
    while text[index] in _BLANK:
        index += 1
    return index
