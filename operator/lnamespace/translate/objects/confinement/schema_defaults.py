"""Bound what the defaults in the schema of a tenant's own kind add to an object.

The API server adds the defaults to each object, and encodes it, before etcd refuses its size. A
default inside a list is added to each item: with a default of 100 KB, a body of 12 KB with 3,000
items became 300 MB, and one of 3 MB would need more memory than any API server has. So the bytes
that defaults add are bounded by the bytes that a client has to write, ``{},`` for an item.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec.json import encode

from lnamespace.translate.objects.confinement.rules import ConfinedBody, Path, RefusingRule, parents

MAX_RATIO = 85
"""Bytes that the defaults may add for each byte that has to be written: 255 to an item ``{},``."""
MAX_OBJECT = 1024 * 1024
"""Bytes that they may add to one object."""
_EACH = 16
"""Bytes that each value counts besides its text: a map of short members takes far more memory."""
_NONE: Any = object()
SCHEMA: Path = ("spec", "versions", "*", "schema", "openAPIV3Schema")


@dataclass(frozen=True)
class BoundedDefaults(RefusingRule):
    """The defaults in the schemas of a definition."""

    paths = (SCHEMA,)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse defaults that would make objects much longer than they are sent."""
        for schema in parents(subject.body, SCHEMA):
            found = _Defaults.of(schema.get(SCHEMA[-1]))
            for added in (_Addition("an object", found.whole, MAX_OBJECT), *found.additions()):
                if added.size > added.most:
                    why = (
                        f"the defaults may add {added.most} bytes to {added.to}, and would add "
                        f"{added.size}"
                    )
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
class _Addition:
    """The bytes that defaults add to a value, and how many they may."""

    to: str
    size: int
    most: int


@dataclass(frozen=True)
class _Defaults:
    """The defaults of a schema, and of the schemas inside it."""

    members: Mapping[str, "_Defaults"] = field(default_factory=dict)
    items: "_Defaults | None" = None
    values: "_Defaults | None" = None
    default: Any = _NONE

    @classmethod
    def of(cls, schema: Any) -> "_Defaults":
        """Read a schema; an invalid one has no defaults."""
        if not isinstance(schema, dict):
            return cls()
        found = schema.get("properties")
        properties = found.items() if isinstance(found, dict) else ()
        items, values = schema.get("items"), schema.get("additionalProperties")
        return cls(
            {key: cls.of(below) for key, below in properties},
            cls.of(items) if isinstance(items, dict) else None,
            cls.of(values) if isinstance(values, dict) else None,
            schema.get("default", _NONE),
        )

    @cached_property
    def empty(self) -> int:
        """Return the bytes that are added to an object ``{}``."""
        return sum(each.missing(key) for key, each in self.members.items())

    @cached_property
    def absent(self) -> int:
        """Return the bytes that are added in place of null: the default, with defaults inside."""
        if self.default is _NONE:
            return 0
        count = sum(1 for _ in _values_in(self.default))
        return len(encode(self.default)) + _EACH * count + self._added_to(self.default)

    @cached_property
    def whole(self) -> int:
        """Return the most bytes that are added to an object, apart from items of lists."""
        return sum(max(each.whole, each.missing(key)) for key, each in self.members.items())

    def _added_to(self, value: Any) -> int:
        """Return the bytes that are added to a value."""
        if isinstance(value, list) and self.items:
            return sum(self.items.added_inside(each) for each in value)
        if not isinstance(value, dict):
            return 0
        others = self.values or _Defaults()
        inside = (self.members.get(key, others).added_inside(each) for key, each in value.items())
        missing = (each.missing(key) for key, each in self.members.items() if key not in value)
        return sum(inside) + sum(missing)

    def missing(self, key: str) -> int:
        """Return the bytes that are added to an object without this member."""
        return len(key) + self.absent if self.default is not _NONE else 0

    def added_inside(self, value: Any) -> int:
        """Return the bytes that are added to a value inside another, or in place of null."""
        return self.absent if value is None else self._added_to(value)

    def additions(self, *, repeated: bool = False) -> Iterator[_Addition]:
        """Yield the additions to values that an object may have any number of."""
        for key, below in self.members.items():
            if repeated:
                yield _Addition(f"an object {key} in an item", below.empty, _most(f'"{key}":{{}},'))
            yield from below.additions(repeated=repeated)
        for what, written, each in (
            ("an item of a list", "", self.items),
            ("a value of a map", '"":', self.values),
        ):
            if each:
                yield _Addition(f"{what} that is {{}}", each.empty, _most(written + "{},"))
                yield _Addition(f"{what} that is null", each.absent, _most(written + "null,"))
                yield from each.additions(repeated=True)


def _most(written: str) -> int:
    return MAX_RATIO * len(written)


def _values_in(value: Any) -> Iterator[Any]:
    """Yield the values in a value, itself included."""
    yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values_in(each)
