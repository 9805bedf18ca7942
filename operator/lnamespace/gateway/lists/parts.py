"""Split a list or watch of a tenant into requests upstream; pure.

A list over all namespaces is one list of each. A list of a cluster-scoped resource with published
objects is one of the tenant's own and one of the platform's.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from lnamespace.kube.resources import DEFAULT_NAMESPACE
from lnamespace.translate.names.tenant_view import PERSISTENT_VOLUMES, TenantView
from lnamespace.translate.protocol.request import Query, ResourceRequest
from lnamespace.translate.protocol.resources import ServingPolicy
from lnamespace.translate.protocol.selectors import FieldTerm
from lnamespace.translate.requests.targets import ListedObjects, upstream_target


@dataclass(frozen=True)
class Part:
    """One request upstream.

    Parameters
    ----------
    name
        The namespace in upstream spelling, or which cluster-scoped objects are meant.
    """

    name: str
    request: ResourceRequest
    listed: ListedObjects = ListedObjects.OWN

    def target(self, view: TenantView, parameters: Query = (), continue_: str = "") -> str:
        """Return the URL upstream; ``parameters`` replace those of the client."""
        request = self.request.with_parameters(*parameters)
        return upstream_target(request, view, listed=self.listed, upstream_continue=continue_)


def namespace_part(request: ResourceRequest, namespace: str, view: TenantView) -> Part:
    """Return the part of one namespace, in upstream spelling, of a request over all of them."""
    return Part(namespace, replace(request, namespace=namespace.removeprefix(view.prefix)))


def cluster_parts(request: ResourceRequest, *, marked: bool = False) -> list[Part]:
    """Return the parts of a list or watch of a cluster-scoped resource.

    Parameters
    ----------
    marked
        Whether all volumes that were provisioned for the tenant's claims have its label.
    """
    resource = request.resource
    own = Part(ListedObjects.OWN, request)
    platform = Part(ListedObjects.PLATFORM, request, ListedObjects.PLATFORM)
    if resource.policy is ServingPolicy.SHARED:
        return [platform]
    if resource.group_resource == PERSISTENT_VOLUMES:
        # A volume that was provisioned for a claim lacks the tenant label. Both ways use the same
        # name of the part, so that lists and watches resume when the other way is used.
        listed = ListedObjects.CLAIMED if marked else ListedObjects.PLATFORM
        return [own, replace(platform, listed=listed)]
    return [own, platform] if resource.publishes else [own]


def list_parts(
    request: ResourceRequest, namespaces: Sequence[str], view: TenantView, *, marked: bool
) -> list[Part]:
    """Return the parts of a list; none if the tenant has no namespace to send a request for.

    Parameters
    ----------
    namespaces
        The tenant's namespaces that are open, in upstream spelling.
    """
    if not request.resource.namespaced:
        return cluster_parts(request, marked=marked)
    if not request.namespace:
        return [namespace_part(request, each, view) for each in namespaces]
    upstream = view.namespace_up(request.namespace)
    if upstream in namespaces:
        return [Part(upstream, request)]
    return (
        [Part(upstream, request_matching_nothing(request))]
        if has_default_namespace(namespaces, view)
        else []
    )


def has_default_namespace(namespaces: Collection[str], view: TenantView) -> bool:
    """Return whether :func:`request_matching_nothing` can be sent: it is about ``default``."""
    return view.namespace_up(DEFAULT_NAMESPACE) in namespaces


def request_matching_nothing(request: ResourceRequest) -> ResourceRequest:
    """Return a request that matches nothing, for a namespace that does not exist.

    It is sent for a namespace that every tenant has. The API server judges its options and
    has the columns of its table, the bookmarks of its watch: an answer of our own has neither.
    """
    selectors = [value for name, value in request.query if name == "fieldSelector" and value]
    selectors.append(str(FieldTerm("metadata.namespace", request.namespace)))
    asked = request.with_parameters(("fieldSelector", ",".join(selectors)))
    return replace(asked, namespace=DEFAULT_NAMESPACE)


def names_of(parts: Iterable[Part]) -> list[str]:
    """Return the names of parts."""
    return [part.name for part in parts]
