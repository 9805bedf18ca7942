"""Objects are translated along the paths that name something, both ways, and nothing else is."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from lnamespace.kube.objects import MANAGED_BY
from lnamespace.translate.bodies.encoded import answer_down, request_up
from lnamespace.translate.names.allowances import Allowances
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, JSON, LABEL, asked, down, up
from tests.unit.support.webhook_routes import ROUTE

VOLUME = "pv-cb23c200-f249-11ea-9039-3497f65a8415"
PROVISIONED = "pvc-cb23c200-f249-11ea-9039-3497f65a8415"


def nested(path: str, value: Any) -> Any:
    """Return an object that has a value at a path; ``[]`` is an array with one item."""
    head, _, rest = path.partition(".")
    below = nested(rest, value) if rest else value
    while head.endswith("[]"):
        head, below = head[:-2], [below]
    return {head: below}


def reference(kind: str, name: str, version: str = "v1", **more: str) -> dict[str, str]:
    return {"apiVersion": version, "kind": kind, "name": name} | more


POD = "spec.template.spec"
GPU, ABOVE_GPU = ("deviceclass.resource.kubernetes.io/" + each for each in ("gpu", "acme-gpu"))
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SELECTED = {"matchLabels": {LABEL: "acme"}}
BOTH_WAYS = [
    ("configmaps", "metadata.namespace", "prod", "acme-prod"),
    ("persistentvolumeclaims", "spec.volumeName", VOLUME, f"acme-{VOLUME}"),
    ("persistentvolumeclaims", "spec.volumeName", PROVISIONED, PROVISIONED),
    ("persistentvolumeclaims", "spec.storageClassName", "standard", "standard"),
    ("persistentvolumeclaims", "spec.storageClassName", "fast", "acme-fast"),
    # The class "" of a tenant binds volumes of the same tenant only.
    ("persistentvolumeclaims", "spec.storageClassName", "", "lcluster.acme"),
    ("persistentvolumeclaims", "spec.dataSourceRef.namespace", "prod", "acme-prod"),
    ("persistentvolumeclaims", "spec.selector", {}, SELECTED),
    ("services", "spec.loadBalancerClass", "example.com/own", "acme-example.com/own"),
    ("deployments", f"{POD}.priorityClassName", "high", "acme-high"),
    ("deployments", f"{POD}.runtimeClassName", "gvisor", "acme-gvisor"),
    (
        "deployments",
        f"{POD}.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].namespaces[]",
        "prod",
        "acme-prod",
    ),
    (
        "deployments",
        f"{POD}.affinity.podAntiAffinity.{PREFERRED}[].podAffinityTerm.namespaceSelector",
        {},
        SELECTED,
    ),
    ("cronjobs", "spec.jobTemplate.spec.template.spec.priorityClassName", "high", "acme-high"),
    (
        "cronjobs",
        "status.active[]",
        reference("Job", "j", "batch/v1", namespace="prod"),
        reference("Job", "j", "batch/v1", namespace="acme-prod"),
    ),
    # Devices by the name of their class, as an extended resource.
    (
        "deployments",
        f"{POD}.containers[].resources.limits",
        {GPU: "1", "cpu": "1"},
        {ABOVE_GPU: "1", "cpu": "1"},
    ),
    ("pods", "spec.initContainers[].resources.requests", {GPU: "1"}, {ABOVE_GPU: "1"}),
    ("pods", "spec.resources.requests", {GPU: "1"}, {ABOVE_GPU: "1"}),
    ("pods", "status.containerStatuses[].allocatedResources", {GPU: "1"}, {ABOVE_GPU: "1"}),
    ("limitranges", "spec.limits[].max", {GPU: "1"}, {ABOVE_GPU: "1"}),
    ("resourcequotas", "spec.hard", {f"requests.{GPU}": "1"}, {f"requests.{ABOVE_GPU}": "1"}),
    ("statefulsets", "spec.volumeClaimTemplates[].spec.storageClassName", "fast", "acme-fast"),
    ("controllerrevisions", "data.spec.template.spec.priorityClassName", "high", "acme-high"),
    ("networkpolicies", "spec.ingress[].from[].namespaceSelector", {}, SELECTED),
    (
        "networkpolicies",
        "spec.egress[].to[].namespaceSelector",
        {"matchLabels": {"kubernetes.io/metadata.name": "prod"}},
        {"matchLabels": {"kubernetes.io/metadata.name": "acme-prod", LABEL: "acme"}},
    ),
    ("networkpolicies", "spec.egress[].to[].namespaceSelector", None, None),
    ("ingresses", "spec.ingressClassName", "nginx", "acme-nginx"),
    ("roles", "rules[].apiGroups", ["example.com", "apps", "*"], ["acme-example.com", "apps", "*"]),
    (
        "horizontalpodautoscalers",
        "spec.scaleTargetRef",
        reference("Widget", "w", "example.com/v1"),
        reference("Widget", "w", "acme-example.com/v1"),
    ),
    (
        "endpointslices",
        "endpoints[].targetRef",
        reference("Pod", "p", namespace="prod"),
        reference("Pod", "p", namespace="acme-prod"),
    ),
    ("events", "involvedObject", reference("Node", "n-1"), reference("Node", "acme-n-1")),
    (
        "statefulsets",
        "spec.volumeClaimTemplates[].metadata.ownerReferences[]",
        reference("Gadget", "g", "example.com/v1"),
        reference("Gadget", "acme-g", "acme-example.com/v1"),
    ),
    ("pods", "status.containerStatuses[].allocatedResourcesStatus[].name", GPU, ABOVE_GPU),
    ("resourceclaims", "status.reservedFor[].apiGroup", "example.com", "acme-example.com"),
    ("validatingadmissionpolicybindings", "spec.policyName", "mine", "acme-mine"),
    ("csistoragecapacities", "storageClassName", "standard", "acme-standard"),
    ("customresourcedefinitions", "spec.group", "example.com", "acme-example.com"),
    (
        "resourcequotas",
        "spec.hard",
        {
            "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "standard.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "count/widgets.example.com": "5",
            "pods": "3",
        },
        {
            "acme-fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "standard.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "count/widgets.acme-example.com": "5",
            "pods": "3",
        },
    ),
    (
        "resourcequotas",
        "spec.scopeSelector.matchExpressions[]",
        {"scopeName": "PriorityClass", "values": ["high"]},
        {"scopeName": "PriorityClass", "values": ["acme-high"]},
    ),
    (
        "resourcequotas",
        "spec.scopeSelector.matchExpressions[]",
        {"scopeName": "Terminating", "values": ["high"]},
        {"scopeName": "Terminating", "values": ["high"]},
    ),
    (
        "rolebindings",
        "subjects",
        [
            {"kind": "User", "name": "bob"},
            {"kind": "Group", "name": "system:authenticated"},
            {"kind": "Group", "name": "system:serviceaccounts:prod"},
            {"kind": "ServiceAccount", "name": "default", "namespace": "prod"},
        ],
        [
            {"kind": "User", "name": "lcluster:acme:bob"},
            {"kind": "Group", "name": "lcluster:acme:system:authenticated"},
            {"kind": "Group", "name": "system:serviceaccounts:acme-prod"},
            {"kind": "ServiceAccount", "name": "default", "namespace": "acme-prod"},
        ],
    ),
    (
        "rolebindings",
        "roleRef",
        {"kind": "ClusterRole", "name": "deployer"},
        {"kind": "ClusterRole", "name": "acme-deployer"},
    ),
    (
        "rolebindings",
        "roleRef",
        {"kind": "ClusterRole", "name": "admin"},
        {"kind": "ClusterRole", "name": "admin"},
    ),
    (
        "rolebindings",
        "roleRef",
        {"kind": "Role", "name": "deployer"},
        {"kind": "Role", "name": "deployer"},
    ),
    (
        "configmaps",
        "metadata.ownerReferences",
        [
            reference("Namespace", "prod"),
            reference("Gadget", "g", "example.com/v1"),
            reference("Deployment", "d", "apps/v1"),
            reference("Unknown", "u", "unknown.io/v1"),
        ],
        [
            reference("Namespace", "acme-prod"),
            reference("Gadget", "acme-g", "acme-example.com/v1"),
            reference("Deployment", "d", "apps/v1"),
            reference("Unknown", "u", "acme-unknown.io/v1"),
        ],
    ),
]


@pytest.mark.parametrize(("plural", "path", "own", "upstream"), BOTH_WAYS)
def test_a_field_is_translated_in_both_directions(
    plural: str, path: str, own: Any, upstream: Any
) -> None:
    namespaced = asked(plural).namespace
    rest: Any = {} if namespaced else {"metadata": {"labels": {LABEL: "acme"}}}
    if plural == "customresourcedefinitions":
        rest["metadata"]["annotations"] = {**DEFINITION_ANNOTATIONS}
    assert up(plural, nested(path, own)) == nested(path, upstream) | rest
    assert down(plural, nested(path, upstream)) == nested(path, own)


@pytest.mark.parametrize("text", ["no JSON", "[", '[{"object":{"target":7}}]', '"x"'])
def test_an_annotation_with_malformed_json_is_unchanged(text: str) -> None:
    metadata = {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": text}}
    upstream = up("horizontalpodautoscalers", {"metadata": metadata})
    assert upstream == {"metadata": metadata}
    assert down("horizontalpodautoscalers", upstream) == upstream


def test_object_names_in_a_metrics_annotation_are_translated() -> None:
    def annotated(name: str) -> Any:
        text = f'[{{"type":"Object","object":{{"target":{{"kind":"Namespace","name":"{name}"}}}}}}]'
        return {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": text}}}

    assert up("horizontalpodautoscalers", annotated("prod")) == annotated("acme-prod")
    assert down("horizontalpodautoscalers", annotated("acme-prod")) == annotated("prod")


def test_an_update_omits_managed_fields_only_where_the_gateway_adds_fields() -> None:
    entry = {"manager": "kubectl", "fieldsV1": {"f:x": {}}}
    sent = up("clusterroles", {"metadata": {"name": "r", "managedFields": [entry]}}, "update")
    assert "managedFields" not in sent["metadata"]
    reset = up("clusterroles", {"metadata": {"name": "r", "managedFields": [{}]}}, "update")
    assert reset["metadata"]["managedFields"] == [{}]
    body = {"metadata": {"managedFields": [entry]}}
    assert up("configmaps", body, "update") == body


def test_the_persistent_volume_claim_of_the_documentation_is_translated() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mypvc", "namespace": "default"},
        "spec": {"volumeName": VOLUME},
    }
    view = ACME.__class__("foofoo", ACME.resources)
    request = asked("persistentvolumeclaims", "create", namespace="default")
    _, sent = request_up(request, JSON, msgspec.json.encode(claim), view)
    upstream = msgspec.json.decode(sent)
    assert upstream["metadata"] == {"name": "mypvc", "namespace": "foofoo-default"}
    assert upstream["spec"] == {"volumeName": f"foofoo-{VOLUME}"}
    answer = answer_down(request, sent, view)
    assert msgspec.json.decode(answer) == claim


@pytest.mark.parametrize(
    "own",
    [
        b'{"data":{"a":1e999,"b":12345678901234567890123,"c":1.10,"a":"\\u0061"},"kind":"ConfigMap"}',
        b'{"unknown":[{"namespace":"acme-x"}],"metadata":{"z":1,"a":2.0}}\n',
        b'{ "data" : {"text": "namespaces \\"acme-prod\\""} }'.replace(b" :", b":"),
    ],
)
def test_untranslated_fields_are_preserved_byte_for_byte(own: bytes) -> None:
    _, sent = request_up(asked("configmaps", "update"), JSON, own, ACME)
    assert sent == own.replace(b"{ ", b"{").replace(b": {", b":{", 1).replace(b"} }", b"}}")
    assert answer_down(asked("configmaps"), sent, ACME) == sent


def test_duplicate_and_escaped_keys_do_not_bypass_translation() -> None:
    body = b'{"metadata":{"namespace":"a"},"metad\\u0061ta":{"n\\u0061mespace":"prod"}}'
    _, sent = request_up(asked("configmaps", "update"), JSON, body, ACME)
    assert sent == b'{"metadata":{"namespace":"acme-prod"}}'


@pytest.mark.parametrize(
    ("own", "upstream"),
    [
        (
            b'{ "spec": { "unknown" : 1, "replicas":2, "replicas" : [3] , "template":{}}, "a":1}',
            b'{"spec":{"unknown":1,"replicas":2,"replicas":[3],"template":{}},"a":1}',
        ),
        (
            b'{"metadata":{"namespace":"a"},"x":1,"metadat\\u0061":{"namespace":"b"},"x":{"x":1}}',
            b'{"x":1,"metadata":{"namespace":"acme-b"},"x":{"x":1}}',
        ),
        (
            b'{"spec":{"template":{"spec":{"priorityClassName":"a","priorityClassName":"b"}}}}',
            b'{"spec":{"template":{"spec":{"priorityClassName":"acme-b"}}}}',
        ),
        (
            b'{"spec":{"template":{"spec":{"volumes":[{"name":"a","name":"b"}]}}}}',
            b'{"spec":{"template":{"spec":{"volumes":[{"name":"a","name":"b"}]}}}}',
        ),
    ],
)
def test_duplicate_keys_are_preserved_for_field_validation(own: bytes, upstream: bytes) -> None:
    _, sent = request_up(asked("deployments", "create"), JSON, own, ACME)
    assert sent == upstream


def test_duplicate_keys_in_a_cluster_scoped_object_are_reduced_to_one() -> None:
    own = b'{"metadata":{"name":"a"},"rules":[],"rules":[]}'
    _, sent = request_up(asked("clusterroles", "create"), JSON, own, ACME)
    assert sent.count(b'"rules"') == 1


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}x", b"null", b'{"a":' + b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        request_up(asked("configmaps", "update"), JSON, body, ACME)
    assert refused.value.status.code == 400


def test_a_cluster_scoped_object_gets_the_prefix_and_the_label() -> None:
    own = {"metadata": {"name": "deployer", "generateName": "d-", "labels": {"a": "b"}}}
    upstream = up("clusterroles", own)
    assert upstream["metadata"] == {
        "name": "acme-deployer",
        "generateName": "acme-d-",
        "labels": {"a": "b", LABEL: "acme"},
    }
    assert down("clusterroles", upstream) == own


@pytest.mark.parametrize("labels", [{}, {"labels": None}, {"labels": {}}])
def test_the_tenant_label_is_added_regardless_of_existing_labels(labels: Any) -> None:
    upstream = up("namespaces", {"metadata": {"name": "prod"} | labels}, "create")
    assert upstream["metadata"]["name"] == "acme-prod"
    assert upstream["metadata"]["labels"][LABEL] == "acme"
    assert down("namespaces", upstream) == {"metadata": {"name": "prod"}}


def test_an_updated_namespace_keeps_the_annotations_of_the_platform() -> None:
    own = {"lcluster.tenancy.loblaw.digital/uid": "1"}
    view = replace(ACME, namespace_annotations=own)
    for annotations in ({"a": "b"}, {}):
        body = msgspec.json.encode({"metadata": {"name": "prod", "annotations": annotations}})
        _, sent = request_up(asked("namespaces", "update"), JSON, body, view)
        assert msgspec.json.decode(sent)["metadata"]["annotations"] == annotations | own
    body = b'{"metadata":{"name":"c"}}'
    _, sent = request_up(asked("configmaps", "update"), JSON, body, view)
    assert sent == body


@pytest.mark.parametrize("verb", ["create", "update"])
@pytest.mark.parametrize("annotations", [{}, {"annotations": None}, {"annotations": {"a": "b"}}])
def test_a_definition_has_a_reserve_that_its_tenant_does_not_see(
    verb: str, annotations: Any
) -> None:
    written = {"metadata": {"name": "carts.example.com"} | annotations}
    upstream = up("customresourcedefinitions", written, verb)
    wanted = annotations.get("annotations") or {}
    assert upstream["metadata"]["annotations"] == wanted | dict(DEFINITION_ANNOTATIONS)
    seen = down("customresourcedefinitions", upstream)["metadata"]
    assert seen.get("annotations", {}) == wanted


def test_a_webhook_configuration_is_limited_to_the_tenant() -> None:
    client = {"service": {"namespace": "prod", "name": "hook", "port": 443}}
    rule = {"apiGroups": ["example.com"], "resources": ["widgets"]}
    written = {"clientConfig": client, "rules": [rule]}
    own = {"metadata": {"name": "hook"}, "webhooks": [written]}
    upstream = up("validatingwebhookconfigurations", own, "create")
    (webhook,) = upstream["webhooks"]
    assert webhook["clientConfig"]["service"]["namespace"] == ROUTE.service.namespace
    assert webhook["rules"][0]["apiGroups"] == ["acme-example.com"]
    assert webhook["namespaceSelector"] == SELECTED
    assert down("validatingwebhookconfigurations", upstream) == {
        **own,
        "webhooks": [{**written, "namespaceSelector": {}}],
    }


def test_a_persistent_volume_refers_to_claims_of_the_tenant() -> None:
    secret = {"namespace": "prod", "name": "key"}
    spec = {
        "claimRef": {"namespace": "prod", "name": "mypvc"},
        "storageClassName": "fast",
        "csi": {"driver": "d", "nodeStageSecretRef": secret},
    }
    own = {"metadata": {"name": VOLUME}, "spec": spec}
    upstream = up("persistentvolumes", own, "create")
    assert upstream["metadata"] == {"name": f"acme-{VOLUME}", "labels": {LABEL: "acme"}}
    assert upstream["spec"]["claimRef"]["namespace"] == "acme-prod"
    assert upstream["spec"]["csi"]["nodeStageSecretRef"]["namespace"] == "acme-prod"
    assert down("persistentvolumes", upstream) == own


def test_an_aggregation_rule_is_kept_in_an_annotation() -> None:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"aggregate-to-x": "1"}}]}
    own = {"metadata": {"name": "all"}, "aggregationRule": rule}
    upstream = up("clusterroles", own)
    assert "aggregationRule" not in upstream
    assert down("clusterroles", upstream) == own


def test_roles_and_bindings_of_the_platform_cannot_be_accessed() -> None:
    with pytest.raises(Refused):
        up("rolebindings", {"metadata": {"name": "lcluster:account"}})
    with pytest.raises(Refused):
        up("rolebindings", {"metadata": {"generateName": "lcluster:"}}, "create")
    with pytest.raises(Refused) as refused:
        down("rolebindings", {"metadata": {"name": "lcluster:account", "namespace": "acme-prod"}})
    assert refused.value.status.code == 404


@pytest.mark.parametrize("plural", ["namespaces", "configmaps", "clusterroles"])
@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {LABEL: "acme"}},
        {"labels": {LABEL: "other"}},
        {"annotations": {"lcluster.tenancy.loblaw.digital/x": ""}},
    ],
)
def test_labels_and_annotations_reserved_for_the_platform_are_refused(
    plural: str, metadata: Any
) -> None:
    with pytest.raises(Refused) as refused:
        up(plural, {"metadata": metadata})
    assert refused.value.status.code == 403


def test_the_tenant_label_in_a_pod_template_is_refused() -> None:
    with pytest.raises(Refused):
        up("deployments", nested("spec.template.metadata.labels", {LABEL: "other"}))


@pytest.mark.parametrize("key", ["matchLabels", "matchExpressions"])
def test_the_tenant_label_in_a_selector_is_refused(key: str) -> None:
    selector = {"matchLabels": {LABEL: "b"}, "matchExpressions": [{"key": LABEL}]}
    with pytest.raises(Refused):
        up(
            "networkpolicies",
            nested("spec.ingress[].from[].namespaceSelector", {key: selector[key]}),
        )


def test_an_aggregation_label_is_prefixed_upstream() -> None:
    key = "rbac.authorization.k8s.io/aggregate-to-admin"
    own = {"metadata": {"name": "r", "labels": {key: "true", "aggregate-to-x": "1", "app": "a"}}}
    upstream = up("clusterroles", own)
    assert upstream["metadata"]["labels"] == {
        "rbac.authorization.k8s.io.acme.lcluster/aggregate-to-admin": "true",
        "acme.lcluster/aggregate-to-x": "1",
        "app": "a",
        LABEL: "acme",
    }
    assert down("clusterroles", upstream) == own


def owner(version: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Widget", "name": "w", "uid": "u"}


@pytest.mark.parametrize(
    ("version", "upstream"),
    [
        ("v1", "v1"),
        ("apps/v1", "apps/v1"),
        ("example.com/v1", "acme-example.com/v1"),
        ("beta-example.com/v2", "acme-beta-example.com/v2"),
        ("acme-nothing.io/v1", "acme-acme-nothing.io/v1"),
    ],
)
@pytest.mark.parametrize("plural", ["configmaps", "deployments"])
def test_an_owner_reference_cannot_name_a_kind_of_another_tenant(
    plural: str, version: str, upstream: str
) -> None:
    """Whether the garbage collector took the object said which kinds another tenant had."""
    own = {"metadata": {"name": "a", "ownerReferences": [owner(version)]}}
    found = up(plural, own)
    assert found["metadata"]["ownerReferences"] == [owner(upstream)]
    assert down(plural, found) == own


def test_marks_of_an_operator_in_the_lcluster_are_prefixed_upstream() -> None:
    group = LABEL.partition("/")[0]
    labels = {f"{group}/lnamespace": "prod", MANAGED_BY: "lnamespace", "app": "a"}
    own = {
        "metadata": {"name": "prod", "labels": labels, "annotations": {f"{group}/owner-uid": "u"}}
    }
    upstream = up("namespaces", own)["metadata"]
    power = "pod-security.kubernetes.io/"
    assert {key: each for key, each in upstream["labels"].items() if not key.startswith(power)} == {
        f"{group}.acme.lcluster/lnamespace": "prod",
        MANAGED_BY: "acme.lnamespace",
        "app": "a",
        LABEL: "acme",
    }
    assert upstream["annotations"] == {f"{group}.acme.lcluster/owner-uid": "u"}
    shown = down("namespaces", {"metadata": upstream})["metadata"]
    assert shown["annotations"] == own["metadata"]["annotations"]
    assert labels.items() <= shown["labels"].items()


@pytest.mark.parametrize("plural", ["roles", "rolebindings"])
def test_the_platforms_operator_selects_no_role_of_an_operator_in_the_lcluster(plural: str) -> None:
    """It deleted those that make a ServiceAccount a sudoer inside."""
    own = {"metadata": {"name": "b", "labels": {MANAGED_BY: "lnamespace"}}}
    upstream = up(plural, own)
    assert upstream["metadata"]["labels"] == {MANAGED_BY: "acme.lnamespace"}
    assert down(plural, upstream) == own


def test_marks_of_an_operator_on_other_namespaced_objects_are_unchanged() -> None:
    own = {"metadata": {"name": "b", "labels": {MANAGED_BY: "lnamespace"}}}
    assert up("configmaps", own)["metadata"]["labels"] == {MANAGED_BY: "lnamespace"}


def test_namespace_selectors_use_the_prefixed_marks_of_an_operator() -> None:
    group = LABEL.partition("/")[0]
    own = {
        "matchLabels": {MANAGED_BY: "lnamespace", f"{group}/class": "a"},
        "matchExpressions": [
            {"key": MANAGED_BY, "operator": "In", "values": ["lnamespace", "Helm"]},
            {"key": f"{group}/lnamespace", "operator": "Exists"},
        ],
    }
    path = "spec.ingress[].from[].namespaceSelector"
    upstream = up("networkpolicies", nested(path, own))
    assert down("networkpolicies", upstream) == nested(path, own)
    (source,) = upstream["spec"]["ingress"][0]["from"]
    assert source["namespaceSelector"] == {
        "matchLabels": {
            MANAGED_BY: "acme.lnamespace",
            f"{group}.acme.lcluster/class": "a",
            LABEL: "acme",
        },
        "matchExpressions": [
            {"key": MANAGED_BY, "operator": "In", "values": ["acme.lnamespace", "Helm"]},
            {"key": f"{group}.acme.lcluster/lnamespace", "operator": "Exists"},
        ],
    }


@pytest.mark.parametrize(("role", "stored"), [("r", "inert:acme-r"), ("admin", "inert:admin")])
def test_a_cluster_role_binding_grants_nothing_upstream(role: str, stored: str) -> None:
    own = {"roleRef": {"kind": "ClusterRole", "name": role}, "metadata": {"name": "b"}}
    upstream = up("clusterrolebindings", own)
    assert upstream["roleRef"]["name"] == stored
    assert down("clusterrolebindings", upstream) == own


def test_a_cluster_role_binding_to_a_role_is_refused_in_the_words_of_kubernetes() -> None:
    """The API server said of the LCluster's account: Namespace parameter required."""
    with pytest.raises(Refused) as refused:
        up("clusterrolebindings", {"roleRef": {"kind": "Role", "name": "r"}})
    assert refused.value.status.code == 422
    assert refused.value.status.message.endswith(
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'
    )


def test_creating_an_object_with_a_published_name_is_a_conflict() -> None:
    with pytest.raises(Refused) as refused:
        up("clusterroles", {"metadata": {"name": "admin"}}, "create")
    assert refused.value.status.reason == "AlreadyExists"


@pytest.mark.parametrize("version", ["acme-example.com/v1", "other.com/v1", "example.com/v2"])
def test_a_custom_resource_of_another_version_is_refused(version: str) -> None:
    with pytest.raises(Refused, match="does not match the expected API version"):
        up("widgets", {"apiVersion": version, "kind": "Widget"})


def test_delete_options_of_a_custom_resource_have_its_group_upstream() -> None:
    options = {
        "apiVersion": "example.com/v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Orphan",
    }
    assert up("widgets", options, "delete") == options | {"apiVersion": "acme-example.com/v1"}


def test_a_deletion_that_ignores_read_errors_is_refused() -> None:
    with pytest.raises(Refused):
        up("configmaps", {"ignoreStoreReadErrorWithClusterBreakingPotential": True}, "delete")


@pytest.mark.parametrize(
    ("plural", "member"), [("events", "involvedObject"), ("events.events.k8s.io", "regarding")]
)
def test_an_event_about_a_cluster_scoped_object_refers_to_the_events_namespace(
    plural: str, member: str
) -> None:
    own = {"metadata": {"namespace": "default"}, member: reference("Namespace", "prod")}
    upstream = up(plural, own, "create", namespace="default")
    assert upstream[member] == reference("Namespace", "acme-prod", namespace="acme-default")
    assert down(plural, upstream) == own


def test_an_event_about_a_cluster_scoped_object_outside_default_is_unchanged() -> None:
    own = {"involvedObject": reference("Namespace", "prod")}
    assert up("events", own, "create") == {"involvedObject": reference("Namespace", "acme-prod")}


def test_managed_fields_do_not_show_fields_written_by_the_gateway() -> None:
    fields: Any = {"f:metadata": {"f:labels": {f"f:{LABEL}": {}, ".": {}}, "f:name": {}}}
    entry = {"manager": "kubectl", "apiVersion": "v1", "fieldsV1": fields}
    empty = entry | {"fieldsV1": {"f:metadata": {"f:labels": {f"f:{LABEL}": {}}}}}
    shown = down("namespaces", {"metadata": {"managedFields": [entry, empty]}})
    reduced = entry | {"fieldsV1": {"f:metadata": {"f:name": {}}}}
    assert shown == {"metadata": {"managedFields": [reduced]}}


def test_managed_fields_hide_fields_that_the_gateway_added_to_a_webhook() -> None:
    own = 'k:{"name":"lcluster.tenancy.loblaw.digital/tenant"}'
    added: Any = {"f:matchConditions": {".": {}, own: {".": {}, "f:name": {}}}, "f:rules": {}}
    fields = {"f:webhooks": {".": {}, 'k:{"name":"a.example.com"}': added}}
    body = {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": fields}]}}
    (entry,) = down("validatingwebhookconfigurations", body)["metadata"]["managedFields"]
    shown: Any = {"f:webhooks": {".": {}, 'k:{"name":"a.example.com"}': {"f:rules": {}}}}
    assert entry["fieldsV1"] == shown


@pytest.mark.parametrize(
    ("plural", "member", "own", "upstream"),
    [
        (
            "clusterroles",
            "f:labels",
            "f:rbac.example.com/aggregate-to-x",
            "f:rbac.example.com.acme.lcluster/aggregate-to-x",
        ),
        (
            "namespaces",
            "f:annotations",
            "f:tenancy.loblaw.digital/owner-uid",
            "f:tenancy.loblaw.digital.acme.lcluster/owner-uid",
        ),
        (
            "resourcequotas",
            "f:hard",
            "f:fast.storageclass.storage.k8s.io/requests.storage",
            "f:acme-fast.storageclass.storage.k8s.io/requests.storage",
        ),
    ],
)
def test_keys_in_managed_fields_are_translated_like_those_of_the_object(
    plural: str, member: str, own: str, upstream: str
) -> None:
    def entries(key: str) -> Any:
        return [{"manager": "m", "fieldsV1": {"f:x": {member: {key: {}}}}}]

    body = {"metadata": {"managedFields": entries(own)}}
    above = up(plural, body, "create")["metadata"]["managedFields"]
    assert above == entries(upstream)
    assert down(plural, {"metadata": {"managedFields": above}})["metadata"] == {
        "managedFields": entries(own)
    }


@pytest.mark.parametrize("depth", [10, 900])
def test_deeply_nested_managed_fields_cause_no_failure(depth: int) -> None:
    deep = '{"f:a":' * depth + "{}" + "}" * depth
    entry = f'{{"manager":"acme-","fieldsV1":{deep}}}'
    body = f'{{"metadata":{{"managedFields":[{entry}],"namespace":"acme-prod"}}}}'.encode()
    answer = msgspec.json.decode(answer_down(asked("configmaps"), body, ACME))
    assert answer["metadata"]["namespace"] == "prod"


def test_a_confined_object_that_is_too_deep_is_refused() -> None:
    body = b'{"spec":' + b'{"a":' * 800 + b"1" + b"}" * 801
    with pytest.raises(Refused) as refused:
        request_up(asked("namespaces", "create"), JSON, body, ACME)
    assert refused.value.status.code == 400


@pytest.mark.parametrize(
    "selector", [None, {}, {"matchLabels": {"a": "b"}}, {"matchExpressions": []}]
)
def test_cluster_trust_bundle_selectors_of_a_pod_are_limited_to_the_tenant(selector: Any) -> None:
    signed = {"signerName": "example.com/x", "path": "ca"}
    bundle = signed if selector is None else signed | {"labelSelector": selector}
    volume = {"name": "v", "projected": {"sources": [{"clusterTrustBundle": bundle}]}}
    own = {"metadata": {"name": "p", "namespace": "prod"}} | {"spec": {"volumes": [volume]}}
    sent = up("pods", own)
    found = sent["spec"]["volumes"][0]["projected"]["sources"][0]["clusterTrustBundle"]
    if selector is None:
        assert "labelSelector" not in found
    else:
        assert found["labelSelector"]["matchLabels"][LABEL] == "acme"
    assert down("pods", sent) == own


@pytest.mark.parametrize("name", ["acme-csi.example.com", "other.example.com"])
def test_a_csi_driver_of_a_pod_round_trips_where_its_name_begins_as_the_tenants_do(
    name: str,
) -> None:
    """The prefix was removed from an allowed driver, and what was read could not be written."""
    view = replace(ACME, allowances=Allowances(csi_drivers=frozenset({"acme-csi.example.com"})))
    pod = nested("spec.volumes[].csi.driver", name)
    _, above = request_up(asked("pods", "create"), JSON, msgspec.json.encode(pod), view)
    below = answer_down(asked("pods", "get"), above, view)
    assert msgspec.json.decode(below)["spec"] == pod["spec"]
