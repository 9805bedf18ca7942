"""Paths of requests, strictly: a path that two parsers could read differently is refused.

The rules are those of RequestInfoFactory in k8s.io/apiserver/pkg/endpoints/request. A segment is
decoded once, after the path was split, so that an encoded slash never begins a new segment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lnamespace.translate.protocol.percent import decode_component, refuse_path_segment
from lnamespace.translate.protocol.status import bad_request, no_such_path

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
VERBS_IN_PATHS = frozenset({"proxy", "watch"})
"""Segments that are verbs in deprecated paths, such as ``/api/v1/watch/pods``."""
_PLAIN_SEGMENT = re.compile(r"(?!proxy$)[A-Za-z0-9_:-][A-Za-z0-9._:-]*")
"""A segment with nothing to decode or to refuse, as most are. A leading dot may mean another
directory, and any text may follow ``proxy``."""


@dataclass(frozen=True)
class ResourcePath:
    """The segments of a path to objects, decoded but for the tail."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str
    tail: str


def split_path(raw_path: str) -> list[str]:
    """Return the encoded segments of a path, the last of them empty after a final slash."""
    if not raw_path.startswith("/"):
        raise bad_request("the path of a request begins with a slash")
    if "#" in raw_path or "\\" in raw_path:
        raise bad_request("the path of a request has characters that must be encoded")
    return raw_path[1:].split("/") if raw_path != "/" else []


def plain_path(segments: Sequence[str]) -> str:
    """Return a path decoded; only its last segment may be empty."""
    decoded = [decode_component(each) for each in segments]
    for index, segment in enumerate(decoded):
        if segment or index != len(decoded) - 1:
            refuse_path_segment(segment)
    return "/" + "/".join(decoded)


def resource_path(segments: Sequence[str]) -> ResourcePath | None:
    """Return the parts of a path to objects, or None for another path."""
    prefix = segments[0] if segments else ""
    length = {"api": 3, "apis": 4}.get(prefix)
    if length is None or len([each for each in segments if each]) < length:
        return None
    decoded = _decoded_head(segments)
    group = decoded.pop(1) if prefix == "apis" else ""
    version, rest = decoded[1], decoded[2:]
    if rest[0] in VERBS_IN_PATHS:
        raise no_such_path()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""] if len(rest) < 3 else rest
    if more and any(more):
        raise no_such_path()
    behind = segments[len(decoded) + (prefix == "apis") :] if subresource == "proxy" else ()
    tail = "".join(f"/{each}" for each in behind)
    return ResourcePath(group, version, namespace, plural, name, subresource, tail)


def _decoded_head(segments: Sequence[str]) -> list[str]:
    """Return the segments decoded, up to a subresource ``proxy`` if there is one."""
    if all(map(_PLAIN_SEGMENT.fullmatch, segments)):
        return list(segments)
    decoded: list[str] = []
    last = len(segments) - 1
    for index, segment in enumerate(segments):
        text = decode_component(segment)
        if text or index != last:
            refuse_path_segment(text)
            decoded.append(text)
        if text == "proxy" and _is_subresource(decoded):
            _check_tail(segments[index + 1 :])
            break
    return decoded


def _is_subresource(decoded: Sequence[str]) -> bool:
    """Return whether the last segment is a subresource."""
    rest = decoded[2 if decoded[0] == "api" else 3 :]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return len(rest) == 3


def _check_tail(segments: Sequence[str]) -> None:
    """Refuse a tail that a server on the way could read as a path outside of the proxy."""
    for segment in segments:
        text = decode_component(segment)
        if not text.isprintable() or {".", ".."} & set(text.replace("\\", "/").split("/")):
            raise bad_request("the path behind a proxy has a segment that is not allowed")
