"""Bound what the defaults in the schema of a tenant's own kind add to an object.

The API server writes the defaults into each object, and encodes it before etcd refuses it. In an
item of a list they are written for each item: a default of 100 KB and a body of 12 KB with 3,000
items were 300 MB, and a body of 3 MB would be more than any API server has memory for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.json import encode

from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Path,
    RefusingRule,
    parents,
)

MAX_ITEM = 1024
"""Bytes that the defaults may add to one item of a list or one value of a map."""
MAX_OBJECT = 1024 * 1024
"""Bytes that they may add to one object."""
_EACH = 16
"""Bytes that each value counts besides its text: a map of short members takes far more memory."""
SCHEMA: Path = ("spec", "versions", "*", "schema", "openAPIV3Schema")


@dataclass(frozen=True)
class BoundedDefaults(RefusingRule):
    """The defaults in the schemas of a definition."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the path of the schemas."""
        return (SCHEMA,)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse defaults that would make objects much longer than they are sent."""
        for schema in parents(subject.body, SCHEMA):
            added = _Added.of(schema.get(SCHEMA[-1]))
            for most, size, what in (
                (MAX_ITEM, added.to_item, "one item of a list or value of a map"),
                (MAX_OBJECT, added.to_object, "one object"),
            ):
                if size > most:
                    why = f"the defaults may add {most} bytes to {what}, and would add {size}"
                    raise subject.refuse("spec.versions.schema.openAPIV3Schema", why)


def is_added_once(keys: Path, value: Any) -> bool:
    """Return whether a default, at some keys below a schema, is added to an object only once.

    All of these together are no longer than the definition. Kubernetes' conformance specs patch
    such a default.
    """
    return (
        keys[-1:] == ("default",)
        and len(keys) % 2 == 1
        and all(each == "properties" for each in keys[:-1:2])
        and isinstance(value, str | int | float)
    )


def has_default(keys: Path, value: Any) -> bool:
    """Return whether a part of a schema, at some keys below it, has a default."""
    return "default" in keys or any(
        isinstance(each, dict) and "default" in each for each in _values_in(value)
    )


@dataclass(frozen=True)
class _Added:
    """The most bytes that the defaults of a schema add.

    Parameters
    ----------
    to_object
        To a value of the schema that has all members that the schema names, and no items.
    to_part
        To the value, or to any value below it.
    to_item
        To any item of a list or value of a map below it.
    """

    to_object: int = 0
    to_part: int = 0
    to_item: int = 0

    @classmethod
    def of(cls, schema: Any) -> "_Added":
        """Return what a schema adds; nothing for what is no schema."""
        if not isinstance(schema, dict):
            return cls()
        to_object, to_part, to_item = 0, 0, 0
        properties = schema.get("properties")
        for key, below in properties.items() if isinstance(properties, dict) else ():
            found = cls.of(below)
            to_object += max(found.to_object, found.by_default(below, key))
            to_part = max(to_part, found.to_part)
            to_item = max(to_item, found.to_item)
        for key in ("items", "additionalProperties"):
            found = cls.of(schema.get(key))
            each = max(found.to_object, found.by_default(schema.get(key)))
            to_part = max(to_part, each, found.to_part)
            to_item = max(to_item, each, found.to_item)
        return cls(to_object, max(to_object, to_part), to_item)

    def by_default(self, schema: Any, key: str = "") -> int:
        """Return what the default of the schema itself adds, with the defaults inside of it."""
        if not isinstance(schema, dict) or "default" not in schema:
            return 0
        values = tuple(_values_in(schema["default"]))
        written = len(key) + len(encode(schema["default"])) + _EACH * len(values)
        return written + self.to_part * sum(1 for each in values if _is_filled(each))


def _is_filled(value: Any) -> bool:
    """Return whether defaults are written into a value, or in its place."""
    return value is None or isinstance(value, dict)


def _values_in(value: Any) -> Iterator[Any]:
    """Yield the values in a value, itself included."""
    yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values_in(each)
