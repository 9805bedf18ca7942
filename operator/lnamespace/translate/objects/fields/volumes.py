"""Volumes, claims and storage classes."""

from collections.abc import Mapping

from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.metadata import TEMPLATE_METADATA, AnnotationRules
from lnamespace.translate.objects.paths import merged, translator_at
from lnamespace.translate.objects.references import REFERENCE
from lnamespace.translate.objects.spellings import (
    GROUP,
    NAMESPACE_SPELLING,
    PERSISTENT_VOLUME_NAME,
    PREFIXED,
    STORAGE_CLASS_NAME,
    VOLUME_ATTRIBUTES_CLASS_NAME,
)
from lnamespace.translate.objects.texts import TEXT
from lnamespace.translate.objects.translators import ObjectTranslator

CLAIM_SPEC = translator_at(
    {
        "volumeName": PERSISTENT_VOLUME_NAME,
        "storageClassName": STORAGE_CLASS_NAME,
        "volumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS_NAME,
        "selector": TenantSelector(namespaces=False),
        "dataSource.apiGroup": GROUP,
        "dataSourceRef.apiGroup": GROUP,
        "dataSourceRef.namespace": NAMESPACE_SPELLING,
    }
)
CLAIM_TEMPLATE = translator_at(
    {"metadata": TEMPLATE_METADATA, "spec": CLAIM_SPEC, "status.conditions[].message": TEXT}
)
_CLAIM = merged(
    translator_at({"spec": CLAIM_SPEC}),
    translator_at(
        {
            "status.currentVolumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS_NAME,
            "status.modifyVolumeStatus.targetVolumeAttributesClassName": (
                VOLUME_ATTRIBUTES_CLASS_NAME
            ),
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
VOLUME_SPEC = translator_at(
    {
        "claimRef": REFERENCE,
        "storageClassName": STORAGE_CLASS_NAME,
        "volumeAttributesClassName": VOLUME_ATTRIBUTES_CLASS_NAME,
        "azureFile.secretNamespace": NAMESPACE_SPELLING,
        "glusterfs.endpointsNamespace": NAMESPACE_SPELLING,
        "storageos.volumeNamespace": NAMESPACE_SPELLING,
        # What a provisioner writes of the claim (--extra-create-metadata).
        "csi.volumeAttributes": ObjectTranslator(
            {"csi.storage.k8s.io/pvc/namespace": NAMESPACE_SPELLING}
        ),
        **{f"{path}.namespace": NAMESPACE_SPELLING for path in _SECRETS},
    }
)
_ATTACHMENT = translator_at(
    {
        "spec.source.persistentVolumeName": PERSISTENT_VOLUME_NAME,
        "spec.source.inlineVolumeSpec": VOLUME_SPEC,
        "status.attachError.message": TEXT,
        "status.detachError.message": TEXT,
    }
)

VOLUMES: Mapping[tuple[str, str], ObjectTranslator] = {
    ("", "persistentvolumeclaims"): _CLAIM,
    ("", "persistentvolumes"): translator_at(
        {"spec": VOLUME_SPEC, "status.message": TEXT, "status.reason": TEXT}
    ),
    # The scheduler reads the capacities of every namespace: one for a class of the platform would
    # mislead it for everybody.
    ("storage.k8s.io", "csistoragecapacities"): translator_at({"storageClassName": PREFIXED}),
    ("storage.k8s.io", "volumeattachments"): _ATTACHMENT,
}
VOLUME_ANNOTATIONS: Mapping[tuple[str, str], AnnotationRules] = {
    ("", "persistentvolumeclaims"): {"volume.beta.kubernetes.io/storage-class": STORAGE_CLASS_NAME},
    ("", "persistentvolumes"): {
        "volume.beta.kubernetes.io/storage-class": STORAGE_CLASS_NAME,
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": NAMESPACE_SPELLING,
    },
}
