"""Translate field values that the API server quotes in a text, by the rule of the field.

A quoted object is left to :mod:`~lnamespace.translate.objects.text_names`: its keys may be those of
the schema or those of Go, such as ``"Kind":"ClusterRole"``.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import islice
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import rule_at
from lnamespace.translate.objects.confinement.kinds import rules_of
from lnamespace.translate.objects.confinement.rules import MappedField, Path
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.translators import FieldRule, ForeignObject

_OPINION = re.compile(r"(?:Invalid value|Not found|Duplicate value|Unsupported value): (?=\")")
_PATH = re.compile(r"(?<![\w.\]-])([A-Za-z][\w.-]*(?:\[[^\]\s]*\][\w.-]*)*): $")
_STEP = re.compile(r"[^.\[\]]+|\[[^\]]*\]")
_LONGEST_PATH, _LONGEST_VALUE = 300, 16384
_AT_MOST = 100
"""The most values of a text that are translated: quoted texts could have any number."""
_parse = json.JSONDecoder().raw_decode


def values_down(text: str, translator: FieldRule, context: TranslationContext, field: str) -> str:
    """Return a text with the quoted values after a field's path in tenant spelling.

    Parameters
    ----------
    translator
        The translator of the objects that the text is about.
    field
        The path of the field whose value the text begins with.
    """
    shown, start = list[str](), 0
    for found in islice(_OPINION.finditer(text), _AT_MOST):
        if found.start() < start:
            continue
        before = text[max(0, found.start() - _LONGEST_PATH) : found.start()]
        path = field if not before else named[1] if (named := _PATH.search(before)) else ""
        rules = [*_rules(translator, _steps(path), context)] if path else []
        value = _value(text[found.end() : found.end() + _LONGEST_VALUE]) if rules else ""
        if value:
            spelled = reduce(lambda each, rule: rule(each), rules, value)
            shown += text[start : found.end()], spelled
            start = found.end() + len(value)
    return "".join((*shown, text[start:]))


def _steps(path: str) -> tuple[str, ...]:
    return tuple(each.strip("[]") for each in _STEP.findall(path))


def _value(text: str) -> str:
    """Return the JSON that a text begins with; nothing if it is none."""
    try:
        _, end = _parse(text)
    except (ValueError, RecursionError):
        return ""
    return text[:end]


def _rules(
    translator: FieldRule, steps: tuple[str, ...], context: TranslationContext
) -> Iterator[Callable[[str], str]]:
    """Yield the rules that translate the JSON of the value at a path."""
    if rule := rule_at(translator, steps):
        yield lambda value: _spelled(value, rule, context)
    for confined in rules_of(context.resource):
        if isinstance(confined, MappedField) and _is_at(confined.path, steps):
            yield partial(_unconfined, confined, context.view)


def _is_at(path: Path, steps: tuple[str, ...]) -> bool:
    return len(path) == len(steps) and all(
        key in ("*", step) for key, step in zip(path, steps, strict=True)
    )


def _unconfined(rule: MappedField, view: TenantView, value: str) -> str:
    below = json.loads(value)
    return encode(rule.down(below, view)).decode() if isinstance(below, str) else value


def _spelled(value: str, rule: FieldRule, context: TranslationContext) -> str:
    try:
        below: Any = rule.down(Raw(value.encode()), context)
    except (ForeignObject, DecodeError):
        return value
    return value if isinstance(below, Raw) else encode(below).decode()
