"""Quote strings as Go's ``%q`` does in the messages of the API server."""

from collections.abc import Iterable

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def go_quote(text: str) -> str:
    """Return a string in double quotes, with escapes for what cannot be printed."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def go_quote_all(texts: Iterable[str]) -> str:
    """Return strings as Go prints a slice: ``["a" "b"]``."""
    return "[" + " ".join(go_quote(text) for text in texts) + "]"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
