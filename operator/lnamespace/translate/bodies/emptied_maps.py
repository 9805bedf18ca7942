"""Patches that remove all labels or all annotations of an object at once.

``kubectl annotate NAME KEY-`` sends such a patch where the annotation is the only one. Upstream a
cluster-scoped object has others, of the gateway's own, so each key is removed by its name.
"""

from collections.abc import Iterable, Mapping

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.kube.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from lnamespace.translate.objects.labels import is_null
from lnamespace.translate.objects.translators import Encoded, object_at, object_of

_MAPS = ("labels", "annotations")


def removed_maps(media_type: str, body: bytes) -> tuple[str, ...]:
    """Return which of the labels and annotations a patch removes all at once."""
    if media_type not in {MERGE_PATCH, STRATEGIC_MERGE_PATCH} or b"null" not in body:
        return ()
    metadata = _metadata(body)
    return tuple(key for key in _MAPS if key in metadata and is_null(metadata[key]))


def keys_in_maps(body: bytes, maps: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the keys that an object has in its labels or annotations."""
    metadata = _metadata(body)
    return {each: tuple(object_at(metadata, each)) for each in maps}


def with_each_key_removed(body: bytes, keys: Mapping[str, Iterable[str]]) -> bytes:
    """Return a patch that removes keys by their names, in place of all at once."""
    members = object_of(body) or {}
    removed = {each: dict.fromkeys(found) for each, found in keys.items()}
    members["metadata"] = Raw(encode(object_at(members, "metadata") | removed))
    return encode(members)


def _metadata(body: bytes) -> Encoded:
    """Return the metadata of an object or a patch; empty if there is none to be read."""
    try:
        return object_at(object_of(body) or {}, "metadata")
    except (DecodeError, RecursionError):
        return {}
