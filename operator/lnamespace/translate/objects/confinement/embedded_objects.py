"""Find definitions in one version of which a value is an object, and in another is not.

What is ``x-kubernetes-embedded-resource`` has an ``apiVersion``, a ``kind`` and ``metadata`` that
can be read, or the API server lists no object of the kind in that version. It sees to that where an
object is stored, by the version in which it is stored.
"""

from typing import Any

import msgspec
from msgspec import Raw

_EMBEDDED = "x-kubernetes-embedded-resource"

_Places = dict[tuple[int, object], int]
"""A number for each place in a schema, by the number of the place around it, and the key."""


class _EmbeddingVersion(msgspec.Struct, frozen=True):
    schema: Any = None


class _EmbeddingSpec(msgspec.Struct, frozen=True):
    versions: tuple[_EmbeddingVersion, ...] = ()


class _EmbeddingDefinition(msgspec.Struct, frozen=True):
    spec: _EmbeddingSpec = _EmbeddingSpec()


_definition = msgspec.json.Decoder(_EmbeddingDefinition)


def embeds_differently(definition: bytes | Raw) -> bool:
    """Return whether the versions of a definition have embedded objects in different places.

    One that cannot be read may.
    """
    if _EMBEDDED.encode() not in bytes(definition):
        return False
    try:
        versions = _definition.decode(definition).spec.versions
    except (msgspec.MsgspecError, RecursionError):
        return True
    places: _Places = {}
    return len({_embedded(each.schema, places) for each in versions}) > 1


def _embedded(schema: Any, places: _Places) -> frozenset[int]:
    """Return the places of embedded objects: paths would have the square of the schema's depth."""
    found, waiting = set(), [(-1, schema)]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, dict) and value.get(_EMBEDDED) is True:
            found.add(at)
        members = value.items() if isinstance(value, dict) else enumerate(value)
        waiting += [
            (places.setdefault((at, key), len(places)), each)
            for key, each in members
            if isinstance(each, dict | list)
        ]
    return frozenset(found)
