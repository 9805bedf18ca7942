"""As much of CEL as the rules of the CRD use, so that tests can evaluate them."""

import re
import unicodedata
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, SupportsIndex

Rule = Callable[..., bool]

_LITERAL = re.compile(r"'(?:\\.|[^'\\])*'")
_CLASS = re.compile(r"\[(\^?)((?:\\[px]\{\w+\}|[- ])+)\]")
_ITEM = re.compile(r"\\p\{(\w+)\}|\\x\{(\w+)\}(?:-\\x\{(\w+)\})?|( )")


class Text(str):
    """A string with the functions that CEL gives it."""

    __slots__ = ()

    def size(self) -> int:
        return len(self)

    def startsWith(self, prefix: str) -> bool:  # noqa: N802 - CEL's name
        return self.startswith(prefix)

    def trim(self) -> str:
        return self.strip()

    def matches(self, pattern: str) -> bool:
        if _CLASS.match(pattern):
            classes = _CLASS.findall(pattern)
            assert pattern == "|".join(f"[{negated}{items}]" for negated, items in classes)
            return any(_in(negated, items, c) for negated, items in classes for c in self)
        # In RE2 `$` is the end of the text; in Python it may also stand before a last newline.
        end = r"\Z" if pattern.endswith("$") else ""
        return re.search(pattern.removesuffix("$") + end, self) is not None

    def lowerAscii(self) -> str:  # noqa: N802 - CEL's name
        return self.lower() if self.isascii() else self

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Any]:
        return [Text(part) for part in super().split(sep, maxsplit)]


def _in(negated: str, items: str, character: str) -> bool:
    """Return whether a character is in a class of RE2 of the few forms that are used."""
    return bool(negated) != any(_is(item, character) for item in _ITEM.findall(items))


def _is(item: tuple[str, str, str, str], character: str) -> bool:
    category, first, last, space = item
    if category:
        return unicodedata.category(character).startswith(category)
    if space:
        return character == space
    return int(first, 16) <= ord(character) <= int(last or first, 16)


def value(json: Any) -> Any:
    """Return a JSON value as a rule sees it."""
    if isinstance(json, str):
        return Text(json)
    if isinstance(json, list):
        return Items(value(item) for item in json)
    if isinstance(json, dict):
        # CEL spells its own reserved word `namespace` with underscores.
        escaped = {"__namespace__" if k == "namespace" else k: value(v) for k, v in json.items()}
        return SimpleNamespace(**escaped)
    return json


class Old:
    """The value ``oldSelf`` where there need not be one."""

    def __init__(self, json: Any) -> None:
        self._value = value(json)

    def hasValue(self) -> bool:  # noqa: N802 - CEL's name
        return self._value is not None

    def value(self) -> Any:
        return self._value


class Items(list[Any]):
    """A list with the functions that CEL gives it."""

    __slots__ = ()

    def size(self) -> int:
        return len(self)


def compiled(rule: str) -> Rule:
    """Return a rule as a function of `self` (and `oldSelf`)."""
    literals: list[str] = []

    def keep(found: re.Match[str]) -> str:
        literals.append(found[0][1:-1].replace("\\\\", "\\"))
        return f"Text(literals[{len(literals) - 1}])"

    code = _LITERAL.sub(keep, rule)
    code = code.replace("&&", " and ").replace("||", " or ")
    code = re.sub(r"!(?!=)", " not ", code).strip()
    code = re.sub(r"self\.all\((\w+), (.*)\)$", r"all(\2 for \1 in self)", code)
    code = re.sub(r"self\.filter\((\w+), (.*)\)\.size\(\)", r"len([\1 for \1 in self if \2])", code)
    code = re.sub(r"has\((\w+)\.(\w+)\)", r"hasattr(\1, '\2')", code)
    made = compile(code, rule, "eval")

    def run(self: Any, oldSelf: Any = None) -> bool:  # noqa: N803 - CEL's name
        names = {"Text": Text, "literals": literals, "self": self, "oldSelf": oldSelf}
        return bool(eval(made, names))  # noqa: S307 - our own rules, from our own CRD

    return run
