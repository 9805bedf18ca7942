"""The rules of the resources whose objects act on a whole cluster."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.admission import (
    ConfinedPolicy,
    ConfinedPolicyBinding,
    ConfinedWebhooks,
    mutating_expression,
)
from lnamespace.translate.objects.confinement.certificates import MappedSigner
from lnamespace.translate.objects.confinement.classes import PRIORITY_CLASS_RULES
from lnamespace.translate.objects.confinement.definition_lists import BoundedDefinitionLists
from lnamespace.translate.objects.confinement.definitions import ConfinedDefinition
from lnamespace.translate.objects.confinement.device_slices import RESOURCE_SLICE_RULES
from lnamespace.translate.objects.confinement.expressions import SchemaExpressions
from lnamespace.translate.objects.confinement.namespaces import (
    FORBIDDEN_ANNOTATIONS,
    FORBIDDEN_LABELS,
    ForbiddenKeys,
    KeptFinalizer,
    PodSecurityRule,
)
from lnamespace.translate.objects.confinement.originals import EXPANSION
from lnamespace.translate.objects.confinement.policy_expressions import PolicyExpressions
from lnamespace.translate.objects.confinement.printer_columns import (
    PlainSelectableFields,
    SimplePrinterColumns,
)
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    ConfinementRule,
    ForbiddenField,
    Form,
    MappedField,
    Object,
    Path,
    PinnedField,
    ReadOnlyKind,
    RenamedKey,
    prefixed,
)
from lnamespace.translate.objects.confinement.schema_defaults import BoundedDefaults
from lnamespace.translate.objects.confinement.schema_texts import ReadableTexts
from lnamespace.translate.objects.confinement.volumes import (
    PROVISIONER_ANNOTATIONS,
    EmptyStorageClassRule,
    SecretNamespaces,
    VolumeSourceRule,
)
from lnamespace.translate.protocol.resources import GroupResource, ResourceType

_ADMISSION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_NETWORKING = "networking.k8s.io"
_STORAGE = "storage.k8s.io"

_WEBHOOKS: tuple[ConfinementRule, ...] = (PolicyExpressions(), ConfinedWebhooks())
_POLICY: tuple[ConfinementRule, ...] = (PolicyExpressions(), ConfinedPolicy())
_MUTATING_POLICY: tuple[ConfinementRule, ...] = (
    PolicyExpressions(),
    ConfinedPolicy(mutating_expression),
)
_BINDING: tuple[ConfinementRule, ...] = (ConfinedPolicyBinding(),)

_BY_RESOURCE: Mapping[GroupResource, tuple[ConfinementRule, ...]] = {
    GroupResource("", "namespaces"): (
        ForbiddenKeys("labels", FORBIDDEN_LABELS),
        ForbiddenKeys("annotations", FORBIDDEN_ANNOTATIONS),
        PodSecurityRule(),
    ),
    GroupResource("", "persistentvolumeclaims"): (EmptyStorageClassRule(always=False),),
    GroupResource("", "persistentvolumes"): (
        PROVISIONER_ANNOTATIONS,
        VolumeSourceRule(),
        EmptyStorageClassRule(always=True),
        prefixed(("spec", "csi", "driver"), lambda view: view.allowances.csi_drivers),
    ),
    GroupResource(_ADMISSION, "mutatingadmissionpolicies"): _MUTATING_POLICY,
    GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"): _BINDING,
    GroupResource(_ADMISSION, "mutatingwebhookconfigurations"): _WEBHOOKS,
    GroupResource(_ADMISSION, "validatingadmissionpolicies"): _POLICY,
    GroupResource(_ADMISSION, "validatingadmissionpolicybindings"): _BINDING,
    GroupResource(_ADMISSION, "validatingwebhookconfigurations"): _WEBHOOKS,
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): (
        ConfinedDefinition(),
        BoundedDefinitionLists(),
        SchemaExpressions(),
        SimplePrinterColumns(),
        PlainSelectableFields(),
        ReadableTexts(),
        BoundedDefaults(),
    ),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): (MappedSigner(),),
    GroupResource(_FLOW, "flowschemas"): (
        PinnedField(("spec", "rules"), lambda _, __: [], default=[]),
    ),
    GroupResource(_FLOW, "prioritylevelconfigurations"): (
        PinnedField(("spec", "limited", "nominalConcurrencyShares"), lambda _, __: 0, default=30),
        # The API server makes its queues, up to ten million of them, also where nobody uses it.
        PinnedField(("spec", "limited", "limitResponse"), lambda _, __: {"type": "Reject"}),
    ),
    GroupResource(_NETWORKING, "ingressclasses"): (
        prefixed(("spec", "controller"), lambda view: view.allowances.ingress_controllers),
        RenamedKey("ingressclass.kubernetes.io/is-default-class"),
    ),
    GroupResource(_NETWORKING, "servicecidrs"): (
        ReadOnlyKind("the ranges of Service addresses belong to the platform"),
    ),
    GroupResource("node.k8s.io", "runtimeclasses"): (
        prefixed(("handler",), lambda view: view.allowances.runtime_handlers),
        ForbiddenField(("scheduling",), "nodes belong to the platform", (None, {})),
    ),
    GroupResource("resource.k8s.io", "deviceclasses"): (
        # One without selectors has all devices of the platform's drivers, and tenants offer none.
        PinnedField(
            ("spec", "selectors"), lambda _, __: [{"cel": {"expression": "false"}}], always=True
        ),
        ForbiddenField(
            ("spec", "extendedResourceName"), "extended resources belong to the platform"
        ),
        # Drivers trust what a class says, for no user of a cluster can write one.
        ForbiddenField(("spec", "config"), "drivers belong to the platform", (None, [])),
    ),
    GroupResource("resource.k8s.io", "resourceslices"): RESOURCE_SLICE_RULES,
    GroupResource("scheduling.k8s.io", "priorityclasses"): PRIORITY_CLASS_RULES,
    GroupResource(_STORAGE, "csinodes"): (prefixed(("spec", "drivers", "*", "name")),),
    GroupResource(_STORAGE, "storageclasses"): (
        SecretNamespaces(),
        prefixed(("provisioner",), lambda view: view.allowances.provisioners),
        RenamedKey("storageclass.kubernetes.io/is-default-class"),
        RenamedKey("storageclass.beta.kubernetes.io/is-default-class"),
    ),
    GroupResource(_STORAGE, "volumeattachments"): (
        prefixed(("spec", "attacher")),
        prefixed(("spec", "nodeName")),
    ),
    GroupResource(_STORAGE, "volumeattributesclasses"): (prefixed(("driverName",)),),
}


def expansion_of(resource: ResourceType) -> int:
    """Return how many times as long as upstream an object may be for its tenant."""
    keeps = any(isinstance(rule, PinnedField) for rule in rules_of(resource))
    return EXPANSION if keeps else 1


def rules_of(resource: ResourceType) -> tuple[ConfinementRule, ...]:
    """Return the rules of a resource; a tenant's own resources have none."""
    return () if resource.custom else _BY_RESOURCE.get(resource.group_resource, ())


def prefixes_items(resource: ResourceType) -> bool:
    """Return whether the keys of a list's items have the prefix upstream."""
    mapped = (each for each in rules_of(resource) if isinstance(each, MappedField))
    return any("*" in each.path for each in mapped)


def confines(resource: ResourceType) -> bool:
    """Return whether objects of a resource are confined at all."""
    return bool(rules_of(resource))


def confine(
    resource: ResourceType,
    subresource: str,
    obj: Object,
    view: TenantView,
    form: Form = Form.WHOLE,
    owned_by_others: frozenset[Path] = frozenset(),
) -> Object:
    """Return a tenant's object, or a part of it in a patch or an apply, confined to the tenant.

    Required fields are sent again, so that no patch removes them.

    Parameters
    ----------
    subresource
        Metadata can be written through subresources too, so most are confined alike.
    obj
        In upstream spelling. It is not changed.
    owned_by_others
        The required fields that another manager owns.

    Raises
    ------
    Refused
        If no form of it would be harmless.
    """
    rules = () if subresource == "scale" else rules_of(resource)
    if subresource == "finalize":
        rules = (*rules, KeptFinalizer())
    if not rules:
        return obj
    body = deepcopy(obj)
    for rule in rules:
        rule.confine(ConfinedBody(body, resource, view, form, owned_by_others))
    return body


def restore(resource: ResourceType, obj: dict[str, Any], view: TenantView) -> dict[str, Any]:
    """Return an object as its tenant wrote it; one without a specification is restored in part.

    Parameters
    ----------
    obj
        The object in upstream spelling. It is not changed.
    """
    rules = rules_of(resource)
    if not rules:
        return obj
    body: Object = deepcopy(obj)
    subject = ConfinedBody(body, resource, view)
    for rule in reversed(rules):
        rule.restore(subject)
    return body
