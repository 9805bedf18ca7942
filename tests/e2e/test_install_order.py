"""No right before its guard: while the chart is installed, changed and removed, nothing gets by.

Somebody who can log in and thieves of our three tokens ask all the time for what the webhook and
the policies refuse. The tests run in order, as one life of a release.
"""

import re
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import (
    CONFIGURATIONS,
    JSON_PATCH,
    Api,
    Object,
    ns_path,
    rbac_path,
    unless,
)
from tests.e2e.support.chart_text import parsed
from tests.e2e.support.commands import environment
from tests.e2e.support.instances import Instance
from tests.e2e.support.people import People, Person
from tests.e2e.support.probes import probe
from tests.e2e.support.processes import Controller
from tests.e2e.support.thieves import Asked, asking
from tests.e2e.support.waiting import eventually

RESERVED = "--set=reservedNames={vault}"
QUOTA = '--set-json=profiles={"default":{"resourceQuota":{"hard":{"pods":"9"}}}}'
PARTS = ("authenticated", "controller", "ledger", "webhook", "webhook-secrets")


@pytest.fixture(scope="module")
def admin(release: Instance) -> Api:
    """Return the administrator."""
    return release.cluster.admin


@pytest.fixture(scope="module")
def mallory(release: Instance) -> Person:
    """Somebody who can log in."""
    return People(release.cluster).person("mallory")


def much(asked: Asked, least: int) -> None:
    """Go on until much was asked, by everybody: how much a moment has is up to the machine."""

    def enough() -> bool:
        assert sum(list(asked.answers.values())) > least, asked.answers
        for what in ("requester", "cluster-admin", "token of another account", "record of an end"):
            assert asked.of(what) > 0, asked.answers
        return True

    eventually(enough, 240, tick=0.1)


def nothing_got_by(release: Instance, asked: Asked) -> None:
    """Nothing was accepted or stored that is not as it should be."""
    assert asked.accepted == []
    stored = release.cluster.admin.items(release.path())
    assert [item for item in stored if item["metadata"]["name"].startswith("forged-")] == []


def refused_by_policy(asked: Asked) -> bool:
    """Return whether the rights came while we asked: a policy refuses after the authorizer."""
    return asked.answers["record of another event", 422] > 0


def all_refused(asked: Asked) -> bool:
    """Ask everything three times more; whether nothing was accepted. What was before is forgotten.

    A number of seconds would not do: on a busy machine one round of all questions outlasts it.
    """
    asked.accepted.clear()
    before = {what: asked.of(what) for what, _ in list(asked.answers)}
    eventually(lambda: all(asked.of(what) >= n + 3 for what, n in before.items()), 240)
    return not asked.accepted


def guarded(release: Instance) -> set[str]:
    """Return for which parts there is a role that waits for its guards."""
    prefix = f"{release.prefix}:guarded:"
    names = [
        item["metadata"]["name"] for item in release.cluster.admin.items(rbac_path("clusterroles"))
    ]
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def works(release: Instance, mallory: Person) -> None:
    """Everybody has their rights: people create, the processes do their work."""
    release.forget()
    release.start()
    try:
        name = f"works-{len(release.cluster.admin.items(release.path()))}"
        create = partial(release.create, name, mallory.api, users=["mallory"])
        eventually(lambda: unless("Forbidden", create))
        assert release.wait(name)["spec"]["requester"] == "mallory"
    finally:
        release.stop()


def test_a_first_installation_grants_no_right_before_its_policy(
    release: Instance, mallory: Person
) -> None:
    with asking(release, mallory) as asked:
        release.install(RESERVED)
        eventually(lambda: refused_by_policy(asked), what="the ledger has no rights")
        much(asked, 1000)
    nothing_got_by(release, asked)
    assert guarded(release) == set(PARTS)
    works(release, mallory)


@pytest.mark.thorough
def test_a_reinstallation_over_kept_crds_grants_no_right_before_its_policy(
    release: Instance, admin: Api, mallory: Person
) -> None:
    with asking(release, mallory) as asked:
        release.uninstall()
        assert guarded(release) == set()
        assert admin.find(release.crd)
        release.install(RESERVED)
        eventually(lambda: refused_by_policy(asked), what="the ledger has no rights")
        much(asked, 1000)
    nothing_got_by(release, asked)
    works(release, mallory)


@pytest.mark.thorough
def test_a_reinstallation_after_a_removal_without_hooks_grants_no_early_right(
    release: Instance, mallory: Person
) -> None:
    with asking(release, mallory) as asked:
        command = ("helm", "uninstall", release.release, "-n", release.namespace)
        release.cluster.run(*command, "--no-hooks", "--wait").ok()
        assert guarded(release) == set(PARTS)
        release.install(RESERVED)
        eventually(lambda: refused_by_policy(asked), what="the ledger has no rights")
        much(asked, 1000)
    nothing_got_by(release, asked)
    works(release, mallory)


@pytest.mark.thorough
def test_upgrade_and_rollback_do_not_recreate_the_roles(
    release: Instance, admin: Api, mallory: Person
) -> None:
    before = [admin.get(role(release, part))["metadata"]["uid"] for part in PARTS]
    with asking(release, mallory) as asked:
        release.upgrade(RESERVED, "--set=authenticated.view=false")
        release.cluster.run("helm", "rollback", release.release, "-n", release.namespace).ok()
        much(asked, 300)
    nothing_got_by(release, asked)
    assert [admin.get(role(release, part))["metadata"]["uid"] for part in PARTS] == before
    works(release, mallory)


@pytest.mark.thorough
def test_the_authenticated_create_value_allows_and_forbids_creation(
    release: Instance, mallory: Person
) -> None:
    release.upgrade(RESERVED, "--set=authenticated.create=false")
    eventually(lambda: not may_create(mallory), what="people may still create")
    release.upgrade(RESERVED, QUOTA, "--set=authenticated.create=true")
    eventually(lambda: may_create(mallory), what="people may not create")


@pytest.mark.thorough
def test_a_killed_installation_grants_no_right_and_can_be_repeated(
    release: Instance, mallory: Person
) -> None:
    release.uninstall()
    with asking(release, mallory) as asked:
        killed = helm_that_is_killed(release)
        assert killed < 0
        assert guarded(release) == set()
        release.uninstall()
        release.install(RESERVED)
        eventually(lambda: refused_by_policy(asked), what="the ledger has no rights")
        much(asked, 1000)
    nothing_got_by(release, asked)
    works(release, mallory)


@pytest.mark.thorough
def test_a_reinstallation_can_switch_the_webhook_between_service_and_url(
    release: Instance, admin: Api
) -> None:
    release.uninstall()
    release.install(RESERVED, "--set=webhook.url=")
    client = admin.get(release.crd)["spec"]["conversion"]["webhook"]["clientConfig"]
    assert "url" not in client
    assert client["service"]["namespace"] == release.namespace
    release.uninstall()
    release.install(RESERVED)
    client = admin.get(release.crd)["spec"]["conversion"]["webhook"]["clientConfig"]
    assert "service" not in client
    assert client["url"].startswith(f"https://127.0.0.1:{release.port}")


@pytest.mark.thorough
def test_a_deleted_or_weakened_policy_is_reported(
    release: Instance, admin: Api, tmp_path: Path
) -> None:
    data = admin.get(ns_path(release.namespace, "configmaps", "lnamespace-controller-guards"))
    file = tmp_path / "guards.json"
    file.write_text(data["data"]["guards.json"])
    watcher = release.another_controller("guards", LNAMESPACE_GUARDS_FILE=str(file))
    watcher.start()
    try:
        # All that the API server filled in is known: on an untouched cluster nothing is missing.
        eventually(lambda: len(guards(watcher)) > 25 and not missing(watcher), what="missed")
        policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        admin.delete(f"{policies}/lnamespace-lnamespaces")
        admin.patch(CONFIGURATIONS[0], [ASKED_NEVER], JSON_PATCH)
        told = {
            "ValidatingAdmissionPolicy lnamespace-lnamespaces",
            "MutatingWebhookConfiguration lnamespace-webhook",
        }
        eventually(lambda: missing(watcher) == told)
        log = watcher.log()
        assert "it is not there" in log
        assert "it was changed: webhooks[0].objectSelector" in log
        admin.patch(CONFIGURATIONS[0], [ASKED_ALWAYS], JSON_PATCH)
        release.upgrade(RESERVED)
        eventually(lambda: not missing(watcher))
        assert "cannot be compared" not in watcher.log()
    finally:
        watcher.stop()


@pytest.mark.thorough
def test_an_installation_without_hooks_applies_roles_by_label_and_keeps_them(
    release: Instance, admin: Api, mallory: Person
) -> None:
    """With hooks, what is for a removal took all rights: it has the same names."""
    release.uninstall()
    made = release.helm("template", RESERVED, "--set=hooks=false").ok()
    with asking(release, mallory) as asked:
        apply(release, made, "--selector=app.kubernetes.io/component!=guarded-role")
        assert guarded(release) == set()
        eventually(release.guarded, what="the policies are not in force")
        eventually(lambda: all_refused(asked), 240)
        apply(release, made)
        eventually(lambda: refused_by_policy(asked), what="the ledger has no rights")
        much(asked, 1000)
    nothing_got_by(release, asked)
    works(release, mallory)
    before = [admin.get(role(release, part))["rules"] for part in PARTS]
    apply(release, made)
    assert [admin.get(role(release, part))["rules"] for part in PARTS] == before
    assert all(before)
    release.cluster.run("kubectl", "delete", "--wait", "-f", "-", stdin=uninstalled(made)).ok()


_MISSING = re.compile(r'^lnamespace_controller_guard_missing{guard="(.*)"} (\S+)$', re.MULTILINE)

ASKED_NEVER = {
    "op": "add",
    "path": "/webhooks/0/objectSelector/matchLabels",
    "value": {"nobody": "has"},
}
ASKED_ALWAYS = {"op": "remove", "path": "/webhooks/0/objectSelector/matchLabels"}


def guards(watcher: Controller) -> dict[str, float]:
    """Return what a controller says of the guards."""
    text = probe(watcher, "/metrics")[1]
    return {guard: float(value) for guard, value in _MISSING.findall(text)}


def missing(watcher: Controller) -> set[str]:
    """Return which guards are missing."""
    return {guard for guard, value in guards(watcher).items() if value}


def apply(release: Instance, made: str, *flags: str) -> None:
    """Apply what was rendered, as people do who have no Helm on the cluster's side."""
    release.cluster.run("kubectl", "apply", *flags, "-f", "-", stdin=made).ok()


def uninstalled(made: str) -> str:
    """Return what of it goes with `helm uninstall`: all but what is kept."""
    items = parsed(made)
    kept = {"helm.sh/resource-policy": "keep"}
    gone = [item for item in items if not kept.items() <= annotations(item).items()]
    return yaml.safe_dump_all(gone)


def annotations(item: Object) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = item["metadata"].get("annotations") or {}
    return found


def role(release: Instance, part: str) -> str:
    """Return where the role of a part is."""
    return rbac_path("clusterroles", f"{release.prefix}:guarded:{part}")


def may_create(mallory: Person) -> bool:
    """Return whether the authorizer lets people create LNamespaces."""
    return mallory.kubectl("auth", "can-i", "create", "lns").code == 0


def helm_that_is_killed(release: Instance) -> int:
    """Kill `helm install` when everything but the hook's roles is there; its exit code."""
    outside = ("controller.deploy=false", "ledger.deploy=false", "webhook.deploy=false")
    url = f"webhook.url=https://127.0.0.1:{release.port}"
    words = ["helm", "install", release.release, str(release.chart), "-n", release.namespace]
    words += [f"--set={value}" for value in (*outside, url)]
    process = subprocess.Popen(words, env=environment(release.cluster.environment))
    policy = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    eventually(lambda: release.cluster.admin.find(f"{policy}/{release.prefix}-webhook"))
    process.send_signal(signal.SIGKILL)
    return process.wait()
