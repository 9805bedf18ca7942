"""Split requests that span the caller's namespaces into requests upstream; pure.

A list of Namespaces becomes one list for each, by its name; a list in all namespaces becomes one
list in each. So does a watch. A client's selector narrows these requests, and cannot widen them.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from http.client import BAD_REQUEST
from urllib.parse import parse_qsl, unquote

import msgspec

from lnamespace.errors import ModelError
from lnamespace.gateway.lists.empty_answers import accepted_form
from lnamespace.translate.discovery.groups import NAMESPACED, DiscoveredGroup
from lnamespace.translate.names.tenant_view import NAMESPACES
from lnamespace.translate.protocol.list_options import confirm_list_options
from lnamespace.translate.protocol.numbers import is_version
from lnamespace.translate.protocol.percent import encode_query, encode_segment
from lnamespace.translate.protocol.policies import BUILT_IN_GROUPS
from lnamespace.translate.protocol.request import PathRequest, Query, ResourceRequest, parse_request
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType
from lnamespace.translate.protocol.selectors import (
    FieldTerm,
    parse_field_selector,
    parse_label_selector,
    render_selector,
)
from lnamespace.translate.protocol.status import Refused, bad_request
from lnamespace.translate.protocol.verbs import LISTING_VERBS

_DEPRECATED_WATCH = re.compile(r"/+(api|apis/+[^/]+)/+[^/]+/+watch(/|$)")


def platform_table(groups: Iterable[DiscoveredGroup]) -> ResourceTable:
    """Return all resources that the platform's API server serves."""
    return ResourceTable.from_types(_types(groups))


def _types(groups: Iterable[DiscoveredGroup]) -> Iterator[ResourceType]:
    for group in groups:
        found: dict[str, ResourceType] = {}
        for version in group.versions:
            for each in version.resources:
                known = found.get(each.resource)
                versions = (*(known.versions or ()), version.version) if known else None
                found[each.resource] = ResourceType(
                    group.name,
                    each.resource,
                    each.response_kind.kind if each.response_kind else "",
                    each.scope == NAMESPACED,
                    custom=group.name not in BUILT_IN_GROUPS,
                    versions=versions or (version.version,),
                )
        yield from found.values()


def parse_platform_request(
    method: str, target: str, table: ResourceTable
) -> ResourceRequest | PathRequest | None:
    """Parse a request to the platform's cluster; None if only the API server can read it.

    Raises
    ------
    Refused
        The request is a watch in a form that we do not read. The API server reads it (it takes
        the first of two parameters, and deprecated paths), and such a watch would be neither
        counted nor cut when rights end.
    """
    try:
        return parse_request(method, target, table, "")
    except Refused as refused:
        if method == "GET" and _is_unread_watch(target, refused.status.code):
            raise
        return None
    except ModelError:
        return None


def _is_unread_watch(target: str, code: int) -> bool:
    path, _, query = target.partition("?")
    asked = any(name == "watch" for name, _ in parse_qsl(query, keep_blank_values=True))
    # A kind that is not known yet (404) is the API server's to judge.
    return (asked and code == BAD_REQUEST) or _DEPRECATED_WATCH.match(unquote(path)) is not None


def spans_namespaces(request: ResourceRequest) -> bool:
    """Return whether a request means all namespaces, and is answered from the caller's."""
    resource = request.resource
    part = request.name or request.namespace or request.subresource
    if part or request.verb not in LISTING_VERBS:
        return False
    return resource.namespaced or resource.group_resource == NAMESPACES


def confirm_options(request: ResourceRequest) -> None:
    """Refuse options that the API server refuses, also if there is no namespace to ask.

    Upstream each watch has options of the gateway's own (docs/decisions/0043).

    Raises
    ------
    Refused
        BadRequest, or Invalid.
    """
    confirm_list_options(request)
    parse_label_selector(request.parameter("labelSelector") or "")
    parse_field_selector(request.parameter("fieldSelector") or "")
    version = request.parameter("resourceVersion") or "0"
    if not is_version(version):
        problem = f'strconv.ParseUint: parsing "{version}": invalid syntax'
        raise bad_request(f'resourceVersion: Invalid value: "{version}": {problem}')


def part_target(request: ResourceRequest, namespace: str, parameters: Query) -> str:
    """Return the URL of the part of one namespace; ``parameters`` replace those of the client.

    Raises
    ------
    Refused
        BadRequest: the field selector cannot be read.
    """
    resource = request.resource
    segments = ["apis", resource.group] if resource.group else ["api"]
    segments.append(request.version)
    if resource.namespaced:
        segments += ["namespaces", namespace]
    else:
        # Our term comes first, and the client's is rendered: its last backslash would escape ours.
        own = str(FieldTerm("metadata.name", namespace))
        theirs = _rendered_anew(request.parameter("fieldSelector") or "")
        selector = f"{own},{theirs}" if theirs else own
        parameters = (*parameters, ("fieldSelector", selector))
    path = "".join(f"/{encode_segment(each)}" for each in (*segments, resource.plural))
    query = request.with_parameters(*parameters).query
    return f"{path}?{encode_query(query)}" if query else path


@lru_cache(maxsize=64)
def _rendered_anew(field_selector: str) -> str:
    """Return a client's field selector; it is parsed once, not for each of 1,000 namespaces."""
    return render_selector(parse_field_selector(field_selector))


def gone_namespace(name: str, accept: str) -> bytes:
    """Return a deleted Namespace, of which the name alone is known, in the accepted form."""
    kind, api_version = accepted_form(accept) or ("Namespace", "v1")
    found: dict[str, object] = {"kind": kind, "apiVersion": api_version}
    if kind != "Table":
        return msgspec.json.encode(found | {"metadata": {"name": name}})
    about = {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": {"name": name}}
    row = {"cells": [name, "<unknown>", "<unknown>"], "object": about}
    return msgspec.json.encode(found | {"metadata": {}, "columnDefinitions": None, "rows": [row]})


def deleted_event(found: bytes, version: str) -> bytes:
    """Return the event by which a Namespace leaves a watch, at a version.

    Parameters
    ----------
    found
        The Namespace, or the Table of it, as the API server answered.
    """
    namespace = msgspec.json.decode(found)
    namespace["metadata"]["resourceVersion"] = version
    for row in namespace.get("rows") or ():
        (row.get("object") or {}).get("metadata", {})["resourceVersion"] = version
    return msgspec.json.encode({"type": "DELETED", "object": namespace})
