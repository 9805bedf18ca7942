"""Paths in JSON patches (RFC 6901)."""

from collections.abc import Iterable


def pointer_of(keys: Iterable[str]) -> str:
    """Return the pointer to the value behind some keys; empty for the whole document."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def keys_of(pointer: str) -> tuple[str, ...]:
    """Return the keys in a pointer that begins with a slash, or is empty."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])
