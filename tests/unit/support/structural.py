"""What the API server takes by a structural schema, and what its merge patch does."""

import re
from datetime import date
from typing import Any

Schema = dict[str, Any]

_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d+)?(z|[+-]\d\d:\d\d)")


def accepts(schema: Schema, value: Any) -> bool:
    """Return whether the API server takes the value (without the rules in CEL)."""
    match schema["type"]:
        case "object":
            return isinstance(value, dict) and _accepts_object(schema, value)
        case "array":
            return (
                isinstance(value, list)
                and len(value) <= schema.get("maxItems", len(value))
                and all(accepts(schema["items"], item) for item in value)
            )
        case "string":
            return isinstance(value, str) and _accepts_text(schema, value)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
    raise AssertionError(schema)


def is_date_time(text: str) -> bool:
    """Check as k8s.io/kube-openapi/pkg/validation/strfmt does: the offset is not looked at."""
    day, found, clock = text.lower().partition("t")
    match = _CLOCK.fullmatch(clock)
    if not found or not match or not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        return False
    try:
        # Go knows a year 0, which is a leap year; Python begins at 1.
        date.fromisoformat("2000" + day[4:] if day.startswith("0000") else day)
    except ValueError:
        return False
    return match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch, letter by letter as RFC 7386 has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _accepts_object(schema: Schema, value: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    return (
        all(key in value for key in schema.get("required", ()))
        and len(value) <= schema.get("maxProperties", len(value))
        and all(accepts(properties[k], v) for k, v in value.items() if k in properties)
        and all(accepts(others, v) for k, v in value.items() if others and k not in properties)
    )


def _accepts_text(schema: Schema, value: str) -> bool:
    return (
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        and value in schema.get("enum", [value])
        and re.search(schema.get("pattern", ""), value) is not None
        and (schema.get("format") != "date-time" or is_date_time(value))
    )
