"""The bodies of reviews, with their members ``request`` and ``response``."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from lnamespace.translate.objects.translators import Encoded, object_of
from lnamespace.translate.protocol.status import bad_request

_T = TypeVar("_T")


def read_members(body: bytes, part: str) -> tuple[Encoded, Encoded]:
    """Return the members of a review, and those of its ``part``: request or response.

    Raises
    ------
    Refused
        The body is not a review.
    """
    try:
        members = object_of(body)
        inner = object_of(members.get(part, Raw(b"null"))) if members else None
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the review cannot be read: {error}") from error
    if members is None or inner is None:
        raise bad_request(f"the review has no {part}")
    return members, inner


def decoded(body: bytes, type_: type[_T]) -> _T:
    """Decode a part of a review.

    Raises
    ------
    Refused
        The body has another form.
    """
    try:
        return msgspec.json.decode(body, type=type_)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise bad_request(f"the review cannot be read: {error}") from error


def envelope(members: Encoded, **part: Any) -> bytes:
    """Return a review of the same version with another request or response."""
    kept = {key: members[key] for key in ("kind", "apiVersion") if key in members}
    return msgspec.json.encode(kept | part)
