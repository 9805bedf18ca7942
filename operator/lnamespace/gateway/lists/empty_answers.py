"""Empty lists and watches, for which there is no namespace to request upstream."""

import msgspec

from lnamespace.gateway.lists.pages import read_page
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.translate.protocol.list_options import INITIAL_EVENTS_END
from lnamespace.translate.protocol.negotiation import accept_clauses
from lnamespace.translate.protocol.request import ResourceRequest

_VERSION = "/api/v1/namespaces?limit=1"


async def current_version(upstream: Upstream) -> str:
    """Return the present resource version, read by the gateway's own account.

    Raises
    ------
    ClusterError
        The API server does not answer.
    """
    return read_page(await upstream.read(_VERSION, UpstreamIdentity())).metadata.resource_version


def empty_list(request: ResourceRequest, accept: str, version: str) -> bytes:
    """Return an empty list in the form that the client accepts."""
    kind, api_version = _form(request, accept, "List")
    found: dict[str, object] = {"kind": kind, "apiVersion": api_version}
    found["metadata"] = {"resourceVersion": version}
    if kind == "Table":
        return msgspec.json.encode(found | {"columnDefinitions": [], "rows": []})
    return msgspec.json.encode(found | {"items": []})


def empty_replay(request: ResourceRequest, accept: str, version: str) -> bytes:
    """Return the BOOKMARK that ends the initial events of an empty watch."""
    kind, api_version = _form(request, accept, "")
    metadata = {
        "resourceVersion": version,
        "creationTimestamp": None,
        "annotations": {INITIAL_EVENTS_END: "true"},
    }
    found = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
    return msgspec.json.encode({"type": "BOOKMARK", "object": found})


def accepted_form(accept: str) -> tuple[str, str] | None:
    """Return kind and apiVersion of the preferred transformation; None without one."""
    first = next(iter(accept_clauses(accept)), None)
    transforms = first.transforms if first else {}
    if not transforms.get("as"):
        return None
    return transforms["as"], f"meta.k8s.io/{transforms.get('v', 'v1')}"


def _form(request: ResourceRequest, accept: str, suffix: str) -> tuple[str, str]:
    """Return kind and apiVersion of the preferred form of a resource."""
    if form := accepted_form(accept):
        kind, api_version = form
        return (kind if kind == "Table" else kind.removesuffix("List") + suffix), api_version
    resource = request.resource
    group = f"{resource.group}/" if resource.group else ""
    return resource.kind + suffix, f"{group}{request.version}"
