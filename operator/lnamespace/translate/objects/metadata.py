"""The metadata of objects: names, owners, labels, annotations, managed fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Raw

from lnamespace.kube.objects import MANAGED_BY, NAME_LABEL
from lnamespace.translate.names.tenant_view import CRDS
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.definition_reserve import DEFINITION_ANNOTATIONS
from lnamespace.translate.objects.keys import (
    MANAGER,
    has_manager,
    key_down,
    own_key_up,
    role_key_up,
)
from lnamespace.translate.objects.labels import AnnotationsTranslator, LabelsTranslator, is_null
from lnamespace.translate.objects.managed_fields import ManagedFieldsTranslator
from lnamespace.translate.objects.quotas import resource_key_down, resource_key_up
from lnamespace.translate.objects.references import REFERENCE, OwnersTranslator
from lnamespace.translate.objects.spellings import (
    CLUSTER_ROLE_NAME,
    NAMESPACE_SPELLING,
    PREFIXED,
    OwnName,
    OwnNamespace,
    OwnRoleName,
)
from lnamespace.translate.objects.translators import (
    Encoded,
    FieldRule,
    ListTranslator,
    ObjectTranslator,
    UpOnly,
    object_at,
    object_of,
    text_at,
)
from lnamespace.translate.protocol.resources import GroupResource, ResourceType
from lnamespace.translate.protocol.status import bad_request

RESOURCE_QUOTAS = GroupResource("", "resourcequotas")
EMPTIED = ("labels", "annotations", "managedFields", "ownerReferences")
"""The members that are removed when everything in them is hidden."""
AnnotationRules = Mapping[str, FieldRule]
"""Rules for the values of annotations, by key."""


@dataclass(frozen=True)
class MetadataTranslator(ObjectTranslator):
    """The translation of ``metadata``.

    Parameters
    ----------
    labelled
        Whether the object bears the tenant label upstream.
    """

    labelled: bool = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return metadata in upstream spelling; it is added where the tenant label is needed."""
        members = object_of(value)
        if members is None and self.labelled and context.whole:
            if not is_null(value):
                raise bad_request("metadata is no object")
            members = {}
        return value if members is None else self.members_up(members, context)

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate metadata in place, add the tenant label to a whole object, and return it."""
        super().members_up(members, context)
        if self.labelled and context.whole and "labels" not in members:
            members["labels"] = {context.view.tenant_label: context.view.tenant}
        own = kept_annotations(context)
        if own and context.whole:
            written = members.get("annotations")
            annotations: Encoded = written if isinstance(written, dict) else {}
            members["annotations"] = annotations | {**own}
        return members

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate metadata in place, without members that are then empty, and return it."""
        if context.published and text_at(members, "name") in context.published:
            return _published_down(members)
        super().members_down(members, context)
        members.pop("selfLink", None)
        for key in EMPTIED:
            if key in members and not members[key]:
                del members[key]
        return members


def metadata_translator(resource: ResourceType, annotations: AnnotationRules) -> MetadataTranslator:
    """Return the translator for the metadata of objects of a type."""
    aggregated = is_cluster_roles(resource)
    rules: dict[str, FieldRule] = {
        "ownerReferences": OwnersTranslator(),
        "managedFields": _managed_fields(resource, aggregated=aggregated),
        "labels": _labels(resource, aggregated=aggregated),
        "annotations": AnnotationsTranslator(not resource.namespaced, annotations),
    }
    return MetadataTranslator(_names(resource) | rules, labelled=not resource.namespaced)


def is_namespaces(resource: ResourceType) -> bool:
    """Return whether a resource is that of Namespaces."""
    return resource.plural == "namespaces" and not resource.group


def kept_annotations(context: TranslationContext) -> Mapping[str, str]:
    """Return the annotations that objects have upstream whatever their tenant writes."""
    if is_namespaces(context.resource):
        return context.view.namespace_annotations
    return DEFINITION_ANNOTATIONS if context.resource.group_resource == CRDS else {}


def is_cluster_roles(resource: ResourceType) -> bool:
    """Return whether a resource is that of ClusterRoles: tenants may define others of the name."""
    return resource.group_resource == CLUSTER_ROLE_NAME.group_resource


def _names(resource: ResourceType) -> dict[str, FieldRule]:
    if resource.namespaced and resource.group == CLUSTER_ROLE_NAME.group:
        own = OwnRoleName()
        return {"namespace": OwnNamespace(), "name": own, "generateName": own}
    if resource.namespaced:
        return {"namespace": OwnNamespace()}
    if resource.group_resource == CRDS:
        return {"name": OwnName()}
    return {"name": OwnName(), "generateName": PREFIXED}


def _managed_fields(resource: ResourceType, *, aggregated: bool) -> ManagedFieldsTranslator:
    """Return the translator for managed fields, which contain the keys of maps."""
    if resource.group_resource == RESOURCE_QUOTAS:
        return ManagedFieldsTranslator(resource_key_up, resource_key_down)
    if resource.namespaced:
        return ManagedFieldsTranslator()
    return ManagedFieldsTranslator(role_key_up if aggregated else own_key_up, key_down)


def _labels(resource: ResourceType, *, aggregated: bool) -> LabelsTranslator:
    values: dict[str, FieldRule] = {MANAGED_BY: MANAGER} if has_manager(resource) else {}
    if is_namespaces(resource):
        values[NAME_LABEL] = NAMESPACE_SPELLING
    return LabelsTranslator(labelled=not resource.namespaced, aggregated=aggregated, values=values)


TEMPLATE_METADATA = ObjectTranslator(
    {
        "labels": UpOnly(LabelsTranslator()),
        "annotations": UpOnly(AnnotationsTranslator()),
        "ownerReferences": ListTranslator(REFERENCE),
    }
)
"""The metadata of a template, which is copied into the objects created from it."""


@dataclass(frozen=True)
class WholeObjectTranslator(ObjectTranslator):
    """The translation of an object that has metadata."""

    marks: ClassVar[tuple[bytes, ...]] = ()
    """Byte strings without which this translator itself, besides its rules, changes nothing."""

    @cached_property
    def splices(self) -> bool:
        """Return whether this holds for all members but ``metadata``."""
        return all(
            rule.changes_only_with_tenant_name
            for key, rule in self.rules.items()
            if key != "metadata"
        )

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate an object in place and return it; a whole one has metadata."""
        if context.whole and not context.resource.namespaced and "metadata" not in members:
            members["metadata"] = Raw(b"{}")
        return super().members_up(members, context)


def name_of(members: Encoded) -> str:
    """Return the name in the metadata of an object that is not translated yet; empty if none."""
    return text_at(object_at(members, "metadata"), "name")


def _published_down(members: Encoded) -> Encoded:
    """Return the metadata of a published object, without details of the platform."""
    shown = {key: each for key, each in members.items() if key not in PLATFORMS_OWN}
    for member, allowed in PUBLISHED_KEYS.items():
        present = object_at(members, member)
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
