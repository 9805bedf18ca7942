"""What the chart's values may be: each has a rule, and what templates stand on is never missing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "lnamespace"
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())

DEFINITIONS = ("crd.yaml", "billingrecords.yaml")
GOLDEN = Path(__file__).resolve().parents[1] / "e2e" / "golden" / "chart"
GUARDED = "tenancy.loblaw.digital/guarded"

# What may be taken away by `null`: templates ask whether it is there.
MAY_BE_MISSING = {
    *("caBundle", "affinity", "annotations", "nodeSelector", "podAnnotations", "priorityClassName"),
    *("resources", "tolerations", "labels", "storageClassName"),
    *("certManager.issuerRef", "networkPolicy.from", "webhook.url"),
    *("urlSecret", "urlSecret.key", "urlSecret.name"),
    *("clusterLocation", "clusterName", "projectId"),
    *("podLabels", "topologySpreadConstraints", "extraEnv", "extraEnvFrom", "extraVolumes"),
    *("extraVolumeMounts", "extraContainers", "commonLabels", "alertLabels", "scrapeTimeout"),
    *("metricRelabelings", "podSecurityContext", "containerSecurityContext"),
    *("image.digest", "image.pullSecrets", "image.tag"),
}


def objects(schema: dict[str, Any], values: dict[str, Any], path: str = "") -> Iterator[Any]:
    """Path, rule and values of every object whose names are the chart's own."""
    yield path, schema, values
    for name, value in values.items():
        inner = schema["properties"].get(name, {})
        if isinstance(value, dict) and value and "properties" in inner:
            yield from objects(inner, value, f"{path}.{name}".lstrip("."))


def test_every_value_has_a_schema_and_every_schema_property_a_value() -> None:
    for path, schema, values in objects(SCHEMA, VALUES):
        assert set(schema["properties"]) - {"global"} == set(values), path
        assert schema["additionalProperties"] is False, path


def test_the_schema_requires_every_value_so_that_null_is_refused() -> None:
    for path, schema, values in objects(SCHEMA, VALUES):
        for name in values:
            known = {name, f"{path}.{name}", f"{path.rpartition('.')[2]}.{name}"}
            if not known & MAY_BE_MISSING:
                assert name in schema.get("required", ()), f"{path}.{name} belongs into `required`"


def test_no_schema_keyword_is_a_sibling_of_a_ref() -> None:
    """JSON Schema draft 7 ignores the siblings of a `$ref`."""
    for rule in rules(SCHEMA):
        assert "$ref" not in rule or len(rule) == 1, rule


def rules(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the schema."""
    if isinstance(part, dict):
        yield part
    for inner in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        yield from rules(inner)


def test_the_chart_metadata_lists_every_custom_resource_definition() -> None:
    """Artifact Hub shows this list."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    told = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    made = [yaml.safe_load((CHART / "files" / name).read_text()) for name in DEFINITIONS]
    versions = {
        (crd["metadata"]["name"], crd["spec"]["names"]["kind"], version["name"])
        for crd in made
        for version in crd["spec"]["versions"]
    }
    assert {(crd["name"], crd["kind"], crd["version"]) for crd in told} == versions


def test_every_value_named_in_the_chart_readme_exists() -> None:
    text = (CHART / "README.md").read_text()
    for line in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE):
        for path in re.findall(r"`([\w.]+)`", line):
            value: Any = VALUES
            for name in path.split("."):
                value = value[name]


def test_guarded_cluster_roles_grant_no_read_verbs() -> None:
    """A right that two roles grant would be removed from one and kept by the other."""
    items = yaml.safe_load_all((GOLDEN / "default.yaml").read_text())
    roles = [item for item in items if item["kind"] == "ClusterRole"]
    guarded = {role["metadata"]["name"]: role for role in roles if GUARDED in labels(role)}
    assert len(guarded) > 3
    del guarded["lnamespace:authenticated-lnamespaces"]  # people's, who read by no other
    for name, role in guarded.items():
        verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
        assert not verbs & {"get", "list", "watch"}, name


def labels(item: dict[str, Any]) -> dict[str, str]:
    """Return the labels of an object."""
    found: dict[str, str] = item["metadata"]["labels"]
    return found
