"""Confine PersistentVolumes, claims and StorageClasses to the tenant's storage."""

from dataclasses import dataclass

from lnamespace.translate.names.tenant_view import TenantView, is_provisioned
from lnamespace.translate.objects.confinement.namespaces import ForbiddenKeys
from lnamespace.translate.objects.confinement.rules import ConfinedBody, RefusingRule, parents

SOURCES = frozenset(
    {
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "glusterfs",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    }
)
"""The sources of PersistentVolumes besides ``csi``: they name disks, hosts and paths of nodes."""

KNOWN = SOURCES | {
    "accessModes",
    "capacity",
    "claimRef",
    "csi",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
}
"""All fields of a PersistentVolume's specification. Sources of later versions are missing."""

PROVISIONER_ANNOTATIONS = ForbiddenKeys(
    "annotations",
    (
        "pv.kubernetes.io/migrated-to",
        "pv.kubernetes.io/provisioned-by",
        "volume.kubernetes.io/provisioner-deletion-secret-name",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace",
    ),
)
"""The fields that name the volume to delete, and the Secret to use, for a provisioner."""


def empty_class(view: TenantView) -> str:
    """Return the upstream name of this tenant's class ``""``."""
    return f"lcluster.{view.tenant}"


@dataclass(frozen=True)
class EmptyStorageClassRule:
    """The class ``""``, which must bind volumes and claims of the same tenant only.

    Parameters
    ----------
    always
        Whether a missing field means ``""``; in a claim it means the default class.
    """

    always: bool

    paths = (("spec", "storageClassName"),)

    def confine(self, subject: ConfinedBody) -> None:
        """Write the class of this tenant for ``""``."""
        for spec in parents(subject.body, self.paths[0]):
            missing = "storageClassName" not in spec and self.always and subject.form.complete
            nothing = ("", None) if self.always else ("",)
            if missing or spec.get("storageClassName", False) in nothing:
                spec["storageClassName"] = empty_class(subject.view)

    def restore(self, subject: ConfinedBody) -> None:
        """Write ``""`` for the class of this tenant, or nothing where that is the same."""
        for spec in parents(subject.body, self.paths[0]):
            if spec.get("storageClassName") == empty_class(subject.view):
                spec["storageClassName"] = ""
                if self.always:
                    del spec["storageClassName"]


@dataclass(frozen=True)
class VolumeSourceRule(RefusingRule):
    """The source of a PersistentVolume, which must be CSI, and its claim, the tenant's."""

    paths = (("spec",),)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse sources of the platform, and volumes that others could bind."""
        if is_provisioned(subject.name):
            raise subject.refuse("metadata.name", "pvc-UID is reserved for provisioners")
        for spec in parents(subject.body, ("spec", "csi")):
            for key in sorted(set(spec) - KNOWN | set(spec) & SOURCES):
                if spec[key] is not None:
                    raise subject.refuse(f"spec.{key}", "use csi")
            self._check_class(spec, subject)

    def _check_class(self, spec: dict[str, object], subject: ConfinedBody) -> None:
        claim = spec.get("claimRef")
        namespace = claim.get("namespace") if isinstance(claim, dict) else None
        view = subject.view
        if isinstance(namespace, str) and not namespace.startswith(view.prefix):
            raise subject.refuse("spec.claimRef.namespace", "no such namespace")
        name = spec.get("storageClassName")
        if not isinstance(name, str) or not name or namespace:
            return
        if not name.startswith(view.prefix) and name != empty_class(view):
            raise subject.refuse(
                "spec.storageClassName", "a volume of a class of the platform needs a claimRef"
            )


SECRET_NAMESPACE = ("secret-namespace", "secretnamespace")
OWN_NAMESPACE_TEMPLATE = "${pvc.namespace}"


@dataclass(frozen=True)
class SecretNamespaces:
    """The parameters by which a provisioner reads Secrets, with its own rights."""

    paths = (("parameters",),)

    def confine(self, subject: ConfinedBody) -> None:
        """Write namespaces in upstream spelling."""
        for key, value in self._namespaces(subject):
            if "$" in value and value != OWN_NAMESPACE_TEMPLATE:
                raise subject.refuse(
                    f"parameters[{key}]", f"only {OWN_NAMESPACE_TEMPLATE} is available"
                )
            if value != OWN_NAMESPACE_TEMPLATE:
                subject.body["parameters"][key] = subject.view.namespace_up(value)

    def restore(self, subject: ConfinedBody) -> None:
        """Write namespaces in tenant spelling."""
        for key, value in self._namespaces(subject):
            if value != OWN_NAMESPACE_TEMPLATE:
                below = subject.view.namespace_down(value)
                subject.body["parameters"][key] = value if below is None else below

    @staticmethod
    def _namespaces(subject: ConfinedBody) -> list[tuple[str, str]]:
        parameters = subject.body.get("parameters")
        return [
            (key, value)
            for key, value in (parameters if isinstance(parameters, dict) else {}).items()
            if key.lower().endswith(SECRET_NAMESPACE) and isinstance(value, str)
        ]
