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


def test_the_chart_names_each_definition_that_it_makes() -> None:
    """Artifact Hub shows them."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    told = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    made = [yaml.safe_load((CHART / "files" / name).read_text()) for name in DEFINITIONS]
    versions = {
        (crd["metadata"]["name"], crd["spec"]["names"]["kind"], version["name"])
        for crd in made
        for version in crd["spec"]["versions"]
    }
    assert {(crd["name"], crd["kind"], crd["version"]) for crd in told} == versions


def test_the_values_that_the_charts_readme_names_are_there() -> None:
    text = (CHART / "README.md").read_text()
    for line in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE):
        for path in re.findall(r"`([\w.]+)`", line):
            value: Any = VALUES
            for name in path.split("."):
                value = value[name]


def test_who_is_let_read_is_not_let_read_once_more_by_a_guarded_role() -> None:
    """A right that is listed twice is taken away in one place and stays in the other."""
    items = yaml.safe_load_all((GOLDEN / "default.yaml").read_text())
    roles = [item for item in items if item["kind"] == "ClusterRole"]
    guarded = {role["metadata"]["name"]: role for role in roles if GUARDED in labels(role)}
    assert len(guarded) > 3
    del guarded["lnamespace:authenticated-lnamespaces"]  # people's, who read by no other
    for name, role in guarded.items():
        verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
        assert not verbs & {"get", "list", "watch"}, name


def labels(item: dict[str, Any]) -> dict[str, str]:
    """The labels of an object."""
    found: dict[str, str] = item["metadata"]["labels"]
    return found
