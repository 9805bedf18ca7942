"""What breaks is mended, and what should be is: on a cluster that is killed here."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest

from tests.e2e.support.api import (
    CONFIGURATIONS,
    CRD,
    GROUP,
    LNAMESPACES,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    Unreachable,
    ns_path,
    rbac_path,
)
from tests.e2e.support.cluster import (
    RELEASE_NAMESPACE,
    SERVICE_ACCOUNT,
    WEBHOOK_ACCOUNT,
    Cluster,
)
from tests.e2e.support.people import Who, user
from tests.e2e.support.rights import Deed, Rights
from tests.e2e.support.tenants import Tenants, ending, group, manifest, service_account, soon
from tests.e2e.support.waiting import PATIENCE, Measurements, eventually, measured
from tests.e2e.support.writes import writes

_BINDING = (
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/lnamespace-lnamespaces"
)
MARKED = {"labelSelector": "app.kubernetes.io/managed-by=lnamespace"}


@pytest.fixture(scope="module")
def cluster(crashing_cluster: Cluster) -> Cluster:
    """Return the cluster whose parts die."""
    return crashing_cluster


def spec(number: int) -> dict[str, Any]:
    """Lists of one each; a sudoer is shared by several LNamespaces."""
    sudoer = f"sudoer-{number % 25}"
    return {"users": [f"user-{number}"], "managers": [f"manager-{number}"], "sudoers": [sudoer]}


def everybody_has_their_rights(rights: Rights, names: list[str]) -> None:
    """Wait until those who are listed have their rights, and their neighbours have not."""

    def as_listed(number: int, name: str) -> bool:
        assert rights.works(user(f"user-{number}"), name), f"user-{number}"
        assert rights.edits(user(f"manager-{number}"), name), f"manager-{number}"
        assert rights.sudoes(user(f"sudoer-{number % 25}"), name), f"sudoer-{number % 25}"
        assert not rights.works(user(f"user-{number + 1}"), name), f"user-{number + 1}"
        assert not rights.sudoes(user(f"sudoer-{(number + 1) % 25}"), name), f"after {number}"
        return True

    def check(number: int, name: str) -> None:
        eventually(partial(as_listed, number, name), what=f"{name} is not as listed")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, range(len(names)), names))


def has_all(rights: Rights, who: Who, name: str) -> bool:
    """Return whether somebody has what all three lists give."""
    return all(may(who, name) for may in (rights.works, rights.edits, rights.sudoes))


def has_none(rights: Rights, who: Who, name: str) -> bool:
    """Return whether somebody has nothing of what the lists give."""
    return not any(may(who, name) for may in (rights.works, rights.edits, rights.sudoes))


@pytest.mark.thorough
def test_a_controller_killed_during_forty_creations_completes_all(
    cluster: Cluster, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    names = [tenants.name("many") for _ in range(40)]
    killed = threading.Event()

    def count(kind: str) -> int:
        return len(admin.items(kind, **MARKED))

    def make(number: int) -> None:
        if number >= 30:  # else it could be late on a busy machine
            killed.wait(PATIENCE)
        tenants.create(names[number], **spec(number))

    with ThreadPoolExecutor(4) as pool:
        made = pool.map(make, range(len(names)))
        eventually(lambda: count(NAMESPACES) >= 10)
        cluster.controller.kill()
        killed.set()
        list(made)
    assert count(NAMESPACES) < len(names)
    cluster.controller.start()
    tenants.all_ready(names)
    everybody_has_their_rights(rights, names)
    assert count(NAMESPACES) == 40
    assert count(rbac_path("rolebindings")) == 80
    for kind in ("clusterroles", "clusterrolebindings"):
        assert count(rbac_path(kind)) == 80 + 25


@pytest.mark.thorough
@pytest.mark.parametrize("daemon", ["kube-apiserver", "etcd"])
def test_changes_survive_a_crash_of_the_api_server_or_etcd_under_load(
    daemon: str, cluster: Cluster, tenants: Tenants, rights: Rights, measurements: Measurements
) -> None:
    names = [tenants.name("load") for _ in range(60)]
    started = threading.Semaphore(0)

    def make(number: int) -> None:
        _persistently(lambda: tenants.create(names[number], **spec(number)))
        started.release()
        _persistently(lambda: tenants.edit(names[number], **spec(number + 1)))
        _persistently(lambda: tenants.edit(names[number], **spec(number)))

    with ThreadPoolExecutor(4) as pool:
        made = pool.map(make, range(len(names)))
        for _ in range(15):
            assert started.acquire(timeout=PATIENCE)
        cluster.kill(daemon)
        cluster.up()
        list(made)
        took = measured(partial(_all_ready, tenants, names))
    measurements.note(f"{daemon} back and all edits made, all Ready", took)
    everybody_has_their_rights(rights, names)
    assert cluster.controller.running


def _all_ready(tenants: Tenants, names: list[str]) -> bool:
    tenants.all_ready(names)
    return True


def _persistently(request: Callable[[], object]) -> None:
    """Repeat a request until it was done, as a client does that knows servers may die."""

    def done() -> bool:
        try:
            request()
        except Unreachable:
            return False
        except ApiError as error:
            # Done before the answer got lost; or the server is not yet itself again.
            if error.reason == "AlreadyExists":
                return True
            if error.status in (401, 403, 404, 409, 429) or error.status >= 500:
                return False
            raise
        return True

    eventually(done, 2 * PATIENCE, tick=0.1)


def test_changes_missed_while_the_watch_was_cut_are_reconciled(
    cluster: Cluster, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    """The API server forgets what happened before it was started: 410 for whoever asks."""
    lists: dict[str, Any] = {field: ["was"] for field in ("users", "managers", "sudoers")}
    deleted, edited, bare = (tenants.make("missed", **lists) for _ in range(3))
    was, new = user("was"), user("new")
    eventually(lambda: all(rights.sudoes(was, name) for name in (deleted, edited, bare)))
    since = cluster.controller.position
    with _held(cluster):
        tenants.delete(deleted)
        tenants.edit(edited, users=["new"], managers=[], sudoers=["new"])
        for binding in ("lnamespace-users", "lnamespace-sudoers"):
            admin.delete(rbac_path("rolebindings", binding, bare))
        admin.delete(rbac_path("clusterroles", f"lnamespace:{bare}:editor"))
        created = tenants.name("missed")
        tenants.create(created, **lists)
        cluster.kill("kube-apiserver")
        cluster.up()
    eventually(lambda: "listing again" in cluster.controller.log(since))
    tenants.all_ready((edited, bare, created))
    # What is made good does not show in a status that was well before.
    for name in (bare, created):
        eventually(partial(has_all, rights, was, name))
    eventually(lambda: rights.works(new, edited))
    for name in (edited, deleted):
        eventually(partial(has_none, rights, was, name))
    eventually(lambda: admin.find(ns_path(deleted)) is None, 240)


def test_the_last_sudo_is_revoked_if_its_deletion_was_missed_by_the_watch(
    cluster: Cluster, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.make("last", sudoers=["lone"])
    eventually(lambda: rights.sudoes(user("lone"), name))
    with _held(cluster):
        tenants.delete(name)
        cluster.kill("kube-apiserver")
        cluster.up()
    eventually(lambda: not rights.sudoes(user("lone"), name))
    eventually(lambda: _own(cluster.admin, "lone") == 0)


def _own(admin: Api, person: str) -> int:
    annotation = "tenancy.loblaw.digital/person"
    roles = admin.items(rbac_path("clusterroles"), **MARKED)
    return sum(item["metadata"].get("annotations", {}).get(annotation) == person for item in roles)


@contextmanager
def _held(cluster: Cluster) -> Iterator[None]:
    cluster.controller.hold()
    try:
        yield
    finally:
        cluster.controller.release()


def test_revocation_does_not_wait_for_the_garbage_collector(
    cluster: Cluster, tenants: Tenants, rights: Rights, measurements: Measurements, admin: Api
) -> None:
    who = user("leaves")
    lists = {field: ["leaves"] for field in ("users", "managers", "sudoers")}
    name = tenants.make("uncollected", **lists)
    eventually(lambda: rights.sudoes(who, name))
    cluster.kill("kube-controller-manager")
    try:
        tenants.delete(name)
        took = measured(partial(has_none, rights, who, name))
        measurements.note("LNamespace deleted, all rights gone, no collector", took)
        assert admin.find(ns_path(name))
    finally:
        cluster.up()


def test_broken_lnamespaces_do_not_delay_other_lnamespaces(
    tenants: Tenants, rights: Rights, admin: Api, measurements: Measurements
) -> None:
    broken = [tenants.name("broken") for _ in range(40)]
    for number, name in enumerate(broken):
        if number % 2:
            admin.create(NAMESPACES, {"metadata": {"name": name}})
        nowhere = service_account(f"nowhere-{number}", "bot")
        tenants.create(name, users=["una"], sudoers=["una", nowhere])
    for number in range(10):
        name = tenants.name("whole")
        tenants.create(name, **spec(number))
        took = measured(partial(tenants.ready, name, 0))
        measurements.note("created to Ready beside 40 broken ones", took)
    for number, name in enumerate(broken):
        tenants.unready(name, "Conflict" if number % 2 else "SudoNotReady")
    eventually(lambda: rights.works(user("una"), broken[0]))
    assert not rights.works(user("una"), broken[1])


# --- admission bypassed, and the chart uninstalled


@pytest.fixture
def lax(admin: Api) -> Iterator[None]:
    """No webhook, no policy about LNamespaces, and a definition relieved of its rules."""
    strict = admin.get(CRD)
    nonsense = manifest("kube-nonsense", users=[ending("x", soon(1)) | {"expiresAt": "never"}])
    with ExitStack() as stack:
        for path in (*CONFIGURATIONS, _BINDING):
            stack.enter_context(_without(admin, path))
        admin.patch(CRD, {"spec": {"versions": _without_rules(strict["spec"]["versions"])}})
        eventually(lambda: _taken(admin, nonsense))
        yield
        admin.patch(CRD, {"spec": {"versions": strict["spec"]["versions"]}})
        eventually(lambda: not _taken(admin, nonsense))
    eventually(lambda: _stamped(admin))


@contextmanager
def _without(admin: Api, path: str) -> Iterator[None]:
    """Take an object of the chart's away for a while."""
    whole = admin.get(path)
    admin.delete(path)
    yield
    for own in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        whole["metadata"].pop(own, None)
    admin.create(path.rpartition("/")[0], whole)


def _taken(admin: Api, lns: Object) -> bool:
    try:
        admin.create(LNAMESPACES, lns, dryRun="All")
    except ApiError:
        return False
    return True


def _stamped(admin: Api) -> bool:
    """Return whether the webhook is asked again, and nobody objects."""
    body = manifest("stamped-again", managers=["x"])
    try:
        made = admin.create(LNAMESPACES, body, dryRun="All")
    except ApiError:
        return False
    return bool(made["spec"].get("requester"))


def _without_rules(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_rules(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    rules = {"x-kubernetes-validations", "pattern", "format", "maxLength"}
    return {key: _without_rules(value) for key, value in schema.items() if key not in rules}


@pytest.mark.usefixtures("lax")
def test_the_controller_rejects_invalid_lnamespaces_without_admission(
    tenants: Tenants, rights: Rights, admin: Api
) -> None:
    before = {name: admin.get(ns_path(name)) for name in ("default", "kube-system")}
    for name, namespace in before.items():
        tenants.create(name, users=["eve"], sudoers=["eve"])
        tenants.unready(name, "ReservedName")
        assert admin.get(ns_path(name)) == namespace
        assert not rights.works(user("eve"), name)
        assert not rights.may(user("eve"), Deed("impersonate", "groups", name=f"{name}-sudoers"))
        tenants.delete(name)

    name = tenants.name("bypassed")
    masters, everybody = group("system:masters"), group("system:authenticated")
    tenants.create(name, users=["una", masters, everybody, "*"], sudoers=["sue", group("g")])
    told = tenants.unready(name, "InvalidSubject")["status"]["conditions"][0]["message"]
    assert "spec.users[1]" in told
    assert "a Group cannot be a sudoer" in told
    eventually(lambda: rights.works(user("una"), name) and rights.sudoes(user("sue"), name))
    assert not rights.works(user("anybody"), name)
    bound = admin.get(rbac_path("rolebindings", "lnamespace-users", name))["subjects"]
    assert [subject["name"] for subject in bound] == ["una"]


@pytest.mark.usefixtures("lax")
def test_an_unreadable_spec_is_reported_and_revokes_no_access(
    cluster: Cluster, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.make("unreadable", users=["una"], sudoers=["sue"])
    eventually(lambda: rights.sudoes(user("sue"), name))
    status = tenants.get(name)["status"]
    tenants.edit(name, users=["una", {"name": "bob", "expiresAt": "never"}])
    told = tenants.unready(name, "InvalidSpec")["status"]
    assert "spec.users[1].expiresAt" in told["conditions"][0]["message"]
    assert told["namespaceUID"] == status["namespaceUID"]
    eventually(lambda: rights.works(user("una"), name))
    assert not rights.works(user("bob"), name)
    assert rights.sudoes(user("sue"), name)
    # After a restart nobody knows whom it listed.
    cluster.controller.stop()
    cluster.controller.start()
    tenants.make("readable", users=["una"])
    assert rights.sudoes(user("sue"), name)
    tenants.edit(name, users=["bob"])
    tenants.ready(name)
    eventually(lambda: rights.works(user("bob"), name) and not rights.works(user("una"), name))
    assert rights.sudoes(user("sue"), name)
    tenants.edit(name, sudoers=[])
    eventually(lambda: not rights.sudoes(user("sue"), name))


@pytest.mark.thorough
def test_access_and_namespaces_survive_uninstall_and_reinstall(
    cluster: Cluster, tenants: Tenants, rights: Rights
) -> None:
    name = tenants.make("outlives", users=["una"], managers=["una"], sudoers=["una"])
    crd = f"lnamespaces.{GROUP}"
    refused = cluster.run("kubectl", "delete", "crd", crd, "--timeout=5s").refused()
    assert "it would delete every LNamespace" in refused
    eventually(lambda: rights.sudoes(user("una"), name) and rights.works(user("una"), name))
    uid = tenants.get(name)["status"]["namespaceUID"]
    for process in reversed(cluster.ours):
        process.stop()
    cluster.run("helm", "uninstall", "lnamespace", "-n", RELEASE_NAMESPACE, "--wait").ok()
    refused = cluster.run("kubectl", "delete", "crd", crd, "--timeout=5s").refused()
    assert "it would delete every LNamespace" in refused
    assert rights.works(user("una"), name)
    cluster.install()
    start = writes(cluster.admin, refused=False)
    cluster.token(RELEASE_NAMESPACE, WEBHOOK_ACCOUNT)  # the accounts are new ones
    cluster.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT)
    cluster.webhook.start()
    cluster.controller.start()
    tenants.edit(name, users=["ben"])
    tenants.ready(name)
    assert tenants.get(name)["status"]["namespaceUID"] == uid
    eventually(lambda: rights.works(user("ben"), name) and not rights.works(user("una"), name))
    assert rights.sudoes(user("una"), name)
    written = writes(cluster.admin, refused=False) - start
    assert [key for key in written if key[0] == "POST"] == []
