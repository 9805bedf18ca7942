"""Count how large the schemas of a definition are in the API server's memory.

The API server keeps each part of a schema several times: structural, for each OpenAPI document,
for validation. A part of 30 bytes takes tens of kilobytes, so a definition of 1.2 MB took 2 GB for
as long as it was there. What counts is how many objects and items of lists there are, whatever
they mean: a schema, a map of properties, a value of an ``enum``. A rule in CEL counts more, for it
is compiled.
"""

from typing import Any

import msgspec
from msgspec import Raw

from lnamespace.kube.json_pointer import keys_of
from lnamespace.translate.objects.confinement.rules import Path

MAX_SIZE = 32 * 1024
"""The size of all schemas of a definition. The largest that is known, of Argo CD, has half."""
MAX_EACH = 400
"""The size of all schemas of an LCluster, for each definition that it may have: 80,000 for 200."""
_VERSIONS: Path = ("spec", "versions")
_ADDING = frozenset({"add", "replace"})
_PLAIN = frozenset({"default", "enum", "example"})
"""The keys of values of any form."""
_TEXT = 256
"""The characters of a text that count one; 1.4 MB of them took 40 MB."""
_RULES = frozenset({"rule", "messageExpression"})
"""The keys of expressions."""
_RULE = 8
"""What an expression counts, and how many of its characters count one: 15,000 took 1 GB."""


class _SizedVersion(msgspec.Struct, frozen=True):
    schema: Any = None


class _SizedSpec(msgspec.Struct, frozen=True):
    versions: tuple[_SizedVersion, ...] | None = None


class _SizedMeta(msgspec.Struct, frozen=True):
    name: str | None = None


class _SizedDefinition(msgspec.Struct, frozen=True):
    metadata: _SizedMeta | None = None
    spec: _SizedSpec | None = None


_definition = msgspec.json.Decoder(_SizedDefinition)
_operations = msgspec.json.Decoder(list[dict[str, Any]])


def total_for(definitions: int) -> int | None:
    """Return how large all schemas may be where there may be so many definitions; 0 is any number.

    One that is as large as it may be always has room.
    """
    return max(MAX_SIZE, MAX_EACH * definitions) if definitions else None


def size_of(value: Any, *, plain: bool = False) -> int:
    """Return how many objects and items of lists there are in a value, and what its texts count.

    Parameters
    ----------
    plain
        Whether it is of any form, or in such a value: then members of objects count too.
    """
    size, waiting = 0, [("", value, plain)]
    while waiting:
        at, found, within = waiting.pop()
        if isinstance(found, dict):
            size += 1 + sum(within and not isinstance(each, dict) for each in found.values())
            size += sum(len(key) // _TEXT for key in found)
            waiting += [(key, each, within or key in _PLAIN) for key, each in found.items()]
        elif isinstance(found, list):
            size += sum(not isinstance(each, dict) for each in found)
            waiting += [("", each, within) for each in found]
        elif isinstance(found, str):
            size += _RULE + len(found) // _RULE if at in _RULES else len(found) // _TEXT
    return size


def schemas_of(definition: bytes | Raw) -> int | None:
    """Return the size of all schemas of a definition, or of a part of one; None if it has none."""
    return named_schemas_of(definition)[1]


def named_schemas_of(definition: bytes | Raw) -> tuple[str, int | None]:
    """Return the name of a definition, or of a part of one, and the size of all of its schemas.

    Every form of a part but a JSON patch has all versions or none: Kubernetes merges them by no
    key. What cannot be read has no name, and is as large as it may be.
    """
    try:
        found = _definition.decode(definition)
    except (msgspec.MsgspecError, RecursionError):
        return "", sum(map(bytes(definition).count, (b"{", b"[", b",")))
    name = (found.metadata and found.metadata.name) or ""
    if found.spec is None or found.spec.versions is None:
        return name, None
    return name, sum(size_of(each.schema) for each in found.spec.versions)


def schemas_after(operations: bytes, before: int) -> int:
    """Return the most that the schemas of a definition may have after a JSON patch.

    It counts what is added, and takes off nothing until all versions are replaced. Copies of
    schemas are refused (:mod:`~lnamespace.translate.objects.confinement.operations`).
    """
    size = before
    for each in _operations.decode(operations):
        path, value = keys_of(each.get("path", "")), each.get("value")
        if each.get("op") not in _ADDING:
            continue
        if path == _VERSIONS[: len(path)]:
            size = _size_below(_VERSIONS[len(path) :], value)
        elif path[: len(_VERSIONS)] == _VERSIONS:
            size += size_of({path[-1]: value}, plain=not _PLAIN.isdisjoint(path))
    return size


def _size_below(path: Path, value: Any) -> int:
    """Return the size of the schemas in a value that has the versions at a path."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    versions = value if isinstance(value, list) else ()
    return sum(size_of(each.get("schema")) for each in versions if isinstance(each, dict))
