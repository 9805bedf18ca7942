"""The metadata of objects: names, owners, labels, annotations, managed fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Raw

from lnamespace.kube.objects import MANAGED_BY, NAME_LABEL
from lnamespace.translate.names.view import CRDS
from lnamespace.translate.objects.keys import MANAGER, key_down, own_key_up, role_key_up
from lnamespace.translate.objects.labels import AnnotationsPlan, LabelsPlan, is_null
from lnamespace.translate.objects.managed_fields import ManagedFieldsPlan
from lnamespace.translate.objects.plans import (
    Encoded,
    FieldRule,
    ListPlan,
    ObjectPlan,
    Scope,
    UpOnly,
    object_of,
    text_of,
)
from lnamespace.translate.objects.quotas import resource_key_down, resource_key_up
from lnamespace.translate.objects.references import OWNER, OwnersPlan
from lnamespace.translate.objects.spellings import (
    CLUSTER_ROLE,
    NAMESPACE,
    PREFIXED,
    OwnName,
    OwnNamespace,
    OwnRoleName,
)
from lnamespace.translate.protocol.resources import GroupResource, ResourceType
from lnamespace.translate.protocol.status import bad_request

RESOURCE_QUOTAS = GroupResource("", "resourcequotas")
EMPTIED = ("labels", "annotations", "managedFields", "ownerReferences")
"""The members that are removed when everything in them is hidden."""
AnnotationRules = Mapping[str, FieldRule]
"""Rules for the values of annotations, by key."""


@dataclass(frozen=True)
class MetadataPlan(ObjectPlan):
    """The translation of ``metadata``.

    Parameters
    ----------
    labelled
        Whether the object bears the tenant label upstream.
    """

    labelled: bool = False

    def up(self, value: Any, scope: Scope) -> Any:
        """Return metadata in upstream spelling; it is added where the tenant label is needed."""
        members = object_of(value)
        if members is None and self.labelled and scope.whole:
            if not is_null(value):
                raise bad_request("metadata is no object")
            members = {}
        return value if members is None else self.members_up(members, scope)

    def members_up(self, members: Encoded, scope: Scope) -> Encoded:
        """Translate metadata in place, add the tenant label to a whole object, and return it."""
        super().members_up(members, scope)
        if self.labelled and scope.whole and "labels" not in members:
            members["labels"] = {scope.view.tenant_label: scope.view.tenant}
        own = scope.view.namespace_annotations
        if own and scope.whole and is_namespaces(scope.resource):
            written = members.get("annotations")
            annotations: Encoded = written if isinstance(written, dict) else {}
            members["annotations"] = annotations | {**own}
        return members

    def members_down(self, members: Encoded, scope: Scope) -> Encoded:
        """Translate metadata in place, without members that are then empty, and return it."""
        if scope.published and text_of(members.get("name", b"null")) in scope.published:
            return _published_down(members)
        super().members_down(members, scope)
        members.pop("selfLink", None)
        for key in EMPTIED:
            if key in members and not members[key]:
                del members[key]
        return members


def metadata_plan(resource: ResourceType, annotations: AnnotationRules) -> MetadataPlan:
    """Return the plan for the metadata of objects of a type."""
    aggregated = is_cluster_roles(resource)
    rules: dict[str, FieldRule] = {
        "ownerReferences": OwnersPlan(),
        "managedFields": _managed_fields(resource, aggregated=aggregated),
        "labels": _labels(resource, aggregated=aggregated),
        "annotations": AnnotationsPlan(not resource.namespaced, annotations),
    }
    return MetadataPlan(_names(resource) | rules, labelled=not resource.namespaced)


def is_namespaces(resource: ResourceType) -> bool:
    """Return whether a resource is that of Namespaces."""
    return resource.plural == "namespaces" and not resource.group


def is_cluster_roles(resource: ResourceType) -> bool:
    """Return whether a resource is that of ClusterRoles: tenants may define others of the name."""
    return resource.group_resource == CLUSTER_ROLE.group_resource


def _names(resource: ResourceType) -> dict[str, FieldRule]:
    if resource.namespaced and resource.group == CLUSTER_ROLE.group:
        own = OwnRoleName()
        return {"namespace": OwnNamespace(), "name": own, "generateName": own}
    if resource.namespaced:
        return {"namespace": OwnNamespace()}
    if resource.group_resource == CRDS:
        return {"name": OwnName()}
    return {"name": OwnName(), "generateName": PREFIXED}


def _managed_fields(resource: ResourceType, *, aggregated: bool) -> ManagedFieldsPlan:
    """Return the plan for managed fields, which contain the keys of maps."""
    if resource.group_resource == RESOURCE_QUOTAS:
        return ManagedFieldsPlan(resource_key_up, resource_key_down)
    if resource.namespaced:
        return ManagedFieldsPlan()
    return ManagedFieldsPlan(role_key_up if aggregated else own_key_up, key_down)


def _labels(resource: ResourceType, *, aggregated: bool) -> LabelsPlan:
    values: dict[str, FieldRule] = {} if resource.namespaced else {MANAGED_BY: MANAGER}
    if is_namespaces(resource):
        values[NAME_LABEL] = NAMESPACE
    return LabelsPlan(labelled=not resource.namespaced, aggregated=aggregated, values=values)


TEMPLATE_METADATA = ObjectPlan(
    {
        "labels": UpOnly(LabelsPlan()),
        "annotations": UpOnly(AnnotationsPlan()),
        "ownerReferences": ListPlan(OWNER),
    }
)
"""The metadata of a template, which is copied into the objects created from it."""


@dataclass(frozen=True)
class WholePlan(ObjectPlan):
    """The translation of an object that has metadata."""

    marks: ClassVar[tuple[bytes, ...]] = ()
    """Byte strings without which this plan itself, besides its rules, changes nothing."""

    @cached_property
    def splices(self) -> bool:
        """Return whether all members but ``metadata`` are guarded."""
        return all(rule.guarded for key, rule in self.rules.items() if key != "metadata")

    def members_up(self, members: Encoded, scope: Scope) -> Encoded:
        """Translate an object in place and return it; a whole one has metadata."""
        if scope.whole and not scope.resource.namespaced and "metadata" not in members:
            members["metadata"] = Raw(b"{}")
        return super().members_up(members, scope)


def name_of(members: Encoded) -> str:
    """Return the name in the metadata of an object that is not translated yet; empty if none."""
    metadata = object_of(members.get("metadata", b"{}")) or {}
    return text_of(metadata.get("name", b"null")) or ""


def _published_down(members: Encoded) -> Encoded:
    """Return the metadata of a published object, without details of the platform."""
    shown = {key: each for key, each in members.items() if key not in PLATFORMS_OWN}
    for member, allowed in PUBLISHED_KEYS.items():
        present = object_of(members.get(member, b"{}")) or {}
        if kept := {key: each for key, each in present.items() if key.startswith(allowed)}:
            shown[member] = kept
    return shown


PLATFORMS_OWN = frozenset(
    {"managedFields", "ownerReferences", "annotations", "labels", "selfLink", "finalizers"}
)
PUBLISHED_KEYS = {
    "labels": ("kubernetes.io/bootstrapping", "rbac.authorization.k8s.io/aggregate-to-"),
    "annotations": (
        "storageclass.kubernetes.io/is-default-class",
        "ingressclass.kubernetes.io/is-default-class",
        "rbac.authorization.kubernetes.io/autoupdate",
    ),
}
"""Labels and annotations of published objects that clients read."""
