"""Named tuples without the module `typing`: importing that takes longer than a plugin's own work.

Type checkers see `typing.NamedTuple`. The annotations are read once, when a class is made, and no
code is compiled.
"""

from __future__ import annotations

from _operator import itemgetter

__all__ = ("TYPE_CHECKING", "NamedTuple")

TYPE_CHECKING = False  # type checkers take the name for true

if TYPE_CHECKING:
    from typing import NamedTuple, Self
else:

    class NamedTuple(tuple):
        """A tuple whose fields, and their defaults, are the annotations of the class."""

        __slots__ = ()

        def __init_subclass__(cls) -> None:
            """Give each field its position in the tuple."""
            said = vars(cls)
            cls._fields = tuple(said.get("__annotations__", ()))
            cls._defaults = {name: said[name] for name in cls._fields if name in said}
            for place, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(place)))

        def __new__(cls, *values: object, **named: object) -> Self:
            """Take the fields in order, then by name, then by default."""
            if named or len(values) != len(cls._fields):
                given = {**cls._defaults, **dict(zip(cls._fields, values, strict=False)), **named}
                if given.keys() != set(cls._fields) or len(values) > len(cls._fields):
                    fields = ", ".join(cls._fields)
                    raise TypeError(f"{cls.__name__} has the fields {fields}")
                values = [given[name] for name in cls._fields]
            return tuple.__new__(cls, values)

        def _replace(self, **named: object) -> Self:
            return type(self)(**{**dict(zip(self._fields, self, strict=True)), **named})

        def __repr__(self) -> str:
            fields = ", ".join(
                f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)
            )
            return f"{type(self).__name__}({fields})"
