"""Read the API server's answers: objects as values, refusals as typed errors.

A proxy or load balancer may answer in the API server's place, with any content. Whatever the bytes
are, this module raises nothing but a ClusterError.
"""

import re
from http.client import responses
from typing import TypeVar

import msgspec

from lnamespace import errors
from lnamespace.nesting import at_any_depth

LONGEST_ADVICE = 30.0
"""The longest Retry-After that is obeyed, in seconds. The API server asks for a few; a maintenance
page once asked for a day, in which no revocation would have been carried out."""

D = TypeVar("D")

_NO_ROOM = re.compile(
    "(Internal error occurred: )?(etcdserver: request is too large"
    "|rpc error: code = ResourceExhausted desc = trying to send message larger than max)"
)
"""The beginning of the API server's message about an object that is larger than 1.5 or 2 MiB.

Only the beginning of a message is etcd's: tenants write what their webhooks answer.
"""


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    causes: tuple[_Cause, ...] = ()
    retry_after_seconds: int = 0


class AnsweredStatus(msgspec.Struct, frozen=True):
    """The parts of a Status (meta/v1) that are used."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details = _Details()


_status = msgspec.json.Decoder(AnsweredStatus)


def decode(decoder: msgspec.json.Decoder[D], answer: bytes | msgspec.Raw) -> D:
    """Decode an answer, or a part of one.

    Raises
    ------
    Unreadable
        The answer is not JSON, or not of that form.
    """
    try:
        return at_any_depth(decoder.decode, answer)
    except (ValueError, RecursionError) as error:
        raise errors.Unreadable(f"an answer that cannot be read: {error}") from error


def version_of(text: str) -> int:
    """Return a resource version as a number (KEP-5504 makes them comparable).

    Raises
    ------
    Unreadable
        The text is not a number.
    """
    try:
        return int(text)
    except ValueError as error:
        raise errors.Unreadable(f"resourceVersion: {error}") from error


def error_of(status: int, body: bytes, retry_after: str = "") -> errors.ClusterError:
    """Return the typed error for an answer of the API server that is not a success.

    ``retry_after`` is the header: priority and fairness sends no JSON, only that.
    """
    answer = read_status(body)
    # As float: a number of 5,000 digits is infinite then, and no ValueError.
    advised = float(retry_after) if retry_after.isdecimal() else 0.0
    return _error_type(status, answer)(
        answer.message or f"HTTP {status} {responses.get(status, '')}".rstrip(),
        status=status,
        retry_after=min(max(answer.details.retry_after_seconds, advised), LONGEST_ADVICE),
    )


def does_not_apply(status: int, body: bytes) -> bool:
    """Return whether a JSON patch was refused because the object is not as the patch assumes.

    The API server answers 422 without details then (observed in kube-apiserver 1.36); a 422 for an
    invalid value names the object and the field.
    """
    details = read_status(body).details
    return status == 422 and not details.name and not details.causes


def read_status(body: bytes) -> AnsweredStatus:
    """Read a Status; any other content becomes its message."""
    try:
        return decode(_status, body)
    except errors.Unreadable:
        return AnsweredStatus(message=body[:200].decode(errors="replace"))


def _error_type(status: int, answer: AnsweredStatus) -> type[errors.ClusterError]:
    causes = answer.details.causes
    if any(cause.reason == "NamespaceTerminating" for cause in causes):
        return errors.Terminating
    if status == 422 and any(cause.field == "metadata.uid" for cause in causes):
        # The UID of a merge patch is a precondition; of Namespaces and RBAC objects it is refused
        # as a change of an immutable field, of custom resources as a conflict.
        return errors.Conflict
    if answer.reason == "AlreadyExists":
        return errors.AlreadyExists
    if status >= 500:
        return errors.NoRoom if _NO_ROOM.match(answer.message) else errors.ServerFault
    return {
        401: errors.Unauthenticated,
        403: errors.Forbidden,
        404: errors.NotFound,
        409: errors.Conflict,
        410: errors.Expired,
        429: errors.Throttled,
    }.get(status, errors.Invalid)
