"""Refuse times that the API server takes and that nobody can read again.

It takes ``9999-12-31T23:59:59-10:00`` and shows it in UTC, with a year of five digits. By one such
CustomResourceDefinition nobody could list any of the cluster, nor make or delete one. By one such
object of a built-in kind no client in Go or Python could list the kind as JSON. Every object has a
time in its managed fields.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.json import decode

from lnamespace.kube.json_pointer import keys_of, pointer_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Cause, Refused, bad_request, invalid

_UNREADABLE = re.compile(r"9999-12-3[01]T.*-\d\d:\d\d|0000-01-0[12]T.*\+\d\d:\d\d")
"""A time whose year may be another in UTC. An offset is less than 25 hours."""
_TIME_KEY = re.compile(r"(.*[a-z])?([Tt]ime|Timestamp|edAt)|timeAdded|disruptedPods")
"""The names of all fields of the types Time and MicroTime in the API of Kubernetes; the last one is
a map of times.
"""
_HINTS = (b"9999-12-3", b"0000-01-0")
_ESCAPES = (b"\\u003", b"\\u002")
"""The beginnings of digits and of dashes that are written as escapes."""

_Found = Iterator[tuple[tuple[str, ...], str]]


def refuse_unreadable_times(request: ResourceRequest, body: bytes) -> None:
    """Refuse a body, an object or a patch, that writes such a time.

    Of a custom resource only the metadata has times that the API server reads.

    Raises
    ------
    Refused
        422, with the path of the time.
    RecursionError
        The body is nested too deeply.
    """
    if any(hint in body for hint in (*_HINTS, *_ESCAPES)):
        for path, time in _times(decode(body)):
            if path[:1] == ("metadata",) or not request.resource.custom:
                raise _refusal(request, path, time)


def refuse_carried_time(path: tuple[str, ...], source: tuple[str, ...]) -> None:
    """Refuse to fill a time, or managed fields, with a text that stands elsewhere in an object.

    Raises
    ------
    Refused
        400, as for each value that a JSON patch may not carry.
    """
    managed = ("metadata", "managedFields")
    fills = _is_time(path) and not _is_time(source)
    if fills or (path[:2] == managed and source[:2] != managed):
        raise bad_request(f"add the value of {pointer_of(path)} instead of carrying it there")


def _is_time(path: tuple[str, ...]) -> bool:
    return any(_TIME_KEY.fullmatch(key) for key in path[-2:])


def _times(body: Any) -> _Found:
    """Yield the times of a body that nobody could read, each with its path."""
    todo: list[tuple[tuple[str, ...], Any]] = [((), body)]
    if isinstance(body, list):
        todo = [_of_operation(each) for each in body if isinstance(each, dict)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            todo += [((*path, key), each) for key, each in value.items()]
        elif isinstance(value, list):
            todo += [((*path, "*"), each) for each in value]
        elif isinstance(value, str) and _is_time(path) and _UNREADABLE.fullmatch(value):
            yield path, value


def _of_operation(operation: dict[str, Any]) -> tuple[tuple[str, ...], Any]:
    return keys_of(str(operation.get("path", ""))), operation.get("value")


def _refusal(request: ResourceRequest, path: tuple[str, ...], time: str) -> Refused:
    field = ".".join(path).replace(".*", "[*]")
    why = f'Invalid value: "{time}": write it in UTC, where its year must have four digits'
    cause = Cause("FieldValueInvalid", why, field)
    return invalid(request.resource.group, request.resource.kind, request.name, [cause])
