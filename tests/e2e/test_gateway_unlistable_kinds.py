"""No tenant has a kind that nobody can list (decision 0069).

Kubernetes lists all kinds before it deletes a Namespace, of whomever.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.support.api import (
    APPLY,
    JSON_PATCH,
    MERGE,
    Api,
    ApiError,
    Object,
    ns_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE
from tests.e2e.support.filling import DEFINITIONS, change
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    LCLUSTERS,
    GatewayCluster,
    LClusters,
    publish_hook,
)
from tests.e2e.support.hooks import listening, patched
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

TENANT = "avocet"
GROUP = "org.example.com"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAMESPACES = "/api/v1/namespaces"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def root(cluster: GatewayCluster, people: People) -> Api:
    """Return the administrator inside an LCluster."""
    return LClusters(cluster, people).make_administered(TENANT)


def definition(plural: str, *versions: str, scope: str = "Namespaced") -> Object:
    """Return a kind that is stored in the last of some versions."""
    kind = plural.removesuffix("s").title()
    spec: Object = {
        "group": GROUP,
        "scope": scope,
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
        "versions": [
            {"name": name, "served": True, "storage": name == versions[-1], "schema": SCHEMA}
            for name in versions
        ],
    }
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def path_of(plural: str, version: str, namespace: str = "default") -> str:
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/apis/{GROUP}/{version}/{within}{plural}"


def definition_path(plural: str) -> str:
    return f"{DEFINITIONS}/{plural}.{GROUP}"


def stored_in_the_first(root: Api, plural: str, namespace: str = "default") -> None:
    """Make a kind with an object in v1, which is stored in v2 from now on."""
    scope = "Namespaced" if namespace else "Cluster"
    root.create(DEFINITIONS, definition(plural, "v1", scope=scope))
    kind = plural.removesuffix("s").title()
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}, "size": 3}
    path = path_of(plural, "v1", namespace)
    eventually(lambda: unless("NotFound", root.create, path, body))
    change(root, definition(plural, "v1", "v2", scope=scope))
    eventually(lambda: unless("NotFound", root.get, path_of(plural, "v2", namespace)))
    stored = root.get(definition_path(plural))["status"]["storedVersions"]
    assert stored == ["v1", "v2"]


def take_out(root: Api, plural: str, body: object, kind: str = MERGE, **query: str) -> Object:
    """Write the status of a definition."""
    found: Object = root.patch(f"{definition_path(plural)}/status", body, kind, **query)
    return found


ONLY_V2 = {"status": {"storedVersions": ["v2"]}}


def replaced(root: Api, plural: str) -> Object:
    """Do as cert-manager's cmctl: replace the status that was read before."""
    found = root.get(definition_path(plural))
    found["status"]["storedVersions"] = ["v2"]
    changed: Object = root.replace(f"{definition_path(plural)}/status", found)
    return changed


def applied(root: Api, plural: str) -> Object:
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    named = {"metadata": {"name": f"{plural}.{GROUP}"}}
    return take_out(root, plural, body | named | ONLY_V2, APPLY, fieldManager="a", force="true")


def by_index(root: Api, plural: str) -> Object:
    removed = [{"op": "remove", "path": "/status/storedVersions/0"}]
    return take_out(root, plural, removed, JSON_PATCH)


WAYS: dict[str, Callable[[Api, str], Object]] = {
    "lutes": replaced,
    "harps": applied,
    "gongs": by_index,
    "drums": partial(take_out, body=ONLY_V2),
}


def test_a_version_leaves_when_its_objects_are_stored_in_another(
    cluster: GatewayCluster, root: Api
) -> None:
    """One that left before made the kind unlistable, and all Namespaces of the cluster stayed."""
    for plural in WAYS:
        stored_in_the_first(root, plural)
    stored_in_the_first(root, "fifes", namespace="")
    take_out(root, "lutes", ONLY_V2, dryRun="All")
    ways = WAYS | {"fifes": replaced}
    with ThreadPoolExecutor(len(ways)) as pool:
        made = pool.map(lambda each: each[1](root, each[0]), ways.items())
        assert [each["status"]["storedVersions"] for each in made] == [["v2"]] * len(ways)
    for plural in ways:
        namespace = "" if plural == "fifes" else "default"
        change(root, definition(plural, "v2", scope="Namespaced" if namespace else "Cluster"))
        eventually(partial(unless, "NotFound", root.get, path_of(plural, "v2", namespace)))
        found = root.get(path_of(plural, "v2", namespace))["items"]
        assert [each["size"] for each in found] == [3]
        assert root.get(f"{path_of(plural, 'v2', namespace)}/one")["size"] == 3
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "lapwing"}})
    cluster.admin.delete(f"{NAMESPACES}/lapwing")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/lapwing") is None, 60)


def test_a_version_stays_while_an_object_cannot_be_written(root: Api) -> None:
    stored_in_the_first(root, "oboes")
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["oboes"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule | {"operations": ["UPDATE"]}]},
        "validations": [{"expression": "false", "message": "never"}],
    }
    root.create(POLICIES, {"metadata": {"name": "never"}, "spec": policy})
    bound = {"policyName": "never", "validationActions": ["Deny"]}
    root.create(BINDINGS, {"metadata": {"name": "never"}, "spec": bound})
    one = f"{path_of('oboes', 'v2')}/one"
    eventually(lambda: "never" in refusal(root.patch, one, {"size": 4}, status=422))
    told = refusal(take_out, root, "oboes", ONLY_V2, status=409)
    assert "oboes.org.example.com" in told
    assert "never" in told
    assert f"{TENANT}-" not in told
    assert root.get(definition_path("oboes"))["status"]["storedVersions"] == ["v1", "v2"]
    with pytest.raises(ApiError, match="storedVersions"):
        change(root, definition("oboes", "v2"))


def asked(root: Api, name: str, client: Object, plural: str, operation: str) -> None:
    """Have a webhook of the tenant asked about each write of a kind."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": [plural]}
    webhook = {
        "name": f"{name}.example.com",
        "clientConfig": client,
        "rules": [rule | {"operations": [operation]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    root.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [webhook]})


@pytest.mark.thorough
def test_a_version_stays_while_a_webhook_says_that_an_object_is_gone(
    cluster: GatewayCluster, root: Api, tmp_path: Path
) -> None:
    """What it says of a write that it refuses has any status."""
    answer = {"allowed": False, "status": {"code": 404, "reason": "NotFound", "message": "gone"}}
    with listening(tmp_path / "tls", {"/deny": lambda _: answer}) as hook:
        root.create(NAMESPACES, {"metadata": {"name": "deny"}})
        publish_hook(cluster.admin, root, TENANT, "deny", hook.port)
        stored_in_the_first(root, "shawms")
        asked(root, "deny", hook.client("deny", "hook", "/deny"), "shawms", "UPDATE")
        one = f"{path_of('shawms', 'v2')}/one"
        eventually(lambda: "gone" in refusal(root.patch, one, {"size": 4}, status=404))
        assert "gone" in refusal(take_out, root, "shawms", ONLY_V2, status=409)
    root.delete(f"{WEBHOOKS}/deny")


def outliving(cluster: GatewayCluster, root: Api, made: Object, body: Object, name: str) -> None:
    """Make an object that outlives its namespace: while that is deleted its kind is not served."""
    plural = made["spec"]["names"]["plural"]
    root.create(NAMESPACES, {"metadata": {"name": name}})
    root.create(DEFINITIONS, made)
    eventually(lambda: unless("NotFound", root.create, path_of(plural, "v1", name), body))
    served(root, made, now=False)
    eventually(lambda: not unless("NotFound", root.get, path_of(plural, "v1")))
    root.delete(f"{NAMESPACES}/{name}")
    above = f"{NAMESPACES}/{TENANT}-{name}"
    eventually(lambda: cluster.admin.find(above) is None, 60)


def served(root: Api, made: Object, *, now: bool) -> None:
    for version in made["spec"]["versions"]:
        version["served"] = now
    change(root, made)


@pytest.mark.thorough
def test_a_version_stays_while_an_object_has_outlived_its_namespace(
    cluster: GatewayCluster, root: Api
) -> None:
    """The objects of the namespaces that are there were written, and the kind was unlistable."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Kazoo", "metadata": {"name": "one"}}
    outliving(cluster, root, definition("kazoos", "v1"), body, "pit")
    change(root, definition("kazoos", "v1", "v2"))
    eventually(lambda: unless("NotFound", root.get, path_of("kazoos", "v2")))
    told = refusal(take_out, root, "kazoos", ONLY_V2, status=409)
    assert 'object "one" is in namespace pit, which is gone' in told
    root.create(NAMESPACES, {"metadata": {"name": "pit"}})
    eventually(lambda: unless("NotFound", root.get, f"{path_of('kazoos', 'v2', 'pit')}/one"))
    assert take_out(root, "kazoos", ONLY_V2)["status"]["storedVersions"] == ["v2"]
    change(root, definition("kazoos", "v2"))
    above = f"/apis/{TENANT}-{GROUP}/v2/kazoos"
    eventually(lambda: unless("NotFound", cluster.admin.get, above))


def embedding(plural: str, **value: object) -> Object:
    """Return a kind that is stored in v1, in whose v2 the field x is an object of its own."""
    made = definition(plural, "v2", "v1")
    for version, embedded in zip(made["spec"]["versions"], (value, {}), strict=True):
        held = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **embedded}
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"x": held}}}
    return made


def withheld(root: Api, plural: str) -> Object | None:
    """Return the condition by which the schemas of a definition are withheld."""
    return condition_of(root, plural, "SchemasWithheld")


def condition_of(root: Api, plural: str, kind: str) -> Object | None:
    """Return a condition of a definition."""
    found = root.get(definition_path(plural))["status"].get("conditions") or []
    return next((each for each in found if each["type"] == kind), None)


def test_a_value_that_is_no_object_stops_no_deletion_of_a_namespace(
    cluster: GatewayCluster, root: Api
) -> None:
    """It could be stored in one version, and not be shown in another."""
    rule = [{"rule": "self.apiVersion != 'a'"}]  # without the mark this is no rule
    marked = {"x-kubernetes-embedded-resource": True, "x-kubernetes-validations": rule}
    root.create(DEFINITIONS, embedding("tubas", **marked))
    assert withheld(root, "tubas") is None
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Tuba", "metadata": {"name": "one"}}
    body |= {"x": {"apiVersion": 5, "kind": "a", "metadata": 7}}
    eventually(lambda: unless("NotFound", root.create, path_of("tubas", "v1"), body))
    assert "Invalid value" in refusal(root.get, path_of("tubas", "v2"), status=500)
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "plover"}})
    cluster.admin.delete(f"{NAMESPACES}/plover")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/plover") is None, 120)
    told = eventually(lambda: withheld(root, "tubas"))
    assert told
    assert "x-kubernetes-embedded-resource" in told["message"]
    assert root.get(path_of("tubas", "v2"))["items"][0]["x"] == body["x"]
    own_words(root, "tubas", marked)
    # It is known of this LCluster, so others are not even listed.
    root.create(DEFINITIONS, embedding("horns", **marked))
    eventually(lambda: withheld(root, "horns"), 5)
    root.delete(definition_path("tubas"))
    eventually(lambda: root.find(definition_path("tubas")) is None)
    root.create(DEFINITIONS, definition("tubas", "v1"))


def own_words(root: Api, plural: str, marked: Object) -> None:
    """Confirm that a tenant can write all but the versions, and that it stays informed."""
    told = refusal(change, root, embedding(plural, **marked))
    assert "SchemasWithheld" in told
    assert f"{TENANT}-" not in told
    root.patch(definition_path(plural), {"metadata": {"labels": {"a": "b"}}})
    root.patch(f"{definition_path(plural)}/status", {"status": {"conditions": []}})
    assert withheld(root, plural)
    conditions = root.get(definition_path(plural))["status"]["conditions"]
    at = [each["type"] for each in conditions].index("SchemasWithheld")
    path = f"/status/conditions/{at}"
    earlier = {"op": "add", "path": f"{path}/lastTransitionTime", "value": "2020-01-01T00:00:00Z"}
    for operation in ({"op": "remove", "path": path}, earlier):
        status = f"{definition_path(plural)}/status"
        assert "SchemasWithheld" in refusal(root.patch, status, [operation], kind=JSON_PATCH)


LATE = "9999-12-31T23:59:59-10:00"
"""A time that is read, and that is written as 10000-01-01T09:59:59Z, which is not."""
UNREADABLE = {
    "manager": "a",
    "operation": "Update",
    "apiVersion": "v1",
    "time": LATE,
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:metadata": {"f:labels": {}}},
}


def test_no_definition_has_a_time_that_nobody_can_read(cluster: GatewayCluster, root: Api) -> None:
    """By one such definition nobody could list any of the cluster, nor make or delete one."""
    made = definition("bells", "v1")
    root.create(DEFINITIONS, made)
    path = definition_path("bells")
    eventually(lambda: unless("NotFound", root.get, path_of("bells", "v1")))
    condition = {"type": "Mine", "status": "True", "reason": "A", "lastTransitionTime": LATE}
    managed = {"metadata": {"managedFields": [UNREADABLE]}}
    first = "/metadata/managedFields/0/time"
    operations: tuple[Object, ...] = (
        {"op": "add", "path": "/status/conditions/-", "value": condition},
        {"op": "add", "path": "/status/conditions/0/lastTransitionTime", "value": LATE},
        {"op": "replace", "path": first, "value": LATE},
        {"op": "add", "path": "/metadata/managedFields/-", "value": UNREADABLE},
    )
    for where in (path, f"{path}/status"):
        for body in (managed, {"status": {"conditions": [condition]}}):
            assert "in UTC" in refusal(root.patch, where, body, status=422)
        for each in operations:
            told = refusal(root.patch, where, [each], status=422, kind=JSON_PATCH)
            assert "in UTC" in told
        copied = [{"op": "copy", "from": "/metadata/annotations/late", "path": first}]
        assert "instead" in refusal(root.patch, where, copied, status=400, kind=JSON_PATCH)
    other = definition("gavels", "v1")
    other["metadata"] |= managed["metadata"]
    assert "in UTC" in refusal(root.create, DEFINITIONS, other, status=422)
    # The stored managed fields stay, whatever an update says.
    found = root.get(path)
    found["metadata"] |= managed["metadata"]
    root.replace(path, found)
    thief = Api(cluster.token(RELEASE_NAMESPACE, GATEWAY_ACCOUNT))
    above = f"{DEFINITIONS}/bells.{TENANT}-{GROUP}/status"
    assert "a year" in refusal(thief.patch, above, [operations[0]], kind=JSON_PATCH)
    cluster.admin.get(DEFINITIONS)


def test_no_object_has_a_time_that_no_client_can_read(root: Api) -> None:
    """No client in Go or Python could list the ConfigMaps of all namespaces as JSON."""
    path = ns_path("default", "configmaps")
    made: Object = {
        "metadata": {"name": "late", "managedFields": [UNREADABLE]},
        "data": {"a": LATE},
    }
    assert "in UTC" in refusal(root.create, path, made, status=422)
    del made["metadata"]["managedFields"]
    root.create(path, made)
    assert "in UTC" in refusal(
        root.patch, f"{path}/late", {"metadata": {"managedFields": [UNREADABLE]}}, status=422
    )
    assert root.get(f"{path}/late")["data"] == {"a": LATE}
    # The API server puts the values of a key that is there twice together.
    twice = json.dumps({"metadata": {"name": "late"}, "spec": {"renewTime": LATE}})[:-1]
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    with pytest.raises(ApiError, match="in UTC"):
        root.send("POST", leases, f'{twice}, "spec": {{}}}}'.encode())


def test_a_value_that_was_no_object_stops_no_deletion_of_a_namespace(
    cluster: GatewayCluster, root: Api
) -> None:
    """It was stored before the only version of the kind said that the value is an object."""
    made = embedding("flutes")
    made["spec"]["versions"] = made["spec"]["versions"][1:]
    root.create(DEFINITIONS, made)
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Flute", "metadata": {"name": "one"}}
    eventually(
        lambda: unless(
            "NotFound", root.create, path_of("flutes", "v1"), body | {"x": {"metadata": 7}}
        )
    )
    held = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["x"]
    held["x-kubernetes-embedded-resource"] = True
    change(root, made)
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "dunlin"}})
    cluster.admin.delete(f"{NAMESPACES}/dunlin")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/dunlin") is None, 120)
    assert eventually(lambda: withheld(root, "flutes"))


def test_no_kind_is_selected_by_a_field_by_which_nobody_can_list_it(root: Api) -> None:
    """The API server had no object of it in memory: a path found several values, or was none."""
    for name, path in (("*", ".*"), ("a{b", ".a{b"), (".", "..")):
        made = definition("sitars", "v1")
        version = made["spec"]["versions"][0]
        schema = SCHEMA["openAPIV3Schema"] | {"properties": {name: {"type": "string"}}}
        version["schema"] = {"openAPIV3Schema": schema}
        version["selectableFields"] = [{"jsonPath": path}]
        assert "selectableFields" in refusal(root.create, DEFINITIONS, made, status=422)


@pytest.mark.thorough
def test_a_value_of_an_object_that_outlived_its_namespace_stops_no_deletion_of_others(
    cluster: GatewayCluster, root: Api
) -> None:
    """No list of a namespace that is there showed that the kind could not be listed."""
    made = embedding("zithers")
    made["spec"]["versions"] = made["spec"]["versions"][1:]
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Zither", "metadata": {"name": "one"}}
    outliving(cluster, root, made, body | {"x": {"metadata": 7}}, "hole")
    held = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["x"]
    held["x-kubernetes-embedded-resource"] = True
    served(root, made, now=True)
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "godwit"}})
    cluster.admin.delete(f"{NAMESPACES}/godwit")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/godwit") is None, 120)
    assert eventually(lambda: withheld(root, "zithers"))


def test_a_webhook_makes_no_object_that_nobody_can_read(
    cluster: GatewayCluster, root: Api, tmp_path: Path
) -> None:
    """Its kind could be listed in no version and by no schema, nor be deleted."""
    written = [UNREADABLE | {"apiVersion": f"{GROUP}/v1"}]
    labelled = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
    late = {"op": "add", "path": "/metadata/managedFields", "value": written}
    answer = patched(labelled, late)
    with listening(tmp_path / "tls", {"/mutate": lambda _: answer}) as hook:
        root.create(NAMESPACES, {"metadata": {"name": "hooks"}})
        publish_hook(cluster.admin, root, TENANT, "hooks", hook.port)
        root.create(DEFINITIONS, definition("cymbals", "v1"))
        eventually(lambda: unless("NotFound", root.get, path_of("cymbals", "v1")))
        asked(root, "hook", hook.client("hooks", "hook", "/mutate"), "cymbals", "CREATE")
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Cymbal", "size": LATE}

        def is_mutated() -> bool:
            made = body | {"metadata": {"generateName": "one-"}}
            return "labels" in root.create(path_of("cymbals", "v1"), made)["metadata"]

        eventually(is_mutated)
    assert root.get(path_of("cymbals", "v1"))["items"]


def outlive(
    cluster: GatewayCluster,
    root: Api,
    tenant: str,
    plural: str,
    folder: Path,
    scope: str = "Namespaced",
) -> None:
    """Have a creation end after its definition is gone: a webhook holds it."""
    path = path_of(plural, "v1", "default" if scope == "Namespaced" else "")
    began, ended = Event(), Event()

    def slow(_: Object) -> Object:
        began.set()
        ended.wait(25)
        return {"allowed": True}

    kind = plural.removesuffix("s").title()
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}}
    with listening(folder / "tls", {"/slow": slow}) as hook, ThreadPoolExecutor(1) as pool:
        root.create(NAMESPACES, {"metadata": {"name": "slow"}})
        publish_hook(cluster.admin, root, tenant, "slow", hook.port)
        root.create(DEFINITIONS, definition(plural, "v1", scope=scope))
        eventually(lambda: unless("NotFound", root.get, path))
        rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": [plural]}
        webhook = {
            "name": "slow.example.com",
            "clientConfig": hook.client("slow", "hook", "/slow"),
            "rules": [rule | {"operations": ["CREATE"]}],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 30,
        }
        root.create(WEBHOOKS, {"metadata": {"name": "slow"}, "webhooks": [webhook]})
        eventually(lambda: unless("NotFound", root.get, f"{WEBHOOKS}/slow"))
        creation = pool.submit(root.create, path, body)
        assert began.wait(10), "the webhook is not asked"
        root.delete(definition_path(plural))
        eventually(lambda: root.find(definition_path(plural)) is None)
        ended.set()
        creation.result()
    root.delete(f"{WEBHOOKS}/slow")
    root.delete(f"{NAMESPACES}/slow")
    eventually(lambda: root.find(f"{NAMESPACES}/slow") is None)


def goes(cluster: GatewayCluster, name: str) -> None:
    """Make a Namespace of the platform and delete it."""
    cluster.admin.create(NAMESPACES, {"metadata": {"name": name}})
    cluster.admin.delete(f"{NAMESPACES}/{name}")
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/{name}") is None, 120, "it stays")


def test_an_object_that_outlives_its_definition_stops_no_deletion_of_others(
    cluster: GatewayCluster, root: Api, tmp_path: Path
) -> None:
    """Its creation took a webhook long, and the next definition of the kind had other versions."""
    outlive(cluster, root, TENANT, "tabors", tmp_path)
    root.create(DEFINITIONS, definition("tabors", "v2"))
    told = eventually(lambda: condition_of(root, "tabors", "StoredVersionMissing"), 120)
    assert told
    assert told["message"].startswith("v1: ")
    goes(cluster, "pipit")
    for _ in range(2):
        assert "StoredVersionMissing" in refusal(change, root, definition("tabors", "v2"))
        root.patch(f"{definition_path('tabors')}/status", {"status": {"conditions": []}})
    # As the condition says.
    change(root, definition("tabors", "v1", "v2"))
    eventually(lambda: unless("NotFound", root.get, f"{path_of('tabors', 'v2')}/one"))
    eventually(lambda: condition_of(root, "tabors", "StoredVersionMissing") is None, 60)
    assert root.get(definition_path("tabors"))["status"]["storedVersions"] == ["v2", "v1"]
    assert "storedVersions" in refusal(change, root, definition("tabors", "v2"), status=422)


@pytest.mark.thorough
def test_a_definition_that_changes_all_the_time_stops_no_deletion_of_others(
    cluster: GatewayCluster, root: Api, tmp_path: Path
) -> None:
    """Two lists of one generation had to fail, and nobody may have written since it was read."""
    outlive(cluster, root, TENANT, "bongos", tmp_path)
    root.create(DEFINITIONS, definition("bongos", "v2"))
    ended = Event()

    def changing() -> None:
        made = definition("bongos", "v2")
        while not ended.wait(1):
            made["spec"]["names"]["shortNames"] = [f"b{time.monotonic_ns()}"]
            with suppress(ApiError):
                change(root, made)

    def labelling() -> None:
        while not ended.is_set():
            labels = {"a": f"b{time.monotonic_ns()}"}
            with suppress(ApiError):
                root.patch(definition_path("bongos"), {"metadata": {"labels": labels}})

    with ThreadPoolExecutor(5) as pool:
        for writing in (changing, *[labelling] * 4):
            pool.submit(writing)
        try:
            goes(cluster, "wagtail")
        finally:
            ended.set()
    assert condition_of(root, "bongos", "StoredVersionMissing")


@pytest.mark.thorough
def test_a_kind_can_be_listed_though_its_definition_changes_all_the_time(
    cluster: GatewayCluster, root: Api
) -> None:
    """The API server reads its objects anew each time, and refuses lists meanwhile."""
    root.create(DEFINITIONS, definition("hoards", "v1"))
    path, ended = path_of("hoards", "v1"), Event()
    eventually(lambda: root.find(path) is not None, what="the kind is not served")

    def keep(number: int) -> None:
        metadata = {"name": f"h{number}"}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Hoard", "metadata": metadata}
        root.create(path, body | {"data": "x" * 1_400_000})

    def changing() -> None:
        made = definition("hoards", "v1")
        while not ended.wait(0.3):
            made["spec"]["names"]["shortNames"] = [f"h{time.monotonic_ns()}"]
            with suppress(ApiError):
                root.patch(definition_path("hoards"), {"spec": made["spec"]})

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(keep, range(80)))
        for _ in range(2):
            pool.submit(changing)
        try:
            time.sleep(3)
            goes(cluster, "dipper")
        finally:
            ended.set()
    root.delete(definition_path("hoards"))


@pytest.mark.thorough
def test_an_object_in_no_namespace_stops_no_deletion_of_others(
    cluster: GatewayCluster, root: Api, tmp_path: Path
) -> None:
    """The definition of before was cluster-scoped, and a list in pages showed the object."""
    outlive(cluster, root, TENANT, "gadulkas", tmp_path, scope="Cluster")
    root.create(DEFINITIONS, definition("gadulkas", "v1"))
    goes(cluster, "bunting")
    told = eventually(lambda: condition_of(root, "gadulkas", "StoredVersionMissing"))
    assert told
    assert "in no namespace" in told["message"]
    assert "StoredVersionMissing" in refusal(change, root, definition("gadulkas", "v1"))


@pytest.mark.thorough
def test_an_lcluster_that_is_deleted_with_such_an_object_stops_no_deletion_of_others(
    cluster: GatewayCluster, people: People, tmp_path: Path
) -> None:
    """Nobody listed the kinds of one that is being deleted, and its definition cannot go."""
    root = LClusters(cluster, people).make_administered("redpoll")
    outlive(cluster, root, "redpoll", "fifes", tmp_path)
    root.create(DEFINITIONS, definition("fifes", "v2"))
    cluster.admin.delete(f"{LCLUSTERS}/redpoll")
    goes(cluster, "crossbill")


def program(cluster: GatewayCluster, root: Api, tenant: str, name: str = "robot") -> Api:
    """Return a program in a pod, at the platform's API server, that may write the kinds."""
    root.create(ns_path("default", "serviceaccounts"), {"metadata": {"name": name}})
    rbac = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}
    bound = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    within = f"/apis/{rbac}/v1/namespaces/default"
    root.create(f"{within}/roles", {"metadata": {"name": name}, "rules": [rule]})
    root.create(f"{within}/rolebindings", bound)
    return Api(cluster.token(f"{tenant}-default", name))


def test_an_object_that_is_nested_too_deeply_stops_no_deletion_of_others(
    cluster: GatewayCluster, root: Api
) -> None:
    """The API server stored it with managed fields that are deeper, and could not read it again."""
    root.create(DEFINITIONS, definition("tamtams", "v1"))
    eventually(lambda: unless("NotFound", root.get, path_of("tamtams", "v1")))
    robot = program(cluster, root, TENANT)
    above = f"/apis/{TENANT}-{GROUP}/v1/namespaces/{TENANT}-default/tamtams"
    eventually(lambda: unless("Forbidden", robot.get, above))
    body: Object = {"apiVersion": f"{TENANT}-{GROUP}/v1", "kind": "Tamtam"}
    head = json.dumps(body | {"metadata": {"name": "one"}})[:-1]
    nested = '{"a":' * 9_997 + "1" + "}" * 9_997
    with pytest.raises(ApiError, match="max depth"):
        robot.send("POST", above, f'{head}, "x": {nested}}}'.encode())
    goes(cluster, "plover")
    told = eventually(lambda: condition_of(root, "tamtams", "StoredVersionMissing"))
    assert told
    assert "nested so deeply" in told["message"]
    assert "StoredVersionMissing" in refusal(change, root, definition("tamtams", "v1"))


def test_no_object_of_a_tenant_is_taken_for_a_list(cluster: GatewayCluster, root: Api) -> None:
    """The API server watched the kind no more, and each deletion of a Namespace took 6 s longer.

    While a tenant wrote such objects, a quota controller of Kubernetes that began did nothing.
    """
    root.create(DEFINITIONS, definition("zithers", "v1"))
    path = path_of("zithers", "v1")
    body: Object = {"apiVersion": f"{GROUP}/v1", "kind": "Zither", "metadata": {"name": "one"}}
    eventually(lambda: unless("NotFound", root.create, path, body))
    robot = program(cluster, root, TENANT, "zitherist")
    above = f"/apis/{TENANT}-{GROUP}/v1/namespaces/{TENANT}-default/zithers"
    eventually(lambda: unless("Forbidden", robot.get, above))
    upstream = body | {"apiVersion": f"{TENANT}-{GROUP}/v1"}
    named = {"metadata": {"name": "two"}}
    values: tuple[object, ...] = ([1], {}, None)
    for value in values:
        listed = named | {"items": value}
        assert "is no list" in refusal(root.create, path, body | listed, status=422)
        assert "is no list" in refusal(robot.create, above, upstream | listed, status=422)
    assert "is no list" in refusal(root.patch, f"{path}/one", {"items": []}, status=422)
    assert [each["metadata"]["name"] for each in root.items(path)] == ["one"]


@pytest.mark.thorough
def test_a_kind_that_an_lcluster_leaves_behind_stops_no_deletion_of_others(
    cluster: GatewayCluster, people: People
) -> None:
    """A program in a pod that was left too stored a value that is no object: nobody looked."""
    root = LClusters(cluster, people).make_administered("twite")
    root.create(DEFINITIONS, embedding("tubas", **{"x-kubernetes-embedded-resource": True}))
    eventually(lambda: unless("NotFound", root.get, path_of("tubas", "v1")))
    robot = program(cluster, root, "twite")
    above = f"/apis/twite-{GROUP}/v1/namespaces/twite-default/tubas"
    eventually(lambda: unless("Forbidden", robot.get, above))
    cluster.admin.patch(f"{LCLUSTERS}/twite", {"spec": {"deletionPolicy": "Retain"}})
    cluster.admin.delete(f"{LCLUSTERS}/twite")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/twite") is None)
    body = {"apiVersion": f"twite-{GROUP}/v1", "kind": "Tuba", "metadata": {"name": "one"}}
    robot.create(above, body | {"x": {"apiVersion": 5, "kind": "a", "metadata": 7}})

    def is_withheld() -> bool:
        found = cluster.admin.get(f"{DEFINITIONS}/tubas.twite-{GROUP}")["status"]["conditions"]
        return any(each["type"] == "SchemasWithheld" for each in found)

    eventually(is_withheld)
    goes(cluster, "siskin")
    assert cluster.admin.get(f"/apis/twite-{GROUP}/v2/tubas")["items"]
