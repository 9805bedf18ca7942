"""What the gateway and the tenants of LClusters cannot do, should the gateway be wrong or robbed.

Everything here is tried upstream, without a gateway: as its ServiceAccount with every right that
there is, as a tenant's account, and as a ServiceAccount of a tenant. Each refusal has a twin that
is let through, because what is broken looks like what is safe.
"""

import base64
import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from lnamespace.model.lcluster import RESERVED_TENANTS
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.names.webhook_routes import GatewayService, WebhookRoute
from lnamespace.translate.objects.confinement import confine
from lnamespace.translate.objects.confinement.admission import CONDITION, expression
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS, RESERVE
from lnamespace.translate.protocol.resources import ResourceType

from tests.e2e.support.api import (
    APPLY,
    GROUP,
    JSON_PATCH,
    MERGE,
    NAMESPACES,
    Api,
    ApiError,
    Object,
    ns_path,
    rbac_path,
    refusal,
    unless,
)
from tests.e2e.support.cluster import RELEASE_NAMESPACE, Cluster
from tests.e2e.support.instances import CHART
from tests.e2e.support.versions import DEVICES, is_since, serves, since
from tests.e2e.support.waiting import eventually

GATEWAY = f"system:serviceaccount:{RELEASE_NAMESPACE}:lnamespace-gateway"
ACCOUNTS = "lnamespace-clusters"
TENANT, OTHER = "fencea", "fenceb"
LABEL = f"{GROUP}/lcluster"
PRIVATE = f"rbac.example.com.{TENANT}.lcluster/aggregate-to-example"
HOME, FOREIGN = f"{TENANT}-prod", f"{OTHER}-prod"
PROBE = f"{TENANT}-probe"
TENANTS = {
    "account": f"system:serviceaccount:{ACCOUNTS}:{TENANT}",
    "robot": f"system:serviceaccount:{HOME}:robot",
}
POLICIES = (
    "policy-controllers",
    "policy-gateway",
    "policy-gateway-kinds",
    "policy-lclusters-classes",
    "policy-lclusters-kinds",
    "policy-lclusters-objects",
    "policy-lclusters-pods",
)
VALUES = (
    "--set=gateway.enabled=true,gateway.deploy=false,gateway.host=lclusters.example.com",
    "--set=controller.deploy=false,ledger.deploy=false,webhook.deploy=false",
    "--set=webhook.url=https://127.0.0.1:1",
    "--set=gateway.allow.noKindNames={certificates}",
    "--set=forbiddenLabels={engine.example.com/}",
    "--set=gateway.published.customResources[0].group=published.example.com",
    "--set=gateway.published.customResources[0].namespaced={things}",
    "--set=gateway.published.storageClasses={standard,archive-*}",
    "--set=gateway.published.ingressClasses={nginx,f*}",
    "--set=gateway.published.runtimeClasses={sandbox}",
    "--set=gateway.published.priorityClasses={system-*,batch-*}",
    "--set=gateway.published.clusterRoles={platform-reader}",
    *(
        f"--set=gateway.published.{each}={{gold,f*}}"
        for each in ("deviceClasses", "volumeAttributesClasses")
        if is_since("1.34")
    ),
)
STRATEGIC = "application/strategic-merge-patch+json"
ENFORCE = "pod-security.kubernetes.io/enforce"

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
NETWORKING = "/apis/networking.k8s.io/v1"
STORAGE = "/apis/storage.k8s.io/v1"
LCLUSTERS = f"/apis/{GROUP}/v1beta1/lclusters"


ROUTE = WebhookRoute(
    GatewayService(RELEASE_NAMESPACE, "lnamespace-gateway-webhooks", 443), TENANT, "", "5ec2e7"
)
NO_NODE = {"key": "metadata.name", "operator": "In", "values": [f"lcluster.{TENANT}"]}
ALL_NODES = {
    "driver": f"{TENANT}-gpu.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2},
    "allNodes": True,
}


def own(name: str, **fields: Any) -> Object:
    """Return an object as the gateway writes it."""
    return {"metadata": {"name": f"{TENANT}-{name}", "labels": {LABEL: TENANT}}} | fields


def confined(group: str, plural: str, kind: str, written: Object) -> Object:
    """Return what the gateway makes of an object of the tenant."""
    view = TenantView(TENANT, tenant_label=LABEL, webhook_route=ROUTE)
    resource = ResourceType(group, plural, kind, namespaced=False)
    return confine(resource, "", written, view)


def _client() -> Object:
    return {"service": {"namespace": HOME, "name": "judge"}}


def _version(name: str, *, stored: bool = True) -> Object:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": True, "storage": stored, "schema": schema}


def _webhook(**fields: Any) -> Object:
    return {
        "name": "a.example.com",
        "clientConfig": _client(),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["configmaps"],
            }
        ],
    } | fields


@cache
def _request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "eve")])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def objects() -> dict[str, tuple[str, Object]]:
    """One object of each kind that tenants have, as the gateway writes it, by a short name."""
    admission = "admissionregistration.k8s.io"
    found: dict[str, tuple[str, Object]] = {
        "namespace": (
            NAMESPACES,
            {"metadata": {"name": f"{TENANT}-n", "labels": {LABEL: TENANT, ENFORCE: "baseline"}}},
        ),
        "volume": (
            "/api/v1/persistentvolumes",
            confined(
                "",
                "persistentvolumes",
                "PersistentVolume",
                own(
                    "v",
                    spec={
                        "capacity": {"storage": "1Gi"},
                        "accessModes": ["ReadWriteOnce"],
                        "csi": {"driver": "d", "volumeHandle": "h"},
                    },
                ),
            ),
        ),
        "webhook": (
            f"{ADMISSION}/validatingwebhookconfigurations",
            confined(
                admission,
                "validatingwebhookconfigurations",
                "ValidatingWebhookConfiguration",
                own("w", webhooks=[_webhook()]),
            ),
        ),
        "mutating webhook": (
            f"{ADMISSION}/mutatingwebhookconfigurations",
            confined(
                admission,
                "mutatingwebhookconfigurations",
                "MutatingWebhookConfiguration",
                own("w", webhooks=[_webhook()]),
            ),
        ),
        "certificate": (
            CSRS,
            confined(
                "certificates.k8s.io",
                "certificatesigningrequests",
                "CertificateSigningRequest",
                own(
                    "c",
                    spec={
                        "signerName": "example.com/mine",
                        "usages": ["client auth"],
                        "request": _request(),
                    },
                ),
            ),
        ),
        "definition": (
            CRDS,
            {
                "metadata": {
                    "name": f"things.{TENANT}-example.com",
                    "labels": {LABEL: TENANT},
                    "annotations": {**DEFINITION_ANNOTATIONS},
                },
                "spec": {
                    "group": f"{TENANT}-example.com",
                    "scope": "Cluster",
                    "names": {"plural": "things", "kind": "Thing"},
                    "versions": [_version("v1")],
                },
            },
        ),
        "flow schema": (
            f"{FLOW}/flowschemas",
            own(
                "f",
                spec={
                    "matchingPrecedence": 2,
                    "priorityLevelConfiguration": {"name": f"{TENANT}-l"},
                    "rules": [],
                },
            ),
        ),
        "priority level": (
            f"{FLOW}/prioritylevelconfigurations",
            own(
                "l",
                spec={
                    "type": "Limited",
                    "limited": {
                        "nominalConcurrencyShares": 0,
                        "limitResponse": {"type": "Reject"},
                    },
                },
            ),
        ),
        "ingress class": (
            f"{NETWORKING}/ingressclasses",
            own("i", spec={"controller": f"{TENANT}-example.com/c"}),
        ),
        "runtime class": (
            "/apis/node.k8s.io/v1/runtimeclasses",
            own("r", handler=f"{TENANT}-runc"),
        ),
        "role": (
            rbac_path("clusterroles"),
            own("r", rules=[{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
        ),
        "role that adds to another of the tenant": (
            rbac_path("clusterroles"),
            {"metadata": {"name": f"{TENANT}-a", "labels": {LABEL: TENANT, PRIVATE: "true"}}},
        ),
        "role binding": (
            rbac_path("clusterrolebindings"),
            own(
                "b",
                roleRef={
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "inert:cluster-admin",
                },
                subjects=[
                    {"kind": "User", "name": f"lcluster:{TENANT}:eve"},
                    {"kind": "ServiceAccount", "name": "x", "namespace": HOME},
                    {"kind": "Group", "name": f"system:serviceaccounts:{HOME}"},
                ],
            ),
        ),
        "device class": (
            "/apis/resource.k8s.io/v1/deviceclasses",
            own("d", spec={"selectors": [{"cel": {"expression": "false"}}]}),
        ),
        "resource slice": (
            "/apis/resource.k8s.io/v1/resourceslices",
            own(
                "s",
                spec={
                    "driver": f"{TENANT}-gpu.example.com",
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [NO_NODE]}]},
                },
            ),
        ),
        "priority class": (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            own("c", value=1000, preemptionPolicy="Never"),
        ),
        "driver": (f"{STORAGE}/csidrivers", own("d", spec={})),
        "csi node": (f"{STORAGE}/csinodes", own("n", spec={"drivers": []})),
        "storage class": (
            f"{STORAGE}/storageclasses",
            own("s", provisioner=f"{TENANT}-example.com/p"),
        ),
        "attachment": (
            f"{STORAGE}/volumeattachments",
            own(
                "a",
                spec={
                    "attacher": f"{TENANT}-d",
                    "nodeName": f"{TENANT}-n",
                    "source": {"persistentVolumeName": f"{TENANT}-v"},
                },
            ),
        ),
        "attributes": (
            f"{STORAGE}/volumeattributesclasses",
            own("a", driverName=f"{TENANT}-d", parameters={"a": "b"}),
        ),
    }
    return {what: each for what, each in found.items() if serves(_NEW_KINDS.get(what, ""))}


_NEW_KINDS = {
    "device class": "DeviceClass",
    "resource slice": "ResourceSlice",
    "attributes": "VolumeAttributesClass",
}
"""Those that an older Kubernetes does not serve."""


_NEW_FIELDS = {
    "a device class that takes a resource": since("1.36", "extended resources of device classes"),
    "a kind that nobody can list, by a field that it is selected by": since(
        "1.31", "fields by which a kind is selected"
    ),
}
"""Those that an older Kubernetes drops."""


def changed(what: str, path: str, value: Any) -> tuple[str, Object]:
    """Take the collection of a kind and its object with one field changed; None takes it away."""
    where, body = copy.deepcopy(objects()[what])
    *parents, last = path.split("/")
    at: Any = body
    for key in parents:
        at = at[int(key)] if isinstance(at, list) else at.setdefault(key.replace("|", "/"), {})
    last = last.replace("|", "/")
    if value is None:
        at.pop(last)
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return where, body


@pytest.fixture(scope="module")
def cluster(own_cluster: Cluster) -> Cluster:
    """Return a cluster of the file's own: the policies stay on it."""
    return own_cluster


@pytest.fixture(scope="module")
def gateway(admin: Api) -> Api:
    """Return the gateway's account, should somebody give it every right."""
    return admin.acting(GATEWAY, "system:masters")


@pytest.fixture(scope="module", autouse=True)
def fences(cluster: Cluster, gateway: Api, admin: Api) -> None:
    """Wait until the policies of the chart are in force."""
    files = [f"--show-only=templates/{name}.yaml" for name in POLICIES]
    chart = ("lnamespace", str(CHART), "--namespace", RELEASE_NAMESPACE)
    rendered = cluster.run("helm", "template", *chart, *VALUES, *files).ok()
    cluster.run("kubectl", "apply", "--filename=-", stdin=rendered).ok()
    admin.create(NAMESPACES, {"metadata": {"name": PROBE, "labels": {LABEL: TENANT}}})
    probe = {"metadata": {"name": "x", "labels": {LABEL: TENANT}}}

    def in_force() -> bool:
        try:
            gateway.create(rbac_path("clusterroles"), probe, dryRun="All")
        except ApiError:
            return binds_nobody()
        return False

    def binds_nobody() -> bool:
        binding = {"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "n"}}
        try:
            admin.create(ns_path(PROBE, "bindings"), binding, dryRun="All")
        except ApiError as error:
            return "scheduler" in error.message
        return False

    eventually(in_force, what="the policies are not in force")


@pytest.fixture(scope="module", autouse=True)
def world(fences: None, admin: Api) -> None:
    """Make two tenants with a namespace each, and the first tenant's accounts."""
    assert fences is None
    for name, tenant in ((HOME, TENANT), (FOREIGN, OTHER)):
        labels = {LABEL: tenant, ENFORCE: "baseline"}
        admin.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
    subjects = [
        {"kind": "ServiceAccount", "name": TENANT, "namespace": ACCOUNTS},
        {"kind": "ServiceAccount", "name": "robot", "namespace": HOME},
    ]
    admin.create(rbac_path("rolebindings", namespace=HOME), _binding("lcluster:account", subjects))
    robot = {"metadata": {"name": "robot"}}
    admin.create(ns_path(HOME, "serviceaccounts"), robot)
    eventually(lambda: admin.find(ns_path(HOME, "serviceaccounts", "default")) is not None)
    for who in TENANTS.values():
        # The API server's authorizer knows of a RoleBinding a moment after it is there.
        acting = admin.acting(who)
        eventually(partial(unless, "Forbidden", acting.items, ns_path(HOME, "configmaps")))


def _binding(name: str, subjects: list[Object]) -> Object:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    return {"metadata": {"name": name}, "roleRef": role, "subjects": subjects}


@pytest.fixture(scope="module", params=[*TENANTS])
def tenant(request: pytest.FixtureRequest, admin: Api) -> Api:
    """Somebody who is cluster-admin in the tenant's namespaces: its account, a ServiceAccount."""
    return admin.acting(TENANTS[request.param])


# --- what the gateway writes


@pytest.mark.parametrize("what", [*objects()])
def test_the_gateway_can_create_the_objects_of_a_tenant(gateway: Api, what: str) -> None:
    where, body = objects()[what]
    gateway.create(where, body, dryRun="All")


@pytest.mark.parametrize("what", [*objects()])
@pytest.mark.parametrize(
    "steal",
    [
        "another tenant's name",
        "a name of the platform",
        "no label",
        "another tenant's label",
        "a label that is no tenant's",
    ],
)
def test_a_stolen_gateway_token_cannot_create_objects_of_others(
    gateway: Api, what: str, steal: str
) -> None:
    where, body = objects()[what]
    metadata = body["metadata"]
    match steal:
        case "another tenant's name":
            metadata["name"] = metadata["name"].replace(TENANT, OTHER)
            if what == "definition":
                body["spec"]["group"] = f"{OTHER}-example.com"
        case "a name of the platform":
            metadata["name"] = metadata["name"].replace(f"{TENANT}-", "")
            if what == "definition":
                body["spec"]["group"] = "example.com"
        case "no label":
            del metadata["labels"][LABEL]
        case "another tenant's label":
            metadata["labels"][LABEL] = OTHER
        case _:
            metadata["labels"][LABEL] = "x-y"
            metadata["name"] = metadata["name"].replace(TENANT, "x-y")
            if what == "definition":
                body["spec"]["group"] = "x-y-example.com"
    refusal(gateway.create, where, body, dryRun="All")


@pytest.mark.parametrize("reserved", RESERVED_TENANTS)
def test_a_stolen_gateway_token_cannot_use_a_reserved_tenant_name(
    gateway: Api, reserved: str
) -> None:
    labels = {LABEL: reserved}
    body = {"metadata": {"name": f"{reserved}-x", "labels": labels}}
    assert LABEL in refusal(gateway.create, rbac_path("clusterroles"), body, dryRun="All")


REFUSED = {
    "a webhook without its condition": ("webhook", "webhooks/0/matchConditions", None),
    "a webhook with a condition that is true": (
        "webhook",
        "webhooks/0/matchConditions/0/expression",
        "true",
    ),
    "a webhook with a condition that is evaluated for everybody": (
        "webhook",
        "webhooks/0/matchConditions",
        [
            {"name": "mine", "expression": "object.metadata.name == 'x'"},
            {"name": CONDITION, "expression": expression(TenantView(TENANT))},
        ],
    ),
    "a webhook of all namespaces": ("webhook", "webhooks/0/namespaceSelector", {}),
    "a webhook of another tenant's namespaces": (
        "webhook",
        "webhooks/0/namespaceSelector",
        {"matchLabels": {LABEL: OTHER}},
    ),
    "a webhook by URL": ("webhook", "webhooks/0/clientConfig", {"url": "https://127.0.0.1/x"}),
    "a webhook at the platform's Service": (
        "mutating webhook",
        "webhooks/0/clientConfig/service/namespace",
        "kube-system",
    ),
    "a webhook of another tenant, by way of the gateway": (
        "webhook",
        "webhooks/0/clientConfig/service/path",
        f"/webhooks/{OTHER}/5ec2e7/{FOREIGN}/judge/443",
    ),
    "a webhook that the gateway is not asked about": (
        "webhook",
        "webhooks/0/clientConfig/service",
        {"namespace": HOME, "name": "judge"},
    ),
    "a mutating webhook without its condition": (
        "mutating webhook",
        "webhooks/0/matchConditions",
        None,
    ),
    "a certificate of the platform": (
        "certificate",
        "spec/signerName",
        "kubernetes.io/kube-apiserver-client",
    ),
    "a certificate of another tenant's signer": (
        "certificate",
        "spec/signerName",
        f"lcluster.tenancy.loblaw.digital/{OTHER}.2.example.com.mine",
    ),
    "a conversion webhook by URL": (
        "definition",
        "spec/conversion",
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://127.0.0.1/x"},
            },
        },
    ),
    "a kind whose objects multiply when they are printed": (
        "definition",
        "spec/versions/0/additionalPrinterColumns",
        [{"name": "a", "type": "string", "jsonPath": ".a['a','a']['a','a']"}],
    ),
    "a kind whose columns change what requests share": (
        "definition",
        "spec/versions/0/additionalPrinterColumns",
        [{"name": "a", "type": "string", "jsonPath": ".a range"}],
    ),
    "a kind that nobody can list, by a field that it is selected by": (
        "definition",
        "spec/versions",
        [
            _version("v1", stored=True)
            | {
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"*": {"type": "string"}}}
                },
                "selectableFields": [{"jsonPath": ".*"}],
            }
        ],
    ),
    "a kind with very many short names": (
        "definition",
        "spec/names/shortNames",
        [f"n{number}" for number in range(33)],
    ),
    "a kind with very many versions": (
        "definition",
        "spec/versions",
        [_version(f"v{number}", stored=number == 1) for number in range(1, 12)],
    ),
    "a kind with very many columns": (
        "definition",
        "spec/versions/0/additionalPrinterColumns",
        [{"name": "a", "type": "string", "jsonPath": ".a"}] * 33,
    ),
    "a definition without room for a mark": ("definition", "metadata/annotations", None),
    "a kind that kubectl takes for LClusters": (
        "definition",
        "spec/names",
        {"plural": "things", "kind": "Thing", "shortNames": ["lc"]},
    ),
    "a kind with a name that the platform keeps": (
        "definition",
        "spec/names",
        {"plural": "things", "kind": "Thing", "singular": "certificates"},
    ),
    "a kind that kubectl takes for pods": (
        "definition",
        "spec/names",
        {"plural": "things", "kind": "Thing", "singular": "po"},
    ),
    "a volume of a driver of the platform": ("volume", "spec/csi/driver", "ebs.csi.aws.com"),
    "a volume for another tenant's claim": (
        "volume",
        "spec/claimRef",
        {"namespace": FOREIGN, "name": "c"},
    ),
    "a volume of a class of the platform": ("volume", "spec/storageClassName", "standard"),
    "a volume without a class": ("volume", "spec/storageClassName", None),
    "a volume with the Secret of another": (
        "volume",
        "spec/csi/nodeStageSecretRef",
        {"namespace": "kube-system", "name": "x"},
    ),
    "a volume that a provisioner deletes": (
        "volume",
        "metadata/annotations",
        {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"},
    ),
    "a storage class of the platform's provisioner": (
        "storage class",
        "provisioner",
        "ebs.csi.aws.com",
    ),
    "a storage class with the Secret of another": (
        "storage class",
        "parameters",
        {"csi.storage.k8s.io/provisioner-secret-namespace": "kube-system"},
    ),
    "the platform's default storage class": (
        "storage class",
        "metadata/annotations",
        {"storageclass.kubernetes.io/is-default-class": "true"},
    ),
    "the platform's default ingress class": (
        "ingress class",
        "metadata/annotations",
        {"ingressclass.kubernetes.io/is-default-class": "true"},
    ),
    "an ingress class of the platform's controller": (
        "ingress class",
        "spec/controller",
        "k8s.io/ingress-nginx",
    ),
    "a runtime class without a sandbox": ("runtime class", "handler", "runc"),
    "a runtime class that chooses nodes": (
        "runtime class",
        "scheduling",
        {"tolerations": [{"operator": "Exists"}]},
    ),
    "a priority above the others": ("priority class", "value", 1001),
    "a priority for everybody": ("priority class", "globalDefault", True),
    "a priority that preempts": ("priority class", "preemptionPolicy", "PreemptLowerPriority"),
    "a device class that selects devices": (
        "device class",
        "spec/selectors/0/cel/expression",
        "device.driver == 'gpu.example.com'",
    ),
    "a device class with all devices": ("device class", "spec/selectors", []),
    "a device class that takes a resource": (
        "device class",
        "spec/extendedResourceName",
        "example.com/gpu",
    ),
    "a device class that configures a driver": (
        "device class",
        "spec/config",
        [{"opaque": {"driver": "gpu.example.com", "parameters": {"privileged": True}}}],
    ),
    "a device on every node": ("resource slice", "spec/devices", [{"name": "d"}]),
    "a slice for all nodes": ("resource slice", "spec", ALL_NODES),
    "a slice whose nodes nobody can select": (
        "resource slice",
        "spec/nodeSelector/nodeSelectorTerms/0",
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]},
    ),
    "a slice of the platform's driver": ("resource slice", "spec/driver", "gpu.example.com"),
    "a flow schema for everybody": (
        "flow schema",
        "spec/rules",
        [
            {
                "subjects": [{"kind": "Group", "group": {"name": "system:authenticated"}}],
                "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
            }
        ],
    ),
    "a priority level with shares": (
        "priority level",
        "spec/limited/nominalConcurrencyShares",
        100,
    ),
    "a priority level with queues": (
        "priority level",
        "spec/limited/limitResponse",
        {"type": "Queue", "queuing": {"queues": 64, "handSize": 1, "queueLengthLimit": 1}},
    ),
    "an attachment to a node": ("attachment", "spec/nodeName", "node-1"),
    "attributes of the platform's driver": ("attributes", "driverName", "ebs.csi.aws.com"),
    "a role that takes in others": (
        "role",
        "aggregationRule",
        {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    ),
    "a role that adds to everybody's admin": (
        "role",
        "metadata/labels/rbac.authorization.k8s.io|aggregate-to-admin",
        "true",
    ),
    "a role that adds to another tenant's": (
        "role",
        f"metadata/labels/x.y.{OTHER}.lcluster|aggregate-to-admin",
        "true",
    ),
    "a binding that gives something": ("role binding", "roleRef/name", "cluster-admin"),
    "a binding of everybody": (
        "role binding",
        "subjects",
        [{"kind": "Group", "name": "system:authenticated"}],
    ),
    "a binding of another tenant's ServiceAccount": (
        "role binding",
        "subjects",
        [{"kind": "ServiceAccount", "name": "x", "namespace": FOREIGN}],
    ),
    "a namespace without Pod Security": (
        "namespace",
        "metadata/labels/pod-security.kubernetes.io|enforce",
        None,
    ),
    "a namespace with less Pod Security": (
        "namespace",
        "metadata/labels/pod-security.kubernetes.io|enforce",
        "privileged",
    ),
    "a namespace with old Pod Security": (
        "namespace",
        "metadata/labels/pod-security.kubernetes.io|enforce-version",
        "v1.20",
    ),
    "a namespace with everybody's devices": (
        "namespace",
        "metadata/labels/resource.kubernetes.io|admin-access",
        "true",
    ),
    "a namespace that is an LNamespace's": (
        "namespace",
        "metadata/labels/app.kubernetes.io|managed-by",
        "lnamespace",
    ),
    "a namespace with the marks of an LNamespace": (
        "namespace",
        "metadata/annotations",
        {f"{GROUP}/owner-uid": "1"},
    ),
    "a namespace that a policy engine exempts": (
        "namespace",
        "metadata/labels/engine.example.com|exempt",
        "true",
    ),
    "a namespace on chosen nodes": (
        "namespace",
        "metadata/annotations",
        {"scheduler.alpha.kubernetes.io/node-selector": "a=b"},
    ),
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(each, marks=_NEW_FIELDS.get(each, ()))
        for each, (kind, *_) in REFUSED.items()
        if kind in objects()
    ],
)
def test_a_stolen_gateway_token_cannot_create_objects_that_affect_others(
    gateway: Api, case: str
) -> None:
    where, body = changed(*REFUSED[case])
    assert "LCluster" in refusal(gateway.create, where, body, dryRun="All")


@pytest.mark.parametrize("verb", ["proxy", "watch"])
def test_no_kind_is_called_as_a_verb_in_paths(gateway: Api, verb: str) -> None:
    """Nobody could list all its objects, for which Kubernetes' quota controller waits."""
    where, body = changed("definition", "spec/names/plural", verb)
    body["metadata"]["name"] = f"{verb}.{TENANT}-example.com"
    assert "verb in paths" in refusal(gateway.create, where, body, dryRun="All")


def test_an_object_of_a_tenant_has_few_owners(gateway: Api, tenant: Api) -> None:
    """Kubernetes' garbage collector asks for each, and did nothing for others meanwhile."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap"}
    owners = [owner | {"name": f"a{each}", "uid": f"u{each}"} for each in range(65)]
    maps, roles = ns_path(HOME, "configmaps"), rbac_path("clusterroles")
    for api, path, name in ((tenant, maps, "owned"), (gateway, roles, f"{TENANT}-owned")):
        body = own("owned")["metadata"] if path == roles else {"name": name}
        made = {"metadata": body | {"ownerReferences": owners}}
        assert "64 owners" in refusal(api.create, path, made, dryRun="All")
        made["metadata"]["ownerReferences"] = owners[:64]
        api.create(path, made, dryRun="All")


def test_an_object_of_a_tenant_is_owned_by_no_lcluster(admin: Api, tenant: Api) -> None:
    """It had a finalizer, and an LCluster of others that was deleted in the foreground stayed."""
    owner = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster", "name": "a", "uid": "u"}
    maps, name = ns_path(HOME, "configmaps"), {"name": "owned"}
    held = name | {"finalizers": ["example.com/held"]}
    owned = {"metadata": held | {"ownerReferences": [owner]}}
    assert "own nothing" in refusal(tenant.create, maps, owned, dryRun="All")
    tenant.create(maps, {"metadata": held})
    assert "own nothing" in refusal(tenant.patch, f"{maps}/owned", owned)
    # What others wrote stays, and goes.
    admin.patch(f"{maps}/owned", owned)
    tenant.patch(f"{maps}/owned", {"data": {"a": "b"}})
    admin.delete(f"{maps}/owned")
    tenant.patch(f"{maps}/owned", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(
    ("where", "body"),
    [
        (ns_path(HOME, "secrets"), {"metadata": {"name": "x"}}),
        (ns_path("kube-system", "configmaps"), {"metadata": {"name": "x"}}),
        (
            ns_path(HOME, "pods"),
            {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        ),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {
                "metadata": {"name": f"v1.{TENANT}-example.com", "labels": {LABEL: TENANT}},
                "spec": {
                    "group": f"{TENANT}-example.com",
                    "version": "v1",
                    "groupPriorityMinimum": 1,
                    "versionPriority": 1,
                    "service": {"namespace": HOME, "name": "x"},
                },
            },
        ),
        ("/api/v1/nodes", own("n")),
        (
            LCLUSTERS,
            {
                "apiVersion": f"{GROUP}/v1beta1",
                "kind": "LCluster",
                "metadata": {"name": TENANT, "labels": {LABEL: TENANT}},
                "spec": {},
            },
        ),
        pytest.param(
            f"{NETWORKING}/servicecidrs",
            own("c", spec={"cidrs": ["10.99.0.0/16"]}),
            marks=since("1.33", "ServiceCIDRs"),
        ),
    ],
)
def test_a_stolen_gateway_token_cannot_create_other_kinds(
    gateway: Api, where: str, body: Object
) -> None:
    refusal(gateway.create, where, body, dryRun="All")


def test_a_stolen_gateway_token_cannot_delete_or_change_platform_objects(
    gateway: Api, admin: Api
) -> None:
    role = rbac_path("clusterroles", "view")
    refusal(gateway.delete, role, dryRun="All")
    refusal(gateway.patch, role, {"metadata": {"labels": {LABEL: TENANT}}}, dryRun="All")
    refusal(gateway.patch, ns_path(FOREIGN), {"metadata": {"labels": {LABEL: TENANT}}})
    refusal(gateway.delete, ns_path("kube-system"), dryRun="All")
    where, body = objects()["priority class"]
    body["metadata"] = {"name": f"{TENANT}-unlabelled"}
    admin.create(where, body)
    labels = {"metadata": {"labels": {LABEL: TENANT}}}
    refusal(gateway.patch, f"{where}/{TENANT}-unlabelled", labels)
    refusal(gateway.delete, f"{where}/{TENANT}-unlabelled")
    admin.delete(f"{where}/{TENANT}-unlabelled")


def test_a_stolen_gateway_token_may_publish_a_ca_but_no_other_address(
    gateway: Api, admin: Api
) -> None:
    """Where the endpoint `mine` is, people send their logins."""
    where = ns_path("kube-public", "configmaps", "lnamespace-gateway")
    told = {"mine": "https://lclusters.example.com/mine"}
    admin.create(
        where.rpartition("/")[0], {"metadata": {"name": "lnamespace-gateway"}, "data": told}
    )
    try:
        gateway.patch(where, {"data": {"ca.crt": "a CA"}})
        assert admin.get(where)["data"] == told | {"ca.crt": "a CA"}
        for change in (
            {"data": {"mine": "https://evil.example.com/mine"}},
            {"data": {"mine": None}},
            {"data": None},
            {"data": {"more": "x"}},
            {"binaryData": {"other": "eA=="}},
            {"immutable": True},
            {"metadata": {"labels": {"a": "b"}}},
        ):
            assert "its CA" in refusal(gateway.patch, where, change), change
        refusal(gateway.delete, where)
        refusal(
            gateway.patch, ns_path("kube-public", "configmaps", "kube-root-ca.crt"), {"data": {}}
        )
    finally:
        admin.delete(where)


def test_a_stolen_gateway_token_cannot_delete_collections_of_the_platform(gateway: Api) -> None:
    refusal(gateway.delete, rbac_path("clusterroles"), dryRun="All")


def test_the_restrictions_of_a_tenant_webhook_cannot_be_removed(gateway: Api) -> None:
    where, body = objects()["webhook"]
    made = gateway.create(where, body)
    path = f"{where}/{made['metadata']['name']}"
    try:
        _try_to_free(gateway, path, made)
        gateway.patch(path, {"metadata": {"annotations": {"a": "b"}}})
        replaced = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
        gateway.patch(path, replaced, kind=JSON_PATCH)
    finally:
        gateway.delete(path)


def _try_to_free(gateway: Api, path: str, made: Object) -> None:
    free = [_webhook()]
    for pointer in ("/webhooks/0/matchConditions", "/webhooks/0/namespaceSelector/matchLabels"):
        refusal(gateway.patch, path, [{"op": "remove", "path": pointer}], kind=JSON_PATCH)
    refusal(gateway.patch, path, {"webhooks": free}, kind=MERGE)
    away = [{"name": "a.example.com", "matchConditions": [{"$patch": "replace"}]}]
    refusal(gateway.patch, path, {"webhooks": away}, kind=STRATEGIC)
    named = {"metadata": {"name": made["metadata"]["name"]}}
    applied = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        **named,
        "webhooks": [_webhook(name="b.example.com", matchConditions=[])],
    }
    refusal(gateway.patch, path, applied, kind=APPLY, fieldManager="x", force="true")
    refusal(gateway.replace, path, made | {"webhooks": free})
    more = [*made["webhooks"], _webhook(name="b.example.com")]
    refusal(gateway.replace, path, made | {"webhooks": more}, dryRun="All")


def named_definition(plural: str, *finalizers: str) -> tuple[str, Object]:
    """Return where definitions are, and one that no other test has."""
    where, body = copy.deepcopy(objects()["definition"])
    name = f"{plural}.{TENANT}-example.com"
    body["metadata"] |= {"name": name, "finalizers": [*finalizers]}
    body["spec"]["names"] = {"plural": plural, "kind": plural.capitalize()}
    return where, body


def test_the_room_of_a_definition_for_a_mark_cannot_be_removed(gateway: Api) -> None:
    where, body = named_definition("rooms")
    made = gateway.create(where, body)
    path = f"{where}/{made['metadata']['name']}"
    try:
        for at in (path, f"{path}/status"):
            for value in (None, "short"):
                patch = {"metadata": {"annotations": {RESERVE: value}}}
                assert "room" in refusal(gateway.patch, at, patch)
            gateway.patch(at, {"metadata": {"annotations": {"a": at}}})
    finally:
        gateway.delete(path)


def test_a_deleted_definition_whose_room_is_used_loses_its_last_finalizer(
    gateway: Api, admin: Api
) -> None:
    """The mark in its place goes when the objects are gone, and nobody could remove the rest."""
    where, body = named_definition("gones", "example.com/mine")
    path = f"{where}/{gateway.create(where, body)['metadata']['name']}"
    gateway.delete(path)
    eventually(lambda: admin.get(path)["metadata"]["finalizers"] == ["example.com/mine"])
    admin.patch(path, {"metadata": {"annotations": {RESERVE: None}}})
    gateway.patch(path, {"metadata": {"labels": {"a": "b"}}})
    gateway.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: admin.find(path) is None)


def test_the_objects_of_a_definition_cannot_be_left_behind(gateway: Api, admin: Api) -> None:
    """They were those of the next LCluster of the name, and of the next definition of the kind."""
    cleanup = "customresourcecleanup.apiextensions.k8s.io"
    where, body = named_definition("lefts", cleanup, "example.com/mine")
    path = f"{where}/{body['metadata']['name']}"
    gateway.create(where, body)
    try:
        for left in (None, [], ["example.com/mine"]):
            change = {"metadata": {"finalizers": left}}
            assert cleanup in refusal(gateway.patch, path, change, kind=MERGE, dryRun="All")
            with suppress(ApiError):
                gateway.patch(f"{path}/status", change, MERGE)
            assert cleanup in admin.get(path)["metadata"]["finalizers"]
        gateway.patch(path, {"metadata": {"finalizers": [cleanup]}}, MERGE)
        eventually(lambda: len(admin.get(path)["status"].get("conditions") or ()) > 1)
        status = admin.get(path)["status"]
        others = [each for each in status["conditions"] if each["type"] != "Established"]
        never = {"type": "Established", "status": "False", "reason": "a", "message": "b"}
        for changed in (
            {"acceptedNames": status["acceptedNames"] | {"plural": "others"}},
            {"conditions": others},
            {"conditions": [never, *status["conditions"]]},
        ):
            told = refusal(gateway.patch, f"{path}/status", {"status": changed}, kind=MERGE)
            assert "Established" in told
        mine = {"type": "Mine", "status": "True", "reason": "a", "message": "b"}
        gateway.patch(f"{path}/status", {"status": {"conditions": [*status["conditions"], mine]}})
    finally:
        admin.patch(path, {"metadata": {"finalizers": None}}, MERGE)
        admin.delete(path)


@pytest.mark.parametrize("subresource", ["", "/status", "/finalize"])
def test_namespace_labels_cannot_be_changed_by_any_subresource(
    gateway: Api, tenant: Api, subresource: str
) -> None:
    path = ns_path(HOME) + subresource
    found = gateway.get(ns_path(HOME))
    for labels in (
        {LABEL: OTHER, ENFORCE: "baseline"},
        {ENFORCE: "baseline"},
        {LABEL: TENANT, ENFORCE: "privileged"},
        {LABEL: TENANT},
    ):
        body = copy.deepcopy(found)
        body["metadata"]["labels"] = labels
        refusal(gateway.replace, path, body)
        refusal(tenant.replace, path, body)
    kept = copy.deepcopy(found)
    kept["metadata"]["labels"]["team"] = "a"
    gateway.replace(path, kept, dryRun="All")
    refusal(tenant.replace, path, kept, dryRun="All")
    if subresource != "/finalize":
        refusal(gateway.patch, path, {"metadata": {"labels": {LABEL: None}}})
        refusal(tenant.patch, path, {"metadata": {"labels": {"team": "a"}}})


def test_the_namespace_of_a_tenant_leaves_room_for_what_the_platform_writes(gateway: Api) -> None:
    """One that was full could not be told to be empty, so it and its LCluster stayed for ever."""
    entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}

    def filled(labels: int, kibibytes: int, fields: int) -> Iterator[Object]:
        names: Object = {f"f:{number:04}{'x' * 1000}": {} for number in range(fields)}
        yield {"labels": {f"a{number}": "b" for number in range(labels)}}
        yield {"annotations": {"a": "x" * 1024 * kibibytes}}
        yield {"managedFields": [entry | {"fieldsV1": {"f:metadata": {"f:labels": names}}}]}

    for few in filled(200, 150, 200):
        gateway.patch(ns_path(HOME), {"metadata": few}, dryRun="All")
    made = {"labels": {LABEL: TENANT, ENFORCE: "baseline"}, "name": f"{TENANT}-full"}
    for full in filled(300, 200, 300):
        assert "may have at most" in refusal(
            gateway.patch, ns_path(HOME), {"metadata": full}, dryRun="All"
        )
        labels = {"labels": made["labels"] | full.get("labels", {})}
        new = {"metadata": made | full | labels}
        if "managedFields" not in full:  # they do not count where there is nothing yet
            assert "may have at most" in refusal(gateway.create, NAMESPACES, new, dryRun="All")


def test_a_tenant_can_delete_its_namespace_only_through_the_gateway(
    gateway: Api, tenant: Api
) -> None:
    refusal(tenant.delete, ns_path(HOME), dryRun="All")
    gateway.delete(ns_path(HOME), dryRun="All")


# --- what a tenant writes directly


def pod(**spec: Any) -> Object:
    """Return a pod that is let through, with more in its specification."""
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers} | spec}


TOLERATION = "node.kubernetes.io/not-ready"


def _affinity(kind: str, **term: Any) -> Object:
    whole = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}} | term
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [whole]}}


def devices(class_name: str) -> Object:
    """Return a pod with devices by the name of their class, as an extended resource."""
    limits = {f"deviceclass.resource.kubernetes.io/{class_name}": "1"}
    return pod(containers=[{"name": "c", "image": "i", "resources": {"limits": limits}}])


GOOD_PODS: dict[str, Object] = {
    "a pod": pod(),
    "a pod that tolerates what all do": pod(
        tolerations=[{"key": TOLERATION, "operator": "Exists"}]
    ),
    "a pod near its own": pod(affinity=_affinity("podAffinity", namespaces=[HOME])),
    "a pod near all of its own": pod(
        affinity=_affinity("podAntiAffinity", namespaceSelector={"matchLabels": {LABEL: TENANT}})
    ),
    "a pod with a driver that is not there": pod(
        volumes=[{"name": "v", "csi": {"driver": f"{TENANT}-example.com"}}]
    ),
    "a pod with volumes that hurt nobody": pod(
        volumes=[
            {"name": "a", "configMap": {"name": "c"}},
            {"name": "b", "emptyDir": {}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "d", "secret": {"secretName": "s"}},
            {"name": "e", "downwardAPI": {"items": []}},
            {"name": "f", "projected": {"sources": [{"configMap": {"name": "c"}}]}},
            {"name": "g"},
        ]
    ),
    "a pod of its own class of devices": devices(f"{TENANT}-gpu"),
}
BAD_PODS: dict[str, Object] = {
    "on a node of its choice": pod(nodeName="node-1"),
    "by a scheduler of its own": pod(schedulerName="mine"),
    "that tolerates everything": pod(tolerations=[{"operator": "Exists"}]),
    "on control planes": pod(
        tolerations=[{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]
    ),
    "that displaces all others": pod(priorityClassName="system-cluster-critical"),
    "that repels those of others": pod(affinity=_affinity("podAntiAffinity", namespaceSelector={})),
    "that looks for those of others": pod(affinity=_affinity("podAffinity", namespaces=[FOREIGN])),
    "with the platform's driver": pod(
        volumes=[{"name": "v", "csi": {"driver": "fences.example.com"}}]
    ),
    "with an export of a file server": pod(
        volumes=[{"name": "v", "nfs": {"server": "10.0.0.1", "path": "/"}}]
    ),
    "with a disk of the cloud": pod(
        volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]
    ),
    "with a driver on the nodes": pod(
        volumes=[{"name": "v", "flexVolume": {"driver": "example.com/driver"}}]
    ),
    "with a repository": pod(volumes=[{"name": "v", "gitRepo": {"repository": "https://x/y"}}]),
    "of the node's network": pod(hostNetwork=True),
    "of a class of devices that is not published": devices("platinum"),
}


def bundles(**bundle: Any) -> Object:
    """Return a pod that trusts what some ClusterTrustBundles say."""
    source = {"clusterTrustBundle": {"path": "ca", **bundle}}
    return pod(volumes=[{"name": "v", "projected": {"sources": [source]}}])


SIGNER = "example.com/signer"
FOREIGN_BUNDLES = {
    "all of a signer": bundles(signerName=SIGNER, labelSelector={}),
    "those of a signer with a label": bundles(
        signerName=SIGNER, labelSelector={"matchLabels": {"a": "b"}}
    ),
    "those of another tenant": bundles(
        signerName=SIGNER, labelSelector={"matchLabels": {LABEL: OTHER}}
    ),
    "one by its name": bundles(name="platform"),
}


@pytest.mark.parametrize("case", [*FOREIGN_BUNDLES])
def test_a_tenant_pod_cannot_mount_trust_bundles_of_others(tenant: Api, case: str) -> None:
    own = bundles(signerName=SIGNER, labelSelector={"matchLabels": {LABEL: TENANT}})
    made = tenant.create(ns_path(HOME, "pods"), own, dryRun="All")
    if "clusterTrustBundle" not in repr(made["spec"]["volumes"]):
        pytest.skip("this API server drops the field")  # without ClusterTrustBundleProjection
    refusal(tenant.create, ns_path(HOME, "pods"), FOREIGN_BUNDLES[case], dryRun="All")


@pytest.mark.parametrize("signer", ["kubernetes.io/kube-apiserver-client-pod", f"{OTHER}-a.b/c"])
def test_no_signer_of_others_signs_for_a_tenants_pod(tenant: Api, signer: str) -> None:
    def certified(name: str) -> Object:
        certificate = {"signerName": name, "keyType": "ED25519", "credentialBundlePath": "b"}
        sources = [{"podCertificate": certificate}]
        return pod(volumes=[{"name": "v", "projected": {"sources": sources}}])

    pods = ns_path(HOME, "pods")
    made = tenant.create(pods, certified(f"{TENANT}-example.com/own"), dryRun="All")
    if "podCertificate" not in repr(made["spec"]["volumes"]):
        pytest.skip("this API server drops the field")
    assert "no signer" in refusal(tenant.create, pods, certified(signer), dryRun="All")


@pytest.mark.parametrize("case", [*GOOD_PODS])
def test_a_tenant_can_create_permitted_pods(tenant: Api, case: str) -> None:
    tenant.create(ns_path(HOME, "pods"), GOOD_PODS[case], dryRun="All")


@pytest.mark.parametrize("case", [*BAD_PODS])
def test_a_tenant_cannot_create_forbidden_pods(tenant: Api, case: str) -> None:
    refusal(tenant.create, ns_path(HOME, "pods"), BAD_PODS[case], dryRun="All")


def test_the_replicaset_controller_cannot_create_forbidden_pods(admin: Api) -> None:
    """From a template that a tenant wrote."""
    controller = admin.acting(
        "system:serviceaccount:kube-system:replicaset-controller", "system:masters"
    )
    controller.create(ns_path(HOME, "pods"), pod(), dryRun="All")
    refusal(controller.create, ns_path(HOME, "pods"), pod(nodeName="n"), dryRun="All")


SCHEDULING = "scheduling.example.com"
GROUPS = f"/apis/{SCHEDULING}/v1/namespaces/{HOME}"


@pytest.fixture
def pod_groups(cluster: Cluster, admin: Api) -> Iterator[None]:
    """Put the policy of groups of pods over the same kinds in a group of the platform's.

    Kubernetes serves scheduling.k8s.io/v1alpha2 only with a feature in alpha, and nobody else can.
    """
    show = "--show-only=templates/policy-lclusters-pods.yaml"
    rendered = cluster.run("helm", "template", "lnamespace", str(CHART), *VALUES, show).ok()
    parts = [
        each for each in rendered.split("---\n") if "name: lnamespace-lclusters-pod-groups" in each
    ]
    policy = "---\n".join(parts).replace("scheduling.k8s.io", SCHEDULING)
    policy = policy.replace("lnamespace-lclusters-pod-groups", "pod-groups")
    made = []
    for plural, kind in (("podgroups", "PodGroup"), ("workloads", "Workload")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True}
        spec = {
            "group": SCHEDULING,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
        }
        made.append(f"{plural}.{SCHEDULING}")
        admin.create(CRDS, {"metadata": {"name": made[-1]}, "spec": spec})
    cluster.run("kubectl", "apply", "--filename=-", stdin=policy).ok()

    def in_force() -> bool:
        with suppress(AssertionError):
            critical = group_of_pods("PodGroup", priority=2_000_000_000)
            assert "LCluster" in refusal(
                admin.create, f"{GROUPS}/podgroups", critical, dryRun="All"
            )
            return True
        return False

    try:
        eventually(in_force, what="the policy is not in force")
        yield
    finally:
        cluster.run("kubectl", "delete", "--filename=-", stdin=policy).ok()
        for name in made:
            admin.remove(f"{CRDS}/{name}")


def group_of_pods(kind: str, **fields: Any) -> Object:
    """Return a PodGroup, or a Workload that has a template of one."""
    spec = fields if kind == "PodGroup" else {"podGroupTemplates": [{}, fields]}
    return {
        "apiVersion": f"{SCHEDULING}/v1",
        "kind": kind,
        "metadata": {"name": "g"},
        "spec": spec,
    }


@pytest.mark.usefixtures("pod_groups")
def test_a_group_of_pods_displaces_nobody(admin: Api) -> None:
    for group, allowed in (
        ({}, True),
        ({"priorityClassName": f"{TENANT}-low", "priority": 1000}, True),
        ({"priorityClassName": "system-node-critical"}, False),
        ({"priorityClassName": f"{TENANT}-low", "priority": 1001}, False),
        ({"priority": 2_000_001_000}, False),
    ):
        for plural, kind in (("podgroups", "PodGroup"), ("workloads", "Workload")):
            body = group_of_pods(kind, **group)
            path = f"{GROUPS}/{plural}"
            if allowed:
                admin.create(path, body, dryRun="All")
            else:
                assert "LCluster" in refusal(admin.create, path, body, dryRun="All")


def test_only_the_scheduler_binds_pods_and_only_nodes_write_pod_addresses(
    tenant: Api, admin: Api
) -> None:
    made = tenant.create(ns_path(HOME, "pods"), pod())
    path = ns_path(HOME, "pods", "p")
    try:
        target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
        binding = {"metadata": {"name": "p"}, "target": target}
        assert "scheduler" in refusal(tenant.create, f"{path}/binding", binding, dryRun="All")
        bindings = ns_path(HOME, "bindings")
        assert "scheduler" in refusal(tenant.create, bindings, binding, dryRun="All")
        scheduler = admin.acting("system:kube-scheduler", "system:masters")
        scheduler.create(f"{path}/binding", binding, dryRun="All")
        _write_addresses(tenant, admin, path, made)
        more = [*made["spec"]["tolerations"], {"operator": "Exists"}]
        refusal(tenant.patch, path, {"spec": {"tolerations": more}}, dryRun="All")
    finally:
        admin.delete(path, gracePeriodSeconds="0")


def _write_addresses(tenant: Api, admin: Api, path: str, made: Object) -> None:
    for status in (
        {"podIP": "10.1.2.3"},
        {"podIPs": [{"ip": "10.1.2.3"}]},
        {"hostIP": "10.1.2.3"},
        {"nominatedNodeName": "n"},
    ):
        refusal(tenant.patch, f"{path}/status", {"status": status}, dryRun="All")
        refusal(tenant.replace, f"{path}/status", made | {"status": status}, dryRun="All")
    condition = {"type": "example.com/gate", "status": "True"}
    tenant.patch(f"{path}/status", {"status": {"conditions": [condition]}}, dryRun="All")
    node = admin.acting("system:serviceaccount:kube-system:pod-garbage-collector", "system:masters")
    node.patch(f"{path}/status", {"status": {"podIP": "10.1.2.3"}}, dryRun="All")


def claim(**spec: Any) -> Object:
    """Return a claim of the tenant's own class."""
    return {
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": f"{TENANT}-s",
        }
        | spec,
    }


def test_a_claim_may_refer_only_to_volumes_of_the_tenant(tenant: Api) -> None:
    claims = ns_path(HOME, "persistentvolumeclaims")
    for good in (
        claim(),
        claim(volumeName=f"{TENANT}-v"),
        claim(storageClassName="standard"),
        claim(storageClassName=f"lcluster.{TENANT}"),
        claim(storageClassName="archive-cold"),
        claim(volumeAttributesClassName=f"{TENANT}-gold"),
    ):
        tenant.create(claims, good, dryRun="All")
    for bad in (
        claim(storageClassName="platinum"),
        *([claim(volumeAttributesClassName="platinum")] if is_since("1.34") else []),
        claim(volumeName=f"{OTHER}-v"),
        claim(volumeName="disk-1"),
        claim(storageClassName=""),
    ):
        refusal(tenant.create, claims, bad, dryRun="All")


@pytest.fixture
def other_lcluster(admin: Api) -> Iterator[None]:
    """Create an LCluster of the other tenant."""
    requester = {"requester": "fences"}
    body = {"metadata": {"name": OTHER}, "spec": requester}
    person = admin.acting("fences", "system:masters")
    person.create(LCLUSTERS, body | {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster"})
    yield
    admin.remove(f"{LCLUSTERS}/{OTHER}")


@pytest.mark.usefixtures("other_lcluster")
def test_a_claim_cannot_use_a_storage_class_of_another_tenant(tenant: Api) -> None:
    claims = ns_path(HOME, "persistentvolumeclaims")

    def refused() -> bool:
        try:
            tenant.create(claims, claim(storageClassName=f"{OTHER}-s"), dryRun="All")
        except ApiError as error:
            return error.message.endswith("not found")
        return False

    eventually(refused, what="a claim can wait for another tenant's volume")
    refusal(tenant.create, claims, claim(storageClassName=f"lcluster.{OTHER}"), dryRun="All")
    annotated = claim()
    annotated["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": f"{OTHER}-s"}
    refusal(tenant.create, claims, annotated, dryRun="All")
    tenant.create(claims, claim(), dryRun="All")


BINDER = "system:serviceaccount:kube-system:persistent-volume-binder"


@pytest.mark.usefixtures("other_lcluster")
@pytest.mark.parametrize("who", [BINDER, GATEWAY, "an-administrator"])
def test_a_volume_of_a_tenant_cannot_be_bound_to_the_claim_of_another(admin: Api, who: str) -> None:
    """A policy of the tenant changed what Kubernetes' binder wrote, which nothing else judged."""
    writer, path = admin.acting(who, "system:masters"), "/api/v1/persistentvolumes"
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": f"{OTHER}-d", "volumeHandle": "h"},
        "storageClassName": f"{OTHER}-s",
    }

    def bound(space: str) -> Object:
        return {"spec": {"claimRef": {"namespace": space, "name": "c"}}}

    def refused(name: str) -> bool:
        try:
            writer.patch(f"{path}/{name}", bound(HOME), dryRun="All")
        except ApiError as error:
            return "is for claims in its own namespaces" in error.message
        return False

    for name, labels in ((f"{OTHER}-v", {LABEL: OTHER}), (f"{OTHER}-unlabelled", {})):
        admin.create(path, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    try:
        eventually(partial(refused, f"{OTHER}-v"), what="a volume is for claims of another")
        writer.patch(f"{path}/{OTHER}-v", bound(FOREIGN), dryRun="All")
        if who != GATEWAY:
            assert refused(f"{OTHER}-unlabelled")
            stripped = bound(HOME) | {"metadata": {"labels": {LABEL: None}}}
            refusal(writer.patch, f"{path}/{OTHER}-v", stripped)
            of_the_platform = {"metadata": {"name": "disk-1"}, "spec": spec | bound(HOME)["spec"]}
            writer.create(path, of_the_platform, dryRun="All")
    finally:
        for name in (f"{OTHER}-v", f"{OTHER}-unlabelled"):
            # Nobody here takes the finalizer off that protects what is in use.
            admin.patch(f"{path}/{name}", {"metadata": {"finalizers": None}})
            admin.delete(f"{path}/{name}")


@pytest.mark.usefixtures("other_lcluster")
@pytest.mark.parametrize("who", [BINDER, "system:kube-scheduler"])
def test_a_volume_made_beforehand_is_for_tenants_if_its_class_is_published_by_name(
    admin: Api, who: str
) -> None:
    """A claim that names no class, or one that only volumes have, took those of the platform."""
    binder, path = admin.acting(who, "system:masters"), "/api/v1/persistentvolumes"

    def volume(name: str, storage_class: str, **spec: Any) -> str:
        disk: Object = {"driver": "platform.example.com", "volumeHandle": name}
        spec |= {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": disk}
        spec |= {"storageClassName": storage_class}
        admin.create(path, {"metadata": {"name": name}, "spec": spec})
        return f"{path}/{name}"

    def bound(space: str) -> Object:
        claim_ref = {"namespace": space, "name": "c", "uid": "00000000-0000-0000-0000-000000000000"}
        return {"spec": {"claimRef": claim_ref}}

    def refused(at: str) -> bool:
        try:
            binder.patch(at, bound(FOREIGN), dryRun="All")
        except ApiError as error:
            return "made beforehand" in error.message
        return False

    made: list[str] = []
    try:
        for name in ("", "manual", "archive-cold"):
            made.append(volume(f"disk{len(made)}", name))
            eventually(partial(refused, made[-1]), what=f"a claim takes a volume of class {name!r}")
            binder.patch(made[-1], bound("default"), dryRun="All")
        annotated = {"volume.beta.kubernetes.io/storage-class": ""}
        made.append(volume("annotated", "standard"))
        binder.patch(made[-1], bound(FOREIGN), dryRun="All")
        admin.patch(made[-1], {"metadata": {"annotations": annotated}})
        assert refused(made[-1])
        for name in (f"{OTHER}-s", f"lcluster.{OTHER}"):
            made.append(volume(f"disk{len(made)}", name))
            binder.patch(made[-1], bound(FOREIGN), dryRun="All")
        reserved = {"claimRef": {"namespace": FOREIGN, "name": "c"}}
        made.append(volume("reserved", "", **reserved))
        binder.patch(made[-1], bound(FOREIGN), dryRun="All")
    finally:
        for at in made:
            # Nobody here takes the finalizer off that protects what is in use.
            admin.patch(at, {"metadata": {"finalizers": None}})
            admin.delete(at)


def test_no_share_is_more_than_the_total(other_lcluster: None, admin: Api) -> None:
    """Whoever writes it: a policy of the tenant changed what the controller wrote."""
    assert other_lcluster is None
    admin.patch(f"{LCLUSTERS}/{OTHER}", {"spec": {"quota": {"pods": "10", "requests.cpu": "2"}}})
    path = ns_path(FOREIGN, "resourcequotas")

    def share(**hard: str) -> Object:
        return {"metadata": {"name": "lcluster"}, "spec": {"hard": hard}}

    def refused(**hard: str) -> bool:
        try:
            admin.create(path, share(**hard), dryRun="All")
        except ApiError as error:
            return "a share has each of the totals" in error.message
        return False

    cpu = "requests.cpu"
    eventually(partial(refused, pods="11", **{cpu: "1"}), what="a share is more than the total")
    assert refused(pods="10")
    assert refused(pods="10", secrets="1", **{cpu: "1"})
    admin.create(path, share(pods="10", **{cpu: "1500m"}))
    try:
        item = f"{path}/lcluster"
        assert "totals" in refusal(admin.patch, item, {"spec": {"hard": {"pods": "1k"}}})
        # A share that is more than a total that came later is lowered step by step.
        admin.patch(f"{LCLUSTERS}/{OTHER}", {"spec": {"quota": {"pods": "5"}}})
        lowered = {"spec": {"hard": {"pods": "8"}}}
        eventually(partial(unless, "Forbidden", admin.patch, item, lowered))
        eventually(
            lambda: not unless("Forbidden", admin.patch, item, {"spec": {"hard": {"pods": "9"}}})
        )
        of_its_own = share(pods="1k")
        of_its_own["metadata"]["name"] = "of-its-own"
        admin.create(path, of_its_own, dryRun="All")
    finally:
        admin.delete(f"{path}/lcluster")


@DEVICES
@pytest.mark.usefixtures("other_lcluster")
def test_a_device_request_cannot_use_a_class_of_others(tenant: Api, admin: Api) -> None:
    space = "/apis/resource.k8s.io/v1/namespaces/" + HOME

    def asked(owner: str) -> Iterator[tuple[str, Object]]:
        """Ask for devices of a class in each way that there is."""
        exact = {"deviceClassName": f"{owner}-gpu"}
        for request in (
            {"name": "a", "exactly": exact},
            {"name": "a", "firstAvailable": [{"name": "b", **exact}]},
        ):
            spec = {"devices": {"requests": [request]}}
            yield f"{space}/resourceclaims", {"metadata": {"name": "x"}, "spec": spec}
            template = {"metadata": {"name": "x"}, "spec": {"spec": spec}}
            yield f"{space}/resourceclaimtemplates", template
        limits = {f"deviceclass.resource.kubernetes.io/{owner}-gpu": "1"}
        container = {"name": "c", "image": "i", "resources": {"limits": limits}}
        of_pod = {"metadata": {"name": "x"}, "spec": {"containers": [container]}}
        yield ns_path(HOME, "pods"), of_pod

    def refused(path: str, body: Object) -> bool:
        try:
            tenant.create(path, body, dryRun="All")
        except ApiError as error:
            return error.message.endswith("device class not found")
        return False

    # Names that begin with f are published, but not those of another LCluster.
    for owner in (OTHER, "platinum"):
        for path, body in asked(owner):
            eventually(partial(refused, path, body), what=f"{path} takes devices of another")
    for owner in (TENANT, "fast"):
        for path, body in asked(owner):
            tenant.create(path, body, dryRun="All")
    # For an extended resource that a class of the platform takes.
    scheduler = admin.acting("system:kube-scheduler", "system:masters")
    (path, body), *_ = asked("platinum")
    scheduler.create(path, body, dryRun="All")


APPS, BATCH = "/apis/apps/v1", "/apis/batch/v1"


def of_one_container(**container: Any) -> Object:
    """Return a template of pods with one container, which has further fields."""
    spec = {"containers": [{"name": "c", "image": "i"} | container]}
    return {"metadata": {"labels": {"app": "a"}}, "spec": spec}


def stateful(replicas: int, **container: Any) -> Object:
    template = of_one_container(**container)
    selector = {"matchLabels": {"app": "a"}}
    spec = {"replicas": replicas, "serviceName": "s", "selector": selector, "template": template}
    return {"metadata": {"name": "s"}, "spec": spec}


def test_a_statefulset_has_no_more_replicas_than_controllers_have_memory_for(
    tenant: Api, admin: Api
) -> None:
    """kube-controller-manager makes all of them in its memory: of a million it ends."""
    path = f"{APPS}/namespaces/{HOME}/statefulsets"
    large = [{"name": "A", "value": "x" * 100_000}]
    for replicas, container in ((2_147_483_647, {}), (100_000, {}), (1, {"env": large})):
        body = stateful(replicas, **container)
        assert "spec.replicas" in refusal(tenant.create, path, body, dryRun="All")
    tenant.create(path, stateful(5_000), dryRun="All")
    tenant.create(path, stateful(200))
    try:
        item, scaler = f"{path}/s", admin.acting("system:kube-controller-manager", "system:masters")
        assert "spec.replicas" in refusal(tenant.patch, item, {"spec": {"replicas": 100_000}})
        for who in (tenant, scaler):
            more = {"spec": {"replicas": 251}}
            assert "spec.replicas" in refusal(who.patch, f"{item}/scale", more)
            who.patch(f"{item}/scale", {"spec": {"replicas": 250}}, dryRun="All")
        tenant.patch(item, {"spec": {"replicas": 300}})
        tenant.patch(f"{item}/scale", {"spec": {"replicas": 299}})
    finally:
        admin.delete(f"{path}/s")


def test_a_revision_takes_no_field_from_a_statefulset(tenant: Api) -> None:
    """kube-controller-manager applies it as a patch, and ended where a field was missing then."""
    path = f"{APPS}/namespaces/{HOME}/controllerrevisions"

    def revision(data: Object) -> Object:
        return {"metadata": {"name": "r"}, "revision": 1, "data": data}

    template = of_one_container()
    for spec in (
        {"template": template, "updateStrategy": {"rollingUpdate": {"$patch": "replace"}}},
        {"template": template, "updateStrategy": None},
        {"template": template, "Selector": None},
        {"template": template, "update\u017ftrategy": {"rollingUpdate": {}}},
        {"template": template, "$patch": "replace"},
        {"replicas": None},
        None,
    ):
        for name in ("spec", "Spec", "\u017fpec"):
            assert refusal(tenant.create, path, revision({name: spec}), dryRun="All")
    others: tuple[Object, ...] = (
        {"spec": {"template": template | {"$patch": "replace"}}},
        {"spec": {"networkConfig": {}, "leaderWorkerTemplate": {}}},
        {"settings": {"replicas": 2}},
    )
    for data in others:
        tenant.create(path, revision(data), dryRun="All")


def test_a_cronjob_did_not_run_before_it_was_there(tenant: Api, admin: Api) -> None:
    """kube-controller-manager counts each second since then, from the year 1 for minutes."""
    path = f"{BATCH}/namespaces/{HOME}/cronjobs"
    job = of_one_container()
    job["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "@every 1s", "suspend": True, "jobTemplate": {"spec": {"template": job}}}
    made = tenant.create(path, {"metadata": {"name": "j"}, "spec": spec})
    try:
        for time in ("0001-01-02T00:00:00Z", "2020-01-01T00:00:00Z"):
            status = {"status": {"lastScheduleTime": time}}
            assert "lastScheduleTime" in refusal(tenant.patch, f"{path}/j/status", status)
        for later in (made["metadata"]["creationTimestamp"], "2100-01-01T00:00:00Z", None):
            tenant.patch(f"{path}/j/status", {"status": {"lastScheduleTime": later}})
        tenant.patch(f"{path}/j/status", {"status": {"active": []}})
    finally:
        admin.delete(f"{path}/j")


@DEVICES
def test_no_claim_asks_for_more_devices_than_the_scheduler_counts(tenant: Api) -> None:
    """Two counts of 2^63-1 are -2, and the scheduler of the whole cluster ended."""
    space = "/apis/resource.k8s.io/v1/namespaces/" + HOME

    def asked(count: int) -> Iterator[tuple[str, Object]]:
        exact = {"deviceClassName": f"{TENANT}-gpu", "count": count}
        for request in (
            {"name": "a", "exactly": exact},
            {"name": "a", "firstAvailable": [{"name": "b", **exact}]},
        ):
            requests = [request, request | {"name": "c"}]
            spec = {"devices": {"requests": requests}}
            yield f"{space}/resourceclaims", {"metadata": {"name": "x"}, "spec": spec}
            template = {"metadata": {"name": "x"}, "spec": {"spec": spec}}
            yield f"{space}/resourceclaimtemplates", template

    for count in (33, 9_223_372_036_854_775_807):
        for path, body in asked(count):
            assert "at most 32 devices" in refusal(tenant.create, path, body, dryRun="All")
    for path, body in asked(32):
        tenant.create(path, body, dryRun="All")


@DEVICES
def test_each_owner_of_a_claim_for_an_extended_resource_says_whether_it_controls(
    tenant: Api, admin: Api
) -> None:
    """The scheduler ended where an owner of such a claim had the name of a pod."""
    path = f"/apis/resource.k8s.io/v1/namespaces/{HOME}/resourceclaims"
    extended = {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "5c3e"}
    exact = {"deviceClassName": f"{TENANT}-gpu"}

    def claimed(annotations: Object, owned: Object) -> Object:
        metadata = {"name": "e", "annotations": annotations, "ownerReferences": [owned]}
        spec = {"devices": {"requests": [{"name": "a", "exactly": exact}]}}
        return {"metadata": metadata, "spec": spec}

    message = refusal(tenant.create, path, claimed(extended, owner), dryRun="All")
    assert "ownerReferences" in message
    for controls in (True, False):
        tenant.create(path, claimed(extended, owner | {"controller": controls}), dryRun="All")
    home = admin.get(ns_path(HOME))["metadata"]["uid"]
    space = {"apiVersion": "v1", "kind": "Namespace", "name": HOME, "uid": home}
    tenant.create(path, claimed({}, space))
    try:
        later = {"metadata": {"annotations": extended}}
        assert "ownerReferences" in refusal(tenant.patch, f"{path}/e", later)
    finally:
        admin.delete(f"{path}/e")


def test_no_pod_asks_for_more_of_a_resource_than_the_scheduler_counts(tenant: Api) -> None:
    """From 1.36 on the scheduler makes device requests of them, with these counts."""
    path = ns_path(HOME, "pods")
    for name in (f"deviceclass.resource.kubernetes.io/{TENANT}-gpu", "example.com/gpu"):
        for amount, allowed in (("9223372036854775807", False), ("2Ti", False), ("64Gi", True)):
            limits = {"limits": {name: amount, "cpu": "1"}}
            body = of_one_container(resources=limits) | {"metadata": {"name": "x"}}
            if allowed:
                tenant.create(path, body, dryRun="All")
            else:
                assert "1Ti" in refusal(tenant.create, path, body, dryRun="All")


def test_no_slice_has_more_endpoints_on_more_ports_than_nodes_have_memory_for(tenant: Api) -> None:
    """Each node has each endpoint on each port: of one slice of 1 MB twenty million."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{HOME}/endpointslices"

    def slice_of(endpoints: int, ports: int) -> Object:
        return {
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [f"10.1.{n // 256}.{n % 256}"]} for n in range(endpoints)],
            "ports": [{"name": f"p{n}", "port": n + 1} for n in range(ports)],
        }

    for many in ((1_000, 20_000), (1_000, 101)):
        assert "endpoints" in refusal(tenant.create, path, slice_of(*many), dryRun="All")
    for few in ((1_000, 100), (100, 1_000), (0, 20_000)):
        tenant.create(path, slice_of(*few), dryRun="All")


def test_a_role_binding_may_refer_only_to_subjects_of_the_tenant(tenant: Api) -> None:
    bindings = rbac_path("rolebindings", namespace=HOME)
    for good in (
        {"kind": "User", "name": f"lcluster:{TENANT}:eve"},
        {"kind": "Group", "name": f"lcluster:{TENANT}:devs"},
        {"kind": "Group", "name": f"system:serviceaccounts:{HOME}"},
        {"kind": "ServiceAccount", "name": "x", "namespace": f"{TENANT}-other"},
    ):
        tenant.create(bindings, _binding("b", [good]), dryRun="All")
    for bad in (
        {"kind": "User", "name": "eve"},
        {"kind": "User", "name": f"lcluster:{OTHER}:eve"},
        {"kind": "Group", "name": "system:authenticated"},
        {"kind": "Group", "name": "system:serviceaccounts"},
        {"kind": "Group", "name": f"system:serviceaccounts:{FOREIGN}"},
        {"kind": "ServiceAccount", "name": "x", "namespace": FOREIGN},
        {"kind": "ServiceAccount", "name": "x", "namespace": ACCOUNTS},
    ):
        refusal(tenant.create, bindings, _binding("b", [bad]), dryRun="All")


def test_a_role_binding_names_no_cluster_role_of_others(tenant: Api) -> None:
    """Who has a role may ask for its rules, with the names in them, and whether there is one."""
    bindings = rbac_path("rolebindings", namespace=HOME)

    def binding(kind: str, name: str) -> Object:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        return _binding("b", []) | {"roleRef": reference}

    for good in ("admin", "system:auth-delegator", f"{TENANT}-deployer", "platform-reader"):
        tenant.create(bindings, binding("ClusterRole", good), dryRun="All")
    tenant.create(bindings, binding("Role", "deployer"), dryRun="All")
    for bad in (f"{OTHER}-deployer", "platform-break-glass", f"{TENANT}x-deployer"):
        words = refusal(tenant.create, bindings, binding("ClusterRole", bad), dryRun="All")
        assert "roleRef" in words


def test_only_the_platform_may_change_the_binding_of_a_tenants_account(
    tenant: Api, admin: Api
) -> None:
    path = rbac_path("rolebindings", "lcluster:account", HOME)
    refusal(tenant.delete, path, dryRun="All")
    refusal(tenant.patch, path, {"subjects": []}, dryRun="All")
    bindings = rbac_path("rolebindings", namespace=HOME)
    refusal(tenant.create, bindings, _binding("lcluster:x", []), dryRun="All")
    admin.patch(path, {"metadata": {"labels": {"a": "b"}}}, dryRun="All")


def service(**spec: Any) -> Object:
    """Return a Service."""
    return {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]} | spec}


def test_a_service_cannot_take_addresses_or_classes_of_others(tenant: Api) -> None:
    services = ns_path(HOME, "services")
    for good in (
        service(),
        service(type="NodePort"),
        service(type="LoadBalancer", loadBalancerClass=f"{TENANT}-example.com/own"),
        service(type="ExternalName", externalName="www.example.com"),
    ):
        tenant.create(services, good, dryRun="All")
    for bad in (
        service(externalIPs=["10.1.2.3"]),
        service(type="LoadBalancer", loadBalancerIP="10.1.2.3"),
        service(type="LoadBalancer", loadBalancerClass="example.com/platform"),
        service(type="ExternalName", externalName="10.1.2.3"),
        service(type="ExternalName", externalName="metadata.google.internal"),
        service(type="ExternalName", externalName="kubernetes.default.svc.cluster.local"),
        service(type="ExternalName", externalName="localhost"),
    ):
        refusal(tenant.create, services, bad, dryRun="All")


RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_a_pod_runs_in_no_sandbox_that_is_not_published(tenant: Api, admin: Api) -> None:
    names = ("sandbox", "privileged", f"{TENANT}-own", f"{OTHER}-own")
    for name in names:
        admin.create(RUNTIMES, {"metadata": {"name": name}, "handler": "x"})
    pods, words = ns_path(HOME, "pods"), "RuntimeClass not found (gateway.published"
    try:
        for name in names:
            eventually(
                partial(
                    unless,
                    "RuntimeClass",
                    admin.create,
                    ns_path("default", "pods"),
                    pod(runtimeClassName=name),
                    dryRun="All",
                )
            )
        for name in ("sandbox", f"{TENANT}-own"):
            tenant.create(pods, pod(runtimeClassName=name), dryRun="All")
        for name in ("privileged", f"{OTHER}-own"):
            assert words in refusal(tenant.create, pods, pod(runtimeClassName=name), dryRun="All")
    finally:
        for name in names:
            admin.remove(f"{RUNTIMES}/{name}")


def test_a_pod_displaces_nobody_by_a_class_of_the_platform(tenant: Api, admin: Api) -> None:
    """Also by one of a low value: pods without a class have 0."""
    never, lower = "Never", "PreemptLowerPriority"
    classes = {
        "batch-patient": (900, never, True),
        "batch-idle": (-10, lower, True),
        "batch-rude": (900, lower, False),
        "secret-patient": (900, never, False),
    }
    for name, (value, policy, _) in classes.items():
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        admin.create(PRIORITIES, body)
    pods = ns_path(HOME, "pods")

    def refused(name: str) -> bool:
        try:
            tenant.create(pods, pod(priorityClassName=name), dryRun="All")
        except ApiError as error:
            return "displace no others" in error.message
        return False

    def accepted(name: str) -> bool:
        return unless("Forbidden", tenant.create, pods, pod(priorityClassName=name), dryRun="All")

    try:
        for name, (_, _, allowed) in classes.items():
            eventually(partial(accepted if allowed else refused, name), what=name)
        default = {"metadata": {"name": "everybodys"}, "value": 5, "globalDefault": True}
        admin.create(PRIORITIES, default)

        def given() -> bool:
            made = tenant.create(pods, pod(), dryRun="All")
            return bool(made["spec"].get("priorityClassName") == "everybodys")

        eventually(given, what="a pod that names no class is not given the default one")
    finally:
        for name in (*classes, "everybodys"):
            admin.remove(f"{PRIORITIES}/{name}")


@pytest.mark.usefixtures("other_lcluster")
def test_an_ingress_names_no_class_that_is_not_published(tenant: Api, admin: Api) -> None:
    def refused(body: Object) -> bool:
        try:
            tenant.create(INGRESSES, body, dryRun="All")
        except ApiError as error:
            return "spec.ingressClassName: not found" in error.message
        return False

    for good in (f"{TENANT}-own", "nginx", "fast"):
        tenant.create(INGRESSES, ingress("i", ingressClassName=good), dryRun="All")
    tenant.create(INGRESSES, ingress("i"), dryRun="All")
    for bad in ("internal", f"{OTHER}-own"):
        eventually(partial(refused, ingress("i", ingressClassName=bad)), what=bad)
        annotated = ingress("i")
        annotated["metadata"]["annotations"] = {"kubernetes.io/ingress.class": bad}
        assert refused(annotated)
    admin.create(INGRESSES, ingress("old", ingressClassName="internal"))
    try:
        tenant.patch(f"{INGRESSES}/old", {"metadata": {"labels": {"a": "b"}}}, dryRun="All")
    finally:
        admin.delete(f"{INGRESSES}/old")


GROUPS_OF_KINDS = {
    "operators.example.com": False,
    f"{OTHER}-example.com": False,
    f"{TENANT}x-example.com": False,
    f"{TENANT}-example.com": True,
    "published.example.com": True,
}
"""Groups of CustomResourceDefinitions, and whether the tenant may write their kinds."""


@pytest.fixture(scope="module")
def kinds(admin: Api) -> Iterator[None]:
    """Define a kind in each group, as platforms and other tenants do."""
    names = [f"things.{group}" for group in GROUPS_OF_KINDS]
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for name, group in zip(names, GROUPS_OF_KINDS, strict=True):
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
        }
        admin.create(CRDS, {"metadata": {"name": name}, "spec": spec})
    for group in GROUPS_OF_KINDS:
        eventually(partial(served, admin, group), what=f"{group} is not served")
    yield
    for name in names:
        admin.remove(f"{CRDS}/{name}")


def served(admin: Api, group: str) -> bool:
    return admin.status(things(group)) == 200


def things(group: str) -> str:
    return f"/apis/{group}/v1/namespaces/{HOME}/things"


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("group", [*GROUPS_OF_KINDS])
def test_a_tenant_writes_no_kind_that_lclusters_do_not_have(
    tenant: Api, admin: Api, group: str
) -> None:
    """An operator of the platform acts by its own rights on what is written, and a finalizer on an
    object of another tenant's kind would hold up that one's deletion."""
    path, words = things(group), "LClusters do not have this kind"
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "x"}}
    admin.create(path, body)
    other = body | {"metadata": {"name": "y"}}
    if GROUPS_OF_KINDS[group]:
        tenant.create(path, other, dryRun="All")
        tenant.patch(f"{path}/x", {"spec": {"a": "b"}})
        tenant.patch(f"{path}/x/status", {"status": {"a": "b"}})
    else:
        assert words in refusal(tenant.create, path, other, dryRun="All")
        assert words in refusal(tenant.patch, f"{path}/x", {"spec": {"a": "b"}})
        assert words in refusal(tenant.patch, f"{path}/x/status", {"status": {"a": "b"}})
    # What is there can go, and Kubernetes' controllers write what they must.
    collector = admin.acting(
        "system:serviceaccount:kube-system:generic-garbage-collector", "system:masters"
    )
    collector.patch(f"{path}/x", {"metadata": {"finalizers": ["example.com/x"]}}, dryRun="All")
    tenant.delete(f"{path}/x")


def labelled(label: str, **fields: Any) -> Object:
    return {"metadata": {"name": "ghost", "labels": {label: TENANT}}} | fields


@pytest.mark.parametrize("label", [LABEL, "example.com/lcluster"])
def test_a_tenant_hides_nothing_from_the_owner_of_its_lcluster(
    tenant: Api, admin: Api, label: str
) -> None:
    """What has the label counts as the platform's, and the gateway shows it to nobody."""
    containers = [{"name": "c", "image": "i"}]
    template: Object = {
        "metadata": {"labels": {"a": "b", label: TENANT}},
        "spec": {"containers": containers},
    }
    selector = {"selector": {"matchLabels": {"a": "b"}}}
    job = {"template": {"spec": template["spec"] | {"restartPolicy": "Never"}}}
    apps, batch = f"/apis/apps/v1/namespaces/{HOME}", f"/apis/batch/v1/namespaces/{HOME}"
    named = {"metadata": {"name": "ghost"}}
    claim_template = claim() | {"metadata": {"name": "c", "labels": {label: TENANT}}}
    stateful = {"serviceName": "s", "template": {**template, "metadata": {"labels": {"a": "b"}}}}
    for path, body in (
        (ns_path(HOME, "pods"), labelled(label, spec={"containers": containers})),
        (ns_path(HOME, "configmaps"), labelled(label)),
        (f"{apps}/deployments", named | {"spec": selector | {"template": template}}),
        (ns_path(HOME, "replicationcontrollers"), named | {"spec": {"template": template}}),
        (
            f"{apps}/statefulsets",
            named | {"spec": selector | stateful | {"volumeClaimTemplates": [claim_template]}},
        ),
        (
            f"{batch}/cronjobs",
            named
            | {
                "spec": {
                    "schedule": "@daily",
                    "jobTemplate": {"metadata": {"labels": {label: TENANT}}, "spec": job},
                }
            },
        ),
        (
            f"{batch}/jobs",
            named
            | {"spec": {"template": job["template"] | {"metadata": {"labels": {label: TENANT}}}}},
        ),
    ):
        if label == LABEL:
            assert "is the platform's" in refusal(tenant.create, path, body, dryRun="All"), path
        else:
            tenant.create(path, body, dryRun="All")
    # What the platform has put there with the label may be changed otherwise.
    path = ns_path(HOME, "configmaps")
    admin.create(path, labelled(LABEL))
    try:
        tenant.patch(f"{path}/ghost", {"data": {"a": "b"}})
        tenant.patch(f"{path}/ghost", {"metadata": {"labels": {LABEL: None}}}, dryRun="All")
    finally:
        admin.delete(f"{path}/ghost")


def test_a_token_of_a_tenant_tells_of_no_node(tenant: Api, admin: Api) -> None:
    admin.create("/api/v1/nodes", {"metadata": {"name": "worker-7"}})
    path = ns_path(HOME, "serviceaccounts", "robot/token")

    def bound(kind: str, name: str) -> Object:
        return {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}}

    try:
        for name in ("worker-7", "none"):
            words = refusal(tenant.create, path, bound("Node", name))
            assert "bound to its Pods and Secrets only" in words
        tenant.create(path, {"spec": {}})
        refusal(tenant.create, path, bound("Secret", "none"), status=404)
    finally:
        admin.delete("/api/v1/nodes/worker-7")


def test_discovery_can_be_kept_from_tenants(admin: Api) -> None:
    """It tells of the groups, kinds and schemas of all definitions, those of others too."""
    binding = rbac_path("clusterrolebindings", "system:discovery")
    before = admin.get(binding)
    tenants, platforms = TENANTS["robot"], "system:serviceaccount:kube-system:default"
    everybody, spaces = "system:authenticated", "system:serviceaccounts"
    # With the groups that the API server finds in a token.
    robot = admin.acting(tenants, everybody, spaces, f"{spaces}:{HOME}")
    other = admin.acting(platforms, everybody, spaces, f"{spaces}:kube-system")
    assert robot.status("/apis") == 200
    group = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io"}
    kept = [group | {"name": each} for each in ("employees", f"{spaces}:kube-system")]
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    try:
        admin.patch(binding, {"metadata": {"annotations": annotations}, "subjects": kept})
        eventually(lambda: robot.status("/apis") == 403, what="a tenant discovers kinds")
        assert robot.status("/openapi/v3") == 403
        assert other.status("/apis") == 200
        assert admin.acting("eve", everybody, "employees").status("/apis") == 200
    finally:
        admin.patch(binding, {"subjects": before["subjects"]})


BALANCED = {"type": "LoadBalancer", "loadBalancerClass": f"{TENANT}-example.com/own"}
INGRESSES = f"{NETWORKING}/namespaces/{HOME}/ingresses"


def balanced(*entries: Object) -> Object:
    return {"status": {"loadBalancer": {"ingress": list(entries)}}}


def ingress(name: str, **spec: Any) -> Object:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    return {"metadata": {"name": name}, "spec": {"defaultBackend": backend} | spec}


@pytest.fixture
def balancers(admin: Api) -> Iterator[dict[str, str]]:
    """Services and Ingresses of the tenant's own class, and of the platform's, by their paths."""
    own, platforms = f"{TENANT}-own", "nginx"
    services = ns_path(HOME, "services")
    made = {
        "own service": (services, service(**BALANCED)),
        "service": (services, service(type="LoadBalancer")),
        "own ingress": (INGRESSES, ingress("own", ingressClassName=own)),
        "ingress": (INGRESSES, ingress("platforms", ingressClassName=platforms)),
    }
    made["service"][1]["metadata"]["name"] = "platforms"
    paths = {what: f"{at}/{body['metadata']['name']}" for what, (at, body) in made.items()}
    for at, body in made.values():
        admin.create(at, body)
    yield paths
    for path in paths.values():
        admin.remove(path)


@pytest.mark.parametrize("what", ["own service", "service", "own ingress", "ingress"])
def test_only_the_platform_writes_addresses_of_load_balancers(
    tenant: Api, admin: Api, balancers: dict[str, str], what: str
) -> None:
    """kube-proxy takes traffic for an address in a Service's status, whatever its class."""
    path = f"{balancers[what]}/status"
    address, host = {"ip": "203.0.113.7"}, {"hostname": "lb.example.com"}
    words = "only the platform writes the addresses"
    assert words in refusal(tenant.patch, path, balanced(address), dryRun="All")
    assert words in refusal(tenant.patch, path, balanced(host, address), dryRun="All")
    if what.startswith("own"):
        tenant.patch(path, balanced(host), dryRun="All")
    else:
        assert words in refusal(tenant.patch, path, balanced(host), dryRun="All")
    written = admin.patch(path, balanced(address))
    condition = {"type": "Ready", "status": "True", "reason": "Because", "message": ""}
    if "service" in what:
        written["status"]["conditions"] = [
            condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}
        ]
    written["metadata"].setdefault("annotations", {})["a"] = "b"
    tenant.replace(path, written, dryRun="All")
    # Kubernetes gives an Ingress that names no class the default one; such a name leads nowhere.
    nowhere = {"hostname": f"203-0-113-7.vip.{TENANT}.lcluster.invalid"}
    if what == "service":
        assert words in refusal(tenant.patch, path, balanced(), dryRun="All")
        assert words in refusal(tenant.patch, path, balanced(address, nowhere), dryRun="All")
    else:
        tenant.patch(path, balanced(nowhere), dryRun="All")
    if what == "ingress":
        tenant.patch(path, balanced(address, nowhere), dryRun="All")
        others = {"hostname": f"a.{OTHER}.lcluster.invalid"}
        assert words in refusal(tenant.patch, path, balanced(others), dryRun="All")
        both = nowhere | {"ip": "203.0.113.8"}
        assert words in refusal(tenant.patch, path, balanced(both), dryRun="All")


def test_a_tenant_cannot_declare_capacity_for_a_platform_storage_class(tenant: Api) -> None:
    capacities = f"{STORAGE}/namespaces/{HOME}/csistoragecapacities"
    good = {"metadata": {"name": "c"}, "storageClassName": f"{TENANT}-s", "capacity": "1Gi"}
    tenant.create(capacities, good, dryRun="All")
    refusal(tenant.create, capacities, good | {"storageClassName": "standard"}, dryRun="All")


def test_a_tenant_account_cannot_write_outside_its_namespaces(tenant: Api) -> None:
    configmap = {"metadata": {"name": "c"}}
    tenant.create(ns_path(HOME, "configmaps"), configmap, dryRun="All")
    for namespace in (FOREIGN, "kube-system", "default"):
        refusal(tenant.create, ns_path(namespace, "configmaps"), configmap, dryRun="All")
        refusal(tenant.get, ns_path(namespace, "secrets"))
    refusal(tenant.create, rbac_path("clusterroles"), own("r"), dryRun="All")


@pytest.fixture(scope="module")
def accounts(admin: Api) -> str:
    """Return the namespace of the tenants' accounts."""
    if admin.find(ns_path(ACCOUNTS)) is None:
        admin.create(NAMESPACES, {"metadata": {"name": ACCOUNTS}})
    eventually(lambda: admin.find(ns_path(ACCOUNTS, "serviceaccounts", "default")) is not None)
    return ACCOUNTS


def test_an_administrator_cannot_obtain_a_token_of_a_tenant_account(
    admin: Api, accounts: str
) -> None:
    account = {"metadata": {"name": TENANT}}
    refusal(admin.create, ns_path(accounts, "serviceaccounts"), account, dryRun="All")
    token = f"{ns_path(accounts, 'serviceaccounts', 'default')}/token"
    refusal(admin.create, token, {"spec": {"audiences": []}}, dryRun="All")
    annotations = {"kubernetes.io/service-account.name": "default"}
    secret = {
        "metadata": {"name": "s", "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }
    refusal(admin.create, ns_path(accounts, "secrets"), secret, dryRun="All")
    refusal(admin.create, ns_path(accounts, "pods"), pod(), dryRun="All")
    admin.create(ns_path(accounts, "configmaps"), account, dryRun="All")
