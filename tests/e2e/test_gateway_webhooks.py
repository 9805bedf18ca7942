"""Webhooks and admission policies of tenants see their own cluster, and act on nothing else."""

import http.client
import json
import ssl
from collections.abc import Iterator

import pytest

from tests.e2e.support.api import (
    CRD,
    JSON_PATCH,
    NAMESPACES,
    RBAC,
    Api,
    ApiError,
    Object,
    ns_path,
    refusal,
    unless,
)
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, publish_hook
from tests.e2e.support.hooks import Hook, listening, patched
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{CONFIGURATIONS}/mutatingwebhookconfigurations"
VALIDATING = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
POLICIES = f"{CONFIGURATIONS}/validatingadmissionpolicies"
BINDINGS = f"{CONFIGURATIONS}/validatingadmissionpolicybindings"
DEFINITIONS = CRD.rpartition("/")[0]
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
PLATFORM = ("quokka", "lnamespace", "/webhooks/")
"""Words that a tenant is not to read: its prefix, and what the platform calls its own."""


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters of whoever has webhooks, and of a neighbour."""
    made = LClusters(cluster, people)
    made.make("quokka", "alice", sudoers=("alice",))
    made.make("beta", "alice", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Api:
    """Return the administrator inside the first."""
    return lclusters.administrator("quokka")


@pytest.fixture(scope="module")
def neighbour(lclusters: LClusters) -> Api:
    """Return the administrator inside the second."""
    return lclusters.administrator("beta")


@pytest.fixture(scope="module")
def hook(
    cluster: GatewayCluster, alice: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hook]:
    """Run a webhook behind a Service of the tenant."""
    with listening(tmp_path_factory.mktemp("hook") / "tls", {}) as own:
        alice.create(NAMESPACES, {"metadata": {"name": "hooks"}})
        publish_hook(cluster.admin, alice, "quokka", "hooks", own.port)
        yield own


@pytest.fixture
def everything(alice: Api, hook: Hook) -> Iterator[Hook]:
    """Ask the webhook about all that there is, its own calls included."""
    hook.answers |= {"/mutate": lambda _: {"allowed": True}, "/judge": judge}
    for path, where in ((MUTATING, "/mutate"), (VALIDATING, "/judge")):
        alice.create(path, configuration(hook.client("hooks", "hook", where)))
    try:
        eventually(lambda: asked(alice, hook), what="the webhook is not asked")
        yield hook
    finally:
        for path in (MUTATING, VALIDATING):
            alice.delete(f"{path}/hook")
        eventually(lambda: not asked(alice, hook), what="the webhook is still asked")


def configuration(client: Object, **fields: object) -> Object:
    """Return a configuration of one webhook about everything."""
    webhook = {
        "name": "hook.example.com",
        "clientConfig": client,
        "rules": [EVERYTHING],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {"metadata": {"name": "hook"}, "webhooks": [webhook | fields]}


def judge(request: Object) -> Object:
    """Refuse by name."""
    if "bad" in request.get("name", ""):
        return {"allowed": False, "status": {"message": "no bad names", "code": 418}}
    return {"allowed": True, "warnings": ["judged"]}


def asked(api: Api, hook: Hook) -> bool:
    """Return whether the webhook is asked about a write now."""
    before = len(hook.asked)
    path = ns_path("default", "configmaps")
    api.create(path, {"metadata": {"generateName": "probe-"}}, dryRun="All")
    return len(hook.asked) >= before + 2


def test_a_tenant_webhook_receives_only_names_of_the_tenant(everything: Hook, alice: Api) -> None:
    """Names, namespaces, groups and people were the platform's, and no converter knew its group."""
    alice.create(NAMESPACES, {"metadata": {"name": "prod"}})
    alice.create(ns_path("prod", "configmaps"), {"metadata": {"name": "good"}, "data": {"a": "b"}})
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    alice.create(f"{RBAC}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
    for name in ("prod", "good", "reader"):
        request = everything.about(name)
        told = json.dumps(request)
        assert not [word for word in PLATFORM if word in told], told
        assert request["object"]["metadata"]["name"] == name
        assert request["userInfo"]["username"] == "alice"
        assert "system:masters" in request["userInfo"]["groups"]
    assert everything.about("good")["namespace"] == "prod"
    assert everything.about("good")["object"]["data"] == {"a": "b"}


def test_a_request_denied_by_a_tenant_webhook_is_refused(everything: Hook, alice: Api) -> None:
    del everything
    body = {"metadata": {"name": "bad"}}
    words = refusal(alice.create, ns_path("default", "configmaps"), body, status=418)
    assert words == 'admission webhook "hook.example.com" denied the request: no bad names'


def test_a_webhook_response_over_1_mib_is_an_error(everything: Hook, alice: Api) -> None:
    """One without an end would have taken the gateway's memory, and with it everybody's."""
    everything.answers["/judge"] = lambda _: {"allowed": True, "warnings": ["x" * 2_000_000]}
    body = {"metadata": {"name": "long"}}
    words = refusal(alice.create, ns_path("default", "configmaps"), body, status=500)
    assert "the webhook answers more than 1048576 bytes" in words
    everything.answers["/judge"] = judge


def test_a_tenant_webhook_can_mutate_the_tenants_own_labels(
    everything: Hook, alice: Api, cluster: GatewayCluster
) -> None:
    label = {"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}
    everything.answers["/mutate"] = lambda _: patched(label)
    shown = alice.create(NAMESPACES, {"metadata": {"name": "labelled"}})
    assert shown["metadata"]["labels"]["hooked"] == "yes"
    upstream = cluster.admin.get(f"{NAMESPACES}/quokka-labelled")["metadata"]["labels"]
    assert upstream["tenancy.loblaw.digital/lcluster"] == "quokka"


@pytest.mark.parametrize(
    "operation",
    [
        {
            "op": "add",
            "path": "/metadata/labels/tenancy.loblaw.digital~1lcluster",
            "value": "beta",
        },
        {"op": "replace", "path": "/metadata/name", "value": "../beta-default"},
        {"op": "remove", "path": "/metadata"},
    ],
)
def test_a_tenant_webhook_cannot_mutate_beyond_the_tenants_rights(
    everything: Hook, alice: Api, cluster: GatewayCluster, operation: Object
) -> None:
    """A mutation came after the gateway had looked, and was judged by policies upstream alone."""
    everything.answers["/mutate"] = lambda _: patched(operation)
    with pytest.raises(ApiError):
        alice.create(NAMESPACES, {"metadata": {"name": "stolen"}})
    assert cluster.admin.find(f"{NAMESPACES}/quokka-stolen") is None


def test_a_tenant_webhook_cannot_mutate_pod_addresses_written_by_nodes(
    everything: Hook, alice: Api, cluster: GatewayCluster
) -> None:
    """The policies let a node write any address of a pod, and the API server's proxy dials it."""
    address = {"op": "add", "path": "/status/podIP", "value": "169.254.169.254"}
    everything.answers["/mutate"] = lambda request: (
        patched(address) if request.get("subResource") == "status" else {"allowed": True}
    )
    pods = ns_path("default", "pods")
    spec = {"containers": [{"name": "main", "image": "none"}]}
    alice.create(pods, {"metadata": {"name": "addressed"}, "spec": spec})
    status = ns_path("quokka-default", "pods", "addressed") + "/status"
    node = cluster.admin.acting("system:node:here", "system:masters")
    written = node.patch(status, {"status": {"phase": "Running"}})
    assert "podIP" not in written["status"]
    judged = refusal(alice.patch, f"{pods}/addressed/status", {"status": {"message": "a"}})
    assert "only the platform writes the addresses" in judged


def test_an_unavailable_tenant_webhook_affects_only_its_own_tenant(
    alice: Api, neighbour: Api, cluster: GatewayCluster, hook: Hook
) -> None:
    client = hook.client("hooks", "nobody", "/judge")
    alice.create(VALIDATING, configuration(client))
    path, body = ns_path("default", "configmaps"), {"metadata": {"generateName": "a"}}
    try:
        eventually(lambda: not unless("InternalError", alice.create, path, body))
        words = refusal(alice.create, path, body, status=500)
        assert "failed calling webhook" in words
        assert not [word for word in PLATFORM if word in words], words
        neighbour.create(path, body)
        cluster.admin.create(path, body)
    finally:
        alice.delete(f"{VALIDATING}/hook")
    eventually(lambda: unless("InternalError", alice.create, path, body))


def test_a_webhook_configuration_reads_back_unchanged_and_can_be_patched(
    alice: Api, hook: Hook
) -> None:
    client = hook.client("hooks", "hook", "/judge")
    client["service"]["port"] = 443
    written = alice.create(VALIDATING, configuration(client, rules=[]))
    try:
        assert written["webhooks"][0]["clientConfig"] == client
        path = f"{VALIDATING}/hook"
        other = client["service"] | {"path": "/other"}
        at = "/webhooks/0/clientConfig/service"
        replaced = {"op": "replace", "path": at, "value": other}
        shown = alice.patch(path, [replaced], JSON_PATCH)
        assert shown["webhooks"][0]["clientConfig"]["service"] == other
        alone = {"op": "replace", "path": f"{at}/path", "value": "/x"}
        words = refusal(alice.patch, path, [alone], JSON_PATCH, status=422)
        assert "write its namespace and name, and all else, together" in words
        assert alice.replace(path, shown)["metadata"]["generation"] == 2
    finally:
        alice.delete(f"{VALIDATING}/hook")


def test_a_webhook_is_asked_about_a_kind_that_is_defined_after_it(alice: Api, hook: Hook) -> None:
    """An operator installs both together; the webhook was never asked, without a word."""
    group, kinds = "late.example.com", "/apis/late.example.com/v1/namespaces/default/lutes"
    hook.answers["/late"] = lambda _: {"allowed": False, "status": {"message": "asked late"}}
    client = hook.client("hooks", "hook", "/late")
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    made = configuration(client, rules=[rule])
    made["metadata"]["name"] = "late"
    alice.create(VALIDATING, made)
    assert alice.get(f"{VALIDATING}/late")["webhooks"][0]["rules"][0]["apiGroups"] == [group]
    schema = {"openAPIV3Schema": {"type": "object"}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "lutes", "singular": "lute", "kind": "Lute"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    alice.create(DEFINITIONS, {"metadata": {"name": f"lutes.{group}"}, "spec": spec})
    one = {"apiVersion": f"{group}/v1", "kind": "Lute", "metadata": {"generateName": "one-"}}
    eventually(lambda: unless("NotFound", alice.get, kinds))
    assert "asked late" in refusal(alice.create, kinds, one, status=400)
    alice.delete(f"{VALIDATING}/late")
    alice.delete(f"{DEFINITIONS}/lutes.{group}")


def test_a_conversion_webhook_converts_the_tenants_custom_resource(alice: Api, hook: Hook) -> None:
    hook.answers["/convert"] = converted
    alice.create(DEFINITIONS, definition(hook.client("hooks", "hook", "/convert")))
    path = "/apis/shop.example.com/{}/carts"
    old, new = path.format("v1"), path.format("v2")
    cart = {"metadata": {"name": "one"}, "apiVersion": "shop.example.com/v1", "kind": "Cart"}
    eventually(lambda: unless("NotFound", alice.create, old, cart | {"size": 3}))
    shown = alice.get(f"{new}/one")
    assert shown["apiVersion"] == "shop.example.com/v2"
    assert shown["amount"] == 3
    assert not [word for word in PLATFORM if word in json.dumps(hook.asked[-1])]
    shown["metadata"]["labels"] = {"a": "b"}
    alice.replace(f"{new}/one", shown)
    assert alice.get(f"{old}/one")["metadata"]["labels"] == {"a": "b"}
    assert [each["metadata"]["name"] for each in alice.items(new)] == ["one"]


def test_a_dead_conversion_webhook_does_not_block_lcluster_deletion(
    lclusters: LClusters, cluster: GatewayCluster, hook: Hook
) -> None:
    """What is stored is listed to be deleted, and the API server lists it in another version."""
    api = lclusters.make_administered("gone")
    api.create(DEFINITIONS, definition(hook.client("default", "nobody", "/c"), "Namespaced"))
    path = "/apis/shop.example.com/v1/namespaces/default/carts"
    cart: Object = {"metadata": {"name": "one"}}
    cart |= {"apiVersion": "shop.example.com/v1", "kind": "Cart"}
    eventually(lambda: unless("NotFound", api.create, path, cart))
    cluster.admin.delete(f"{LCLUSTERS}/gone")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/gone") is None, 60)
    assert "gone-" not in json.dumps(cluster.admin.items(DEFINITIONS))


def test_a_tenant_can_remove_finalizers_in_a_terminating_namespace(
    alice: Api, cluster: GatewayCluster
) -> None:
    """The namespace controller took the account's rights first, and no operator could finish."""
    alice.create(NAMESPACES, {"metadata": {"name": "ending"}})
    path = ns_path("ending", "configmaps")
    kept = {"metadata": {"name": "kept", "finalizers": ["example.com/mine"]}}
    alice.create(path, kept)
    alice.delete(f"{NAMESPACES}/ending")
    eventually(lambda: "deletionTimestamp" in alice.get(f"{path}/kept")["metadata"])
    refusal(alice.create, path, {"metadata": {"name": "late"}})
    alice.patch(f"{path}/kept", {"metadata": {"finalizers": None}})
    eventually(lambda: cluster.admin.find(f"{NAMESPACES}/quokka-ending") is None)


def test_a_deleted_lcluster_can_finalize_its_own_objects(
    lclusters: LClusters, cluster: GatewayCluster, hook: Hook
) -> None:
    api = lclusters.make_administered("ending")
    kind = definition(hook.client("default", "nobody", "/c"))
    kind["spec"].pop("conversion")
    api.create(DEFINITIONS, kind)
    path = "/apis/shop.example.com/v1/carts"
    cart: Object = {"metadata": {"name": "one", "finalizers": ["example.com/mine"]}}
    cart |= {"apiVersion": "shop.example.com/v1", "kind": "Cart"}
    eventually(lambda: unless("NotFound", api.create, path, cart))
    cluster.admin.delete(f"{LCLUSTERS}/ending")
    eventually(lambda: "deletionTimestamp" in api.get(f"{path}/one")["metadata"])
    words = refusal(api.create, NAMESPACES, {"metadata": {"name": "late"}})
    assert 'unable to create new content in LCluster "ending": it is being deleted' in words
    api.patch(f"{path}/one", {"metadata": {"finalizers": None}})
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/ending") is None, 60)
    assert "ending-" not in json.dumps(cluster.admin.items(NAMESPACES))


def definition(client: Object, scope: str = "Cluster") -> Object:
    """Return a kind in two versions."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v2")
    ]
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    return {
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": scope,
            "names": {"plural": "carts", "singular": "cart", "kind": "Cart"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def converted(request: Object) -> Object:
    """Convert: what is `size` in v1 is `amount` in v2; no other group is known here."""
    wanted = request["desiredAPIVersion"]
    before, after = ("amount", "size") if wanted.endswith("v1") else ("size", "amount")
    assert wanted.startswith("shop.example.com/")
    objects = [
        {key: value for key, value in each.items() if key != before}
        | {"apiVersion": wanted, after: each[before]}
        for each in request["objects"]
    ]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


def test_expressions_of_a_tenants_policy_read_the_tenants_own_names(
    alice: Api, cluster: GatewayCluster
) -> None:
    """An expression that compared a name compared the platform's, and refused everything."""
    alice.create(NAMESPACES, {"metadata": {"name": "judged"}})
    expressions = (
        "request.namespace == 'judged'",
        "namespaceObject.metadata.name == 'judged'",
        "object.metadata.namespace == 'judged'",
        "object.metadata.name == request.name && object.metadata.name != 'bad'",
    )
    message = "'not ' + object.metadata.name + ' in ' + request.namespace"
    validations = [{"expression": each, "messageExpression": message} for each in expressions]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    rules = {"resourceRules": [rule | {"operations": ["CREATE"]}]}
    spec = {"matchConstraints": rules, "validations": validations}
    spec["matchConditions"] = [{"name": "judged", "expression": expressions[0]}]
    policy = {"metadata": {"name": "names"}, "spec": spec}
    assert alice.create(POLICIES, policy)["spec"]["validations"] == validations
    bound = {"policyName": "names", "validationActions": ["Deny"]}
    alice.create(BINDINGS, {"metadata": {"name": "names"}, "spec": bound})
    path = ns_path("judged", "configmaps")
    bad = {"metadata": {"name": "bad"}}
    eventually(lambda: not unless("Invalid", alice.create, path, bad, dryRun="All"))
    words = refusal(alice.create, path, bad, status=422)
    assert words.endswith("denied request: not bad in judged")
    alice.create(path, {"metadata": {"name": "good"}})
    alice.create(ns_path("default", "configmaps"), bad)
    alice.delete(f"{BINDINGS}/names")
    assert "quokka-" in str(cluster.admin.get(f"{POLICIES}/quokka-names")["spec"])


def test_the_webhook_endpoint_refuses_requests_without_the_key(
    cluster: GatewayCluster, alice: Api, hook: Hook
) -> None:
    del alice
    before = len(hook.asked)
    port = cluster.gateway.webhooks
    for path in ("/", "/webhooks/quokka/00/quokka-hooks/hook/443/judge", "/api", "/readyz"):
        assert post(port, path) == 404
    assert len(hook.asked) == before


def post(port: int, path: str) -> int:
    """Return the status of a request to the port for webhooks."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    connection.request("POST", path, "{}")
    return connection.getresponse().status
