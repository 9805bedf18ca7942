"""Refusals of data that the HTTP parser does not accept."""

import re

import httptools

from lnamespace.http.arriving import UnacceptableRequest
from lnamespace.translate.protocol.status import ApiStatus, method_not_allowed

_LONGEST = 8 * 1024
"""Bytes of a first line whose method is not known."""
_REQUEST_LINE = re.compile(rb"[!#-'*+.^_`|~\w-]+ [!-~]+ HTTP/1\.[01]\r?\n")
"""A first line with any method: the parser calls one that it does not know invalid."""
_UNPRINTABLE = re.compile(rb"[^ -~\r]")
"""A byte that is in no first line before its end."""
_NO_REQUEST = ApiStatus(400, "BadRequest", "this is not a request of HTTP/1.1")


def refusal_of(error: httptools.HttpParserError) -> ApiStatus:
    """Return the answer to data that the parser does not accept."""
    cause = error.__context__
    return cause.status if isinstance(cause, UnacceptableRequest) else _NO_REQUEST


def refusal_of_method(line: bytes, more: bytes) -> ApiStatus | None:
    """Return the answer to a method that the parser does not know; None until its line is there.

    Parameters
    ----------
    more
        What has arrived just now, at the end of the line. What was there before is not looked
        through again: it may arrive in single bytes.
    """
    if b"\n" in more and _REQUEST_LINE.match(line, 0, _LONGEST):
        return method_not_allowed().status
    return _NO_REQUEST if len(line) >= _LONGEST or _UNPRINTABLE.search(more) else None
