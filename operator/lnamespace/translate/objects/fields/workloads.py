"""Pods, and the kinds that have a template of pods."""

from collections.abc import Mapping

from lnamespace.translate.objects.fields.volumes import CLAIM_TEMPLATE
from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.metadata import TEMPLATE_METADATA
from lnamespace.translate.objects.paths import merged, translator_at
from lnamespace.translate.objects.quotas import RESOURCE_KEYS, RESOURCE_NAME
from lnamespace.translate.objects.references import REFERENCE
from lnamespace.translate.objects.spellings import (
    CLUSTER_TRUST_BUNDLE_NAME,
    DEVICE_CLASS_NAME,
    DRIVER,
    GROUP,
    NAMESPACE_SPELLING,
    PRIORITY_CLASS_NAME,
    RUNTIME_CLASS_NAME,
)
from lnamespace.translate.objects.texts import TEXT
from lnamespace.translate.objects.translators import FieldRule, ListTranslator, ObjectTranslator

CONDITIONS: Mapping[str, FieldRule] = {"status.conditions[].message": TEXT}
"""The conditions of the API conventions."""

_AFFINITY_TERM = translator_at(
    {"namespaces[]": NAMESPACE_SPELLING, "namespaceSelector": TenantSelector()}
)
_AFFINITY = translator_at(
    {
        "requiredDuringSchedulingIgnoredDuringExecution[]": _AFFINITY_TERM,
        "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm": _AFFINITY_TERM,
    }
)
_RESOURCES = translator_at({"limits": RESOURCE_KEYS, "requests": RESOURCE_KEYS})
# A missing selector selects nothing, for every signer.
_TRUST = translator_at(
    {"name": CLUSTER_TRUST_BUNDLE_NAME, "labelSelector": TenantSelector(namespaces=False)}
)
POD_SPEC = translator_at(
    {
        "containers[].resources": _RESOURCES,
        "initContainers[].resources": _RESOURCES,
        "resources": _RESOURCES,
        "priorityClassName": PRIORITY_CLASS_NAME,
        "runtimeClassName": RUNTIME_CLASS_NAME,
        "affinity.podAffinity": _AFFINITY,
        "affinity.podAntiAffinity": _AFFINITY,
        "volumes[].csi.driver": DRIVER,
        "volumes[].ephemeral.volumeClaimTemplate": CLAIM_TEMPLATE,
        "volumes[].projected.sources[].clusterTrustBundle": _TRUST,
        "volumes[].storageos.volumeNamespace": NAMESPACE_SPELLING,
    }
)
_CONTAINER_STATE = translator_at(
    {
        "terminated.message": TEXT,
        "terminated.reason": TEXT,
        "waiting.message": TEXT,
        "waiting.reason": TEXT,
    }
)
_CONTAINERS = translator_at(
    {
        "state": _CONTAINER_STATE,
        "lastState": _CONTAINER_STATE,
        "allocatedResources": RESOURCE_KEYS,
        "allocatedResourcesStatus[].name": RESOURCE_NAME,
        "allocatedResourcesStatus[].resources[].message": TEXT,
        "resources": _RESOURCES,
    }
)
POD = translator_at(
    {
        "spec": POD_SPEC,
        "status.message": TEXT,
        "status.reason": TEXT,
        "status.conditions[].message": TEXT,
        "status.containerStatuses[]": _CONTAINERS,
        "status.initContainerStatuses[]": _CONTAINERS,
        "status.ephemeralContainerStatuses[]": _CONTAINERS,
        "status.allocatedResources": RESOURCE_KEYS,
        "status.resources": _RESOURCES,
        "status.extendedResourceClaimStatus.requestMappings[].resourceName": RESOURCE_NAME,
    }
)
POD_TEMPLATE = translator_at({"metadata": TEMPLATE_METADATA, "spec": POD_SPEC})
_TEMPLATED = translator_at({"spec.template": POD_TEMPLATE, **CONDITIONS})
_CLAIM_TEMPLATES = ListTranslator(CLAIM_TEMPLATE)
_STATEFUL_SET = merged(_TEMPLATED, translator_at({"spec.volumeClaimTemplates": _CLAIM_TEMPLATES}))
_REVISION_SPEC = translator_at({"template": POD_TEMPLATE, "volumeClaimTemplates": _CLAIM_TEMPLATES})

WORKLOADS: Mapping[tuple[str, str], ObjectTranslator] = {
    ("", "pods"): POD,
    ("", "podtemplates"): translator_at({"template": POD_TEMPLATE}),
    ("", "replicationcontrollers"): _TEMPLATED,
    ("apps", "daemonsets"): _TEMPLATED,
    ("apps", "deployments"): _TEMPLATED,
    ("apps", "replicasets"): _TEMPLATED,
    ("apps", "statefulsets"): _STATEFUL_SET,
    # The data of a revision is a patch for the object that the revision is of.
    ("apps", "controllerrevisions"): translator_at({"data.spec": _REVISION_SPEC}),
    ("batch", "jobs"): _TEMPLATED,
    ("batch", "cronjobs"): translator_at(
        {
            "spec.jobTemplate.metadata": TEMPLATE_METADATA,
            "spec.jobTemplate.spec.template": POD_TEMPLATE,
            "status.active[]": REFERENCE,
        }
    ),
    ("resource.k8s.io", "resourceclaims"): translator_at(
        {
            "spec.devices.requests[].exactly.deviceClassName": DEVICE_CLASS_NAME,
            "spec.devices.requests[].firstAvailable[].deviceClassName": DEVICE_CLASS_NAME,
            "spec.devices.requests[].deviceClassName": DEVICE_CLASS_NAME,
            "status.devices[].conditions[].message": TEXT,
            "status.reservedFor[].apiGroup": GROUP,
        }
    ),
    ("resource.k8s.io", "resourceclaimtemplates"): translator_at(
        {
            "spec.metadata": TEMPLATE_METADATA,
            "spec.spec.devices.requests[].exactly.deviceClassName": DEVICE_CLASS_NAME,
            "spec.spec.devices.requests[].firstAvailable[].deviceClassName": DEVICE_CLASS_NAME,
            "spec.spec.devices.requests[].deviceClassName": DEVICE_CLASS_NAME,
        }
    ),
}
