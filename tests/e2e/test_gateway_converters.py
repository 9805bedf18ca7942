"""What a tenant's conversion webhook that fails does to the tenant, and not to others."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from lnamespace.translate.objects.definition_reserve import RESERVE
from lnamespace.translate.objects.labels import UNCONVERTED

from tests.e2e.support.api import (
    JSON_PATCH,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    ns_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import running
from tests.e2e.support.filling import DEFINITIONS, change, fill_definition
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, publish_hook
from tests.e2e.support.hooks import Hook, listening
from tests.e2e.support.people import People
from tests.e2e.support.probes import metric
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
QUOTAS = "resourcequotas"
GROUP_SUFFIX = "org.example.com"
LABEL = "tenancy.loblaw.digital/lcluster"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayCluster]:
    """Start a cluster of the file's own: its quotas may stop."""
    with running(tmp_path_factory.mktemp("converters"), GatewayCluster) as found:
        assert isinstance(found, GatewayCluster)
        yield found


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters of whoever has converters, and of a neighbour."""
    made = LClusters(cluster, people)
    for name in ("quail", "bittern"):
        made.make(name, "alice", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Api:
    """Return the administrator inside the first."""
    return lclusters.administrator("quail")


@pytest.fixture(scope="module")
def neighbour(lclusters: LClusters) -> Api:
    """Return the administrator inside the second."""
    return lclusters.administrator("bittern")


@pytest.fixture(scope="module")
def hook(
    cluster: GatewayCluster, alice: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hook]:
    """Run a converter behind a Service of the tenant."""
    with listening(tmp_path_factory.mktemp("hook") / "tls", {"/convert": converted}) as own:
        publish_hook(cluster.admin, alice, "quail", "default", own.port)
        yield own


def converted(request: Object) -> Object:
    """Convert: what is `size` in v1 is `amount` in v2."""
    wanted = request["desiredAPIVersion"]
    before, after = ("amount", "size") if wanted.endswith("v1") else ("size", "amount")
    objects = [
        {key: value for key, value in each.items() if key != before}
        | {"apiVersion": wanted, after: each[before]}
        for each in request["objects"]
    ]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


def definition(
    plural: str, stored: str, client: Object | None = None, scope: str = "Namespaced"
) -> Object:
    """Return a kind that is stored in a version; in two versions if it is converted."""
    kind = plural.removesuffix("s").title()
    names = ("v1", "v2") if client else ("v1",)
    versions = [
        {"name": name, "served": True, "storage": name == stored, "schema": SCHEMA}
        for name in names
    ]
    spec: Object = {
        "group": GROUP_SUFFIX,
        "scope": scope,
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
        "versions": versions,
    }
    if client:
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return {"metadata": {"name": f"{plural}.{GROUP_SUFFIX}"}, "spec": spec}


def path_of(plural: str, version: str, namespace: str = "default", tenant: str = "") -> str:
    return f"/apis/{tenant}{GROUP_SUFFIX}/{version}/namespaces/{namespace}/{plural}"


def store(api: Api, plural: str, name: str, version: str = "v1", **fields: object) -> Object:
    """Create an object in Namespace `default`, once its kind is served."""
    kind = plural.removesuffix("s").title()
    body: Object = {"apiVersion": f"{GROUP_SUFFIX}/{version}", "kind": kind}
    body |= {"metadata": {"name": name}, **fields}
    eventually(lambda: unless("NotFound", api.create, path_of(plural, version), body))
    return body


def conditions(api: Api, plural: str) -> list[Object]:
    """Return the conditions of a definition."""
    found: list[Object] = api.get(f"{DEFINITIONS}/{plural}.{GROUP_SUFFIX}")["status"]["conditions"]
    return found


def condition(api: Api, plural: str) -> Object | None:
    """Return the condition Terminating of a definition; of several the first, which counts."""
    listed = conditions(api, plural)
    return next((each for each in listed if each["type"] == "Terminating"), None)


def is_marked(api: Api, plural: str) -> bool:
    """Return whether a definition is marked."""
    found = condition(api, plural)
    return found is not None and found["status"] == "True"


def recounts(cluster: GatewayCluster, api: Api, namespace: str, name: str) -> None:
    """Confirm that a new ResourceQuota has a status, and that what is deleted is counted down."""
    hard = {"spec": {"hard": {"count/secrets": "50"}}, "metadata": {"name": name}}
    api.create(ns_path("default", QUOTAS), hard)
    path = ns_path(namespace, QUOTAS, name)

    def used() -> str:
        status: Object = cluster.admin.get(path).get("status", {})
        return str(status.get("used", {}).get("count/secrets", ""))

    before = int(eventually(used, 90, "a new ResourceQuota has no status"))
    api.create(ns_path("default", "secrets"), {"metadata": {"name": name}})
    eventually(lambda: int(used()) == before + 1, 90, "nothing is counted")
    api.delete(ns_path("default", "secrets", name))
    eventually(lambda: int(used()) == before, 90, "nothing is counted down")


@contextmanager
def broken(hook: Hook) -> Iterator[None]:
    """Have the converter fail."""
    hook.answers["/convert"] = lambda _: {"result": {"status": "Failure", "message": "no mapping"}}
    try:
        yield
    finally:
        hook.answers["/convert"] = converted


def test_a_failing_converter_stops_no_quota_of_others(
    cluster: GatewayCluster, alice: Api, neighbour: Api, hook: Hook
) -> None:
    """One definition of a plain user stopped all ResourceQuotas when Kubernetes restarted.

    Its quota controller waits until it has listed all kinds that can be created.
    """
    alice.create(DEFINITIONS, definition("gadgets", "v1"))
    store(alice, "gadgets", "one", size=3)
    with broken(hook):
        change(alice, definition("gadgets", "v2", hook.client("default", "hook", "/convert")))
        words = refusal(eventually_failing, alice, f"{path_of('gadgets', 'v2')}/one", status=500)
        assert "no mapping" in words
        told = eventually(lambda: condition(alice, "gadgets"), 120, "nobody notices")
        assert told
        assert (told["status"], told["reason"]) == ("True", "ConversionFails")
        # A condition of its tenant that says it is not marked was left alone.
        place = f"/status/conditions/{conditions(alice, 'gadgets').index(told)}/status"
        unmarked = [{"op": "replace", "path": place, "value": "False"}]
        status = f"{DEFINITIONS}/gadgets.{GROUP_SUFFIX}/status"
        assert "Terminating" in refusal(alice.patch, status, unmarked, JSON_PATCH)
        assert "no mapping" in told["message"]
        cluster.learn_kinds()
        recounts(cluster, neighbour, "bittern-default", "after")
        # Nothing was converted by anybody else meanwhile.
        assert "Terminating" in refusal(alice.get, f"{path_of('gadgets', 'v2')}/one", status=500)
        assert alice.get(f"{path_of('gadgets', 'v1')}/one")["size"] == 3
        refuse_creation(alice, "gadgets")
        assert series(cluster, "quail") == 1
    eventually(lambda: condition(alice, "gadgets") is None, 180, "it stays marked")
    assert alice.get(f"{path_of('gadgets', 'v2')}/one")["amount"] == 3
    store(alice, "gadgets", "two", size=1)
    assert alice.get(f"{path_of('gadgets', 'v2')}/two")["amount"] == 1
    eventually(lambda: series(cluster, "quail") == 0)


def test_a_failing_converter_stops_no_deletion_of_a_namespace(
    cluster: GatewayCluster, alice: Api, neighbour: Api, hook: Hook
) -> None:
    """One definition of a plain user, and no namespace of the cluster was ever deleted.

    Kubernetes lists all kinds first, from a cache for which all objects of a kind are converted.
    Its tenant's own namespaces wait, and what is in them is as it was.
    """
    alice.create(DEFINITIONS, definition("harps", "v1"))
    alice.create(NAMESPACES, {"metadata": {"name": "pit"}})
    store(alice, "harps", "one", size=3)
    alice.create(path_of("harps", "v1", "pit"), store(alice, "harps", "two", size=4))
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "platform"}})
    neighbour.create(NAMESPACES, {"metadata": {"name": "inside"}})
    above = f"{path_of('harps', 'v2', 'quail-default', 'quail-')}/one"
    with broken(hook):
        change(alice, definition("harps", "v2", hook.client("default", "hook", "/convert")))
        refusal(eventually_failing, alice, f"{path_of('harps', 'v2')}/one", status=500)
        cluster.admin.delete(f"{NAMESPACES}/platform")
        neighbour.delete(f"{NAMESPACES}/inside")
        eventually(lambda: cluster.admin.find(f"{NAMESPACES}/platform") is None, 120)
        eventually(lambda: neighbour.find(f"{NAMESPACES}/inside") is None, 60)
        alice.delete(f"{NAMESPACES}/pit")
        eventually(lambda: "fails" in json.dumps(alice.get(f"{NAMESPACES}/pit")["status"]), 60)
        # A write of its tenant leaves it so, also while it says the same as before.
        change(alice, definition("harps", "v2", hook.client("default", "hook", "/convert")))
        eventually(lambda: is_unconverted(cluster.admin, above))
        words = "nobody changes or deletes it until the webhook converts again"
        assert words in refusal(cluster.admin.patch, above, {"size": 9})
        assert words in refusal(cluster.admin.delete, above)
        shown = alice.get(f"{DEFINITIONS}/harps.{GROUP_SUFFIX}")["spec"]["conversion"]["webhook"]
        assert shown["clientConfig"]["service"]["path"] == "/convert"
    eventually(lambda: alice.find(f"{NAMESPACES}/pit") is None, 240, "its own namespace stays")
    one = alice.get(f"{path_of('harps', 'v2')}/one")
    assert (one["amount"], "labels" in one["metadata"]) == (3, False)
    eventually(lambda: condition(alice, "harps") is None, 180, "it stays marked")


def test_a_cluster_scoped_kind_is_listed_whose_converter_fails(
    cluster: GatewayCluster, alice: Api, hook: Hook
) -> None:
    """The garbage collector of Kubernetes 1.30 and 1.31 deleted nothing of anybody any more."""
    own, above = (f"/apis/{each}{GROUP_SUFFIX}" for each in ("", "quail-"))
    alice.create(DEFINITIONS, definition("suns", "v1", scope="Cluster"))
    one = {"apiVersion": f"{GROUP_SUFFIX}/v1", "kind": "Sun", "metadata": {"name": "one"}}
    eventually(lambda: unless("NotFound", alice.create, f"{own}/v1/suns", one | {"size": 3}))
    client = hook.client("default", "hook", "/convert")
    with broken(hook):
        change(alice, definition("suns", "v2", client, scope="Cluster"))
        refusal(eventually_failing, alice, f"{own}/v2/suns/one", status=500)
        shown = f"{above}/v2/suns/quail-one"
        marked = {UNCONVERTED: "v1", LABEL: "quail"}
        eventually(lambda: is_labelled(cluster.admin, shown, marked), 120, "it cannot be listed")
        words = "nobody changes or deletes it until the webhook converts again"
        assert words in refusal(cluster.admin.patch, shown, {"size": 9})
        assert words in refusal(cluster.admin.delete, shown)
        assert "Terminating" in refusal(alice.get, f"{own}/v2/suns/one", status=500)
        assert [each["size"] for each in alice.items(f"{own}/v1/suns")] == [3]
    eventually(lambda: condition(alice, "suns") is None, 300, "it stays marked")
    assert alice.get(f"{own}/v2/suns/one")["amount"] == 3
    alice.delete(f"{own}/v2/suns/one")


def test_an_lcluster_goes_whose_converter_fails(
    cluster: GatewayCluster, lclusters: LClusters, hook: Hook
) -> None:
    """What nobody converts can be deleted with its LCluster, whatever its finalizers were."""
    plover = lclusters.make_administered("plover")
    plover.create(DEFINITIONS, definition("lutes", "v1"))
    store(plover, "lutes", "one", size=3)
    client = hook.client("default", "nobody", "/convert")
    change(plover, definition("lutes", "v2", client))
    refusal(eventually_failing, plover, f"{path_of('lutes', 'v2')}/one", status=500)
    above = f"{path_of('lutes', 'v2', 'plover-default', 'plover-')}/one"
    eventually(lambda: is_unconverted(cluster.admin, above), 120)
    cluster.admin.delete(f"{LCLUSTERS}/plover")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/plover") is None, 120)


def test_what_an_lcluster_has_left_behind_stops_no_deletion_of_a_namespace(
    cluster: GatewayCluster, lclusters: LClusters, hook: Hook
) -> None:
    """Nobody is asked any more to convert the objects of one that was deleted and retained."""
    lclusters.make("dunlin", "alice", sudoers=("alice",))
    cluster.admin.patch(f"{LCLUSTERS}/dunlin", {"spec": {"deletionPolicy": "Retain"}})
    dunlin = lclusters.administrator("dunlin")
    dunlin.create(DEFINITIONS, definition("bells", "v1"))
    store(dunlin, "bells", "one", size=3)
    change(dunlin, definition("bells", "v2", hook.client("default", "nobody", "/convert")))
    cluster.admin.delete(f"{LCLUSTERS}/dunlin")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/dunlin") is None, 60)
    above = path_of("bells", "v2", "dunlin-default", "dunlin-")
    eventually(lambda: is_unconverted(cluster.admin, f"{above}/one"), 60)
    for name in ("platforms", "dunlin-default"):
        if not cluster.admin.find(f"{NAMESPACES}/{name}"):
            cluster.admin.create(NAMESPACES, {"metadata": {"name": name}})
        cluster.admin.delete(f"{NAMESPACES}/{name}")
        eventually(partial(gone, cluster.admin, f"{NAMESPACES}/{name}"), 60, f"{name} stays")


def test_a_definition_without_room_is_marked_all_the_same(
    cluster: GatewayCluster, alice: Api, hook: Hook
) -> None:
    """A tenant filled a definition up to what etcd takes, so the mark did not fit for ever."""
    path, upstream = (f"{DEFINITIONS}/barrels.{each}{GROUP_SUFFIX}" for each in ("", "quail-"))
    alice.create(DEFINITIONS, definition("barrels", "v1"))
    store(alice, "barrels", "one", size=3)
    wanted = definition("barrels", "v2", hook.client("default", "hook", "/convert"))
    fill_definition(alice, wanted)
    with broken(hook):
        # Else the API server may have the objects in memory, converted, and needs nobody.
        found = alice.get(path)
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["description"] = "y" + schema["description"][1:]
        alice.replace(path, found)
        refusal(eventually_failing, alice, f"{path_of('barrels', 'v2')}/one", status=500)
        told = eventually(lambda: condition(alice, "barrels"), 120, "it is not marked")
        assert told
        assert told["reason"] == "ConversionFails"
        refuse_creation(alice, "barrels")
        # Nor can its tenant have the room, by removing the mark while the room is used for it.
        place = conditions(alice, "barrels").index(told)
        remove = [{"op": "remove", "path": f"/status/conditions/{place}"}]
        assert "room" in refusal(alice.patch, f"{path}/status", remove, JSON_PATCH)
    eventually(lambda: condition(alice, "barrels") is None, 300, "it stays marked")
    assert RESERVE in cluster.admin.get(upstream)["metadata"]["annotations"]
    assert "annotations" not in alice.get(path)["metadata"]


def test_a_hanging_converter_is_waited_for_a_few_seconds(alice: Api, hook: Hook) -> None:
    """The API server waits for half a minute, and with it a worker of Kubernetes' controllers.

    This converter converts after half of that, for whoever still waits.
    """
    ended = threading.Event()
    alice.create(DEFINITIONS, definition("drums", "v1", hook.client("default", "hook", "/hang")))

    def convert_late(request: Object) -> Object:
        ended.wait(15)
        return converted(request)

    hook.answers["/hang"] = convert_late
    try:
        store(alice, "drums", "one", size=3)
        path = f"{path_of('drums', 'v2')}/one"
        assert "does not answer" in refusal(eventually_failing, alice, path, status=500)
    finally:
        ended.set()
    assert alice.get(path)["amount"] == 3


def test_objects_of_another_lcluster_do_not_stop_a_conversion(
    cluster: GatewayCluster, lclusters: LClusters, hook: Hook
) -> None:
    """One foreign object, and no list of the kind was converted; nor did its LCluster ever go."""
    heron = lclusters.make_administered("heron")
    publish_hook(cluster.admin, heron, "heron", "default", hook.port)
    heron.create(DEFINITIONS, definition("nests", "v1", hook.client("default", "hook", "/convert")))
    store(heron, "nests", "own", size=3)
    cuckoo = {
        "apiVersion": f"heron-{GROUP_SUFFIX}/v1",
        "kind": "Nest",
        "metadata": {"name": "cuckoo", "finalizers": ["quail.example.com/never"]},
    }
    elsewhere = path_of("nests", "v1", "quail-default", tenant="heron-")
    cluster.admin.create(elsewhere, cuckoo)
    listed = eventually(lambda: heron.items(f"/apis/{GROUP_SUFFIX}/v2/nests"))
    assert [(each["metadata"]["name"], each["amount"]) for each in listed] == [("own", 3)]
    assert not [each for each in hook.asked if "cuckoo" in json.dumps(each)]
    cluster.admin.delete(f"{LCLUSTERS}/heron")
    name = f"nests.heron-{GROUP_SUFFIX}"
    told = f"kubectl get {name} --all-namespaces"
    path = f"{LCLUSTERS}/heron"
    eventually(lambda: told in json.dumps(cluster.admin.get(path)["status"]["conditions"]))
    cluster.admin.patch(f"{elsewhere}/cuckoo", {"metadata": {"finalizers": None}})
    eventually(lambda: cluster.admin.find(path) is None)


def test_answers_that_the_api_server_does_not_take_stop_no_deletion_of_a_namespace(
    cluster: GatewayCluster, lclusters: LClusters, hook: Hook
) -> None:
    """A webhook that answered what it was sent failed for the API server, not for the gateway.

    So it was never marked. It is the first of its LCluster: after others it were held for longer.
    """
    alice = lclusters.make_administered("siskin")
    publish_hook(cluster.admin, alice, "siskin", "default", hook.port)
    hook.answers["/same"] = lambda request: {
        "convertedObjects": request["objects"],
        "result": {"status": "Success"},
    }
    alice.create(DEFINITIONS, definition("flutes", "v1"))
    store(alice, "flutes", "one", size=3)
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "platform-same"}})
    change(alice, definition("flutes", "v2", hook.client("default", "hook", "/same")))
    words = refusal(eventually_failing, alice, f"{path_of('flutes', 'v2')}/one", status=500)
    assert "invalid groupVersion" in words
    cluster.admin.delete(f"{NAMESPACES}/platform-same")
    eventually(partial(gone, cluster.admin, f"{NAMESPACES}/platform-same"), 120, "it stays")
    # 1.30 deletes the Namespace before the kind is marked, by what it has in memory.
    eventually(lambda: condition(alice, "flutes"), 120, "it is not marked")
    told = condition(alice, "flutes")
    assert told
    assert "the API server does not take what it answers" in told["message"]
    hook.answers["/same"] = converted
    eventually(lambda: condition(alice, "flutes") is None, 180, "it stays marked")
    assert alice.get(f"{path_of('flutes', 'v2')}/one")["amount"] == 3


def test_a_converter_without_a_ca_is_asked(alice: Api, hook: Hook) -> None:
    """The API server trusted no gateway, asked nobody, and could never list the kind."""
    client = hook.client("default", "hook", "/convert")
    del client["caBundle"]
    alice.create(DEFINITIONS, definition("oboes", "v1"))
    store(alice, "oboes", "one", size=3)
    change(alice, definition("oboes", "v2", client))
    eventually(lambda: amount(alice, f"{path_of('oboes', 'v2')}/one") == 3, 60)
    assert "caBundle" not in client_of(alice, f"{DEFINITIONS}/oboes.{GROUP_SUFFIX}")


def test_a_converter_is_asked_after_the_root_was_made_anew(
    cluster: GatewayCluster, alice: Api, hook: Hook
) -> None:
    """Its definition had the former CA and key, until its tenant wrote it again."""
    alice.create(DEFINITIONS, definition("viols", "v1"))
    store(alice, "viols", "one", size=3)
    change(alice, definition("viols", "v2", hook.client("default", "hook", "/convert")))
    eventually(lambda: amount(alice, f"{path_of('viols', 'v2')}/one") == 3, 60)
    upstream = f"{DEFINITIONS}/viols.quail-{GROUP_SUFFIX}"
    webhook = client_of(cluster.admin, upstream)
    first, tenant, key, *rest = webhook["service"]["path"].removeprefix("/").split("/")
    former = "/".join(("", first, tenant, "0" * len(key), *rest))
    # As a former CA, the tenant's own: it is another than the gateway's.
    bundle = base64.b64encode(hook.authority * 2).decode()
    client = {"service": {"path": former}, "caBundle": bundle}
    cluster.admin.patch(upstream, {"spec": {"conversion": {"webhook": {"clientConfig": client}}}})
    eventually(lambda: client_of(cluster.admin, upstream) == webhook, 60)
    eventually(lambda: amount(alice, f"{path_of('viols', 'v2')}/one") == 3, 60)
    shown = client_of(alice, f"{DEFINITIONS}/viols.{GROUP_SUFFIX}")
    own = hook.client("default", "hook", "/convert")
    assert shown["caBundle"] == own["caBundle"]


def refuse_creation(api: Api, plural: str) -> None:
    """Wait until no object can be created: 403, and 405 on Kubernetes 1.30.

    By the gateway itself in the version that would have to be converted, once nobody converts: a
    definition is marked before that. The API server notices a mark after a moment.
    """
    kind = plural.removesuffix("s").title()

    def refused(version: str, words: str) -> bool:
        body = {"apiVersion": f"{GROUP_SUFFIX}/{version}", "kind": kind}
        try:
            api.create(path_of(plural, version), body | {"metadata": {"name": "two"}}, dryRun="All")
        except ApiError as error:
            return words in str(error)
        return False

    marked = "create not allowed while custom resource definition is"
    eventually(partial(refused, "v2", marked), 30)
    eventually(partial(refused, "v1", "conversion webhook for"), 30)


def client_of(api: Api, path: str) -> Object:
    """Return the client of the conversion webhook of a definition."""
    found: Object = api.get(path)["spec"]["conversion"]["webhook"]["clientConfig"]
    return found


def amount(api: Api, path: str) -> int:
    """Return what a converted object has; nothing as long as it is not converted."""
    try:
        return int(api.get(path).get("amount", 0))
    except ApiError:
        return 0


def gone(admin: Api, path: str) -> bool:
    """Return whether there is no object any more."""
    return admin.find(path) is None


def is_unconverted(admin: Api, path: str) -> bool:
    """Return whether the API server has an object that nobody has converted."""
    return is_labelled(admin, path, {UNCONVERTED: "v1"})


def is_labelled(admin: Api, path: str, labels: Object) -> bool:
    """Return whether an object can be read and has just these labels."""
    try:
        found = admin.get(path)
    except ApiError:
        return False
    return bool(found["metadata"].get("labels") == labels)


def eventually_failing(api: Api, path: str) -> None:
    """Read until it fails: the API server takes a changed definition after a moment."""
    failed: list[ApiError] = []

    def fails() -> bool:
        try:
            api.get(path)
        except ApiError as error:
            if error.status == 500:
                failed.append(error)
        return bool(failed)

    eventually(fails)
    raise failed[0]


def series(cluster: GatewayCluster, lcluster: str) -> float:
    """Return how many definitions of an LCluster have failing converters, by the metric."""
    name = "lnamespace_gateway_lcluster_failing_converters"
    return metric(cluster.gateway, name, lcluster=lcluster)
