"""Find definitions whose schemas embed objects.

A value with ``x-kubernetes-embedded-resource`` must have ``apiVersion``, ``kind`` and valid
``metadata``; otherwise the API server can list no object of the kind in that version. It validates
them when an object is written, but by the schema of then, and of the written version only.
"""

import msgspec
from msgspec import Raw

_EMBEDDED = b"x-kubernetes-embedded-resource"


class _EmbeddingVersion(msgspec.Struct, frozen=True):
    schema: Raw = Raw()


class _EmbeddingSpec(msgspec.Struct, frozen=True):
    versions: tuple[_EmbeddingVersion, ...] = ()


class _EmbeddingDefinition(msgspec.Struct, frozen=True):
    spec: _EmbeddingSpec = _EmbeddingSpec()


_definition = msgspec.json.Decoder(_EmbeddingDefinition)


def embeds_objects(definition: bytes | Raw) -> bool:
    """Return whether a version of a definition may have embedded objects.

    One that cannot be read may. What else a definition says, such as in the annotation of ``kubectl
    apply``, is no schema.
    """
    if _EMBEDDED not in bytes(definition):
        return False
    try:
        versions = _definition.decode(definition).spec.versions
    except (msgspec.MsgspecError, RecursionError):
        return True
    return any(_EMBEDDED in bytes(each.schema) for each in versions)
