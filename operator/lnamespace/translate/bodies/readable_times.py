"""Refuse times that the API server stores, but that clients cannot decode.

It accepts ``9999-12-31T23:59:59-10:00`` and shows it in UTC, with a year of five digits. With one
such CustomResourceDefinition nobody could list, create or delete any of the cluster. With one such
object of a built-in kind no client in Go or Python could list the kind as JSON. Every object has a
time in its managed fields.
"""

import json
import re
from typing import Any

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

_decode = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=str, parse_float=str, strict=False
).decode
"""Objects are tuples of all their members: the API server puts the values of a key that is there
twice together, such as two of `spec`, of which other decoders know the last.
"""

_Place = tuple["_Place | None", str]
"""A key, and the place of the value that it is in; a path of keys for each value took seconds."""
_Values = list[tuple[_Place | None, Any]]


def refuse_unreadable_times(request: ResourceRequest, body: bytes) -> None:
    """Refuse an object or a patch that has such a time.

    The API server decodes times only in the metadata of a custom resource.

    Raises
    ------
    Refused
        422, with the path of the time.
    RecursionError
        The body is nested too deeply.
    """
    # From the end, in which direction Python searches four times as fast: of 3 MB in one step.
    if any(body.rfind(hint) >= 0 for hint in (*_HINTS, *_ESCAPES)):
        values = _values(_decode(body.decode()), only_metadata=request.resource.custom)
        if found := _unreadable_time(values):
            raise _refusal(request, *found)


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


def _values(body: Any, *, only_metadata: bool) -> _Values:
    """Return the values that an object or operations write, each with its place."""
    if isinstance(body, list):
        found = [_of_operation(dict(each)) for each in body if isinstance(each, tuple)]
    else:
        found = [(None, body)]
    whole = [each for place, each in found if place is None and isinstance(each, tuple)]
    found = [each for each in found if each[0]]
    found += [((None, key), each) for members in whole for key, each in members]
    return [each for each in found if not only_metadata or _path(each[0])[0] == "metadata"]


def _of_operation(operation: dict[str, Any]) -> tuple[_Place | None, Any]:
    place: _Place | None = None
    for key in keys_of(str(operation.get("path", ""))):
        place = place, key
    return place, operation.get("value")


def _unreadable_time(todo: _Values) -> tuple[tuple[str, ...], str] | None:
    """Return the path of a time that nobody could read, and the time."""
    while todo:
        place, value = todo.pop()
        if isinstance(value, tuple):
            todo += [((place, key), each) for key, each in value if each]
        elif isinstance(value, list):
            item = (place, "*")
            todo += [(item, each) for each in value if each]
        elif isinstance(value, str) and place and _UNREADABLE.fullmatch(value):
            last = (place[0][1] if place[0] else "", place[1])
            if _is_time(last):
                return _path(place), value
    return None


def _path(place: _Place | None) -> tuple[str, ...]:
    keys: list[str] = []
    while place:
        place, key = place
        keys.append(key)
    return tuple(reversed(keys))


def _refusal(request: ResourceRequest, path: tuple[str, ...], time: str) -> Refused:
    field = ".".join(path).replace(".*", "[*]")
    why = f'Invalid value: "{time}": write it in UTC, where its year must have four digits'
    cause = Cause("FieldValueInvalid", why, field)
    return invalid(request.resource.group, request.resource.kind, request.name, [cause])
