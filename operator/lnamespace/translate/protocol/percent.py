"""Percent-encoding of paths and queries: each component is decoded once and encoded anew."""

import re
from urllib.parse import quote, unquote_to_bytes

from lnamespace.translate.protocol.status import bad_request, no_such_path

_PLAIN = re.compile(r"[A-Za-z0-9._~:@!$&'()*+,;=-]*")
"""A segment that needs no encoding, as most do."""
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def decode_component(text: str) -> str:
    """Return a segment of a path, or a key or value of a query, with its escapes decoded.

    Raises
    ------
    Refused
        If an escape is malformed or what it encodes is not UTF-8.
    """
    if "%" not in text:
        return text
    if _ESCAPE.search(text):
        raise bad_request("invalid URL escape")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise bad_request("invalid URL escape: it is not UTF-8") from None


def encode_segment(text: str) -> str:
    """Return a segment of a path, encoded so that it stays one segment."""
    return text if _PLAIN.fullmatch(text) else quote(text, safe="-._~:@!$&'()*+,;=")


def encode_query(parameters: tuple[tuple[str, str], ...]) -> str:
    """Return a query without its question mark."""
    return "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in parameters)


def refuse_path_segment(segment: str) -> None:
    """Refuse a segment that is unprintable, or that Kubernetes' IsValidPathSegmentName refuses.

    Raises
    ------
    Refused
        404 for an empty segment and one with a slash, which have no route; else 400.
    """
    if not segment or "/" in segment:
        raise no_such_path()
    problem = ""
    if segment in {".", ".."}:
        problem = f"may not be '{segment}'"
    elif "%" in segment:
        problem = "may not contain '%'"
    elif not segment.isprintable():
        raise bad_request("Name parameter invalid: may not contain control characters")
    if problem:
        shown = segment.replace("\\", "\\\\").replace('"', '\\"')
        raise bad_request(f'Name parameter invalid: "{shown}": {problem}')
