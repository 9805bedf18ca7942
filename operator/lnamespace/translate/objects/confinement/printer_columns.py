r"""Bound what the printer columns of a tenant's own kinds cost the API server.

For ``kubectl get`` the API server evaluates the JSONPath of each column on each object. It computes
all values that a JSONPath selects, and shows the first. Unions multiply them: ``['a','a']`` thirty
times, on an object of thirty levels, selects 2^30 values, more than fit in memory. ``range``
changes state that concurrent requests share.

The path of a selectable field it evaluates for its memory, and has the kind in memory only if each
finds at most one value. It checks the path by another parser than it evaluates it by: ``.*`` is the
property ``*`` for the one, and all values for the other.
"""

import re
from dataclasses import dataclass

from lnamespace.translate.objects.confinement.rules import ConfinedBody, RefusingRule, parents

MAX_COLUMNS = 32
MAX_PATH = 1024
_NAME = r"(?:[^\s.,'\"\[\](){}@$?=<>!\\]|\\.)+"
_KEY = rf"'{_NAME}(?:\.{_NAME})*'"
_INDEX = rf"\[(?:\*|-?\d*(?::-?\d*){{0,2}}|{_KEY})\]"
_PLAIN = rf"(?:\.{_NAME}|{_INDEX})"
_OPERAND = rf"(?:\"[^\"\\]*\"|'[^'\\]*'|[+-]?\d+(?:\.\d+)?|true|false|@{_PLAIN}*)"
_FILTER = rf"\[\?\( *{_OPERAND} *(?:(?:==|!=|<=|>=|<|>) *{_OPERAND} *)?\)\]"
SIMPLE = rf"^\.(?:{_NAME}(?:{_PLAIN}|{_FILTER})*)? *$"
"""The paths that find no value twice, as people write them; the chart has it too.

They have no unions, no descents (``..``), which keep what is below once for each level, and no
templates. The API server parses a key in quotes as a path: ``['.a']`` is a descent.
"""
SELECTABLE = r"^(?:\.[^\s.,'\"\[\](){}@$?*\\]+)+$"
"""The paths of selectable fields that are nothing but names; the chart has it too."""
_is_simple = re.compile(SIMPLE, re.ASCII).fullmatch
_is_selectable = re.compile(SELECTABLE, re.ASCII).fullmatch
_COLUMNS = ("spec", "versions", "*", "additionalPrinterColumns")
_SELECTABLE_PATHS = ("spec", "versions", "*", "selectableFields", "*", "jsonPath")


@dataclass(frozen=True)
class SimplePrinterColumns(RefusingRule):
    """The paths of printer columns."""

    paths = (_COLUMNS,)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse paths that may find a value twice, and very many columns."""
        for version in parents(subject.body, _COLUMNS):
            columns = version.get(_COLUMNS[-1])
            if isinstance(columns, list) and len(columns) > MAX_COLUMNS:
                field = "spec.versions.additionalPrinterColumns"
                raise subject.refuse(field, f"must have at most {MAX_COLUMNS} items")
        for column in parents(subject.body, (*_COLUMNS, "*", "jsonPath")):
            path = column.get("jsonPath")
            if isinstance(path, str) and not is_simple(path):
                field = "spec.versions.additionalPrinterColumns.jsonPath"
                raise subject.refuse(field, f"{path[:100]} is not a simple path")


def is_simple(path: str) -> bool:
    """Return whether a path finds no value twice."""
    return len(path) <= MAX_PATH and _is_simple(path) is not None


@dataclass(frozen=True)
class PlainSelectableFields(RefusingRule):
    """The paths of selectable fields."""

    paths = (_SELECTABLE_PATHS[:-2],)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse paths by which nobody could list the kind."""
        for selectable in parents(subject.body, _SELECTABLE_PATHS):
            path = selectable.get(_SELECTABLE_PATHS[-1])
            if isinstance(path, str) and not is_selectable(path):
                field = "spec.versions.selectableFields.jsonPath"
                raise subject.refuse(field, f"{path[:100]} is not a path of names")


def is_selectable(path: str) -> bool:
    """Return whether a path finds at most one value, and has no error."""
    return len(path) <= MAX_PATH and _is_selectable(path) is not None
