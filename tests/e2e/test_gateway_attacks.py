"""A hostile tenant: what it tries through the gateway, and what it must not learn or change.

Evidence is what is upstream, and what the other tenant has; never what the attacker was answered.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from lnamespace.translate.objects.confinement.admission import CONDITION
from lnamespace.translate.objects.confinement.schema_sizes import MAX_SIZE, total_for

from tests.e2e.support.api import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    NAMESPACES,
    RBAC,
    Api,
    Object,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE
from tests.e2e.support.gateway import GATEWAY_ACCOUNT, GatewayCluster, LClusters, Resident
from tests.e2e.support.gateway_theft import UNFENCED, ways_to_more
from tests.e2e.support.people import People
from tests.e2e.support.versions import REPLAY
from tests.e2e.support.waiting import eventually
from tests.e2e.support.walks import WANTED, Step, errors, planted, reads, walk

GROUP = "rbac.authorization.k8s.io"
VIEWER = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"}
CANARY = "zyzzyva"
"""A word that is nowhere but in what belongs to the other tenant."""
ATTACKER, VICTIM = "axolotl", "zyzzyvas"
WORDS = (CANARY, ATTACKER, "lnamespace-", "tenancy.loblaw")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SENT = (("Content-Type", JSON),)
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return the LClusters of the attacker and of the victim."""
    made = LClusters(cluster, people)
    made.make(ATTACKER, "alice", "bob", sudoers=("alice",))
    made.make(VICTIM, "alice", sudoers=("alice",))
    return made


@pytest.fixture(scope="module")
def bob(lclusters: LClusters) -> Resident:
    """Return a user of the attacker's cluster who is no sudoer."""
    return lclusters.resident(ATTACKER, "bob")


@pytest.fixture(scope="module")
def root(lclusters: LClusters) -> Api:
    """Return a sudoer of the attacker's cluster with sudo."""
    return lclusters.administrator(ATTACKER)


@pytest.fixture(scope="module")
def victim(lclusters: LClusters) -> Api:
    """Return a sudoer of the victim's cluster, in which everything bears the canary word."""
    api = lclusters.administrator(VICTIM)
    api.create(NAMESPACES, {"metadata": {"name": CANARY}})
    for path, body in planted(CANARY):
        api.create(path, body)
    return api


def test_no_response_contains_names_of_another_tenant_or_the_tenants_prefix(
    victim: Api, bob: Resident, root: Api
) -> None:
    assert victim.get(ns_path(CANARY, "secrets", CANARY))["metadata"]["name"] == CANARY
    found = walk(bob.api, [*reads(bob.api), *errors()], WORDS)
    assert not found.leaks, found.leaks[:5]
    assert found.steps > 300
    assert found.codes >= WANTED
    assert not walk(root, errors(), WORDS).leaks


def test_the_leak_search_finds_a_planted_leak(cluster: GatewayCluster, bob: Resident) -> None:
    path = ns_path(f"{ATTACKER}-default", "configmaps")
    cluster.admin.create(path, {"metadata": {"name": "planted"}, "data": {"a": CANARY}})
    try:
        found = walk(bob.api, [Step("GET", "/api/v1/configmaps")], WORDS)
    finally:
        cluster.admin.delete(f"{path}/planted")
    assert found.leaks


def test_objects_of_another_tenant_are_answered_like_nonexistent_objects(
    victim: Api, root: Api
) -> None:
    del victim
    nobody = "zzzzzzz"
    groups = "/apis/{0}.example.com/v1/{0}s"
    paths = [
        groups,
        groups + "/{0}",
        "/apis/{0}.example.com",
        "/openapi/v3/apis/{0}.example.com/v1",
    ]
    paths += [
        f"{NAMESPACES}/{{0}}{more}" for more in ("", "/secrets", "/secrets/{0}", "/pods/{0}/log")
    ]
    for path, body in planted("{0}"):
        del body
        paths += [f"{path}/{{0}}", f"{path}?fieldSelector=metadata.name%3D{{0}}"]
    for path in paths:
        for upstream in ("{0}", VICTIM + "-{0}"):
            spelled = path.replace("{0}", upstream)
            theirs = root.answer("GET", spelled.replace("{0}", CANARY))
            none = root.answer("GET", spelled.replace("{0}", nobody))
            assert theirs.status == none.status, spelled
            told = [_timeless(each.body).replace(CANARY, nobody) for each in (theirs, none)]
            assert told[0] == told[1], spelled


def _timeless(body: bytes) -> str:
    """Return an answer without its resource version."""
    try:
        read = json.loads(body)
    except ValueError:
        return body.decode("latin-1")
    read.get("metadata", {}).pop("resourceVersion", None)
    return json.dumps(read)


def test_owner_references_cannot_refer_to_kinds_of_another_tenant(
    cluster: GatewayCluster, root: Api
) -> None:
    """Whether the garbage collector took an object told which kinds the other tenant had."""
    kinds = (("tenancy.loblaw.digital/v1beta1", "LCluster"), (f"{VICTIM}-example.com/v1", "Widget"))
    owners = [
        {"apiVersion": version, "kind": kind, "name": VICTIM, "uid": kind}
        for version, kind in kinds
    ]
    body = {"metadata": {"name": "owned", "ownerReferences": owners}}
    root.create(ns_path("default", "configmaps"), body)
    stored = cluster.admin.get(ns_path(f"{ATTACKER}-default", "configmaps", "owned"))
    versions = [each["apiVersion"] for each in stored["metadata"]["ownerReferences"]]
    assert all(each.startswith(f"{ATTACKER}-") for each in versions), versions
    shown = root.get(ns_path("default", "configmaps", "owned"))
    assert shown["metadata"]["ownerReferences"] == owners


def test_a_tenant_cannot_delete_the_default_and_system_namespaces(root: Api) -> None:
    for name in ("default", "kube-system", "kube-public"):
        assert "may not be deleted" in refusal(root.delete, f"{NAMESPACES}/{name}")
        assert not root.get(f"{NAMESPACES}/{name}")["metadata"].get("deletionTimestamp")


def test_a_tenant_cannot_read_or_change_the_role_binding_of_its_account(
    cluster: GatewayCluster, bob: Resident, root: Api
) -> None:
    space = f"{ATTACKER}-default"
    upstream = rbac_path("rolebindings", "lcluster:account", space)
    before = cluster.admin.get(upstream)
    path = rbac_path("rolebindings", "", "default")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    hidden = {"metadata": {"name": "lcluster:account"}, "roleRef": role, "subjects": []}
    stem = {"metadata": {"generateName": "lcluster:"}, "roleRef": role, "subjects": []}
    for api in (bob.api, root):
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            kind = "application/merge-patch+json" if method == "PATCH" else JSON
            body = b"" if method in ("GET", "DELETE") else json.dumps(hidden).encode()
            headers = (("Content-Type", kind),)
            answer = api.answer(method, f"{path}/lcluster:account", body, headers)
            assert answer.status in (403, 404)
        for made in (hidden, stem):
            assert api.answer("POST", path, json.dumps(made).encode(), SENT).status == 403
        api.answer("DELETE", path)
        api.answer("DELETE", f"{path}?fieldSelector=metadata.name%3Dlcluster:account")
    after = cluster.admin.items(rbac_path("rolebindings", "", space))
    named = [each for each in after if each["metadata"]["name"].startswith("lcluster:")]
    assert [each["metadata"]["uid"] for each in named] == [before["metadata"]["uid"]]
    assert named[0]["subjects"] == before["subjects"]


def test_a_binding_to_system_authenticated_gives_other_tenants_no_access(
    cluster: GatewayCluster, victim: Api, root: Api, lclusters: LClusters
) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    groups = ("system:authenticated", "system:serviceaccounts", "system:masters")
    subjects = [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": each} for each in groups
    ]
    body = {"metadata": {"name": "all"}, "roleRef": role, "subjects": subjects}
    root.create(f"{RBAC}/clusterrolebindings", body)
    root.create(rbac_path("rolebindings", "", "default"), body)
    spec = {
        "user": f"system:serviceaccount:{VICTIM}-default:default",
        "groups": ["system:authenticated", "system:serviceaccounts"],
        "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": ""},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    for namespace in ("", "kube-system", f"{ATTACKER}-default", f"{VICTIM}-default"):
        spec["resourceAttributes"] = {"verb": "get", "resource": "secrets", "namespace": namespace}
        assert not cluster.admin.create(path, {"spec": spec})["status"]["allowed"]
    assert victim.items(ns_path(CANARY, "secrets"))
    stranger = lclusters.person_without_access(ATTACKER, "mallory")
    assert "not listed" in refusal(stranger.api.get, NAMESPACES)
    for path in (f"{RBAC}/clusterrolebindings", rbac_path("rolebindings", "", "default")):
        root.delete(f"{path}/all")  # inside, everybody is an administrator by them


def test_a_service_account_token_reads_nothing_at_the_platforms_api_server(
    cluster: GatewayCluster, bob: Resident
) -> None:
    token = bob.api.create(ns_path("default", "serviceaccounts", "default/token"), {"spec": {}})
    file = cluster.certificates / "stolen.kubeconfig"
    stolen = cluster.admin.with_token(token["status"]["token"], file)
    kinds = ("namespaces", "secrets", "nodes", "persistentvolumes", "configmaps")
    paths = [f"/api/v1/{each}" for each in kinds]
    paths += [ns_path(f"{VICTIM}-default", "secrets"), f"{RBAC}/clusterroles"]
    assert [stolen.answer("GET", path).status for path in paths] == [403] * len(paths)


def test_an_address_of_a_tenants_load_balancer_leads_no_node_astray(
    cluster: GatewayCluster, root: Api, lclusters: LClusters
) -> None:
    """Every node takes traffic for an address in a Service's status, and for any class."""
    ports = [{"port": 443, "protocol": "TCP"}]
    spec = {"type": "LoadBalancer", "ports": ports, "selector": {"a": "b"}}
    own = {"loadBalancerClass": "example.com/own"}
    services, alice = ns_path("default", "services"), lclusters.resident(ATTACKER, "alice")
    root.create(services, {"metadata": {"name": "trap"}, "spec": spec | own})
    root.create(services, {"metadata": {"name": "platforms"}, "spec": spec})
    entry = {"ip": "203.0.113.7", "ipMode": "VIP"}
    status = {"status": {"loadBalancer": {"ingress": [entry]}}}
    assert root.patch(f"{services}/trap/status", status)["status"] == status["status"]
    written = root.get(f"{services}/trap")
    written["status"]["loadBalancer"]["ingress"].append({"ip": "2001:db8::1"})
    written = root.replace(f"{services}/trap/status", written)
    assert written["status"]["loadBalancer"]["ingress"][1]["ip"] == "2001:db8::1"
    printed = alice.kubectl("get", "services", "trap", "-n", "default").ok()
    assert "203.0.113.7" in printed
    assert "invalid" not in printed
    upstream = ns_path(f"{ATTACKER}-default", "services")
    stored = cluster.admin.get(f"{upstream}/trap")["status"]
    assert "203.0.113.7" not in repr(stored)
    assert "'ip'" not in repr(stored)
    # Of one that the platform balances, the addresses are the platform's.
    assert "only the platform" in refusal(root.patch, f"{services}/platforms/status", status)
    cluster.admin.patch(f"{upstream}/platforms/status", status)
    found = root.get(f"{services}/platforms")
    assert found["status"]["loadBalancer"]["ingress"] == [entry]
    found["metadata"].setdefault("annotations", {})["a"] = "b"
    root.replace(f"{services}/platforms/status", found)
    assert cluster.admin.get(f"{upstream}/platforms")["status"] == status["status"]
    for name in ("trap", "platforms"):
        root.remove(f"{services}/{name}")


def test_an_ingress_without_a_class_has_the_address_that_its_tenant_wrote(
    cluster: GatewayCluster, root: Api
) -> None:
    """As Kubernetes' conformance asks for it."""
    ingresses = "/apis/networking.k8s.io/v1/namespaces/{}/ingresses"
    path = f"{ingresses.format('default')}/web"
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    body = {"metadata": {"name": "web"}, "spec": {"defaultBackend": backend}}
    root.create(ingresses.format("default"), body)
    for ip in ("169.1.1.1", "169.1.1.2"):
        status = {"loadBalancer": {"ingress": [{"ip": ip}]}}
        if ip == "169.1.1.1":
            found = root.patch(f"{path}/status", {"status": status})
        else:
            found = root.replace(f"{path}/status", root.get(path) | {"status": status})
        assert found["status"] == status
        stored = cluster.admin.get(f"{ingresses.format(f'{ATTACKER}-default')}/web")
        assert ip not in repr(stored["status"])
    root.remove(path)


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"])
def test_no_apply_takes_the_condition_from_an_admission_policy(
    cluster: GatewayCluster, root: Api, kind: str
) -> None:
    """One without a specification removed what its manager had applied: the gateway's condition.

    The API server asks no policy about policies, so the rest was in force for everybody.
    """
    plural = f"{kind.lower().removesuffix('y')}ies"
    if cluster.admin.answer("GET", f"{ADMISSION}/{plural}").status != 200:
        pytest.skip("the API server does not serve this version")
    name: Object = {"apiVersion": f"{ADMISSION[6:]}", "kind": kind, "metadata": {"name": "free"}}
    path = f"{ADMISSION}/{plural}/free"
    root.patch(path, name | {"spec": policy_of(kind, "nothings")}, APPLY, fieldManager="a")
    root.patch(path, {"spec": policy_of(kind, "nobodies")}, fieldManager="b")
    root.patch(path, name, APPLY, fieldManager="a", force="true")
    stored = cluster.admin.get(f"{ADMISSION}/{plural}/{ATTACKER}-free")["spec"]
    assert [each["name"] for each in stored["matchConditions"]] == [CONDITION]
    root.remove(path)


def policy_of(kind: str, resources: str) -> Object:
    """Return a policy about resources that there are not, which differs in each field."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"]}
    rules = {"resourceRules": [rule | {"resources": [resources]}]}
    first = resources == "nothings"
    spec: Object = {"matchConstraints": rules, "failurePolicy": "Ignore" if first else "Fail"}
    if kind.startswith("Validating"):
        return spec | {"validations": [{"expression": f"'{resources}' != ''"}]}
    expression = f'Object{{metadata: Object.metadata{{labels: {{"a": "{resources}"}}}}}}'
    patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    again = "Never" if first else "IfNeeded"
    return spec | {"reinvocationPolicy": again, "mutations": [patch]}


DEEP = b'{"f:a":' * 9900 + b"{}" + b"}" * 9900
"""Managed fields as deep as the API server takes them."""


CLAIM = (
    b',"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"' + ATTACKER.encode() + b'-fast"'
    b',"resources":{"requests":{"storage":"1Gi"}}}}'
)


def poisons() -> Iterator[tuple[str, bytes]]:
    """Give objects that a tenant's ServiceAccount may write, which are hard to translate."""
    entry = b'{"manager":"x","operation":"Update","fieldsType":"FieldsV1","apiVersion":'
    for group, plural in (
        ("v1", "configmaps"),
        ("v1", "persistentvolumeclaims"),
        ("rbac.authorization.k8s.io/v1", "roles"),
    ):
        fields = entry + json.dumps(group).encode() + b',"fieldsV1":' + DEEP + b"}"
        start = b'{"metadata":{"name":"poison","managedFields":['
        end = CLAIM if plural == "persistentvolumeclaims" else b"}"
        yield f"{group} {plural}", start + fields + b"]}" + end
    data = b'{"metadata":{"name":"poison"},"revision":1,"data":' + DEEP + b"}"
    yield "apps/v1 controllerrevisions", data
    metrics = "autoscaling.alpha.kubernetes.io/metrics"
    for name, text in (("a", "{"), ("b", "[" * 100_000), ("c", f'[{{"object":"{VICTIM}-a"}}]')):
        meta = {"name": f"poison-{name}", "annotations": {metrics: text}}
        target = {"apiVersion": f"{VICTIM}-example.com/v1", "kind": "Deployment", "name": "x"}
        spec = {"maxReplicas": 1, "scaleTargetRef": target}
        body = json.dumps({"metadata": meta, "spec": spec}).encode()
        yield "autoscaling/v2 horizontalpodautoscalers", body
    owner = {"apiVersion": "none.example.com/v9", "kind": "None", "name": "x", "uid": "x"}
    of_nobody = {"metadata": {"name": "poison", "ownerReferences": [owner]}}
    yield "v1 serviceaccounts", json.dumps(of_nobody).encode()
    about = {"kind": "Namespace", "name": f"{VICTIM}-default", "namespace": f"{ATTACKER}-default"}
    seen = {"metadata": {"name": "poison"}, "involvedObject": about, "message": "x"}
    yield "v1 events", json.dumps(seen).encode()


def test_hostile_objects_written_upstream_break_no_list_watch_or_role_update(
    cluster: GatewayCluster, root: Api, victim: Api
) -> None:
    robot = robot_of(cluster, root)
    for kind, body in poisons():
        version, _, plural = kind.partition(" ")
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        home = f"{base}/namespaces/{ATTACKER}-default/{plural}"
        written = robot.answer("POST", home, body, SENT)
        assert written.status == 201, (kind, written.text[-500:])
        watched = f"{base}/{plural}?{REPLAY}&timeoutSeconds=1"
        for path in (f"{base}/{plural}", f"{base}/namespaces/default/{plural}", watched):
            # In a second a busy API server may have sent nothing of a watch yet.
            eventually(partial(shows_poison, root, path), what=path)
    for api in (root, victim):  # what is granted afterwards counts, and what is revoked too
        grant_and_revoke(api)


def shows_poison(root: Api, path: str) -> bool:
    """Return whether an answer without an error has a hostile object."""
    answer = root.answer("GET", path)
    assert answer.status == 200, (path, answer.text[:500])
    assert '"type":"ERROR"' not in answer.text, path
    return '"name":"poison' in answer.text


def grant_and_revoke(api: Api) -> None:
    """Show that news of roles arrive."""
    later = [{"apiGroup": GROUP, "kind": "User", "name": "later"}]
    bound = {"metadata": {"name": "later"}, "subjects": later, "roleRef": VIEWER}
    api.create(f"{RBAC}/clusterrolebindings", bound)
    eventually(lambda: may_read(api))
    api.delete(f"{RBAC}/clusterrolebindings/later")
    eventually(lambda: not may_read(api))


def may_read(api: Api) -> bool:
    """Return whether user ``later`` may read pods inside."""
    asked = {"user": "later", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    allowed: bool = api.create(path, {"spec": asked})["status"]["allowed"]
    return allowed


def test_a_stolen_gateway_token_gives_only_the_rights_of_tenants(
    cluster: GatewayCluster, victim: Api
) -> None:
    del victim
    stolen = Api(cluster.token(RELEASE_NAMESPACE, GATEWAY_ACCOUNT))
    account = f"system:serviceaccount:lnamespace-clusters:{ATTACKER}"
    own = stolen.acting(account).answer("GET", ns_path(f"{ATTACKER}-default", "secrets"))
    assert own.status == 200, "what the gateway is for"
    assert stolen.answer("GET", NAMESPACES).status == 200
    ways = ways_to_more(ATTACKER, VICTIM)
    assert len(ways) > 40
    answers = {
        what: stolen.answer(way.method, way.path, way.body, way.headers).status
        for what, way in ways.items()
    }
    assert {what: code for what, code in answers.items() if code != 403} == {}
    assert [stolen.answer(way.method, way.path).status for way in UNFENCED] == [200, 200]


def test_no_header_or_token_gives_a_caller_another_identity(
    cluster: GatewayCluster, lclusters: LClusters, victim: Api, bob: Resident
) -> None:
    tokens = {
        "of the victim": victim.create(
            ns_path("default", "serviceaccounts", "default/token"), {"spec": {}}
        )["status"]["token"],
        "of the platform": cluster.admin.create(
            ns_path("kube-system", "serviceaccounts", "default/token"), {"spec": {}}
        )["status"]["token"],
        "of nobody": "x.y.z",
        "that is empty": "",
    }
    for what, token in tokens.items():  # beside a certificate, and alone
        bearer = ("Authorization", f"Bearer {token}")
        answer = bob.api.answer("POST", WHO, b"{}", (*SENT, bearer))
        assert answer.status == 401, (what, answer.text)
    stranger = bob.api.with_token(tokens["of the victim"], cluster.certificates / "foreign")
    assert stranger.answer("GET", NAMESPACES).status in (401, 403)
    for headers in (
        [("Impersonate-User", "system:admin")],
        [("impersonate-user", "alice")],
        [("IMPERSONATE-USER", "alice"), ("Impersonate-Group", "system:masters")],
        [("Impersonate-Group", "system:masters")],
        [("Impersonate-Uid", "0")],
        [("Impersonate-Extra-Scopes", "all")],
        [("Connection", "Impersonate-User"), ("Impersonate-User", "alice")],
    ):
        answer = bob.api.answer("POST", WHO, b"{}", (*SENT, *headers))
        assert answer.status in (400, 403), (headers, answer.text)
    for headers in (
        [("X-Remote-User", "alice"), ("X-Remote-Group", "system:masters")],
        [("Impersonate_User", "alice"), ("Impersonate_Group", "system:masters")],
        [("X-Forwarded-User", "alice")],
        [("Connection", "Impersonate-User, Impersonate-Group, Authorization")],
    ):
        answer = bob.api.answer("POST", WHO, b"{}", (*SENT, *headers))
        assert answer.status in (201, 400), (headers, answer.text)
        if answer.status == 201:
            assert json.loads(answer.body)["status"]["userInfo"]["username"] == "bob"
        assert bob.api.answer("GET", f"{RBAC}/clusterroles/x", b"", tuple(headers)).status != 200
    assert lclusters


def robot_of(cluster: GatewayCluster, root: Api) -> Api:
    """Return a ServiceAccount with every right in a namespace, at the API server."""
    root.create(ns_path("default", "serviceaccounts"), {"metadata": {"name": "robot"}})
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    everything = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    bound = {"metadata": {"name": "robot"}, "roleRef": everything, "subjects": [subject]}
    root.create(rbac_path("rolebindings", "", "default"), bound)
    token = root.create(ns_path("default", "serviceaccounts", "robot/token"), {"spec": {}})
    robot = cluster.admin.with_token(
        token["status"]["token"], cluster.certificates / "robot.kubeconfig"
    )
    eventually(lambda: robot.answer("GET", ns_path(f"{ATTACKER}-default", "pods")).status == 200)
    return robot


def definition(group: str, **names: Any) -> Object:
    """Return a definition of a kind of one's own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{names['plural']}.{group}"}, "spec": spec}


def test_a_tenant_cannot_define_a_kind_with_a_name_of_a_platform_kind(
    cluster: GatewayCluster, bob: Resident
) -> None:
    """`kubectl get lc`, `lns` and `po` of everybody on the platform led to a user's objects."""
    own = {"kind": "Thing", "plural": "things", "singular": "thing"}
    for names in (
        {"kind": "LCluster", "plural": "lclusters", "singular": "lcluster"},
        {"shortNames": ["lc", "lns"]},
        {"singular": "lnamespace"},
        {"plural": "po"},
    ):
        taken = definition("aaa.example.com", **(own | names))
        assert "kind of the platform" in refusal(bob.api.create, CRDS, taken, status=422)
    made = bob.api.create(CRDS, definition("aaa.example.com", **own, shortNames=["po", "th"]))
    path = f"{CRDS}/{made['metadata']['name']}"
    try:
        # As whoever may change the same object by a patch.
        for change in ({"shortNames": ["lc"]}, {"singular": "po"}):
            refusal(bob.api.patch, path, {"spec": {"names": change}}, status=422)
        upstream = f"apis/{ATTACKER}-aaa.example.com/v1/things"
        eventually(lambda: upstream in asked(cluster, "th"), what="the kind is not served")
        assert "/api/v1/namespaces/default/pods" in asked(cluster, "po")
        assert "/apis/tenancy.loblaw.digital/v1beta1/lclusters" in asked(cluster, "lc")
        assert "/apis/tenancy.loblaw.digital/v1beta1/lnamespaces" in asked(cluster, "lns")
    finally:
        bob.api.remove(path)


def test_the_schemas_of_one_lcluster_are_bounded(bob: Resident) -> None:
    """A definition of 1.2 MB took 2 GB for as long as it was there, and an LCluster may have 200.

    Items of an enum stand for properties here: they count as much, and take less.
    """
    assert (total_for(200) or 0) < 2.5 * MAX_SIZE
    large, names = MAX_SIZE - 10, ("one", "small", "large", "last")
    one, small, full, last = paths = [path_of(define(name, 1)) for name in names]
    try:
        assert "quota: definition" in refusal(bob.api.create, CRDS, define("one", MAX_SIZE))
        bob.api.create(CRDS, define("small", 1))
        grown = {"spec": define("small", MAX_SIZE)["spec"]}
        assert "quota: definition" in refusal(bob.api.patch, small, grown)
        below = "/spec/versions/0/schema/openAPIV3Schema/properties"
        steps = [
            [{"op": "add", "path": f"{below}/{name}", "value": numbers(MAX_SIZE // 2)}]
            for name in ("b", "c")
        ]
        bob.api.patch(small, steps[0], kind=JSON_PATCH)
        assert "quota: definition" in refusal(bob.api.patch, small, steps[1], kind=JSON_PATCH)
        bob.api.create(CRDS, define("large", large))
        assert "quota: lcluster" in refusal(bob.api.create, CRDS, define("last", large))
        for path in (one, last):
            assert bob.api.find(path) is None
        bob.api.patch(small, {"metadata": {"labels": {"a": "b"}}})
        bob.api.remove(full)
        body = json.dumps(define("last", large)).encode()
        post = ("POST", CRDS, body, SENT)
        eventually(lambda: bob.api.answer(*post).status == 201, what="there is no room")
    finally:
        for each in paths:
            bob.api.remove(each)


@pytest.mark.parametrize(
    "schema",
    [{"description": "a\x7f"}, {"properties": {"k" * 1024: {"type": "string"}}}],
    ids=["a character", "a key"],
)
def test_no_text_of_a_tenant_makes_the_openapi_document_unreadable(
    root: Api, schema: Object
) -> None:
    """Of one definition with either nobody had the cluster's ``/openapi/v2`` in protobuf."""
    made = definition("texts.example.com", plural="texts", kind="Text")
    versions = made["spec"]["versions"]
    versions[0]["schema"] = {"openAPIV3Schema": {"type": "object", **schema}}
    assert "spec.versions.schema" in refusal(root.create, CRDS, made, status=422)


def define(name: str, size: int) -> Object:
    """Return a definition with a property of that many values."""
    body = definition("large.example.com", kind=name.title(), plural=name, singular=name)
    schema = {"type": "object", "properties": {"a": numbers(size)}}
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return body


def numbers(size: int) -> Object:
    """Return the schema of a number that is one of many."""
    return {"type": "integer", "enum": list(range(size))}


def path_of(body: Object) -> str:
    """Return the path of a definition."""
    return f"{CRDS}/{body['metadata']['name']}"


def asked(cluster: GatewayCluster, word: str) -> str:
    """Return what kubectl of the platform's administrator asks when it gets a kind."""
    with TemporaryDirectory() as empty:
        get = ("get", word, "--v=6", "--namespace=default", f"--cache-dir={empty}")
        return cluster.run("kubectl", *get).err


LEFT = "left.example.com"


def define_with_object(root: Api, plural: str) -> tuple[str, Object]:
    """Define a kind of which there is one object; return where its objects are."""
    kind = plural.removesuffix("s").title()
    body = definition(LEFT, plural=plural, singular=kind.lower(), kind=kind)
    body["spec"]["scope"] = "Namespaced"
    body["metadata"]["labels"] = {"a": "b"}
    objects = f"/apis/{LEFT}/v1/namespaces/default/{plural}"
    root.create(CRDS, body)
    eventually(lambda: root.find(objects) is not None, what="the kind is not served")
    one = {"apiVersion": f"{LEFT}/v1", "kind": kind, "metadata": {"name": "one"}}
    root.create(objects, one)
    return objects, body


def assert_nothing_is_left(cluster: GatewayCluster, root: Api, objects: str, body: Object) -> None:
    """Confirm that objects are gone with their definition."""
    plural = body["spec"]["names"]["plural"]
    upstream = f"{CRDS}/{plural}.{ATTACKER}-{LEFT}"
    eventually(lambda: cluster.admin.find(upstream) is None, what="it is not deleted")
    root.create(CRDS, body)
    eventually(lambda: root.find(objects) is not None, what="the kind is not served again")
    assert root.items(objects) == []
    root.delete(f"{CRDS}/{plural}.{LEFT}")


def test_no_objects_are_left_by_a_collection_of_definitions_that_is_deleted(
    cluster: GatewayCluster, root: Api
) -> None:
    """They stayed in etcd, and were those of the next definition of the kind, whoever's it was."""
    objects, body = define_with_object(root, "remainders")
    selected = f"{CRDS}?labelSelector=a%3Db"
    assert root.answer("DELETE", f"{CRDS}?labelSelector=a%3Dc").status == 200
    assert root.answer("DELETE", f"{selected}&dryRun=All").status == 200
    assert root.items(objects)
    assert root.answer("DELETE", selected).status == 200
    assert_nothing_is_left(cluster, root, objects, body)


def test_no_objects_are_left_by_a_definition_whose_status_its_tenant_writes(
    cluster: GatewayCluster, root: Api
) -> None:
    """Kubernetes' conformance writes a condition in place of all; such a write was refused."""
    objects, body = define_with_object(root, "leftovers")
    path = f"{CRDS}/leftovers.{LEFT}"
    mine = {"type": "Mine", "status": "True", "reason": "a", "message": "b"}
    never = {**mine, "type": "Established", "status": "False"}
    others = {"plural": "others", "kind": "Other"}
    status = {"acceptedNames": others, "conditions": [never, mine]}
    named: Object = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    named |= {"metadata": {"name": f"leftovers.{LEFT}"}}

    def replaced() -> Object:
        found = root.get(path)
        return root.replace(f"{path}/status", found | {"status": found["status"] | status})

    operations = [
        {"op": "add", "path": "/status/conditions", "value": [{"message": "patched"}]},
        {"op": "replace", "path": "/status/acceptedNames", "value": others},
    ]
    write = partial(root.patch, f"{path}/status")
    for send in (
        lambda: eventually(lambda: unless("Conflict", replaced)),
        lambda: write({"status": status}, STRATEGIC),
        lambda: write({"status": {"conditions": None}}, MERGE),
        lambda: write(operations, JSON_PATCH),
        lambda: write({**named, "status": status}, APPLY, fieldManager="m", force="true"),
    ):
        send()
        found = root.get(path)["status"]
        assert found["acceptedNames"]["plural"] == "leftovers"
        kept = [each for each in found["conditions"] if each["type"] == "Established"]
        assert [each["status"] for each in kept] == ["True"]
    assert [each["type"] for each in found["conditions"]].count("Mine") == 1
    root.delete(path)
    assert_nothing_is_left(cluster, root, objects, body)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "[" * 100_000),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", '{"spec":' * 100_000),
        (rbac_path("clusterroles"), '{"rules":' * 100_000),
        (ns_path("default", "configmaps"), '{"data":' * 100_000),
    ],
)
def test_a_body_nested_too_deeply_is_refused_without_an_exception(
    path: str, sent: str, root: Api, cluster: GatewayCluster
) -> None:
    before = cluster.gateway.position
    assert root.answer("POST", path, sent.encode(), SENT).status == 400
    assert "Traceback" not in cluster.gateway.log(before)


def test_a_tenant_with_too_many_requests_delays_no_other_tenant(
    root: Api, victim: Api, cluster: GatewayCluster
) -> None:
    cluster.gateway.stop()
    cluster.gateway.start({"LNAMESPACE_GATEWAY_REQUESTS_IN_FLIGHT": "1"})
    try:
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(root.answer, "GET", "/api/v1/secrets") for _ in range(60)]
            others = {victim.answer("GET", NAMESPACES).status for _ in range(20)}
            answers = [each.result() for each in asked]
        assert {each.status for each in answers} == {200, 429}
        refused = next(each for each in answers if each.status == 429)
        assert "Retry-After: 1" in refused.headers
        assert others == {200}
        assert root.answer("GET", "/api/v1/secrets").status == 200
    finally:
        cluster.gateway.stop()
        cluster.gateway.start()
