"""Volumes, claims and storage classes."""

from collections.abc import Mapping

from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.metadata import TEMPLATE_METADATA, AnnotationRules
from lnamespace.translate.objects.paths import merged, plan_at
from lnamespace.translate.objects.plans import ObjectPlan
from lnamespace.translate.objects.references import REFERENCE
from lnamespace.translate.objects.spellings import (
    GROUP,
    NAMESPACE,
    PERSISTENT_VOLUME,
    PREFIXED,
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
)
from lnamespace.translate.objects.texts import TEXT

CLAIM_SPEC = plan_at(
    {
        "volumeName": PERSISTENT_VOLUME,
        "storageClassName": STORAGE_CLASS,
        "volumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS,
        "selector": TenantSelector(namespaces=False),
        "dataSource.apiGroup": GROUP,
        "dataSourceRef.apiGroup": GROUP,
        "dataSourceRef.namespace": NAMESPACE,
    }
)
CLAIM_TEMPLATE = plan_at(
    {
        "metadata": TEMPLATE_METADATA,
        "spec": CLAIM_SPEC,
        "status.conditions[].message": TEXT,
    }
)
_CLAIM = merged(
    plan_at({"spec": CLAIM_SPEC}),
    plan_at(
        {
            "status.currentVolumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS,
            "status.modifyVolumeStatus.targetVolumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS,
            "status.conditions[].message": TEXT,
        }
    ),
)
_SECRETS = (
    "cephfs.secretRef",
    "cinder.secretRef",
    "csi.controllerExpandSecretRef",
    "csi.controllerPublishSecretRef",
    "csi.nodeExpandSecretRef",
    "csi.nodePublishSecretRef",
    "csi.nodeStageSecretRef",
    "flexVolume.secretRef",
    "iscsi.secretRef",
    "rbd.secretRef",
    "scaleIO.secretRef",
    "storageos.secretRef",
)
"""References to Secrets that a kubelet or a provisioner reads with rights of its own."""
VOLUME_SPEC = plan_at(
    {
        "claimRef": REFERENCE,
        "storageClassName": STORAGE_CLASS,
        "volumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS,
        "azureFile.secretNamespace": NAMESPACE,
        "glusterfs.endpointsNamespace": NAMESPACE,
        "storageos.volumeNamespace": NAMESPACE,
        # What a provisioner writes of the claim (--extra-create-metadata).
        "csi.volumeAttributes": ObjectPlan({"csi.storage.k8s.io/pvc/namespace": NAMESPACE}),
        **{f"{path}.namespace": NAMESPACE for path in _SECRETS},
    }
)
_ATTACHMENT = plan_at(
    {
        "spec.source.persistentVolumeName": PERSISTENT_VOLUME,
        "spec.source.inlineVolumeSpec": VOLUME_SPEC,
        "status.attachError.message": TEXT,
        "status.detachError.message": TEXT,
    }
)

VOLUMES: Mapping[tuple[str, str], ObjectPlan] = {
    ("", "persistentvolumeclaims"): _CLAIM,
    ("", "persistentvolumes"): plan_at(
        {"spec": VOLUME_SPEC, "status.message": TEXT, "status.reason": TEXT}
    ),
    # The scheduler reads the capacities of every namespace: one for a class of the platform would
    # mislead it for everybody.
    ("storage.k8s.io", "csistoragecapacities"): plan_at({"storageClassName": PREFIXED}),
    ("storage.k8s.io", "volumeattachments"): _ATTACHMENT,
}
VOLUME_ANNOTATIONS: Mapping[tuple[str, str], AnnotationRules] = {
    ("", "persistentvolumeclaims"): {"volume.beta.kubernetes.io/storage-class": STORAGE_CLASS},
    ("", "persistentvolumes"): {
        "volume.beta.kubernetes.io/storage-class": STORAGE_CLASS,
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": NAMESPACE,
    },
}
