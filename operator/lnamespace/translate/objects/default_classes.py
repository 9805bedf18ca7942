"""The default class of a tenant: it is set where an object that is created names none.

On any cluster an admission plugin of the API server does that. A tenant's class is marked as
default under a key that no plugin acts on: otherwise the platform's objects would get it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.rules import RenamedKey
from lnamespace.translate.objects.translators import Encoded, object_at
from lnamespace.translate.protocol.resources import GroupResource, ResourceType

INGRESS_CLASSES = GroupResource("networking.k8s.io", "ingressclasses")
STORAGE_CLASSES = GroupResource("storage.k8s.io", "storageclasses")

_KEYS: Mapping[GroupResource, tuple[str, ...]] = {
    INGRESS_CLASSES: ("ingressclass.kubernetes.io/is-default-class",),
    STORAGE_CLASSES: (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
}
"""The keys of the annotations by which a class is the default."""
PLATFORM_MARKS = frozenset(key for keys in _KEYS.values() for key in keys)
"""Those of all kinds."""
_MARKS: Mapping[GroupResource, frozenset[str]] = {
    classes: frozenset(RenamedKey(key).kept_as for key in keys) for classes, keys in _KEYS.items()
}
"""The same keys as they are kept upstream for classes of tenants."""
DEFAULT_MARKS = frozenset[str]().union(*_MARKS.values())
"""Those of all kinds."""


@dataclass(frozen=True)
class _ClassField:
    """The field of an object that names a class.

    Parameters
    ----------
    annotation
        The older way to name one; the API server sets no default beside it.
    """

    classes: GroupResource
    name: str
    annotation: str


_FIELDS: Mapping[GroupResource, _ClassField] = {
    GroupResource("networking.k8s.io", "ingresses"): _ClassField(
        INGRESS_CLASSES, "ingressClassName", "kubernetes.io/ingress.class"
    ),
    GroupResource("", "persistentvolumeclaims"): _ClassField(
        STORAGE_CLASSES, "storageClassName", "volume.beta.kubernetes.io/storage-class"
    ),
}


class _ClassMeta(msgspec.Struct, frozen=True, rename="camel"):
    creation_timestamp: str = ""
    annotations: dict[str, str] = {}


class _MarkableClass(msgspec.Struct, frozen=True):
    metadata: _ClassMeta


_decode_class = msgspec.json.Decoder(_MarkableClass).decode


def default_since(classes: GroupResource, found: bytes) -> str:
    """Return when a class was created that is marked as default; empty if it is not.

    Parameters
    ----------
    found
        A tenant's class in upstream spelling, as JSON.
    """
    metadata = _decode_class(found).metadata
    marked = any(metadata.annotations.get(mark) == "true" for mark in _MARKS[classes])
    return metadata.creation_timestamp if marked else ""


def with_default_class(members: Encoded, resource: ResourceType, view: TenantView) -> Encoded:
    """Return an object that is created, in tenant spelling, with the class that it gets."""
    field = None if resource.custom else _FIELDS.get(resource.group_resource)
    name = view.default_classes.get(field.classes, "") if field else ""
    if field is None or not name:
        return members
    spec = object_at(members, "spec")
    annotations = object_at(object_at(members, "metadata"), "annotations")
    named = bytes(spec.get(field.name, b"null")).strip() != b"null"
    if named or field.annotation in annotations:
        return members
    below = name.removeprefix(view.prefix)
    return members | {"spec": Raw(msgspec.json.encode(spec | {field.name: below}))}
