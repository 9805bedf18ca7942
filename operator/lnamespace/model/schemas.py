"""JSON Schema of types, as Kubernetes takes it.

``msgspec`` turns types into JSON Schema. A *structural* schema has no references and a type
everywhere.
"""

from typing import Any, cast

import msgspec

from lnamespace.model import rules

Schema = dict[str, Any]

_KEPT = frozenset(
    {"type", "description", "enum", "format", "items", "properties", "required"}
    | {"additionalProperties", "maxItems", "maxLength", "minLength", "maxProperties", "pattern"}
)


def structural_schema(type_: type) -> Schema:
    """Return the structural schema of a type: the parts of JSON Schema that Kubernetes takes."""
    schema, components = msgspec.json.schema_components([type_], ref_template="{name}")
    return _inline(schema[0], components)


def _inline(schema: Schema, components: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        described = {k: v for k, v in schema.items() if k == "description"}
        return _inline(components[schema["$ref"]] | described, components)
    if "allOf" in schema:
        (inner,) = schema["allOf"]
        return _inline(inner | {k: v for k, v in schema.items() if k != "allOf"}, components)
    result = {k: v for k, v in schema.items() if k in _KEPT and v != []}
    if "enum" in schema:
        result["type"] = "string"
    if schema.get("format") == "date-time":
        result["pattern"] = f"^{rules.TIMESTAMP}$"
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _inline(cast(Schema, schema[key]), components)
    if "properties" in schema:
        properties = cast(Schema, schema["properties"])
        result["properties"] = {k: _inline(v, components) for k, v in properties.items()}
    return result


def validation_rule(expression: str, message: str, field_path: str = "") -> Schema:
    """Return an entry of ``x-kubernetes-validations``; errors point at ``field_path``."""
    entry = {"rule": expression, "message": message}
    return entry | {"fieldPath": field_path} if field_path else entry
