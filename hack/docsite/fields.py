"""The reference of the API: every field, from the schemas that the API server has."""

from collections.abc import Iterator, Mapping
from typing import Any

from lnamespace.ledger.outbox.crd import billingrecords_crd
from lnamespace.model.crd import build_crd
from lnamespace.model.names import Names

from docsite.markdown import code, page, prose, table

Schema = Mapping[str, Any]

_LIMITS = {
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} entries",
    "maxProperties": "at most {} keys",
}


def lnamespaces() -> str:
    """Return the page of LNamespace in both versions."""
    return _kind(
        build_crd(Names()), "`kubectl explain lns --recursive` shows the same on a cluster."
    )


def billingrecords() -> str:
    """Return the page of BillingRecord."""
    return _kind(
        billingrecords_crd(Names()),
        "Made by the controller, deleted by the ledger's publisher: [the ledger](../ledger.md).",
    )


def _kind(definition: Schema, note: str) -> str:
    spec = definition["spec"]
    facts = f"Group `{spec['group']}`, plural `{spec['names']['plural']}`, cluster-scoped. {note}"
    return page(spec["names"]["kind"], facts, *map(_version, spec["versions"]))


def _version(version: Schema) -> str:
    schema = version["schema"]["openAPIV3Schema"]
    marks = [mark for mark in ("storage", "deprecated") if version.get(mark)]
    fields = [row for name in ("spec", "status") for row in _below(schema, name)]
    parts = [
        f"## {version['name']}",
        prose(schema["description"]) + (f" ({', '.join(marks)})" if marks else ""),
        table(("field", "type", ""), fields),
    ]
    refusals = _refusals(schema)
    if refusals:
        parts += [f"### Rules of {version['name']}", table(("rule", "of"), refusals)]
    return "\n\n".join(parts)


def _below(schema: Schema, name: str, path: str = "") -> Iterator[tuple[str, str, str]]:
    field = schema.get("properties", {}).get(name)
    if field is None:
        return
    here = f"{path}.{name}" if path else name
    yield code(here), _type(field), _meaning(field, name in schema.get("required", ()))
    inner, at = (field["items"], f"{here}[]") if "items" in field else (field, here)
    for key in inner.get("properties", {}):
        yield from _below(inner, key, at)


def _type(field: Schema) -> str:
    if field["type"] == "array":
        return f"list of {field['items']['type']}"
    if "additionalProperties" in field:
        return f"map of {field['additionalProperties']['type']}"
    return "time" if field.get("format") == "date-time" else str(field["type"])


def _meaning(field: Schema, required: bool) -> str:
    facts = [prose(field.get("description", ""))]
    facts += ["Required."] if required else []
    if "enum" in field:
        facts.append("One of " + ", ".join(code(value) for value in field["enum"]) + ".")
    if "default" in field:
        facts.append(f"Default: `{field['default']!r}`.")
    limits = [text.format(field[key]) for key, text in _LIMITS.items() if key in field]
    return " ".join([*filter(None, facts), *([f"({', '.join(limits)})"] if limits else [])])


def _refusals(schema: Schema) -> list[tuple[str, str]]:
    """Return the message of each rule, and the fields that it is for."""
    told: dict[str, list[str]] = {}
    for path, message in _rules(schema, ""):
        told.setdefault(message, []).append(code(path))
    return [(prose(message), ", ".join(paths)) for message, paths in told.items()]


def _rules(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path + rule.get("fieldPath", "") or "(all)", rule["message"]
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield from _rules(field, here)
        yield from _rules(field.get("items", {}), f"{here}[]")
