"""Objects that act on a whole cluster act on their tenant only, and read back as written."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import SettingsError
from lnamespace.model.lcluster import RESERVED_TENANTS
from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.allowances import Allowances, decode_allowances
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement import (
    Form,
    confine,
    confine_operations,
    confines,
    restore,
)
from lnamespace.translate.objects.confinement.admission import CONDITION, expression
from lnamespace.translate.objects.confinement.certificates import (
    REQUESTER,
    signer_down,
    signer_up,
)
from lnamespace.translate.objects.confinement.definitions import (
    KUBERNETES_SHORT_NAMES,
    PLATFORM_NAMES,
)
from lnamespace.translate.objects.confinement.namespaces import kept_as
from lnamespace.translate.objects.confinement.ownership import (
    FieldApplier,
    fields_added_by_gateway,
    fields_of_others,
)
from lnamespace.translate.protocol.policies import is_reserved_group
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.upstream import recorded
from tests.unit.support.webhook_routes import ROUTE

VIEW = TenantView("acme", webhook_route=ROUTE)
KUBE_DNS = {"namespace": "kube-system", "name": "kube-dns"}
ADMISSION = "admissionregistration.k8s.io"
FLOW = "flowcontrol.apiserver.k8s.io"
NETWORKING = "networking.k8s.io"
STORAGE = "storage.k8s.io"

Object = dict[str, Any]


def cluster(group: str, plural: str, kind: str) -> ResourceType:
    return ResourceType(group, plural, kind, namespaced=False)


CLAIM = ResourceType("", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
CRD = cluster("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition")
CSR = cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")
CSI_NODE = cluster(STORAGE, "csinodes", "CSINode")
DEVICE_CLASS = cluster("resource.k8s.io", "deviceclasses", "DeviceClass")
FLOW_SCHEMA = cluster(FLOW, "flowschemas", "FlowSchema")
EMPTY: Object = {"devices": []}
ODD_NODE = {"key": "a", "operator": "Gt", "values": ["x"]}
ODD_NODES = {"nodeSelectorTerms": [{"matchExpressions": [ODD_NODE]}]}
GPUS = [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]
NO_DEVICE = [{"cel": {"expression": "false"}}]
INGRESS_CLASS = cluster(NETWORKING, "ingressclasses", "IngressClass")
NAMESPACE = cluster("", "namespaces", "Namespace")
RESOURCE_SLICE = cluster("resource.k8s.io", "resourceslices", "ResourceSlice")
POLICY = cluster(ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy")
MUTATING_POLICY = cluster(ADMISSION, "mutatingadmissionpolicies", "MutatingAdmissionPolicy")
POLICY_BINDING = cluster(
    ADMISSION, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"
)
PRIORITY_CLASS = cluster("scheduling.k8s.io", "priorityclasses", "PriorityClass")
PRIORITY_LEVEL = cluster(FLOW, "prioritylevelconfigurations", "PriorityLevelConfiguration")
RUNTIME_CLASS = cluster("node.k8s.io", "runtimeclasses", "RuntimeClass")
SERVICE_CIDR = cluster(NETWORKING, "servicecidrs", "ServiceCIDR")
STORAGE_CLASS = cluster(STORAGE, "storageclasses", "StorageClass")
VOLUME = cluster("", "persistentvolumes", "PersistentVolume")
VOLUME_ATTACHMENT = cluster(STORAGE, "volumeattachments", "VolumeAttachment")
VOLUME_ATTRIBUTES = cluster(STORAGE, "volumeattributesclasses", "VolumeAttributesClass")
WEBHOOKS = cluster(ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration")


def named(name: str, **fields: Any) -> Object:
    return {"metadata": {"name": f"acme-{name}"}} | fields


def defined(domain: str, **spec: Any) -> Object:
    return {"metadata": {"name": f"widgets.acme-{domain}"}, "spec": spec}


def ruled(rule: str) -> Object:
    """Return a version of a kind with one validation rule about the whole object."""
    validations = [{"rule": rule, "messageExpression": "'not ' + self.metadata.name"}]
    return {"name": "v1", "schema": {"openAPIV3Schema": {"x-kubernetes-validations": validations}}}


def webhook(**fields: Any) -> Object:
    client = {"service": {"namespace": "acme-default", "name": "judge", "port": 443}}
    return {"name": "a.example.com", "clientConfig": client} | fields


def volume(**spec: Any) -> Object:
    return named("v", spec={"csi": {"driver": "d", "volumeHandle": "h"}} | spec)


READ_BACK = [
    (CSI_NODE, named("n", spec={"drivers": [{"name": "d", "nodeID": "i"}]})),
    (
        RESOURCE_SLICE,
        named("s", spec={"driver": "gpu.example.com", "nodeName": "n", "devices": [{"name": "d"}]}),
    ),
    (RESOURCE_SLICE, named("s", spec={"driver": "d", "allNodes": True, "devices": []})),
    (
        RESOURCE_SLICE,
        named("s", spec={"driver": "d", "nodeSelector": ODD_NODES, "sharedCounters": [{}]} | EMPTY),
    ),
    (RESOURCE_SLICE, named("s", spec={"driver": "d", "perDeviceNodeSelection": True} | EMPTY)),
    (DEVICE_CLASS, named("d", spec={"selectors": GPUS})),
    (DEVICE_CLASS, named("d", spec={})),
    (FLOW_SCHEMA, named("f", spec={"matchingPrecedence": 2, "rules": [{"subjects": []}]})),
    (FLOW_SCHEMA, named("f", spec={"matchingPrecedence": 2, "rules": []})),
    (
        PRIORITY_LEVEL,
        named("p", spec={"type": "Limited", "limited": {"nominalConcurrencyShares": 500}}),
    ),
    (
        PRIORITY_LEVEL,
        named(
            "p",
            spec={
                "limited": {
                    "nominalConcurrencyShares": 5,
                    "limitResponse": {"type": "Queue", "queuing": {"queues": 10_000_000}},
                }
            },
        ),
    ),
    (INGRESS_CLASS, named("i", spec={"controller": "k8s.io/ingress-nginx"})),
    (RUNTIME_CLASS, named("r", handler="runc")),
    (STORAGE_CLASS, named("s", provisioner="ebs.csi.aws.com")),
    (VOLUME_ATTACHMENT, named("a", spec={"attacher": "d", "nodeName": "n", "source": {}})),
    (VOLUME_ATTRIBUTES, named("x", driverName="d")),
    (
        PRIORITY_CLASS,
        named("h", value=10**9, globalDefault=True, preemptionPolicy="PreemptLowerPriority"),
    ),
    (WEBHOOKS, named("w", webhooks=[webhook(namespaceSelector={})])),
    (
        WEBHOOKS,
        named(
            "w",
            webhooks=[
                webhook(
                    namespaceSelector={"matchLabels": {"a": "b"}},
                    matchConditions=[{"name": "mine", "expression": "true"}],
                )
            ],
        ),
    ),
    (POLICY, named("p", spec={"matchConstraints": {"namespaceSelector": {}}})),
    (POLICY, named("p", spec={"matchConditions": [{"name": "a", "expression": "true // a"}]})),
    (POLICY_BINDING, named("b", spec={"policyName": "acme-p"})),
    (CSR, named("c", spec={"signerName": "kubernetes.io/kube-apiserver-client"})),
    (CSR, named("c", spec={"signerName": "example.com/mine"})),
    (VOLUME, volume(storageClassName="acme-fast")),
    (VOLUME, volume()),
    (CRD, defined("example.com", versions=[ruled("self.metadata.name == oldSelf.metadata.name")])),
    (CRD, defined("example.com", scope="Namespaced", versions=[ruled("self.metadata.name != ''")])),
    (CLAIM, {"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}),
    (CLAIM, {"metadata": {"name": "c"}, "spec": {}}),
]


@pytest.mark.parametrize(("resource", "written"), READ_BACK)
def test_a_confined_object_is_restored_as_written(resource: ResourceType, written: Object) -> None:
    before = deepcopy(written)
    upstream = confine(resource, "", written, VIEW)
    assert written == before
    below = restore(resource, upstream, VIEW)
    below["metadata"].pop("annotations", None)
    assert below == before


@pytest.mark.parametrize(("resource", "written"), READ_BACK)
def test_confinement_is_idempotent(resource: ResourceType, written: Object) -> None:
    upstream = confine(resource, "", written, VIEW)
    again = confine(resource, "", restore(resource, upstream, VIEW), VIEW)
    assert again == upstream


@pytest.mark.parametrize(
    ("resource", "written", "path", "value"),
    [
        (FLOW_SCHEMA, named("f", spec={"rules": [{}]}), "spec.rules", []),
        (
            PRIORITY_LEVEL,
            named("p", spec={"limited": {"nominalConcurrencyShares": 500}}),
            "spec.limited.nominalConcurrencyShares",
            0,
        ),
        (
            PRIORITY_LEVEL,
            named("p", spec={"limited": {}}),
            "spec.limited",
            {"nominalConcurrencyShares": 0},
        ),
        (
            PRIORITY_LEVEL,
            named("p", spec={"limited": {"limitResponse": {"queuing": {"queues": 10_000_000}}}}),
            "spec.limited",
            {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}},
        ),
        (DEVICE_CLASS, named("d", spec={}), "spec.selectors", NO_DEVICE),
        (DEVICE_CLASS, named("d", spec={"selectors": GPUS}), "spec.selectors", NO_DEVICE),
        (INGRESS_CLASS, named("i", spec={"controller": "a/b"}), "spec.controller", "acme-a/b"),
        (RUNTIME_CLASS, named("r", handler="runc"), "handler", "acme-runc"),
        (STORAGE_CLASS, named("s", provisioner="a/b"), "provisioner", "acme-a/b"),
        (PRIORITY_CLASS, named("h", value=10**9), "value", 1000),
        (PRIORITY_CLASS, named("h", value=7), "value", 7),
        (PRIORITY_CLASS, named("h", value=7), "preemptionPolicy", "Never"),
        (PRIORITY_CLASS, named("h", globalDefault=True), "globalDefault", False),
        (VOLUME_ATTACHMENT, named("a", spec={"nodeName": "n"}), "spec.nodeName", "acme-n"),
        (VOLUME, volume(), "spec.storageClassName", "lcluster.acme"),
        (VOLUME, volume(), "spec.csi.driver", "acme-d"),
        (
            CSR,
            named("c", spec={"signerName": "kubernetes.io/kube-apiserver-client"}),
            "spec.signerName",
            "lcluster.tenancy.loblaw.digital/kube-apiserver-client",
        ),
    ],
)
def test_a_confined_field_has_a_harmless_value_upstream(
    resource: ResourceType, written: Object, path: str, value: Any
) -> None:
    found: Any = confine(resource, "", written, VIEW)
    for key in path.split("."):
        found = found[key]
    assert found == value


@pytest.mark.parametrize(
    ("resource", "written", "field"),
    [
        (VOLUME, named("v", spec={"hostPath": {"path": "/"}}), "spec.hostPath"),
        (VOLUME, named("v", spec={"nfs": {}}), "spec.nfs"),
        (VOLUME, named("v", spec={"aNewSource": {}}), "spec.aNewSource"),
        (VOLUME, volume(storageClassName="standard"), "spec.storageClassName"),
        (VOLUME, volume(claimRef={"namespace": "beta-x"}), "spec.claimRef.namespace"),
        (
            VOLUME,
            {"metadata": {"name": "pvc-cb23c200-f249-11ea-9039-3497f65a8415"}, "spec": {}},
            "metadata.name",
        ),
        (
            VOLUME,
            {"metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "d"}}},
            "metadata.annotations[pv.kubernetes.io/provisioned-by]",
        ),
        (RUNTIME_CLASS, named("r", scheduling={"nodeSelector": {"a": "b"}}), "scheduling"),
        (
            DEVICE_CLASS,
            named("d", spec={"extendedResourceName": "x.com/gpu"}),
            "spec.extendedResourceName",
        ),
        (DEVICE_CLASS, named("d", spec={"config": [{"opaque": {"driver": "x"}}]}), "spec.config"),
        (SERVICE_CIDR, named("s", spec={"cidrs": ["10.0.0.0/8"]}), "spec"),
        (PRIORITY_CLASS, named("system-x", value=1), "metadata.name"),
        (PRIORITY_CLASS, named("x", value=10**9 + 1), "value"),
        (CSR, named("c", spec={"signerName": "kubernetes.io/kubelet-serving"}), "spec.signerName"),
        (
            WEBHOOKS,
            named("w", webhooks=[{"clientConfig": {"url": "https://x"}}]),
            "webhooks[0].clientConfig.url",
        ),
        (
            WEBHOOKS,
            named("w", webhooks=[{"clientConfig": {"service": KUBE_DNS}}]),
            "webhooks[0].clientConfig.service.namespace",
        ),
        (
            POLICY,
            named("p", spec={"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
            "spec.paramKind",
        ),
        (
            POLICY,
            named(
                "p",
                spec={
                    "validations": [
                        {"expression": "authorizer. serviceAccount // x\n ('kube-system', 'x')"}
                    ]
                },
            ),
            "expression",
        ),
        (POLICY_BINDING, named("b", spec={"policyName": "lnamespace-pods"}), "spec.policyName"),
        (
            POLICY_BINDING,
            named("b", spec={"policyName": "acme-p", "paramRef": {"name": "a"}}),
            "spec.paramRef",
        ),
        (
            NAMESPACE,
            {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
            "metadata.labels[resource.kubernetes.io/admin-access]",
        ),
        (CRD, defined("example", group="acme-example"), "spec.group"),
        (
            CRD,
            defined("x.k8s.io", group="acme-x.k8s.io"),
            "metadata.annotations[api-approved.kubernetes.io]",
        ),
        (
            CRD,
            defined("example.com", conversion={"webhook": {"clientConfig": {"url": "https://x"}}}),
            "spec.conversion.webhook.clientConfig.url",
        ),
    ],
)
def test_an_object_that_cannot_be_confined_is_refused(
    resource: ResourceType, written: Object, field: str
) -> None:
    with pytest.raises(Refused) as refused:
        confine(resource, "", written, VIEW)
    assert refused.value.status.code == 422
    causes = refused.value.status.details or {}
    assert [cause["field"] for cause in causes["causes"]] == [field]
    assert "acme-" not in refused.value.status.message


def test_resources_without_effect_on_others_are_not_confined() -> None:
    deployments = ResourceType("apps", "deployments", "Deployment", namespaced=True)
    own = ResourceType("storage.k8s.io", "storageclasses", "X", namespaced=False, custom=True)
    written = {"spec": {"rules": [1]}, "provisioner": "x"}
    for resource in (deployments, own):
        assert not confines(resource)
        assert confine(resource, "", written, VIEW) == written


def kinds(group: str = "aaa.example.com", **names: Any) -> Object:
    plural = names.setdefault("plural", "things")
    names.setdefault("kind", "Thing")
    spec = {"group": f"acme-{group}", "names": names}
    return {"metadata": {"name": f"{plural}.acme-{group}"}, "spec": spec}


@pytest.mark.parametrize(
    ("names", "field"),
    [
        ({"plural": "lclusters"}, "plural"),
        ({"plural": "po"}, "plural"),
        ({"singular": "lnamespace"}, "singular"),
        ({"singular": "ns"}, "singular"),
        ({"kind": "LCluster"}, "singular"),
        ({"shortNames": ["th", "lns"]}, "shortNames"),
    ],
)
def test_a_kind_has_no_name_by_which_kubectl_knows_one_of_the_platform(
    names: Object, field: str
) -> None:
    """`kubectl get lns` of everybody on the platform showed what a user of an LCluster wrote."""
    for form in Form:
        with pytest.raises(Refused, match=f"spec.names.{field}"):
            confine(CRD, "", kinds(**names), VIEW, form)
    value = {"plural": "things", "kind": "Thing"} | names
    with pytest.raises(Refused):
        confine_operations(CRD, "", [operation("replace", "/spec/names", value)], VIEW)
    nested = "tenancy.loblaw.digital"
    view = TenantView("acme", allowances=Allowances(definition_groups=frozenset({nested})))
    written = kinds(nested, **names)
    assert confine(CRD, "", written, view) == written
    view = TenantView(
        "acme", allowances=Allowances(no_kind_names=frozenset({"certificates", "cert"}))
    )
    for more in ({"plural": "certificates"}, {"shortNames": ["cert"]}):
        with pytest.raises(Refused):
            confine(CRD, "", kinds(**more), view)
        assert confine(CRD, "", kinds(**more), VIEW) == kinds(**more)
    with pytest.raises(Refused):
        confine(CRD, "", kinds(**names), view)


@pytest.mark.parametrize("verb", ["proxy", "watch"])
def test_no_kind_is_called_as_a_verb_in_paths(verb: str) -> None:
    """The API server takes the path of all its objects for one of these."""
    for form in Form:
        with pytest.raises(Refused, match=r"spec.names.plural: Forbidden: \w+ is a verb in paths"):
            confine(CRD, "", kinds(plural=verb), VIEW, form)
    assert confine(CRD, "", kinds(singular=verb), VIEW) == kinds(singular=verb)


def test_a_definition_has_a_conversion_webhook_only_where_the_platform_allows_it() -> None:
    """While one fails, Kubernetes deletes no Namespace of the whole cluster."""
    view = TenantView("acme", allowances=Allowances(conversion_webhooks=False))
    client = {"service": {"namespace": "default", "name": "converter"}}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    spec = {"conversion": {"strategy": "Webhook", "webhook": webhook}}
    for form in Form:
        with pytest.raises(Refused, match="the platform allows no conversion webhooks"):
            confine(CRD, "", {"spec": spec}, view, form)
    for path, value in (
        ("/spec", spec),
        ("/spec/conversion", spec["conversion"]),
        ("/spec/conversion/webhook", webhook),
        ("/spec/conversion/webhook/clientConfig", client),
        ("/spec/conversion/webhook/clientConfig/service", client["service"]),
    ):
        with pytest.raises(Refused):
            confine_operations(CRD, "", [operation("add", path, value)], view)
    written = kinds(plural="things", kind="Thing")
    written["spec"]["conversion"] = {"strategy": "None"}
    assert confine(CRD, "", written, view) == written


def test_a_short_name_of_kubernetes_leads_to_kubernetes_and_may_be_taken() -> None:
    written = kinds(plural="pods", singular="pod", shortNames=["po"])
    assert confine(CRD, "", written, VIEW) == written
    one = operation("add", "/spec/names/shortNames/-", "lc")
    with pytest.raises(Refused):
        confine_operations(CRD, "", [one], VIEW)


def test_the_names_of_the_platforms_kinds_are_all_known() -> None:
    served = [
        each
        for name in ("discovery-api.json", "discovery-apis.json")
        for group in json.loads(recorded(name))["items"]
        if is_reserved_group(group["metadata"].get("name", ""))
        for version in group["versions"]
        for each in version["resources"]
    ]
    short = {name for each in served for name in each.get("shortNames", [])}
    assert short <= KUBERNETES_SHORT_NAMES
    ours = set[str]()
    for file in (Path(__file__).parents[2] / "crds").iterdir():
        names = yaml.safe_load(file.read_text())["spec"]["names"]
        ours |= {names["plural"], names["singular"], *names.get("shortNames", [])}
    assert ours == PLATFORM_NAMES


def test_allowances_of_the_platform_are_decoded_from_the_chart_values() -> None:
    text = '{"csiDrivers": ["d"], "highestPriority": 7, "noEndpoints": ["10.0.0.0/8"]}'
    assert decode_allowances(text) == Allowances(csi_drivers=frozenset({"d"}), highest_priority=7)
    for wrong in ("[", '{"csiDrivers": 1}', '{"podSecurity": "none"}'):
        with pytest.raises(SettingsError):
            decode_allowances(wrong)


def test_an_allowed_value_is_sent_upstream_unchanged() -> None:
    view = TenantView("acme", allowances=Allowances(provisioners=frozenset({"d"})))
    upstream = confine(STORAGE_CLASS, "", named("s", provisioner="d"), view)
    assert upstream["provisioner"] == "d"


@given(st.text(min_size=1))
def test_different_provisioners_stay_different_upstream(provisioner: str) -> None:
    view = TenantView("acme", allowances=Allowances(provisioners=frozenset({"d"})))
    upstream = confine(STORAGE_CLASS, "", named("s", provisioner=provisioner), view)
    assert restore(STORAGE_CLASS, upstream, view)["provisioner"] == provisioner


@given(st.lists(st.from_regex(r"\A[a-z0-9]{1,5}\Z"), min_size=1, max_size=4), st.text(max_size=5))
def test_different_signers_stay_different_upstream(labels: list[str], path: str) -> None:
    signer = f"{'.'.join(labels)}/x{path}"
    upstream = signer_up(signer, VIEW)
    assert upstream.startswith("lcluster.tenancy.loblaw.digital/acme.")
    assert signer_down(upstream, VIEW) == signer


@pytest.mark.parametrize(
    "text", ["authorizer.requestResource.check('x').allowed()", "object.spec.serviceAccount == ''"]
)
def test_a_policy_expression_about_the_requester_is_unchanged(text: str) -> None:
    written = named("p", spec={"validations": [{"expression": text}]})
    assert confine(POLICY, "", written, VIEW)["spec"]["validations"] == [{"expression": text}]


def test_the_default_class_annotation_is_not_sent_upstream() -> None:
    key = "storageclass.kubernetes.io/is-default-class"
    written = {"metadata": {"annotations": {key: "true"}}, "provisioner": "x"}
    upstream = confine(STORAGE_CLASS, "", written, VIEW)
    assert key not in upstream["metadata"]["annotations"]
    assert restore(STORAGE_CLASS, upstream, VIEW) == written


def test_the_pod_security_level_of_the_platform_is_the_minimum() -> None:
    enforce = "pod-security.kubernetes.io/enforce"
    for written, upstream in (
        (None, "baseline"),
        ("privileged", "baseline"),
        ("restricted", "restricted"),
    ):
        labels = {} if written is None else {enforce: written}
        namespace = {"metadata": {"name": "acme-n", "labels": labels}}
        confined = confine(NAMESPACE, "", namespace, VIEW)
        assert confined["metadata"]["labels"][enforce] == upstream
        assert confined["metadata"]["labels"][f"{enforce}-version"] == "latest"
        assert restore(NAMESPACE, confined, VIEW) == namespace


@pytest.mark.parametrize("form", [*Form])
def test_a_webhook_gets_its_match_condition_in_every_patch_format(form: Form) -> None:
    for written in (webhook(), webhook(matchConditions=None, namespaceSelector=None)):
        confined = confine(WEBHOOKS, "", {"webhooks": [written]}, VIEW, form)
        (upstream,) = confined["webhooks"]
        assert upstream["matchConditions"][-1]["name"] == CONDITION
        assert upstream["namespaceSelector"]["matchLabels"] == {VIEW.tenant_label: "acme"}


@pytest.mark.parametrize("form", [Form.WHOLE, Form.APPLY, Form.MERGE])
def test_a_patch_directive_of_another_format_does_not_bypass_confinement(form: Form) -> None:
    patch = {"webhooks": [webhook(**{"$patch": "replace"})]}
    confined = confine(WEBHOOKS, "", patch, VIEW, form)
    assert confined["webhooks"][0]["matchConditions"]


def test_a_tenant_cannot_write_the_gateways_condition() -> None:
    condition = {"name": CONDITION, "expression": "true"}
    written = named("w", webhooks=[webhook(matchConditions=[condition])])
    (upstream,) = confine(WEBHOOKS, "", written, VIEW)["webhooks"]
    assert [each["expression"] == "true" for each in upstream["matchConditions"]] == [False]


def test_a_mutating_policy_of_a_tenant_changes_no_roles_bindings_and_definitions() -> None:
    """Who may write roles is judged by a dry run, and a policy can leave a dry run as it is.

    Schemas of definitions are judged by the gateway alone.
    """
    for resource, guarded in ((MUTATING_POLICY, True), (POLICY, False)):
        above = confine(resource, "", named("p", spec={}), VIEW)["spec"]["matchConditions"]
        groups = "['rbac.authorization.k8s.io', 'apiextensions.k8s.io']"
        excluded = f"!(request.resource.group in {groups}) && "
        assert [each["expression"].startswith(excluded) for each in above] == [guarded]


def test_a_merge_patch_of_other_fields_is_unchanged() -> None:
    patch = {"metadata": {"annotations": {"a": "b"}}}
    for resource in (FLOW_SCHEMA, PRIORITY_CLASS, WEBHOOKS, POLICY, NAMESPACE, VOLUME):
        assert confine(resource, "", patch, VIEW, Form.MERGE) == patch


def test_a_merge_patch_of_a_pinned_field_changes_its_kept_original() -> None:
    patch = {"spec": {"limited": {"nominalConcurrencyShares": 4}}}
    confined = confine(PRIORITY_LEVEL, "", patch, VIEW, Form.MERGE)
    assert confined["spec"]["limited"]["nominalConcurrencyShares"] == 0
    assert restore(PRIORITY_LEVEL, confined, VIEW)["spec"] == patch["spec"]


def test_an_apply_includes_the_pinned_fields() -> None:
    namespace = confine(NAMESPACE, "", named("n"), VIEW, Form.APPLY)
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    policy = confine(POLICY, "", named("p", spec={}), VIEW, Form.APPLY)
    assert policy["spec"]["matchConditions"][-1]["name"] == CONDITION


@pytest.mark.parametrize("resource", [POLICY, MUTATING_POLICY])
@pytest.mark.parametrize("fields", [{}, {"spec": None}])
def test_an_apply_without_a_specification_has_the_condition_of_a_policy(
    resource: ResourceType, fields: Object
) -> None:
    """It removed what its manager had applied; what another one had patched stayed."""
    policy = confine(resource, "", named("p", **fields), VIEW, Form.APPLY)
    assert [each["name"] for each in policy["spec"]["matchConditions"]] == [CONDITION]


LEVEL = "pod-security.kubernetes.io/enforce"


def entry(manager: str, **fields: Any) -> Object:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields}


def test_an_apply_omits_a_pinned_label_that_another_manager_owns() -> None:
    labels: Object = {"f:labels": {f"f:{LEVEL}": {}, f"f:{LEVEL}-version": {}}}
    stored = named("n") | {"metadata": {"managedFields": [entry("a", **{"f:metadata": labels})]}}
    others = fields_of_others(NAMESPACE, stored, FieldApplier("b"))
    applied = confine(NAMESPACE, "", named("n"), VIEW, Form.APPLY, others)
    assert applied["metadata"]["labels"] == {}, "and its value is not set back"
    assert fields_of_others(NAMESPACE, stored, FieldApplier("a")) == frozenset()
    own = confine(NAMESPACE, "", named("n"), VIEW, Form.APPLY, frozenset())
    assert own["metadata"]["labels"][LEVEL] == "baseline"


def test_an_apply_omits_a_pinned_value_that_another_manager_owns() -> None:
    stored = named("p") | {"metadata": {"managedFields": [entry("a", **{"f:value": {}})]}}
    others = fields_of_others(PRIORITY_CLASS, stored, FieldApplier("b"))
    applied = confine(PRIORITY_CLASS, "", named("p"), VIEW, Form.APPLY, others)
    assert "value" not in applied
    assert applied["preemptionPolicy"] == "Never"


def test_a_label_added_by_the_gateway_is_excluded_from_conflicts() -> None:
    stored = named("n") | {"metadata": {"labels": {LEVEL: "baseline"}}}
    assert f".metadata.labels.{LEVEL}" in fields_added_by_gateway(NAMESPACE, stored)
    written = stored["metadata"]["labels"] | {kept_as(LEVEL): "baseline"}
    assert f".metadata.labels.{LEVEL}" not in fields_added_by_gateway(
        NAMESPACE, named("n") | {"metadata": {"labels": written}}
    )


def operation(op: str, path: str, *value: Any) -> Object:
    return {"op": op, "path": path} | ({"value": value[0]} if value else {})


ENFORCE = "/metadata/labels/pod-security.kubernetes.io~1enforce"
KEPT_ENFORCE = (
    "/metadata/labels/lcluster.tenancy.loblaw.digital~1pod-security.kubernetes.io.enforce"
)
ORIGINAL_RULES = "/metadata/annotations/lcluster.tenancy.loblaw.digital~1original.spec.rules"


@pytest.mark.parametrize(
    ("resource", "written", "upstream"),
    [
        (
            FLOW_SCHEMA,
            operation("replace", "/spec/rules", [{}]),
            [operation("replace", "/spec/rules", []), operation("add", ORIGINAL_RULES, "[{}]")],
        ),
        (
            FLOW_SCHEMA,
            operation("replace", "/spec/matchingPrecedence", 5),
            [operation("replace", "/spec/matchingPrecedence", 5)],
        ),
        (
            STORAGE_CLASS,
            operation("replace", "/provisioner", "x"),
            [operation("replace", "/provisioner", "acme-x")],
        ),
        (
            STORAGE_CLASS,
            operation(
                "remove", "/metadata/annotations/storageclass.kubernetes.io~1is-default-class"
            ),
            [
                operation(
                    "remove",
                    "/metadata/annotations/lcluster.tenancy.loblaw.digital~1"
                    "storageclass.kubernetes.io.is-default-class",
                )
            ],
        ),
        (
            NAMESPACE,
            operation("add", ENFORCE, "privileged"),
            [
                operation("add", ENFORCE, "baseline"),
                operation("add", KEPT_ENFORCE, "privileged"),
            ],
        ),
        (
            NAMESPACE,
            operation("remove", ENFORCE),
            [operation("replace", ENFORCE, "baseline"), operation("remove", KEPT_ENFORCE)],
        ),
        (
            WEBHOOKS,
            operation("replace", "/webhooks/0/rules/0/operations/0", "CREATE"),
            [operation("replace", "/webhooks/0/rules/0/operations/0", "CREATE")],
        ),
        (
            WEBHOOKS,
            operation("remove", "/webhooks/0/namespaceSelector"),
            [
                operation(
                    "replace",
                    "/webhooks/0/namespaceSelector",
                    {"matchLabels": {VIEW.tenant_label: "acme"}},
                )
            ],
        ),
        (WEBHOOKS, operation("remove", "/webhooks/0"), [operation("remove", "/webhooks/0")]),
    ],
)
def test_a_json_patch_is_confined(
    resource: ResourceType, written: Object, upstream: list[Object]
) -> None:
    assert confine_operations(resource, "", [written], VIEW) == upstream


def test_a_json_patch_that_adds_a_webhook_confines_the_webhook() -> None:
    (added,) = confine_operations(WEBHOOKS, "", [operation("add", "/webhooks/-", webhook())], VIEW)
    assert added["value"]["matchConditions"][-1]["name"] == CONDITION


@pytest.mark.parametrize(
    ("resource", "written"),
    [
        (FLOW_SCHEMA, operation("add", "/spec/rules/-", {})),
        (FLOW_SCHEMA, operation("remove", "/metadata/annotations")),
        (FLOW_SCHEMA, operation("test", "/spec/rules", [])),
        (STORAGE_CLASS, {"op": "copy", "from": "/metadata/name", "path": "/provisioner"}),
        (VOLUME, {"op": "move", "from": "/spec/csi", "path": "/spec/x"}),
        (VOLUME, operation("add", "/spec/hostPath", {"path": "/"})),
        (WEBHOOKS, {"op": "copy", "from": "/webhooks/0", "path": "/webhooks/-"}),
        (WEBHOOKS, operation("add", "/webhooks/0/clientConfig/url", "https://x")),
        (WEBHOOKS, operation("add", "/webhooks/-1/clientConfig/url", "https://x")),
        (WEBHOOKS, operation("replace", "/webhooks/-1", {})),
        (WEBHOOKS, operation("replace", "/webhooks/+0/clientConfig", {"url": "https://x"})),
        (WEBHOOKS, operation("add", "/webhooks/-0/clientConfig/url", "https://x")),
        (WEBHOOKS, operation("add", "/webhooks/00/clientConfig/url", "https://x")),
        (WEBHOOKS, {"op": "remove", "path": "/webhooks/+0/namespaceSelector"}),
        (WEBHOOKS, {"op": "remove", "path": "/webhooks/+00/matchConditions"}),
        (WEBHOOKS, operation("replace", "", [])),
    ],
)
def test_a_json_patch_that_would_bypass_confinement_is_refused(
    resource: ResourceType, written: Object
) -> None:
    with pytest.raises(Refused):
        confine_operations(resource, "", [written], VIEW)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "webhooks", "labels", "annotations", "csi", "name", "value"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    st.sampled_from([resource for resource, _ in READ_BACK]),
    st.dictionaries(st.sampled_from(["metadata", "spec", "webhooks", "value", "parameters"]), JUNK),
    st.sampled_from([*Form]),
)
def test_an_object_of_any_shape_is_confined_or_refused(
    resource: ResourceType, written: Object, form: Form
) -> None:
    try:
        confined = confine(resource, "", written, VIEW, form)
    except Refused:
        return
    restore(resource, confined, VIEW)


def test_a_resource_slice_upstream_has_no_devices_and_a_prefixed_driver() -> None:
    spec = {"driver": "gpu.example.com", "pool": {"name": "p"}, "devices": [{"name": "d"}]}
    upstream = confine(RESOURCE_SLICE, "", named("s", spec=spec), VIEW)
    assert upstream["spec"]["driver"] == "acme-gpu.example.com"
    assert upstream["spec"]["devices"] == []


@pytest.mark.parametrize(
    "nodes",
    [
        {"allNodes": True},
        {"nodeSelector": ODD_NODES},
        {"perDeviceNodeSelection": True},
        {"sharedCounters": [{"name": "c"}], "allNodes": True},
        {},
    ],
)
def test_a_resource_slice_upstream_is_for_no_node(nodes: Object) -> None:
    """One whose selector could not be parsed kept the scheduler from allocating any device."""
    written = named("s", spec={"driver": "gpu.example.com", "pool": {"name": "p"}} | nodes)
    upstream = confine(RESOURCE_SLICE, "", written, VIEW)["spec"]
    nobody = {"key": "metadata.name", "operator": "In", "values": ["lcluster.acme"]}
    assert upstream["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [nobody]}]}
    assert not {"allNodes", "perDeviceNodeSelection", "sharedCounters"} & upstream.keys()
    one = named("s", spec=written["spec"] | {"nodeName": "n"})
    one["spec"].pop("nodeSelector", None)
    assert "nodeSelector" not in confine(RESOURCE_SLICE, "", one, VIEW)["spec"]


def test_a_csi_node_upstream_has_prefixed_drivers() -> None:
    upstream = confine(CSI_NODE, "", named("n", spec={"drivers": [{"name": "d"}]}), VIEW)
    assert upstream["spec"]["drivers"] == [{"name": "acme-d"}]


def managed(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"manager": str(n), "fieldsV1": each} for n, each in enumerate(entries)]


def owned(*keys: str) -> dict[str, Any]:
    return {"f:metadata": {"f:labels": {f"f:{key}": {} for key in keys}}}


def test_managed_fields_omit_labels_that_the_platform_wrote() -> None:
    enforce = "pod-security.kubernetes.io/enforce"
    kept = "lcluster.tenancy.loblaw.digital/pod-security.kubernetes.io.enforce"
    labels = {enforce: "baseline", kept: "privileged", "a": "b"}
    above = {
        "metadata": {
            "name": "acme-a",
            "labels": labels,
            "managedFields": managed(
                owned("a", enforce), owned(enforce), {}, owned(enforce, kept), {"f:spec": {}}
            ),
        }
    }
    metadata = restore(NAMESPACE, above, VIEW)["metadata"]
    assert metadata["labels"] == {"a": "b", enforce: "privileged"}
    fields = [each["fieldsV1"] for each in metadata["managedFields"]]
    assert fields == [owned("a"), owned(enforce, kept), {"f:spec": {}}]


def test_annotations_added_by_the_gateway_alone_are_removed() -> None:
    below = named("a", value=5)
    assert (
        "annotations"
        not in restore(PRIORITY_CLASS, confine(PRIORITY_CLASS, "", below, VIEW), VIEW)["metadata"]
    )


@pytest.mark.parametrize("spec", [{}, {"finalizers": []}, {"finalizers": ["example.com/mine"]}])
def test_the_kubernetes_finalizer_of_a_namespace_cannot_be_removed(spec: Object) -> None:
    with pytest.raises(Refused) as refusal:
        confine(NAMESPACE, "finalize", named("n", spec=spec), VIEW)
    assert refusal.value.status.code == 422
    confine(NAMESPACE, "", named("n", spec=spec), VIEW)


def test_a_tenant_adds_finalizers_to_its_namespaces() -> None:
    written = named("n", spec={"finalizers": ["kubernetes", "example.com/mine"]})
    assert confine(NAMESPACE, "finalize", written, VIEW)["spec"] == written["spec"]


CHART = Path(__file__).resolve().parents[2] / "charts" / "lnamespace" / "templates"


def test_the_admission_policies_require_the_match_condition_of_the_gateway() -> None:
    text = (CHART / "policy-gateway-kinds.yaml").read_text()
    (found,) = re.findall(r"\$expression := `\"(.*)\"` }}", text)
    assert found.replace('" + variables.prefix + "', VIEW.prefix) == expression(VIEW)
    assert '$condition := printf "%stenant" $keys' in text
    assert f"{LCLUSTER_KEYS}tenant" == CONDITION
    assert LCLUSTER_KEYS in (CHART / "_helpers.tpl").read_text().splitlines()


def test_the_admission_policies_contain_the_reserved_names() -> None:
    text = (CHART / "policy-gateway.yaml").read_text()
    (found,) = re.findall(r"\$reserved := list (.*) }}", text)
    assert re.findall(r'"(\w+)"', found) == list(RESERVED_TENANTS)


WITHOUT_PREFIX = (
    "({0}.metadata.name.startsWith({0}.apiVersion.substring(0, 5))"
    " ? {0}.metadata.name.substring(5) : {0}.metadata.name)"
)


@pytest.mark.parametrize(
    ("rule", "upstream"),
    [
        ("self.metadata.name == 'a'", f"{WITHOUT_PREFIX.format('self')} == 'a'"),
        ("oldSelf.metadata.name.size() < 9", f"{WITHOUT_PREFIX.format('oldSelf')}.size() < 9"),
        ("self.spec.a == 'self.metadata.name'", "self.spec.a == 'self.metadata.name'"),
        ("'\\'self.metadata.name' != \"self.metadata.name\"",) * 2,
        ("true // self.metadata.name",) * 2,
        ("has(self.metadata.name)",) * 2,
        ("self.metadata.names || itself.metadata.name || a.self.metadata.name",) * 2,
    ],
)
def test_a_validation_rule_about_the_name_of_an_object_uses_the_tenant_spelling(
    rule: str, upstream: str
) -> None:
    def found(definition: Object) -> str:
        (version,) = definition["spec"]["versions"]
        (validation,) = version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]
        return str(validation["rule"])

    clusterwide = defined("example.com", scope="Cluster", versions=[ruled(rule)])
    assert found(confine(CRD, "", clusterwide, VIEW)) == upstream
    namespaced = defined("example.com", scope="Namespaced", versions=[ruled(rule)])
    assert found(confine(CRD, "", namespaced, VIEW)) == rule


def test_the_requester_of_a_certificate_is_restored_from_the_annotation() -> None:
    user = {"username": "ann", "groups": ["devs"], "uid": "7"}
    noted = {"annotations": {REQUESTER: json.dumps(user)}}
    stored = {"metadata": noted, "spec": {"username": "the gateway", "groups": ["platform"]}}
    upstream = {"username": "lcluster:acme:ann", "groups": ["lcluster:acme:devs"], "uid": "7"}
    assert restore(CSR, stored, VIEW)["spec"] == upstream
    assert restore(CSR, stored | {"metadata": {}}, VIEW)["spec"] == {}
