"""Whether a guard that is deleted, or weakened in whatever way, is noticed."""

import asyncio
import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lnamespace.controller.admission_drift import (
    AdmissionDriftCheck,
    describe_drift,
    find_difference,
)
from lnamespace.errors import NotFound, ServerFault
from lnamespace.metrics.controller import ControllerMetrics

POLICY: dict[str, Any] = {
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "lnamespace-crd"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"operations": ["DELETE"], "resources": ["x"]}]},
        "validations": [{"expression": "false", "message": "no"}],
    },
}
WEBHOOK: dict[str, Any] = {
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "lnamespace-webhook"},
    "webhooks": [
        {"name": "a", "clientConfig": {"url": "https://x"}, "failurePolicy": "Fail"},
        {"name": "b", "clientConfig": {"url": "https://y"}, "failurePolicy": "Fail"},
    ],
}


def as_served(guard: dict[str, Any]) -> dict[str, Any]:
    """Return what the API server makes of it, and the webhook's CA."""
    found = copy.deepcopy(guard)
    found["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 1}
    for webhook in found.get("webhooks", ()):
        webhook["clientConfig"]["caBundle"] = "Q0E="
        webhook |= {"namespaceSelector": {}, "objectSelector": {}, "reinvocationPolicy": "Never"}
    if constraints := found.get("spec", {}).get("matchConstraints"):
        constraints |= {"namespaceSelector": {}, "matchPolicy": "Equivalent"}
        constraints["resourceRules"][0]["scope"] = "*"
        found["status"] = {"observedGeneration": 1}
    return found


@pytest.mark.parametrize("guard", [POLICY, WEBHOOK])
def test_an_unchanged_admission_object_shows_no_drift(guard: dict[str, Any]) -> None:
    assert describe_drift(guard, as_served(guard)) == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("failurePolicy", "Ignore"),
        ("matchConstraints.namespaceSelector", {"matchLabels": {"a": "b"}}),
        ("matchConstraints.resourceRules[0].operations", []),
        ("matchConstraints.excludeResourceRules", [{"resources": ["*"]}]),
        ("matchConditions", [{"name": "never", "expression": "false"}]),
        ("validations[0].expression", "true"),
        ("validations", []),
        ("paramKind", {"kind": "ConfigMap"}),
    ],
)
def test_a_weakened_policy_is_reported_with_the_changed_field(path: str, value: Any) -> None:
    found = as_served(POLICY)
    *way, last = path.replace("[0]", ".0").split(".")
    at: Any = found["spec"]
    for part in way:
        at = at[int(part)] if part == "0" else at[part]
    at[last] = value
    assert describe_drift(POLICY, found) == f"it was changed: spec.{path}"


def test_a_removed_or_narrowed_webhook_is_reported() -> None:
    found = as_served(WEBHOOK)
    found["webhooks"].pop()
    assert describe_drift(WEBHOOK, found) == "it was changed: webhooks"
    found = as_served(WEBHOOK)
    found["webhooks"][1]["objectSelector"] = {"matchLabels": {"a": "b"}}
    assert describe_drift(WEBHOOK, found) == "it was changed: webhooks[1].objectSelector"


def test_a_namespace_selector_is_no_drift_for_cluster_scoped_objects() -> None:
    """Clouds add a selector to every configuration to exempt their own namespaces."""
    found = as_served(WEBHOOK)
    expression = {"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}
    for webhook in found["webhooks"]:
        webhook["namespaceSelector"] = {"matchExpressions": [expression]}
    assert describe_drift(WEBHOOK, found) == ""


def test_a_deleted_or_terminating_admission_object_is_reported() -> None:
    assert describe_drift(POLICY, None) == "it is not there"
    found = as_served(POLICY)
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert describe_drift(POLICY, found) == "it is being deleted"


def test_a_value_of_another_type_is_a_difference() -> None:
    assert find_difference({"a": [1]}, {"a": {"b": 1}}) == "a"
    assert find_difference({"a": None}, {"a": None}) == ""


class Cluster:
    """What the API server has; ``down``: it does not answer."""

    def __init__(self, *guards: dict[str, Any]) -> None:
        self.down = False
        self.found = {guard["metadata"]["name"]: as_served(guard) for guard in guards}

    async def get(self, path: str) -> bytes:
        """Answer as a client does."""
        if self.down:
            raise ServerFault("down")
        name = path.rsplit("/", 1)[-1]
        if name not in self.found:
            raise NotFound("no")
        return msgspec.json.encode(self.found[name])


class Proxy:
    """Something that answers in the API server's place."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    async def get(self, _: str) -> bytes:
        """Answer whatever is asked."""
        return self._answer


def watch(
    tmp_path: Path, cluster: Cluster | Proxy, *guards: dict[str, Any]
) -> tuple[AdmissionDriftCheck, ControllerMetrics]:
    """Return a watch of a file with these guards, and what it counts."""
    file = tmp_path / "guards.json"
    file.write_bytes(msgspec.json.encode(guards))
    metrics = ControllerMetrics.new("g")
    return AdmissionDriftCheck(cluster, str(file), metrics), metrics  # type: ignore[arg-type]


def missing(metrics: ControllerMetrics) -> dict[str, float]:
    """Return what Prometheus is told, by guard."""
    family = next(iter(metrics.guards_missing.collect()))
    return {sample.labels["guard"]: sample.value for sample in family.samples}


def test_the_metric_follows_the_deletion_and_return_of_an_admission_object(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(POLICY, WEBHOOK)
    guards, metrics = watch(tmp_path, cluster, POLICY, WEBHOOK)
    crd, webhook = (
        "ValidatingAdmissionPolicy lnamespace-crd",
        "MutatingWebhookConfiguration lnamespace-webhook",
    )
    asyncio.run(guards.compare())
    assert missing(metrics) == {crd: 0, webhook: 0}
    kept = cluster.found.pop("lnamespace-crd")
    for _ in range(2):
        asyncio.run(guards.compare())
        assert missing(metrics) == {crd: 1, webhook: 0}
    assert [record.message for record in caplog.records] == ["a guard is missing"]
    cluster.down = True
    with pytest.raises(ServerFault):
        asyncio.run(guards.compare())
    assert missing(metrics) == {crd: 1, webhook: 0}
    cluster.down = False
    cluster.found["lnamespace-crd"] = kept
    asyncio.run(guards.compare())
    assert missing(metrics) == {crd: 0, webhook: 0}


def test_an_admission_object_disabled_by_the_values_is_not_missing(tmp_path: Path) -> None:
    cluster = Cluster(WEBHOOK)
    guards, metrics = watch(tmp_path, cluster, POLICY, WEBHOOK)
    asyncio.run(guards.compare())
    (tmp_path / "guards.json").write_bytes(msgspec.json.encode([WEBHOOK]))
    asyncio.run(guards.compare())
    assert missing(metrics) == {"MutatingWebhookConfiguration lnamespace-webhook": 0}


def test_the_chart_lists_every_template_with_an_admission_object() -> None:
    templates = Path(__file__).parents[2] / "charts" / "lnamespace" / "templates"
    helpers = (templates / "_helpers.tpl").read_text()
    line = next(line for line in helpers.splitlines() if "range $file := list" in line)
    kinds = ("kind: ValidatingAdmissionPolicy", "kind: MutatingWebhook", "lnamespace.policyBinding")
    for file in templates.glob("*.yaml"):
        if any(kind in file.read_text() for kind in kinds):
            assert f'"{file.stem}"' in line, file.name


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b'{"metadata":null}',
        b'{"metadata":"x"}',
        b'{"spec":' + b'{"a":' * 100_000,
    ],
)
def test_no_answer_of_the_api_server_ends_the_process(tmp_path: Path, answer: bytes) -> None:
    """The comparison runs as a task of the leader, so its exception would end the leader."""
    guards, _ = watch(tmp_path, Proxy(answer), POLICY)

    async def for_a_moment() -> None:
        await asyncio.wait_for(guards.run(), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(for_a_moment())
