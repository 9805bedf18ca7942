"""Programs in pods of an LCluster, by the variables and files that each pod has."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.support.api import GROUP, NAMESPACES, Api, Object, ns_path, refusal
from tests.e2e.support.cluster import RELEASE_NAMESPACE
from tests.e2e.support.commands import REPOSITORY
from tests.e2e.support.gateway import (
    GATEWAY_ACCOUNT,
    HOST,
    PODS,
    GatewayCluster,
    LClusters,
    Resident,
)
from tests.e2e.support.people import People
from tests.e2e.support.pods import MOUNTED, Programs, printed, programs
from tests.e2e.support.versions import POD_GATEWAY
from tests.e2e.support.waiting import eventually

SERVER = "KUBERNETES_SERVICE_HOST"
AUTHORITIES = "kube-root-ca.crt"
LISTING = f"""
import json
from kubernetes import client, config
config.load_incluster_config()
namespace = open("{MOUNTED}/namespace").read()
found = client.CoreV1Api().list_namespaced_pod(namespace).items
pods = [[each.metadata.namespace, each.metadata.name] for each in found]
print(json.dumps({{"namespace": namespace, "pods": pods}}))
"""

CA_FILE = f'cafile="{MOUNTED}/ca.crt"'
REFUSED = f"""
import os, ssl
from urllib.error import HTTPError
from urllib.request import Request, urlopen
token = open("{MOUNTED}/token").read()
url = "https://" + os.environ["{SERVER}"] + "{{path}}/api/v1/namespaces"
try:
    context = ssl.create_default_context({CA_FILE})
    urlopen(Request(url, headers=dict(Authorization="Bearer " + token)), context=context)
except HTTPError as error:
    print(error.read().decode())
"""


@pytest.fixture(scope="module")
def cluster(published_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about what the platform publishes share."""
    return published_cluster


@pytest.fixture(scope="module")
def alice(cluster: GatewayCluster, people: People) -> Resident:
    """Return the sudoer of LCluster podded, beside which there is another."""
    made = LClusters(cluster, people)
    made.make("beta", "bob", sudoers=("bob",))
    made.make("podded", "alice", sudoers=("alice",))
    return made.resident("podded", "alice")


@pytest.fixture(scope="module")
def inside(alice: Resident) -> Api:
    """Return the administrator inside podded."""
    api = alice.api.acting("alice", "system:masters")
    api.create(NAMESPACES, {"metadata": {"name": "prod"}})
    return api


@pytest.fixture(scope="module")
def address(cluster: GatewayCluster) -> str:
    """Return at which address pods reach the gateway."""
    service = cluster.admin.get(ns_path(RELEASE_NAMESPACE, "services", PODS))
    return str(service["spec"]["clusterIP"])


@pytest.fixture(scope="module")
def running_programs(
    cluster: GatewayCluster, address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Programs]:
    """Return the programs of pods, to whom the gateway is at its Service's address alone."""
    folder = tmp_path_factory.mktemp("pods")
    with programs(cluster.admin, folder, {address: cluster.gateway.pods}) as made:
        yield made


def allow(inside: Api, namespace: str) -> None:
    """Let the ServiceAccount of a namespace's pods read there, if it may not yet."""
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    if inside.find(f"{path}/pods") is None:
        inside.create(path, {"metadata": {"name": "pods"}, "roleRef": ref, "subjects": [subject]})


def make_pod(api: Api, namespace: str, name: str, **parts: Any) -> Object:
    spec = {"containers": [{"name": "main", "image": "none"}]} | parts
    path = ns_path(namespace, "pods")
    eventually(lambda: api.find(ns_path(namespace, "serviceaccounts", "default")) is not None)
    return api.create(path, {"metadata": {"name": name}, "spec": spec})


def authorities(admin: Api, namespace: str) -> str:
    path = ns_path(namespace, "configmaps", AUTHORITIES)
    found: Object = {}

    def made() -> bool:
        found.update(admin.find(path) or {})
        return bool(found)

    eventually(made, what=f"{namespace} has no CA")
    return str(found.get("data", {}).get("ca.crt", ""))


@POD_GATEWAY
@pytest.mark.parametrize("namespace", ["default", "prod"])
def test_in_cluster_clients_work_in_every_namespace(
    namespace: str, cluster: GatewayCluster, inside: Api, running_programs: Programs
) -> None:
    allow(inside, namespace)
    make_pod(inside, namespace, "one")
    authorities(cluster.admin, f"podded-{namespace}")
    program = running_programs.of(f"podded-{namespace}", "one")
    told = printed(program.python(LISTING))
    assert told == {"namespace": f"podded-{namespace}", "pods": [[f"podded-{namespace}", "one"]]}
    # Go's in-cluster configuration.
    assert program.run("kubectl", "get", "pods", "-o", "name").ok() == "pod/one\n"
    who = program.run("kubectl", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    assert who.ok() == f"system:serviceaccount:{namespace}:default"
    hidden = program.run("kubectl", "get", "namespaces").refused()
    assert "forbidden" in hidden.lower()


@POD_GATEWAY
def test_the_documented_api_server_name_reaches_the_gateway(
    inside: Api, cluster: GatewayCluster, running_programs: Programs
) -> None:
    """https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/"""
    inside.create(NAMESPACES, {"metadata": {"name": "named"}})
    allow(inside, "named")
    make_pod(inside, "named", "one")
    authorities(cluster.admin, "podded-named")
    program = running_programs.of("podded-named", "one")
    token = program.files()["token"]
    for name in ("kubernetes.default.svc", "kubernetes.default"):
        flags = (f"--server=https://{name}", f"--certificate-authority={MOUNTED}/ca.crt")
        out = program.run("kubectl", *flags, f"--token={token}", "get", "pods", "-o", "name").ok()
        assert out == "pod/one\n"


@POD_GATEWAY
def test_each_container_has_the_gateways_variables_before_its_own(
    inside: Api, cluster: GatewayCluster, address: str, running_programs: Programs
) -> None:
    referring = {"name": "URL", "value": f"https://$({SERVER}):$(KUBERNETES_SERVICE_PORT)"}
    field = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    own = {"name": SERVER, "value": "mine.example.com"}
    containers = [
        {"name": "main", "image": "none", "env": [referring]},
        {"name": "other", "image": "none", "env": [field]},
        {"name": "own", "image": "none", "env": [own]},
    ]
    first = [{"name": "first", "image": "none"}]
    alias = [{"ip": "192.0.2.7", "hostnames": ["db.example.com"]}, {"ip": "192.0.2.8"}]
    spec: Object = {"containers": containers, "initContainers": first, "hostAliases": alias}
    make_pod(inside, "prod", "several", **spec, enableServiceLinks=False)
    path = ns_path("podded-prod", "pods", "several")
    debugger = {"name": "debugger", "image": "none", "targetContainerName": "main"}
    inside.patch(
        ns_path("prod", "pods", "several/ephemeralcontainers"),
        {"spec": {"ephemeralContainers": [debugger]}},
        "application/strategic-merge-patch+json",
    )
    made = cluster.admin.get(path)["spec"]
    given = [
        {"name": SERVER, "value": address},
        {"name": "KUBERNETES_SERVICE_PORT", "value": "443"},
    ]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    variables = {each["name"]: each["env"] for kind in kinds for each in made[kind]}
    assert variables["main"] == [*given, referring]
    field["valueFrom"]["fieldRef"]["apiVersion"] = "v1"  # type: ignore[index]
    assert variables["other"] == [*given, field]
    assert variables["own"] == [own]
    assert variables["first"] == variables["debugger"] == given
    assert [each["ip"] for each in made["hostAliases"]] == [address, "192.0.2.7", "192.0.2.8"]
    program = running_programs.of("podded-prod", "several")
    assert program.variables()["URL"] == f"https://{address}:443"


@POD_GATEWAY
def test_platform_pods_keep_their_api_server_address(
    cluster: GatewayCluster, inside: Api, address: str
) -> None:
    del inside
    made = make_pod(cluster.admin, "default", "platform")
    assert address not in str(made)
    own = authorities(cluster.admin, "default")
    theirs = authorities(cluster.admin, "podded-prod")
    assert theirs.startswith(own)
    assert theirs.count("BEGIN CERTIFICATE") == own.count("BEGIN CERTIFICATE") + 1


def test_the_ca_configmap_of_pods_is_restored_and_not_rewritten(
    cluster: GatewayCluster, inside: Api
) -> None:
    wanted = authorities(cluster.admin, "podded-prod")
    path, upstream = (ns_path(each, "configmaps", AUTHORITIES) for each in ("prod", "podded-prod"))
    for change in ({"ca.crt": "mallory"}, {"ca.crt": None}):
        inside.patch(path, {"data": change})
        eventually(lambda: authorities(cluster.admin, "podded-prod") == wanted)
    inside.delete(path)
    eventually(lambda: cluster.admin.find(upstream) is not None)
    assert authorities(cluster.admin, "podded-prod") == wanted
    # Kubernetes compares at each change of the Namespace, and finds more than it wrote.
    before = cluster.admin.get(upstream)["metadata"]["resourceVersion"]
    inside.patch(f"{NAMESPACES}/prod", {"metadata": {"labels": {"compare": "again"}}})
    canary = ns_path("podded-late", "configmaps", AUTHORITIES)
    inside.create(NAMESPACES, {"metadata": {"name": "late"}})  # it comes after in the same queue
    eventually(lambda: cluster.admin.find(canary) is not None)
    assert cluster.admin.get(upstream)["metadata"]["resourceVersion"] == before


def test_a_pod_configured_as_in_the_guide_reaches_the_gateway(
    cluster: GatewayCluster, inside: Api, running_programs: Programs
) -> None:
    """For Kubernetes before 1.36: the certificate is then the one that people know."""
    guide = (REPOSITORY / "docs" / "lclusters.md").read_text()
    found = re.search(r"```yaml\n(spec:.*?)```", guide, re.DOTALL)
    assert found
    spec: Object = yaml.safe_load(found[1].replace("lclusters.example.com", HOST))["spec"]
    allow(inside, "prod")
    authority = {"ca.crt": (cluster.certificates / "ca.crt").read_text()}
    path = ns_path("prod", "configmaps")
    inside.create(path, {"metadata": {"name": "gateway-ca"}, "data": authority})
    make_pod(inside, "prod", "older", **spec)
    running_programs.services[HOST] = cluster.port
    program = running_programs.of("podded-prod", "older")
    assert program.variables()[SERVER] == HOST
    told = printed(program.python(LISTING))
    assert told["namespace"] == "podded-prod"
    assert ["podded-prod", "older"] in told["pods"]


@POD_GATEWAY
def test_the_check_reports_namespaces_whose_pods_do_not_trust_the_gateway(
    cluster: GatewayCluster, inside: Api
) -> None:
    """As of namespaces from before the policies, which Kubernetes has no reason to write to."""
    del inside
    check = ("lnamespace", "gateway", "check")
    assert "pods" not in cluster.run(*check).ok()
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "podded-early"}})
    plain = authorities(cluster.admin, "podded-early")
    label = {f"{GROUP}/lcluster": "podded"}
    cluster.admin.patch(f"{NAMESPACES}/podded-early", {"metadata": {"labels": label}})
    assert "pods of podded-early do not trust the gateway" in cluster.run(*check).ok()
    cluster.admin.delete(ns_path("podded-early", "configmaps", AUTHORITIES))
    eventually(lambda: len(authorities(cluster.admin, "podded-early")) > len(plain))
    assert "pods" not in cluster.run(*check).ok()


@POD_GATEWAY
def test_tenant_objects_cannot_redirect_pods_to_another_api_server(
    cluster: GatewayCluster, inside: Api, running_programs: Programs, address: str
) -> None:
    """A Service of that name, by which the kubelet goes first, and all that leads pods upstream."""
    ports = [{"port": 8443, "protocol": "TCP"}]
    inside.create(
        ns_path("prod", "services"), {"metadata": {"name": "kubernetes"}, "spec": {"ports": ports}}
    )
    allow(inside, "prod")
    make_pod(inside, "prod", "beside")
    program = running_programs.of("podded-prod", "beside")
    assert program.variables()[SERVER] == address
    assert program.variables()["KUBERNETES_SERVICE_PORT"] == "443"
    assert ["podded-prod", "beside"] in printed(program.python(LISTING))["pods"]
    inside.delete(ns_path("prod", "services", "kubernetes"))
    account = cluster.admin.acting("system:serviceaccount:lnamespace-clusters:podded")
    elsewhere = {"spec": {"selector": {"app": "mallory"}}}
    refusal(account.patch, ns_path(RELEASE_NAMESPACE, "services", PODS), elsewhere)
    refusal(account.patch, ns_path(RELEASE_NAMESPACE, "configmaps", PODS), {"data": {}})
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{RELEASE_NAMESPACE}/endpointslices"
    labels = {"kubernetes.io/service-name": PODS}
    body = {"metadata": {"name": "x", "labels": labels}, "addressType": "IPv4", "endpoints": []}
    refusal(account.create, slices, body)


@POD_GATEWAY
@pytest.mark.parametrize("path", ["/clusters/beta", "/clusters/nosuch"])
def test_a_pod_can_access_only_its_own_lcluster(
    path: str, cluster: GatewayCluster, inside: Api, running_programs: Programs
) -> None:
    make_pod(inside, "prod", f"curious-{path[-4:]}")
    authorities(cluster.admin, "podded-prod")
    program = running_programs.of("podded-prod", f"curious-{path[-4:]}")
    answer = printed(program.python(REFUSED.format(path=path)))
    assert answer["code"] == 403
    assert "is not listed in the users of LCluster" in answer["message"]


@POD_GATEWAY
def test_a_platform_pod_has_no_access_through_the_gateway(
    cluster: GatewayCluster, inside: Api, running_programs: Programs, address: str
) -> None:
    """Who leads it there has the CA as well."""
    make_pod(inside, "prod", "trusting")
    trusting = running_programs.of("podded-prod", "trusting")
    make_pod(cluster.admin, "default", "stranger")
    stranger = running_programs.of("default", "stranger")
    stranger.pod["spec"]["containers"][0]["env"] = [{"name": SERVER, "value": address}]
    refused = stranger.python(REFUSED.format(path=""))
    assert "CERTIFICATE_VERIFY_FAILED" in refused.refused()
    authority = trusting.files()["ca.crt"]
    answer = printed(
        stranger.python(REFUSED.format(path="").replace(CA_FILE, f'cadata="""{authority}"""'))
    )
    assert answer["code"] == 404
    assert "no LCluster is named" in answer["message"]


def test_a_stolen_gateway_token_cannot_redirect_pods(cluster: GatewayCluster) -> None:
    """It has the CA of the pods' certificate anyway; the Service is not its own."""
    thief = Api(cluster.token(RELEASE_NAMESPACE, GATEWAY_ACCOUNT))
    service = ns_path(RELEASE_NAMESPACE, "services", PODS)
    assert thief.get(service)["spec"]["clusterIP"]
    refusal(thief.patch, service, {"spec": {"externalIPs": ["192.0.2.1"]}})
    refusal(thief.get, ns_path(RELEASE_NAMESPACE, "configmaps", PODS))
    refusal(thief.patch, ns_path("kube-system", "configmaps", AUTHORITIES), {"data": {}})
