"""Field and label selectors in access reviews (KEP-4601).

RBAC ignores them. They are parsed to report an invalid one in the words of the API server.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.selectors import (
    LabelTerm,
    Operator,
    parse_field_selector,
    parse_label_selector,
)
from lnamespace.translate.protocol.status import Cause, Refused

_OPERATORS_WITH_VALUES = frozenset({"In", "NotIn"})
_OPERATORS_WITHOUT = frozenset({"Exists", "DoesNotExist"})
_COMPARISONS = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})
_NAME = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
MAX_RAW: Final = 64 * 1024
"""How many bytes a selector may be as text: more than any URL to which it could belong."""
_NAME_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


class SelectorTerm(Struct, omit_defaults=True):
    """One requirement of a selector in an access review."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class ReviewSelector(Struct, rename="camel", omit_defaults=True):
    """A selector in an access review: as text or as requirements."""

    raw_selector: str = ""
    requirements: list[SelectorTerm] | None = None


def selector_causes(selector: ReviewSelector | None, path: str, kind: str) -> Iterator[Cause]:
    """Yield the errors of a selector; ``kind`` is field or label."""
    if selector is None:
        return
    if len(selector.raw_selector.encode()) > MAX_RAW:
        why = f"Too long: may not be more than {MAX_RAW} bytes"
        yield Cause("FieldValueTooLong", why, f"{path}.rawSelector")
        return
    terms = selector.requirements or []
    if selector.raw_selector and terms:
        why = "may not specified at the same time as requirements"
        yield _invalid(f"{path}.rawSelector", selector.raw_selector, why)
    if not selector.raw_selector and not terms:
        why = f"when {path} is specified, requirements or rawSelector is required"
        yield _required(f"{path}.requirements", why)
    for number, term in enumerate(terms):
        yield from _term_causes(term, f"{path}.requirements[{number}]", kind)


def _term_causes(term: SelectorTerm, path: str, kind: str) -> Iterator[Cause]:
    if kind == "field" and not term.key:
        yield _required(f"{path}.key", "must be specified")
    if term.operator in _OPERATORS_WITH_VALUES and not term.values:
        yield _required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if term.operator in _OPERATORS_WITHOUT and term.values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield Cause("FieldValueForbidden", f"Forbidden: {why}", f"{path}.values")
    if kind == "label" and not _is_label_key(term.key):
        yield _invalid(f"{path}.key", term.key, _NAME_MESSAGE)


def selector_error(selector: ReviewSelector | None, kind: str) -> str:
    """Return the error of a selector that cannot be read; empty if it can."""
    if selector is None:
        return ""
    terms = selector.requirements or []
    if terms:
        readable = [_readable_field(each) if kind == "field" else _readable(each) for each in terms]
        if all(readable):
            return ""
        ignored = "partially ignored" if any(readable) else "ignored"
    elif not selector.raw_selector or _parses(selector.raw_selector, kind):
        return ""
    else:
        ignored = "ignored"
    return f"spec.resourceAttributes.{kind}Selector {ignored} due to parse error"


def _readable_field(term: SelectorTerm) -> bool:
    return term.operator in _OPERATORS_WITH_VALUES and len(term.values or []) == 1


def _readable(term: SelectorTerm) -> bool:
    known = term.operator in _OPERATORS_WITH_VALUES | _OPERATORS_WITHOUT
    return known and _are_label_values(term.values or [])


def _parses(text: str, kind: str) -> bool:
    try:
        if kind == "field":
            parse_field_selector(text)
            return True
        return all(map(_is_valid, parse_label_selector(text)))
    except Refused:
        return False


def _is_valid(term: LabelTerm) -> bool:
    if term.operator in _COMPARISONS and not term.values[0].isdigit():
        return False
    return _is_label_key(term.key) and _are_label_values(term.values)


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


def _are_label_values(values: Sequence[str]) -> bool:
    return all(not value or (len(value) <= 63 and _NAME.fullmatch(value)) for value in values)


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {go_quote(value)}: {why}", field)


def _required(field: str, why: str) -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}", field)
