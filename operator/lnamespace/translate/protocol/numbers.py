"""Numbers in the query of a request."""

import re

from lnamespace.translate.protocol.status import bad_request

_VERSION = re.compile("[0-9]{1,20}")
_NUMBER = re.compile("[+-]?[0-9]+")
_DIGITS = 20
_BITS_63 = 1 << 63


def parse_number(text: str) -> int:
    """Return a number in a query, as Go's ``strconv.ParseInt`` reads it.

    Raises
    ------
    Refused
        BadRequest: it is none, or it needs more than 64 bits.
    """
    problem = ""
    if not _NUMBER.fullmatch(text):
        problem = "invalid syntax"
    elif len(text) > _DIGITS or not -_BITS_63 <= int(text) < _BITS_63:
        problem = "value out of range"
    if problem:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": {problem}')
    return int(text)


def is_version(text: str) -> bool:
    """Return whether a text can be a resource version, of at most 64 bits.

    ``str.isdecimal`` takes the digits of other scripts, and ``int`` no more than 4,300 of any.
    """
    return _VERSION.fullmatch(text) is not None
