"""What the chart's values may be: each has a rule, and what templates stand on is never missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "lnamespace"
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())

# What may be taken away by `null`: templates ask whether it is there.
MAY_BE_MISSING = {
    *("affinity", "annotations", "nodeSelector", "podAnnotations", "priorityClassName"),
    *("resources", "tolerations", "labels", "storageClassName"),
    *("certManager.issuerRef", "networkPolicy.from", "webhook.url"),
    *("urlSecret", "urlSecret.key", "urlSecret.name"),
    *("clusterLocation", "clusterName", "projectId"),
    *("image.digest", "image.pullSecrets", "image.tag"),
}


def objects(schema: dict[str, Any], values: dict[str, Any], path: str = "") -> Iterator[Any]:
    """Path, rule and values of every object whose names are the chart's own."""
    yield path, schema, values
    for name, value in values.items():
        inner = schema["properties"].get(name, {})
        if isinstance(value, dict) and value and "properties" in inner:
            yield from objects(inner, value, f"{path}.{name}".lstrip("."))


def test_every_value_has_a_rule_and_every_rule_a_value() -> None:
    for path, schema, values in objects(SCHEMA, VALUES):
        assert set(schema["properties"]) - {"global"} == set(values), path
        assert schema["additionalProperties"] is False, path


def test_a_value_set_to_null_is_refused_and_not_silently_off() -> None:
    for path, schema, values in objects(SCHEMA, VALUES):
        for name in values:
            known = {name, f"{path}.{name}", f"{path.rpartition('.')[2]}.{name}"}
            if not known & MAY_BE_MISSING:
                assert name in schema.get("required", ()), f"{path}.{name} belongs into `required`"


def test_no_rule_stands_beside_a_reference() -> None:
    """Draft 7 ignores what does."""
    for rule in rules(SCHEMA):
        assert "$ref" not in rule or len(rule) == 1, rule


def rules(part: Any) -> Iterator[dict[str, Any]]:
    """Every object of the schema."""
    if isinstance(part, dict):
        yield part
    for inner in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        yield from rules(inner)
