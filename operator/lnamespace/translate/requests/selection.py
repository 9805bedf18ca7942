"""Selectors of a request in upstream spelling."""

from dataclasses import replace

from lnamespace.kube.objects import MANAGED_BY, NAME_LABEL
from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import NAMESPACES, TenantView
from lnamespace.translate.objects.confinement.certificates import signer_up
from lnamespace.translate.objects.confinement.kinds import rules_of
from lnamespace.translate.objects.confinement.rules import MappedField
from lnamespace.translate.objects.keys import has_manager, manager_up, own_key_up, role_key_up
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource, ResourceType
from lnamespace.translate.protocol.selectors import FieldTerm, LabelTerm, parse_field_selector
from lnamespace.translate.protocol.status import bad_request
from lnamespace.translate.requests.event_selection import EventSelector, TranslatedTerm

CLUSTER_ROLES = GroupResource(RBAC, "clusterroles")
SIGNING_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
EVENTS = {"": "involvedObject", "events.k8s.io": "regarding"}
"""The field of an Event that says what it is about, by API group."""


def fields_up(
    request: ResourceRequest, terms: tuple[FieldTerm, ...], view: TenantView
) -> tuple[FieldTerm, ...]:
    """Return a field selector in upstream spelling, without terms that can only be filtered later.

    Raises
    ------
    Refused
        If such a term is in the selector of a deletion, which would then delete too much.
    """
    translated = _translated(request, terms, view)
    residual = [term for term, each in zip(terms, translated, strict=True) if each.residual]
    if residual and request.verb == "deletecollection":
        raise bad_request(f"field selector on {residual[0].field} needs the kind of the object")
    return tuple(each.upstream for each in translated if each.upstream is not None)


def residual_fields(request: ResourceRequest, view: TenantView) -> tuple[FieldTerm, ...]:
    """Return the terms by which objects in tenant spelling must still be filtered.

    The API server finds too many objects where a selector on Events does not name the kind
    that they are about: it decides whether a name has the prefix, and whether there is a namespace.
    """
    if request.verb not in {"list", "watch"} or request.resource.kind != "Event":
        return ()
    terms = parse_field_selector(request.parameter("fieldSelector") or "")
    translated = _translated(request, terms, view)
    return tuple(term for term, each in zip(terms, translated, strict=True) if each.residual)


def labels_up(
    request: ResourceRequest, requirements: tuple[LabelTerm, ...], view: TenantView, *, own: bool
) -> tuple[LabelTerm, ...]:
    """Return a label selector in upstream spelling.

    Parameters
    ----------
    own
        Whether the tenant's own objects are selected; those of the platform bear labels under
        their plain keys.
    """
    return tuple(_label_up(request.resource, each, view, own=own) for each in requirements)


def _translated(
    request: ResourceRequest, terms: tuple[FieldTerm, ...], view: TenantView
) -> tuple[TranslatedTerm, ...]:
    """Return the terms in upstream spelling."""
    resource = request.resource
    about = EVENTS.get(resource.group) if resource.plural == "events" else None
    if about is None:
        return tuple(_translate(resource, each, view) for each in terms)
    events = EventSelector(about, request.namespace, terms, view)
    return tuple(
        events.translate(each)
        if each.field.startswith(f"{about}.")
        else _translate(resource, each, view)
        for each in terms
    )


def _translate(resource: ResourceType, term: FieldTerm, view: TenantView) -> TranslatedTerm:
    value = term.value
    if term.field == "metadata.name":
        value = view.name_up(resource, value)
    elif term.field == "metadata.namespace":
        value = view.namespace_up(value)
    elif term.field == "spec.signerName" and resource.group_resource == SIGNING_REQUESTS:
        value = signer_up(value, view)
    elif value and (rule := _mapping(resource, term.field)):
        value = rule.up(value, view)
    return TranslatedTerm(replace(term, value=value))


def _mapping(resource: ResourceType, field: str) -> MappedField | None:
    """Return the rule by which a field is written in another way upstream."""
    rules = (each for each in rules_of(resource) if isinstance(each, MappedField))
    return next((each for each in rules if ".".join(each.path) == field), None)


def _label_up(resource: ResourceType, term: LabelTerm, view: TenantView, *, own: bool) -> LabelTerm:
    if term.key == view.tenant_label:
        # Tenants see no object with this label, and upstream no object has the translated key.
        return replace(term, key=own_key_up(view, term.key))
    if not own:
        return term
    values = term.values
    if resource.group_resource == NAMESPACES and term.key == NAME_LABEL:
        values = tuple(map(view.namespace_up, values))
    elif term.key == MANAGED_BY and has_manager(resource):
        values = tuple(manager_up(view, each) for each in values)
    if resource.namespaced:
        return replace(term, values=values)
    key_up = role_key_up if resource.group_resource == CLUSTER_ROLES else own_key_up
    return replace(term, key=key_up(view, term.key), values=values)
