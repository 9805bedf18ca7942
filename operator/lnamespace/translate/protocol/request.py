"""Parse a request: its method, path and query.

The rules are those of RequestInfoFactory in k8s.io/apiserver/pkg/endpoints/request, but strict.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lnamespace.translate.protocol.percent import decode_component
from lnamespace.translate.protocol.request_paths import (
    ResourcePath,
    plain_path,
    resource_path,
    split_path,
)
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
)
from lnamespace.translate.protocol.selectors import parse_field_selector, render_selector
from lnamespace.translate.protocol.status import (
    bad_request,
    method_not_allowed,
    no_such_path,
    not_found,
)
from lnamespace.translate.protocol.verbs import COLLECTION_VERBS, LISTING_VERBS, OBJECT_VERBS

Query = tuple[tuple[str, str], ...]
"""The parameters of a query, decoded, in the order in which they came."""

VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
REPEATABLE = frozenset({"command", "ports", "dryRun"})
"""Parameters that are lists; of any other, the API server reads the first and ignores the rest."""
_GO_DURATION = re.compile(r"[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|[uµ\u03bc]s|ms|s|m|h))+)", re.ASCII)


@dataclass(frozen=True)
class ResourceRequest:
    """A request for objects, in tenant spelling.

    Parameters
    ----------
    verb
        As Kubernetes' authorization has it: get, list, watch, create, update, patch, delete,
        deletecollection. Empty for another method (OPTIONS) on a subresource ``proxy``.
    resource
        The type that is asked for.
    namespace
        Empty for cluster-scoped objects, and for all namespaces. It is in tenant spelling also
        when the client used the upstream one (``in_pod``).
    tail
        What follows a subresource ``proxy`` in the path, with its slash, still encoded.
    """

    verb: str
    resource: ResourceType
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    tail: str = ""
    query: Query = ()
    in_pod: bool = False

    @property
    def authorization_namespace(self) -> str:
        """Return the namespace that a rule about this request must be in."""
        is_namespace = self.resource.group_resource == GroupResource("", "namespaces")
        return self.name if is_namespace else self.namespace

    def with_parameters(self, *parameters: tuple[str, str]) -> "ResourceRequest":
        """Return the request with other values of some parameters; an empty value removes one."""
        names = {name for name, _ in parameters}
        kept = tuple(each for each in self.query if each[0] not in names)
        return replace(self, query=(*kept, *(each for each in parameters if each[1])))

    def parameter(self, key: str) -> str | None:
        """Return the first value of a query parameter, or None."""
        return _parameter(self.query, key)


@dataclass(frozen=True)
class PathRequest:
    """A request for a path that is no object: discovery, ``/version``, ``/healthz``."""

    verb: str
    path: str
    query: Query = ()

    def parameter(self, key: str) -> str | None:
        """Return the first value of a query parameter, or None."""
        return _parameter(self.query, key)


def parse_request(
    method: str, target: str, resources: ResourceTable, tenant: str
) -> ResourceRequest | PathRequest:
    """Parse the method and target of an HTTP request.

    Parameters
    ----------
    target
        The target of the request line: path and query, still encoded, in tenant spelling.
    tenant
        The name of the LCluster; a namespace may also be written with its prefix.

    Raises
    ------
    Refused
        If the target is malformed or ambiguous, or nothing is served there.
    """
    if not target.isascii() or not target.isprintable() or " " in target:
        raise bad_request("the target of a request has characters that must be encoded")
    raw_path, _, raw_query = target.partition("?")
    segments = split_path(raw_path)
    query = tuple(_parameters(raw_query))
    path = resource_path(segments)
    if path is None:
        _refuse_repeated(query)
        _refuse_timeout(query)
        return PathRequest(method.lower(), plain_path(segments), query)
    if path.subresource != "proxy":
        _refuse_repeated(query)
        if not _watches(query):
            _refuse_timeout(query)
    return _resource_request(method, path, query, resources, f"{tenant}-")


def _parameters(raw_query: str) -> Iterator[tuple[str, str]]:
    for pair in raw_query.split("&"):
        if pair:
            key, _, value = pair.partition("=")
            yield (
                decode_component(key.replace("+", " ")),
                decode_component(value.replace("+", " ")),
            )


def _parameter(query: Query, key: str) -> str | None:
    for name, value in query:
        if name == key:
            return value
    return None


def _refuse_repeated(query: Query) -> None:
    keys = [key for key, _ in query if key not in REPEATABLE]
    if len(keys) != len(set(keys)):
        raise bad_request("a query parameter is given more than once")


def _refuse_timeout(query: Query) -> None:
    """Refuse a timeout that is no duration, as the API server does; not all requests reach it."""
    timeout = _parameter(query, "timeout")
    if timeout and not _GO_DURATION.fullmatch(timeout):
        why = f'time: invalid duration "{timeout}"'
        raise bad_request(f"invalid timeout specified in the request URL - {why}")


def _resource_request(
    method: str, path: ResourcePath, query: Query, resources: ResourceTable, prefix: str
) -> ResourceRequest:
    resource = _served(path, resources)
    namespace, in_pod = _without_prefix(path.namespace, prefix)
    name = path.name
    if (resource.group, resource.plural) == ("", "namespaces"):
        name, in_pod = _without_prefix(name, prefix)
        if path.name and not name:
            raise not_found(resource.group_resource, path.name)
        if not path.name:
            query, in_pod = _selected_without_prefix(query, prefix)
    if path.namespace and not namespace:
        raise not_found(resource.group_resource, name)
    request = ResourceRequest(
        _verb(method, path, query),
        resource,
        path.version,
        namespace,
        name,
        path.subresource,
        path.tail,
        query,
        in_pod,
    )
    _refuse_shape(request)
    return request


def _served(path: ResourcePath, resources: ResourceTable) -> ResourceType:
    """Return the resource of a path, if it is served there."""
    resource = resources.by_plural(path.group, path.plural)
    if (
        resource is None
        or resource.policy is ServingPolicy.HIDDEN
        or not resource.serves_version(path.version)
        or (path.subresource and not resource.serves_subresource(path.subresource))
    ):
        raise no_such_path()
    return resource


def _without_prefix(namespace: str, prefix: str) -> tuple[str, bool]:
    """Return a namespace in tenant spelling, and whether it was in upstream spelling.

    It is empty if the namespace cannot exist: no namespace of a tenant begins with the prefix.
    """
    if not namespace.startswith(prefix):
        return namespace, False
    below = namespace.removeprefix(prefix)
    return ("" if below.startswith(prefix) else below), True


def _selected_without_prefix(query: Query, prefix: str) -> tuple[Query, bool]:
    """Return a query for Namespaces whose field selector names them in tenant spelling.

    A client in a pod watches its own Namespace by the name that its token's volume has.
    """
    selector = _parameter(query, "fieldSelector") or ""
    if f"={prefix}" not in selector:
        return query, False
    terms = tuple(
        replace(term, value=term.value.removeprefix(prefix))
        if term.field == "metadata.name"
        else term
        for term in parse_field_selector(selector)
    )
    kept = tuple(each for each in query if each[0] != "fieldSelector")
    return (*kept, ("fieldSelector", render_selector(terms))), True


def _verb(method: str, path: ResourcePath, query: Query) -> str:
    verb = VERBS.get(method, "")
    if method == "HEAD" and not path.name:
        return ""  # a list has none
    if verb == "get" and not path.name:
        return "watch" if _watches(query) else "list"
    if verb == "delete" and not path.name:
        return "deletecollection"
    return verb


def _watches(query: Query) -> bool:
    return query_flag(_parameter(query, "watch"))


def query_flag(value: str | None) -> bool:
    """Read a flag in a query as k8s.io/apimachinery does: all but ``0`` and ``false`` is true."""
    return value is not None and value != "0" and value.lower() != "false"


def _refuse_shape(request: ResourceRequest) -> None:
    """Refuse a path of the other scope, and a method that the path does not have."""
    if request.namespace and not request.resource.namespaced:
        raise no_such_path()
    if request.resource.namespaced and not request.namespace:
        if request.name:
            raise no_such_path()
        if request.verb not in LISTING_VERBS:
            raise method_not_allowed()
    if not _has_method(request):
        raise method_not_allowed()


def _has_method(request: ResourceRequest) -> bool:
    if request.subresource == "proxy" and not request.verb:
        return True
    if not request.resource.serves_verb(request.verb, request.subresource):
        return False
    if request.subresource:
        return bool(request.verb)
    return request.verb in (OBJECT_VERBS if request.name else COLLECTION_VERBS)
