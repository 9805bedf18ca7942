"""A limit of LNamespaces per requester, which nobody wins by being quick, at many places or twice.

On a cluster where nobody else asks for anything. What has ever been there is told by the API
server: it plays back all that its watch has seen since a moment.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.e2e.support.api import (
    LNAMESPACES,
    NAMESPACES,
    Api,
    lns_path,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, Cluster
from tests.e2e.support.people import People, Person
from tests.e2e.support.probes import metric
from tests.e2e.support.processes import Controller, Webhook
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants, condition, manifest
from tests.e2e.support.waiting import eventually, settled

LIMIT = 5
BOT = "system:serviceaccount:kube-public:bot"
VARIABLES = {
    "LNAMESPACE_LIMIT_PER_REQUESTER": str(LIMIT),
    "LNAMESPACE_LIMIT_EXCEPTIONS": json.dumps({"lnamespace-admin": 0, BOT: 1}),
}
LEASE = {"LNAMESPACE_LEASE": f"{RELEASE_NAMESPACE}/lnamespace-controller"}
REQUESTER = "tenancy.loblaw.digital/requester"


@pytest.fixture(scope="module")
def cluster(crashing_cluster: Cluster) -> Iterator[Cluster]:
    """Yield a cluster whose controller knows the limit; its webhook does if a test says so.

    With the limit in its values the chart lets the webhook count, which harms nobody afterwards.
    """
    crashing_cluster.helm("upgrade", f"--set=limitPerRequester={LIMIT}")
    crashing_cluster.controller.stop()
    crashing_cluster.controller.start(VARIABLES)
    yield crashing_cluster
    crashing_cluster.controller.stop()


@pytest.fixture(scope="module")
def strict(cluster: Cluster) -> Iterator[Webhook]:
    """Tell the webhook the limit too, from the first test that says so to the last one here."""
    cluster.webhook.stop()
    cluster.webhook.start(VARIABLES)
    yield cluster.webhook
    cluster.webhook.stop()


def spaces(admin: Api, person: Person) -> set[str]:
    """Return the Namespaces that somebody has asked for."""
    return {
        item["metadata"]["name"]
        for item in admin.items(NAMESPACES)
        if item["metadata"].get("annotations", {}).get(REQUESTER) == person.name
    }


def made(admin: Api, since: str, person: Person) -> list[str]:
    """Return all that anybody has made for them since a resource version, in order."""
    told = admin.text(f"{NAMESPACES}?watch=true&resourceVersion={since}&timeoutSeconds=3")
    events = [json.loads(line) for line in told.splitlines()]
    return [
        event["object"]["metadata"]["name"]
        for event in events
        if event["type"] == "ADDED"
        and event["object"]["metadata"].get("annotations", {}).get(REQUESTER) == person.name
    ]


def now(admin: Api) -> str:
    """Return the resource version of this moment."""
    version: str = admin.get(NAMESPACES, limit="1")["metadata"]["resourceVersion"]
    return version


def create_many(person: Person, names: list[str]) -> None:
    """Create all at once."""
    with ThreadPoolExecutor(16) as pool:
        made = [pool.submit(person.api.create, LNAMESPACES, manifest(name)) for name in names]
    for one in made:
        one.result()


def told(tenants: Tenants, names: list[str]) -> dict[str, list[str]]:
    """Return the names by the reason of their condition Ready, once all have one."""
    reasons: dict[str, list[str]] = {}
    for item in tenants.admin.items(LNAMESPACES):
        if (name := item["metadata"]["name"]) in names:
            reasons.setdefault(condition(item).get("reason", ""), []).append(name)
    return reasons


def all_told(tenants: Tenants, names: list[str], ready: int) -> bool:
    reasons = told(tenants, names)
    counts = {reason: len(found) for reason, found in reasons.items()}
    assert counts == {"Ready": ready, "LimitExceeded": len(names) - ready}, counts
    return True


def editors(admin: Api, prefix: str) -> set[str]:
    """Return the bindings by which somebody may edit LNamespaces."""
    found = {item["metadata"]["name"] for item in admin.items(rbac_path("clusterrolebindings"))}
    begin = f"lnamespace:{prefix}"
    return {name for name in found if name.startswith(begin) and name.endswith(":editor")}


@pytest.mark.thorough
def test_fifty_concurrent_creations_keep_to_the_limit_despite_controller_crashes(
    controller: Controller, tenants: Tenants, people: People, admin: Api
) -> None:
    person = people.person("greedy")
    names = [f"greedy-{number:02}" for number in range(50)]
    since = now(admin)
    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(create_many, person, names)
        for _ in range(2):
            eventually(partial(spaces, admin, person), what="nothing is made")
            controller.kill()
            controller.start(VARIABLES)
        creating.result()
    eventually(lambda: all_told(tenants, names, ready=LIMIT), 240)
    assert len(made(admin, since, person)) == LIMIT
    waiting = set(told(tenants, names)["LimitExceeded"])
    message = condition(tenants.get(min(waiting)))["message"]
    assert message.startswith('exceeded limit: "greedy" has 5 of 5 LNamespaces; delete one')
    # Those over the limit can be deleted by their managers.
    expected = {f"lnamespace:{name}:editor" for name in names}
    eventually(lambda: editors(admin, "greedy-") == expected)
    # And nobody pays for them.
    records = admin.items("/apis/tenancy.loblaw.digital/v1beta1/billingrecords")
    billed = {item["spec"]["namespace"] for item in records}
    assert not billed & waiting
    # One that goes makes room for one of them, and for no more.
    since = now(admin)
    person.api.delete(lns_path(told(tenants, names)["Ready"][0]))
    (following,) = eventually(lambda: made(admin, since, person), 240)
    assert following in waiting
    tenants.ready(following, 240)
    assert settled(lambda: made(admin, since, person)) == [following]
    # A restart changes nothing.
    controller.stop()
    controller.start(VARIABLES)
    assert settled(lambda: made(admin, since, person)) == [following]
    for name in names:
        admin.remove(lns_path(name))
    eventually(lambda: not spaces(admin, person), 240)


def test_a_retained_namespace_counts_against_the_limit(
    controller: Controller, tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    person = people.person("hoarder")
    names = [f"hoard-{number}" for number in range(LIMIT)]
    for name in names:
        person.api.create(LNAMESPACES, manifest(name, deletionPolicy="Retain"))
    tenants.all_ready(names)
    eventually(lambda: rights.edits(person.who, names[0]) and rights.sudoes(person.who, names[1]))
    person.api.delete(lns_path(names[0]))
    person.api.create(LNAMESPACES, manifest("hoard-more"))
    tenants.unready("hoard-more", "LimitExceeded")
    # Also for whoever leads next.
    controller.kill()
    controller.start(VARIABLES)
    assert settled(lambda: admin.find(ns_path("hoard-more"))) is None
    # Who asked for it is not the tenant's to say.
    took = {"metadata": {"annotations": {REQUESTER: "somebody-else"}}}
    assert "only a cluster administrator" in refusal(
        person.sudo(names[1]).patch, ns_path(names[1]), took
    )
    admin.delete(ns_path(names[0]))
    tenants.ready("hoard-more", 240)
    for name in (*names, "hoard-more"):
        admin.remove(lns_path(name))
        admin.remove(ns_path(name))


def test_a_higher_limit_admits_waiting_lnamespaces_and_a_lower_limit_removes_none(
    controller: Controller, tenants: Tenants, people: People, admin: Api
) -> None:
    person = people.person("grower")
    names = [f"grow-{number}" for number in range(LIMIT + 3)]
    for name in names:
        person.api.create(LNAMESPACES, manifest(name))
    eventually(lambda: all_told(tenants, names, ready=LIMIT), 240)
    controller.stop()
    controller.start(VARIABLES | LEASE | {"LNAMESPACE_LIMIT_PER_REQUESTER": str(LIMIT + 2)})
    eventually(lambda: all_told(tenants, names, ready=LIMIT + 2), 240)
    controller.stop()
    controller.start(VARIABLES | LEASE)
    assert len(settled(lambda: told(tenants, names)["Ready"])) == LIMIT + 2
    # Not even where a Namespace has to be made anew.
    first = told(tenants, names)["Ready"][0]
    before = admin.get(ns_path(first))["metadata"]["uid"]
    admin.delete(ns_path(first))

    def made_anew() -> bool:
        found = admin.find(ns_path(first))
        return found is not None and found["metadata"]["uid"] != before

    eventually(made_anew, 240)
    controller.stop()
    controller.start(VARIABLES)
    for name in names:
        admin.remove(lns_path(name))


def test_a_creation_over_the_limit_is_reported_at_once(
    people: People, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    person = people.person("waiter")
    for number in range(LIMIT):
        person.kubectl("create", "lns", f"wait-{number}", "--wait=false").ok()
    tenants.all_ready(f"wait-{number}" for number in range(LIMIT))
    answer = person.kubectl("create", "lns", "wait-more")
    assert answer.code == 1
    assert 'LimitExceeded: exceeded limit: "waiter" has 5 of 5 LNamespaces' in answer.err
    assert "False (LimitExceeded)" in person.kubectl("lns", "list").ok()
    assert "LimitExceeded" in person.kubectl("lns", "describe", "wait-more").ok()
    eventually(lambda: rights.edits(person.who, "wait-more"))
    person.kubectl("delete", "lns", "wait-more").ok()
    for number in range(LIMIT):
        admin.remove(lns_path(f"wait-{number}"))


def test_the_webhook_refuses_creations_over_the_limit(
    strict: Webhook, people: People, admin: Api
) -> None:
    person = people.person("early")
    for number in range(LIMIT):
        person.kubectl("create", "lns", f"early-{number}").ok()

    def refused() -> str:
        answer = person.kubectl("create", "lns", "early-more", "--dry-run=server")
        return answer.err if answer.code else ""

    words = eventually(refused)
    assert words.startswith(
        'The LNamespace "early-more" is invalid: spec.requester: Forbidden: exceeded limit: '
        '"early" has 5 of 5 LNamespaces; delete one that is no longer needed, or ask'
    )
    assert admin.find(lns_path("early-more")) is None
    assert metric(strict, "lnamespace_webhook_limit_refusals_total") >= 1
    admin.delete(lns_path("early-0"))
    eventually(lambda: not refused())
    # The slot is that of a Namespace that is on its way out: worth waiting for.
    person.kubectl("create", "lns", "early-more", "--timeout=280s").ok()
    for name in (*(f"early-{number}" for number in range(LIMIT)), "early-more"):
        admin.remove(lns_path(name))


@pytest.mark.usefixtures("strict")
def test_creations_by_service_accounts_count_against_the_limit(
    tenants: Tenants, people: People, rights: Rights, admin: Api
) -> None:
    person = people.person("minter")
    home = "minter-home"
    person.api.create(LNAMESPACES, manifest(home))
    tenants.ready(home)
    eventually(lambda: rights.works(person.who, home))
    person.api.create(
        ns_path(home, "serviceaccounts"),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mint"}},
    )
    mint = f"system:serviceaccount:{home}:mint"
    minter = person.api.acting(mint)
    for number in range(LIMIT - 1):
        made = minter.create(LNAMESPACES, manifest(f"minted-{number}", managers=["minter"]))
        assert (made["spec"]["requester"], made["spec"]["countedTo"]) == (mint, "minter")
        tenants.ready(f"minted-{number}")
    # Neither they, nor the person, nor a ServiceAccount of what a ServiceAccount made.
    second = "minted-0"
    admin.create(
        ns_path(second, "serviceaccounts"),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mint"}},
    )
    full = f'exceeded limit: "minter" has {LIMIT} of {LIMIT} LNamespaces'
    again = partial(person.api.create, LNAMESPACES, manifest("minted"), dryRun="All")
    eventually(lambda: not unless("Invalid", again))
    for api in (minter, person.api, admin.acting(f"system:serviceaccount:{second}:mint")):
        assert full in refusal(api.create, LNAMESPACES, manifest("minted"), status=422)
    bot = people.account("kube-public", "bot")
    bot.api.create(LNAMESPACES, manifest("bots-own", managers=["m"]))
    tenants.ready("bots-own")
    more = partial(bot.api.create, LNAMESPACES, manifest("bots-more"))
    eventually(lambda: not unless("Invalid", more, dryRun="All"))
    refusal(more, status=422)
    for name in ("bots-own", *(f"minted-{number}" for number in range(LIMIT - 1)), home):
        admin.delete(lns_path(name))
