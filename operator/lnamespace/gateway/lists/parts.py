"""The requests upstream that one list or watch of a tenant is made of; pure.

A list over all namespaces is one list of each. A list of a cluster-scoped resource with published
objects is one of the tenant's own and one of the platform's.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from lnamespace.translate.names.view import View
from lnamespace.translate.protocol.request import Query, ResourceRequest
from lnamespace.translate.protocol.resources import ServingPolicy
from lnamespace.translate.protocol.selectors import FieldTerm
from lnamespace.translate.requests.targets import PERSISTENT_VOLUMES, ListedObjects, upstream_target

_EMPTY_IN = "default"
"""A namespace that every tenant has: what is asked of one that is not there is asked of it, by a
selector that nothing in it meets."""


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

    def target(self, view: View, parameters: Query = (), continue_: str = "") -> str:
        """Return the URL upstream; ``parameters`` replace those of the client."""
        request = with_parameters(self.request, parameters)
        return upstream_target(request, view, listed=self.listed, upstream_continue=continue_)


def with_parameters(request: ResourceRequest, parameters: Query) -> ResourceRequest:
    """Return a request with other values of some parameters; an empty value takes one away."""
    names = {name for name, _ in parameters}
    kept = tuple(each for each in request.query if each[0] not in names)
    return replace(request, query=(*kept, *(each for each in parameters if each[1])))


def namespace_part(request: ResourceRequest, namespace: str, view: View) -> Part:
    """Return the part of one namespace, in upstream spelling, of a request over all of them."""
    return Part(namespace, replace(request, namespace=namespace.removeprefix(view.prefix)))


def cluster_parts(request: ResourceRequest, *, marked: bool = False) -> list[Part]:
    """Return the parts of a list or watch of a cluster-scoped resource.

    Parameters
    ----------
    marked
        Whether all volumes that provisioners made for the tenant's claims bear its mark.
    """
    resource = request.resource
    own = Part(ListedObjects.OWN, request)
    platform = Part(ListedObjects.PLATFORM, request, ListedObjects.PLATFORM)
    if resource.policy is ServingPolicy.SHARED:
        return [platform]
    if resource.group_resource == PERSISTENT_VOLUMES:
        # What a provisioner made for a claim of the tenant does not bear the tenant's label. The
        # name of the part stays, so that lists and watches go on where the other way began.
        listed = ListedObjects.CLAIMED if marked else ListedObjects.PLATFORM
        return [own, replace(platform, listed=listed)]
    return [own, platform] if resource.publishes else [own]


def list_parts(
    request: ResourceRequest, there: Sequence[str], view: View, *, marked: bool = False
) -> list[Part]:
    """Return the parts of a list; none if no namespace is open of which anything could be asked.

    Parameters
    ----------
    there
        The tenant's namespaces that are open, in upstream spelling.
    """
    if not request.resource.namespaced:
        return cluster_parts(request, marked=marked)
    if not request.namespace:
        return [namespace_part(request, each, view) for each in there]
    upstream = view.namespace_up(request.namespace)
    if upstream in there:
        return [Part(upstream, request)]
    return [Part(upstream, nothing_of(request))] if can_ask_nothing(there, view) else []


def can_ask_nothing(there: Collection[str], view: View) -> bool:
    """Return whether the API server can be asked for nothing of a namespace that is not there."""
    return view.namespace_up(_EMPTY_IN) in there


def nothing_of(request: ResourceRequest) -> ResourceRequest:
    """Return a request that lists nothing, as a namespace that is not there does."""
    selectors = [value for name, value in request.query if name == "fieldSelector" and value]
    selectors.append(str(FieldTerm("metadata.namespace", request.namespace)))
    asked = with_parameters(request, (("fieldSelector", ",".join(selectors)),))
    return replace(asked, namespace=_EMPTY_IN)


def names_of(parts: Iterable[Part]) -> list[str]:
    """Return the names of parts."""
    return [part.name for part in parts]
