"""No webhook or policy of a tenant refuses or slows what others write, by how it fails.

The API server reads the match conditions of all of them, and the parameters of all policies, for
each write of a cluster-scoped object: no selector of namespaces applies to those.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest

from tests.e2e.support.api import (
    APPLY,
    JSON_PATCH,
    RBAC,
    Api,
    ApiError,
    Object,
    ns_path,
    refusal,
    unless,
)
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters
from tests.e2e.support.people import People
from tests.e2e.support.versions import since
from tests.e2e.support.waiting import eventually

TENANT = "magpie"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
NODES = "/api/v1/nodes"
CONFIG_MAPS = ns_path("default", "configmaps")
MUTATING_POLICIES = since("1.36", "MutatingAdmissionPolicies")

LISTED = "[" + ",".join(["1"] * 100) + "]"
DEAR = f"{LISTED}.all(a, {LISTED}.all(b, {LISTED}.all(c, a == b && b == c)))"
"""An expression that costs more than the API server lets one cost."""
RULES = [
    {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["nodes", "configmaps"],
    }
]


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def root(cluster: GatewayCluster, people: People) -> Api:
    """Return the administrator inside an LCluster."""
    lclusters = LClusters(cluster, people)
    return lclusters.make_administered(TENANT)


def conditions(expression: str, number: int = 4) -> list[Object]:
    return [{"name": f"c{each}", "expression": expression} for each in range(number)]


def webhooks(name: str, expression: str) -> list[tuple[str, Object]]:
    service = {"service": {"namespace": "default", "name": "nobody"}}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": service,
        "rules": RULES,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchConditions": conditions(expression),
    }
    body = {"metadata": {"name": name}, "webhooks": [webhook]}
    return [(f"{REGISTRATION}/validatingwebhookconfigurations", body)]


def policies(name: str, kind: str, more: Object, **bound: object) -> list[tuple[str, Object]]:
    named = {"metadata": {"name": name}}
    judged: Object = {"validations": [{"expression": "false"}]}
    if kind == "mutating":
        patch = "[JSONPatch{op: 'test', path: '/kind', value: 'Nothing'}]"
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
        judged = {"mutations": [mutation], "reinvocationPolicy": "Never"}
    else:
        bound |= {"validationActions": ["Deny"]}
    constraints = {"matchConstraints": {"resourceRules": RULES}}
    spec = {"failurePolicy": "Fail"} | constraints | judged | more
    return [
        (f"{REGISTRATION}/{kind}admissionpolicies", named | {"spec": spec}),
        (
            f"{REGISTRATION}/{kind}admissionpolicybindings",
            named | {"spec": {"policyName": name} | bound},
        ),
    ]


ATTACKS = {
    "webhook": lambda name: webhooks(name, DEAR),
    "validating": lambda name: policies(name, "validating", {"matchConditions": conditions(DEAR)}),
    "mutating": lambda name: policies(name, "mutating", {"matchConditions": conditions(DEAR)}),
}


@contextmanager
def there(root: Api, written: list[tuple[str, Object]]) -> Iterator[None]:
    """Have objects of the tenant."""
    for path, body in written:
        root.create(path, body)
    try:
        yield
    finally:
        for path, body in reversed(written):
            root.remove(f"{path}/{body['metadata']['name']}")


def refused(api: Api, path: str) -> str:
    """Return why an object may not be created; empty if it may."""
    try:
        api.create(path, {"metadata": {"name": "probe"}}, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "attack", ["webhook", "validating", pytest.param("mutating", marks=MUTATING_POLICIES)]
)
def test_conditions_that_cost_too_much_refuse_no_write_of_others(
    cluster: GatewayCluster, root: Api, attack: str
) -> None:
    """Nodes could not be written, nor anything else that is cluster-scoped."""
    with there(root, ATTACKS[attack](f"dear-{attack}")):
        eventually(lambda: "cost budget" in refused(root, CONFIG_MAPS), what="it is not in force")
        assert refused(cluster.admin, NODES) == ""
    eventually(lambda: not refused(root, CONFIG_MAPS), what="it is still in force")


def test_no_line_break_of_yaml_in_an_apply_ends_a_comment_of_a_condition(
    cluster: GatewayCluster, root: Api
) -> None:
    """The API server reads an apply as YAML. What followed the comment was for all requests."""
    hidden = {"matchConditions": conditions(f"true //\x85\x85) : {DEAR} ? (true")}
    (path, body), binding = policies("hidden", "validating", hidden)
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    root.patch(f"{path}/hidden", kind | body, kind=APPLY, fieldManager="test")
    try:
        with there(root, [binding]):
            eventually(lambda: "false" in refused(root, CONFIG_MAPS), what="it is not in force")
            assert refused(cluster.admin, NODES) == ""
    finally:
        root.remove(f"{path}/hidden")


def test_a_condition_that_is_no_expression_is_refused_as_it_was_written(root: Api) -> None:
    ((path, body),) = webhooks("bad", "... [] bad expression")
    told = refusal(root.create, path, body, status=422)
    assert "compilation failed" in told
    assert 'Invalid value: "... [] bad expression"' in told
    assert "lcluster" not in told


def test_a_refusal_of_parameters_does_not_name_the_gateways_account(root: Api) -> None:
    """The API server asks whether the author may read them, and says who may not."""
    more = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    ref = {"name": "a", "namespace": "default", "parameterNotFoundAction": "Deny"}
    for path, body in policies("read", "validating", more, paramRef=ref):
        told = refusal(root.create, path, body, status=422)
        assert "have no parameters" in told
        assert "system:serviceaccount" not in told


@MUTATING_POLICIES
def test_an_expression_does_not_read_the_names_of_people_of_the_platform(
    cluster: GatewayCluster, root: Api
) -> None:
    """A policy wrote the name and the groups of whoever changed a Deployment into it."""
    value = "request.userInfo.username + ' ' + request.userInfo.groups.join(' ')"
    patch = f"[JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{'who': {value}}}}}]"
    rule = {"apiGroups": ["apps"], "resources": ["deployments"]}
    more = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [RULES[0] | rule]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    deployments = "/apis/apps/v1/namespaces/{}default/deployments"

    def who(api: Api, prefix: str) -> str:
        labels = {"app": "a"}
        containers = [{"name": "main", "image": "none"}]
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": "a"}, "spec": spec}
        made = api.create(deployments.format(prefix), body, dryRun="All")
        return str(made["metadata"].get("annotations", {}).get("who", ""))

    with there(root, policies("who", "mutating", more)):
        eventually(lambda: who(root, ""), what="it is not in force")
        assert who(cluster.admin, f"{TENANT}-") == ""


@pytest.fixture
def limited(cluster: GatewayCluster, root: Api) -> Iterator[Api]:
    """Return the administrator while the LCluster has limits of its own."""
    path = f"{LCLUSTERS}/{TENANT}"
    cluster.admin.patch(path, {"spec": {"limits": {"admission": 7, "clusterRoleBindings": 2}}})
    more = partial(root.create, f"{RBAC}/clusterrolebindings", granted("probe", 48), dryRun="All")
    eventually(lambda: refusal(more))
    yield root
    cluster.admin.patch(path, {"spec": {"limits": None}})


def granted(name: str, subjects: int) -> Object:
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    people = [{"apiGroup": group, "kind": "User", "name": f"u{each}"} for each in range(subjects)]
    return {"metadata": {"name": name}, "roleRef": role, "subjects": people}


def test_webhooks_and_policies_of_one_lcluster_are_bounded(limited: Api) -> None:
    """The API server goes through all of them for each write of a Node, 40 microseconds each."""
    ((path, hooks),) = webhooks("first", "false")  # counts 5: one, and four conditions
    mine = f"{path}/first"
    with there(limited, [(path, hooks), *policies("own", "validating", {})]):
        full = "used: admission=7, limited: admission=7"
        bound = policies("more", "validating", {})[1]
        words = f"exceeded quota: lcluster, requested: admission=1, {full}"
        assert refusal(limited.create, *bound).endswith(f" is forbidden: {words}")
        grown = hooks["webhooks"] * 2
        grown[1] = grown[1] | {"name": "second.example.com"}
        add = [{"op": "add", "path": "/webhooks/-", "value": grown[1]}]
        assert full in refusal(limited.patch, mine, add, kind=JSON_PATCH)
        whole = {"apiVersion": "admissionregistration.k8s.io/v1", **hooks}
        whole |= {"kind": "ValidatingWebhookConfiguration"}
        apply = partial(limited.patch, mine, kind=APPLY, fieldManager="test", force="true")
        assert full in refusal(apply, whole | {"webhooks": grown})
        assert len(apply(whole)["webhooks"]) == 1
    many = [webhooks(f"w{each}", "false")[0] for each in range(6)]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda each: unless("Forbidden", limited.create, *each), many))
    assert made.count(True) == 1
    limited.remove(f"{path}/w{made.index(True)}")
    with there(limited, [many[0]]):
        assert "used: admission=5" in refusal(limited.create, *many[1])


def test_cluster_role_bindings_of_one_lcluster_are_bounded(limited: Api) -> None:
    """The API server goes through the subjects of all of them for each request of everybody."""
    path, count = (
        f"{RBAC}/clusterrolebindings",
        "count/clusterrolebindings.rbac.authorization.k8s.io",
    )
    with there(limited, [(path, granted("few", 15))]):
        told = refusal(limited.patch, f"{path}/few", granted("few", 32))
        assert f"requested: {count}=2, used: {count}=1" in told
        with there(limited, [(path, granted("other", 0))]):
            told = refusal(limited.create, path, granted("more", 0))
            assert f"exceeded quota: lcluster, requested: {count}=1, used: {count}=2" in told
    with there(limited, [(path, granted("again", 31))]):
        assert limited.get(f"{path}/again")
