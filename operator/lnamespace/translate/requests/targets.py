"""The URL upstream of a request, built anew from its values."""

from collections.abc import Iterator
from enum import StrEnum

from lnamespace.kube.resources import RBAC
from lnamespace.model.names import CLUSTER_ACCOUNT_BINDING, SHARE_QUOTA
from lnamespace.translate.names.tenant_view import (
    NAMESPACES,
    PERSISTENT_VOLUMES,
    TenantView,
    is_provisioned,
)
from lnamespace.translate.objects.labels import CLAIMED_BY
from lnamespace.translate.objects.metadata import RESOURCE_QUOTAS
from lnamespace.translate.objects.spellings import PLATFORMS_ROLES
from lnamespace.translate.protocol.create_options import FIELD_MANAGER_MAX_LENGTH
from lnamespace.translate.protocol.list_options import SELECTORS
from lnamespace.translate.protocol.percent import encode_query, encode_segment
from lnamespace.translate.protocol.policies import PLATFORM_WRITES
from lnamespace.translate.protocol.request import Query, ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource, ResourceType, ServingPolicy
from lnamespace.translate.protocol.selectors import (
    FieldTerm,
    LabelTerm,
    Operator,
    parse_field_selector,
    parse_label_selector,
    render_selector,
)
from lnamespace.translate.protocol.status import (
    bad_request,
    conversion_failed,
    forbidden,
    not_found,
)
from lnamespace.translate.protocol.verbs import (
    CONNECTIONS,
    LISTING_VERBS,
    MANAGED_VERBS,
    READ_VERBS,
    SELECTING_VERBS,
)
from lnamespace.translate.requests.selection import fields_up, labels_up, residual_fields

NAMESPACE_ROLES = frozenset(GroupResource(RBAC, plural) for plural in ("roles", "rolebindings"))
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


class ListedObjects(StrEnum):
    """The cluster-scoped objects that a list or watch is to find upstream."""

    OWN = "own"
    """Those that bear the tenant's label."""
    PLATFORM = "platform"
    """Those that bear no tenant's label: published objects, volumes that a provisioner made."""
    CLAIMED = "claimed"
    """Of the latter, the volumes that a policy of the chart has marked as claimed by the tenant."""


def upstream_target(
    request: ResourceRequest,
    view: TenantView,
    *,
    listed: ListedObjects = ListedObjects.OWN,
    upstream_continue: str = "",
    default_manager: str = "",
) -> str:
    """Return the path and query of a request in upstream spelling, encoded.

    Parameters
    ----------
    listed
        The objects that a list or watch of a cluster-scoped resource selects. A resource with
        policy ``shared`` has platform objects only, whatever this is.
    upstream_continue
        The API server's own continue token; the one in the query is the gateway's and stays here.
    default_manager
        The field manager of a write that names none (see :func:`manager_of`); empty for a
        server-side apply, which must name one itself.

    Raises
    ------
    Refused
        If the request writes an object of the platform, or has a query that is not served.
    """
    _refuse_hidden(request, view)
    _refuse_unconverted(request, view)
    refuse_foreign_write(request, view)
    path = "".join(f"/{encode_segment(each)}" for each in _segments(request, view))
    query = _query(request, view, listed)
    if upstream_continue:
        query = (*query, ("continue", upstream_continue))
    if default_manager and _manages_fields(request):
        query = (*query, ("fieldManager", default_manager))
    return f"{path}{request.tail}" + (f"?{encode_query(query)}" if query else "")


def listed_path(view: TenantView, resource: ResourceType, namespace: str = "") -> str:
    """Return the path of the objects of a kind in the version that Kubernetes lists."""
    version = resource.versions[0] if resource.versions else ""
    group = f"apis/{view.group_up(resource.group)}" if resource.group else "api"
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/{group}/{version}/{within}{resource.plural}"


def refuse_foreign_write(request: ResourceRequest, view: TenantView) -> None:
    """Refuse to write an object that the platform publishes, or a part that only it writes.

    Raises
    ------
    Refused
        403, as the API server answers without the right to do it.
    """
    resource = request.resource
    if request.verb in READ_VERBS:
        return
    published = view.published.get(resource.group_resource, frozenset())
    if resource.policy is ServingPolicy.SHARED or request.name in published:
        why = "it is published by the platform and read-only"
        raise forbidden(resource.group_resource, request.name, why)
    theirs = PLATFORM_WRITES.get((resource.group, resource.plural), {})
    if request.subresource in theirs:
        raise forbidden(resource.group_resource, request.name, theirs[request.subresource])


def refuse_deletion(request: ResourceRequest) -> None:
    """Refuse to delete a namespace that every cluster has.

    Raises
    ------
    Refused
        403, in the words of the admission plugin NamespaceLifecycle.
    """
    is_namespace = request.resource.group_resource == NAMESPACES and not request.subresource
    if is_namespace and request.verb == "delete" and request.name in _IMMORTAL:
        raise forbidden(NAMESPACES, request.name, "this namespace may not be deleted")


def _refuse_unconverted(request: ResourceRequest, view: TenantView) -> None:
    """Refuse a write that would be stored as nobody has converted it.

    A deletion is a write too, of an object that has finalizers, and a creation is one until the
    mark is there that its tenant has removed. What is written in the preferred version a policy
    refuses, by the label of what it was before.
    """
    resource = request.resource
    stored = view.unconverted.get(resource.group_resource)
    if stored is None or request.verb in READ_VERBS:
        return
    if request.version not in {stored, *(resource.versions or ())[:1]}:
        raise conversion_failed(resource)


def _refuse_hidden(request: ResourceRequest, view: TenantView) -> None:
    """Refuse requests for the binding of the tenant's account, and for unpublished objects."""
    resource, name = request.resource.group_resource, request.name
    if resource in NAMESPACE_ROLES and name.startswith(PLATFORMS_ROLES):
        raise not_found(resource, name)
    shared = request.resource.policy is ServingPolicy.SHARED
    if shared and name and name not in view.published.get(resource, ()):
        raise not_found(resource, name)


def is_dynamic_volume(request: ResourceRequest) -> bool:
    """Return whether a request names a PersistentVolume that a provisioner created.

    Its name is the same upstream and names no tenant: before it is answered or written, its
    ``claimRef`` has to be in a namespace of the tenant.
    """
    return request.resource.group_resource == PERSISTENT_VOLUMES and is_provisioned(request.name)


def manager_of(user_agent: str, content_type: str = "") -> str:
    """Return the field manager that the API server derives from a User-Agent.

    It is empty for a server-side apply, which has to name its manager. Without a User-Agent it is
    ``unknown`` (managedfields/internal/buildmanagerinfo.go); upstream it would be the gateway.
    """
    if content_type.startswith("application/apply-patch"):
        return ""
    product = user_agent.partition("/")[0]
    if len(product) <= FIELD_MANAGER_MAX_LENGTH and product.isascii() and product.isprintable():
        return product or "unknown"
    name, size = "", 0
    for character in product:
        size += len(character.encode(errors="replace")) if character.isprintable() else 0
        if size > FIELD_MANAGER_MAX_LENGTH:
            break
        name += character if character.isprintable() else ""
    return name or "unknown"


def _segments(request: ResourceRequest, view: TenantView) -> Iterator[str]:
    resource = request.resource
    yield from ("apis", view.group_up(resource.group)) if resource.group else ("api",)
    yield request.version
    if request.namespace:
        yield from ("namespaces", view.namespace_up(request.namespace))
    yield resource.plural
    if request.name:
        yield view.name_up(resource, request.name)
    if request.subresource:
        yield request.subresource


def _manages_fields(request: ResourceRequest) -> bool:
    return (
        request.verb in MANAGED_VERBS
        and request.subresource not in CONNECTIONS
        and not request.parameter("fieldManager")
    )


def _query(request: ResourceRequest, view: TenantView, listed: ListedObjects) -> Query:
    """Return the query upstream; that of a proxied request belongs to the server behind it."""
    if request.subresource == "proxy":
        return request.query
    _refuse_parameters(request)
    kept = tuple(
        (key, value)
        for key, value in request.query
        if key not in {"continue", *SELECTORS} and not (key == "fieldManager" and not value)
    )
    query = (*kept, *_selectors(request, view, listed))
    if request.verb in LISTING_VERBS and _is_filtered_below(request, view, listed):
        # The rows of a table are judged by their objects.
        others = tuple(each for each in query if each[0] != "includeObject")
        return (*others, ("includeObject", "Object"))
    return query


def _is_filtered_below(request: ResourceRequest, view: TenantView, listed: ListedObjects) -> bool:
    """Return whether objects must be read, not only their names, to filter the answer."""
    provisioned = request.resource.group_resource == PERSISTENT_VOLUMES
    return bool(residual_fields(request, view)) or (provisioned and listed is not ListedObjects.OWN)


def _refuse_parameters(request: ResourceRequest) -> None:
    if request.parameter("shardSelector"):
        raise bad_request("shardSelector is not supported")
    unsafe = request.parameter("ignoreStoreReadErrorWithClusterBreakingPotential")
    if unsafe is not None and unsafe.lower() not in {"false", "0"}:
        why = "ignoreStoreReadErrorWithClusterBreakingPotential is not permitted"
        raise forbidden(request.resource.group_resource, request.name, why)


def _selectors(
    request: ResourceRequest, view: TenantView, listed: ListedObjects
) -> Iterator[tuple[str, str]]:
    """Yield the selectors. The API server ignores those of a request for one object."""
    if request.verb not in SELECTING_VERBS:
        return
    terms = parse_field_selector(request.parameter("fieldSelector") or "")
    requirements = parse_label_selector(request.parameter("labelSelector") or "")
    fields = (*fields_up(request, terms, view), *_spared(request))
    own = listed is ListedObjects.OWN
    labels = labels_up(request, requirements, view, own=own)
    labels = (*labels, *_ownership(request, view, listed))
    if fields:
        yield "fieldSelector", render_selector(fields)
    if labels:
        yield "labelSelector", render_selector(labels)


def _spared(request: ResourceRequest) -> Iterator[FieldTerm]:
    """Yield the term that excludes the platform's objects in a namespace from a deletion."""
    if request.verb != "deletecollection":
        return
    if request.resource.group_resource in NAMESPACE_ROLES:
        yield FieldTerm("metadata.name", CLUSTER_ACCOUNT_BINDING, negated=True)
    if request.resource.group_resource == RESOURCE_QUOTAS:
        yield FieldTerm("metadata.name", SHARE_QUOTA, negated=True)


def _ownership(
    request: ResourceRequest, view: TenantView, listed: ListedObjects
) -> Iterator[LabelTerm]:
    """Yield the requirement for this tenant's cluster-scoped objects, or the platform's."""
    resource = request.resource
    if resource.namespaced:
        return
    platform = listed is not ListedObjects.OWN or resource.policy is ServingPolicy.SHARED
    if platform and request.verb != "deletecollection":
        yield LabelTerm(view.tenant_label, Operator.DOES_NOT_EXIST)
        if listed is ListedObjects.CLAIMED:
            yield LabelTerm(CLAIMED_BY, Operator.EQUALS, (view.tenant,))
    else:
        yield LabelTerm(view.tenant_label, Operator.EQUALS, (view.tenant,))
