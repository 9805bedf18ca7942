"""Whether Kubernetes can list a kind of a tenant: as the tenant, in all namespaces at once."""

import asyncio
import re

from lnamespace.errors import ClusterError, Throttled, Unreachable
from lnamespace.gateway.definitions.conversion_marks import tenant_of_definition
from lnamespace.gateway.tenants.cache import Tenants
from lnamespace.gateway.tenants.tenant import ServedTenant
from lnamespace.gateway.upstream.requests import Upstream, UpstreamIdentity
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.kube.answers import error_of
from lnamespace.kube.media_types import METADATA_LIST
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.labels import UNCONVERTED
from lnamespace.translate.protocol.percent import encode_query
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.requests.targets import listed_path

_ANSWER_SECONDS = 10.0
_PERSON = "lnamespace-gateway"
_HEADERS = (("accept", METADATA_LIST),)
_HEAD_BYTES = 16 * 1024
_CONTINUE = re.compile(rb'"metadata":\{[^{}]*"continue":"([^"]+)"')
"""The token for the next page, which stands before the objects of a list."""
_NOT_SERVED = (403, 404, 410)
_MISSING_VERSION = re.compile(r"convert CR from an invalid group/version: [^/\s]+/([a-z0-9-]+)")
NO_NAMESPACE = "-"
"""In place of a missing version: an object of a namespaced kind is in no namespace."""
_KEYLESS = "Namespace parameter required"
"""In what the API server says of such an object, which is in its memory under no key."""
TOO_DEEP = "--"
"""In place of a missing version: an object is nested more deeply than the API server reads."""
DEEP = "exceeded max depth"
"""In what the API server says of such an object. It took it, and added managed fields."""
_ITEM = re.compile(rb'"items":\[\s*\{')
_LABEL = f'"{UNCONVERTED}":'.encode()


def find_kind(tenants: Tenants, definition: str) -> tuple[ServedTenant, ResourceType] | None:
    """Return the kind of a definition, by its name upstream, also of one that is being deleted."""
    tenant = tenants.get(tenant_of_definition(definition))
    below = tenant and tenant.view.crd_name_down(definition)
    if not tenant or not below:
        return None
    plural, _, group = below.partition(".")
    resource = tenant.view.resources.by_plural(group, plural)
    return (tenant, resource) if resource and resource.versions else None


async def list_failure(
    upstream: Upstream, tenant: ServedTenant, resource: ResourceType
) -> str | None:
    """Return why a kind cannot be listed in its preferred version; None if that is not clear.

    It is empty where the kind can be listed. Where an object is one that nobody has converted, the
    API server has not noticed yet that the webhook is to be asked again: that says nothing.

    An object may outlive its namespace, so those of the tenant's namespaces are not all.
    """
    try:
        await _list(upstream, tenant.view, resource)
    except TimeoutError:
        return "it takes too long"
    except (Unreachable, Throttled):
        return None
    except ClusterError as error:
        # The namespace or the kind has just gone.
        return None if error.status in _NOT_SERVED else str(error)
    return ""


async def memory_failure(
    upstream: Upstream, tenant: ServedTenant, resource: ResourceType
) -> str | None:
    """Return why the API server cannot have the objects of a kind in memory.

    It is empty where it has them, and None where that is not clear. It takes as long for large
    objects as for small ones, of which a page may take longer than is waited for.
    """
    try:
        await _list_selected(upstream, tenant.view, resource)
    except TimeoutError:
        return None
    except ClusterError as error:
        return str(error)
    return ""


async def missing_version(
    upstream: Upstream, tenant: ServedTenant, resource: ResourceType
) -> str | None:
    """Return the version of a stored object that the kind does not have; empty if it has all.

    :data:`NO_NAMESPACE` where the definition of before was cluster-scoped and left an object,
    :data:`TOO_DEEP` where nobody can read an object; None if it is not clear. A list in pages comes
    from etcd where the API server cannot have the objects in memory, and tells nothing of an object
    in no namespace. It also takes as long as the objects are large.
    """
    refused = False
    for listed in (_list_selected, _list):
        try:
            if await listed(upstream, tenant.view, resource):
                return NO_NAMESPACE
        except TimeoutError:
            continue
        except ClusterError as error:
            # While it does not have the objects in memory the API server answers 429, and says why.
            if found := _MISSING_VERSION.search(str(error)):
                return found[1]
            if _KEYLESS in str(error):
                return NO_NAMESPACE
            if DEEP in str(error):
                return TOO_DEEP
            refused = True
        else:
            return None if refused else ""
    return None


async def _list_selected(upstream: Upstream, view: TenantView, resource: ResourceType) -> bool:
    """List the objects that should not be there; return whether there are such.

    A list by a selector is answered from memory, or not at all; in 1.30 from etcd.
    """
    selector = ("fieldSelector", "metadata.namespace=")
    query = selector if resource.namespaced else ("labelSelector", f"{UNCONVERTED}=none")
    target = f"{listed_path(view, resource)}?{encode_query((query, ('limit', '500')))}"
    async with asyncio.timeout(_ANSWER_SECONDS):
        response = await upstream.send(
            "GET", target, UpstreamIdentity(view.tenant, _PERSON), _HEADERS
        )
        head, _ = await _read_page(response)
    if response.status != 200:
        raise error_of(response.status, head)
    return _ITEM.search(head) is not None


async def _list(upstream: Upstream, view: TenantView, resource: ResourceType) -> None:
    """List the objects of a kind, page by page; raise the error of the first that fails.

    Only the beginning of a page is kept, with the token for the next one: ``list_pages`` would hold
    pages of 8 MiB, of sixteen kinds of each tenant at once.
    """
    path = listed_path(view, resource)
    identity = UpstreamIdentity(view.tenant, _PERSON)
    query: tuple[tuple[str, str], ...] = (("limit", "500"),)
    while query:
        async with asyncio.timeout(_ANSWER_SECONDS):
            target = f"{path}?{encode_query(query)}"
            response = await upstream.send("GET", target, identity, _HEADERS)
            head, unconverted = await _read_page(response)
        if response.status != 200:
            raise error_of(response.status, head)
        if unconverted:
            raise Throttled("not converted yet", status=429)
        more = _CONTINUE.search(head)
        query = (("limit", "500"), ("continue", more[1].decode())) if more else ()


async def _read_page(response: UpstreamResponse) -> tuple[bytes, bool]:
    """Read an answer; return its beginning, and whether it has an object that nobody converted.

    A tenant's objects may have any size.
    """
    head, end, unconverted = bytearray(), b"", False
    try:
        while data := await response.take():
            head += data[: _HEAD_BYTES - len(head)]
            unconverted = unconverted or _LABEL in end + data
            end = bytes(data[-len(_LABEL) :])
    finally:
        response.close()
    return bytes(head), unconverted
