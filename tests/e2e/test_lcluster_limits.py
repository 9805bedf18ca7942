"""A limit of LClusters per requester, which nobody wins by being quick.

Its controller knows the limit; its webhook does not, unless a test says
so: what passes the webhook is the controller's to decide.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.support.api import NAMESPACES, Api, Object, ns_path, refusal, unless
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.gateway import LCLUSTERS
from tests.e2e.support.instances import Instance
from tests.e2e.support.people import People
from tests.e2e.support.processes import Controller, Webhook
from tests.e2e.support.tenants import condition
from tests.e2e.support.waiting import eventually
from tests.e2e.support.writes import KINDS, quiet_writes

LIMIT = 3
LIMITED = {"LNAMESPACE_LCLUSTERS": "yes", "LNAMESPACE_LCLUSTER_LIMIT_PER_REQUESTER": str(LIMIT)}
UNLIMITED = {"LNAMESPACE_LCLUSTERS": "yes"}


@pytest.fixture(scope="module")
def cluster(lcluster_instance: Instance) -> Cluster:
    """Return a cluster with the chart, its gateway's parts and this limit."""
    return lcluster_instance.cluster


@pytest.fixture(scope="module", autouse=True)
def controller(lcluster_instance: Instance) -> Iterator[Controller]:
    """Yield the controller that knows the limit."""
    controller = lcluster_instance.another_controller("limited")
    controller.start(LIMITED)
    try:
        yield controller
    finally:
        controller.stop()
    assert controller.defect not in controller.log()


@pytest.fixture(scope="module")
def strict(lcluster_instance: Instance) -> Iterator[Webhook]:
    """Tell the webhook the limit too, from the first test that says so to the last one here."""
    webhook = lcluster_instance.webhook
    webhook.stop()
    webhook.start(LIMITED)
    yield webhook
    webhook.stop()
    webhook.start(UNLIMITED)


def path(name: str) -> str:
    return f"{LCLUSTERS}/{name}"


def manifest(name: str) -> Object:
    return {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LCluster",
        "metadata": {"name": name},
        "spec": {"billing": {"costCenter": "77"}, "managers": [{"name": "manager"}]},
    }


def told(admin: Api, names: list[str]) -> dict[str, list[str]]:
    """Return the names by the reason of their condition Ready, the oldest first."""
    found = [item for item in admin.items(LCLUSTERS) if item["metadata"]["name"] in names]
    found.sort(key=lambda it: (it["metadata"]["creationTimestamp"], it["metadata"]["name"]))
    reasons: dict[str, list[str]] = {}
    for item in found:
        reasons.setdefault(condition(item).get("reason", ""), []).append(item["metadata"]["name"])
    return reasons


def all_told(admin: Api, names: list[str], waiting: int) -> dict[str, list[str]]:
    def decided() -> dict[str, list[str]]:
        reasons = told(admin, names)
        counts = {reason: len(found) for reason, found in reasons.items()}
        assert counts == {"Ready": LIMIT, "LimitExceeded": waiting}, counts
        return reasons

    return eventually(decided)


def made(admin: Api, names: list[str]) -> set[str]:
    """Return those of which there is any Namespace."""
    found = (item["metadata"]["name"].partition("-")[0] for item in admin.items(NAMESPACES))
    return set(found) & set(names)


def remove(admin: Api, names: list[str]) -> None:
    for name in names:
        admin.remove(path(name))
    eventually(lambda: not any(admin.find(path(name)) for name in names))


def test_ten_concurrent_creations_do_not_exceed_the_limit_of_three(
    controller: Controller, people: People, admin: Api
) -> None:
    person = people.person("greedy")
    names = [f"greedy{number}" for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        for creation in [pool.submit(person.api.create, LCLUSTERS, manifest(n)) for n in names]:
            creation.result()
    reasons = all_told(admin, names, waiting=7)
    assert made(admin, names) == set(reasons["Ready"])
    waiting = admin.get(path(reasons["LimitExceeded"][0]))
    assert condition(waiting)["message"].startswith(
        'exceeded limit: "greedy" has 3 of 3 LClusters; delete one that is no longer needed'
    )
    assert "finalizers" not in waiting["metadata"]
    # A restart changes nothing and writes nothing.
    kinds = KINDS | {"lclusters", "services", "endpoints", "endpointslices"}
    before = quiet_writes(admin, kinds=kinds)
    controller.stop()
    controller.start(LIMITED)
    assert quiet_writes(admin, kinds=kinds) == before
    assert told(admin, names) == reasons
    # One that goes makes room for the oldest, and for that alone.
    gone, following = reasons["Ready"][0], reasons["LimitExceeded"][0]
    admin.delete(path(gone))
    eventually(lambda: following in told(admin, names).get("Ready", ()))
    ready = {*reasons["Ready"][1:], following}
    assert set(all_told(admin, names, waiting=6)["Ready"]) == ready == made(admin, names)
    # A lower limit takes nothing away.
    controller.stop()
    controller.start(LIMITED | {"LNAMESPACE_LCLUSTER_LIMIT_PER_REQUESTER": "1"})
    first, *_, last = all_told(admin, names, waiting=6)["LimitExceeded"]
    eventually(lambda: "has 3 of 1" in condition(admin.get(path(last)))["message"])
    admin.delete(path(first))
    assert set(all_told(admin, names, waiting=5)["Ready"]) == ready
    controller.stop()
    controller.start(LIMITED)
    remove(admin, names)


@pytest.mark.usefixtures("strict")
def test_the_webhook_refuses_creations_over_the_limit(people: People, admin: Api) -> None:
    person = people.person("early")
    names = [f"early{number}" for number in range(LIMIT)]
    for name in names:
        person.api.create(LCLUSTERS, manifest(name))

    def refused() -> str:
        answer = person.kubectl("create", "lcluster", "earlymore", "--dry-run=server")
        return answer.err if answer.code else ""

    words = eventually(refused)
    assert words.startswith(
        'The LCluster "earlymore" is invalid: spec.requester: Forbidden: exceeded limit: "early" '
        "has 3 of 3 LClusters; delete one that is no longer needed (see: kubectl get lc), or ask"
    ), words
    full = 'exceeded limit: "early" has 3 of 3 LClusters'
    assert full in refusal(person.api.create, LCLUSTERS, manifest("earlymore"), status=422)
    # Nor by a ServiceAccount of what they have.
    eventually(lambda: admin.find(ns_path("early0-default")))
    robot = admin.acting("system:serviceaccount:early0-default:robot")
    assert full in refusal(robot.create, LCLUSTERS, manifest("earlymore"), status=422)
    assert admin.find(path("earlymore")) is None
    remove(admin, names[:1])
    eventually(lambda: not refused())
    remove(admin, names)


@pytest.mark.thorough
@pytest.mark.usefixtures("strict")
def test_the_service_accounts_of_a_namespace_count_together(admin: Api) -> None:
    names = [f"robots{number}" for number in range(LIMIT)]
    for name in names:
        bot = admin.acting(f"system:serviceaccount:kube-public:{name}")
        bot.create(LCLUSTERS, manifest(name))
    another = admin.acting("system:serviceaccount:kube-public:another")

    eventually(
        lambda: not unless("Invalid", another.create, LCLUSTERS, manifest("r1"), dryRun="All")
    )
    told = refusal(another.create, LCLUSTERS, manifest("robotsmore"), status=422)
    assert 'exceeded limit: "system:serviceaccounts:kube-public" has 3 of 3 LClusters' in told
    remove(admin, names)
