"""What platform engineers do with a gateway: check the cluster, audit, suspend, revoke."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest
import yaml

from tests.e2e.support.api import APPLY, GROUP, NAMESPACES, Api, Object, ns_path, refusal, unless
from tests.e2e.support.commands import Result
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster, LClusters, Resident
from tests.e2e.support.people import People
from tests.e2e.support.probes import metric, probe
from tests.e2e.support.versions import WHY_NOT_IN_MEMORY
from tests.e2e.support.waiting import eventually

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DOWN = "down.example.org"


LABEL = "tenancy.loblaw.digital/lcluster"


@pytest.fixture(scope="module")
def cluster(published_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about what the platform publishes share."""
    return published_cluster


@pytest.fixture(scope="module")
def lclusters(cluster: GatewayCluster, people: People) -> LClusters:
    """Return an LCluster with two people, and another."""
    made = LClusters(cluster, people)
    made.make("acme", "alice", "bob", sudoers=("alice",))
    made.make("canary", "carol")
    return made


@pytest.fixture(scope="module")
def alice(lclusters: LClusters) -> Resident:
    """Return a user and sudoer in acme."""
    return lclusters.resident("acme", "alice")


DISCOVERY = "warning: clusterrolebindings system:discovery"
"""What every Kubernetes gives to everybody."""


def checked(cluster: GatewayCluster) -> Result:
    """Run `lnamespace gateway check` as an administrator."""
    return cluster.run("lnamespace", "gateway", "check", "-o", "json")


def told(result: Result) -> list[str]:
    found = json.loads(result.out)["findings"]
    return [f"{each['severity']}: {each['about']}" for each in found if each["severity"] != "note"]


def test_a_cluster_with_the_chart_passes_the_check(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """So that what it tells is of the platform, and not of LNamespace itself."""
    alice.kubectl("create", "namespace", "checked").ok()
    result = checked(cluster)
    assert (result.code, told(result)) == (0, [DISCOVERY])


def test_the_check_reports_leaks_and_name_collisions(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """As the API server has it: names, another server for a group of Kubernetes, rights of all."""
    del alice
    admin = cluster.admin
    everybody = {"kind": "Group", "name": "system:serviceaccounts"}
    gateway = {
        "kind": "ServiceAccount",
        "name": "lnamespace-gateway",
        "namespace": "lnamespace-system",
    }
    roots = [binding("everybody", "view", everybody), binding("root", "cluster-admin", gateway)]
    made = [
        admin.create(NAMESPACES, {"metadata": {"name": "acme-legacy"}}),
        *(admin.create(BINDINGS, each) for each in roots),
        admin.create(API_SERVICES, aggregated()),
    ]
    try:
        result = checked(cluster)
        assert result.code == 1
        # Kubernetes 1.30 asks the other server for StorageClasses at once, which does not answer.
        assert set(told(result)) - {"problem: not checked"} == {
            "problem: namespaces acme-legacy",
            "problem: apiservices of storage.k8s.io",
            "problem: apiservices v7.storage.k8s.io",  # it does not answer
            "problem: lnamespace-system/lnamespace-gateway",
            "warning: clusterrolebindings everybody",
            DISCOVERY,
        }
    finally:
        for path, item in zip((NAMESPACES, BINDINGS, BINDINGS, API_SERVICES), made, strict=True):
            admin.delete(f"{path}/{item['metadata']['name']}")


def test_the_check_reports_a_kind_that_cannot_be_listed(cluster: GatewayCluster) -> None:
    """One object of it, wherever it is, keeps Kubernetes from deleting any namespace."""
    admin = cluster.admin
    path, none = f"{DEFINITIONS}/widgets.{DOWN}", {"strategy": "None", "webhook": None}
    admin.create(DEFINITIONS, two_versions())
    try:
        body = {"apiVersion": f"{DOWN}/v1", "kind": "Widget", "metadata": {"name": "one"}}
        widgets = f"/apis/{DOWN}/v1/namespaces/default/widgets"
        eventually(lambda: admin.find(widgets))
        admin.create(widgets, body)
        client = {"url": "https://127.0.0.1:1/convert"}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        converted = {"strategy": "Webhook", "webhook": webhook}
        admin.patch(path, {"spec": {"conversion": converted}})
        about = f"problem: customresourcedefinitions widgets.{DOWN}"
        eventually(lambda: about in told(checked(cluster)))
    finally:
        admin.patch(path, {"spec": {"conversion": none}})
        remove_definition(admin, path)


def test_the_check_reports_a_kind_with_an_object_of_a_version_that_is_gone(
    cluster: GatewayCluster,
) -> None:
    """No webhook converts it, so nobody looked."""
    admin, path = cluster.admin, f"{DEFINITIONS}/widgets.{DOWN}"
    made = two_versions()
    admin.create(DEFINITIONS, made)
    try:
        body = {"apiVersion": f"{DOWN}/v1", "kind": "Widget", "metadata": {"name": "one"}}
        widgets = f"/apis/{DOWN}/v1/namespaces/default/widgets"
        eventually(lambda: admin.find(widgets))
        admin.create(widgets, body)
        v1, v2 = made["spec"]["versions"]
        stored = [v1 | {"storage": False}, v2 | {"storage": True}]
        admin.patch(path, {"spec": {"versions": stored}})
        admin.patch(f"{path}/status", {"status": {"storedVersions": ["v2"]}})
        admin.patch(path, {"spec": {"versions": stored[1:]}})
        said = eventually(lambda: said_of_widgets(cluster))
        assert "request to convert CR from an invalid group/version" in said
        assert "A kind that cannot be listed" in said
    finally:
        admin.patch(path, {"spec": {"versions": made["spec"]["versions"]}})
        remove_definition(admin, path)


@WHY_NOT_IN_MEMORY
def test_the_check_reports_a_kind_with_an_object_of_another_scope(cluster: GatewayCluster) -> None:
    """A list in pages shows the object, and the API server cannot have the kind in memory."""
    admin, path = cluster.admin, f"{DEFINITIONS}/widgets.{DOWN}"
    made = two_versions("Cluster")
    admin.create(DEFINITIONS, made)
    widgets = f"/apis/{DOWN}/v1/widgets"
    kept = {"name": "one", "finalizers": ["example.org/kept"]}
    eventually(lambda: admin.find(widgets))
    admin.create(widgets, {"apiVersion": f"{DOWN}/v1", "kind": "Widget", "metadata": kept})
    try:
        outlived(admin, path)
        admin.create(DEFINITIONS, two_versions())
        said = eventually(lambda: said_of_widgets(cluster))
        assert "Namespace parameter required" in said
    finally:
        outlived(admin, path)
        admin.create(DEFINITIONS, made)
        eventually(lambda: admin.find(f"{widgets}/one"))
        admin.patch(f"{widgets}/one", {"metadata": {"finalizers": None}})
        remove_definition(admin, path)


def remove_definition(admin: Api, path: str) -> None:
    """Delete a definition and wait until another of its name can be created."""
    admin.remove(path)
    eventually(lambda: admin.find(path) is None)


def said_of_widgets(cluster: GatewayCluster) -> str:
    """Return the problem that the check has with the kind, and what to do; empty without one."""
    for each in json.loads(checked(cluster).out)["findings"]:
        about = (each["severity"], each["about"])
        if about == ("problem", f"customresourcedefinitions widgets.{DOWN}"):
            return f"{each['found']} {each['advice']}"
    return ""


def outlived(admin: Api, path: str) -> None:
    """Delete a definition and leave what is stored of its kind."""
    admin.delete(path)
    if admin.find(path):
        admin.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: admin.find(path) is None)


def two_versions(scope: str = "Namespaced") -> Object:
    """Return a kind of the platform that is stored in another version than the preferred one."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": DOWN, "scope": scope, "names": names, "versions": versions}
    return {"metadata": {"name": f"widgets.{DOWN}"}, "spec": spec}


def binding(name: str, role: str, subject: Object) -> Object:
    """Return a ClusterRoleBinding."""
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}


def aggregated() -> Object:
    """Return an APIService by which another server answers a group of Kubernetes itself."""
    spec = {
        "group": "storage.k8s.io",
        "version": "v7",
        "groupPriorityMinimum": 100,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "nowhere"},
    }
    return {"metadata": {"name": "v7.storage.k8s.io"}, "spec": spec}


def audited(cluster: GatewayCluster, lcluster: str = "acme", **ref: str) -> list[Object]:
    """Return the lines of the gateway's audit log about one LCluster, by what they are about."""
    text = cluster.gateway.audit_log.read_text()
    lines = [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
    return [
        line
        for line in lines
        if line.get("annotations", {}).get(LABEL) == lcluster
        and ref.items() <= line.get("objectRef", {}).items()
    ]


def test_the_audit_log_has_the_person_and_the_tenants_own_names(
    cluster: GatewayCluster, alice: Resident
) -> None:
    alice.kubectl("create", "namespace", "books").ok()
    quota = ("-n", "books", "create", "quota", "few", "--hard=pods=1")
    alice.kubectl(*quota).refused()
    alice.kubectl("--as=alice", "--as-group=system:masters", *quota).ok()

    (made,) = eventually(lambda: audited(cluster, resource="namespaces", name="books"))
    assert (made["verb"], made["user"]["username"]) == ("create", "alice")

    def both() -> list[Object]:
        found = audited(cluster, resource="resourcequotas", namespace="books")
        found = [line for line in found if line["verb"] == "create"]
        return found if len(found) == 2 else []

    refused, done = eventually(both)
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert refused["responseStatus"]["code"] == 403
    assert "impersonatedUser" not in refused
    assert done["user"]["username"] == "alice"
    assert "system:masters" in done["impersonatedUser"]["groups"]
    assert done["responseStatus"] == {"metadata": {}, "code": 201}
    assert done["requestURI"].startswith("/api/v1/namespaces/books/resourcequotas")
    assert done["sourceIPs"] == ["127.0.0.1"]


def test_audit_lines_have_the_audit_id_of_the_platforms_audit_log(
    cluster: GatewayCluster, alice: Resident
) -> None:
    """Where the platform asks who the account of an LCluster was, both logs have one answer."""
    body = {"metadata": {"name": "joined"}, "stringData": {"password": "hunter2"}}
    alice.api.create(ns_path("default", "secrets"), body)
    (line,) = eventually(lambda: audited(cluster, resource="secrets", name="joined"))

    def upstream() -> list[Object]:
        text = (cluster.folder / "logs" / "audit.log").read_text()
        lines = map(json.loads, text.rpartition("\n")[0].splitlines())
        mine = [each for each in lines if each["auditID"] == line["auditID"]]
        return [each for each in mine if each["stage"] == "ResponseComplete"]

    found = eventually(upstream)
    assert {each["impersonatedUser"]["username"] for each in found} == {
        "system:serviceaccount:lnamespace-clusters:acme"
    }
    assert found[0]["impersonatedUser"]["extra"]["lcluster-user"] == ["alice"]


def test_the_audit_log_has_no_credentials_bodies_or_names_of_other_tenants(
    cluster: GatewayCluster, alice: Resident, lclusters: LClusters
) -> None:
    token = alice.kubectl("create", "token", "default").ok().strip()
    inside = alice.api.with_token(token, alice.kubeconfig.with_name("token.kubeconfig"))
    refusal(inside.get, ns_path("default", "secrets"))
    lclusters.resident("canary", "carol").kubectl("create", "ns", "nest").ok()
    stranger = lclusters.person_without_access("acme", "carol")
    refusal(stranger.api.get, NAMESPACES)

    robot = "system:serviceaccount:default:default"
    eventually(lambda: [each for each in audited(cluster) if each["user"]["username"] == robot])
    text = cluster.gateway.audit_log.read_text()
    assert token not in text
    assert "hunter2" not in text
    of_acme = json.dumps(audited(cluster))
    for word in ("canary", "nest", "carol", "acme-", "lnamespace-clusters"):
        assert word not in of_acme, word


def test_the_metrics_of_an_lcluster_are_removed_with_the_lcluster(
    cluster: GatewayCluster, lclusters: LClusters
) -> None:
    lclusters.make("brief", "alice")
    lclusters.resident("brief", "alice").kubectl("create", "ns", "one-more").ok()
    requests = partial(metric, cluster.gateway, "lnamespace_gateway_lcluster_requests_total")
    namespaces = partial(metric, cluster.gateway, "lnamespace_gateway_lcluster_namespaces")
    assert requests(lcluster="brief") >= 2
    assert namespaces(lcluster="brief") == 5
    cluster.admin.delete(f"{LCLUSTERS}/brief")
    eventually(lambda: 'lcluster="brief"' not in probe(cluster.gateway, "/metrics")[1])
    assert namespaces(lcluster="canary") >= 4


def suspend(cluster: GatewayCluster, how: str) -> None:
    cluster.admin.patch(f"{LCLUSTERS}/acme", {"spec": {"suspend": how}})


def test_a_read_only_lcluster_refuses_writes_and_a_closed_lcluster_refuses_all(
    cluster: GatewayCluster, alice: Resident
) -> None:
    body = {"metadata": {"name": "late"}}
    create = partial(alice.api.create, ns_path("default", "configmaps"), body)
    read = partial(alice.api.get, ns_path("default", "configmaps"))
    try:
        with alice.reading("get", "configmaps", "-A", "--watch", "--no-headers") as lines:
            assert next(lines)
            suspend(cluster, "ReadOnly")
            eventually(lambda: "can be read, and not written" in refusal(create))
            assert read()["items"]
            # Kubernetes' own controllers go on, and the watch tells of it.
            path = ns_path("acme-default", "configmaps")
            cluster.admin.create(path, {"metadata": {"name": "from-below"}})
            assert next(words for words in lines if "from-below" in words)
            suspend(cluster, "Closed")
            assert list(lines) == []
        assert "is closed" in refusal(read)
        assert "is closed" in refusal(alice.api.get, "/version")
    finally:
        suspend(cluster, "")
    eventually(lambda: alice.kubectl("get", "configmaps").code == 0)
    # The gateway may have learnt of the suspension after the first ConfigMap was made.
    alice.api.create(ns_path("default", "configmaps"), {"metadata": {"name": "afterwards"}})

    watches = [line for line in audited(cluster, resource="configmaps") if line["verb"] == "watch"]
    assert [line["stage"] for line in watches] == ["ResponseStarted", "ResponseComplete"]
    assert len({line["auditID"] for line in watches}) == 1
    assert "is closed" in watches[1]["responseStatus"]["message"]


def test_a_manager_can_suspend_but_only_the_platform_can_resume_an_lcluster(
    cluster: GatewayCluster, alice: Resident, people: People
) -> None:
    """A manager lifted the suspension by which the platform had closed the LCluster."""
    del alice
    manager = people.person("manager")

    def asks(how: str) -> Result:
        patch = json.dumps({"spec": {"suspend": how}})
        return manager.kubectl("patch", "lcluster", "acme", "--type=merge", "-p", patch)

    try:
        for how in ("ReadOnly", "Closed"):
            asks(how).ok()
        for how in ("ReadOnly", ""):
            assert "only administrators of LClusters may lift" in asks(how).refused()
        asks("Closed").ok()
        described = {"metadata": {"annotations": {"example.com/why": "an incident"}}}
        patch = ("patch", "lcluster", "acme", "--type=merge", "-p", json.dumps(described))
        manager.kubectl(*patch).ok()
    finally:
        suspend(cluster, "")


@pytest.fixture
def capped(cluster: GatewayCluster, lclusters: LClusters) -> Iterator[Resident]:
    """Return a sudoer of an LCluster of its own, which gets its limits from a test."""
    lclusters.make("capped", "alice", sudoers=("alice",))
    yield lclusters.resident("capped", "alice")
    cluster.admin.delete(f"{LCLUSTERS}/capped")
    eventually(lambda: cluster.admin.find(f"{LCLUSTERS}/capped") is None)


def limit(cluster: GatewayCluster, **limits: int) -> None:
    cluster.admin.patch(f"{LCLUSTERS}/capped", {"spec": {"limits": limits}})


def test_concurrent_creations_do_not_exceed_the_namespace_limit(
    cluster: GatewayCluster, capped: Resident
) -> None:
    """One tenant would slow down all others by thousands of them."""

    def made(number: int) -> bool:
        return unless(
            "Forbidden", capped.api.create, NAMESPACES, {"metadata": {"name": f"n{number}"}}
        )

    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}}
    more = partial(capped.api.create, NAMESPACES, body, dryRun="All")
    limit(cluster, namespaces=4)
    words = eventually(lambda: refusal(more))
    count = "count/namespaces="
    quota = f"exceeded quota: lcluster, requested: {count}1, used: {count}4, limited: {count}4"
    assert words == f"namespaces is forbidden: {quota}"
    limit(cluster, namespaces=7)
    eventually(lambda: unless("Forbidden", more))
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(made, range(12)))
    assert answers.count(True) == 3
    own = {"labelSelector": f"{LABEL}=capped"}
    assert len(cluster.admin.items(NAMESPACES, **own)) == 7
    apply = partial(capped.api.patch, kind=APPLY, fieldManager="test")
    assert "exceeded quota" in refusal(apply, f"{NAMESPACES}/more", body)
    there = {**body, "metadata": {"name": "default", "labels": {"a": "b"}}}
    assert apply(f"{NAMESPACES}/default", there)["metadata"]["labels"]["a"] == "b"
    in_pod = {**there, "metadata": {"name": "capped-default", "labels": {"a": "b"}}}
    assert apply(f"{NAMESPACES}/capped-default", in_pod)["metadata"]["labels"]["a"] == "b"
    capped.kubectl("delete", "namespace", f"n{answers.index(True)}").ok()
    assert capped.kubectl("create", "namespace", "again").ok()


def test_an_lcluster_cannot_exceed_its_limit_of_custom_resource_definitions(
    cluster: GatewayCluster, capped: Resident
) -> None:
    root = capped.api.acting("alice", "system:masters")
    limit(cluster, customResourceDefinitions=1)
    root.create(DEFINITIONS, definition("first"))
    second = partial(root.create, DEFINITIONS, definition("second"))
    words = eventually(lambda: refusal(second, dryRun="All"))
    assert refusal(second) == words
    assert "limited: count/customresourcedefinitions.apiextensions.k8s.io=1" in words


def definition(singular: str) -> Object:
    names = {"plural": f"{singular}s", "singular": singular, "kind": singular.title()}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{singular}s.example.com"}, "spec": spec}


def test_only_the_platform_changes_the_limits_of_an_lcluster(
    alice: Resident, people: People
) -> None:
    del alice
    manager = people.person("manager")
    patch = json.dumps({"spec": {"limits": {"namespaces": 1000}}})
    asked = manager.kubectl("patch", "lcluster", "acme", "--type=merge", "-p", patch)
    assert "only administrators of LClusters may change it" in asked.refused()
    own = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster", "metadata": {"name": "mineown"}}
    made = manager.kubectl(
        "create", "-f", "-", stdin=json.dumps({**own, "spec": {"limits": {"namespaces": 1000}}})
    )
    assert "only administrators of LClusters may change it" in made.refused()


def test_a_revoked_token_is_refused_at_once_and_other_tokens_stay_valid(
    cluster: GatewayCluster, alice: Resident
) -> None:
    eventually(lambda: alice.kubectl("get", "serviceaccount", "default").code == 0)
    grant = ("create", "rolebinding", "robots", "--clusterrole=view", "--serviceaccount")
    alice.kubectl(*grant, "default:default").ok()
    lost, kept = robot(alice, "lost"), robot(alice, "kept")
    credential = credential_of(lost)
    token = {"spec": {"token": lost.token}}
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    root = alice.api.acting("alice", "system:masters")
    assert root.create(reviews, token)["status"]["authenticated"]

    with lost.reading("get", "configmaps", "--watch", "--no-headers") as lines:
        assert next(lines)
        change = {"spec": {"revokedCredentials": [credential]}}
        cluster.admin.patch(f"{LCLUSTERS}/acme", change)
        list(lines)
    assert "is revoked" in refusal(lost.api.get, ns_path("default", "configmaps"), status=401)
    assert not root.create(reviews, token)["status"].get("authenticated")
    kept.kubectl("get", "configmaps").ok()

    # The audit log is where one finds the id of what somebody else holds.
    robots = "system:serviceaccount:default:default"
    found = [line["user"] for line in audited(cluster) if line["user"]["username"] == robots]
    ids = {each["extra"]["authentication.kubernetes.io/credential-id"][0] for each in found}
    assert credential in ids


@pytest.mark.parametrize("number", range(5))
def test_a_watch_started_during_the_revocation_of_its_token_ends(
    cluster: GatewayCluster, alice: Resident, number: int
) -> None:
    """A busy gateway took both in at once, and the watch went on for as long as it liked."""
    lost = robot(alice, f"watching-{number}")
    change = {"spec": {"revokedCredentials": [credential_of(lost)]}}
    with lost.reading("get", "configmaps", "--watch", "--no-headers") as lines:
        assert next(lines)
        # What kubectl has got is a list; its watch begins now.
        cluster.gateway.hold()
        try:
            cluster.admin.patch(f"{LCLUSTERS}/acme", change)
        finally:
            cluster.gateway.release()
        list(lines)


def credential_of(robot: "Robot") -> str:
    """Return the id of a token, as soon as its holder has rights."""
    eventually(lambda: robot.kubectl("get", "configmaps").code == 0)
    who = json.loads(robot.kubectl("auth", "whoami", "-o", "json").ok())["status"]["userInfo"]
    (credential,) = who["extra"]["authentication.kubernetes.io/credential-id"]
    return str(credential)


@dataclass(frozen=True)
class Robot(Resident):
    """Somebody with a token of a ServiceAccount of the LCluster."""

    token: str = ""


def robot(resident: Resident, name: str) -> Robot:
    token = resident.kubectl("create", "token", "default").ok().strip()
    document = yaml.safe_load(resident.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token}
    file = resident.kubeconfig.with_name(f"{name}.kubeconfig")
    file.write_text(yaml.safe_dump(document))
    return Robot(resident.person, file, token)
