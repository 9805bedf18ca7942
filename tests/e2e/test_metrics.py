"""What our processes measure of real work, and what wakes somebody."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from lnamespace.metrics.processes import PROCESSES

from tests.e2e.support.api import LNAMESPACES, NAMESPACES, Api, ApiError, lns_path, rbac_path
from tests.e2e.support.chart_text import parsed
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY, run
from tests.e2e.support.people import People, Person
from tests.e2e.support.probes import Probed, metric, probe
from tests.e2e.support.processes import Controller, Webhook
from tests.e2e.support.tenants import Tenants, manifest
from tests.e2e.support.waiting import eventually, settled

C, W, L = "lnamespace_controller_", "lnamespace_webhook_", "lnamespace_ledger_"
_BUILD = 1500.0


class Since:
    """How much a process has counted since."""

    def __init__(self, process: Probed) -> None:
        self._process = process
        self._before: dict[tuple[str, ...], float] = {}

    def note(self, name: str, **labels: str) -> "Since":
        """Begin to count here."""
        self._before[name, *map(str, labels.items())] = metric(self._process, name, **labels)
        return self

    def __call__(self, name: str, **labels: str) -> float:
        """Return what came since."""
        key = (name, *map(str, labels.items()))
        return metric(self._process, name, **labels) - self._before[key]


def test_latencies_of_readiness_and_revocation_are_measured(
    controller: Controller, tenants: Tenants
) -> None:
    # Deletions of tests before are revocations too, and may not have been counted yet.
    settled(lambda: metric(controller, f"{C}edit_to_revoked_seconds_count"))
    since = Since(controller).note(f"{C}create_to_ready_seconds_count")
    since.note(f"{C}edit_to_revoked_seconds_count").note(f"{C}edit_to_revoked_seconds_sum")
    name = tenants.make("waits", users=["una", "ben"], sudoers=["una"])
    # What the API server has been told, anybody may see before it is counted here.
    eventually(lambda: since(f"{C}create_to_ready_seconds_count") == 1)
    assert since(f"{C}edit_to_revoked_seconds_count") == 0
    tenants.edit(name, users=["una", "ben", "new"])
    tenants.ready(name)
    assert since(f"{C}edit_to_revoked_seconds_count") == 0
    started = time.monotonic()
    tenants.edit(name, users=["una"])
    tenants.ready(name)
    eventually(lambda: since(f"{C}edit_to_revoked_seconds_count") == 1)
    # All that it measures is between the edit and now, however long that took.
    assert 0 < since(f"{C}edit_to_revoked_seconds_sum") <= time.monotonic() - started


def test_api_requests_reconciles_and_drift_repairs_are_counted(
    controller: Controller, tenants: Tenants, admin: Api
) -> None:
    since = Since(controller).note(f"{C}drift_repaired_total")
    wrote = {"verb": "create", "resource": "rolebindings", "code": "201"}
    since.note(f"{C}api_requests_total", **wrote).note(f"{C}queue_wait_seconds_count")
    since.note(f"{C}reconciles_total", kind="LNamespace", result="Done")
    name = tenants.make("done", users=["una"])
    eventually(lambda: since(f"{C}api_requests_total", **wrote) == 2)
    assert since(f"{C}drift_repaired_total") == 0
    binding = rbac_path("rolebindings", "lnamespace-users", name)
    admin.delete(binding)
    eventually(lambda: admin.find(binding))
    eventually(lambda: since(f"{C}drift_repaired_total") == 1)
    done = {"kind": "LNamespace", "result": "Done"}
    eventually(lambda: since(f"{C}reconciles_total", **done) >= 2)
    assert since(f"{C}queue_wait_seconds_count") >= 2
    assert metric(controller, f"{C}leader") == 1
    assert metric(controller, f"{C}watch_silence_seconds", resource="lnamespaces") < 90


def test_lnamespaces_that_are_not_ready_are_counted_by_reason(
    controller: Controller, tenants: Tenants, admin: Api
) -> None:
    before = metric(controller, f"{C}lnamespaces", reason="Conflict")
    name = tenants.name("taken")
    admin.create(NAMESPACES, {"metadata": {"name": name}})
    tenants.create(name, users=["una"])
    tenants.unready(name, "Conflict")
    eventually(lambda: metric(controller, f"{C}lnamespaces", reason="Conflict") == before + 1)
    tenants.delete(name)
    eventually(lambda: metric(controller, f"{C}lnamespaces", reason="Conflict") == before)


def test_webhook_requests_refusals_and_resolutions_are_counted(
    webhook: Webhook, tenants: Tenants, people: People
) -> None:
    eve, name = people.person("leaves-nobody"), tenants.name("let-in")
    since = Since(webhook).note(f"{W}refusals_total").note(f"{W}resolutions_total")
    since.note(f"{W}requests_total", code="200")
    eve.api.create(LNAMESPACES, manifest(name))
    tenants.ready(name)
    eventually(lambda: since(f"{W}resolutions_total") == 1)
    assert since(f"{W}refusals_total") == 0
    told = eventually(lambda: _refusal(eve, name))
    assert "somebody must be able to edit it" in str(told)
    eventually(lambda: since(f"{W}refusals_total") == 1)
    eventually(lambda: since(f"{W}requests_total", code="200") >= 4)
    eventually(lambda: metric(webhook, f"{W}certificate_trusted") == 1)


def _refusal(person: Person, name: str) -> str:
    """Why they may leave nobody; empty as long as the authorizer does not know them yet."""
    try:
        person.api.patch(lns_path(name), {"spec": {"managers": [], "sudoers": []}})
    except ApiError as error:
        return "" if error.status == 403 and "cannot patch" in error.message else error.message
    raise AssertionError("nobody is left")


def test_the_ledger_exports_written_rows_and_its_backlog(
    cluster: Cluster, tenants: Tenants
) -> None:
    tenants.make("charged", users=["una"])
    publisher = cluster.publisher("sqlite://")
    publisher.start()
    try:
        eventually(lambda: metric(publisher, f"{L}rows_written_total") > 0, 240)
        eventually(lambda: metric(publisher, f"{L}outbox_records") == 0, 240)
        eventually(lambda: metric(publisher, f"{L}outbox_oldest_seconds") == 0)
        assert probe(publisher, "/readyz") == (200, "ok\n")
    finally:
        publisher.stop()


def test_metrics_contain_no_names_of_people_or_lnamespaces(
    controller: Controller, webhook: Webhook, tenants: Tenants
) -> None:
    name = tenants.make("secretive", users=["una-of-the-lists"], sudoers=["sue-of-the-lists"])
    known = {series for each in PROCESSES.values() for one in each.all() for series in one.series}
    for process in (controller, webhook):
        text = probe(process, "/metrics")[1]
        assert name not in text
        assert "of-the-lists" not in text
        shown = set(re.findall(r"^(lnamespace_\w+)", text, re.MULTILINE))
        assert {series for series in shown if not series.endswith("_created")} <= known


def test_controller_and_webhook_report_liveness_and_readiness(
    controller: Controller, webhook: Webhook
) -> None:
    for process in (controller, webhook):
        assert probe(process, "/livez") == (200, "ok\n")
        assert probe(process, "/readyz") == (200, "ok\n")


def shown_queries() -> list[str]:
    """Return what the dashboard's panels ask, with Grafana's variables filled in."""
    charted = json.loads((REPOSITORY / "charts/lnamespace/files/dashboard.json").read_text())
    asked = [t["expr"] for panel in charted["panels"] for t in panel.get("targets", ())]
    return [re.sub(r"\$__\w+", "5m", query).replace("$namespace", "ours") for query in asked]


def recorded(queries: list[str]) -> list[dict[str, str]]:
    """Rules by which promtool reads the queries as Prometheus would."""
    return [{"record": f"panel:{at}", "expr": query} for at, query in enumerate(queries)]


def rules(cluster: Cluster, *values: str) -> list[dict[str, Any]]:
    """Return the groups of alerts that the chart makes with these values."""
    flags = ("monitoring.prometheusRule.enabled=true", *values)
    chart = str(REPOSITORY / "charts" / "lnamespace")
    shown = cluster.run(
        *("helm", "template", "r", chart, "--namespace=ours", "--kube-version=1.30.0"),
        *(f"--set={flag}" for flag in flags),
    ).ok()
    rule = next(o for o in parsed(shown) if o["kind"] == "PrometheusRule")
    groups: list[dict[str, Any]] = rule["spec"]["groups"]
    return groups


RUNBOOK = "https://docs.example.com/runbook.html"
MODES = {
    "alerts": (
        "controller.classNames={gold}",
        "gateway.enabled=true",
        "gateway.host=lclusters.example.com",
        "gateway.auditLog=-",
    ),
    "cert-manager": (
        "webhook.certManager.enabled=true",
        f"monitoring.prometheusRule.runbook={RUNBOOK}",
    ),
    "seldom-flushed": ("ledger.flushSeconds=7200",),
}
"""The files of tests/alerts, and what the chart is installed with for each."""


@pytest.mark.parametrize("mode", MODES)
def test_every_alert_has_the_namespace_of_its_instance(mode: str, cluster: Cluster) -> None:
    """Most sum the namespace away: two instances in trouble sent one and the same alert."""
    for alert in rules(cluster, *MODES[mode])[0]["rules"]:
        assert alert["labels"]["namespace"] == "ours", alert["alert"]


@pytest.mark.parametrize("mode", MODES)
def test_every_alert_links_its_runbook_section_as_a_url_or_a_file(
    mode: str, cluster: Cluster
) -> None:
    """Without an address of the platform's own, an alert names the file and says no URL."""
    for alert in rules(cluster, *MODES[mode])[0]["rules"]:
        page = f"#{alert['alert'].lower()}"
        said = {key: value for key, value in alert["annotations"].items() if "runbook" in key}
        if mode == "cert-manager":
            assert said == {"runbook_url": f"{RUNBOOK}{page}"}
        else:
            assert said == {"runbook": f"docs/runbook.md{page}"}


def test_a_release_without_a_ledger_has_no_ledger_alerts(cluster: Cluster) -> None:
    found = rules(cluster, "ledger.enabled=false")[0]["rules"]
    assert not [alert["alert"] for alert in found if "lnamespace_ledger" in alert["expr"]]


def test_only_a_gateway_that_the_chart_deploys_is_missed_by_an_alert(cluster: Cluster) -> None:
    """One that runs elsewhere may be scraped elsewhere: its alert would fire for ever."""
    on = ("gateway.enabled=true", "gateway.host=lclusters.example.com")
    values: dict[tuple[str, ...], bool] = {
        (): False,
        on: True,
        (*on, "gateway.deploy=false"): False,
    }
    for flags, expected in values.items():
        alerts = [alert["alert"] for alert in rules(cluster, *flags)[0]["rules"]]
        assert ("LNamespaceGatewayDown" in alerts) is expected, flags


@pytest.mark.skipif(
    "LNAMESPACE_PROMTOOL" not in os.environ,
    reason="building Prometheus' promtool takes minutes: make alerts",
)
@pytest.mark.timeout(_BUILD)
@pytest.mark.parametrize("mode", MODES)
def test_alerts_fire_exactly_in_the_cases_of_the_promtool_tests(
    mode: str, cluster: Cluster, tmp_path: Path
) -> None:
    dashboard = [{"name": "dashboard", "rules": recorded(shown_queries())}]
    groups = [*rules(cluster, *MODES[mode]), *dashboard]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    tests = REPOSITORY / "tests" / "alerts" / f"{mode}.yaml"
    (tmp_path / tests.name).write_text(tests.read_text())
    tool = REPOSITORY / "hack" / "promtool"
    run(tool, "check", "rules", tmp_path / "rules.yaml", timeout=_BUILD).ok()
    run(tool, "test", "rules", tmp_path / tests.name, timeout=60.0).ok()
