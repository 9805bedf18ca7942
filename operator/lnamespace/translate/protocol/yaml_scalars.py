"""Scalars of YAML 1.1 as sigs.k8s.io/yaml reads them: by tag, by quotes and by text."""

import math
import re
from decimal import Decimal
from typing import Final

import msgspec
import yaml

from lnamespace.translate.protocol.status import Refused, bad_request

_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_JSON_TAGS: Final = frozenset({"bool", "float", "int", "null"})
_HINTS: Final = frozenset("+-.0123456789yYnNtTfFoO~")
_SPELLINGS: Final = {
    True: "y Y yes Yes YES true True TRUE on On ON",
    False: "n N no No NO false False FALSE off Off OFF",
    None: "~ null Null NULL",
}
_WORDS: Final[dict[str, bool | None]] = {
    "": None,
    **{text: value for value, texts in _SPELLINGS.items() for text in texts.split()},
}
_UNWRITABLE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER: Final = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PLAIN_FLOAT_KEY: Final = re.compile(r"-?(0|[1-9][0-9]{0,3})\.[0-9]{0,2}[1-9]")

Scalar = str | int | bool | msgspec.Raw | None
_TAGS: Final = {type(None): "null", bool: "bool", int: "int", msgspec.Raw: "float", str: "str"}


def resolve_scalar(event: yaml.ScalarEvent) -> Scalar:
    """Return the value of a scalar by its tag, its quotes and its text."""
    tag, text = event.tag, event.value
    if tag is None:
        return _plain(text) if event.implicit[0] else text
    if tag in {"!", f"{_TAG_PREFIX}str"}:
        return text
    kind = tag.removeprefix(_TAG_PREFIX)
    if kind not in _JSON_TAGS:
        raise yaml_refused(f"{line_of(event)}the tag {tag} is not supported")
    value = _plain(text)
    found = _TAGS[type(value)]
    if found != kind and (found, kind) != ("int", "float"):
        raise yaml_refused(f"cannot decode !!{found} `{text}` as a !!{kind}")
    return value


def _plain(text: str) -> Scalar:
    """Return the value of text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in _HINTS:
        return text
    if _UNWRITABLE.fullmatch(text):
        raise bad_request(f"error converting YAML to JSON: json: unsupported value: {text}")
    return _number(text)


def _number(text: str) -> Scalar:
    """Return the number that text means, or the text."""
    digits = text if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(digits):
        value = _integer(*match.groups())
        if -(1 << 63) <= value < (1 << 63) or (not match[1] and value < 1 << 64):
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if math.isfinite(number):
            return _json_float(number)
    return text


def _integer(sign: str, digits: str) -> int:
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2].lower())
    if base is None:
        base = 8 if digits[0] == "0" and len(digits) > 1 else 10
    if base == 10 and len(digits) > 20:
        return 1 << 64  # too long for 64 bits, whatever it is
    return int(digits, base) * (-1 if sign == "-" else 1)


def _json_float(number: float) -> msgspec.Raw:
    """Return a number as Go's JSON has it: 1e3 is 1000, which an integer field takes."""
    if number and not 1e-6 <= abs(number) < 1e21:
        return msgspec.Raw(repr(number).encode())
    text = format(Decimal(repr(number)), "f")
    return msgspec.Raw((text.removesuffix(".0")).encode())


def key_text(event: yaml.ScalarEvent) -> str:
    """Return a key as text: keys may look like numbers or booleans."""
    value = resolve_scalar(event)
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case msgspec.Raw() if _PLAIN_FLOAT_KEY.fullmatch(event.value):
            return str(event.value)
    raise yaml_refused(f"{line_of(event)}unsupported map key {event.value!r}: put it into quotes")


def check_tag(tag: str | None, expected: str) -> None:
    """Refuse a tag of a list or a mapping that is not the ``expected`` one."""
    if tag not in {None, "!", _TAG_PREFIX + expected}:
        raise yaml_refused(f"the tag {tag} is not supported")


def line_of(event: yaml.Event) -> str:
    """Return the line of an event, for the beginning of a message."""
    mark = event.start_mark
    return f"line {mark.line + 1}: " if mark else ""


def yaml_refused(problem: str) -> Refused:
    """Return the refusal of a body that is no YAML, in Kubernetes' words."""
    return bad_request(f"error converting YAML to JSON: yaml: {problem}")
