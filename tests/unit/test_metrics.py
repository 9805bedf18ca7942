"""Every metric is named once, and told of everywhere by that name."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lnamespace.metrics.base import ProcessMetrics
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.metrics.processes import PROCESSES, documented

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "charts" / "lnamespace"
DASHBOARD = CHART / "files" / "dashboard.json"
RULES = CHART / "templates" / "prometheusrule.yaml"
FOREIGN = {"apiserver_admission_webhook_rejection_count"}
"""What the API server counts."""

SERIES = {name for process in PROCESSES.values() for one in process.all() for name in one.series}
PROCESS_NAMES = sorted(PROCESSES)


def used(text: str) -> set[str]:
    """Return the series that a text names."""
    text = re.sub(r'"[^"]*"', '""', text)  # what is in quotes is a label's value
    return set(re.findall(r"\b(?:lnamespace|apiserver)_[a-z_]+\b", text))


@pytest.mark.parametrize("name", PROCESS_NAMES)
def test_a_metric_name_has_the_process_prefix_and_its_unit(name: str) -> None:
    for one in PROCESSES[name].all():
        assert one.exposed_name == "lnamespace_info" or one.exposed_name.startswith(
            f"lnamespace_{name}_"
        )
        assert one.definition.help.endswith(".")
        if one.definition.buckets:
            assert one.exposed_name.endswith("_seconds")


def test_metric_labels_are_limited_to_a_fixed_set() -> None:
    labels = {
        label
        for process in PROCESSES.values()
        for one in process.all()
        for label in one.definition.labels
    }
    assert labels == {
        *("version", "group", "kind", "result", "reason", "resource", "verb", "code"),
        *("endpoint", "source", "guard"),
        "lcluster",  # as many as there are; the series of one that is gone ends
    }


def test_metric_names_are_unique_in_each_process() -> None:
    for process in PROCESSES.values():
        names = [one.exposed_name for one in process.all()]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
def test_every_defined_metric_is_exposed(process: type[ProcessMetrics]) -> None:
    text = process.new("tenancy.example.com").text().decode()
    for one in process.all():
        shown = one.definition.name if "counter" in str(one.kind).lower() else one.exposed_name
        assert f"# HELP {shown}" in text
    assert re.search(
        r'^lnamespace_info\{group="tenancy.example.com",version="[^"]+"\} 1.0$', text, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("process", "series"),
    [
        ("ledger", 'lnamespace_ledger_write_failures_total{reason="misconfigured"} 0.0'),
        ("ledger", 'lnamespace_ledger_write_failures_total{reason="refused"} 0.0'),
        ("ledger", 'lnamespace_ledger_write_failures_total{reason="unavailable"} 0.0'),
        ("ledger", 'lnamespace_ledger_drift_total{kind="gone"} 0.0'),
        ("ledger", 'lnamespace_ledger_differences{kind="missing"} 0.0'),
        ("webhook", 'lnamespace_webhook_requests_total{code="500",endpoint="/validate"} 0.0'),
        ("webhook", 'lnamespace_webhook_requests_total{code="503",endpoint="/convert"} 0.0'),
    ],
)
def test_failure_counters_are_exposed_with_zero_before_the_first_failure(
    process: str, series: str
) -> None:
    """A series that begins at 1 has no rate: the first failure was in no panel and no alert."""
    assert series in PROCESSES[process].new().text().decode()


def test_series_of_a_deleted_lcluster_are_removed() -> None:
    metrics = GatewayMetrics.new()
    for name in ("acme", "beta"):
        metrics.lcluster_requests.labels(name).inc()
        metrics.lcluster_namespaces.labels(name).set(4)
    metrics.forget_lclusters({"beta"})
    text = metrics.text().decode()
    assert 'lnamespace_gateway_lcluster_requests_total{lcluster="beta"} 1.0' in text
    assert "acme" not in text


def test_the_documentation_page_lists_all_metrics() -> None:
    page = (REPOSITORY / "docs" / "metrics.md").read_text()
    assert documented() in page, (
        "write lnamespace.metrics.processes.documented() into docs/metrics.md"
    )


def test_the_alerts_use_only_exposed_metrics() -> None:
    text = RULES.read_text()
    found = used(text)
    assert len(found) > 10
    assert found <= SERIES | FOREIGN


def test_each_alert_has_its_section_in_the_runbook() -> None:
    text = RULES.read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    assert re.findall(r"#(lnamespace\w+)", text) == [alert.lower() for alert in alerts]
    runbook = (REPOSITORY / "docs" / "runbook.md").read_text()
    assert {f"### {alert}" for alert in alerts} <= set(runbook.splitlines())


def test_each_alert_is_tested() -> None:
    tested = (REPOSITORY / "tests" / "alerts" / "alerts.yaml").read_text()
    for alert in re.findall(r"- alert: (\w+)", RULES.read_text()):
        fires = re.findall(rf"alertname: {alert}\s+exp_alerts:", tested)
        assert fires or alert == "LNamespaceWebhookDown", alert
        assert f"eval_time: 3h, alertname: {alert}}}" in tested


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def test_the_dashboard_uses_only_exposed_metrics_and_shows_all_of_them() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    asked = {name for p in panels(dashboard) for t in p["targets"] for name in used(t["expr"])}
    assert asked <= SERIES
    # And leaves nothing out that somebody counts.
    shown = {name.removesuffix("_count").removesuffix("_sum") for name in SERIES - asked}
    assert {name for name in shown if f"{name}_bucket" not in SERIES} == set()


def test_the_dashboard_can_be_loaded() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["uid"]
    assert {v["name"] for v in dashboard["templating"]["list"]} == {"datasource", "namespace"}
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in panels(dashboard):
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(
            'namespace="$namespace"' in t["expr"] or "lnamespace_info" in t["expr"]
            for t in panel["targets"]
        )
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
