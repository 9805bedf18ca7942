"""Whether the API server reaches the webhook, as `helm test` asks in a pod."""

import json
from pathlib import Path

import yaml

from tests.e2e.support.api import CONFIGURATIONS, JSON_PATCH, LNAMESPACES, Api, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import Result
from tests.e2e.support.instances import CHART
from tests.e2e.support.processes import answers
from tests.e2e.support.waiting import eventually


def hooks(cluster: Cluster) -> list[Object]:
    """Return what `helm test` makes."""
    words = ("helm", "template", "lnamespace", str(CHART), "--kube-version=1.36.3")
    made = cluster.run(*words, "--show-only=templates/test.yaml", "-n", "default").ok()
    return list(yaml.safe_load_all(made))


def test_the_check_gets_the_webhooks_answer_and_stores_nothing(
    cluster: Cluster, admin: Api
) -> None:
    """With the rights that the chart gives the pod, and as its ServiceAccount."""
    *before, pod = hooks(cluster)
    text = yaml.safe_dump_all(before)
    cluster.run("kubectl", "apply", "-f", "-", stdin=text).ok()
    try:
        account = pod["spec"]["serviceAccountName"]
        done = check(cluster, cluster.token("default", account))
        assert "The webhook answers the API server." in done.ok()
        stored = [item["metadata"]["name"] for item in admin.items(LNAMESPACES)]
        assert not [name for name in stored if name.startswith("check-")]
    finally:
        cluster.run("kubectl", "delete", "-f", "-", stdin=text).ok()


def test_the_check_reports_a_missing_instance(cluster: Cluster) -> None:
    kubeconfig = Path(cluster.environment["KUBECONFIG"])
    told = check(cluster, kubeconfig, "LNAMESPACE_API_GROUP_SUFFIX=nowhere.example.com").refused()
    assert "this cluster has no LNamespaces of tenancy.nowhere.example.com" in told


def test_the_check_reports_an_unreachable_webhook(cluster: Cluster, admin: Api) -> None:
    """Another port than the webhook's, where nobody answers."""
    found = admin.get(CONFIGURATIONS[0])
    clients = [entry["clientConfig"]["url"] for entry in found["webhooks"]]
    admin.patch(CONFIGURATIONS[0], moved(["https://127.0.0.1:1/mutate"] * len(clients)), JSON_PATCH)
    try:
        told = check(cluster, Path(cluster.environment["KUBECONFIG"])).refused()
        assert "failed calling webhook" in told
        assert "docs/install.md" in told
    finally:
        admin.patch(CONFIGURATIONS[0], moved(clients), JSON_PATCH)
        # It is asked there a moment later, which is not for the next test to find out.
        eventually(lambda: answers(admin))


def moved(urls: list[str]) -> list[Object]:
    """Return what has the API server ask elsewhere."""
    return [
        {"op": "replace", "path": f"/webhooks/{i}/clientConfig/url", "value": url}
        for i, url in enumerate(urls)
    ]


def check(cluster: Cluster, kubeconfig: Path, *variables: str) -> Result:
    """Run the command of the pod."""
    command = next(item for item in hooks(cluster) if item["kind"] == "Pod")
    words = command["spec"]["containers"][0]["command"]
    assert json.dumps(words) == '["lnamespace", "check"]'
    return cluster.run("env", *variables, *words, "--kubeconfig", str(kubeconfig))
