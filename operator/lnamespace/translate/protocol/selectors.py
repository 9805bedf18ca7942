"""Field and label selectors: parsed as Kubernetes parses them, and rendered from the values.

The grammars are those of k8s.io/apimachinery/pkg/fields and pkg/labels. Selectors are rendered
from what was parsed, so upstream reads exactly what was judged here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lnamespace.translate.protocol.status import Refused, bad_request

MAX_FIELD_TERMS: Final = 100
"""The watch of a selector judges each event by each term."""
_FIELD_OPERATOR: Final = re.compile("!=|==|=")
_ESCAPED: Final = re.compile(r"\\(?P<escaped>.?)|(?P<unescaped>[,=])", re.DOTALL)


@dataclass(frozen=True)
class FieldTerm:
    """One term of a field selector: a field equals a value, or does not (``negated``)."""

    field: str
    value: str
    negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether an object with these fields is selected by this term."""
        return (fields.get(self.field, "") == self.value) is not self.negated

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{'!=' if self.negated else '='}{escaped}"


class Operator(StrEnum):
    """The relation of a key to values in a label selector."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = ">"
    LESS_THAN = "<"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


@dataclass(frozen=True)
class LabelTerm:
    """One requirement of a label selector."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """Return the terms of a field selector.

    Raises
    ------
    Refused
        The selector cannot be parsed, or has more terms than anybody needs.
    """
    terms = [each for each in _split_terms(text) if each]
    if len(terms) > MAX_FIELD_TERMS:
        raise bad_request(f"a field selector of more than {MAX_FIELD_TERMS} terms is not supported")
    return tuple(_field_term(text, each) for each in terms)


def render_selector(terms: tuple[FieldTerm, ...] | tuple[LabelTerm, ...]) -> str:
    """Return the text of a field or label selector."""
    return ",".join(map(str, terms))


def exact_match(terms: tuple[FieldTerm, ...], field: str) -> str | None:
    """Return the value that a field must have, or None if the selector does not say it."""
    return next((each.value for each in terms if each.field == field and not each.negated), None)


def _split_terms(text: str) -> list[str]:
    """Split at commas that no backslash precedes, and keep the backslashes."""
    terms, start, escaped = list[str](), 0, False
    for index, character in enumerate(text):
        if character == "," and not escaped:
            terms.append(text[start:index])
            start = index + 1
        escaped = character == "\\" and not escaped
    return [*terms, text[start:]]


def _field_term(selector: str, term: str) -> FieldTerm:
    operator = _FIELD_OPERATOR.search(term)
    if operator is None:
        raise bad_request(f"invalid selector: '{selector}'; can't understand '{term}'")
    value = _ESCAPED.sub(_unescaped, term[operator.end() :])
    return FieldTerm(term[: operator.start()], value, operator[0] == "!=")


def _unescaped(found: re.Match[str]) -> str:
    """Return the character that a backslash escapes in a value: backslash, comma or equals."""
    if found["unescaped"]:
        code = ord(found["unescaped"])
        raise bad_request(f"invalid field selector: unescaped character in value: {code}")
    if found["escaped"] not in ("\\", ",", "="):
        why = f"invalid escape sequence: \\{found['escaped']}"
        raise bad_request(f"invalid field selector: {why}")
    return found["escaped"]


def parse_label_selector(text: str) -> tuple[LabelTerm, ...]:
    """Return the requirements of a label selector; keys and values are not validated.

    Raises
    ------
    Refused
        The selector cannot be parsed.
    """
    if "\0" in text:
        raise bad_request("unable to parse requirement: found a null character")
    return tuple(_LabelParser(list(_tokens(text))).requirements())


_BLANK = " \t\r\n"
_SPECIAL = "=!(),<>"
_END = ""


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a label selector, an empty one at the end.

    ``==`` and ``!=`` are the only tokens of two special characters.
    """
    position = 0
    while position < len(text):
        character = text[position]
        length = 1
        if character in _SPECIAL:
            length = 2 if text[position : position + 2] in {"==", "!="} else 1
        elif character not in _BLANK:
            length = len(_word(text, position))
        if character not in _BLANK:
            yield text[position : position + length]
        position += length
    yield _END


def _word(text: str, position: int) -> str:
    end = position
    while end < len(text) and text[end] not in _BLANK + _SPECIAL:
        end += 1
    return text[position:end]


class _LabelParser:
    """A parser of the symbols of a label selector, as Parser in k8s.io/apimachinery/pkg/labels."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0

    def requirements(self) -> Iterator[LabelTerm]:
        """Yield the requirements."""
        while (symbol := self._next()) != _END:
            if symbol != "!" and not _is_identifier(symbol):
                raise _found(symbol, "!, identifier, or 'end of string'")
            yield self._requirement()
            separator = self._take()
            if separator == _END:
                return
            if separator != ",":
                raise _found(separator, "',' or 'end of string'")
            if self._next() != "!" and not _is_identifier(self._next()):
                raise _found(self._next(), "identifier after ','")

    def _next(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        symbol = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return symbol

    def _requirement(self) -> LabelTerm:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if not _is_identifier(key):
            raise _unexpected(key, "identifier")
        if absent and self._next() in {_END, ","}:
            return LabelTerm(key, Operator.DOES_NOT_EXIST)
        if self._next() in {_END, ","}:
            return LabelTerm(key, Operator.EXISTS)
        operator = self._operator()
        values = self._set() if operator in {Operator.IN, Operator.NOT_IN} else self._exact()
        return LabelTerm(key, operator, values)

    def _operator(self) -> Operator:
        symbol = self._take()
        if symbol not in _BINARY:
            raise _unexpected(symbol, "in, notin, =, ==, !=, gt, lt")
        return Operator(symbol)

    def _exact(self) -> tuple[str, ...]:
        if self._next() in {_END, ","}:
            return ("",)
        symbol = self._take()
        if not _is_identifier(symbol):
            raise _unexpected(symbol, "identifier")
        return (symbol,)

    def _set(self) -> tuple[str, ...]:
        if (symbol := self._take()) != "(":
            raise _unexpected(symbol, "'('")
        values = {""} if self._next() in {")", ","} else set()
        while (symbol := self._take()) != ")":
            if symbol == ",":
                if self._next() in {",", ")"}:
                    values.add("")
            elif _is_identifier(symbol):
                values.add(symbol)
                if self._next() not in {",", ")"}:
                    raise _unexpected(self._next(), "',' or ')'")
            else:
                raise _unexpected(symbol, "',', ')' or identifier")
        return tuple(sorted(values))


_BINARY = frozenset(Operator) - {Operator.EXISTS, Operator.DOES_NOT_EXIST}


def _is_identifier(symbol: str) -> bool:
    return symbol != _END and symbol[0] not in _SPECIAL


def _found(symbol: str, expected: str) -> Refused:
    return bad_request(f"found '{symbol}', expected: {expected}")


def _unexpected(symbol: str, expected: str) -> Refused:
    return bad_request(f"unable to parse requirement: found '{symbol}', expected: {expected}")
