"""Answers in YAML, written from JSON.

Keys are in order, as Kubernetes writes YAML. Text stands in quotes, as in JSON, unless it is a word
that no reader of YAML takes for something else; numbers stay as they were written.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_WORD = re.compile("[A-Za-z][A-Za-z0-9_./-]*")
_ESCAPES = re.compile(r"\\\\|(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\x7f")
_NO_WORDS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
"""Words that YAML 1.1 reads as a boolean or null, in lower case."""


_LONGEST_KEY = 1000
"""A key of more than 1,024 characters must be marked as a key, or a reader rejects it."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def yaml_lines(body: bytes) -> Iterator[str]:
    """Yield the lines of a JSON text as YAML.

    Raises
    ------
    RecursionError
        The JSON is nested too deeply.
    """
    value = json.loads(body, parse_int=_Number, parse_float=_Number)
    inline = _inline(value)
    if inline is None:
        yield from _block(value, "")
    else:
        yield inline + "\n"


def _block(value: Any, indent: str) -> Iterator[str]:
    """Yield the lines of an object or an array that is not empty."""
    if isinstance(value, dict):
        for key in sorted(value):
            # An array may stand under its key without a further indent, as Kubernetes writes it.
            deeper = indent if isinstance(value[key], list) else f"{indent}  "
            yield from _entry(f"{indent}{_key(key, indent)}:", value[key], deeper)
        return
    for each in value:
        inline = _inline(each)
        if inline is not None:
            yield f"{indent}- {inline}\n"
            continue
        first, *others = _block(each, f"{indent}  ")
        yield f"{indent}- {first.removeprefix(f'{indent}  ')}"
        yield from others


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    inline = _inline(value)
    if inline is not None:
        yield f"{head} {inline}\n"
        return
    yield f"{head}\n"
    yield from _block(value, indent)


def _key(text: str, indent: str) -> str:
    """Return a key; one that is long says that it is a key."""
    written = _text(text)
    return written if len(written) <= _LONGEST_KEY else f"? {written}\n{indent}"


def _inline(value: Any) -> str | None:
    """Return a value that stands on one line; None for an object or an array with content."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict | list) and value:
        return None
    return json.dumps(value)


def _text(text: str) -> str:
    word = _WORD.fullmatch(text) and text.lower() not in _NO_WORDS
    return text if word else _ESCAPES.sub(_escaped, json.dumps(text))


def _escaped(found: re.Match[str]) -> str:
    """Return an escape as YAML has it: for a character beyond 16 bits, JSON has two."""
    if found[0] == "\x7f":
        return "\\x7f"
    if found[1] is None:
        return found[0]
    character: str = json.loads(f'"{found[0]}"')
    return f"\\U{ord(character):08x}"
