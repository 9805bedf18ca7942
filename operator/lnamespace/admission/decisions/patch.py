"""The smallest JSON patch (RFC 6902) from one manifest to another.

It has only ``add``, ``replace`` and ``remove``, each as deep as it can be, so that the audit log
shows what the webhook changed and nothing else. General libraries also emit ``move``, which ties
fields together that have nothing to do with each other.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from lnamespace.kube.json_pointer import pointer_of


class PatchOperation(NamedTuple):
    """A change of one value; ``path`` is a JSON pointer (RFC 6901)."""

    op: Literal["add", "replace", "remove"]
    path: str
    value: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return the operation as RFC 6902 writes it."""
        step = {"op": self.op, "path": self.path}
        return step if self.op == "remove" else step | {"value": self.value}


def json_patch(old: Any, new: Any, path: str = "") -> Iterator[PatchOperation]:
    """Yield the operations that turn ``old`` into ``new``.

    Lists of the same length are compared item by item, others are replaced as a whole.
    """
    if old is new:
        return  # An untouched part of the manifest is not walked through, however deep it is.
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _between_dicts(old, new, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from json_patch(before, after, f"{path}/{index}")
    elif old != new or type(old) is not type(new):
        yield PatchOperation("replace", path, new)


def _between_dicts(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[PatchOperation]:
    for key in old:
        if key not in new:
            yield PatchOperation("remove", path + pointer_of((key,)))
    for key, value in new.items():
        place = path + pointer_of((key,))
        if key in old:
            yield from json_patch(old[key], value, place)
        else:
            yield PatchOperation("add", place, value)
