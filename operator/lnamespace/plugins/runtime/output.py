"""Values as `-o json` and `-o yaml` print them."""

from __future__ import annotations

from lnamespace.plugins.runtime.documents import dumps
from lnamespace.plugins.runtime.terminal import printable
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A text of these that begins with a letter needs no quotes in YAML, unless it is one of the words
# that YAML 1.1 takes for a boolean or null.
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:@")
NO_TEXTS = frozenset(("y", "yes", "n", "no", "on", "off", "true", "false", "null"))


def formatted(value: object, output: str) -> str:
    """Return a value as JSON, or as YAML as kubectl indents it."""
    if output == "json":
        from json import dumps as pretty

        return pretty(value, indent=4, ensure_ascii=False) + "\n"
    return "".join(f"{line}\n" for line in _lines(value, ""))


def _lines(value: object, indent: str) -> Iterator[str]:
    """Yield the lines of a value as YAML."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if item and isinstance(item, dict | list):
                yield f"{indent}{_scalar(key)}:"
                yield from _lines(item, indent if isinstance(item, list) else f"{indent}  ")
            else:
                yield f"{indent}{_scalar(key)}: {_scalar(item)}"
    elif isinstance(value, list) and value:
        for item in value:
            first, *others = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.removeprefix(f'{indent}  ')}"
            yield from others
    else:
        yield f"{indent}{_scalar(value)}"


def _scalar(value: object) -> str:
    """Return a scalar as YAML; a text has escapes, which are those of Python."""
    if isinstance(value, float):
        return _float(value)
    if not isinstance(value, str):
        return dumps(value)
    known = not set(value) - PLAIN and value.lower() not in NO_TEXTS
    if known and value[:1].isalpha() and not value.endswith(":"):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def _float(value: float) -> str:
    """Return a number with a point before its exponent: YAML 1.1 takes `1e-05` for a text."""
    mantissa, exponent, digits = dumps(value).partition("e")
    point = ".0" if exponent and "." not in mantissa else ""
    return f"{mantissa}{point}{exponent}{digits}"
