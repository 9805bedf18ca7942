"""Find where a CEL expression reads certain fields, each by its usual path."""

import re
from collections.abc import Callable, Iterable

_QUOTES = ("'''", '"""', "'", '"')
_TEXT = "|".join(
    (
        *(rf"[bB]?[rR][bB]?{each}.*?(?:{each}|\Z)" for each in _QUOTES),
        *(rf"{each}(?:\\.|[^\\])*?(?:{each}|\\?\Z)" for each in _QUOTES),
    )
)
"""A text, or the rest of the expression if the text has no end: that rest was searched again from
each quote in it, and 32 KB of quotes took ten seconds."""
_COMMENT = r"//[^\n]*"
_ASKED = r"\bhas\s*\([^()]*\)"
"""The macro that tests for a field, whose argument must stay a path."""
_CALLED_OR_WHOLE = r"\b(?!\s*\.\s*\w+\b(?!\s*\())"
"""The end of a path of which no further field is read."""


class FieldReads:
    """A search for reads of fields in an expression, outside of its texts and comments."""

    def __init__(self, paths: Iterable[str]) -> None:
        path = rf"(?<![\w.])(?P<path>{'|'.join(map(re.escape, paths))}){_CALLED_OR_WHOLE}"
        self._token = re.compile(f"{_ASKED}|{path}|{_TEXT}|{_COMMENT}", re.DOTALL)

    def replaced(self, expression: str, replace: Callable[[str], str]) -> str:
        """Return an expression with a replacement for each path."""
        return self._token.sub(
            lambda found: found[0] if found["path"] is None else replace(found["path"]), expression
        )
