"""A webhook that is dead or hangs: only what it may refuse waits for it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from tests.e2e.support.api import (
    CONFIGURATIONS,
    GROUP,
    LNAMESPACES,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
)
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.collector import wait_for_collector
from tests.e2e.support.people import AUTHENTICATED, Person, Who, user
from tests.e2e.support.processes import START, Webhook, answers, yet_to_answer
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, ending, manifest, soon
from tests.e2e.support.waiting import Measurements, eventually, measured

OLDER = f"/apis/{GROUP}/v1alpha1/lnamespaces"
NO_ANSWER = 'failed calling webhook "people.lnamespace-webhook.tenancy.loblaw.digital"'
EVERYTHING: dict[str, Any] = {field: ["alice"] for field in ("users", "managers", "sudoers")}


@pytest.fixture(scope="module")
def names(tenants: Tenants, rights: Rights, alice: Person) -> Iterator[str]:
    """LNamespaces of Alice's, as many as are asked for, from a time when the webhook was alive."""
    made = [tenants.make("dead-webhook", **EVERYTHING) for _ in range(9)]
    for name in made:
        eventually(partial(is_everything, rights, alice, name))
    return iter(made)


def is_everything(rights: Rights, who: Person, name: str) -> bool:
    """Return whether they are a user, a manager and a sudoer, in the authorizer's eyes too."""
    return (
        rights.works(who.who, name)
        and rights.edits(who.who, name)
        and rights.sudoes(who.who, name)
        and rights.edits(who.who.sudo(name), name)
    )


@pytest.fixture(scope="module")
def older(tenants: Tenants, rights: Rights, alice: Person) -> str:
    """One that was written in the older version, which its managedFields tell."""
    name = tenants.name("dead-webhook-old")
    body = manifest(name, **EVERYTHING) | {"apiVersion": f"{GROUP}/v1alpha1"}
    alice.api.create(OLDER, body, fieldManager="an-old-tool")
    fields = tenants.ready(name)["metadata"]["managedFields"]
    assert f"{GROUP}/v1alpha1" in {entry["apiVersion"] for entry in fields}
    eventually(lambda: is_everything(rights, alice, name))
    return name


@pytest.fixture(scope="module")
def dead(cluster: Cluster, names: Iterator[str], older: str) -> Iterator[Webhook]:
    """Yield the webhook, killed; afterwards it is alive again."""
    del names, older  # made before
    cluster.webhook.kill()
    try:
        yield cluster.webhook
    finally:
        if not cluster.webhook.running:
            cluster.webhook.start()


@pytest.mark.usefixtures("dead")
def test_only_lnamespace_writes_fail_and_the_error_names_the_webhook(
    names: Iterator[str], alice: Person, admin: Api, tenants: Tenants
) -> None:
    name = next(names)
    before = tenants.get(name)
    soon_gone = ending("alice", soon(3600))
    changes: tuple[Object, ...] = (
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"labels": {"a": "b"}}, "spec": {"users": []}},
        {"metadata": {"finalizers": ["example.com/a"]}, "spec": {"users": []}},
        {"spec": {"sudoers": []}},
        {"spec": {"users": [], "deletionProtection": True}},
        {"spec": {"users": [], "billing": {"team": "red"}}},
        {"spec": {"users": [], "billing": None}},
        {"spec": {"users": [*before["spec"]["users"], {"name": "bob"}]}},
        {"spec": {"users": [{"name": "alice", "kind": "Group"}]}},
        {"spec": {"users": [soon_gone]}},
    )
    for change in changes:
        for api in (alice.api, alice.sudo(name)):
            assert NO_ANSWER in refusal(api.patch, lns_path(name), change, status=500)
    assert NO_ANSWER in refusal(alice.api.create, LNAMESPACES, manifest("no"), status=500)
    told = refusal(admin.create, LNAMESPACES, manifest("no"), status=500)
    assert 'failed calling webhook "administrators-create.lnamespace-webhook.' in told
    for command in (("create", "lns", "no"), ("lns", "grant", name, "--user", "bob")):
        said = alice.kubectl(*command).refused()
        assert "lnamespace-webhook" in said
        assert "All else works as before" in said
    assert tenants.get(name) == before


@pytest.mark.usefixtures("dead")
def test_reads_and_writes_of_other_objects_succeed(
    names: Iterator[str], alice: Person, admin: Api
) -> None:
    name = next(names)
    admin.create(NAMESPACES, {"metadata": {"name": f"{name}-other"}})
    admin.delete(ns_path(f"{name}-other"))
    deployment = ("create", "deployment", "web", "--image=web", "-n", name)
    alice.kubectl(*deployment).ok()
    alice.kubectl("create", "configmap", "c", "-n", name).ok()
    alice.kubectl("sudo", "-n", name, "create", "quota", "small", "--hard=pods=3").ok()
    alice.kubectl("label", "deployment", "web", "a=b", "-n", name).ok()
    assert name in alice.kubectl("get", "lns").ok()
    assert name in alice.kubectl("lns", "list").ok()
    assert "alice" in alice.kubectl("get", "lns", name, "-o", "yaml").ok()


@pytest.mark.usefixtures("dead")
def test_the_controller_continues_to_reconcile(
    names: Iterator[str], alice: Person, admin: Api, tenants: Tenants, rights: Rights
) -> None:
    name = next(names)
    binding = rbac_path("rolebindings", "lnamespace-users", name)
    admin.delete(binding)
    eventually(partial(admin.find, binding))
    # Who repairs what it is about meets no webhook; and what an administrator writes comes true.
    tenants.edit(name, users=["alice", ending("brief", soon(3600))])
    eventually(lambda: rights.works(user("brief"), name))
    end = soon(2)
    tenants.edit(name, users=["alice", ending("brief", end)])
    eventually(lambda: not rights.works(user("brief"), name))
    assert datetime.now(UTC) >= end
    assert is_everything(rights, alice, name)
    tenants.edit(name, users=[], sudoers=[], managers=[])
    tenants.ready(name)
    every = (rights.works, rights.edits, rights.sudoes)
    eventually(lambda: not any(has(alice.who, name) for has in every))


@pytest.mark.usefixtures("dead")
def test_users_can_be_revoked_without_the_webhook(
    names: Iterator[str], alice: Person, admin: Api, rights: Rights
) -> None:
    """A revocation is never refused: it needs no answer, and does not wait for one."""
    name = next(names)
    alice.kubectl("lns", "revoke", name, "--user", "alice").ok()
    assert not rights.works(alice.who, name)
    assert not admin.get(lns_path(name))["spec"].get("users")
    older = f"{OLDER}/{name}"
    told = refusal(alice.api.patch, older, {"metadata": {"labels": {"a": "c"}}}, status=500)
    assert "conversion webhook" in told


@pytest.mark.usefixtures("dead")
def test_an_administrator_can_edit_lnamespaces_without_the_webhook(
    names: Iterator[str], cluster: Cluster, tenants: Tenants
) -> None:
    name = next(names)
    patch = '{"spec":{"managers":[{"kind":"User","name":"bob"}]}}'
    cluster.run("kubectl", "patch", "lns", name, "--type=merge", "-p", patch).ok()
    assert [entry["name"] for entry in tenants.ready(name)["spec"]["managers"]] == ["bob"]
    cluster.run("kubectl", "lns", "grant", name, "--user", "carol").ok()
    cluster.run("kubectl", "label", "lns", name, "a=b").ok()
    tenants.ready(name)


@pytest.mark.usefixtures("dead")
@pytest.mark.parametrize(
    "cascade",
    [
        "foreground",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("background", "orphan")),
    ],
)
def test_deletion_does_not_need_the_webhook(
    cascade: str, names: Iterator[str], alice: Person, admin: Api
) -> None:
    name = next(names)
    if cascade == "orphan":
        wait_for_collector(admin)
    alice.kubectl("delete", "lns", name, f"--cascade={cascade}", "--wait=false").ok()
    eventually(lambda: admin.find(lns_path(name)) is None, 240)
    if cascade == "orphan":
        assert admin.find(ns_path(name))
        admin.delete(ns_path(name))
    eventually(lambda: admin.find(ns_path(name)) is None, 240)


@pytest.mark.usefixtures("dead")
def test_an_lnamespace_stored_in_the_older_version_can_be_edited_and_deleted(
    older: str, admin: Api, tenants: Tenants, alice: Person, rights: Rights
) -> None:
    told = refusal(admin.get, f"{OLDER}/{older}", status=500)
    assert "conversion webhook for tenancy.loblaw.digital" in told
    assert tenants.get(older)["spec"]["requester"] == "alice"
    tenants.edit(older, users=["bob"])
    tenants.ready(older)  # its status could be written
    eventually(lambda: rights.works(user("bob"), older) and not rights.works(alice.who, older))
    alice.kubectl("delete", "lns", older, "--cascade=foreground", "--wait=false").ok()
    eventually(lambda: admin.find(lns_path(older)) is None, 240)


def test_a_restarted_webhook_admits_edits_and_converts_versions(
    dead: Webhook, names: Iterator[str], alice: Person, admin: Api, measurements: Measurements
) -> None:
    name = next(names)
    dead.launch()
    change = {"metadata": {"annotations": {"back": "again"}}}
    measurements.note(
        "webhook started, until an edit passes",
        measured(lambda: _passes(alice.api, name, change), START),
    )
    assert alice.api.get(f"{OLDER}/{name}")["spec"]["requester"]
    eventually(lambda: answers(admin))


def _passes(api: Api, name: str, change: dict[str, Any]) -> bool:
    try:
        api.patch(lns_path(name), change)
    except ApiError as error:
        if not yet_to_answer(error):
            raise
        return False
    return True


def test_a_hanging_webhook_delays_a_request_for_5_seconds_at_most(
    webhook: Webhook,
    tenants: Tenants,
    rights: Rights,
    alice: Person,
    admin: Api,
    measurements: Measurements,
) -> None:
    """By the chart the API server waits 5 s for each webhook; by its own default twice that.

    What it waited is measured; for how long it was to wait is in its words and configurations.
    """
    entries = [entry for path in CONFIGURATIONS for entry in admin.get(path)["webhooks"]]
    waits = [entry["timeoutSeconds"] for entry in entries]
    assert max(waits) == 5
    name = tenants.make("hanging", **EVERYTHING)
    eventually(lambda: is_everything(rights, alice, name))
    webhook.hold()
    try:
        change = {"metadata": {"annotations": {"a": "b"}}}
        patch = partial(refusal, alice.api.patch, lns_path(name), change, status=500)
        took = measured(lambda: "timeout=5s" in patch())
        measurements.note("refused while the webhook hangs", took)
        took = measured(lambda: admin.patch(lns_path(name), change))
        measurements.note("repaired while the webhook hangs", took)
        # Whatever waited for the webhook would take as long each time.
        maps = ns_path(name, "configmaps")
        tries = [partial(alice.api.create, maps, _config_map(number)) for number in range(5)]
        assert min(map(measured, tries)) < min(waits)
        alice.api.delete(lns_path(name))
    finally:
        webhook.release()
    eventually(lambda: answers(admin))


def _config_map(number: int) -> dict[str, Any]:
    return {"metadata": {"name": f"meanwhile-{number}"}, "data": {"a": "b"}}


def test_a_policy_checks_the_requester_without_the_webhook_configuration(
    admin: Api, alice: Person, tenants: Tenants
) -> None:
    """Somebody deletes what makes the API server ask the webhook: a policy remains."""
    mutating = CONFIGURATIONS[0]
    whole = admin.get(mutating)
    name = tenants.name("unstamped")
    admin.delete(mutating)
    try:
        words = 'spec.requester must be who creates the LNamespace, "alice"'
        mine = {"managers": ["alice"]}
        create = partial(alice.api.create, LNAMESPACES)
        eventually(lambda: words in _told(create, manifest(name, **mine), dryRun="All"))
        assert "is its configuration there?" in _told(create, manifest(name, **mine))
        assert words in refusal(create, manifest(name, requester="bob", **mine))
        other = admin.acting("alice", AUTHENTICATED)
        assert words in refusal(other.create, LNAMESPACES, manifest(name, requester="bob", **mine))
    finally:
        for own in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            whole["metadata"].pop(own, None)
        admin.create(mutating.rpartition("/")[0], whole)
    eventually(lambda: _stamps(alice, name))


def _told(create: Any, body: dict[str, Any], **query: str) -> str:
    try:
        create(body, **query)
    except ApiError as error:
        return error.message
    return ""


def _stamps(who: Person, name: str) -> bool:
    try:
        made = who.api.create(LNAMESPACES, manifest(name), dryRun="All")
    except ApiError:
        return False
    return bool(made["spec"]["requester"] == Who(who.name).user)
