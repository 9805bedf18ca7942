"""From one JSON object to another by a merge patch (RFC 7386)."""

from typing import Any


def change(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The patch that makes ``old`` into ``new``; neither may have null in it."""
    gone: dict[str, Any] = {key: None for key in old if key not in new}
    return gone | {key: _value(old, key, new[key]) for key in new if old.get(key) != new[key]}


def _value(old: dict[str, Any], key: str, new: Any) -> Any:
    before = old.get(key)
    return change(before, new) if isinstance(before, dict) and isinstance(new, dict) else new
